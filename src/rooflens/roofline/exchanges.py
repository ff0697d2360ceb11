"""From measured copies and collectives to the ceilings of a link, and to the lines that tell all sizes.

Of each operation, over the most devices that were measured together and replayed from a graph where that was possible:
`link/LEVEL/OPERATION` is the bus rate of its largest size, what long messages sustain. Its protocols, one for short
messages and one for long, are two pairs of ceilings, `link/LEVEL/OPERATION/short` with its rate and
`launch/link:LEVEL/OPERATION/short` with what one step waits, `.../long` the same: predictions take these. Short
messages go by the library's algorithm of the fewest steps, long ones by that of the fewest bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rooflens.operators.collectives import Group, Way, ways
from rooflens.records import quantity, record
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.collective import OPERATIONS, CollectivePoint, CopyPoint, Launcher, Operation, both_ways
from rooflens.roofline.knee import Line, error, lines
from rooflens.samples import median

LIBRARY_ALGORITHMS = ("ring", "tree")  # what NCCL and gloo have for sums, gathers and scatters
DIRECT = "one-shot"  # what goes from all to all is sent there directly
PROTOCOLS = ("short", "long")
LEAST_S = 1e-9  # a latency that was not seen is not 0


@record
class Fit:
    """The lines of one operation over so many devices, in bytes of one device's link; errors are relative.

    latency_s: of the shortest message. knee_bytes: of the message, where its first line's latency and bytes take as
    long. typical_error, worst_error: over the sizes it is made of.
    """

    operation: Operation
    devices: int
    launcher: Launcher
    lines: tuple[Line, ...]
    latency_s: float = quantity("s")
    knee_bytes: float = quantity("B")
    bus_bytes_per_s: float = quantity("B/s")
    typical_error: float
    worst_error: float


def usual_way(operation: str, every: Iterable[Way], protocol: str) -> Way | None:
    """The algorithm that a library takes for this protocol, of those that there are; between nodes also any of those.

    None where no library is known to have one of them.
    """
    wanted = (DIRECT,) if operation == "all-to-all" else LIBRARY_ALGORITHMS
    known = [way for way in every if way.algorithm.partition(" ")[0] in wanted]
    if protocol == "short":
        return min(known, key=lambda w: (w.link_steps + w.network_steps, w.link_bytes), default=None)
    return min(known, key=lambda w: (w.network_bytes, w.link_bytes, w.link_steps), default=None)


def fit(points: Sequence[CollectivePoint]) -> Fit:
    """The lines of points that differ in size alone."""
    first = points[0]
    seen = sorted((p.wire_bytes, p.time_s) for p in points)
    found = lines(seen)
    errors = [abs(error(found, point)) for point in seen]
    largest = max(points, key=lambda p: p.bytes)
    return Fit(
        first.operation, first.devices, first.launcher, found, seen[0][1],
        found[0].knee_bytes * first.bytes / first.wire_bytes, largest.bus_bytes_per_s, median(errors), max(errors),
    )  # fmt: skip


def fits(points: Iterable[CollectivePoint]) -> tuple[Fit, ...]:
    """Of every operation, group and launcher with a trusted figure of three sizes or more."""
    grouped: dict[tuple[int, str, str], list[CollectivePoint]] = {}
    for point in points:
        if point.trusted:
            grouped.setdefault((point.devices, point.operation, point.launcher), []).append(point)
    return tuple(fit(some) for some in grouped.values() if len(some) > 2)


def link_ceilings(points: Sequence[CollectivePoint]) -> tuple[Ceiling, ...]:
    """What the collectives of a machine sustain, and the rate and latency of their protocols."""
    found: list[Ceiling] = []
    every = fits(points)
    for operation in OPERATIONS:
        mine = [one for one in every if one.operation == operation]
        if mine:
            chosen = max(mine, key=lambda one: (one.devices, one.launcher == "graph"))
            found += _ceilings(chosen, [p for p in points if _of(p, chosen)])
    return tuple(found)


def copy_ceilings(points: Iterable[CopyPoint]) -> tuple[Ceiling, ...]:
    """The rate of each pair's largest copy, each way."""
    largest: dict[str, CopyPoint] = {}
    for point in points:
        if point.pair not in largest or point.bytes > largest[point.pair].bytes:
            largest[point.pair] = point
    return tuple(_copied(point) for point in largest.values())


def _copied(p: CopyPoint) -> Ceiling:
    note = "both directions at once; one direction's rate" if both_ways(p.pair) else None
    return Ceiling(
        f"link/{p.level}/{p.pair}", "link", p.bytes_per_s, "measured", level=p.level, access=p.pair,
        working_set_bytes=p.bytes, samples=tuple(p.bytes / s for s in p.samples_s), best=p.bytes / p.best_s,
        trusted=p.trusted, why_not=p.why_not, note=note,
    )  # fmt: skip


def protocols(machine: Machine, level: str | None, operation: str) -> dict[str, Line]:
    """What this operation was measured to cost on this link: rate, and what one step waits, by protocol."""
    found: dict[str, Line] = {}
    for protocol in PROTOCOLS if level else ():
        access = f"{operation}/{protocol}"
        rates = machine.find("link", level=level, access=access)
        waits = machine.find("launch", level=f"link:{level}", access=access)
        if rates and waits:
            found[protocol] = Line(waits[0].value, rates[0].value)
    return found


def _of(point: CollectivePoint, one: Fit) -> bool:
    return point.trusted and (point.operation, point.devices, point.launcher) == (
        one.operation, one.devices, one.launcher,
    )  # fmt: skip


def _ceilings(one: Fit, points: Sequence[CollectivePoint]) -> Iterator[Ceiling]:
    largest = max(points, key=lambda p: p.bytes)
    level, how = largest.level or "peer", "replayed from a graph" if one.launcher == "graph" else "called one by one"
    where = f"{one.operation} over {one.devices} devices, {how}"
    yield Ceiling(
        f"link/{level}/{one.operation}", "link", largest.bus_bytes_per_s, "measured", level=level, access=one.operation,
        working_set_bytes=largest.bytes, samples=tuple(largest.wire_bytes / s for s in largest.samples_s),
        source=largest.library, note=f"bus rate of {where}",
    )  # fmt: skip
    every = ways(one.operation, Group(one.devices))
    for protocol, line in zip(PROTOCOLS[-len(one.lines) :], one.lines, strict=True):
        way = usual_way(one.operation, every, protocol) or every[0]
        rate = line.bytes_per_s * way.link_bytes * largest.bytes / largest.wire_bytes
        access, note = f"{one.operation}/{protocol}", f"{way.algorithm}; fitted over {len(points)} sizes of {where}"
        yield Ceiling(
            f"link/{level}/{access}", "link", rate, "measured", level=level, access=access, source=largest.library,
            note=note,
        )  # fmt: skip
        yield Ceiling(
            f"launch/link:{level}/{access}", "launch", max(line.latency_s, LEAST_S) / way.link_steps, "measured",
            level=f"link:{level}", access=access, source=largest.library, note=note,
        )  # fmt: skip
