"""Ways to stream through memory on a CPU: numpy over slices, and the C kernel where it was compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

from rooflens.measure.backend import Cannot, Kernel
from rooflens.measure.backends.cpu_c import Native
from rooflens.measure.backends.pool import Pool
from rooflens.measure.kernels import STREAMS

ALIGN_BYTES = 4096
SLICE_BYTES = 4096  # slices are multiples of this, so that eight streams of whole lines divide them
BLOCK_BYTES = 2**22  # random data repeats after this much
CACHE_SAMPLE_S = 0.005
FACTOR = 0.5
FILL = 0x3F8000003F800000  # 1.0 twice
WRITE_ALLOCATE = "ordinary stores: each line is read before it is written, which is not counted"
NOT_STREAMED = "no non-temporal store without the C kernel"


@dataclass(slots=True)
class Streams:
    """An arena a worker, which that worker touched first; grown when a larger set is asked for."""

    pool: Pool
    native: Native
    one_blas_thread: Callable[[], AbstractContextManager[object]]
    arenas: list[Any] = field(default_factory=list)
    seed: int | None = None

    def kernels(self, access: str, level: str, working_set_bytes: float, seed: int) -> Sequence[Kernel]:
        """All ways for this access. Raises Cannot for a cache level without the C kernel."""
        workers = len(self.pool)
        each = int(working_set_bytes / STREAMS[access].arrays / workers) // SLICE_BYTES * SLICE_BYTES
        if level != "main":
            return [self._near(level, max(each, SLICE_BYTES), seed)]
        parts = self._parts(STREAMS[access].arrays, each, seed)
        ways = {"read": self._read, "write": self._write, "copy": self._copy, "triad": self._triad}
        return ways[access](parts)

    def close(self) -> None:
        """Give the arenas back."""
        self.arenas = []

    def _parts(self, arrays: int, each: int, seed: int) -> list[list[Any]]:
        """parts[array][worker]: float32 slices of each worker's own arena."""
        if not self.arenas or self.arenas[0].nbytes < arrays * each:
            self.arenas = []
            self.arenas = self.pool.map(lambda _: _aligned(arrays * each))
            self.seed = None
        if self.seed != seed:
            block = _random_bytes(seed)
            self.pool.run(lambda w: _tile(self.arenas[w], block))
            self.seed = seed
        mine = [arena[: arrays * each].view("float32").reshape(arrays, -1) for arena in self.arenas]
        return [[worker[array] for worker in mine] for array in range(arrays)]

    def _setting(self) -> AbstractContextManager[object]:
        stack = ExitStack()
        stack.enter_context(self.pool.pinned())
        stack.enter_context(self.one_blas_thread())
        return stack

    def _kernel(
        self, unit: str, part: Callable[[int], object], error: Callable[[], float], tolerance: float = 0.0, **more: Any
    ) -> Kernel:
        more.setdefault("run", lambda: self.pool.run(part))
        return Kernel(
            unit=unit,
            error=error,
            tolerance=tolerance,
            threads=len(self.pool),
            setting=self._setting,
            **more,
        )

    def _read(self, parts: list[list[Any]]) -> Sequence[Kernel]:
        import numpy as np

        (a,) = parts
        whole = [x.view(np.int32) for x in a]
        most = [0] * len(a)

        def maximum(w: int) -> None:
            most[w] = int(whole[w].max())

        found = [0.0] * len(a)

        def dot(w: int) -> None:
            found[w] = float(np.dot(a[w], a[w]))

        def wrong_maximum() -> float:
            self.pool.run(maximum)
            return float(most != self.pool.map(lambda w: int(whole[w][whole[w].argmax()])))

        def wrong_dot() -> float:
            self.pool.run(dot)
            expected = self.pool.map(lambda w: _square_sum(a[w]))
            return max(abs(x - y) / y for x, y in zip(found, expected, strict=True))

        ways = [
            self._kernel("numpy max over slices", maximum, wrong_maximum),
            self._kernel("numpy dot over slices, one BLAS thread each", dot, wrong_dot, 0.01),
        ]
        if self.native.library:
            named = ((n, f"C read, {n} stream{'' if n == 1 else 's'} a thread") for n in (1, 2, 4, 8))
            ways += [self._c_read(a, f"rl_read_{n}", unit) for n, unit in named]
        return ways

    def _c_read(self, a: list[Any], name: str, unit: str, inner: int = 1, **more: Any) -> Kernel:
        function = getattr(self.native.library, name)
        sums = [0] * len(a)
        calls = [partial(function, x.ctypes.data, x.nbytes, inner) for x in a]

        def read(w: int) -> None:
            sums[w] = calls[w]()

        def error() -> float:
            self.pool.run(read)
            expected = self.pool.map(lambda w: int(a[w].view("uint64").sum(dtype="uint64")) * inner % 2**64)
            return float(sums != expected)

        return self._kernel(unit, read, error, inner=inner, **more)

    def _near(self, level: str, each: int, seed: int) -> Kernel:
        if self.native.library is None:
            raise Cannot(f"memory/{level}/read skipped: {self.native.why_not}")
        (a,) = self._parts(1, each, seed)
        once = self._c_read(a, "rl_read_near", "C read")
        empty = self._c_read(a, "rl_read_near", "C read", inner=0)
        with once.setting():
            took_s = min(_clocked(once.run) for _ in range(20))
            overhead_s = sorted(_clocked(empty.run) for _ in range(50))[25]
        sample_s = min(max(CACHE_SAMPLE_S, 100 * overhead_s), 4 * CACHE_SAMPLE_S)
        inner = 1 + int(sample_s / max(took_s - overhead_s, 1e-7))
        return self._c_read(a, "rl_read_near", "C read, looped", inner=inner, overhead_s=overhead_s)

    def _write(self, parts: list[list[Any]]) -> Sequence[Kernel]:
        (a,) = parts
        self.seed = None  # what is random there will be overwritten
        if self.native.library is None:
            fill = self._kernel("numpy fill over slices", lambda w: a[w].fill(1.0), lambda: _differs(a, 1.0))
            return [_refused(fill, self.native)]
        function = self.native.library.rl_write
        calls = [partial(function, x.ctypes.data, x.nbytes, FILL, 1) for x in a]
        kernel = self._kernel("C write", lambda w: calls[w](), lambda: self._after(calls, lambda: _differs(a, 1.0)))
        return [self._noted(kernel)]

    def _copy(self, parts: list[list[Any]]) -> Sequence[Kernel]:
        import numpy as np

        a, b = parts
        same = partial(_wrong, a, b)
        plain = self._kernel(
            "numpy copyto over slices",
            lambda w: np.copyto(a[w], b[w]),
            lambda: self._after([partial(np.copyto, x, y) for x, y in zip(a, b, strict=True)], same),
            note="the C library chooses the stores",
        )
        if self.native.library is None:
            return [plain]
        function = self.native.library.rl_copy
        calls = [partial(function, x.ctypes.data, y.ctypes.data, x.nbytes, 1) for x, y in zip(a, b, strict=True)]
        return [plain, self._noted(self._kernel("C copy", lambda w: calls[w](), lambda: self._after(calls, same)))]

    def _triad(self, parts: list[list[Any]]) -> Sequence[Kernel]:
        import numpy as np

        a, b, c = parts
        if self.native.library is None:
            add = self._kernel(
                "numpy add over slices",
                lambda w: np.add(b[w], c[w], out=a[w]),
                lambda: self._after([partial(np.add, y, z, out=x) for x, y, z in zip(a, b, c, strict=True)], None),
            )
            return [_refused(add, self.native)]
        function = self.native.library.rl_triad
        calls = [
            partial(function, x.ctypes.data, y.ctypes.data, z.ctypes.data, x.nbytes, FACTOR, 1)
            for x, y, z in zip(a, b, c, strict=True)
        ]
        error = partial(self._after, calls, lambda: _triad_error(a, b, c))
        return [self._noted(self._kernel("C triad", lambda w: calls[w](), error, 1e-6))]

    def _after(self, calls: Sequence[Callable[[], object]], error: Callable[[], float] | None) -> float:
        """The error of a result, right after it was made by every worker."""
        self.pool.run(lambda w: calls[w]())
        return error() if error else 0.0

    def _noted(self, kernel: Kernel) -> Kernel:
        real = bool(self.native.library.rl_nontemporal())
        unit = f"{kernel.unit}, {'non-temporal' if real else 'ordinary'} stores"
        return replace(kernel, unit=unit, note="no line is read before it is written" if real else WRITE_ALLOCATE)


