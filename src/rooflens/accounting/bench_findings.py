"""A ratio above its roof cannot be: which mistake it looks like, said and never clipped."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.accounting.bench_record import Demand
from rooflens.accounting.bench_tools import LLAMA, NCCL, STREAM
from rooflens.errors import NoPath
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.observed import BenchPoint
from rooflens.roofline.points import is_finding
from rooflens.units import percent, show

APART = 0.02  # of a peak: the file takes another one
SEVERAL = 4.0  # times the cache: arrays that are smaller may be served by it in part
_IN_SWITCH = ("all_reduce", "reduce_scatter", "all_gather", "reduce", "broadcast")


def findings(point: BenchPoint, demand: Demand, roof: Ceiling, ratio: float, machine: Machine) -> Iterator[str]:
    """What to suspect of a ratio above its roof, the likeliest mistake first."""
    if not is_finding(ratio):
        return
    above = f"{percent(ratio)} of {roof.id} of {machine.name}"
    if roof.kind == "compute":
        yield _compute(above, point, demand, machine)
    elif roof.kind == "link":
        yield _link(above, point, demand, roof, ratio)
    elif point.tool == STREAM or demand.access != "read":
        yield _buffer(above, point, machine)
    else:
        yield (
            f"{above}: suspect fewer bits or fewer active experts than were counted, drafts, prompt tokens counted as "
            "generated ones, more devices than were named, or another machine"
        )
    if roof.origin == "measured":
        yield f"the roof {roof.id} was measured as {show(roof.floor_value, roof.unit)} and is too low: measure it again"


def cached(point: BenchPoint, machine: Machine | None) -> str | None:
    """A note on arrays that are not several times the last cache, though their figure is below the roof."""
    held = working_set_bytes(point)
    if machine is None or not machine.cache_bytes or held is None or held >= SEVERAL * machine.cache_bytes:
        return None
    cache = show(machine.cache_bytes, "B")
    return (
        f"its arrays of {show(held, 'B')} are not several times the last cache ({cache}), which may have served a part"
    )


def beside(point: BenchPoint, demand: Demand, roof: Ceiling, machine: Machine) -> Iterator[str]:
    """Notes on a ratio that may stand: other roofs that it may be a share of, another peak that the file takes."""
    theory = point.conditions.get("theory_flops_per_s")
    if isinstance(theory, (int, float)) and abs(theory / roof.floor_value - 1) > APART:
        theirs, ours = (show(peak, "FLOP/s") for peak in (theory, roof.floor_value))
        yield f"the file takes {theirs} as the peak, and {roof.id} is {ours}"
    if point.tool == LLAMA and roof.kind == "compute":
        fitting = _fits(point, demand, machine)
        others = _shares(demand, [one for one in fitting if one[1] > roof.floor_value])
        if others:
            yield f"llama.cpp may multiply in 8 bit or accumulate in 16, of which it would be: {others}"


def working_set_bytes(point: BenchPoint) -> float | None:
    """Bytes of all arrays of a memory test."""
    each = point.conditions.get("array_bytes")
    counts = [point.conditions.get(name) for name in ("arrays_read", "arrays_written")]
    if not isinstance(each, (int, float)):
        return None
    return float(each) * sum(n for n in counts if isinstance(n, (int, float)))


def _buffer(above: str, point: BenchPoint, machine: Machine) -> str:
    held = working_set_bytes(point)
    if held is not None and machine.cache_bytes and held < SEVERAL * machine.cache_bytes:
        cache = show(machine.cache_bytes, "B")
        return (
            f"{above}: that is a cache, since its arrays of {show(held, 'B')} are kept by the last one ({cache}); "
            "make them larger"
        )
    return f"{above}: suspect arrays that stayed in a cache, bytes counted twice, or another machine"


def _link(above: str, point: BenchPoint, demand: Demand, roof: Ceiling, ratio: float) -> str:
    inner = point.conditions.get("algorithm_bytes_per_s")
    switched = point.tool == NCCL and point.conditions.get("operation") in _IN_SWITCH
    if switched and isinstance(inner, (int, float)) and inner <= roof.floor_value:
        share = percent(float(inner) / roof.floor_value)
        return (
            f"{above}: in-switch reduction (NVLS, SHARP) explains it, which sends less than the bus figure counts; "
            f"its algorithm bandwidth is {share} of the link"
        )
    if ratio <= 2 and demand.directions == 1 and point.tool != NCCL:
        return f"{above}: suspect both directions counted as one, a faster link than the one named, or another machine"
    return f"{above}: suspect a faster link than the one named, or another machine"


def _compute(above: str, point: BenchPoint, demand: Demand, machine: Machine) -> str:
    others = _shares(demand, _fits(point, demand, machine))
    if others:
        suspects = "suspect that it ran in one of these, a wrong count of FLOPs, or another machine"
        return f"{above}, of other roofs {others}: {suspects}"
    return f"{above}: suspect a wrong count of FLOPs, more devices than were named, or another machine"


def _shares(demand: Demand, roofs: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {percent(demand.per_s / value)}" for name, value in roofs)


def _fits(point: BenchPoint, demand: Demand, machine: Machine) -> list[tuple[str, float]]:
    """Roofs that the rate fits under: the same math with its narrow accumulator or sparse, wider paths, the nearest."""
    math = demand.math or ""
    named = {f"{math}_acc16", *({"int8"} if point.tool == LLAMA else ()), *({"tf32"} if math == "fp32" else ())}
    roofs = [(name, roof) for name in sorted(named) if (roof := _peak(machine, name))]
    own, times = _peak(machine, math), machine.sparse_multipliers.get(math)
    fitting = [(name, value) for name, value in roofs if value >= demand.per_s]
    if own and times and own * times >= demand.per_s and point.tool != LLAMA:
        fitting.append((f"2:4 sparse {math}", own * times))
    if not fitting:
        higher = [(c.dtype or "", c.floor_value) for c in machine.find("compute") if c.floor_value >= demand.per_s]
        fitting = sorted(higher, key=lambda one: one[1])[:1]
    return fitting


def _peak(machine: Machine, math: str) -> float | None:
    try:
        return machine.compute(math).floor_value
    except NoPath:
        return None
