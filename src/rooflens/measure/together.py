"""All devices of a machine at once: each in a process of its own, all of them at the same stage.

Power, cooling, host memory and links of a box are shared; a device measured alone does not show it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import BrokenBarrierError, Thread
from typing import Any

from rooflens.errors import RooflensError, told
from rooflens.measure.backend import Backend
from rooflens.measure.budget import Budget
from rooflens.measure.links import PEER_WAYS, measure_peer
from rooflens.measure.options import Options, Progress, silent
from rooflens.measure.run import measure
from rooflens.records import decode, encode, replace
from rooflens.roofline.across import Across
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Profile
from rooflens.units import percent

STEP_S = 120.0  # a device waits no longer than this for the others
SILENT_S = 600.0  # no stage takes as long; who says nothing for this long hangs, and the others' figures are kept
ENDED_S = 5.0
Make = Callable[[int], Backend]


def measure_together(
    make: Make,
    names: Mapping[int, str],
    options: Options,
    progress: Progress = silent,
    silent_s: float = SILENT_S,
) -> tuple[dict[str, Profile], tuple[str, ...]]:
    """Profiles by name of all devices that could be measured, and a sentence for each that could not.

    make: a backend from its number; it is called in the device's own process, so it must be importable.
    silent_s: who says nothing for this long is given up.
    """
    context = get_context("spawn")
    barrier = context.Barrier(len(names))
    own = replace(options, peers=False)
    ends: dict[Any, str] = {}
    workers = []
    for number, name in names.items():
        here, there = context.Pipe(duplex=False)
        ends[here] = name
        workers.append(context.Process(target=_work, args=(make, number, own, barrier, there), daemon=True))
        workers[-1].start()
        there.close()
    try:
        return _gathered(ends, next(iter(names.values())), progress, silent_s)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(ENDED_S)
            if worker.is_alive():  # one that hangs in its driver cannot be ended, and is not waited for
                worker.kill()


def across(profiles: Mapping[str, Profile]) -> tuple[Across, ...]:
    """Every ceiling that at least two devices have a trusted figure of."""
    found: dict[str, dict[str, Ceiling]] = {}
    for name, profile in profiles.items():
        for c in profile.ceilings:
            if c.origin == "measured" and c.trusted and c.value > 0:
                found.setdefault(c.id, {})[name] = c
    several = ((id, by_name) for id, by_name in found.items() if len(by_name) > 1)
    return tuple(
        Across(id, next(iter(by_name.values())).unit, {name: c.value for name, c in by_name.items()})
        for id, by_name in several
    )


def not_compared(profiles: Mapping[str, Profile]) -> tuple[str, ...]:
    """A sentence for each device with refused figures, and the reason of most of them; first one if none is left."""
    found = []
    if not across(profiles):
        found.append("nothing can be compared across devices: no ceiling has a trusted figure of two of them")
    for name, profile in profiles.items():
        taken = [c for c in profile.ceilings if c.origin == "measured"]
        reasons = Counter(c.why_not or "no reason given" for c in taken if not c.trusted)
        if reasons:
            why, said = reasons.most_common(1)[0][0], f"{reasons.total()} of {len(taken)}"
            found.append(f"{name}: {said} figures taken beside the others are not trusted, most of them: {why}")
    return tuple(found)


def other_pairs(make: Make, own: int, numbers: Sequence[int], options: Options) -> Iterator[Ceiling]:
    """Copies between all pairs that `own` is not part of, one pair at a time."""
    for number in numbers:
        if number == own:
            continue
        backend = make(number)
        try:
            budget = Budget(backend.clock)
            for pair in backend.peers():
                if own not in pair and pair[0] < pair[1]:
                    yield from (measure_peer(backend, pair, way, options, budget)[0] for way in PEER_WAYS)
        finally:
            backend.close()


def _gathered(
    ends: dict[Any, str], first: str, progress: Progress, silent_s: float
) -> tuple[dict[str, Profile], tuple[str, ...]]:
    profiles: dict[str, Profile] = {}
    failed: list[str] = []
    stages: dict[str, str] = {}
    while ends:
        heard = wait(list(ends), silent_s)
        for ready in heard:
            end: Any = ready
            name = ends[end]
            kind, said = _received(end)
            if kind == "progress":
                stages[name] = said[0]
                if name == first:
                    progress(f"all devices: {said[0]}", said[1])
            if kind == "done":
                profiles[name] = decode(Profile, said, name)
            if kind == "failed":
                failed.append(f"{name} was not measured beside the others: {said}")
            if kind in ("done", "failed"):
                del ends[end]
        if not heard:
            failed += [_hung(name, stages.get(name, "its start"), silent_s) for name in ends.values()]
            break
    return dict(sorted(profiles.items())), tuple(failed)


def _hung(name: str, stage: str, silent_s: float) -> str:
    return f"{name} was not measured beside the others: it hangs, nothing came for {silent_s:g} s after {stage}"


def _received(end: Any) -> tuple[str, Any]:
    try:
        kind, said = end.recv()
    except EOFError:
        return "failed", "its process ended without a word"
    return kind, said


def _work(make: Make, number: int, options: Options, barrier: Any, end: Connection) -> None:
    """In a device's own process: measures in step with the others and sends what it found."""
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        backend = make(number)
        try:
            end.send(("done", encode(measure(backend, options, _in_step(barrier, end)))))
        finally:
            backend.close()
    except RooflensError as error:
        barrier.abort()
        end.send(("failed", str(error)))
    except Exception as error:  # noqa: BLE001  (whatever ends this process must be said in the other)
        barrier.abort()
        end.send(("failed", told(error)))
    finally:
        end.close()


def _end_with_parent() -> None:
    """The parent holds the lock of this machine: nobody of it may go on measuring when that is gone."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _in_step(barrier: Any, end: Connection) -> Progress:
    """Waits before each stage until all devices are there; when one has gone, the others go on without waiting."""

    def progress(name: str, fraction: float) -> None:
        end.send(("progress", (name, fraction)))
        try:
            barrier.wait(STEP_S)
        except BrokenBarrierError:
            return

    return progress


def with_all(
    profile: Profile, profiles: Mapping[str, Profile], failed: Sequence[str], pairs: Sequence[Ceiling]
) -> Profile:
    """A device's profile with what all devices did at once, each one's own, and the links that it is not part of."""
    compared = across(profiles)
    slow = [
        f"{a.slowest} is the slowest of {len(a.values)} in {a.id}: {percent(a.share(a.slowest))} of the median"
        for a in compared
        if a.behind
    ]
    return replace(
        profile,
        across=compared,
        together=dict(profiles),
        ceilings=(*profile.ceilings, *pairs),
        notes=(*profile.notes, *slow),
        skipped=(*profile.skipped, *failed, *not_compared(profiles)),
        duration_s=profile.duration_s + max((p.duration_s for p in profiles.values()), default=0.0),
    )
