"""A kernel that a profiler saw, under the roof that applies to it.

time >= largest of demand / rate, as everywhere; share of roof = that floor / measured time. The roofs are those at the
clocks that the kernel ran at, where the file says them: profilers lock clocks below those of a datasheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rooflens.accounting.lever import Subject, lever
from rooflens.accounting.record import Judged
from rooflens.errors import NoPath
from rooflens.operators.cost import Cost
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.machines import at_clocks
from rooflens.roofline.observed import Kernel
from rooflens.roofline.place import BELOW_ROOF_SHARE, regime
from rooflens.roofline.points import is_finding
from rooflens.roofline.price import kind_of, times
from rooflens.units import percent, show

UNKNOWN_MATH = "unknown"
SAID_SHARES = ("compute", "memory")  # what a profiler says itself of the two kinds of roofs
LEVELS = {"dram": "main memory", "l2": "L2", "l1": "L1"}


class Work(NamedTuple):
    """What a kernel asks of a machine, and what of it could not be set against a roof, each as a sentence.

    main, unit: the math that takes longest, and where it is done. compute_s: what all math on that unit takes.
    """

    resources_s: Mapping[str, float]
    main: str | None
    unit: str
    compute_s: float | None
    missing: Mapping[str, str]

    @property
    def floor_s(self) -> float | None:
        """The largest of demand over rate; None where no demand is known."""
        return max(self.resources_s.values(), default=None)

    @property
    def binding(self) -> str | None:
        """The resource that gives it."""
        return max(self.resources_s, key=lambda r: self.resources_s[r], default=None)


# long: fills a record of some thirty fields, one a line
def judged(kernel: Kernel, machine: Machine, whole_s: float, launch_s: float = 0.0) -> Judged:
    """This kernel under the roofs of `machine`.

    whole_s: of all kernels, for its share of the time. launch_s: what the device takes to start one kernel.
    """
    here = at_clocks(machine, kernel.clock_hz, kernel.peaks.get("memory"))
    work, time_s = _work(kernel, here), kernel.time_s or 0.0
    stated_s = (work if here is machine else _work(kernel, machine)).compute_s
    roof, floor_s, bound = _nearest(kernel, work, here)
    share = floor_s / time_s if floor_s is not None and roof is not None and time_s else None
    flops, dtype = kernel.total_flops, work.main or kernel.dtype
    found = _regime(kernel, work, bound, floor_s, launch_s * kernel.calls)
    graph = kernel.launch is not None and kernel.launch.graph
    return Judged(
        name=kernel.name,
        calls=kernel.calls,
        time_s=kernel.time_s,
        share_of_time=None if kernel.time_s is None or not whole_s else kernel.time_s / whole_s,
        flops_origin=kernel.flops_origin,
        bytes_origin=kernel.bytes_origin,
        flops=flops,
        bytes=kernel.bytes,
        dtype=dtype,
        unit=kernel.unit,
        intensity_flops_per_byte=flops / kernel.bytes if flops is not None and kernel.bytes else None,
        flops_per_s=flops / time_s if flops is not None and time_s else None,
        bytes_per_s=kernel.bytes / time_s if kernel.bytes is not None and time_s else None,
        roof=roof,
        share_of_roof=share,
        floor_s=floor_s,
        attainable_flops_per_s=flops / floor_s if work.main is not None and flops and floor_s else None,
        share_of_peak=work.compute_s / time_s if work.compute_s is not None and time_s else None,
        mfu=stated_s / time_s if stated_s is not None and time_s else None,
        regime=found,
        lever=lever(Subject(kernel.name, kernel.family, kernel.unit, dtype, found, graph)),
        clock_hz=kernel.clock_hz,
        operator=kernel.operator.name if kernel.operator else None,
        shapes=kernel.operator.shapes if kernel.operator else (),
        family=kernel.family,
        phase=kernel.operator.phase if kernel.operator else None,
        device=kernel.device,
        graph=graph,
        findings=tuple(_findings(kernel, share, roof, here)),
        notes=kernel.notes,
        missing={**kernel.missing, **work.missing},
    )


def _work(kernel: Kernel, machine: Machine) -> Work:
    """Demand over rate of every resource that the file says something of and the machine has a rate for."""
    matrix, vector = _by_math(kernel, machine)
    out, gone = _priced(_demands(kernel, matrix), machine)
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
    at_peak_s = sum(seconds.values())
    if seconds and at_peak_s >= out.get("vector", 0.0):
        return Work(out, max(seconds, key=lambda m: seconds[m]), "matrix", at_peak_s, gone)
    if by_format:
        return Work(out, max(by_format, key=lambda m: by_format[m]), "vector", out["vector"], gone)
    return Work(out, None, "", None, gone)


def _priced(demands: Mapping[str, Mapping[str, Any]], machine: Machine) -> tuple[dict[str, float], dict[str, str]]:
    """Seconds by resource, and why there are none of a demand: a rate that is not known hides no other."""
    try:
        return _times(demands.values(), machine), {}
    except NoPath:
        pass
    out: dict[str, float] = {}
    gone: dict[str, str] = {}
    for name, demand in demands.items():
        try:
            out |= _times([demand], machine)
        except NoPath as why:
            gone[name] = str(why)
    return out, gone


def _times(demands: Iterable[Mapping[str, Any]], machine: Machine) -> dict[str, float]:
    asked = {name: amount for demand in demands for name, amount in demand.items()}
    return {resource: float(seconds) for resource, seconds in times(Cost(**asked), machine)[0].items()} if asked else {}


def _demands(kernel: Kernel, matrix: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """What it asks of matrix units, memory and link, as fields of a cost, by what is missing where it has no rate.

    Bytes: as much as is read and written alike is a copy, the rest is streamed at the read rate; all of them where the
    file does not say which is which.
    """
    found: dict[str, dict[str, Any]] = {}
    if matrix:
        found["flops"] = {"flops": matrix}
    if kernel.bytes:
        both = min(_copied_bytes(kernel), kernel.bytes)
        found["bytes"] = {"weight_bytes": kernel.bytes - both, "activation_bytes": both}
    talk = kernel.collective
    if talk is not None and talk.message_bytes and talk.bus_factor:
        found["link_bytes"] = {"link_bytes": talk.message_bytes * talk.bus_factor}
    return found


def _copied_bytes(kernel: Kernel) -> float:
    """As many as are read and written alike."""
    return 2 * min(kernel.read_bytes or 0.0, kernel.write_bytes or 0.0)


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
    copied = (
        kernel.bytes
        and _copied_bytes(kernel) > kernel.bytes / 2
        and machine.find("memory", level="main", access="copy")
    )
    return machine.memory("copy" if copied else "read")


def _nearest(kernel: Kernel, work: Work, machine: Machine) -> tuple[str | None, float | None, str | None]:
    """The roof that the kernel is nearest to, what it asks in seconds, and which kind of resource that is.

    The profiler's own word (caches, integer and special units) where nothing was counted, or where that is over half of
    its roof while what was counted is under half of ours. No roof and 0 seconds of what is known to ask for nothing.
    """
    time_s, floor_s, binding = kernel.time_s or 0.0, work.floor_s, work.binding
    said, share = _said(kernel)
    unseen = floor_s is None or (
        floor_s < BELOW_ROOF_SHARE * time_s and share is not None and share >= BELOW_ROOF_SHARE
    )
    if said is not None and share is not None and unseen:
        return _detail(kernel, said), share * time_s, said
    if binding is None:
        return None, 0.0 if _whole(kernel, work) and kernel.collective is None else None, None
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


def _regime(kernel: Kernel, work: Work, bound: str | None, floor_s: float | None, launch_s: float) -> str | None:
    """The regime; where no roof is known, launch or nothing.

    Far below the one roof that is known, of work that is known in part, a kernel may be near to another: nothing.
    """
    time_s = kernel.time_s or 0.0
    if not time_s:
        return None
    if floor_s is None or bound is None:
        return regime("", time_s, launch_s, time_s) or None
    found = regime(bound, floor_s, launch_s, time_s)
    return None if found == "below-roof" and not _whole(kernel, work) else found


def _whole(kernel: Kernel, work: Work) -> bool:
    """Whether all that it asks for is known, or the profiler has looked at every roof itself."""
    if kernel.collective is not None or all(name in kernel.shares for name in SAID_SHARES):
        return True
    return known(kernel) and not work.missing


def known(kernel: Kernel) -> bool:
    """Whether its FLOPs and bytes are known; those of vector units alone are not, where nobody counted the matrix's."""
    return kernel.total_flops is not None and kernel.bytes is not None and "flops" not in kernel.missing


def _findings(kernel: Kernel, share: float | None, roof: str | None, machine: Machine) -> Iterator[str]:
    """What to suspect of a share above its roof."""
    if share is None or not is_finding(share) or roof is None:
        return
    each = (kernel.bytes or 0.0) / max(kernel.calls, 1)
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
