"""A group of devices, each in a process of its own that is told what to do, within a time.

NCCL waits for ever for a device that does not come: only a process can be ended then, so every device has its own, and
this one only asks and waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from rooflens.errors import RooflensError, told
from rooflens.measure.backend import Cannot
from rooflens.measure.collectives import Hung, Joined, said
from rooflens.roofline.collective import Launcher, Operation

JOIN_S = 90.0  # for libraries to load and devices to find each other
ANSWER_S = 30.0
LEAVE_S = 3.0


class Member(Protocol):
    """One device of a group, in its own process. Every member is told the same at the same time."""

    def ticket(self) -> Any:
        """What the others need to find this one, the first; picklable."""

    def join(self, ticket: Any) -> Joined:
        """Meet the others. Raises Cannot."""

    def tell(self, operation: Operation, size_bytes: int, launcher: Launcher, calls: int) -> float:
        """See Members.tell."""

    def elapsed_s(self) -> float:
        """Seconds of one run here."""

    def leave(self) -> None:
        """Give back what was taken."""


Make = Callable[[int, int], Member]


class Crew:
    """The first `devices` devices of this machine, as Members. make(rank, devices) is called in each one's process.

    Raises Cannot when no member can start, Hung when they do not find each other in `join_s`.
    """

    def __init__(
        self, make: Make, devices: int, what: str = "devices", join_s: float = JOIN_S, answer_s: float = ANSWER_S
    ) -> None:
        self.devices = devices
        self._answer_s, self._what = answer_s, what
        self._ends: list[Any] = []
        self._workers: list[Any] = []
        self._last = "joining"
        context = get_context("spawn")
        for rank in range(devices):
            here, there = context.Pipe()
            self._ends.append(here)
            self._workers.append(context.Process(target=_work, args=(make, rank, devices, there), daemon=True))
            self._workers[-1].start()
            there.close()
        try:
            self._asked("ready", within_s=join_s)
            ticket = self._asked("ticket", first_only=True, within_s=join_s)[0]
            self.joined: Joined = self._asked("join", ticket, within_s=join_s)[0]
        except RooflensError:
            self.close()
            raise

    def tell(self, operation: Operation, size_bytes: int, launcher: Launcher, calls: int) -> float:
        """See Members.tell."""
        self._last = said(operation, size_bytes, launcher)
        return max(float(e) for e in self._asked("tell", operation, size_bytes, launcher, calls))

    def elapsed_s(self) -> float:
        """See Members.elapsed_s."""
        return max(float(s) for s in self._asked("elapsed_s"))

    def close(self) -> None:
        """Ask all to leave, then end those that have not."""
        end = time.monotonic() + LEAVE_S
        for here in self._ends:
            try:
                here.send(("leave",))
            except OSError:
                continue
        for worker in self._workers:
            worker.join(max(0.0, end - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join(LEAVE_S)
        for here in self._ends:
            here.close()
        self._ends, self._workers = [], []

    def _asked(self, *told: Any, first_only: bool = False, within_s: float | None = None) -> list[Any]:
        """The answers of all members, or of the first alone, in their order."""
        asked = self._ends[:1] if first_only else self._ends
        for rank, here in enumerate(asked):
            try:
                here.send(told)
            except OSError:
                raise Hung(self._gone(rank)) from None
        limit_s = within_s or self._answer_s
        answers: dict[int, tuple[str, Any]] = {}
        end = time.monotonic() + limit_s
        while len(answers) < len(asked):
            left = [here for rank, here in enumerate(asked) if rank not in answers]
            ready = wait(left, max(0.0, end - time.monotonic()))
            if not ready:
                break
            for here in ready:
                rank = asked.index(here)
                answers[rank] = self._answer(rank, here)
                if answers[rank][0] != "done":  # the others may now wait for ever
                    end = min(end, time.monotonic() + LEAVE_S)
        return self._judged(answers, len(asked), limit_s)

    def _judged(self, answers: dict[int, tuple[str, Any]], asked: int, limit_s: float) -> list[Any]:
        """What all found. Raises Cannot where all say why not, Hung where they do not agree or do not answer."""
        reasons = [said for kind, said in answers.values() if kind != "done"]
        if reasons:
            alike = len(answers) == asked and all(kind == "cannot" for kind, _ in answers.values())
            raise Cannot(reasons[0]) if alike else Hung(reasons[0])
        if len(answers) < asked:
            raise Hung(f"{self.devices} {self._what}: {self._last} gave no answer within {limit_s:g} s and was ended")
        return [answers[rank][1] for rank in range(asked)]

    def _answer(self, rank: int, here: Any) -> tuple[str, Any]:
        try:
            kind, found = here.recv()
        except (EOFError, OSError):
            return "lost", self._gone(rank)
        return kind, found

    def _gone(self, rank: int) -> str:
        return f"{self.devices} {self._what}: the process of number {rank} ended without a word at {self._last}"


def _work(make: Make, rank: int, devices: int, end: Connection) -> None:
    """In a member's own process: does what it is told until it may leave."""
    member: Member | None = None
    while True:
        try:
            name, *values = end.recv()
        except (EOFError, OSError):
            return
        try:
            if name == "leave":
                if member is not None:
                    member.leave()
                return
            if name == "ready":
                member = make(rank, devices)
                end.send(("done", None))
            else:
                end.send(("done", getattr(member, name)(*values)))
        except RooflensError as error:
            end.send(("cannot", str(error)))
        except Exception as error:  # noqa: BLE001  (each library raises its own; the other process must hear of it)
            end.send(("lost", f"device {rank} of {devices}: {told(error)}"))
