"""Time against size: latency + bytes / rate, the size where both are equal, and how few such lines tell all sizes.

A library sends short messages by a protocol of little latency and little rate, long ones by one of more of both, so
what is seen is the least of a few lines: each has a latency and a rate, and nothing else is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from rooflens.arrays import dot
from rooflens.records import quantity, record

MOST_LINES = 2  # a protocol for short messages and one for long ones
LEAST_POINTS = 3  # that a line must tell: two always lie on one
WORST = 0.05  # one line more only where a size lies further than this from what the fewer say

Points = Sequence[tuple[float, float]]


@record
class Line:
    """Seconds that so many bytes take: latency_s + bytes / bytes_per_s."""

    latency_s: float = quantity("s")
    bytes_per_s: float = quantity("B/s")

    def time_s(self, bytes: float) -> float:
        """Of one size."""
        return self.latency_s + bytes / self.bytes_per_s

    @property
    def knee_bytes(self) -> float:
        """Where latency and bytes take as long: below it size is nearly free, above it nearly all that counts."""
        return self.latency_s * self.bytes_per_s


def least_s(lines: Sequence[Line], bytes: float) -> float:
    """Seconds of one size by the line that is fastest for it."""
    return min(line.time_s(bytes) for line in lines)


def error(lines: Sequence[Line], point: tuple[float, float]) -> float:
    """How far the lines are from one (bytes, seconds), relative to it."""
    return least_s(lines, point[0]) / point[1] - 1


def line(points: Points) -> Line:
    """The line through (bytes, seconds) with the least sum of squared relative errors; its latency is not below 0.

    With w = 1/t: minimises sum (w a + w n b - 1)^2 over a = latency and b = 1 / rate.
    """
    ones, sizes = [1 / t for _, t in points], [n / t for n, t in points]
    aa, ab, bb = dot(ones, ones), dot(ones, sizes), dot(sizes, sizes)
    a, b = sum(ones), sum(sizes)
    apart = aa * bb - ab * ab
    latency_s, each_s = ((a * bb - b * ab) / apart, (b * aa - a * ab) / apart) if apart > 0 else (0.0, b / bb)
    if latency_s < 0:
        latency_s, each_s = 0.0, b / bb
    if each_s <= 0:  # nothing but latency is seen: the rate is at least that of the largest
        return Line(a / aa, max(n for n, _ in points) / min(t for _, t in points))
    return Line(latency_s, 1 / each_s)


def lines(points: Points) -> tuple[Line, ...]:
    """As few lines as tell every size within WORST, the shortest messages' first; the best of MOST_LINES where none do.

    Raises ValueError without points.
    """
    ordered = sorted(points)
    best: tuple[Line, ...] = (line(ordered),)
    for count in range(1, MOST_LINES + 1):
        found = min(_split(ordered, count), key=lambda some: _squares(some, ordered), default=None)
        if found is not None and _squares(found, ordered) < _squares(best, ordered):
            best = found
        if max(abs(error(best, point)) for point in ordered) <= WORST:
            break
    return best


def _split(points: Points, count: int) -> Iterator[tuple[Line, ...]]:
    """Every way to give each run of sizes a line, of more latency and more rate than the one before."""
    for cuts in combinations(range(LEAST_POINTS, len(points) - LEAST_POINTS + 1), count - 1):
        ends = [0, *cuts, len(points)]
        parts = [points[a:b] for a, b in pairwise(ends)]
        if all(len(part) >= LEAST_POINTS for part in parts) or count == 1:
            found = tuple(line(part) for part in parts)
            if all(_above(b, a) for a, b in pairwise(found)):
                yield found


def _above(one: Line, other: Line) -> bool:
    return one.latency_s > other.latency_s and one.bytes_per_s > other.bytes_per_s


def _squares(some: Sequence[Line], points: Points) -> float:
    return sum(error(some, point) ** 2 for point in points)
