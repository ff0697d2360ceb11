"""The answer to `place`: where each operator of a step lands under the roofs of a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rooflens.operators.cost import Precision
from rooflens.records import html, record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.links import latency_s
from rooflens.roofline.place import mbu, mfu, placed, regime, ridge, work_of
from rooflens.roofline.points import Point, is_finding
from rooflens.roofline.price import Priced, StepPrice, price_step
from rooflens.units import percent
from rooflens.workload import Operator

SCHEMA = "rooflens/place/1"


@record
class PlacedOperator:
    """One kernel: `count` of these run for a microbatch, and every figure is of one of them, on one device.

    link_bytes, link_steps: sent inside a node by the algorithm of the fewest bytes; network_*: between nodes.
    """

    name: str
    count: int
    flops: float | Mapping[str, float]
    vector_flops: float
    weight_bytes: float
    kv_bytes: float
    activation_bytes: float
    link_bytes: float
    network_bytes: float
    link_steps: float
    network_steps: float
    math: str
    bound: str
    attainable_flops_per_s: float
    share_of_peak: float
    floor_s: float
    intensity_flops_per_byte: float | None = None


@record
class Total:
    """A step as one: FLOPs and bytes of a device, and the sum over kernels of the largest demand over rate.

    flops: tensor work, or vector work where there is no other. launch_s: what starting the kernels costs beside the
    floor, absent on a machine whose launch cost is not known; latency_s: what the steps of collectives cost beside it,
    by the cheapest algorithms, where the latency of their links is known. bubble: share of a pipeline's step that a
    stage waits.
    """

    flops: float
    bytes: float
    floor_s: float
    floor_overlapped_s: float
    launch_s: float | None
    bound: str
    intensity_flops_per_byte: float | None = None
    bubble: float | None = None
    latency_s: float | None = None


@record
class Measured:
    """What a clock said against the floor. mfu: of the dense peak of the main math; mbu: of the read bandwidth."""

    time_s: float
    regime: str
    times_floor: float
    mfu: float
    mbu: float
    achieved_flops_per_s: float
    findings: tuple[str, ...] = ()


@record
class Placement:
    """Where a step lands. total counts every operand; step_floor only weights, KV and state, as predict does.

    step_floor is absent for an operator alone that has none of these.
    """

    _repr_html_ = html

    model: str
    machine: str
    step: Mapping[str, float | str]
    conventions: Mapping[str, str]
    operators: tuple[PlacedOperator, ...]
    total: Total
    math: str
    peak_flops_per_s: float
    bandwidth_bytes_per_s: float
    ridge_flops_per_byte: float
    step_floor: Total | None = None
    measured: Measured | None = None
    notes: tuple[str, ...] = ()


def placement(
    model: str,
    operators: Sequence[Operator],
    machine: Machine,
    step: Mapping[str, float | str],
    conventions: Mapping[str, str],
    notes: Sequence[str] = (),
    measured_s: float | None = None,
    *,
    alone: bool = False,
) -> tuple[Placement, tuple[Point, ...]]:
    """Prices and places every operator; the points are for drawing. Raises NoPath for work the machine cannot do.

    A measured step is set against its floor (weights, KV, state); an operator `alone`, which has no neighbour to keep
    its activations on chip, against every operand.
    """
    full, streamed = price_step(operators, machine), price_step(operators, machine, activations=False)
    points = tuple(placed(kernel, machine) for kernel in full.kernels)
    math, _, path = work_of(full.cost)
    answer = Placement(
        model=model,
        machine=machine.title,
        step=step,
        conventions=conventions,
        operators=tuple(_operator(kernel, point) for kernel, point in zip(full.kernels, points, strict=True)),
        total=_total(full, operators, machine),
        math=math,
        peak_flops_per_s=machine.compute(math, path).floor_value,
        bandwidth_bytes_per_s=machine.memory("read").floor_value,
        ridge_flops_per_byte=ridge(machine, math, path),
        step_floor=_total(streamed, operators, machine) if float(streamed.moved_bytes) or not alone else None,
        measured=None if measured_s is None else _measured(full if alone else streamed, machine, measured_s),
        notes=(*notes, *full.unpriced),
    )
    return answer, points


def conventions(machine: Machine, precision: Precision, mask: str) -> dict[str, str]:
    """What a reader must know to compare these numbers with others."""
    kept = [part for part, wide in precision.stored_parts.items() if wide.name != precision.weights.name]
    but = f" ({', '.join(kept)} in {precision.stored_parts[kept[0]].name})" if kept else ""
    stored = f"weights {precision.weights.name}{but}, KV {precision.kv.name}, activations {precision.activations.name}"
    return {
        "precision": f"{stored}, math {precision.math_of('linear')}",
        "peaks": machine.peak_basis,
        "mask": f"{mask} (half of the scores counted)" if mask == "causal" else mask,
        "operators": "figures are of one kernel; the step runs `count` of them",
        "total": "every operand of every kernel, activations included",
        "step_floor": "weights, KV cache and state only: activations may stay on chip",
        "flops": "a multiply-add is 2; tensor contractions, vector work apart",
        "not_counted": "embedding look-up in the step floor, launches, cache misses, padding, host time",
        **{f"assumed {name}": text for name, text in machine.assumed.items()},
    }


def _operator(kernel: Priced, point: Point) -> PlacedOperator:
    cost = kernel.cost
    by_math = {math: float(flops) for math, flops in cost.flops.items()}
    return PlacedOperator(
        name=kernel.name,
        count=kernel.count,
        flops=by_math if len(by_math) > 1 else float(cost.total_flops),
        vector_flops=float(cost.vector_flops),
        weight_bytes=float(cost.weight_bytes),
        kv_bytes=float(cost.kv_bytes),
        activation_bytes=float(cost.activation_bytes),
        link_bytes=float(cost.link_bytes),
        network_bytes=float(cost.network_bytes),
        link_steps=float(cost.link_steps),
        network_steps=float(cost.network_steps),
        math=point.dtype,
        bound=point.regime,
        attainable_flops_per_s=point.attainable_flops_per_s,
        share_of_peak=point.share_of_peak,
        floor_s=float(kernel.time_s),
        intensity_flops_per_byte=point.intensity_flops_per_byte,
    )


def _total(price: StepPrice, operators: Sequence[Operator], machine: Machine) -> Total:
    (_, flops, _), moved_bytes = work_of(price.cost), float(price.moved_bytes)
    waited_s = latency_s(operators, price, machine)
    return Total(
        flops,
        moved_bytes,
        float(price.floor_s),
        float(price.floor_overlapped_s),
        float(price.launch_s) if machine.find("launch", level="device") else None,
        price.bound,
        flops / moved_bytes if moved_bytes else None,
        float(price.pipeline.bubble) if price.pipeline.stages > 1 else None,
        None if waited_s is None else float(waited_s),
    )


def _measured(basis: StepPrice, machine: Machine, measured_s: float) -> Measured:
    math, flops, _ = work_of(basis.cost)
    floor_s = float(basis.floor_s)
    of_peak = mfu(basis.cost, machine, measured_s)
    of_bandwidth = mbu(float(basis.moved_bytes), machine, measured_s)
    return Measured(
        time_s=measured_s,
        regime=regime(basis.bound, floor_s, float(basis.launch_s), measured_s),
        times_floor=measured_s / floor_s if floor_s else 0.0,
        mfu=of_peak,
        mbu=of_bandwidth,
        achieved_flops_per_s=flops / measured_s,
        findings=tuple(_findings(of_peak, of_bandwidth, math, machine)),
    )


def _findings(of_peak: float, of_bandwidth: float, math: str, machine: Machine) -> Iterator[str]:
    """What to suspect of a share above its roof."""
    if is_finding(of_peak):
        said = f"MFU {percent(of_peak)} is above the {machine.peak_basis} {math} roof of {machine.name}"
        ran_in = _faster(of_peak, math, machine)
        yield f"{said}; suspect {ran_in}a sparse figure, another chip's peak or a wrong FLOP count"
    if is_finding(of_bandwidth):
        suspects = "data that stayed in a cache, fewer bytes moved than counted, or the wrong machine"
        yield f"MBU {percent(of_bandwidth)} is above the read bandwidth of {machine.name}; suspect {suspects}"


def _faster(of_peak: float, math: str, machine: Machine) -> str:
    """The nearest higher roof that the measured rate would fit under: tf32, where fp32 was meant."""
    achieved = of_peak * machine.compute(math).floor_value
    higher = [c for c in machine.find("compute") if c.floor_value >= achieved and c.dtype != math]
    if not higher:
        return ""
    nearest = min(higher, key=lambda c: c.floor_value)
    return f"that it ran in {nearest.dtype} ({percent(achieved / nearest.floor_value)} of that roof), "
