"""Threads that stay, one a core: pinned where the system allows, woken in microseconds."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")


class Pool:
    """One worker for each of `cpus`; the caller is the first. A thread's pin is its own, and `pinned` undoes ours.

    Priorities are never touched.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        self.cpus = tuple(cpus)
        self._part: Callable[[int], object] | None = None
        self._failed: list[BaseException] = []
        self._start = [_taken() for _ in self.cpus[1:]]
        self._done = [_taken() for _ in self.cpus[1:]]
        for number in range(1, len(self.cpus)):
            threading.Thread(target=self._work, args=(number,), daemon=True, name=f"rooflens-{number}").start()

    def __len__(self) -> int:
        return len(self.cpus)

    def run(self, part: Callable[[int], object]) -> None:
        """`part(number)` on every worker at once; returns when all are done, raises what a worker raised."""
        self._part = part
        for lock in self._start:
            lock.release()
        try:
            part(0)
        finally:
            for lock in self._done:
                lock.acquire()
        if self._failed:
            raise self._failed.pop()

    def map(self, part: Callable[[int], T]) -> list[T]:
        """The results of `part` on every worker, in order."""
        results: dict[int, T] = {}

        def keep(number: int) -> None:
            results[number] = part(number)

        self.run(keep)
        return [results[number] for number in range(len(self))]

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """The calling thread on the first core, and back to where it was afterwards."""
        if not hasattr(os, "sched_setaffinity"):
            yield
            return
        before = os.sched_getaffinity(0)
        _pin(self.cpus[0])
        try:
            yield
        finally:
            with suppress(OSError):
                os.sched_setaffinity(0, before)

    def close(self) -> None:
        """End the workers."""
        self._part = None
        for lock in self._start:
            lock.release()
        self._start = self._done = []
        self.cpus = self.cpus[:1]

    def _work(self, number: int) -> None:
        _pin(self.cpus[number])
        start, done = self._start[number - 1], self._done[number - 1]
        while True:
            start.acquire()
            part = self._part
            if part is None:
                return
            try:
                part(number)
            except BaseException as error:  # noqa: BLE001  (handed to the caller, who waits for it)
                self._failed.append(error)
            finally:
                del part
                done.release()


def _taken() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _pin(cpu: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            os.sched_setaffinity(0, {cpu})
