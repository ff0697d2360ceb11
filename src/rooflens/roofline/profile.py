"""What was measured on one machine: the device, its ceilings, and how far to believe them.

Ceiling ids: `compute/PATH/DTYPE/burst`, `.../sustained`, `.../peak` (derived from the clock, never measured),
`memory/LEVEL/ACCESS`, `launch/device`. Samples are in the ceiling's own unit, in the order they were taken.
`value` is the median (what to expect), `best` the best sample (what a floor may use).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from rooflens.records import field, html, record
from rooflens.roofline.across import Across
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.collective import CollectivePoint, CopyPoint
from rooflens.roofline.exchanges import with_groups
from rooflens.roofline.node import Node

SCHEMA = "rooflens/profile/1"
SHORTEST_S, LONGEST_S = 1e-12, 1e9  # a measured time outside of these is a damaged file
LARGEST_SIZE, LARGEST_RATE = 1 << 40, 1e30
RANDOM = "products and attention were measured with random data"
LINKS = ("nvlink", "peer", "pcie", "loopback")  # which of them collectives take where none were measured, the first
METHOD = 1  # raise it when the way of measuring changes so that figures no longer compare


@record
class Cache:
    """One cache level as the system shows it; `bytes` is one instance, `instances` those the process may use.

    addressed: a memory that programs fill themselves (shared memory of a GPU), so nothing is caught in it by chance.
    """

    level: str
    bytes: float
    instances: int = 1
    addressed: bool = False


@record
class Device:
    """What was measured. Absent fields are not known.

    threads: how many workers each measurement uses. clock_hz: what a core ran at while busy, measured.
    clock_limit_hz: what the system says it may reach. distrust: sentences, each a reason to doubt what is shown here.
    """

    name: str
    kind: Literal["cpu", "gpu"]
    threads: int = 1
    cores: int | None = None
    memory_bytes: float | None = None
    clock_hz: float | None = None
    clock_limit_hz: float | None = None
    caches: tuple[Cache, ...] = ()
    isa: tuple[str, ...] = ()
    virtualised: bool | None = None
    hypervisor: str | None = None
    blas: str | None = None
    blas_version: str | None = None
    blas_kernel: str | None = None
    blas_threads: int | None = None
    compiler: str | None = None
    system: str | None = None
    driver: str | None = None
    runtime: str | None = None
    compute_capability: str | None = None
    power_limit_w: float | None = None
    ecc: bool | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    distrust: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What a report prints: the maker's name, and for a CPU how many of its cores were used."""
        if self.kind == "gpu":
            return self.name
        return f"{self.name} ({self.threads} core{'' if self.threads == 1 else 's'})"

    @property
    def largest_cache_bytes(self) -> float | None:
        """All instances of the largest level together, as shown; a virtual machine may own less."""
        return max((c.bytes * c.instances for c in self.caches), default=None)

    @property
    def largest_fed_cache_bytes(self) -> float | None:
        """The same of what catches data by itself, so without memory that programs fill themselves."""
        return max((c.bytes * c.instances for c in self.caches if not c.addressed), default=None)


@record
class Gate:
    """Whether others disturbed one measurement.

    cpu_share: CPU time of this process / (threads x wall), 1 when nobody else ran. pressure: share of time that some
    task waited for a CPU in the ten seconds before the start. steal: share of CPU time that the hypervisor gave away.
    """

    id: str
    cpu_share: float | None = None
    involuntary_switches: int | None = None
    pressure: float | None = None
    steal: float | None = None
    reasons: tuple[str, ...] = ()


@record
class GemmPoint:
    """One measured product, (M x K) by (K x N), as an operator point: time_s is the median of samples_s."""

    name: str
    dtype: str
    m: int
    n: int
    k: int
    time_s: float
    best_s: float
    samples_s: tuple[float, ...] = ()
    path: str | None = None
    trusted: bool = True
    why_not: str | None = None

    def __post_init__(self) -> None:
        _sizes({"m": self.m, "n": self.n, "k": self.k})
        _seconds({"time_s": self.time_s, "best_s": self.best_s}, self.samples_s)


