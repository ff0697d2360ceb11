"""The processor this runs on, through numpy, a C kernel where a compiler exists, and torch where it is installed."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from rooflens.measure.backend import AttentionShape, Cannot, Kernel, State, Usage, waited_s
from rooflens.measure.backends import cpu_c, cpu_gemm, host
from rooflens.measure.backends.cpu_attention import Numpy
from rooflens.measure.backends.cpu_streams import Streams
from rooflens.measure.backends.pool import Pool
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Device
from rooflens.samples import median
from rooflens.units import show

TORCH_MISSING = "torch is not installed; pip install 'rooflens[torch]'"
SPIN_TURNS = 20_000
ISSUE_TURNS = 200_000
USUAL_FLOPS_A_CYCLE = (4, 8, 16, 32, 64, 128)


class CpuBackend:
    """All cores this process may use, one thread each; fewer with `threads`. native, torch: whether to use them."""

    name = "cpu"
    turn_s = 0.04  # idle threads of OpenBLAS and OpenMP spin for some 30 ms and take the core from whoever is next

    def __init__(self, threads: int | None = None, *, native: bool = True, torch: bool = True) -> None:
        self._cpus = host.usable_cpus()[:threads]
        self._wants_native = native
        self._wants_torch = torch and find_spec("torch") is not None
        self._clock_hz = 0.0

    def why_not(self) -> str:
        """Empty when numpy is there."""
        return "" if find_spec("numpy") else "numpy is not installed; pip install numpy"

    def device(self) -> Device:
        """The processor with what the system shows of it."""
        return self._device

    def versions(self) -> dict[str, str]:
        """Python, the libraries that compute, the kernel."""
        found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
        for package in ("rooflens", "numpy", "threadpoolctl", *(["torch"] if self._wants_torch else [])):
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
        return found

    def clock(self) -> float:
        """Seconds of the system's finest clock."""
        return time.perf_counter()

    def elapsed_s(self, kernel: Kernel, calls: int) -> float:
        """On the host's clock."""
        return waited_s(self, kernel, calls)

    def rest(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def sync(self) -> None:
        """Every run here returns when it is done."""

    def usage(self) -> Usage:
        """This process's CPU time and switches, the hypervisor's steal, the kernel's pressure."""
        return Usage(
            wall_s=time.perf_counter(),
            cpu_s=time.process_time(),
            involuntary_switches=host.involuntary_switches(),
            steal_s=host.steal_s(self._cpus),
            pressure=host.pressure(),
            waited_s=host.waited_s(),
        )

    def state(self) -> State:
        """The clock, from additions that wait for each other, on all workers at once; unknown without the C kernel."""
        library = self._native.library
        if library is None or not library.rl_spin(1, 1):
            return State()
        with self._pool.pinned():
            seconds = self._pool.map(lambda _: _best(lambda: library.rl_spin(SPIN_TURNS, 1)))
        clocks = [cpu_c.ADDS_A_TURN * SPIN_TURNS / s for s in seconds]
        self._clock_hz = max(self._clock_hz, *clocks)
        return State(clock_hz=median(clocks))

    def peaks(self) -> tuple[Ceiling, ...]:
        """FLOP a cycle and core (counted with independent multiply-adds) x cores x the highest clock seen."""
        return tuple(self._peak(dtype, per_cycle) for dtype, per_cycle in self._flops_a_cycle.items())

    def gemm(self, dtype: str, m: int, n: int, k: int, seed: int) -> Sequence[Kernel]:
        """BLAS for fp32 and fp64 through numpy, both transposes; torch beside it, and alone for what BLAS cannot."""
        ways: list[Kernel] = []
        if dtype in cpu_gemm.NAMES:
            threads = len(self._pool)
            ways += cpu_gemm.products(self.device(), lambda: self._blas_threads(threads), dtype, (m, n, k), seed)
        if self._wants_torch:
            from rooflens.measure.backends import torch_cpu

            return [*ways, *torch_cpu.gemm(dtype, m, n, k, seed, len(self._pool), self.device().isa)]
        if not ways:
            raise Cannot(f"{dtype} skipped: {TORCH_MISSING}")
        return ways

    def stream(self, access: str, level: str, working_set_bytes: float, seed: int) -> Sequence[Kernel]:
        """Slices of one arena, one a pinned worker."""
        return self._streams.kernels(access, level, working_set_bytes, seed)

    def transfer(self, way: str, size_bytes: int) -> Kernel:
        """Nothing to copy to."""
        raise Cannot(f"{way} skipped: a processor has no host link")

    def peers(self) -> Sequence[tuple[int, int]]:
        """None."""
        return ()

    def peer(self, other: int, way: str, size_bytes: int) -> Kernel:
        """No device to copy to."""
        raise Cannot(f"copies to device {other} skipped: a processor has no peers")

    def launch(self, level: str = "device") -> Sequence[Kernel]:
        """Adding two numbers: what one call from Python into numpy costs."""
        import numpy as np

        a, out = np.ones(1, np.float32), np.zeros(1, np.float32)
        run = partial(np.add, a, a, out)
        note = "one numpy call from Python on a single number (on a CPU nothing is launched)"
        return [Kernel(run, "numpy add", lambda: float(out[0] not in (0, 2)), 0.0, note=note)]

    def attention(self, dtype: str, context: int, shape: AttentionShape, seed: int) -> Sequence[Kernel]:
        """fp32 in numpy (and torch); 16-bit types in torch on processors that compute in them."""
        native = ("fp32", *host.native_sixteen_bit(self.device().isa))
        if dtype not in native:
            raise Cannot(
                f"decode attention {dtype} skipped: this processor has no {dtype} arithmetic (it would emulate)"
            )
        if dtype != "fp32" and not self._wants_torch:
            raise Cannot(f"decode attention {dtype} skipped: {TORCH_MISSING}")
        _fits(dtype, context, shape, self.device().memory_bytes)
        cold_bytes = self.device().largest_cache_bytes or 2.0**26
        ways: list[Kernel] = []
        if dtype == "fp32":
            ways += Numpy(self._pool, self._blas_threads).kernels(shape, context, seed, cold_bytes)
        if self._wants_torch:
            from rooflens.measure.backends import torch_cpu

            ways += torch_cpu.attention(dtype, context, shape, seed, len(self._pool), cold_bytes)
        return ways

    def close(self) -> None:
        """End the workers and give the memory back."""
        if "_streams" in self.__dict__:
            self._streams.close()
        if "_pool" in self.__dict__:
            self._pool.close()
            del self.__dict__["_pool"]

    @cached_property
    def _pool(self) -> Pool:
        return Pool(self._cpus)

    @cached_property
    def _native(self) -> cpu_c.Native:
        return cpu_c.load() if self._wants_native else cpu_c.Native(why_not="the C kernel was switched off")

    @cached_property
    def _streams(self) -> Streams:
        return Streams(self._pool, self._native, lambda: self._blas_threads(1))

    @cached_property
    def _blas(self) -> Any:
        import numpy as np  # noqa: F401  (loads the BLAS that is to be found)
        from threadpoolctl import ThreadpoolController

        return ThreadpoolController().select(user_api="blas")

    def _blas_threads(self, count: int) -> AbstractContextManager[object]:
        limit: AbstractContextManager[object] = self._blas.limit(limits=count)
        return limit

    @cached_property
    def _device(self) -> Device:
        blas: dict[str, Any] = next(iter(self._blas.info()), {})
        caches, virtual = host.caches(self._cpus), host.virtualised()
        shown = max((c.bytes * c.instances for c in caches), default=None)
        return Device(
            name=host.name(),
            kind="cpu",
            threads=len(self._cpus),
            cores=os.cpu_count(),
            memory_bytes=host.memory_bytes(),
            clock_hz=self.state().clock_hz,
            clock_limit_hz=host.clock_limit_hz(),
            caches=caches,
            isa=host.isa(),
            virtualised=virtual,
            hypervisor=host.hypervisor() if virtual else None,
            blas=blas.get("internal_api"),
            blas_version=blas.get("version"),
            blas_kernel=blas.get("architecture"),
            blas_threads=blas.get("num_threads"),
            compiler=self._native.compiler,
            system=platform.platform(),
            distrust=tuple(self._distrust(virtual, shown)),
        )

    def _distrust(self, virtual: bool | None, shown: float | None) -> list[str]:  # noqa: FBT001
        reasons = host.distrust(os.environ, virtual=virtual, shown_cache_bytes=shown)
        if self._native.why_not:
            reasons.append(f"clock and peak unknown, caches not measured: {self._native.why_not}")
        return reasons

    @cached_property
    def _flops_a_cycle(self) -> dict[str, float]:
        library = self._native.library
        clock_hz = self.state().clock_hz
        if library is None or clock_hz is None:
            return {}
        with self._pool.pinned():
            return {
                dtype: self._issue(getattr(library, f"rl_issue_{dtype}"), library.rl_width() // size, clock_hz)
                for dtype, size in (("fp32", 4), ("fp64", 8))
            }

    def _issue(self, function: Callable[[int], float], lanes: int, clock_hz: float) -> float:
        seconds = min(self._pool.map(lambda _: _best(lambda: function(ISSUE_TURNS))))
        counted = 2 * lanes * self._native.library.rl_chains() * ISSUE_TURNS / seconds / clock_hz
        nearest = min(USUAL_FLOPS_A_CYCLE, key=lambda usual: abs(usual - counted))
        return float(nearest) if abs(nearest - counted) < 0.15 * nearest else counted

    def _peak(self, dtype: str, per_cycle: float) -> Ceiling:
        clock_hz, cores = self._clock_hz, len(self._pool)
        return Ceiling(
            id=f"compute/vector/{dtype}/peak",
            kind="compute",
            value=per_cycle * cores * clock_hz,
            origin="derived",
            dtype=dtype,
            path="vector",
            clock_hz=clock_hz,
            source=f"{per_cycle:.3g} FLOP a cycle and core x {cores} cores x {show(clock_hz, 'Hz', 3)}",
        )


def _fits(dtype: str, context: int, shape: AttentionShape, memory_bytes: float | None) -> None:
    """Raises Cannot for what the ways here do not cover, and for caches beyond an eighth of memory."""
    cell = f"decode attention {dtype} S={context}"
    if shape.batch != 1 or shape.kv_heads != shape.heads:
        raise Cannot(f"{cell} skipped: on a CPU one sequence with a key-value head for each query head is measured")
    cache_bytes = 8.0 * shape.layers * shape.width * context
    if memory_bytes is not None and cache_bytes > memory_bytes / 8:
        most = f"an eighth of the memory of {show(memory_bytes, 'B', 3)}"
        raise Cannot(f"{cell} skipped: its cache of {show(cache_bytes, 'B', 3)} is more than {most}")


def _best(run: Callable[[], object], tries: int = 5) -> float:
    took = []
    for _ in range(tries):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return min(took)
