"""What is stored meets what the machine has: the format each part is computed in."""

from __future__ import annotations

from dataclasses import replace

from rooflens.dtypes import dtype
from rooflens.errors import NoPath
from rooflens.operators.cost import Precision
from rooflens.roofline.ceilings import Machine

_CONTRACTING = ("", "project", "expert", "shared", "attend", "router", "head", "conv", "ssm")
_FORCED = ("", "project", "expert", "shared")


def resolve(stored: Precision, machine: Machine, math: str | None = None) -> tuple[Precision, tuple[str, ...]]:
    """`stored` with the math of every part, and notes on parts computed wider than they are stored.

    A format narrower than 16 bit is computed natively when the machine has the path, else in the activations' format
    (weight-only). `math` forces the linear parts. Raises NoPath when the machine lacks what was asked for, or the
    activations' format itself: no other is put in its place.
    """
    wide = stored.activations.math
    _require(machine, wide)
    if math is not None:
        _require(machine, dtype(math).math if dtype(math).bits >= 8 else math)
    notes: list[str] = []
    maths = {}
    for part in _CONTRACTING:
        own = stored.stored_parts.get(part, stored.weights).math
        forced = math if part in _FORCED else None
        maths[part] = wide if part == "attend" else _math(own, wide, machine, forced, notes)
    return replace(stored, math=maths), tuple(dict.fromkeys(notes))


def _math(own: str, wide: str, machine: Machine, forced: str | None, notes: list[str]) -> str:
    if forced is not None:
        return dtype(forced).math
    if dtype(own).bits >= 16:
        return wide if own == "fp16" else own
    if machine.has(own):
        return own
    why = "has no" if machine.has(own) is False else "is not known to have"
    notes.append(f"{own} weights are computed in {wide}: {machine.name} {why} {own} arithmetic")
    return wide


def _require(machine: Machine, math: str) -> None:
    if machine.has(math):
        return
    have = sorted({c.dtype for c in machine.find("compute") if c.value > 0 and c.dtype})
    known = "has no" if machine.has(math) is False else "is not known to have"
    choice = f"it has {', '.join(have) or 'no compute roof at all'}: choose with --math or --weights"
    raise NoPath(f"{machine.name} {known} {math} arithmetic; {choice}")
