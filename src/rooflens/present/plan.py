"""A placed picture as data: the frame, the scales, every line and every text with its pixel place."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.present.boxes import Box, Segment, clip
from rooflens.present.bundles import Bundle
from rooflens.present.key import Column
from rooflens.present.labels import Placed
from rooflens.present.palette import marker
from rooflens.present.roofs import Roof, Slope
from rooflens.present.scale import Scale, Tick
from rooflens.present.scene import Scene, Spot
from rooflens.present.sized import extent, ring
from rooflens.records import record

TITLE_POINTS, SUBTITLE_POINTS, AXIS_POINTS, TICK_POINTS = 21.0, 13.0, 14.0, 12.5
SLOPE_POINTS, RIDGE_POINTS = 11.5, 10.5
MARK = 25.0  # side of the square that a marker takes, in pixels
RING = 44.0  # the same with the ring of a finding
MARGIN = 26.0


@record
class Text:
    """A text centred at (x, y); `machine` gives its colour in a comparison."""

    text: str
    x: float
    y: float
    points: float
    angle: float = 0.0
    machine: int = 0
    strong: bool = False


@record
class Bar:
    """From a point's rate to its launch cap, in a lane of its own left of the marker."""

    x: float
    y0: float
    y1: float
    machine: int
    dtype: str


@record
class Plan:
    """Everything placed, in pixels. `numbers` maps a bundle's index to its number in the list."""

    scene: Scene
    frame: Box
    x: Scale
    y: Scale
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    column: Column
    notes: tuple[str, ...]
    listing: tuple[tuple[str, ...], ...]
    bundles: tuple[Bundle, ...]
    numbers: dict[int, int]
    label_points: float
    bars: tuple[Bar, ...] = ()
    texts: tuple[Text, ...] = ()
    placed: tuple[Placed, ...] = ()


def label_text(bundle: Bundle, number: int | None) -> str:
    """What is written at a bundle: its text, or only its number in the list."""
    return bundle.text if number is None else str(number)


def mark(plan: Plan, bundle: Bundle) -> Box:
    """The box around all markers of a bundle."""
    boxes = [_marker(plan, s) for s in bundle.spots]
    return Box(min(b.x0 for b in boxes), min(b.y0 for b in boxes), max(b.x1 for b in boxes), max(b.y1 for b in boxes))


def marks(plan: Plan) -> list[Box]:
    """What no text may cover: markers, launch caps, ridges."""
    spots = plan.scene.spots
    points = [_marker(plan, s) for s in spots]
    caps = [Box.around(bar.x, bar.y1, 14, 6) for bar in plan.bars]
    ridges = [Box.around(plan.x(r.ridge), plan.y(r.value), 11, 11) for r in plan.scene.roofs if r.ridge and r.marked]
    return [*points, *caps, *ridges]


def _marker(plan: Plan, spot: Spot) -> Box:
    side = RING if spot.finding else MARK
    if spot.share is not None:
        side = 2 + (ring if spot.finding else extent)(spot.share, marker(spot.point.dtype))
    return Box.around(plan.x(spot.intensity), plan.y(spot.rate), side, side)


def slope_line(plan: Plan, slope: Slope) -> tuple[tuple[float, float], tuple[float, float]]:
    """(intensities, rates) of a slope from the left edge to the fastest roof of its machine (or the top)."""
    tops = [r.value for r in plan.scene.roofs if r.machine == slope.machine]
    low, high = plan.scene.intensities
    end = max(min(max(tops) / slope.value, high) if tops else high, low)
    return (low, end), (slope.value * low, slope.value * end)


def roof_start(plan: Plan, roof: Roof) -> float:
    """The intensity where a roof begins: its ridge, or the left edge on a machine without a slope."""
    return max(roof.ridge or 0.0, plan.scene.intensities[0])


def lines(plan: Plan) -> Iterator[tuple[Slope | Roof, Segment]]:
    """Every slope and roof in pixels, as far as it is inside the frame."""
    for slope in plan.scene.slopes:
        (x0, x1), (y0, y1) = slope_line(plan, slope)
        if x0 < x1 and (inside := clip((plan.x(x0), plan.y(y0), plan.x(x1), plan.y(y1)), plan.frame)):
            yield slope, inside
    for roof in plan.scene.roofs:
        y = plan.y(roof.value)
        yield roof, (plan.x(roof_start(plan, roof)), y, plan.frame.x1, y)


def bars(scene: Scene, x: Scale, y: Scale) -> Iterator[Bar]:
    """One bar a capped point; bars that would run over each other stand side by side."""
    lanes: list[list[tuple[float, float, float]]] = []
    for spot in sorted((s for s in scene.spots if s.cap), key=lambda s: s.rate):
        at, low, high = x(spot.intensity), *sorted((y(spot.rate), y(spot.cap or spot.rate)))
        lane = next((i for i, held in enumerate(lanes) if _clear(held, at, low, high)), len(lanes))
        lanes[lane : lane + 1] = [[*(lanes[lane] if lane < len(lanes) else []), (at, low, high)]]
        yield Bar(at - MARK / 2 - 7 - 9 * lane, y(spot.rate), y(spot.cap or spot.rate), spot.machine, spot.point.dtype)


def _clear(held: list[tuple[float, float, float]], at: float, low: float, high: float) -> bool:
    return not any(abs(at - x) < MARK and low < top + 6 and bottom - 6 < high for x, bottom, top in held)
