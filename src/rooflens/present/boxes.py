"""Plane geometry for labels: boxes, segments, and spreading a column. Pixels, y upwards; knows no drawing library."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rooflens.records import record

Segment = tuple[float, float, float, float]


@record
class Box:
    """An upright rectangle, x0 <= x1 and y0 <= y1."""

    x0: float
    y0: float
    x1: float
    y1: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Box:
        """The box of this size whose centre is (x, y)."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    @property
    def middle(self) -> tuple[float, float]:
        """The centre."""
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    def hits(self, other: Box) -> bool:
        """Whether the two share any area; touching edges do not count."""
        return self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1

    def within(self, other: Box) -> bool:
        """Whether no part of this box is outside the other."""
        return other.x0 <= self.x0 and self.x1 <= other.x1 and other.y0 <= self.y0 and self.y1 <= other.y1

    def grown(self, by: float) -> Box:
        """The box with every side moved out by so many pixels."""
        return Box(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def crossed(self, line: Segment) -> bool:
        """Whether the segment passes through the inside of the box: it meets the box, and not only from one side."""
        ax, ay, bx, by = line
        if (ax <= self.x0 and bx <= self.x0) or (ax >= self.x1 and bx >= self.x1):
            return False
        if (ay <= self.y0 and by <= self.y0) or (ay >= self.y1 and by >= self.y1):
            return False
        dx, dy = bx - ax, by - ay
        left, right = dx * (self.y0 - ay), dx * (self.y1 - ay)
        low, high = dy * (self.x0 - ax), dy * (self.x1 - ax)
        sides = (left - low, left - high, right - low, right - high)
        return min(sides) < 0 < max(sides) or dx == dy == 0


def crossing(a: Segment, b: Segment) -> bool:
    """Whether two segments cross properly; a shared end does not count."""
    return _side(a, b[0], b[1]) * _side(a, b[2], b[3]) < 0 and _side(b, a[0], a[1]) * _side(b, a[2], a[3]) < 0


def clip(line: Segment, box: Box) -> Segment | None:
    """The part of a segment inside a box; None when there is none."""
    ax, ay, bx, by = line
    enter, leave = 0.0, 1.0
    for start, delta, low, high in ((ax, bx - ax, box.x0, box.x1), (ay, by - ay, box.y0, box.y1)):
        if delta == 0:
            if not low <= start <= high:
                return None
            continue
        first, second = sorted(((low - start) / delta, (high - start) / delta))
        enter, leave = max(enter, first), min(leave, second)
    if enter >= leave:
        return None
    return ax + enter * (bx - ax), ay + enter * (by - ay), ax + leave * (bx - ax), ay + leave * (by - ay)


def spread(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Centres of a column of labels, top first, near the wanted ones (falling) but never overlapping.

    Least squares under "at least half of both sizes apart" (pool adjacent violators), then kept within low..high.
    When the sizes do not fit, the column starts at `high` and runs past `low`.
    """
    if not wanted:
        return []
    drop = [0.0]
    for above, below in pairwise(sizes):
        drop.append(drop[-1] + (above + below) / 2)
    pools: list[tuple[float, int]] = []
    for want, down in zip(wanted, drop, strict=True):
        mean, count = want + down, 1
        while pools and pools[-1][0] < mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    top, bottom = high - sizes[0] / 2, low + drop[-1] + sizes[-1] / 2
    held = [min(max(mean, bottom), top) for mean, count in pools for _ in range(count)]
    return [value - down for value, down in zip(held, drop, strict=True)]


def _side(line: Segment, x: float, y: float) -> float:
    ax, ay, bx, by = line
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax)
