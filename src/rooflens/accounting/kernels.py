"""A kernel that a profiler saw, under the roof that applies to it.

time >= largest of demand / rate, as everywhere; share of roof = that floor / measured time. The roofs are those at the
clocks that the kernel ran at, where the file says them: profilers lock clocks below those of a datasheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflens.accounting.lever import lever
from rooflens.accounting.record import Judged
from rooflens.arrays import maximum
from rooflens.errors import NoPath
from rooflens.operators.cost import Cost
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.machines import at_clocks
from rooflens.roofline.observed import Kernel
from rooflens.roofline.place import BELOW_ROOF_SHARE, regime
from rooflens.roofline.price import kind_of, times
from rooflens.units import percent, show

UNKNOWN_MATH = "unknown"
SAID_SHARES = ("compute", "memory")  # what a profiler says itself of the two kinds of roofs
LEVELS = {"dram": "main memory", "l2": "L2", "l1": "L1"}


@record
class Work:
    """What a kernel asks of a machine, and what of it could not be set against a roof, each as a sentence."""

    resources_s: Mapping[str, float]
    main: str | None
    main_flops: float
    unit: str
    missing: Mapping[str, str]

    @property
    def floor_s(self) -> float | None:
        """The largest of demand over rate; None where no demand is known."""
        return float(maximum(self.resources_s.values())) if self.resources_s else None

    @property
    def binding(self) -> str | None:
        """The resource that gives it."""
        return max(self.resources_s, key=lambda r: self.resources_s[r], default=None)


def judged(kernel: Kernel, machine: Machine, whole_s: float, launch_s: float = 0.0) -> Judged:
    """This kernel under the roofs of `machine`.

    whole_s: of all kernels, for its share of the time. launch_s: what the device takes to start one kernel.
    """
    here = at_clocks(machine, kernel.clock_hz, kernel.peaks.get("memory"))
    work, time_s = _work(kernel, here), kernel.time_s or 0.0
    roof, floor_s, bound = _nearest(kernel, work, here)
    share = floor_s / time_s if floor_s is not None and time_s else None
    flops = kernel.total_flops
    peak = _peak(here, work.main, work.unit)
    found = Judged(
        name=kernel.name,
        calls=kernel.calls,
        time_s=time_s,
        share_of_time=time_s / whole_s if whole_s else 0.0,
        flops_origin=kernel.flops_origin,
        bytes_origin=kernel.bytes_origin,
        flops=flops,
        bytes=kernel.bytes,
        dtype=work.main or kernel.dtype,
        unit=kernel.unit,
        intensity_flops_per_byte=flops / kernel.bytes if flops is not None and kernel.bytes else None,
        flops_per_s=flops / time_s if flops is not None and time_s else None,
        bytes_per_s=kernel.bytes / time_s if kernel.bytes is not None and time_s else None,
        roof=roof,
        share_of_roof=share,
        floor_s=floor_s,
        attainable_flops_per_s=work.main_flops / floor_s if floor_s and work.main_flops else None,
        share_of_peak=work.main_flops / time_s / peak if peak and time_s else None,
        regime=_regime(bound, floor_s, launch_s * kernel.calls, time_s),
        clock_hz=kernel.clock_hz,
        operator=kernel.operator.name if kernel.operator else None,
        shapes=kernel.operator.shapes if kernel.operator else (),
        family=kernel.family,
        phase=kernel.operator.phase if kernel.operator else None,
        device=kernel.device,
        graph=kernel.launch is not None and kernel.launch.graph,
        findings=tuple(_findings(kernel, share, roof, here)),
        notes=kernel.notes,
        missing={**kernel.missing, **work.missing},
    )
    return lever(found)


def _work(kernel: Kernel, machine: Machine) -> Work:
    """Demand over rate of every resource that the file says something of and the machine has a rate for."""
    out: dict[str, float] = {}
    gone: dict[str, str] = {}
    matrix, vector = _by_math(kernel, machine)
    for key, cost in _costs(kernel, matrix):
        try:
            found, _ = times(cost, machine)
            out |= {resource: float(seconds) for resource, seconds in found.items()}
        except NoPath as why:
            gone[key] = str(why)
    by_format: dict[str, float] = {}
    for math, flops in vector.items():
        try:
            by_format[math] = flops / machine.compute(math, "vector").floor_value
        except NoPath as why:
            gone["vector_flops"] = str(why)
    if by_format:
        out["vector"] = sum(by_format.values())
    if UNKNOWN_MATH in (kernel.flops or {}):
        gone["flops"] = "neither the kernel's name nor its operator says which math it is, so no compute roof applies"
    seconds = {m: out[f"compute:{m}"] for m in matrix if f"compute:{m}" in out}
    if seconds and sum(seconds.values()) >= out.get("vector", 0.0):
        return Work(out, max(seconds, key=lambda m: seconds[m]), sum(matrix.values()), "matrix", gone)
    if by_format:
        return Work(out, max(by_format, key=lambda m: by_format[m]), sum(vector.values()), "vector", gone)
    return Work(out, None, 0.0, "", gone)


def _costs(kernel: Kernel, matrix: Mapping[str, float]) -> Iterator[tuple[str, Cost]]:
    """One cost a kind of demand, so that a rate which is not known hides no other.

    Bytes: as much as is read and written alike is a copy, the rest is streamed at the read rate; all of them where the
    file does not say which is which.
    """
    if matrix:
        yield "flops", Cost(flops=matrix)
    if kernel.bytes:
        both = 2 * min(kernel.read_bytes or 0.0, kernel.write_bytes or 0.0)
        yield "bytes", Cost(weight_bytes=kernel.bytes - both, activation_bytes=both)
    talk = kernel.collective
    if talk is not None and talk.message_bytes and talk.bus_factor:
        yield "link_bytes", Cost(link_bytes=talk.message_bytes * talk.bus_factor)


def _by_math(kernel: Kernel, machine: Machine) -> tuple[dict[str, float], dict[str, float]]:
    """FLOPs by roof: accumulation in 16 bit has one of its own where the machine knows it."""
    matrix: dict[str, float] = {}
    for math, flops in (kernel.flops or {}).items():
        narrow = f"{math}_acc16"
        own = narrow if kernel.accumulate == "fp16" and machine.has(narrow) else math
        if flops and math != UNKNOWN_MATH:
            matrix[own] = matrix.get(own, 0.0) + flops / _sparse(kernel, own, machine)
    return matrix, {math: flops for math, flops in (kernel.vector_flops or {}).items() if flops}


def _sparse(kernel: Kernel, math: str, machine: Machine) -> float:
    """What 2:4 sparsity multiplies the dense roof by: FLOPs that are counted dense ask that much less of it."""
    return machine.sparse_multipliers.get(math, 1.0) if kernel.sparse else 1.0


def _peak(machine: Machine, math: str | None, unit: str) -> float | None:
    try:
        return machine.compute(math, "vector" if unit == "vector" else None).floor_value if math else None
    except NoPath:
        return None


def _roof(binding: str, work: Work, kernel: Kernel, machine: Machine) -> str:
    """The id of the ceiling that binds."""
    if binding.startswith("compute:"):
        return machine.compute(binding.removeprefix("compute:")).id
    if binding == "vector":
        return machine.compute(work.main or "fp32", "vector").id if work.unit == "vector" else "compute/vector"
    if binding == "link":
        return machine.the_link().id
    return _slope(kernel, machine).id


def _slope(kernel: Kernel, machine: Machine) -> Ceiling:
    """The memory ceiling that holds most of its bytes."""
    both = 2 * min(kernel.read_bytes or 0.0, kernel.write_bytes or 0.0)
    copied = kernel.bytes and both > kernel.bytes / 2 and machine.find("memory", level="main", access="copy")
    return machine.memory("copy" if copied else "read")


def _nearest(kernel: Kernel, work: Work, machine: Machine) -> tuple[str | None, float | None, str | None]:
    """The roof that the kernel is nearest to, what it asks in seconds, and which kind of resource that is.

    The profiler's own word (caches, integer and special units) where nothing was counted, or where that is over half of
    its roof while what was counted is under half of ours.
    """
    time_s, floor_s, binding = kernel.time_s or 0.0, work.floor_s, work.binding
    said, share = _said(kernel)
    unseen = floor_s is None or (
        floor_s < BELOW_ROOF_SHARE * time_s and share is not None and share >= BELOW_ROOF_SHARE
    )
    if said is not None and share is not None and unseen:
        return _detail(kernel, said), share * time_s, said
    if binding is None:
        return None, None, None
    return _roof(binding, work, kernel, machine), floor_s, kind_of(binding)


def _said(kernel: Kernel) -> tuple[str | None, float | None]:
    """The kind of roof that the profiler itself says the kernel is nearest to, and how near."""
    found = {name: kernel.shares[name] for name in SAID_SHARES if name in kernel.shares}
    if not found:
        return None, None
    kind = max(found, key=lambda name: found[name])
    return kind, found[kind]


def _detail(kernel: Kernel, kind: str) -> str:
    """`profiler: L2`: the level that is nearest to its peak, of those that make the profiler's figure for memory."""
    levels = {name: kernel.shares[name] for name in LEVELS if name in kernel.shares} if kind == "memory" else {}
    nearest = max(levels, key=lambda name: levels[name], default=None)
    return f"profiler: {LEVELS[nearest] if nearest else kind}"


