"""Shards by processes of this computer. A worker that dies is replaced; one whose parent dies ends by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Sequence
from multiprocessing import connection, get_context
from typing import Any

from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.folder import Folder
from rooflens.fleet.sweeping.shard import Work, shard
from rooflens.records import record

TRIES = 3  # of one shard, by workers that die


@record
class Worker:
    """One process and the line to it."""

    process: Any
    line: Any


def here(work: Work, folder: Folder, missing: Sequence[int]) -> Generator[int]:
    """Each shard as it lands, priced in this process."""
    for index in missing:
        folder.land(index, shard(work, index))
        yield index


def processes(work: Work, folder: Folder, missing: Sequence[int], workers: int) -> Generator[int]:
    """Each shard as it lands, priced by so many processes. Raises RooflensError when workers die again and again."""
    left, tried = list(reversed(missing)), dict.fromkeys(missing, 0)
    busy: dict[Worker, int] = {}
    idle = [_started(work, folder) for _ in range(min(workers, len(left)))]
    try:
        while left or busy:
            while left and idle:
                index, worker = left.pop(), idle.pop()
                tried[index] += 1
                worker.line.send(index)
                busy[worker] = index
            for worker in _heard(busy):
                index = busy.pop(worker)
                if _landed(worker):
                    idle.append(worker)
                    yield index
                    continue
                if tried[index] == TRIES:
                    raise RooflensError(
                        f"workers died {TRIES} times over shard {index}, killed by the system; was there too little "
                        "memory? What landed is whole: try again with fewer --workers"
                    )
                left.append(index)
                idle.append(_started(work, folder))
    finally:
        _ended([*idle, *busy])


def _started(work: Work, folder: Folder) -> Worker:
    """A worker; spawned, since threads of a library do not survive a fork."""
    spawned = get_context("spawn")
    mine, theirs = spawned.Pipe()
    process = spawned.Process(target=_serve, args=(theirs, work, folder), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, mine)


def _heard(busy: dict[Worker, int]) -> list[Worker]:
    ready = set(connection.wait([worker.line for worker in busy]))
    return [worker for worker in busy if worker.line in ready]


def _landed(worker: Worker) -> bool:
    """Whether the shard landed; False when the worker died. Raises what the worker raised."""
    try:
        said = worker.line.recv()
    except (EOFError, OSError):
        worker.process.join()
        return False
    if said is not None:
        raise said
    return True


def _ended(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.line.close()
        worker.process.terminate()
    for worker in workers:
        worker.process.join()


def _serve(line: Any, work: Work, folder: Folder) -> None:
    """What a worker does until its parent has no more, or is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends its workers
    os.environ["OMP_NUM_THREADS"] = "1"
    while True:
        try:
            index = line.recv()
        except (EOFError, OSError):
            return
        said: Exception | None = None
        try:
            folder.land(index, shard(work, index))
        except RooflensError as error:
            said = error
        try:
            line.send(said)
        except OSError:
            return
