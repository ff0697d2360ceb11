"""Nodes that nobody has: profiles as `measure` writes them, of made-up devices whose faults are known.

A device of each kind is measured once, by the same code as a real one, without noise. Every other of its kind is drawn
about it: a factor for each of its resources that it keeps for life, and noise on every sample, some of it heavy-tailed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import combinations

from rooflens.fleet.faults import NAME, Fault, machine, told
from rooflens.measure.backend import State, Usage
from rooflens.measure.backends.fake import FakeBackend
from rooflens.measure.loop import window
from rooflens.measure.options import gpu
from rooflens.measure.run import measure
from rooflens.operators.collectives import Group, ways
from rooflens.peers.sentences import NOTES
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.collective import CollectivePoint
from rooflens.roofline.knee import Line
from rooflens.roofline.node import Link, Node
from rooflens.roofline.profile import Device, Profile
from rooflens.samples import median

FIRST_RUN = datetime(2026, 1, 1, tzinfo=UTC)
DTYPES = ("bf16", "fp8", "fp32")
HEAVY = 10.0  # times the noise, of a heavy-tailed sample, and always slower
HELD_BY: dict[str, str] = {
    "applications_clocks": "application clocks", "sw_power_cap": "power cap", "hw_slowdown": "hardware slowdown",
    "sync_boost": "sync boost", "sw_thermal": "thermal limit (software)", "hw_thermal": "thermal limit (hardware)",
    "hw_power_brake": "power brake",
}  # fmt: skip
OTHER = "contention: another process is on the device"
PART = {"compute": "compute", "launch": "compute", "memory": "memory", "link": "link"}
ALL_REDUCE_BYTES = (2.0**20, 2.0**28)
LINK_LATENCY_S = 8e-6


@record
class Weather:
    """How devices differ for life (spread), how samples do (noise), and what share of these is heavy-tailed."""

    spread: float = 0.006
    noise: float = 0.006
    heavy: float = 0.05


class Simulated(FakeBackend):
    """The made-up machine as a GPU: only products throttle, and its fault shows where a real one would."""

    name = "simulated"

    def __init__(self, fault: Fault | None) -> None:
        super().__init__(machine(fault))
        self.told = told(0, fault, 1)

    def device(self) -> Device:
        """Named so that nobody takes it for a real one."""
        limit_w = self.told.power.limit_w
        return replace(super().device(), name=NAME, driver="1.0", runtime="simulated 1.0", power_limit_w=limit_w)

    def usage(self) -> Usage:
        """Another process, where its tools list one."""
        return replace(super().usage(), others=(OTHER,) if self.told.processes else ())

    def state(self) -> State:
        """In the words of a driver."""
        found = super().state()
        words = tuple(HELD_BY[reason] for reason in self.told.reasons or ())
        return replace(found, throttle=words if found.throttle else ())

    def _runner(self, unit: str, work_s: float, launches_s: float) -> Callable[[], None]:
        run = super()._runner(unit, work_s, launches_s)
        if "product" in unit:
            return run

        def cool() -> None:
            self._busy_s = 0.0
            run()

        return cool


def node_profile(
    name: str,
    seed: int = 0,
    faults: Mapping[int, Fault] | None = None,
    *,
    devices: int = 8,
    quick: bool = True,
    run: int = 0,
    weather: Weather | None = None,
) -> Profile:
    """A node's profile, with `devices` devices measured at the same time. faults: by device number.

    The same seed and name give the same devices; another `run` of them gives other noise.
    """
    found, how = faults or {}, weather or Weather()
    made = {
        f"fake:{i}": _device(kind(found.get(i), quick=quick), f"{seed}/{name}/{i}", run, how) for i in range(devices)
    }
    first = next(iter(made.values()))
    pairs = tuple(_pairs(devices, found, f"{seed}/{name}", run, how, quick=quick))
    return replace(
        first,
        ceilings=(*first.ceilings, *pairs),
        together=made if devices > 1 else {},
        collectives=tuple(_all_reduces(devices, pairs)),
        node=_node(devices, found),
    )


@lru_cache(64)
def kind(fault: Fault | None, *, quick: bool = True) -> Profile:
    """A device with this fault as measured without noise: what all of its kind are drawn about."""
    options = replace(gpu(quick=quick), dtypes=DTYPES, sustained=("bf16", "fp8"), product_s=0.01)
    found = measure(Simulated(fault), options)
    return replace(found, gemms=(), notes=(NOTES["simulated"], *found.notes))


def _device(of: Profile, name: str, run: int, how: Weather) -> Profile:
    """One device, without its pairs."""
    life, now = random.Random(name), random.Random(f"{name}/{run}")
    factor = {part: math.exp(how.spread * life.gauss(0, 1)) for part in ("compute", "memory", "link")}
    ceilings = tuple(
        _drawn(c, factor[PART[c.kind]], now, how) if c.samples else c for c in of.ceilings if not _paired(c)
    )
    started = (FIRST_RUN + timedelta(days=run)).isoformat(timespec="seconds")
    return replace(of, ceilings=ceilings, started=started, gates=tuple(g for g in of.gates if g.reasons))


def _drawn(c: Ceiling, factor: float, now: random.Random, how: Weather) -> Ceiling:
    """The ceiling of one device: its factor and noise on each sample, in speed."""
    way = -1 if c.unit == "s" else 1
    samples = tuple(sample * (factor * _noise(now, how)) ** way for sample in c.samples)
    speaking = samples[-window(samples) :] if c.mode == "sustained" else samples
    best = min(samples) if c.unit == "s" else max(samples)
    return replace(c, samples=samples, value=median(speaking), best=best)


def _noise(now: random.Random, how: Weather) -> float:
    if now.random() < how.heavy:
        return math.exp(-HEAVY * how.noise * abs(now.gauss(0, 1)))
    return math.exp(how.noise * now.gauss(0, 1))


def _paired(c: Ceiling) -> bool:
    return c.kind == "link" and c.level == "nvlink"


def _pairs(
    devices: int, faults: Mapping[int, Fault], name: str, run: int, how: Weather, *, quick: bool
) -> Iterator[Ceiling]:
    """Copies between all pairs, each at the pace of the worse of the two."""
    for a, b in combinations(range(devices), 2):
        worse = next((faults[i] for i in (a, b) if i in faults and faults[i].slows_links), None)
        for c in kind(worse, quick=quick).ceilings:
            if _paired(c):
                between = c.id.rpartition("/")[2].replace("0", "a").replace("1", str(b)).replace("a", str(a))
                life, now = random.Random(f"{name}/{between}"), random.Random(f"{name}/{between}/{run}")
                made = _drawn(c, math.exp(how.spread * life.gauss(0, 1)), now, how)
                yield replace(made, id=f"link/nvlink/{between}", access=between)


def _all_reduces(devices: int, pairs: tuple[Ceiling, ...]) -> Iterator[CollectivePoint]:
    """By a ring over all devices, at the pace of the slowest pair."""
    if devices < 2:
        return
    slowest = min(pairs, key=lambda c: c.value)
    ring = next(way for way in ways("all-reduce", Group(devices)) if way.algorithm == "ring")
    for size in ALL_REDUCE_BYTES:
        waited_s = ring.link_steps * LINK_LATENCY_S
        samples = tuple(Line(waited_s, rate).time_s(ring.link_bytes * size) for rate in slowest.samples)
        yield CollectivePoint("all-reduce", devices, size, median(samples), min(samples), "bf16", "graph", "simulated",
                              "nvlink", samples)  # fmt: skip


def _node(devices: int, faults: Mapping[int, Fault]) -> Node:
    gpus = tuple(told(i, faults.get(i), devices) for i in range(devices))
    up = [sum(port.bytes_per_s != 0 for port in gpu.ports or ()) for gpu in gpus]
    links = tuple(Link(a, b, "NVLink", min(up[a], up[b]), "OK") for a, b in combinations(range(devices), 2))
    return Node(gpus=gpus, links=links, driver="1.0", attached=devices, held=("nvidia-smi -q -x",))
