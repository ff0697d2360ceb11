"""Who answers questions: processes beside the one that speaks HTTP, so that several are answered at once.

Each can be killed when a question takes too long, and another takes its place. Without processes, as tests and small
machines have it, a thread answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from rooflens.errors import RooflensError
from rooflens.measure.processors import processors
from rooflens.records import encode
from rooflens.server.refusals import BROKEN as SAID_BROKEN
from rooflens.server.refusals import Refusal
from rooflens.server.worker import BAD, GOOD, LENGTH, answered

MOST_PROCESSES = 8
WAITING = 512  # questions; a page asks one at a time, so these are so many people
RETRY_S = 2
NICE = 10  # of processes whose questions take seconds: those of a drag go first
BUSY = "others are waiting for answers that take seconds; ask again in a moment"
TOO_LONG = "this was not answered within {seconds:g} s and was stopped; ask for less, or on the command line"


class Answers(Protocol):
    """Who answers."""

    @property
    def idle(self) -> bool:
        """Whether nobody waits."""

    async def ask(self, kind: str, asked: Any) -> bytes:
        """The JSON of an answer. Raises RooflensError where there is none, Refusal when too many ask."""

    async def open(self) -> None:
        """Begins, before somebody asks."""

    async def close(self) -> None:
        """Ends."""


class Here:
    """A thread of this process: pricing holds the interpreter, so more of them would only take turns."""

    def __init__(self) -> None:
        self.pool, self.waiting = ThreadPoolExecutor(1, "answers"), 0

    @property
    def idle(self) -> bool:
        """Whether nobody waits."""
        return not self.waiting

    async def ask(self, kind: str, asked: Any) -> bytes:
        """The JSON of an answer."""
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, answered, kind, asked)
        finally:
            self.waiting -= 1

    async def open(self) -> None:
        """Begins when it is asked."""

    async def close(self) -> None:
        """Ends."""
        self.pool.shutdown(wait=False, cancel_futures=True)


class Processes:
    """So many processes. seconds: the most that one question may take; waiting: the most questions that wait."""

    def __init__(self, count: int, seconds: float, *, waiting: int = WAITING, nice: int = 0) -> None:
        self.count, self.seconds, self.nice, self.most, self.waiting = count, seconds, nice, waiting + count, 0
        self._room, self._free = asyncio.Semaphore(count), list[asyncio.subprocess.Process]()
        self._all = set[asyncio.subprocess.Process]()
        self._running = set[asyncio.Task[bytes]]()

    @property
    def idle(self) -> bool:
        """Whether nobody waits."""
        return not self.waiting

    async def ask(self, kind: str, asked: Any) -> bytes:
        """The JSON of an answer. Raises RooflensError where there is none, Refusal when too many wait or in time."""
        if self.waiting >= self.most:
            raise Refusal(BUSY, 503, RETRY_S)
        self.waiting += 1
        task = asyncio.create_task(self._asked(json.dumps({"kind": kind, "asked": encode(asked)}).encode()))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)  # who goes away leaves an answer that others may want

    def _ended(self, task: asyncio.Task[bytes]) -> None:
        self.waiting -= 1
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # seen, whether or not somebody still waits

    async def _asked(self, question: bytes) -> bytes:
        async with self._room:
            child = self._free.pop() if self._free else await self._born()
            try:
                mark, body = await asyncio.wait_for(_exchange(child, question), self.seconds)
            except TimeoutError:
                await self._killed(child)
                raise Refusal(TOO_LONG.format(seconds=self.seconds)) from None
            except (OSError, asyncio.IncompleteReadError):
                await self._killed(child)
                raise Refusal(SAID_BROKEN.format(fault="a process ended"), 500) from None
            except asyncio.CancelledError:
                await self._killed(child)
                raise
            self._free.append(child)
        if mark == GOOD:
            return body
        raise RooflensError(body.decode()) if mark == BAD else Refusal(SAID_BROKEN.format(fault=body.decode()), 500)

    async def _born(self) -> asyncio.subprocess.Process:
        command = (sys.executable, "-m", "rooflens.server.worker")
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        self._all.add(child)
        if self.nice:
            with suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, child.pid, self.nice)
        return child

    async def _killed(self, child: asyncio.subprocess.Process) -> None:
        self._all.discard(child)
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()

    async def open(self) -> None:
        """Begins, so that nobody waits until a process has read its code."""
        while len(self._all) < self.count:
            self._free.append(await self._born())

    async def close(self) -> None:
        """Ends them all."""
        for task in list(self._running):
            task.cancel()
        for child in list(self._all):
            await self._killed(child)
        self._free.clear()


async def _exchange(child: asyncio.subprocess.Process, question: bytes) -> tuple[bytes, bytes]:
    """A question written, its answer read."""
    if child.stdin is None or child.stdout is None:
        raise OSError
    child.stdin.write(LENGTH.pack(len(question)) + question)
    await child.stdin.drain()
    mark = await child.stdout.readexactly(1)
    size = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))[0]
    return mark, await child.stdout.readexactly(size)


def processes() -> tuple[int, int]:
    """How many answer at once, and how many of those that take seconds: one a core, and half as many."""
    cores = processors()
    return min(cores, MOST_PROCESSES), max(1, min(cores // 2, MOST_PROCESSES // 2))
