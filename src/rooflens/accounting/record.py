"""The answer to `kernels`: every kernel under its roof, and each device's time attributed."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.records import field, html, record
from rooflens.roofline.observed import Origin

SCHEMA = "rooflens/kernels/1"
CONVENTIONS: Mapping[str, str] = {
    "flops": "of all calls; a multiply-add is 2; counted ones hold the padding of tiles, those from shapes do not",
    "bytes": "to and from main memory, of all calls; from shapes: every operand and result once, whatever a cache kept",
    "roof": "the resource whose demand over rate takes longest, at the clocks that the kernel ran at where known",
    "mfu": "dense peaks as the machine states them; share_of_peak: at the clocks that the kernel ran at where known",
    "share_of_roof": "floor over measured time; of kernels without FLOPs and bytes, what the profiler says itself",
    "attribution_s": "its parts add up to the whole; kernels that overlap share the time they ran together",
    "not_counted": "padding and retries in what comes from shapes",
}


@record
class Judged:
    """Calls of one kernel under the roof that applies. Times, flops and bytes are of all calls together.

    roof: the ceiling's id ("compute/matrix/bf16", "memory/main", "link/nvlink"), or "profiler: L2" where the profiler
    itself says what the kernel is nearest to and its FLOPs and bytes do not. share_of_roof = floor_s / time_s. regime
    absent: nobody can tell. flops_per_s, bytes_per_s: achieved; attainable: the same over floor_s. clock_hz: of the
    roof, where the file says it. share_of_peak: what its math takes at the dense peaks of that clock, over time_s; mfu:
    at those that the machine states. lever: what would help it. findings: ratios above 1 and what to suspect. missing:
    why a field is absent, and what to collect.
    """

    name: str
    calls: int
    time_s: float | None
    share_of_time: float | None
    flops_origin: Origin
    bytes_origin: Origin
    flops: float | None = None
    bytes: float | None = None
    dtype: str | None = None
    unit: str | None = None
    intensity_flops_per_byte: float | None = None
    flops_per_s: float | None = None
    bytes_per_s: float | None = None
    roof: str | None = None
    share_of_roof: float | None = None
    floor_s: float | None = None
    attainable_flops_per_s: float | None = None
    share_of_peak: float | None = None
    mfu: float | None = None
    regime: str | None = None
    lever: str | None = None
    clock_hz: float | None = None
    operator: str | None = None
    shapes: tuple[object, ...] = ()
    family: str | None = None
    phase: str | None = None
    device: int | None = None
    graph: bool = False
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def spent_s(self) -> float:
        """What it adds to a sum of times: nothing where the file does not say its own."""
        return self.time_s or 0.0


@record
class Attribution:
    """Seconds of a device, or of several added up, that sum to the whole.

    floor: what the roofs ask of kernels whose work is known; inefficiency: what those took beyond it; unknown: kernels
    whose work nobody knows. launch: gaps in which the host had begun to launch what came next; host_idle: gaps in which
    it had not; unseen_idle: gaps of which the file does not say. Absent: the file has no timeline.
    """

    floor: float
    inefficiency: float
    unknown: float
    collectives: float
    launch: float | None = None
    host_idle: float | None = None
    unseen_idle: float | None = None
    copies: float | None = None

    @property
    def whole_s(self) -> float:
        """The sum of all parts."""
        return sum(self.parts.values())

    @property
    def parts(self) -> dict[str, float]:
        """The parts that are known, by name, as the bar shows them from left to right."""
        names = ("floor", "inefficiency", "unknown", "collectives", "copies", "launch", "host_idle", "unseen_idle")
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None}


@record
class Remedy:
    """A change to the whole run. saves_s: at the very most, of attribution's whole; gain: whole / (whole - saves)."""

    name: str
    saves_s: float
    gain: float
    why: str


@record
class OnDevice:
    """One device of the run: its span and where that went. launches: kernels started; graphs: of those, replayed."""

    device: int | None
    span_s: float
    attribution_s: Attribution
    launches: int
    graph_launches: int
    streams: int


@record
class Layered:
    """Steps whose layers are alike. tokens: new ones of a step, where shapes say; else absent.

    width_fits: whether a product of theirs reads rows of the model's width; absent where the file has no shapes.

    layer_s: median over layers and steps, slowest_s beside it. floor_s: of a layer of the model at this step, the mean
    of all its layers; absent where the step is not known. share_of_floor = floor_s / layer_s. names: the kernels of a
    layer in order.
    """

    steps: int
    layers: int
    kernels: int
    layer_s: float
    slowest_s: float
    names: tuple[str, ...]
    tokens: float | None = None
    width_fits: bool | None = None
    phase: str | None = None
    floor_s: float | None = None
    share_of_floor: float | None = None


@record
class Account:
    """Where the time of one file went.

    time_s: all kernels added up, as the file has it. known_share: of the time of those that are no collectives, FLOPs
    and bytes are known; absent where there are none. mfu: FLOPs of every math over its own dense peak, over the span;
    mbu: bytes over the read bandwidth, over the span; both as the machine states them, whatever clock a kernel ran at,
    and lower bounds where known_share is under 1. main_math: the one of most FLOPs. bound: "host" where most of the
    span is gaps that wait for the host, "idle" where the file does not say for what, else the regime that holds the
    largest part of the kernels' time.
    """

    _repr_html_ = html

    where: str
    format: str
    machine: str
    kernels: tuple[Judged, ...]
    attribution_s: Attribution
    time_s: float
    bound: str | None
    conventions: Mapping[str, str]
    known_share: float | None = None
    devices: tuple[OnDevice, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    layers: tuple[Layered, ...] = ()
    mfu: float | None = None
    mbu: float | None = None
    main_math: str | None = None
    rank: int | None = None
    world: int | None = None
    training: bool | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
