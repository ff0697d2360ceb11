"""Two runs of the same thing, kernel by kernel: which moved, by how much, and what changed about it.

Matched are kernels of one name, operator and shapes (of one name alone where either file says no shapes); of what is
left, those of one operator and shapes (another kernel took its place); then those of one name (other shapes). Devices
and streams are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from typing import Literal

from rooflens.accounting.record import Account, Attribution, Judged
from rooflens.records import field, html, record
from rooflens.units import percent

SCHEMA = "rooflens/kernels-compare/1"
TOLERANCE = 0.05  # of a kernel's time: single runs of a profiler differ by that without a cause
STEPS_APART = 1.5  # times the kernels: the runs may be of other numbers of steps

Outcome = Literal["same", "faster", "slower", "replaced", "gone", "new"]


@record
class Summed:
    """All calls of one kernel with one operator and shapes, over devices and streams."""

    name: str
    operator: str | None
    shapes: tuple[object, ...]
    dtype: str | None
    family: str | None
    calls: int
    time_s: float
    flops: float | None
    bytes: float | None
    floor_s: float | None
    clock_hz: float | None
    regime: str | None

    @property
    def share_of_roof(self) -> float | None:
        """Floor over measured time."""
        return self.floor_s / self.time_s if self.floor_s is not None and self.time_s else None


@record
class Moved:
    """One kernel in both runs, or in one of them. difference_s: after - before; why: what changed about it."""

    name: str
    outcome: Outcome
    difference_s: float
    before_s: float | None = None
    after_s: float | None = None
    before_calls: int | None = None
    after_calls: int | None = None
    before_share_of_roof: float | None = None
    after_share_of_roof: float | None = None
    before_name: str | None = None
    operator: str | None = None
    why: tuple[str, ...] = ()


@record
class Comparison:
    """Two runs. before_s, after_s: spans where both files have a timeline, else kernels added up (`basis` says which).

    speedup = before_s / after_s, absent where the run after took no time. tolerance: two times that differ by less than
    this share of the longer are the same, whichever came first. kernels: the largest differences first. attribution_s:
    after - before, part by part, where both know it. warnings: what the readers of the two files say of them.
    """

    _repr_html_ = html

    before: str
    after: str
    machine: str
    basis: Literal["span", "kernels"]
    before_s: float
    after_s: float
    attribution_s: Mapping[str, float]
    kernels: tuple[Moved, ...]
    tolerance: float
    speedup: float | None = None
    notes: tuple[str, ...] = ()
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def compared(before: Account, after: Account, tolerance: float = TOLERANCE) -> Comparison:
    """What moved between two runs, and why. tolerance: how far a kernel's time may move and be called the same."""
    spans = before.devices and after.devices
    before_s, after_s = (a.attribution_s.whole_s if spans else a.time_s for a in (before, after))
    vague = {kernel.name for kernel in (*before.kernels, *after.kernels) if not kernel.shapes}
    old, new = (_summed(run.kernels, vague) for run in (before, after))
    moved = sorted(_moved(old, new, tolerance, vague), key=lambda m: -abs(m.difference_s))
    return Comparison(
        before=before.where,
        after=after.where,
        machine=after.machine,
        basis="span" if spans else "kernels",
        before_s=before_s,
        after_s=after_s,
        speedup=before_s / after_s if after_s else None,
        attribution_s=_attributed(before.attribution_s, after.attribution_s),
        kernels=tuple(moved),
        tolerance=tolerance,
        notes=tuple(_notes(before, after)),
        warnings={run.where: run.warnings for run in (before, after) if run.warnings},
    )


def _attributed(before: Attribution, after: Attribution) -> dict[str, float]:
    old, new = before.parts, after.parts
    return {name: new[name] - old[name] for name in new if name in old}


def _summed(kernels: Sequence[Judged], vague: Container[str]) -> list[Summed]:
    """Calls added up; of a vague name all of them, whatever their shapes."""
    groups: dict[Hashable, list[Judged]] = {}
    for kernel in kernels:
        own = (kernel.operator, repr(kernel.shapes), kernel.dtype)
        groups.setdefault((kernel.name, None if kernel.name in vague else own), []).append(kernel)
    return [_sum(group) for group in groups.values()]


def _sum(group: Sequence[Judged]) -> Summed:
    first = group[0]

    def added(name: str) -> float | None:
        each = [getattr(kernel, name) for kernel in group]
        return None if any(value is None for value in each) else sum(each)

    clocks = {kernel.clock_hz for kernel in group}
    alike = len({repr(kernel.shapes) for kernel in group}) == 1
    return Summed(
        first.name, first.operator if alike else None, first.shapes if alike else (), first.dtype, first.family,
        sum(kernel.calls for kernel in group), sum(kernel.spent_s for kernel in group),
        added("flops"), added("bytes"), added("floor_s"), clocks.pop() if len(clocks) == 1 else None,
        max(group, key=lambda kernel: kernel.spent_s).regime,
    )  # fmt: skip


