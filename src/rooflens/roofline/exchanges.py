"""From measured copies and collectives to the ceilings of a link, and to the lines that tell all sizes.

Of each operation, over the most devices that were measured together and replayed from a graph where that was possible:
`link/LEVEL/OPERATION` is the bus rate of its largest size, what long messages sustain. Its protocols, one for short
messages and one for long, are two pairs of ceilings, `link/LEVEL/OPERATION/short` with its rate and
`launch/link:LEVEL/OPERATION/short` with what one step waits, `.../long` the same: predictions take these. Those of
fewer devices have their count behind (`.../short/2`). Short messages go by the library's algorithm of the fewest steps,
long ones by that of the fewest bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rooflens.operators.collectives import Group, Way, ways
from rooflens.records import quantity, record, replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.collective import (
    OPERATIONS,
    CollectivePoint,
    CopyPoint,
    Launcher,
    Operation,
    both_ways,
    called,
)
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
    """What the collectives of a machine sustain, and the rate and latency of their protocols, most devices first."""
    found: list[Ceiling] = []
    groups: dict[Operation, dict[int, Fit]] = {name: {} for name in OPERATIONS}
    for one in sorted(fits(points), key=lambda one: (-one.devices, one.launcher != "graph")):
        groups[one.operation].setdefault(one.devices, one)
    for mine in groups.values():
        for place, one in enumerate(mine.values()):
            some = [p for p in points if _of(p, one)]
            found += [*([] if place else [_sustained(one, some)]), *_protocols(one, some, of_all=not place)]
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


def protocols(machine: Machine, level: str | None, operation: str, devices: int) -> dict[str, tuple[Ceiling, Ceiling]]:
    """What this operation was measured to cost on this link, by protocol: its rate, and what one step waits.

    Of as many devices, else of the next larger group that was measured, else of the largest. A rate that a person
    assumes for the link stands for that of every protocol.
    """
    found: dict[str, tuple[Ceiling, Ceiling]] = {}
    group = measured_group(machine, level, operation, devices)
    for protocol in PROTOCOLS:
        access = f"{operation}/{protocol}"
        waits = [c for c in machine.find("launch", level=f"link:{level}", access=access) if c.devices == group]
        rates = [c for c in machine.find("link", level=level, access=access) if c.devices == group]
        if waits:
            found[protocol] = (rates[0] if rates else machine.the_link(level), waits[0])
    return found


def measured_group(machine: Machine, level: str | None, operation: str, devices: int) -> int | None:
    """Of how many devices `protocols` are; None where nobody measured them, or nobody said of how many."""
    waits = machine.find("launch", level=f"link:{level}")
    sizes = {c.devices for c in waits if c.devices and (c.access or "").partition("/")[0] == operation}
    return min((n for n in sizes if n >= devices), default=max(sizes, default=None))


def with_groups(ceilings: Iterable[Ceiling], points: Iterable[CollectivePoint]) -> tuple[Ceiling, ...]:
    """The ceilings, those of protocols with their devices: files from before that was written have only the most."""
    most: dict[str, int] = {}
    for p in points:
        most[p.operation] = max(p.devices, most.get(p.operation, 0))

    def said(c: Ceiling) -> Ceiling:
        operation = (c.access or "").partition("/")[0]
        return replace(c, devices=most.get(operation)) if c.fitted and c.devices is None else c

    return tuple(said(c) for c in ceilings)


def _of(point: CollectivePoint, one: Fit) -> bool:
    return point.trusted and (point.operation, point.devices, point.launcher) == (
        one.operation, one.devices, one.launcher,
    )  # fmt: skip


def _sustained(one: Fit, points: Sequence[CollectivePoint]) -> Ceiling:
    largest = max(points, key=lambda p: p.bytes)
    level = largest.level or "peer"
    return Ceiling(
        f"link/{level}/{one.operation}", "link", largest.bus_bytes_per_s, "measured", level=level, access=one.operation,
        working_set_bytes=largest.bytes, samples=tuple(largest.wire_bytes / s for s in largest.samples_s),
        source=largest.library, note=f"bus rate of {_where(one)}",
    )  # fmt: skip


def _protocols(one: Fit, points: Sequence[CollectivePoint], *, of_all: bool) -> Iterator[Ceiling]:
    """of_all: whether these are the most devices, whose names need no count."""
    first = points[0]
    level, every = first.level or "peer", ways(one.operation, Group(one.devices))
    for protocol, line in zip(PROTOCOLS[-len(one.lines) :], one.lines, strict=True):
        way = usual_way(one.operation, every, protocol) or every[0]
        access, note = (
            f"{one.operation}/{protocol}",
            f"{way.algorithm}; fitted over {len(points)} sizes of {_where(one)}",
        )
        id = access if of_all else f"{access}/{one.devices}"
        rate = line.bytes_per_s * way.link_bytes * first.bytes / first.wire_bytes
        yield Ceiling(
            f"link/{level}/{id}", "link", rate, "measured", level=level, access=access, source=first.library,
            note=note, devices=one.devices,
        )  # fmt: skip
        yield Ceiling(
            f"launch/link:{level}/{id}", "launch", max(line.latency_s, LEAST_S) / way.link_steps, "measured",
            level=f"link:{level}", access=access, source=first.library, note=note, devices=one.devices,
        )  # fmt: skip


def _where(one: Fit) -> str:
    return f"{one.operation} over {one.devices} devices, {called(one.launcher)}"
