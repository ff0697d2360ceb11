"""What other people's profilers and benchmarks said, as plain values: kernels, what ran around them, benchmark points.

Four answers are kept apart everywhere: a number; 0 (none happened); absent, with the reason in `missing` (nobody
collected it: which counter to collect); absent, with the reason that the tool itself said NaN or N/A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.records import field, record

Origin = Literal["counted", "shapes", "unknown"]
Phase = Literal["forward", "backward", "optimizer"]
Unit = Literal["matrix", "vector"]
Resource = Literal["compute", "memory", "link", "host link"]
Condition = str | float | int | bool


@record
class Launch:
    """How a kernel was started. graph: replayed from a recorded graph, so no call of the host stands for it alone."""

    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int | None = None
    shared_bytes: int | None = None
    graph: bool = False


@record
class Operator:
    """The operator of a framework that launched a kernel: the innermost one, and what it ran inside of.

    shapes: of each argument as the profiler wrote it (a list of tensors has a list of shapes); dtypes beside them.
    root: the outermost operator. scope: the innermost annotation of the user. module: the innermost layer.
    Absent phase: nobody can tell; a backward or optimizer kernel is never called forward.
    """

    name: str
    shapes: tuple[object, ...] = ()
    dtypes: tuple[str, ...] = ()
    root: str | None = None
    scope: str | None = None
    module: str | None = None
    phase: Phase | None = None


@record
class Collective:
    """What a communication kernel moved, all calls together.

    message_bytes: as nccl-tests count it (what is reduced; what all hold when it is gathered). bus_factor: bytes over
    the busiest link for each byte of the message, absent when the number of ranks is not known.
    """

    operation: str
    message_bytes: float | None = None
    ranks: int | None = None
    bus_factor: float | None = None
    dtype: str | None = None
    group: str | None = None


@record
class Kernel:
    """Calls of one kernel that were launched alike; flops, bytes and time are of all calls together.

    flops: on tensor or matrix units, by math; vector_flops: on the vector units, by format. An fma is 2; packed halves
    count each. Counted flops hold the padding of tiles; flops from shapes do not. bytes: to and from main memory;
    cache_bytes: of nearer levels. shares: what the tool itself says it used of its own peaks ("compute", "memory",
    "dram", "l2", "l1", "tensor", "occupancy"), 0 to 1. peaks: rates at the clocks of this run, by the tool ("memory"
    in byte/s). clock_hz: of the multiprocessors while it ran; ncu locks it to base unless told not to.
    family: what kind its name says it is: "gemm", "attention", "collective", "helper" or "other".
    origin of flops and bytes: counted by hardware, from the shapes of the operator, or unknown.
    missing: why a field is absent, and what to collect.
    """

    name: str
    calls: int = 1
    time_s: float | None = None
    shortest_s: float | None = None
    longest_s: float | None = None
    flops: Mapping[str, float] | None = None
    vector_flops: Mapping[str, float] | None = None
    flops_origin: Origin = "unknown"
    bytes: float | None = None
    bytes_origin: Origin = "unknown"
    read_bytes: float | None = None
    write_bytes: float | None = None
    cache_bytes: Mapping[str, float] = field(default_factory=dict)
    dtype: str | None = None
    unit: Unit | None = None
    accumulate: str | None = None
    sparse: bool | None = None
    clock_hz: float | None = None
    memory_clock_hz: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, float] = field(default_factory=dict)
    device: int | None = None
    stream: int | None = None
    launch: Launch | None = None
    operator: Operator | None = None
    collective: Collective | None = None
    family: str | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def total_flops(self) -> float | None:
        """FLOPs on all units; None when neither is known."""
        if self.flops is None and self.vector_flops is None:
            return None
        return sum((self.flops or {}).values()) + sum((self.vector_flops or {}).values())


@record
class Copy:
    """Copies or fills of one kind, all together. what: "HtoD", "DtoH", "DtoD", "PtoP", "HtoH" or "memset"."""

    what: str
    calls: int
    time_s: float | None = None
    bytes: float | None = None
    device: int | None = None
    stream: int | None = None


@record
class HostOp:
    """An operator or call on the host, all together.

    self_s leaves out what ran inside of it, so that a sum over all operators counts no second twice; time_s does not.
    """

    name: str
    calls: int
    time_s: float
    self_s: float


@record
class Gap:
    """Nothing ran on a device from begin_s (since the start of its timeline) for time_s. after, before: the kernels."""

    begin_s: float
    time_s: float
    after: str
    before: str


@record
class Timeline:
    """One device from its first to its last moment: span_s = kernels_s + collectives_s + copies_s + gaps_s.

    kernels_s: while at least one kernel that is no collective ran; collectives_s: while a collective ran and no other
    kernel; copies_s: while only copies ran. summed_s: all durations added, so what streams overlap counts twice.
    gaps_s = host_s (the host had not yet begun to launch what came next) + launch_s (it had: the call itself and what
    the device takes to start) + unseen_s (the trace does not say when it was launched).
    order: indices of kernels in the order in which they began, and how long each took; the first of them only.
    """

    device: int | None
    span_s: float
    kernels_s: float
    collectives_s: float
    copies_s: float
    summed_s: float
    gaps_s: float
    host_s: float
    launch_s: float
    unseen_s: float
    launches: int
    streams: int
    graph_launches: int = 0
    begin_s: float = 0.0
    longest_gaps: tuple[Gap, ...] = ()
    order: tuple[int, ...] = ()
    order_s: tuple[float, ...] = ()


@record
class Span:
    """Annotations of one name on the host (steps of a profiler have theirs, numbers left out): calls, and seconds."""

    name: str
    calls: int
    time_s: float


@record
class Device:
    """What a file says of a device itself: facts of a driver, not of a datasheet."""

    name: str | None = None
    index: int | None = None
    compute_capability: str | None = None
    units: int | None = None
    memory_bytes: float | None = None
    memory_bytes_per_s: float | None = None
    clock_hz: float | None = None


@record
class BenchPoint:
    """One figure of a benchmark in SI units, what it is a figure of, and under which conditions.

    metric carries its unit (`tokens_per_s`, `ttft_s`, `bytes_per_s`, `bus_bytes_per_s`, `flops_per_s`, `latency_s`).
    resource: the ceiling it belongs against; absent where no single one does. means: the tool's own definition.
    value absent: the tool gave none, and `notes` say why.
    """

    tool: str
    name: str
    metric: str
    value: float | None
    means: str
    resource: Resource | None = None
    spread: float | None = None
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@record
class Observed:
    """All that one file says. format: which kind it was recognised as; warnings: what a reader should know of it.

    rank: of the process in a job of several; ranks are never added up. training: it holds backward kernels.
    host_s: from the first to the last thing the host did. host_calls: of the driver, inside of the operators. spans:
    annotations. lost: events that could not be read.
    """

    where: str
    format: str
    kernels: tuple[Kernel, ...] = ()
    copies: tuple[Copy, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    host_ops: tuple[HostOp, ...] = ()
    host_calls: tuple[HostOp, ...] = ()
    spans: tuple[Span, ...] = ()
    devices: tuple[Device, ...] = ()
    points: tuple[BenchPoint, ...] = ()
    rank: int | None = None
    world: int | None = None
    host_s: float | None = None
    training: bool | None = None
    lost: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def time_s(self) -> float:
        """Seconds of all kernels added up, whether or not they overlapped."""
        return sum(kernel.time_s or 0.0 for kernel in self.kernels)

    @property
    def collectives(self) -> tuple[Kernel, ...]:
        """The kernels that communicate."""
        return tuple(kernel for kernel in self.kernels if kernel.collective is not None)