def _regime(bound: str | None, floor_s: float | None, launch_s: float, time_s: float) -> str | None:
    """The regime; where no roof is known, launch or nothing."""
    if not time_s:
        return None
    if floor_s is not None and bound is not None:
        return regime(bound, floor_s, launch_s, time_s)
    return regime("", time_s, launch_s, time_s) or None


def _findings(kernel: Kernel, share: float | None, roof: str | None, machine: Machine) -> Iterator[str]:
    """Ratios above 1, said with what to suspect and never clipped."""
    if share is None or share <= 1.0 or roof is None:
        return
    each = (kernel.bytes or 0.0) / kernel.calls
    above = f"{percent(share)} of {roof} of {machine.name}"
    if roof.startswith("memory") and machine.cache_bytes and each < machine.cache_bytes:
        cache = show(machine.cache_bytes, "B")
        yield f"{above}: its {show(each, 'B')} a call fit the last-level cache ({cache}), which served some of them"
    elif roof.startswith("memory"):
        yield f"{above}: suspect data that stayed in a cache, fewer bytes moved than its shapes say, or another machine"
    elif roof.startswith("link"):
        yield f"{above}: suspect reduction inside the switch, a faster link than the one named, or another machine"
    else:
        yield f"{above}: suspect a faster clock or math than the roof's, 2:4 sparsity, or another machine"
