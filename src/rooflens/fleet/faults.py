"""Faults that can be planted in a made-up fleet: a row a kind, what it does to a device and to what its tools say.

A kind has the name of its cause in `peers.evidence`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from rooflens.errors import RooflensError, Unknown
from rooflens.measure.backends.fake import FakeMachine
from rooflens.records import record, replace
from rooflens.roofline.node import Clocks, Errors, Gpu, HostLink, NvlinkPort, Power, Process
from rooflens.roofline.profile import Cache

Name = TypeVar("Name", str, tuple[str, str])
NAME = "Simulated GPU"
CLOCK_HZ, MEMORY_HZ, LIMIT_W = 1.98e9, 3.2e9, 700.0
LANES, PORTS, PORT_BYTES_PER_S = 16, 18, 25e9
LOSS = 0.05  # of what a fault slows, where nobody says another: the loss that a report is judged by
HELD_TO = 0.85  # of its limit: a device whose power is the fault
SETTLED = 0.84  # of the fresh rate, under the power limit of a sound device
SOUND = FakeMachine(
    compute={"bf16": 800e12, "fp8": 1550e12, "fp32": 51e12}, matrix=("bf16", "fp8"),
    memory={("main", "read"): 4.6e12, ("main", "write"): 4.7e12, ("main", "copy"): 4.3e12, ("main", "triad"): 4.2e12,
            ("L2", "read"): 9.6e12},
    caches=(Cache("L2", 60e6),), kind="gpu", links={"h2d": 55e9, "d2h": 55e9, "both": 48e9}, peers={1: 390e9},
    memory_bytes=150e9, threads=1, clock_hz=CLOCK_HZ, throttle_after_s=0.5, throttled_to=SETTLED, noise=0.0,
)  # fmt: skip


@record
class Planting:
    """A kind of fault. what: in words. machine, told: the made-up device and what its tools say, with a share left."""

    what: str
    machine: Callable[[float], FakeMachine]
    told: Callable[[Gpu, float], Gpu]


def _times(rates: Mapping[Name, float], left: float, level: str | None = None) -> dict[Name, float]:
    """These rates with a share left, or only those of this level of memory."""
    return {name: rate * (left if level is None or level in name else 1) for name, rate in rates.items()}


def _clocks(left: float, *application_hz: float) -> Clocks:
    """Under load, with a share of the settled clock left."""
    return Clocks(CLOCK_HZ * (SETTLED * left), MEMORY_HZ, CLOCK_HZ, MEMORY_HZ, *application_hz)


def _settles_at(left: float) -> FakeMachine:
    return replace(SOUND, throttled_to=SETTLED * left)


PLANTED: dict[str, Planting] = {
    "clock": Planting(
        "a low clock",
        lambda left: replace(SOUND, compute=_times(SOUND.compute, left), memory=_times(SOUND.memory, left, "L2"),
                             clock_hz=CLOCK_HZ * left),
        lambda gpu, left: replace(gpu, clocks=_clocks(left, CLOCK_HZ * left, CLOCK_HZ)),
    ),
    "power": Planting(
        "a power limit",
        _settles_at,
        lambda gpu, left: replace(gpu, clocks=_clocks(left), power=replace(gpu.power, limit_w=LIMIT_W * HELD_TO)),
    ),
    "heat": Planting(
        "heat",
        _settles_at,
        lambda gpu, left: replace(gpu, clocks=_clocks(left), temperature_c=88.0,
                                  reasons=("sw_power_cap", "hw_thermal")),
    ),
    "memory": Planting(
        "memory",
        lambda left: replace(SOUND, memory=_times(SOUND.memory, left, "main")),
        lambda gpu, _: replace(gpu, errors=replace(gpu.errors, uncorrected_volatile=2)),
    ),
    "pcie": Planting(
        "half of the PCIe lanes",
        lambda _: replace(SOUND, links=_times(SOUND.links, 1 / 2)),
        lambda gpu, _: replace(gpu, pcie=replace(gpu.pcie, width=LANES // 2)),
    ),
    "nvlink": Planting(
        "an NVLink down",
        lambda _: replace(SOUND, peers={other: rate * (PORTS - 1) / PORTS for other, rate in SOUND.peers.items()}),
        lambda gpu, _: replace(gpu, ports=gpu.ports and (NvlinkPort(0, 0.0), *gpu.ports[1:])),
    ),
    "contention": Planting(
        "another process",
        lambda left: replace(SOUND, cpu_share=left),
        lambda gpu, _: replace(gpu, processes=(Process("python"),)),
    ),
}  # fmt: skip
if TYPE_CHECKING:
    FaultKind = str
else:
    FaultKind = Literal[tuple(PLANTED)]  # as files hold it
KINDS: tuple[FaultKind, ...] = tuple(PLANTED)


@record
class Fault:
    """What is wrong with a device. loss: of what it slows, where that can be any: half of the lanes cannot."""

    kind: FaultKind
    loss: float = LOSS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Unknown("fault", self.kind, KINDS)
        if not 0 < self.loss < 1:
            raise RooflensError(f"a fault loses more than nothing and less than all, not {self.loss:g}")

    @property
    def slows_links(self) -> bool:
        """Whether it slows links to other devices, so that there must be one."""
        return machine(self).peers != SOUND.peers


def machine(fault: Fault | None) -> FakeMachine:
    """The made-up device with this fault, or a sound one."""
    return PLANTED[fault.kind].machine(1 - fault.loss) if fault else SOUND


def told(index: int, fault: Fault | None, devices: int) -> Gpu:
    """What the tools of the node say of a device under load."""
    sound = Gpu(
        index=index,
        name=NAME,
        memory_bytes=SOUND.memory_bytes,
        busy_share=1.0,
        temperature_c=62.0,
        clocks=_clocks(1.0),
        power=Power(LIMIT_W, LIMIT_W, LIMIT_W, LIMIT_W),
        pcie=HostLink(5, 5, LANES, LANES),
        errors=Errors(ecc=True, corrected_volatile=0, uncorrected_volatile=0, replaced=0),
        reasons=("sw_power_cap",),
        processes=(),
        ports=tuple(NvlinkPort(port, PORT_BYTES_PER_S) for port in range(PORTS)) if devices > 1 else None,
    )
    return PLANTED[fault.kind].told(sound, 1 - fault.loss) if fault else sound


Plan = dict[str, dict[int, Fault]]


def chosen(nodes: Sequence[str], devices: int, wanted: Mapping[FaultKind, int], loss: float, seed: int) -> Plan:
    """Which device of which node has which fault: each another device. Raises RooflensError for more than there are."""
    places = [(node, device) for node in nodes for device in range(devices)]
    kinds = [kind for kind, count in wanted.items() for _ in range(count)]
    if len(kinds) > len(places):
        raise RooflensError(f"{len(kinds)} faults do not fit in {len(places)} devices; ask for fewer")
    plan: Plan = {}
    for kind, (node, device) in zip(kinds, random.Random(seed).sample(places, len(kinds)), strict=True):
        plan.setdefault(node, {})[device] = Fault(kind, loss)
    return plan
