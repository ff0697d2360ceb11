"""One CUDA device under our hands: its stream, its compiled kernels, its graphs and its clock."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

FIRST_HOLD_S = 60e-6
MOST_HOLD_S = 0.05
NEGLIGIBLE = 0.005  # the first launch may wait for the host for so small a share of the time
MOST_TRIES = 6
MOST_REMEMBERED = 1000
OPTIONS = ("-std=c++17",)
_INCLUDE = re.compile(r'#include "([^"]+)"')


class Card:
    """A device and one stream on it; everything here runs in that stream."""

    def __init__(self, index: int) -> None:
        import cupy

        self.cp: Any = cupy
        self.index = index
        self.device = cupy.cuda.Device(index)
        self.device.use()  # what a process leaves `with device` for is taken hold of too: card 0, unless told otherwise
        with self.device:
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self._start, self._end = cupy.cuda.Event(), cupy.cuda.Event()
        self._kernels: dict[tuple[str, str], Any] = {}
        self._holds_s: dict[int, float] = {}  # by run: how long the queue must be held

    @property
    def units(self) -> int:
        """Streaming multiprocessors."""
        return int(self.device.attributes["MultiProcessorCount"])

    @property
    def cache_bytes(self) -> int:
        """The L2 as the driver shows it."""
        return int(self.device.attributes["L2CacheSize"])

    @property
    def shared_bytes(self) -> float:
        """Shared memory of one multiprocessor."""
        return float(self.device.attributes["MaxSharedMemoryPerMultiprocessor"])

    @contextmanager
    def here(self) -> Iterator[None]:
        """Makes this device and this stream current."""
        with self.device, self.stream:
            yield

    def kernel(self, file: str, name: str) -> Any:
        """A compiled kernel of a .cu file of this package; `name` may be a template with its arguments."""
        if (file, name) not in self._kernels:
            expressions = (name,) if "<" in name else None
            with self.device:
                module = self.cp.RawModule(code=source(file), options=OPTIONS, name_expressions=expressions)
                self._kernels[file, name] = module.get_function(name)
        return self._kernels[file, name]

    def graph(self, run: Callable[[], object], times: int = 1) -> Callable[[], None]:
        """`run` recorded `times` times as one CUDA graph; calling the result replays it."""
        with self.here():
            run()
            self.stream.synchronize()
            self.stream.begin_capture()
            try:
                for _ in range(times):
                    run()
            finally:
                graph = self.stream.end_capture()
            graph.upload(self.stream)
        return lambda: graph.launch(self.stream)

    def elapsed_s(self, run: Callable[[], object], calls: int = 1, *, held: bool = True) -> float:
        """Seconds between two events around `calls` runs.

        held: the queue waits behind a blocking kernel until all is enqueued, so that no launch from the host is
        timed; where it began too early, and waiting for the host is a share of the time that counts, it is filled again
        behind a longer one. Not held: as the host launches them.
        """
        for _ in range(MOST_TRIES):
            hold_s = self._holds_s.get(id(run), FIRST_HOLD_S)
            enqueued_s, took_s, early = self._timed(run, calls, hold_s if held else 0.0)
            fed = enqueued_s < took_s / 2 and enqueued_s / calls < NEGLIGIBLE * took_s
            if (early and not fed) or hold_s > max(FIRST_HOLD_S, 4 * enqueued_s):
                self._remember(run, max(FIRST_HOLD_S, min(MOST_HOLD_S, 2 * enqueued_s)))
            if not early or fed:
                break
        return took_s

    def _timed(self, run: Callable[[], object], calls: int, hold_s: float) -> tuple[float, float, bool]:
        """Seconds the host took to enqueue, seconds the device took, and whether it began before all was enqueued."""
        with self.here():
            if hold_s:
                self.kernel("stream.cu", "hold")((1,), (1,), (self.cp.uint64(hold_s * 1e9),))
            began = time.perf_counter()
            self._start.record(self.stream)
            for _ in range(calls):
                run()
            early = hold_s > 0 and self._start.done
            enqueued_s = time.perf_counter() - began
            self._end.record(self.stream)
            self._end.synchronize()
            return enqueued_s, float(self.cp.cuda.get_elapsed_time(self._start, self._end)) / 1e3, early

    def _remember(self, run: Callable[[], object], hold_s: float) -> None:
        if len(self._holds_s) > MOST_REMEMBERED:
            self._holds_s.clear()
        self._holds_s[id(run)] = hold_s

    def sync(self) -> None:
        """Wait for the stream."""
        self.stream.synchronize()

    def free_bytes(self) -> int:
        """Memory that can still be taken, what CuPy keeps for reuse given back first."""
        with self.device:
            self.cp.get_default_memory_pool().free_all_blocks()
            return int(self.device.mem_info[0])


@cache
def source(file: str) -> str:
    """A .cu file of this package, its own headers written in place of their include lines."""
    folder = files(__package__) / "cu"
    text = (folder / file).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: source(found[1]), text)
