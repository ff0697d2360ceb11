"""A profile with its links: copies between every two devices, collectives over several, and what both promise.

Measured by the floor that has the clock, set against what the tools say: links x the stated rate of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rooflens.errors import told
from rooflens.health.judged import chips_of
from rooflens.health.routes import route
from rooflens.measure.backend import Backend
from rooflens.measure.budget import Budget
from rooflens.measure.collectives import LARGEST, Collectives, Start, measure_collectives
from rooflens.measure.links import Copies, measure_copies
from rooflens.measure.options import Options, Progress, silent
from rooflens.records import replace
from rooflens.roofline.across import BEHIND
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.collective import CopyPoint, both_ways, pair_of
from rooflens.roofline.exchanges import copy_ceilings, link_ceilings
from rooflens.roofline.node import Node
from rooflens.roofline.profile import Profile
from rooflens.samples import median
from rooflens.units import percent, show

COPIES_PART = 0.3  # of the time that links take
PROMISED = "promised"
LARGEST_LOOPBACK = 1 << 26
LEAST_S = 1e-3  # a budget that is used up says so at the first size


def with_links(
    profile: Profile,
    make: Callable[[int], Backend],
    start: Start,
    numbers: Sequence[int],
    options: Options,
    progress: Progress = silent,
) -> Profile:
    """The profile of one device with the links between all of them. make: a backend from its number.

    start: a group of so many. On a processor there are no copies between devices, only between processes.
    """
    if len(numbers) < 2:
        said = f"links between devices skipped: there is {len(numbers)} device here, and two or more are joined"
        return replace(profile, skipped=(*profile.skipped, said))
    copies = Copies()
    if profile.device.kind == "gpu":
        part_s = options.budget_s and COPIES_PART * options.budget_s
        copies = measure_copies(make, numbers, options, part_s, lambda n, f: progress(n, COPIES_PART * f))
    rest = replace(options, budget_s=options.budget_s and max(LEAST_S, options.budget_s - copies.took_s))
    found, took_s = _collectives(
        profile,
        make(numbers[0]),
        start,
        len(numbers),
        rest,
        lambda n, f: progress(n, COPIES_PART + (1 - COPIES_PART) * f),
    )
    return joined(profile, copies, found, numbers, copies.took_s + took_s)


def _collectives(
    profile: Profile, backend: Backend, start: Start, count: int, options: Options, progress: Progress
) -> tuple[Collectives, float]:
    """Those over so many devices, and the seconds they took; copies stay, whatever goes wrong with them."""
    largest = LARGEST if profile.device.kind == "gpu" else LARGEST_LOOPBACK
    began_s = backend.clock()
    try:
        budget = Budget(backend.clock, options.budget_s)
        found = measure_collectives(start, backend, count, options, budget, progress, largest=largest)
    except Exception as error:  # noqa: BLE001  (whatever a driver raises here must not cost the copies)
        found = Collectives(skipped=(f"collectives skipped: {told(error)}",))
    finally:
        took_s = backend.clock() - began_s
        backend.close()
    return found, took_s


def joined(
    profile: Profile, copies: Copies, found: Collectives, numbers: Sequence[int], took_s: float = 0.0
) -> Profile:
    """The profile with these copies and collectives, their ceilings, and what is odd about them."""
    link = next((p.level for p in found.points if p.level), None) or next((p.level for p in copies.points), None)
    own = {c.id for c in profile.ceilings}
    new = [c for c in (*copy_ceilings(copies.points), *link_ceilings(found.points)) if c.id not in own]
    rate = promised(profile.node, numbers)
    new_promise = (
        [Ceiling(f"link/{link}/{PROMISED}", "link", rate, "derived", level=link, access=PROMISED, note="one direction")]
        if rate and link
        else []
    )
    return replace(
        profile,
        ceilings=(*profile.ceilings, *new, *new_promise),
        copies=copies.points,
        collectives=found.points,
        gates=(*profile.gates, *copies.gates, *found.gates),
        notes=(*profile.notes, *copies.notes, *odd(profile.node, copies.points)),
        skipped=tuple(dict.fromkeys((*profile.skipped, *copies.skipped, *found.skipped))),
        duration_s=profile.duration_s + took_s,
    )


def promised(node: Node | None, numbers: Sequence[int]) -> float | None:
    """Byte/s that the links of the least device carry in one direction to the others: links x the stated rate of one.

    How many links: by the tools. The rate of one: as its maker states it, as `fleet report` and `doctor` say it, since
    what the tools of an NVLink show is its signal, coding and all (26.562 GB/s of the 25 of an H200); theirs where the
    chip is not known. Over PCIe: lanes x lane rate of the slowest device. None where the tools do not say.
    """
    gpus = [gpu.index for gpu in (node.gpus if node else None) or () if gpu.index in numbers]
    return route(node, chips_of(node), gpus).bytes_per_s if node and len(gpus) > 1 else None


def promised_of(profile: Profile) -> float | None:
    """The same of a profile's copies as they are read now, else as it was written there."""
    written = next((c.value for c in profile.ceilings if c.access == PROMISED), None)
    return promised(profile.node, [n for p in profile.copies for n in pair_of(p.pair) or ()]) or written


def odd(node: Node | None, copies: Sequence[CopyPoint] = ()) -> Iterator[str]:
    """What whoever reads the figures must know: links that are down, devices that differ, a pair behind the others."""
    gpus = (node.gpus if node else None) or ()
    for gpu in gpus:
        down = [port for port in gpu.ports or () if port.bytes_per_s == 0]
        if down and gpu.ports:
            yield f"device {gpu.index}: {len(down)} of {len(gpu.ports)} NVLinks are down; all that goes to it waits"
    names = dict.fromkeys(gpu.name for gpu in gpus if gpu.name)
    if len(names) > 1:
        yield f"the devices differ ({', '.join(names)}): collectives go at the pace of the slowest"
    yield from behind(copies)


def behind(copies: Sequence[CopyPoint]) -> Iterator[str]:
    """A sentence for each pair whose largest copy is slower than those of the pairs that are joined alike."""
    largest = max((p.bytes for p in copies), default=0.0)
    for both in (False, True):
        alike: dict[str, list[CopyPoint]] = {}
        for p in copies:
            if p.bytes == largest and both_ways(p.pair) == both:
                alike.setdefault(p.level, []).append(p)
        for level, points in alike.items():
            usual = median(p.bytes_per_s for p in points)
            for p in points:
                if p.bytes_per_s < BEHIND * usual:
                    rate, share = show(p.bytes_per_s, "B/s"), percent(p.bytes_per_s / usual)
                    yield f"{p.pair} copies {rate} over {level}, {share} of the median of {len(points)} pairs"
