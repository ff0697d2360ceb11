"""Time against size: latency + bytes / rate, the size where both are equal, and how few such lines tell all sizes.

A library sends short messages by a protocol of little latency and little rate, long ones by one of more of both, so
what is seen is the least of a few lines: each has a latency and a rate, and nothing else is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rooflens.arrays import dot
from rooflens.records import quantity, record

LEAST_POINTS = 3  # that a line must tell: two always lie on one
WORST = 0.05  # two lines only where a size lies further than this from what one says

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
    """One line where it tells every size within WORST, else that or two, whichever are nearer: short messages' first.

    Of one point or more.
    """
    ordered = sorted(points)
    one = (line(ordered),)
    if max(abs(error(one, point)) for point in ordered) <= WORST:
        return one
    return min([one, *_pairs(ordered)], key=lambda some: _squares(some, ordered))


def _pairs(points: Points) -> Iterator[tuple[Line, ...]]:
    """Every way to give short messages a line and long ones another, of more latency and more rate."""
    for cut in range(LEAST_POINTS, len(points) - LEAST_POINTS + 1):
        short, long = line(points[:cut]), line(points[cut:])
        if long.latency_s > short.latency_s and long.bytes_per_s > short.bytes_per_s:
            yield short, long


def _squares(some: Sequence[Line], points: Points) -> float:
    return sum(error(some, point) ** 2 for point in points)
