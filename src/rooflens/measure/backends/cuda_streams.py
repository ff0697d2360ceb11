"""Memory slopes of a GPU, level by level, transfers over the host link, and what a launch costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rooflens.measure.backend import Cannot, Kernel
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.kernels import STREAMS
from rooflens.records import record
from rooflens.units import show_binary

FILE = "stream.cu"
VECTOR_BYTES = 16
THREADS = 512
GEOMETRIES = ((1, 256), (2, 512), (4, 512), (8, 512))  # vectors a thread, threads a block; a block takes one tile
SAMPLE_S = 1e-3  # a near level is read so often that calling does not count
NEAR_BYTES_PER_S = {"L2": 6e12, "shared": 30e12}  # only to choose how often
SHARED_THREADS = 1024
EMPTY_KERNELS = 1000
SMALL_ROWS = (16, 4096)
SMALL_KINDS, SMALL_TIMES = 6, 50


@record
class _Read:
    """A reading kernel with what its sums must come to."""

    sums: Any
    expected: int


_Made = tuple[str, Callable[[], None], _Read]


class Streams:
    """The streams of one card."""

    def __init__(self, card: Card) -> None:
        self._card = card

    def kernels(self, access: str, level: str, working_set_bytes: float, seed: int) -> Sequence[Kernel]:
        """The contenders for one pass over arrays together `working_set_bytes` long.

        Raises Cannot for a level or a size that there is no kernel for.
        """
        with self._card.here():
            if level == "main":
                return self._main(access, working_set_bytes, seed)
            if level in NEAR_BYTES_PER_S and access == "read":
                return self._near(level, working_set_bytes, seed)
        raise Cannot(f"memory/{level}/{access} skipped: there is no kernel for it")

    def _main(self, access: str, working_set_bytes: float, seed: int) -> list[Kernel]:
        cp = self._card.cp
        stream = STREAMS[access]
        n = _vectors(f"memory/main/{access}", working_set_bytes, stream.arrays)
        arrays = [cp.empty(4 * n, "uint32") for _ in range(stream.arrays)]
        for number, array in enumerate(arrays):
            _fill(cp, array, seed + number)
        ways = [self._stream(access, arrays, n, *geometry) for geometry in GEOMETRIES]
        if access == "copy":
            ways.append(self._memcpy(arrays))
        return ways

    def _stream(self, access: str, arrays: Sequence[Any], n: int, unroll: int, threads: int) -> Kernel:
        cp, card = self._card.cp, self._card
        kernel = card.kernel(FILE, f"stream_{access}<{unroll}>")
        grid = (math.ceil(n / threads / unroll),)
        sums = cp.zeros(grid[0], "uint32")
        extra = {"read": (sums,), "write": (cp.uint32(0x3F800000),), "copy": (), "triad": (cp.float32(0.5),)}[access]

        def run() -> None:
            kernel(grid, (threads,), (*arrays, cp.uint64(n), *extra))

        return Kernel(
            run=run,
            unit=f"{access} kernel, {unroll} vectors a thread, {threads} threads a block",
            error=lambda: self._checked(run, lambda: _stream_error(cp, access, arrays, sums)),
            tolerance=0.0 if access != "triad" else 1e-6,
            setting=card.here,
        )

    def _memcpy(self, arrays: Sequence[Any]) -> Kernel:
        cp, card = self._card.cp, self._card
        to, source = arrays
        kind = cp.cuda.runtime.memcpyDeviceToDevice

        def run() -> None:
            cp.cuda.runtime.memcpyAsync(to.data.ptr, source.data.ptr, to.nbytes, kind, card.stream.ptr)

        return Kernel(
            run=run,
            unit="cudaMemcpyAsync",
            error=lambda: self._checked(run, lambda: _stream_error(cp, "copy", arrays, None)),
            tolerance=0.0,
            setting=card.here,
        )

    def _near(self, level: str, working_set_bytes: float, seed: int) -> list[Kernel]:
        make, parts = (self._shared, self._card.units) if level == "shared" else (self._l2, 1)
        n = _vectors(f"memory/{level}/read", working_set_bytes, parts)
        passes = max(1, math.ceil(SAMPLE_S * NEAR_BYTES_PER_S[level] / working_set_bytes))
        overhead_s = self._card.elapsed_s(self._empty)
        return [self._reading(*made, passes, overhead_s) for made in make(n, passes, seed)]

    def _reading(self, unit: str, run: Callable[[], None], read: _Read, passes: int, overhead_s: float) -> Kernel:
        return Kernel(
            run=run,
            unit=unit,
            error=lambda: self._checked(run, lambda: _sum_error(read)),
            tolerance=0.0,
            inner=passes,
            setting=self._card.here,
            overhead_s=overhead_s,
        )

    def _l2(self, n: int, passes: int, seed: int) -> list[_Made]:
        cp, card = self._card.cp, self._card
        a = cp.empty(4 * n, "uint32")
        _fill(cp, a, seed)
        kernel = card.kernel(FILE, "near_read")
        expected = _wrapped_sum(a) * passes % 2**32
        made = []
        for blocks in (3, 4):
            grid, sums = (blocks * card.units,), cp.zeros(blocks * card.units, "uint32")
            arguments = (a, cp.uint64(n), cp.int32(passes), sums)
            name = f"L2 read kernel, {blocks} blocks an SM"
            made.append((name, _call(kernel, grid, THREADS, arguments), _Read(sums, expected)))
        return made

    def _shared(self, n: int, passes: int, seed: int) -> list[_Made]:
        cp, card = self._card.cp, self._card
        grid, each = (card.units,), n * VECTOR_BYTES
        kernel = card.kernel(FILE, "shared_read")
        try:
            kernel.max_dynamic_shared_size_bytes = max(each, kernel.max_dynamic_shared_size_bytes)
        except cp.cuda.driver.CUDADriverError:
            size = show_binary(each)
            raise Cannot(f"memory/shared/read skipped: {size} is more than one block may have of it") from None
        sums = cp.zeros(grid[0], "uint32")
        expected = 4 * n * (n - 1) // 2 * passes * grid[0] % 2**32
        arguments = (cp.uint32(n), cp.int32(passes), sums)
        run = _call(kernel, grid, SHARED_THREADS, arguments, each)
        return [("shared memory read kernel", run, _Read(sums, expected))]

    def launch(self, level: str) -> Sequence[Kernel]:
        """device: a kernel after a kernel in a replayed graph; host: launched from Python one after another.

        kernel: a library's small kernels, each waiting for the one before: what a plain stack puts between products.
        """
        card = self._card
        if level == "kernel":
            return [self._small(card)]
        if level == "device":
            run, held = card.graph(self._empty, EMPTY_KERNELS), True
            unit = f"empty kernel, {EMPTY_KERNELS} of them in a replayed graph"
        else:
            run, held, unit = self._empties, False, "empty kernel, launched from Python back to back"
        inner = EMPTY_KERNELS
        return [Kernel(run, unit, lambda: 0.0, 0.0, inner=inner, setting=card.here, hosted=not held)]

    def _small(self, card: Card) -> Kernel:
        """What norms, rotary embeddings, activations, sums and cache writes are made of, on a few rows of a layer."""
        cp = card.cp
        with card.here():
            x, y, cached = (cp.full(SMALL_ROWS, 0.5, dtype=cp.float16) for _ in range(3))
            norms = cp.empty(SMALL_ROWS[0], dtype=cp.float32)
            squares = cp.ReductionKernel("T x", "float32 y", "float(x) * float(x)", "a + b", "y = a", "0", "squares")

        def run() -> None:
            squares(x, norms, axis=1)
            cp.multiply(x, x, out=y)
            cp.add(y, x, out=y)
            cp.tanh(y, out=y)
            cp.multiply(y, x, out=y)
            cp.copyto(cached, y)

        count = SMALL_KINDS * SMALL_TIMES
        unit = f"library kernels on {SMALL_ROWS[0]} x {SMALL_ROWS[1]} halves, {count} of them in a replayed graph"
        replayed = card.graph(run, SMALL_TIMES)
        return Kernel(replayed, unit, lambda: 0.0, 0.0, inner=count, setting=card.here, hosted=False)

    def _empty(self) -> None:
        self._card.kernel(FILE, "empty")((1,), (32,), ())

    def _empties(self) -> None:
        kernel = self._card.kernel(FILE, "empty")
        for _ in range(EMPTY_KERNELS):
            kernel((1,), (32,), ())

    def _checked(self, run: Callable[[], None], error: Callable[[], float]) -> float:
        with self._card.here():
            run()
            return error()


class Transfers:
    """Host memory to the device and back: pinned, pageable, and both directions at once."""

    WAYS = ("h2d", "d2h", "both", "h2d pageable", "d2h pageable")

    def __init__(self, card: Card) -> None:
        self._card = card

    def kernel(self, way: str, size_bytes: int) -> Kernel:
        """One transfer of `size_bytes` in each direction that `way` has. Raises Cannot for an unknown way."""
        cp, card = self._card.cp, self._card
        with card.here():
            pinned = not way.endswith("pageable")
            there = [cp.empty(size_bytes, "uint8") for _ in range(2)]
            here = [_host(cp, size_bytes, pinned=pinned) for _ in range(2)]
            side = cp.cuda.Stream(non_blocking=True)
            there[0][...], here[1][...] = 1, 2
        copy, stream = cp.cuda.runtime.memcpyAsync, card.stream
        kinds = cp.cuda.runtime.memcpyHostToDevice, cp.cuda.runtime.memcpyDeviceToHost

        def up(on: Any) -> None:
            copy(there[1].data.ptr, here[1].ctypes.data, size_bytes, kinds[0], on.ptr)

        def down(on: Any) -> None:
            copy(here[0].ctypes.data, there[0].data.ptr, size_bytes, kinds[1], on.ptr)

        def both(on: Any) -> None:
            side.wait_event(on.record())
            up(side)
            down(on)
            on.wait_event(side.record())

        act = both if way == "both" else (up if way.startswith("h2d") else down)

        def error() -> float:
            with card.here():
                act(stream)
                stream.synchronize()
                wrong = (int(there[1][-1]) != 2 and act is not down) or (int(here[0][-1]) != 1 and act is not up)
                return float(wrong)

        unit = "cudaMemcpyAsync, pinned" if pinned else "cudaMemcpyAsync, pageable"
        return Kernel(lambda: act(stream), unit, error, 0.0, setting=card.here, hosted=not pinned)


def _host(cp: Any, size: int, *, pinned: bool) -> Any:
    import numpy as np

    if not pinned:
        return np.zeros(size, np.uint8)
    memory = cp.cuda.alloc_pinned_memory(size)
    return np.frombuffer(memory, np.uint8, size)


def _call(kernel: Any, grid: tuple[int, ...], threads: int, arguments: tuple[Any, ...], shared: int = 0) -> Any:
    return lambda: kernel(grid, (threads,), arguments, shared_mem=shared)


def _vectors(id: str, size_bytes: float, parts: int) -> int:
    """How many vectors each of the equal parts of a set holds. Raises Cannot when it holds none."""
    n = int(size_bytes) // parts // VECTOR_BYTES
    if n < 1:
        said = f"{show_binary(size_bytes)} leave no {VECTOR_BYTES} B for each of its {parts} parts"
        raise Cannot(f"{id} skipped: {said}; choose a larger set")
    return n


def _fill(cp: Any, array: Any, seed: int) -> None:
    """Random normal float32 bits."""
    from rooflens.measure.backends.cuda_data import BLOCK, draw, runs

    block = draw(cp, min(array.size, BLOCK), seed).view("uint32")
    for start, count in runs(0, array.size, BLOCK):
        array[start : start + count] = block[:count]


def _wrapped_sum(array: Any) -> int:
    return int(array.sum(dtype="uint64")) % 2**32


def _sum_error(read: _Read) -> float:
    return float(_wrapped_sum(read.sums) != read.expected)


def _stream_error(cp: Any, access: str, arrays: Sequence[Any], sums: Any) -> float:
    """0 when every element is what the formula says; for triad the largest relative difference."""
    if access == "read":
        return _sum_error(_Read(sums, _wrapped_sum(arrays[0])))
    if access == "write":
        return float((arrays[0] != 0x3F800000).any())
    if access == "copy":
        return float((arrays[0] != arrays[1]).any())
    a, b, c = (x.view("float32")[: 2**26] for x in arrays)
    return float(cp.abs(a - (b + cp.float32(0.5) * c)).max())
