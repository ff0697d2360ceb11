"""Set a cost against the roof: ridge point, attainable rate, share of peak, regime.

attainable = min(peak, intensity x bandwidth) = FLOPs / largest(demand / rate)
ridge point = peak / bandwidth, FLOP per byte
"""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.arrays import Number
from rooflens.operators.cost import Cost
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.points import Point
from rooflens.roofline.price import VECTOR_MATH, Priced, kind_of, times

BELOW_ROOF_SHARE = 0.5  # achieved under half of attainable: far below the roof
LAUNCH_SHARE = 0.5  # the launch floor over half of the time: launch-bound


def ridge(machine: Machine, dtype: str, path: str | None = None) -> float:
    """FLOP per byte read at which the compute roof of `dtype` meets the memory slope."""
    return machine.compute(dtype, path).floor_value / machine.memory("read").floor_value


def attainable(machine: Machine, dtype: str, intensity_flops_per_byte: float, path: str | None = None) -> float:
    """FLOP/s at this intensity: min(peak, intensity x read bandwidth)."""
    return min(machine.compute(dtype, path).floor_value, intensity_flops_per_byte * machine.memory("read").floor_value)


def regime(bound: str, floor_s: float, launch_s: float, measured_s: float | None = None) -> str:
    """compute, memory, link, launch or below-roof, of a kernel with this floor, launch cost and (if any) measured time.

    launch comes first: a kernel that is mostly launch is not badly written. Then below-roof, then what binds.
    """
    spent = measured_s if measured_s is not None else floor_s + launch_s
    if launch_s > LAUNCH_SHARE * spent:
        return "launch"
    if measured_s is not None and floor_s < BELOW_ROOF_SHARE * measured_s:
        return "below-roof"
    return bound


def place(
    name: str, cost: Cost, machine: Machine, measured_s: float | None = None, launch_s: float | None = None
) -> Point:
    """One cost as a point: attainable, or achieved when `measured_s` says what a clock said.

    launch_s: what starting it costs, where it was measured; else its launches at the machine's rate.

    Raises NoPath for work that the machine cannot do. A share above 1 is kept: it is a finding, not an error.
    """
    by_resource, _ = times(cost, machine)
    started_s = float(cost.launches) * machine.launch_s() if launch_s is None else launch_s
    return _point(name, cost, machine, by_resource, started_s, measured_s)


def placed(kernel: Priced, machine: Machine, measured_s: float | None = None) -> Point:
    """A priced kernel as a point."""
    return _point(kernel.name, kernel.cost, machine, kernel.times_s, float(kernel.launch_s), measured_s)


def _point(
    name: str, cost: Cost, machine: Machine, resources: Mapping[str, Number], launch_s: float, measured_s: float | None
) -> Point:
    by_resource = {k: float(v) for k, v in resources.items()}
    binding = max(by_resource, key=lambda r: by_resource[r], default="none")
    floor_s = by_resource.get(binding, 0.0)
    dtype, flops, _ = work_of(cost)
    spent = measured_s if measured_s is not None else floor_s
    moved = float(cost.bytes)
    return Point(
        name=name,
        dtype=dtype,
        flops=flops,
        bytes=moved,
        time_s=spent,
        flops_per_s=flops / spent if spent else 0.0,
        attainable_flops_per_s=flops / floor_s if floor_s else 0.0,
        share_of_peak=mfu(cost, machine, spent) if spent else 0.0,
        bound=kind_of(binding),
        regime=regime(kind_of(binding), floor_s, launch_s, measured_s),
        measured=measured_s is not None,
        intensity_flops_per_byte=flops / moved if moved else None,
        launches=float(cost.launches) or 1.0,
    )


def work_of(cost: Cost) -> tuple[str, float, str | None]:
    """The math, FLOPs and path that a point is drawn with: contractions, or vector work where there are none."""
    if cost.flops:
        dtype = max(cost.flops, key=lambda d: float(cost.flops[d]))
        return dtype, float(cost.total_flops), None
    return VECTOR_MATH, float(cost.vector_flops), "vector"


def mfu(work: Cost, machine: Machine, time_s: float) -> float:
    """FLOPs over time, of the roof of the math that does most of them; above 1 is a finding, not clipped."""
    math, flops, path = work_of(work)
    return flops / time_s / machine.compute(math, path).floor_value if flops else 0.0


def mbu(moved_bytes: float, machine: Machine, time_s: float) -> float:
    """Bytes over time, of the read bandwidth of main memory; above 1 is a finding, not clipped."""
    return moved_bytes / time_s / machine.memory("read").floor_value if moved_bytes else 0.0
