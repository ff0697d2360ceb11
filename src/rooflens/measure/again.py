"""A second look when all else is measured: a rate that does not come back was the weather, not a roof.

Neighbours on a shared host take bandwidth and clock without a trace in this system's counters, and every sample of a
few seconds agrees with the next. A look half a minute later tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rooflens.measure.backend import Backend, Cannot
from rooflens.measure.budget import Budget
from rooflens.measure.options import Options, quick
from rooflens.measure.stages import plan
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.units import percent, show

MOST_CHANGED = 0.05
LOOKS = 2


def confirmed(
    backend: Backend, options: Options, ceilings: Sequence[Ceiling], budget: Budget, progress: Callable[[str], None]
) -> list[Ceiling]:
    """The ceilings, each trusted one set against a short second look, and against a third where the two disagree."""
    if not options.looks_again:
        return list(ceilings)
    looks: dict[str, list[Ceiling]] = {c.id: [] for c in ceilings if c.trusted and c.origin == "measured"}
    for _ in range(LOOKS):
        doubted = {c.id for c in ceilings if c.id in looks and not any(agree(c, look) for look in looks[c.id])}
        for look in _looks(backend, options, doubted, budget, progress):
            looks[look.id].append(look)
    return [settled(c, looks.get(c.id, ())) for c in ceilings]


def settled(first: Ceiling, looks: Sequence[Ceiling]) -> Ceiling:
    """The ceiling when a look agrees with it; the faster later one when two of these agree; else refused, saying why.

    Agree: within 5 % in rate, or in rate per clock where the device says its clock (a hot machine is not a disturbed
    one).
    """
    if not looks or any(agree(first, look) for look in looks):
        return first
    better = max(looks, key=_speed)
    if len(looks) == LOOKS and agree(*looks) and _speed(better) > _speed(first):
        return replace(better, note="; ".join(filter(None, [better.note, _slower_before(first)])))
    values = " and ".join(show(c.value, c.unit) for c in (first, *looks))
    said = f"the machine changed meanwhile: looks some time apart gave {values} (at most {percent(MOST_CHANGED)} apart)"
    return replace(first, trusted=False, why_not=said)


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


def _slower_before(first: Ceiling) -> str:
    return f"taken from a later look; the first, disturbed unseen, gave {show(first.value, first.unit)}"


def _apart(one: float, other: float) -> float:
    return 1 - min(one, other) / max(one, other)
