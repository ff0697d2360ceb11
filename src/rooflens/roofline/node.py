"""A node as its own tools describe it: devices, the paths between them, network cards, what holds them back.

None is not known: the files do not speak of it. `Gpu.absent` names what a file speaks of without a value, in its own
words ("N/A"). Zero is a value: no errors, no process, an idle unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from rooflens.records import field, quantity, record

LinkKind = Literal["NVLink", "XGMI", "PIX", "PXB", "PHB", "NODE", "SYS", "PCIe", "unknown"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)  # nearest first
ON_THE_HOST = ("PHB", "NODE", "SYS")  # through the processor, not a switch
Reason = Literal[
    "idle", "applications_clocks", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal", "hw_thermal",
    "hw_power_brake", "display",
]  # fmt: skip


@record
class Clocks:
    """Hertz: now, the most that can be set, and what an administrator asked for (application clocks)."""

    sm_hz: float | None = quantity("Hz", default=None)
    memory_hz: float | None = quantity("Hz", default=None)
    max_sm_hz: float | None = quantity("Hz", default=None)
    max_memory_hz: float | None = quantity("Hz", default=None)
    application_sm_hz: float | None = quantity("Hz", default=None)
    default_application_sm_hz: float | None = quantity("Hz", default=None)


@record
class Power:
    """Watts: drawn now, and the limit that holds now, is the default and is the largest."""

    draw_w: float | None = quantity("W", default=None)
    limit_w: float | None = quantity("W", default=None)
    default_limit_w: float | None = quantity("W", default=None)
    max_limit_w: float | None = quantity("W", default=None)


@record
class HostLink:
    """PCIe: generation and lanes, now and at most (of chip and slot together)."""

    gen: int | None = None
    max_gen: int | None = None
    width: int | None = None
    max_width: int | None = None


@record
class Errors:
    """ECC: whether it is on, errors since the driver loaded (volatile) and ever (aggregate), memory that was replaced.

    replaced: rows remapped, or pages retired, for uncorrectable errors. pending: a reset is needed before they are.
    """

    ecc: bool | None = None
    corrected_volatile: int | None = None
    uncorrected_volatile: int | None = None
    uncorrected_aggregate: int | None = None
    replaced: int | None = None
    pending: bool | None = None
    failed: bool | None = None


@record
class Slice:
    """A MIG instance: its profile's name where it is said, its SMs, its memory."""

    profile: str | None = None
    instance: int | None = None
    sms: int | None = None
    memory_bytes: float | None = quantity("B", default=None)


@record
class Process:
    """Someone on a device; the name without its folder."""

    name: str
    memory_bytes: float | None = quantity("B", default=None)


@record
class NvlinkPort:
    """One NVLink of a device, one direction; 0: it is there and inactive."""

    index: int
    bytes_per_s: float | None = quantity("B/s", default=None)


@record
class Gpu:
    """One device. busy_share: of the time in which any kernel ran at all; memory_busy_share: in which memory moved.

    reasons: why the clocks are not higher, None where nobody says. throttled_s: seconds held back since the driver
    loaded, by reason. mig: whether the device is partitioned. fabric: the state in which NVSwitches see it. recovery:
    what the driver asks for ("Reset"). absent: what a file speaks of without a value, in its own words.
    """

    index: int
    name: str | None = None
    memory_bytes: float | None = quantity("B", default=None)
    used_bytes: float | None = quantity("B", default=None)
    performance_state: str | None = None
    busy_share: float | None = None
    memory_busy_share: float | None = None
    temperature_c: float | None = None
    clocks: Clocks = Clocks()
    power: Power = Power()
    pcie: HostLink = HostLink()
    errors: Errors = Errors()
    reasons: tuple[Reason, ...] | None = None
    throttled_s: Mapping[str, float] = field(default_factory=dict)
    mig: bool | None = None
    slices: tuple[Slice, ...] | None = None
    processes: tuple[Process, ...] | None = None
    ports: tuple[NvlinkPort, ...] | None = None
    fabric: str | None = None
    recovery: str | None = None
    virtual: str | None = None
    numa: str | None = None
    cpus: str | None = None
    absent: Mapping[str, str] = field(default_factory=dict)


@record
class Link:
    """The path between two devices: its kind, how many NVLinks it bonds, and whether peers may use it ("OK", "GNS").

    hops, weight: as ROCm counts them.
    """

    a: int
    b: int
    kind: LinkKind = "unknown"
    count: int | None = None
    peers: str | None = None
    hops: int | None = None
    weight: int | None = None


@record
class Nic:
    """A network card and the kind of path to each device."""

    name: str
    device: str | None = None
    paths: Mapping[int, LinkKind] = field(default_factory=dict)


@record
class Sample:
    """One line of a monitor. held_share: of the time that the power limit held; hot: a thermal limit did."""

    index: int
    power_w: float | None = quantity("W", default=None)
    busy_share: float | None = None
    memory_busy_share: float | None = None
    sm_hz: float | None = quantity("Hz", default=None)
    memory_hz: float | None = quantity("Hz", default=None)
    held_share: float | None = None
    hot: bool | None = None
    errors: int | None = None
    received_bytes_per_s: float | None = quantity("B/s", default=None)
    sent_bytes_per_s: float | None = quantity("B/s", default=None)


@record
class Module:
    """A memory module: bits of data, transfers a second as configured and as rated."""

    slot: str
    data_bits: int | None = None
    transfers_per_s: float | None = None
    rated_transfers_per_s: float | None = None


@record
class Host:
    """The host's processors, what is virtual about them, and their memory. slots: of modules, empty ones included."""

    cpu: str | None = None
    sockets: int | None = None
    cores: int | None = None
    numa_nodes: int | None = None
    hypervisor: str | None = None
    l3_bytes: float | None = quantity("B", default=None)
    modules: tuple[Module, ...] = ()
    slots: int | None = None


@record
class Node:
    """What one or more files say of a node.

    gpus: None where no file lists devices, empty where one does and there is none. hides_nvlink: the table is of a
    command that shows no NVLink. held: what was recognised, each kind once. warnings: what may be wrong about it.
    """

    gpus: tuple[Gpu, ...] | None = None
    links: tuple[Link, ...] = ()
    nics: tuple[Nic, ...] = ()
    samples: tuple[Sample, ...] = ()
    host: Host = Host()
    driver: str | None = None
    attached: int | None = None
    hides_nvlink: bool = False
    held: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def link(self, a: int, b: int) -> Link | None:
        """The path between two devices, in either order; None where no file shows one."""
        return self._by_pair.get((min(a, b), max(a, b)))

    @property
    def _by_pair(self) -> dict[tuple[int, int], Link]:
        return {(link.a, link.b): link for link in self.links}
