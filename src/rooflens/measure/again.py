"""A second look when all else is measured: a ceiling is the fastest that a clean look reached.

Neighbours on a shared host take bandwidth and clock without a trace in this system's counters, and every sample of a
few seconds agrees with the next. They only ever take: of several looks some time apart the fastest is nearest to the
machine itself. Where no other look comes near it, the figure says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rooflens.measure.backend import Backend, Cannot
from rooflens.measure.budget import Budget
from rooflens.measure.options import Options, quick
from rooflens.measure.stages import plan
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.units import show

MOST_CHANGED = 0.05
LOOKS = 2
UNSTEADY = "this machine does not keep its rate: it may reach more"


def confirmed(
    backend: Backend, options: Options, ceilings: Sequence[Ceiling], budget: Budget, progress: Callable[[str], None]
) -> list[Ceiling]:
    """The ceilings, each set against a short second look, and against a third where no two clean ones agree.

    One that was refused has the same chance: what disturbed it may be over.
    """
    if not options.looks_again:
        return list(ceilings)
    looks: dict[str, list[Ceiling]] = {c.id: [] for c in ceilings if c.origin == "measured"}
    for _ in range(LOOKS):
        doubted = {c.id for c in ceilings if c.id in looks and not _is_certain(c, looks[c.id])}
        for look in _looks(backend, options, doubted, budget, progress):
            looks[look.id].append(look)
    return [settled(c, looks.get(c.id, ())) for c in ceilings]


def settled(first: Ceiling, looks: Sequence[Ceiling]) -> Ceiling:
    """The first where a later look agrees with it; else the fastest clean look, with a note of the others.

    Agree: within 5 % in rate, or in rate per clock where the device says its clock (a hot machine is not a disturbed
    one). The first as it is where there is no clean later look.
    """
    if not looks or _is_certain(first, looks):
        return first
    clean = [*([first] if first.trusted else []), *looks]
    best = max(clean, key=_speed)
    others = [c for c in (first, *looks) if c is not best and c.value]
    agreed = any(agree(best, other) for other in others if other.trusted)
    values = " and ".join(show(c.value, c.unit) for c in others)
    note = f"the fastest of {len(others) + 1} looks some time apart; the others gave {values}"
    return replace(best, note="; ".join(filter(None, [best.note, note, "" if agreed else UNSTEADY])))


def _is_certain(first: Ceiling, looks: Sequence[Ceiling]) -> bool:
    """Whether a later look agrees with the first."""
    return first.trusted and any(agree(first, look) for look in looks)


def agree(one: Ceiling, other: Ceiling) -> bool:
    """Whether two looks at one ceiling give the same rate, or the same rate per clock."""
    if _apart(one.value, other.value) <= MOST_CHANGED:
        return True
    if not one.clock_hz or not other.clock_hz:
        return False
    return _apart(one.value / one.clock_hz, other.value / other.clock_hz) <= MOST_CHANGED


def _looks(
    backend: Backend, options: Options, doubted: set[str], budget: Budget, progress: Callable[[str], None]
) -> list[Ceiling]:
    """One short look at each stage that finds one of these; what ran beside somebody else's work is not heard."""
    found: list[Ceiling] = []
    for stage in plan(backend, _glance(options)) if doubted else ():
        if budget.over() or not any(stage.finds and stage.finds in id for id in doubted):
            continue
        progress(f"{stage.name}, again")
        try:
            found += [c for c in stage.run(budget).ceilings if c.id in doubted and c.trusted]
        except Cannot:
            continue
    return found


def _glance(options: Options) -> Options:
    return replace(quick(options.seed), dtypes=options.dtypes[:2], looks_again=False)


def _speed(ceiling: Ceiling) -> float:
    """Larger is faster: a launch is counted in seconds, everything else as a rate."""
    return 1 / ceiling.value if ceiling.kind == "launch" else ceiling.value


def _apart(one: float, other: float) -> float:
    return 1 - min(one, other) / max(one, other)
