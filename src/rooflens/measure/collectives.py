"""Collectives over several devices: every operation by size, called one by one and replayed from a graph.

A group of devices runs what it is told; here it is timed by the loop that times everything else. A group that gives no
answer in its time is ended, which is said, and the operations after it get a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

from rooflens.errors import RooflensError
from rooflens.measure.backend import Backend, Cannot, Kernel, Usage
from rooflens.measure.budget import Budget
from rooflens.measure.judge import own_faults, wrong_result
from rooflens.measure.loop import Rule, repeat
from rooflens.measure.options import Options, Progress, silent
from rooflens.records import record
from rooflens.roofline.collective import OPERATIONS, CollectivePoint, Launcher, Operation, called
from rooflens.roofline.profile import Gate
from rooflens.units import show_binary

SMALLEST, LARGEST = 1 << 10, 1 << 30
PART = 32  # bytes: parts of a message are whole multiples of this, eight numbers of four bytes
CHAIN, CHAIN_BYTES = 20, 1 << 28  # operations of one sample: so many, or so many bytes of them
POINT_S, QUICK_POINT_S = 0.15, 0.05
MOST_HANGS = 3
MOST_SAMPLES = 200


class Hung(RooflensError):
    """A group that gave no answer in its time, or lost one of its devices: it is of no more use."""


@record
class Joined:
    """What a group is: its library with its version, the link that carries it, how it can be started, what it sends."""

    library: str
    level: str | None
    launchers: tuple[Launcher, ...]
    dtype: str


class Members(Protocol):
    """Devices that work together, each in a process of its own or made up. `tell` prepares, `elapsed_s` runs."""

    devices: int
    joined: Joined

    def tell(self, operation: Operation, size_bytes: int, launcher: Launcher, calls: int) -> float:
        """Make ready `calls` of one operation as one run; returns the relative error of one run, checked by all.

        Raises Cannot for what the library does not do here, Hung when no answer comes.
        """

    def elapsed_s(self) -> float:
        """Seconds of one run of what was told, of the device that ended last. Raises Hung."""

    def close(self) -> None:
        """End every process of it."""


Start = Callable[[int], Members]


@record
class Collectives:
    """What was found. skipped: a sentence for each thing that was not measured."""

    points: tuple[CollectivePoint, ...] = ()
    gates: tuple[Gate, ...] = ()
    skipped: tuple[str, ...] = ()


def sizes(options: Options, largest: int = LARGEST) -> tuple[int, ...]:
    """1 KiB to 1 GiB by doubling, or each four times the one before."""
    step = 2 if options.quick else 1
    return tuple(SMALLEST << i for i in range(0, 21, step) if SMALLEST << i <= largest)


def groups(devices: int) -> tuple[int, ...]:
    """How many work together: 2, 4, 8 and on, and all of them."""
    return tuple(dict.fromkeys(n for n in (*(2**i for i in range(1, 11)), devices) if 2 <= n <= devices))


def measure_collectives(
    start: Start,
    backend: Backend,
    devices: int,
    options: Options,
    budget: Budget,
    progress: Progress = silent,
    *,
    largest: int = LARGEST,
) -> Collectives:
    """Every operation of every size over 2, 4, ... and all of `devices`, by every launcher of their group.

    start: a group of so many, the first of the machine. backend: whose clock, counters and state speak for the others.
    """
    kept = Collectives()
    counts = groups(devices)
    for number, count in enumerate(counts):
        told = _Told(start, backend, count, options, budget, sizes(options, largest))
        try:
            for operation, at in told.all():
                progress(f"{operation} over {count}", (number + at) / len(counts))
        finally:
            told.close()
        kept = Collectives(
            (*kept.points, *told.points), (*kept.gates, *told.gates), (*kept.skipped, *dict.fromkeys(told.skipped))
        )
    return kept


class _Told:
    """One group, or the next after one that hung, told everything in turn."""

    def __init__(
        self, start: Start, backend: Backend, count: int, options: Options, budget: Budget, wanted: Sequence[int]
    ) -> None:
        self._start, self._backend, self._count = start, backend, count
        self._options, self._budget = options, budget
        self._sizes = tuple(size - size % (PART * count) for size in wanted)
        self._group: Members | None = None
        self._pressure = backend.usage().pressure  # of the time before: later it is our own processes that wait
        self._hangs = 0
        self.points: list[CollectivePoint] = []
        self.gates: list[Gate] = []
        self.skipped: list[str] = []

    def all(self) -> Iterator[tuple[Operation, float]]:
        """Each operation before it is measured, with the share of all that is done."""
        for number, operation in enumerate(OPERATIONS):
            yield operation, number / len(OPERATIONS)
            self._one(operation)

    def close(self) -> None:
        """End the group that is left."""
        group, self._group = self._group, None
        if group is not None:
            group.close()

    def _one(self, operation: Operation) -> None:
        group = self._ready()
        for launcher in group.joined.launchers if group else ():
            group = self._ready()
            if group is None:
                return
            try:
                for size in self._sizes:
                    self._point(group, operation, size, launcher)
            except Cannot as reason:
                self.skipped.append(str(reason))
            except Hung as reason:
                self.skipped.append(f"{reason}; its larger sizes are left out")
                self._hangs += 1
                self.close()

    def _ready(self) -> Members | None:
        """The group that goes on, or a new one; None where there can be none."""
        if self._group is None and self._hangs < MOST_HANGS:
            try:
                self._group = self._start(self._count)
            except (Cannot, Hung) as reason:
                self.skipped.append(str(reason))
                self._hangs = MOST_HANGS
        return self._group

    def _point(self, group: Members, operation: Operation, size: int, launcher: Launcher) -> None:
        id = f"collective/{operation}/{group.devices}/{size}/{launcher}"
        if self._budget.over():
            self.skipped.append(f"collectives over {group.devices} devices skipped: the time budget was used up")
            return
        calls = max(1, min(CHAIN, CHAIN_BYTES // size))
        wrong = group.tell(operation, size, launcher, calls)
        joined = group.joined
        kernel = Kernel(
            run=lambda: None, unit=joined.library, error=lambda: wrong, tolerance=0.0, inner=calls, fills=False
        )
        limit_s = QUICK_POINT_S if self._options.quick else POINT_S
        timed = cast("Backend", _Timed(self._backend, group, self._pressure))
        run = repeat(timed, kernel, Rule(limit_s=limit_s, most=MOST_SAMPLES, warm_s=limit_s / 5), self._budget, id)
        reasons = [*wrong_result(wrong, 0.0), *own_faults(run)]
        self.gates.append(run.gate)
        self.points.append(
            CollectivePoint(
                operation,
                group.devices,
                float(size),
                run.median_s,
                run.best_s,
                joined.dtype,
                launcher,
                joined.library,
                joined.level,
                run.samples_s,
                trusted=not reasons,
                why_not="; ".join(reasons) or None,
            )
        )  # fmt: skip


class _Timed:
    """A backend whose runs are those of a group; clock and state are its own, and so is who else is on the device.

    Its other counters are those of this process, which only waits.
    """

    def __init__(self, backend: Backend, group: Members, pressure: float | None) -> None:
        self._backend, self._group, self._pressure = backend, group, pressure

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def usage(self) -> Usage:
        return Usage(self._backend.clock(), pressure=self._pressure, others=self._backend.usage().others)

    def elapsed_s(self, kernel: Kernel, calls: int) -> float:
        return sum(self._group.elapsed_s() for _ in range(calls))


def said(operation: Operation, size_bytes: float, launcher: Launcher) -> str:
    """What a group was told, in words."""
    return f"{operation} of {show_binary(size_bytes)}, {called(launcher)}"