def _refused(kernel: Kernel, native: Native) -> Kernel:
    return replace(kernel, why_not=f"{NOT_STREAMED}: {native.why_not}", note=WRITE_ALLOCATE)


def _clocked(run: Callable[[], object]) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def _aligned(size: int) -> Any:
    import numpy as np

    whole = np.empty(size + ALIGN_BYTES, np.uint8)
    start = -whole.ctypes.data % ALIGN_BYTES
    return whole[start : start + size]


def _random_bytes(seed: int) -> Any:
    import numpy as np

    return np.random.default_rng(seed).standard_normal(BLOCK_BYTES // 4, dtype=np.float32).view(np.uint8)


def _tile(target: Any, block: Any) -> None:
    for start in range(0, target.nbytes, block.nbytes):
        piece = target[start : start + block.nbytes]
        piece[:] = block[: piece.nbytes]


def _square_sum(a: Any) -> float:
    import numpy as np

    chunks = (a[i : i + 2**20].astype(np.float64) for i in range(0, a.size, 2**20))
    return float(sum(np.dot(x, x) for x in chunks))


def _differs(parts: list[Any], value: float) -> float:
    return float(not all(bool((x == value).all()) for x in parts))


def _wrong(a: list[Any], b: list[Any]) -> float:
    import numpy as np

    return float(not all(np.array_equal(x.view(np.int32), y.view(np.int32)) for x, y in zip(a, b, strict=True)))


def _triad_error(a: list[Any], b: list[Any], c: list[Any]) -> float:
    import numpy as np

    worst = 0.0
    for x, y, z in zip(a, b, c, strict=True):
        some = slice(None, None, max(1, x.size // 2**16))
        expected = y[some].astype(np.float64) + FACTOR * z[some].astype(np.float64)
        worst = max(worst, float(np.abs(x[some] - expected).max() / np.abs(expected).max()))
    return worst
