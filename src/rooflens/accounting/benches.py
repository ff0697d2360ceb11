"""A benchmark's file judged: each figure against the ceiling it belongs to, with what cannot be said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rooflens.accounting import bench_runs, bench_tools
from rooflens.accounting.bench_findings import beside, cached, findings
from rooflens.accounting.bench_record import CONVENTIONS, Benches, Demand, JudgedPoint, Modelled
from rooflens.errors import NoPath, RooflensError
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.observed import BenchPoint, Observed
from rooflens.roofline.points import is_finding
from rooflens.units import show

NO_MACHINE = "no machine is named: --on MACHINE sets it against its ceiling"
BELOW_ZERO = "a figure below 0 was not measured: suspect a clock that was set back, or counters that began anew"
ONE_SIZE = "one size alone: whether larger ones would be faster, the file does not say"


def judged(
    seen: Observed,
    machine: Machine | None,
    model: Modelled | None = None,
    math: str | None = None,
    strangers: Mapping[str, str] | None = None,
    conventions: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Benches:
    """The points of one file, each with its ratio where machine, model and file say enough.

    math: of products whose format the file does not say, or says wrongly. strangers: of chips that rows of a table are
    of, why the machine's roofs are not theirs.
    """
    away = strangers or {}
    points = tuple(
        judged_point(one, machine, away.get(str(one.point.conditions.get("accelerator"))))
        for one in _asked(seen, model, math)
    )
    said = {**CONVENTIONS, **({"peaks": machine.peak_basis} if machine else {}), **(conventions or {})}
    return Benches(
        where=seen.where,
        format=seen.format,
        points=points,
        conventions=said,
        machine=machine.title if machine else None,
        model=model.name if model else None,
        notes=(*(machine.assumptions if machine else ()), *notes, *_notes(seen)),
        warnings=seen.warnings,
    )


class Asked(NamedTuple):
    """A point with what it asked for: a sentence says what is missing for that, None that it has no one ceiling.

    floor_s: of a latency that is of no step. doubts: what cannot be, whatever the machine.
    """

    point: BenchPoint
    demand: Demand | str | None
    floor_s: float | None = None
    doubts: tuple[str, ...] = ()


def _asked(seen: Observed, model: Modelled | None, math: str | None) -> Iterator[Asked]:
    serving = [point for point in seen.points if point.tool in bench_runs.TOOLS]
    for run, points in bench_runs.runs(serving):
        yield from (_of_run(point, run, model) for point in points)
    for point in seen.points:
        if point.tool not in bench_runs.TOOLS:
            yield _of_tool(point, model, math)


def _no_figure(point: BenchPoint) -> Asked:
    """A point that the tool gave no value, or one that nothing measures."""
    return Asked(point, None, doubts=() if point.value is None else (BELOW_ZERO,))


def _of_tool(point: BenchPoint, model: Modelled | None, math: str | None) -> Asked:
    if point.value is None or point.value < 0:
        return _no_figure(point)
    try:
        return Asked(point, bench_tools.asked(point, model, math))
    except RooflensError as why:  # a step that no model has, or no machine can do
        return Asked(point, str(why))


def _of_run(point: BenchPoint, run: bench_runs.Run, model: Modelled | None) -> Asked:
    """A point of a serving run; where it beats what no software beats, or the run denies itself, that is said."""
    if point.value is None or point.value < 0:
        return _no_figure(point)
    try:
        floor_s = bench_runs.first_token_s(point, run, model)
        demand = bench_runs.served(point, run, model)
    except RooflensError as why:
        floor_s, demand = None, str(why)
    doubts = [bench_runs.beyond(run) if point.name == run.step_point else None]
    if floor_s is not None and (point.value <= 0 or is_finding(floor_s / point.value)):
        doubts.append(
            f"{show(point.value, 's')} beats the floor of a prefill, {show(floor_s, 's')}: suspect prompts that were "
            "found in a cache, fewer bits than were counted, another model or another machine"
        )
    return Asked(point, demand, floor_s, tuple(filter(None, doubts)))


def judged_point(asked: Asked, machine: Machine | None, stranger: str | None = None) -> JudgedPoint:
    """One point under its ceiling. stranger: why this machine's roofs are not those of the point's chip."""
    point, demand = asked.point, asked.demand
    plain = JudgedPoint(
        point.tool, point.name, point.metric, point.value, point.means, spread=point.spread, notes=point.notes,
        conditions=point.conditions, floor_s=asked.floor_s, findings=asked.doubts, headline=demand is not None,
    )  # fmt: skip
    if not isinstance(demand, Demand):
        return replace(plain, missing=NO_MACHINE if demand and machine is None else demand)
    found = replace(
        plain, ratio_name=demand.ratio, demand_per_s=demand.per_s, counted=demand.counted, headline=demand.headline,
        floor_s=asked.floor_s if demand.floor_s is None else demand.floor_s, notes=(*point.notes, *demand.notes),
    )  # fmt: skip
    if machine is None or stranger:
        return replace(found, missing=stranger or NO_MACHINE)
    try:
        roof, said = _roof(demand, machine)
    except NoPath as why:
        return replace(found, missing=str(why))
    return _under(found, point, demand, roof, machine, said)


def _under(
    found: JudgedPoint, point: BenchPoint, demand: Demand, roof: Ceiling, machine: Machine, said: tuple[str, ...]
) -> JudgedPoint:
    ceiling = roof.floor_value * demand.directions
    if not ceiling:
        return replace(found, missing=f"{machine.name} has no {roof.dtype or roof.level} path: its rate is 0")
    ratio = demand.per_s / ceiling
    small = [cached(point, machine), *beside(point, demand, roof, machine)] if not is_finding(ratio) else []
    return replace(
        found,
        ratio=ratio,
        ceiling=roof.id,
        ceiling_value=ceiling,
        ceiling_unit=roof.unit,
        ceiling_origin=roof.origin,
        findings=(*found.findings, *findings(point, demand, roof, ratio, machine)),
        notes=(*found.notes, *said, *filter(None, small)),
    )


def _roof(demand: Demand, machine: Machine) -> tuple[Ceiling, tuple[str, ...]]:
    """The ceiling of this demand, and what must be said of it. Raises NoPath."""
    if demand.ratio == "mfu":
        return machine.compute(demand.math or "", demand.path), ()
    if demand.ratio == "share_of_link":
        return machine.the_link(demand.link), ()
    try:
        return machine.memory(demand.access, demand.level), ()
    except NoPath:
        if demand.access != "triad":
            raise
        return machine.memory("copy"), (f"the triad rate of {machine.name} is not known: it is set against copy",)


def _notes(seen: Observed) -> Iterator[str]:
    sizes = {point.conditions.get("size_bytes") for point in seen.points if point.tool == bench_tools.NCCL}
    if len(sizes) == 1:
        yield ONE_SIZE