@record
class AttentionPoint:
    """Attention of one new token (`tokens` in a prefill) over `context` tokens, all layers: scores, softmax, values.

    Not timed: projections and the cache write. time_s is the median of `count` repetitions; samples_s keeps at most
    a thousand of them. calls: library calls in one repetition, each paying the launch cost. overhead_s: the same
    calls over one cached token, so what a repetition costs apart from its data. kv_dtype: how the cache is stored where
    that is not `dtype`. kv_heads: absent where every query head has its own. implementation: which way it was computed.
    """

    dtype: str
    context: int
    layers: int
    width: int
    heads: int
    time_s: float
    best_s: float
    count: int
    calls: int
    relative_error: float
    overhead_s: float | None = None
    samples_s: tuple[float, ...] = ()
    implementation: str | None = None
    trusted: bool = True
    why_not: str | None = None
    model: str | None = None
    kv_heads: int | None = None
    batch: int = 1
    kv_dtype: str | None = None
    tokens: int = 1

    def __post_init__(self) -> None:
        names = ("context", "layers", "width", "heads", "count", "batch", "tokens")
        kv_heads = self.heads if self.kv_heads is None else self.kv_heads
        _sizes({name: getattr(self, name) for name in names} | {"kv_heads": kv_heads})
        _seconds({"time_s": self.time_s, "best_s": self.best_s}, self.samples_s)
        if self.width % self.heads or self.heads % kv_heads:
            raise ValueError(f"a width of {self.width} in {self.heads} heads ({kv_heads} kv_heads) leaves a remainder")
        if self.overhead_s is not None and not 0 <= self.overhead_s <= LONGEST_S:
            raise ValueError(f"overhead_s is {self.overhead_s:g}; it must be 0 or more, in seconds")


@record
class Profile:
    """The artefact of `measure`. Untrusted ceilings stay in it with their reason; `machine` leaves them out.

    skipped: what could not be measured here, each with its reason. complete: False when time ran out first.
    checkpoint: the file that gave the queries of `attention`; None: made from the seed.
    contention, throttle: one sentence each when something was noticed.
    across: what all devices of the machine did at the same time, where that was asked for; together: each one's own
    profile of it. copies, collectives: by size, between two devices and over several. node: what its tools say.
    """

    _repr_html_ = html

    device: Device
    ceilings: tuple[Ceiling, ...]
    seed: int
    started: str
    duration_s: float
    method: int = METHOD
    versions: Mapping[str, str] = field(default_factory=dict)
    budget_s: float | None = None
    quick: bool = False
    complete: bool = True
    contention: str | None = None
    throttle: str | None = None
    gates: tuple[Gate, ...] = ()
    gemms: tuple[GemmPoint, ...] = ()
    attention: tuple[AttentionPoint, ...] = ()
    checkpoint: str | None = None
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    across: tuple[Across, ...] = ()
    together: Mapping[str, Profile] = field(default_factory=dict)
    copies: tuple[CopyPoint, ...] = ()
    collectives: tuple[CollectivePoint, ...] = ()
    node: Node | None = None

    def __post_init__(self) -> None:
        check_rates(self.ceilings)

    def machine(self, name: str = "here") -> Machine:
        """The measured, trusted ceilings as a machine; derived peaks and refused figures stay behind."""
        kept = with_groups((c for c in self.ceilings if c.trusted and c.origin == "measured"), self.collectives)
        return Machine(
            name=name,
            title=self.device.title,
            ceilings=kept,
            memory_bytes=self.device.memory_bytes,
            peak_basis="dense, measured",
            sources=(f"measured {self.started}, method {self.method}",),
            notes=(RANDOM, *self.notes),
            compute_capability=self.device.compute_capability,
            power_w=self.device.power_limit_w,
            link=_link(kept),
        )

    def ceiling(self, id: str) -> Ceiling | None:
        """The ceiling of this id, trusted or not."""
        return next((c for c in self.ceilings if c.id == id), None)

    def refused(self) -> tuple[Ceiling, ...]:
        """Measured ceilings nobody should use, each with its `why_not`."""
        return tuple(c for c in self.ceilings if c.origin == "measured" and not c.trusted)


def check_rates(ceilings: Iterable[Ceiling]) -> None:
    """Raises ValueError for a ceiling that no machine has; 0 means that there is no such path."""
    for c in ceilings:
        if c.value and not SHORTEST_S <= c.value <= LARGEST_RATE:
            raise ValueError(f"the ceiling {c.id} is {c.value:g} {c.unit}; no machine has that")


def _link(kept: Iterable[Ceiling]) -> str | None:
    """The link that collectives took among the most devices, or the nearest one that there is."""
    links = [c for c in kept if c.kind == "link"]
    widest = max((c.devices or 0 for c in links), default=0)
    took = {c.level for c in links if (c.devices or 0) == widest}
    return next((level for level in LINKS if level in took), None)


def _sizes(found: Mapping[str, int]) -> None:
    for name, value in found.items():
        if not 1 <= value <= LARGEST_SIZE:
            raise ValueError(f"{name} is {value:.3g}; it must be 1 or more and below a million million")


def _seconds(found: Mapping[str, float], samples_s: Iterable[float]) -> None:
    for name, value in (*found.items(), *(("a sample of samples_s", s) for s in samples_s)):
        if not SHORTEST_S <= value <= LONGEST_S:
            raise ValueError(f"{name} is {value:g}; a measured time is at least a picosecond, in seconds")
