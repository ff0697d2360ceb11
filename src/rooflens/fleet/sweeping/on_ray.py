"""Shards by workers of a Ray cluster. They return their bytes and this process lands them: no disk is shared.

A worker that dies with its node, or gives nothing in time, is ended, and what it had in hand is priced elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from rooflens.errors import RooflensError
from rooflens.fleet.cluster import LOCAL, Joining, first_line, joined, last_line, ours
from rooflens.fleet.sweeping.crew import AHEAD, DIED, GO_ON, LATE, TRIES, Heap, Patience, Pricer, Worker
from rooflens.fleet.sweeping.folder import Folder
from rooflens.fleet.sweeping.shard import Work
from rooflens.records import record

WITHOUT_RAY = "leave --ray out: processes of this computer do the work"
LOOK_S = 1.0  # how often nodes that came or went are counted, and clocks read
QUIET_S = 10.0  # with no worker at all, until that is said
ALL_IN_USE = "the cluster's processors, {count}, are all in use by others or by workers being set up: waiting for one"
NONE_LEFT = "the cluster offers no processor any more: waiting for a node that does"

Noted = Callable[[str], None]


@record
class Asking:
    """What Ray is asked for. workers: of a Ray of its own. env: a runtime environment over ours."""

    address: str
    workers: int = 1
    env: Mapping[str, Any] | None = None
    patience: Patience = Patience()


def tasks(work: Work, folder: Folder, missing: Sequence[int], asking: Asking, noted: Noted) -> Generator[int]:
    """Each shard as it lands. noted: is told in a sentence what is waited for, and what is tried again.

    Raises RooflensError where Ray cannot be joined or has no processors, and for a shard that was tried too often.
    """
    brings = {"env_vars": {"OMP_NUM_THREADS": "1"}, **({} if asking.address == LOCAL else ours())}
    how = Joining(asking.address, WITHOUT_RAY, brings, asking.env or {}, "--ray-env", asking.workers)
    with joined(how) as ray:
        crew = Crew(ray, work, folder, missing, asking.patience, noted)
        try:
            yield from crew.landed(asking.address)
        except ray.exceptions.RayError as error:
            raise RooflensError(f"Ray gave up: {_said(ray, error)}; {GO_ON}") from None
        finally:
            crew.end()


class Crew:
    """The workers of one sweep, as many as the cluster has processors and there are shards."""

    def __init__(
        self, ray: Any, work: Work, folder: Folder, missing: Sequence[int], patience: Patience, noted: Noted
    ) -> None:
        self._ray, self._folder, self._patience, self._noted = ray, folder, patience, noted
        self._heap, self._workers, self._asked = Heap(missing), list[Worker](), dict[Any, Worker]()
        self._pricer, self._work = ray.remote(Pricer).options(num_cpus=1, scheduling_strategy="SPREAD"), ray.put(work)
        self._slowest_s: float | None = None
        self._stillborn, self._looked_s, self._alone_s, self._said = 0, 0.0, time.monotonic(), ""

    def landed(self, address: str) -> Generator[int]:
        """Each shard as it lands. Raises RooflensError at once for a cluster that has no processors."""
        if not processors(self._ray):
            raise RooflensError(
                f"no node of the Ray cluster at {address} offers a processor to Ray's tasks; add one that does "
                f"(ray start --address HOST:PORT --num-cpus N), or {WITHOUT_RAY}"
            )
        while self._heap.left or any(worker.hand for worker in self._workers):
            self._look()
            self._deal()
            for answer in self._ready():
                if answer in self._asked:  # not of a worker that was lost meanwhile
                    yield from self._heard(answer, self._asked.pop(answer))

    def end(self) -> None:
        """Ends all workers: this Ray may stay."""
        for worker in self._workers:
            self._ray.kill(worker.pricer)

    def _look(self) -> None:
        """Now and then: more workers where there are processors for them, and those that are late."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return
        self._looked_s = now_s
        limit_s = self._patience.limit_s(self._slowest_s)
        for worker in [one for one in self._workers if one.hand and now_s - one.since_s > limit_s]:
            self._lost(worker, LATE.format(time=f"{limit_s:g}"))
        there = processors(self._ray)
        wanted = min(there, len(self._heap.left) + sum(len(worker.hand) for worker in self._workers))
        for _ in range(wanted - len(self._workers)):
            worker = Worker(self._pricer.remote(self._work))
            self._workers.append(worker)
            self._asked[worker.hello] = worker
        self._wait(now_s, there)

    def _wait(self, now_s: float, there: int) -> None:
        """Says it when nobody is at work for a while, once."""
        if any(worker.node for worker in self._workers):
            self._alone_s, self._said = now_s, ""
        elif now_s - self._alone_s > QUIET_S:
            said = ALL_IN_USE.format(count=there) if there else NONE_LEFT
            if said != self._said:
                self._noted(said)
            self._said = said

    def _deal(self) -> None:
        """Shards to those who have few in hand; first to those who have none."""
        at_work = [worker for worker in self._workers if worker.node]
        nodes = {worker.node for worker in at_work}
        for count in range(AHEAD):
            for worker in (one for one in at_work if len(one.hand) == count):
                index = self._heap.pick(worker.node, nodes)
                if index is not None:
                    worker.take(index, time.monotonic())
                    self._asked[next(reversed(worker.hand))] = worker

    def _ready(self) -> list[Any]:
        """Answers that are there, waited for until the next look."""
        if not self._asked:
            time.sleep(LOOK_S)
            return []
        self._ray.wait(list(self._asked), num_returns=1, timeout=LOOK_S)
        found: list[Any] = self._ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)[0]
        return found

    def _heard(self, answer: Any, worker: Worker) -> Generator[int]:
        try:
            got = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, RooflensError) else error) from None
        except self._ray.exceptions.RuntimeEnvSetupError:
            raise
        except self._ray.exceptions.RayError as error:
            self._lost(worker, DIED.format(said=_said(self._ray, error).replace("; ", ", ")))
            return
        if answer == worker.hello:
            worker.node, self._stillborn = got, 0
            return
        index, took_s = worker.gave(answer, time.monotonic())
        self._slowest_s = max(took_s, self._slowest_s or 0.0)
        self._folder.land(index, got)
        yield index

    def _lost(self, worker: Worker, why: str) -> None:
        """Ends a worker. Its first shard was tried in vain, the others were not begun."""
        self._workers.remove(worker)
        self._ray.kill(worker.pricer)
        for answer in (worker.hello, *worker.hand):
            self._asked.pop(answer, None)
        first, *others = worker.hand.values() or [None]
        self._heap.back([index for index in others if index is not None])
        if first is not None:
            self._noted(self._heap.again(first, worker.node, why))
        self._stillborn += not worker.node
        if self._stillborn == TRIES:
            raise RooflensError(f"{TRIES} workers one after another did not come to life, the last: {why}; {GO_ON}")


def processors(ray: Any) -> int:
    """Whole processors that nodes offer now."""
    return sum(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])


def _said(ray: Any, error: BaseException) -> str:
    """What Ray says of an error, in a line: of one that carries a traceback, the last."""
    text = str(error)
    carries = isinstance(error, ray.exceptions.RayTaskError) or "Traceback" in text
    return last_line(text) if carries else first_line(text)
