"""Faults that can be planted in a made-up fleet, and what each does to a made-up device and to what its tools say."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from rooflens.errors import RooflensError, Unknown
from rooflens.measure.backends.fake import FakeMachine
from rooflens.records import record, replace
from rooflens.roofline.node import Clocks, Errors, Gpu, HostLink, NvlinkPort, Power, Process
from rooflens.roofline.profile import Cache

Kind = Literal["clock", "power", "heat", "memory", "pcie", "nvlink", "contention"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NAME = "Simulated GPU"
CLOCK_HZ, MEMORY_HZ, LIMIT_W = 1.98e9, 3.2e9, 700.0
LANES, PORTS, PORT_BYTES_PER_S = 16, 18, 25e9
LOSS = 0.05  # of what a fault slows, where nobody says another: the loss that a report is judged by
HELD_TO = 0.85  # of its limit: a device whose power is the fault
SETTLED = 0.84  # of the fresh rate, under the power limit of a sound device
SOUND = FakeMachine(
    compute={"bf16": 800e12, "fp8": 1550e12, "fp32": 51e12},
    memory={("main", "read"): 4.6e12, ("main", "write"): 4.7e12, ("main", "copy"): 4.3e12, ("main", "triad"): 4.2e12,
            ("L2", "read"): 9.6e12},
    caches=(Cache("L2", 60e6),), kind="gpu", links={"h2d": 55e9, "d2h": 55e9, "both": 48e9}, peers={1: 390e9},
    memory_bytes=150e9, threads=1, clock_hz=CLOCK_HZ, throttle_after_s=0.5, throttled_to=SETTLED, noise=0.0,
)  # fmt: skip


@record
class Fault:
    """What is wrong with a device. loss: of what it slows, where that can be any: half of the lanes cannot."""

    kind: Kind
    loss: float = LOSS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Unknown("fault", self.kind, KINDS)
        if not 0 < self.loss < 1:
            raise RooflensError(f"a fault loses more than nothing and less than all, not {self.loss:g}")


def machine(fault: Fault | None) -> FakeMachine:
    """The made-up device with this fault, or a sound one."""
    if fault is None:
        return SOUND
    left = 1 - fault.loss
    if fault.kind == "clock":
        memory = {key: rate * (left if key[0] == "L2" else 1) for key, rate in SOUND.memory.items()}
        compute = {dtype: rate * left for dtype, rate in SOUND.compute.items()}
        return replace(SOUND, compute=compute, memory=memory, clock_hz=CLOCK_HZ * left)
    if fault.kind in ("power", "heat"):
        return replace(SOUND, throttled_to=SETTLED * left)
    if fault.kind == "memory":
        rates = {key: rate * (left if key[0] == "main" else 1) for key, rate in SOUND.memory.items()}
        return replace(SOUND, memory=rates)
    if fault.kind == "pcie":
        return replace(SOUND, links={way: rate / 2 for way, rate in SOUND.links.items()})
    if fault.kind == "nvlink":
        return replace(SOUND, peers={other: rate * (PORTS - 1) / PORTS for other, rate in SOUND.peers.items()})
    return replace(SOUND, cpu_share=left)


def told(index: int, fault: Fault | None, devices: int) -> Gpu:
    """What the tools of the node say of a device under load."""
    kind = fault.kind if fault else None
    left = SETTLED * (1 - fault.loss) if fault and kind in ("clock", "power", "heat") else SETTLED
    down = kind == "nvlink"
    return Gpu(
        index=index,
        name=NAME,
        memory_bytes=SOUND.memory_bytes,
        busy_share=1.0,
        temperature_c=88.0 if kind == "heat" else 62.0,
        clocks=Clocks(CLOCK_HZ * left, MEMORY_HZ, CLOCK_HZ, MEMORY_HZ,
                      *((CLOCK_HZ * (1 - fault.loss), CLOCK_HZ) if fault and kind == "clock" else ())),
        power=Power(LIMIT_W, LIMIT_W * (HELD_TO if kind == "power" else 1), LIMIT_W, LIMIT_W),
        pcie=HostLink(5, 5, LANES // 2 if kind == "pcie" else LANES, LANES),
        errors=Errors(ecc=True, corrected_volatile=0, uncorrected_volatile=2 if kind == "memory" else 0, replaced=0),
        reasons=("sw_power_cap", "hw_thermal") if kind == "heat" else ("sw_power_cap",),
        processes=(Process("python"),) if kind == "contention" else (),
        ports=tuple(NvlinkPort(port, 0.0 if down and port == 0 else PORT_BYTES_PER_S) for port in range(PORTS))
        if devices > 1 else None,
    )  # fmt: skip


Plan = dict[str, dict[int, Fault]]


def chosen(nodes: Sequence[str], devices: int, wanted: Mapping[Kind, int], loss: float, seed: int) -> Plan:
    """Which device of which node has which fault: each another device. Raises RooflensError for more than there are."""
    places = [(node, device) for node in nodes for device in range(devices)]
    kinds = [kind for kind, count in wanted.items() for _ in range(count)]
    if len(kinds) > len(places):
        raise RooflensError(f"{len(kinds)} faults do not fit in {len(places)} devices; ask for fewer")
    plan: Plan = {}
    for kind, (node, device) in zip(kinds, random.Random(seed).sample(places, len(kinds)), strict=True):
        plan.setdefault(node, {})[device] = Fault(kind, loss)
    return plan
