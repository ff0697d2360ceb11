"""A made-up machine with a clock of its own: its true ceilings are chosen, and measuring must find them again."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from rooflens.measure.backend import AttentionShape, Cannot, Kernel, State, Usage, waited_s
from rooflens.measure.kernels import gemm_flops
from rooflens.records import field, record, replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Cache, Device

BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}
SAMPLE_S = 0.005
COOL_DOWN_S = 0.4  # a rest this long cools the machine


@record
class FakeMachine:
    """The truth to be found.

    compute: FLOP/s by dtype, of which those in `matrix` are of matrix units, as of a GPU's tensor cores, and others of
    vector units; memory: byte/s by (level, access). owned_cache_bytes: sets up to this run at
    `cached_times` the speed of memory, as when a cache is larger than it shows. noise: relative, symmetrical.
    throttle: rates fall to `throttled_to` of themselves after `throttle_after_s` without a rest.
    attention_share: share of the attainable rate that decode attention reaches. peak_times: derived peak / truth.
    peers: byte/s to other devices, by number; this one is 0.
    host_launch_s: what starting a kernel from the host takes at least, on a GPU; small_kernel_s: a small one's time.
    weather_s: from when to when, since the start, neighbours that no counter shows slow all work to `weather_to`.
    """

    compute: Mapping[str, float] = field(default_factory=lambda: {"fp32": 200e9, "fp64": 100e9, "bf16": 3200e9})
    memory: Mapping[tuple[str, str], float] = field(
        default_factory=lambda: {
            ("main", "read"): 40e9,
            ("main", "write"): 36e9,
            ("main", "copy"): 38e9,
            ("main", "triad"): 37e9,
            ("L1", "read"): 400e9,
            ("L2", "read"): 200e9,
            ("L3", "read"): 100e9,
        }
    )
    matrix: tuple[str, ...] = ()
    caches: tuple[Cache, ...] = (Cache("L1", 32768, 2), Cache("L2", 524288, 2), Cache("L3", 2.0**25))
    launch_s: float = 1e-6
    host_launch_s: float = 4e-6
    small_kernel_s: float = 2e-6
    noise: float = 0.003
    kind: Literal["cpu", "gpu"] = "cpu"
    links: Mapping[str, float] = field(default_factory=dict)
    peers: Mapping[int, float] = field(default_factory=dict)
    threads: int = 2
    memory_bytes: float = 16e9
    clock_hz: float = 3e9
    throttle_after_s: float | None = None
    throttled_to: float = 0.75
    weather_s: tuple[float, float] | None = None
    weather_to: float = 0.7
    cpu_share: float = 1.0
    switches_per_s: float = 0.0
    steal_share: float = 0.0
    pressure: float = 0.0
    owned_cache_bytes: float = 0.0
    cached_times: float = 1.5
    attention_share: float = 1.0
    attention_calls_per_layer: int = 3
    attention_error: float = 1e-7
    gemm_error: float = 0.0
    peak_times: float = 1.1
    overhead_s: float = 0.0
    seed: int = 0


class FakeBackend:
    """Behaves as `machine` says. Nothing waits: every run moves the virtual clock.

    interrupt_in: the unit in whose first run somebody presses Ctrl-C. too_large: units that find no memory to run in.
    """

    name = "fake"
    turn_s = 0.001

    def __init__(
        self, machine: FakeMachine | None = None, interrupt_in: str = "", too_large: Collection[str] = ()
    ) -> None:
        self.machine = machine or FakeMachine()
        self.interrupt_in = interrupt_in
        self.too_large = too_large
        self._now_s = self._began_s = 1000.0
        self._busy_s = 0.0
        self._cpu_s = 0.0
        self._switches = 0.0
        self._random = random.Random(self.machine.seed)

    def why_not(self) -> str:
        """Always usable."""
        return ""

    def device(self) -> Device:
        """The made-up processor."""
        m = self.machine
        return Device(f"Fake {m.kind.upper()}", m.kind, threads=m.threads, memory_bytes=m.memory_bytes, caches=m.caches)

    def versions(self) -> dict[str, str]:
        """One made-up library."""
        return {"fake": "1"}

    def clock(self) -> float:
        """Virtual seconds."""
        return self._now_s

    def elapsed_s(self, kernel: Kernel, calls: int) -> float:
        """On the virtual clock."""
        return waited_s(self, kernel, calls)

    def rest(self, seconds: float) -> None:
        """Let virtual time pass, and cool down."""
        self._now_s += seconds
        if seconds >= COOL_DOWN_S:
            self._busy_s = 0.0

    def sync(self) -> None:
        """Everything is done at once here."""

    def usage(self) -> Usage:
        """Counters as the machine's contention makes them."""
        steal_s = self._now_s * self.machine.threads * self.machine.steal_share
        return Usage(self._now_s, self._cpu_s, int(self._switches), steal_s, self.machine.pressure)

    def state(self) -> State:
        """Clock and throttle reason, hot or cool."""
        hot = self._hot()
        times = self.machine.throttled_to if hot else 1.0
        return State(self.machine.clock_hz * times, throttle=("power limit",) if hot else ())

    def peaks(self) -> tuple[Ceiling, ...]:
        """Peaks a chosen factor above the truth."""
        times, rates = self.machine.peak_times, self.machine.compute.items()
        return tuple(
            Ceiling(f"compute/{path}/{d}/peak", "compute", rate * times, "derived", dtype=d, path=path)
            for d, rate in rates
            for path in [self._unit(d)]
        )

    def gemm(self, dtype: str, m: int, n: int, k: int, seed: int) -> Sequence[Kernel]:
        """The right way and one half as slow again; a GPU's also waits for its memory."""
        rate = self.machine.compute.get(dtype)
        if rate is None:
            raise Cannot(f"{dtype} skipped: the fake machine has no {dtype}")
        read, copy = (self.machine.memory.get(("main", access), math.inf) for access in ("read", "copy"))
        moved_s = BYTES[dtype] * (k * n / read + m * (k + n) / copy) if self.machine.kind == "gpu" else 0.0
        work_s = max(gemm_flops(m, n, k) / rate, moved_s)
        how: dict[str, Any] = {"path": self._unit(dtype), "error": self.machine.gemm_error}
        return [self._kernel(work_s, "fake product", **how), self._kernel(1.5 * work_s, "slow fake product", **how)]

    def _unit(self, dtype: str) -> str:
        """Where products of this format are multiplied."""
        return "matrix" if dtype in self.machine.matrix else "vector"

    def stream(self, access: str, level: str, working_set_bytes: float, seed: int) -> Sequence[Kernel]:
        """One way, at the chosen rate."""
        rate = self.machine.memory.get((level, access))
        if rate is None:
            raise Cannot(f"memory/{level}/{access} skipped: the fake machine has none")
        if level == "main" and working_set_bytes <= self.machine.owned_cache_bytes:
            rate *= self.machine.cached_times
        inner = 1 if level == "main" else 1 + int(SAMPLE_S * rate / working_set_bytes)
        overhead_s = self.machine.overhead_s
        return [self._kernel(working_set_bytes / rate, f"fake {level} {access}", inner=inner, overhead_s=overhead_s)]

    def transfer(self, way: str, size_bytes: int) -> Kernel:
        """At the chosen rate of this way; a machine without it has no such link."""
        rate = self.machine.links.get(way)
        if rate is None:
            raise Cannot(f"{way} skipped: the fake machine has no such link")
        return self._kernel(size_bytes / rate, "fake copy")

    def peers(self) -> Sequence[tuple[int, int]]:
        """Those of the machine."""
        return [(0, other) for other in self.machine.peers]

    def peer(self, other: int, way: str, size_bytes: int) -> Kernel:
        """At the chosen rate; in both directions at once 0.9 of it each."""
        rate = self.machine.peers.get(other)
        if rate is None:
            raise Cannot(f"fake:0 to fake:{other} skipped: there is no fake:{other}")
        return self._kernel(size_bytes / rate / (0.9 if way == "both" else 1.0), "fake peer copy", path="nvlink")

    def launch(self, level: str = "device") -> Sequence[Kernel]:
        """Nothing but the launch cost."""
        if level == "kernel":
            return [self._kernel(self.machine.small_kernel_s - self.machine.launch_s, "fake small kernel")]
        if level == "host":
            return [self._kernel(self.machine.host_launch_s - self.machine.launch_s, "fake call from the host")]
        return [self._kernel(0.0, "fake call")]

    def attention(self, dtype: str, context: int, shape: AttentionShape, seed: int) -> Sequence[Kernel]:
        """As fast as memory or arithmetic allow, plus its calls; on a GPU naive, fused, and replayed."""
        m = self.machine
        math_of = "fp16" if dtype == "int8" and m.kind == "gpu" else dtype
        if math_of not in m.compute or dtype not in BYTES:
            raise Cannot(f"decode attention {dtype} skipped: the fake machine does not compute in {dtype}")
        moved = 2 * context * shape.layers * shape.batch * shape.kv_heads * shape.head_width * BYTES[dtype]
        attended = shape.tokens * (context - (shape.tokens - 1) / 2)
        flops = 4 * attended * shape.layers * shape.batch * shape.width
        work_s = max(moved / m.memory["main", "read"], flops / m.compute[math_of]) / m.attention_share
        if m.kind == "gpu":
            return list(self._ways(dtype, work_s, shape))
        calls = m.attention_calls_per_layer * shape.layers
        return [self._kernel(work_s, f"fake {dtype} attention", calls=calls, error=m.attention_error)]

    def _ways(self, dtype: str, work_s: float, shape: AttentionShape) -> Iterator[Kernel]:
        ways = {"fused": 1, "fused, graph": 1} if shape.tokens == 1 else {"blocked, graph": 12}
        if dtype in ("fp16", "fp32"):
            ways = {"naive": 7, **ways}
        for way, a_layer in ways.items():
            calls = a_layer * shape.layers
            waits_s = 0.0 if way.endswith("graph") else calls * (self.machine.host_launch_s - self.machine.launch_s)
            kernel = self._kernel(max(work_s, waits_s), way, calls=calls, error=self.machine.attention_error)
            yield replace(kernel, kv_dtype="int8" if dtype == "int8" else None)

    def passed(self, seconds: float, noise: float) -> float:
        """Lets about so many seconds pass; returns how many did."""
        took_s = seconds * max(0.1, 1 + noise * self._random.gauss(0, 1))
        self._pass(took_s)
        return took_s

    def close(self) -> None:
        """Nothing to give back."""

    def _kernel(
        self,
        work_s: float,
        unit: str,
        path: str | None = None,
        inner: int = 1,
        calls: int = 1,
        error: float = 0.0,
        overhead_s: float | None = None,
    ) -> Kernel:
        run = self._runner(unit, work_s * inner, calls * self.machine.launch_s)
        return Kernel(
            run=run,
            unit=unit,
            error=lambda: error,
            tolerance=1e-5,
            threads=self.machine.threads,
            path=path,
            inner=inner,
            calls=calls,
            overhead_s=overhead_s,
        )

    def _runner(self, unit: str, work_s: float, launches_s: float) -> Callable[[], None]:
        def run() -> None:
            if unit == self.interrupt_in:
                raise KeyboardInterrupt
            if unit in self.too_large:
                raise MemoryError("8 GB asked for")
            slower = 1 / self.machine.throttled_to if self._hot() else 1.0
            slower *= 1 / self.machine.weather_to if self._weather() else 1.0
            noise = max(0.1, 1 + self.machine.noise * self._random.gauss(0, 1))
            self._pass((work_s * slower + launches_s) * noise / self.machine.cpu_share)

        return run

    def _hot(self) -> bool:
        after_s = self.machine.throttle_after_s
        return after_s is not None and self._busy_s > after_s

    def _weather(self) -> bool:
        first, last = self.machine.weather_s or (0.0, 0.0)
        return first <= self._now_s - self._began_s < last

    def _pass(self, seconds: float) -> None:
        self._now_s += seconds
        self._busy_s += seconds
        self._cpu_s += seconds * self.machine.threads * self.machine.cpu_share
        self._switches += seconds * self.machine.threads * self.machine.switches_per_s
