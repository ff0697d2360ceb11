"""From a name to exactly one accelerator, or a refusal that lists what could have been meant.

A name is compared whole (case and runs of blanks aside), never by a part of it: L40 stands in L40S, B200 in GB200.
An id may be written without its memory size, or without form factor and size, where only one SKU fits. `ID/1` is one
device of a package of several.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rooflens.catalogue.record import Accelerator, one_device
from rooflens.catalogue.store import Entry, by_id, entries, has
from rooflens.errors import RooflensError, Unknown
from rooflens.units import show, show_binary

SEE = "rooflens machines"
_SIZE = r"-\d+gb$"
_FORM = r"-(sxm\d?|pcie|nvl|oam)(-\d+gb)?$"
_LEAST_VISIBLE, _MOST_VISIBLE = 0.90, 1.005  # firmware and error correction take up to 8 % of what is soldered on
_LISTED = 6


class Ambiguous(Unknown):
    """A name that does not say which accelerator is meant; `near` holds the ids it could be."""

    def __init__(self, name: str, ids: Sequence[str], why: str, verb: str = "fits") -> None:
        self.near = list(ids)
        more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
        RooflensError.__init__(self, f"{name!r} {verb} {', '.join(ids[:_LISTED])}{more}; {why}.  See: {SEE}")


def accelerator(name: str, memory_bytes: float | None = None) -> Accelerator:
    """The accelerator that is called exactly `name`: an id, an id without its memory size, or a driver's name.

    `memory_bytes`, as a driver reports it, decides between memory sizes and between a package and one device of it;
    a size that does not fit is refused. Raises Unknown (with near matches) or Ambiguous; never falls back.
    """
    if memory_bytes is None and has(name):
        return by_id(name)
    if name.endswith("/1"):
        return _one_of(accelerator(name.removesuffix("/1"), memory_bytes))
    fitting, shared = _called(name)
    if not fitting:
        raise _unknown(name)
    if memory_bytes is not None:
        return _of_size(name, fitting, memory_bytes)
    if len(fitting) == 1 and not shared:
        return by_id(fitting[0].id)
    why = (
        "several devices print this name: say which by its id, or ID/1 for one device of a package"
        if shared
        else "say which"
    )
    raise Ambiguous(name, [e.id for e in fitting], why)


def built_alike(compute_capability: str, units: int, memory_bytes: float) -> list[str]:
    """Ids of all accelerators of this capability, number of units and memory: for a person to choose from."""
    known = (by_id(entry.id) for entry in entries())
    alike = (a for a in known if (a.compute_capability, a.unit_count) == (compute_capability, units))
    return [a.id for a in alike if _fits(a, memory_bytes)]


def _one_of(package: Accelerator) -> Accelerator:
    if package.devices == 1:
        raise RooflensError(f"{package.id} is one device already; leave out the /1")
    return one_device(package)


def _called(name: str) -> tuple[list[Entry], bool]:
    """The entries that answer to `name`, and whether it is one of the names that SKUs share."""
    key = _fold(name)
    own = [e for e in entries() if key in map(_fold, (e.id, e.name, *e.aliases))]
    if own:
        return own, False
    shared = [e for e in entries() if key in map(_fold, e.shared_names)]
    return (
        (shared, True)
        if shared
        else ([e for e in entries() if key in (re.sub(_SIZE, "", e.id), re.sub(_FORM, "", e.id))], False)
    )


def _of_size(name: str, called: Sequence[Entry], memory_bytes: float) -> Accelerator:
    packages = [by_id(e.id) for e in called]
    parts = [one_device(p) for p in packages if p.devices > 1]
    fitting = [a for a in (*packages, *parts) if _fits(a, memory_bytes)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise Ambiguous(name, [a.id for a in fitting], "say which")
    seen = f"{show(memory_bytes, 'B')} ({show_binary(memory_bytes)})"
    raise Ambiguous(name, [a.id for a in packages], f"none of these sizes is the {seen} that this device reports")


def _fits(known: Accelerator, memory_bytes: float) -> bool:
    capacity = known.memory.capacity_bytes
    if capacity is None:
        return True
    least = 0.0 if (known.memory.label or "").startswith("up to") else _LEAST_VISIBLE
    return least <= memory_bytes / capacity <= _MOST_VISIBLE


def _unknown(name: str) -> Unknown:
    key = _fold(name)
    begun = [e.id for e in entries() if e.id.startswith(f"{key}-")]
    if begun:
        return Ambiguous(name, begun, "write the whole id", "is only the beginning of")
    printed = [n for e in entries() for n in (e.name, *e.aliases, *e.shared_names)]
    longer = list(dict.fromkeys(n for n in printed if _fold(n).startswith(f"{key} ")))
    if longer and " " in key:
        return Ambiguous(name, longer, "write the whole name, or an id", "is only the beginning of")
    written = [n for e in entries() for n in (e.id, re.sub(_SIZE, "", e.id))]
    return Unknown("accelerator", name, [*written, *printed] if " " in key else written, SEE)


def _fold(name: str) -> str:
    return " ".join(name.casefold().split())
