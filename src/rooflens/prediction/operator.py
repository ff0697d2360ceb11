"""The answer to `predict` of one operator alone: its floor, what to expect of its kernel, and what binds that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflens.arrays import Number, larger, maximum
from rooflens.operators.alone import Alone
from rooflens.operators.cost import Cost, Precision
from rooflens.prediction.kernel_of import Kernel, Known, kernel_of
from rooflens.prediction.record import Constant
from rooflens.records import html, record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import LAUNCH_SHARE, mbu, mfu, work_of
from rooflens.roofline.placement import conventions
from rooflens.roofline.price import kind_of, times
from rooflens.units import show


@record
class OperatorTimes:
    """Seconds. floor: every operand comes from memory. floor_resident: none does, where the last cache can hold all.

    estimate: of a kernel that is repeated, between low and high in four cases of five; absent where nothing was fitted.
    """

    floor: float
    floor_resident: float | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None


@record
class OperatorPrediction:
    """One operator on one machine.

    bound: what takes most of the estimate (launch where fixed costs are over half of it), or of the floor where there
    is none. where_time_goes: seconds, of which compute and memory overlap. tile_efficiency: work that was asked for
    over that of whole tiles in whole waves; tiles: rows and columns of one, parts of K, blocks in all, waves of them
    over the units. mfu, mbu: at the estimate, of the machine's own roofs. protocol: of a collective, the one that is
    fastest for its message.
    """

    _repr_html_ = html

    operator: str
    machine: str
    conventions: Mapping[str, str]
    flops: float
    bytes: float
    time_s: OperatorTimes
    bound: str
    where_time_goes: Mapping[str, float]
    constants: tuple[Constant, ...] = ()
    flavour: str | None = None
    engine: str | None = None
    tile_efficiency: float | None = None
    tiles: Mapping[str, float] | None = None
    mfu: float | None = None
    mbu: float | None = None
    protocol: str | None = None
    notes: tuple[str, ...] = ()


def predict_operator(
    text: str, asked: Alone, precision: Precision, machine: Machine, known: Known, notes: tuple[str, ...] = ()
) -> OperatorPrediction:
    """The prediction of one operator, written as `text`. Raises NoPath for work that the machine cannot do."""
    cost = asked.cost(precision)
    by_resource, unpriced = times(cost, machine)
    kernel, said = kernel_of(asked, precision, known)
    expected, more = _times(cost, machine, kernel)
    _, flops, _ = work_of(cost)
    spent_s = expected.estimate or expected.floor
    return OperatorPrediction(
        operator=text,
        machine=machine.title,
        conventions=_conventions(machine, precision, asked),
        flops=flops,
        bytes=float(cost.bytes),
        time_s=expected,
        bound=_bound(kernel) if kernel else kind_of(max(by_resource, key=lambda name: float(by_resource[name]))),
        where_time_goes=kernel.parts_s if kernel else {name: float(seconds) for name, seconds in by_resource.items()},
        constants=_constants(machine, asked, kernel, known),
        flavour=kernel.flavour if kernel else None,
        engine=known.engine,
        tile_efficiency=kernel.efficiency if kernel else None,
        tiles=kernel.tiles if kernel else None,
        mfu=mfu(cost, machine, spent_s) if flops else None,
        mbu=mbu(float(cost.bytes), machine, spent_s) if cost.bytes else None,
        protocol=kernel.protocol if kernel else None,
        notes=(*notes, *unpriced, *said, *more),
    )


def floors_s(cost: Cost, machine: Machine, cache_bytes: float = 0.0) -> tuple[Number, Number]:
    """The floor, and the same when the last cache of this size holds as much as it can before the kernel starts."""
    by_resource, _ = times(cost, machine)
    moved = cost.bytes
    left = larger(0.0, moved - cache_bytes) / larger(moved, 1.0)
    resident = {name: seconds * (left if name == "memory" else 1.0) for name, seconds in by_resource.items()}
    return maximum(by_resource.values()), maximum(resident.values())


def _times(cost: Cost, machine: Machine, kernel: Kernel | None) -> tuple[OperatorTimes, tuple[str, ...]]:
    """The floors and what to expect, which is under its floor only where its data may be in the last cache."""
    if kernel is None:
        return OperatorTimes(float(floors_s(cost, machine)[0])), ()
    held = kernel.cache_bytes or 0.0
    floor, resident = (float(seconds) for seconds in floors_s(cost, machine, held))
    fits = 0 < float(cost.bytes) <= held
    least = resident if fits else floor
    time_s, spread = float(kernel.spent.time_s), kernel.residuals
    low, high = max(least, time_s * spread.low), max(least, time_s * spread.high)
    found = OperatorTimes(floor, resident if fits else None, max(least, time_s), low, high)
    return found, tuple(_of_cache(cost, held)) if fits else ()


def _of_cache(cost: Cost, held_bytes: float) -> Iterator[str]:
    moved, held = show(float(cost.bytes), "B"), show(held_bytes, "B")
    yield (
        f"{moved} fit the last cache of {held}: repeated, the kernel may find its data there and beat the floor, "
        "which counts it from memory; within a step it will not be there"
    )


def _bound(kernel: Kernel) -> str:
    spent = kernel.spent
    if float(spent.fixed_s) > LAUNCH_SHARE * float(spent.time_s):
        return "launch"
    if kernel.chip is None:
        return "link"
    return "compute" if float(spent.compute_s) >= float(spent.memory_s) else "memory"


def _constants(machine: Machine, asked: Alone, kernel: Kernel | None, known: Known) -> tuple[Constant, ...]:
    roof = machine.the_link() if asked.collective else machine.memory("read")
    mine = (Constant(f"{roof.id}, {roof.unit}", roof.floor_value, roof.origin),)
    return mine if kernel is None else (*mine, *kernel.constants(known.found.date))


def _conventions(machine: Machine, precision: Precision, asked: Alone) -> dict[str, str]:
    kept = conventions(machine, precision, "causal")
    kept = {name: text for name, text in kept.items() if name in ("precision", "peaks", "flops") or "assumed" in name}
    if asked.collective is not None:
        return {
            **{name: text for name, text in kept.items() if name != "precision"},
            "floor": "the fewest bytes that an algorithm sends from a device, at the rate of the link in one direction",
            "estimate": "one collective, repeated, on devices of one host; in four cases of five between low and high",
            "message": "what is reduced, what each holds after a gather or before a scatter, or what one has for all",
            "not_counted": "devices that come late",
        }
    return {
        **kept,
        "floor": "every operand from main memory once, at the largest of demand over rate",
        "estimate": "one kernel that is repeated, its launch included; in four cases of five between low and high",
        "where_time_goes": "compute and memory overlap, the others add",
        "not_counted": "what a host needs to start it",
    }