def _moved(before: list[Summed], after: list[Summed], tolerance: float, vague: Container[str]) -> Iterator[Moved]:
    """Matched by one key after another; what no key matches is gone or new."""
    keys: tuple[Callable[[Summed], Hashable | None], ...] = (
        lambda k: (k.name, None) if k.name in vague else (k.name, k.operator, repr(k.shapes), k.dtype),
        lambda k: (k.operator, repr(k.shapes)) if k.operator and k.shapes else None,
        lambda k: k.name,
    )
    for key in keys:
        pairs, before, after = _matched(before, after, key)
        for old, new in pairs:
            yield _pair(old, new, tolerance)
    for old in before:
        yield Moved(
            old.name, "gone", -old.time_s, before_s=old.time_s, before_calls=old.calls, operator=old.operator,
            before_share_of_roof=old.share_of_roof, why=("only in the run before",),
        )  # fmt: skip
    for new in after:
        yield Moved(
            new.name, "new", new.time_s, after_s=new.time_s, after_calls=new.calls, operator=new.operator,
            after_share_of_roof=new.share_of_roof, why=("only in the run after",),
        )  # fmt: skip


def _matched(
    before: list[Summed], after: list[Summed], key: Callable[[Summed], Hashable | None]
) -> tuple[list[tuple[Summed, Summed]], list[Summed], list[Summed]]:
    """Pairs of one key, the longest with the longest, and what is left of both sides."""
    by: dict[Hashable, list[Summed]] = {}
    for old in sorted(before, key=lambda k: k.time_s):
        by.setdefault(key(old), []).append(old)
    by.pop(None, None)
    pairs, left = [], []
    for new in sorted(after, key=lambda k: -k.time_s):
        waiting = by.get(key(new))
        if waiting:
            pairs.append((waiting.pop(), new))
        else:
            left.append(new)
    taken = {id(old) for old, _ in pairs}
    return pairs, [old for old in before if id(old) not in taken], left


def _pair(old: Summed, new: Summed, tolerance: float) -> Moved:
    near = not _apart(new.time_s, old.time_s, tolerance)
    other = old.name != new.name
    outcome: Outcome = "replaced" if other else "same" if near else "faster" if new.time_s < old.time_s else "slower"
    return Moved(
        new.name, outcome, new.time_s - old.time_s, old.time_s, new.time_s, old.calls, new.calls,
        old.share_of_roof, new.share_of_roof, old.name if other else None, new.operator or old.operator,
        tuple(_why(old, new, tolerance)),
    )  # fmt: skip


def _why(old: Summed, new: Summed, tolerance: float) -> Iterator[str]:
    """What changed about a kernel, the countable first; nothing where its time did not move."""
    if old.name != new.name:
        yield f"another kernel took the place of {old.name[:80]}"
    elif not _apart(new.time_s, old.time_s, tolerance):
        return
    if old.calls != new.calls:
        yield f"{old.calls} calls became {new.calls}"
    if old.dtype != new.dtype and None not in (old.dtype, new.dtype):
        yield f"its math went from {old.dtype} to {new.dtype}"
    yield from _why_work(old, new, tolerance)
    yield from _why_pace(old, new, tolerance)


def _why_work(old: Summed, new: Summed, tolerance: float) -> Iterator[str]:
    """Whether it does more or less."""
    for what in ("flops", "bytes"):
        before, after = _each(old, what), _each(new, what)
        if before and after and _apart(after, before, tolerance):
            yield f"{after / before:.3g} times the {what} a call"
    if old.shapes and new.shapes and old.shapes != new.shapes:
        yield "its shapes are others"


def _why_pace(old: Summed, new: Summed, tolerance: float) -> Iterator[str]:
    """Whether it does it faster or slower."""
    if old.clock_hz and new.clock_hz and _apart(new.clock_hz, old.clock_hz, tolerance):
        yield f"its clock went from {old.clock_hz / 1e9:.3g} GHz to {new.clock_hz / 1e9:.3g} GHz"
    before, after = old.share_of_roof, new.share_of_roof
    if before and after:
        if _apart(after, before, tolerance):
            yield f"from {percent(before)} to {percent(after)} of its roof"
        return
    was, is_now = (kernel.time_s / kernel.calls if kernel.calls else 0.0 for kernel in (old, new))
    if was and is_now and _apart(was, is_now, tolerance):
        yield f"{is_now / was:.3g} times the time a call; why, its files do not say"


def _apart(one: float, other: float, tolerance: float) -> bool:
    """Whether they differ by more than this share of the larger."""
    return abs(one - other) > tolerance * max(one, other)


def _each(kernel: Summed, what: str) -> float | None:
    value = kernel.flops if what == "flops" else kernel.bytes
    return value / kernel.calls if value is not None and kernel.calls else None


def _notes(before: Account, after: Account) -> Iterator[str]:
    if not (before.devices and after.devices):
        yield "one of the files has no timeline: kernels are compared, not the run"
    if before.machine != after.machine:
        yield f"roofs: {before.machine} before, {after.machine} after"
    calls = [sum(kernel.calls for kernel in run.kernels) for run in (before, after)]
    if all(calls) and max(calls) > STEPS_APART * min(calls):
        yield f"{calls[0]} launches before and {calls[1]} after: are both of the same number of steps?"
