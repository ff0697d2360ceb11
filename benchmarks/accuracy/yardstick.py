"""The product and its table-driven peer on the public sample, point by point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.accuracy import silicon
from benchmarks.accuracy.rows import Row
from benchmarks.accuracy.silicon import Point
from rooflens.catalogue.calibrations import ServedConstants
from rooflens.errors import RooflensError
from rooflens.prediction.served import Served
from rooflens.records import record


@record
class Said:
    """One point: seconds measured, expected, at the floor, and the interval. seen: whether its chip was fitted on."""

    point: Point
    measured_s: float
    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    seen: bool

    @property
    def ratio(self) -> float:
        """Expected over measured."""
        return self.time_s / self.measured_s

    @property
    def inside(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.low_s <= self.measured_s <= self.high_s


def scored(fitted: Sequence[Row]) -> tuple[list[Point], list[Point]]:
    """The points of the sample that are scored, and those that have no price. Raises for one that was fitted."""
    unseen = silicon.unseen(silicon.sample(), fitted)
    silicon.check(unseen, fitted)
    return [point for point in unseen if point.row], [point for point in unseen if not point.row]


def said(points: Sequence[Point], found: ServedConstants) -> Iterator[Said]:
    """What the product says of each; a layout that no model allows is left out."""
    for point in points:
        try:
            yield _said(point, found)
        except RooflensError:
            continue


def _said(point: Point, found: ServedConstants) -> Said:
    row, load = point.row, silicon.deployment(point)
    assert row is not None  # noqa: S101  only points with a deployment are asked about
    expected = Served(found, row.engine, row.chip).expect(load, "decode")
    floor_s = float(load.floor("decode").floor_s)
    return Said(
        point, row.time_s, expected.time_s, expected.low_s, expected.high_s, floor_s, row.chip in found.chips["served"]
    )
