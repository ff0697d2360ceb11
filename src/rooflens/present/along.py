"""Texts that sit on lines: slope names turned with their slopes, ridge intensities at their corners."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice, permutations

from rooflens.present.boxes import Box, Segment
from rooflens.present.canvas import Canvas
from rooflens.present.labels import GAP, Field, first_free
from rooflens.present.plan import RIDGE_POINTS, SLOPE_POINTS, Plan, Text, lines
from rooflens.present.roofs import SOLID, Roof, Slope
from rooflens.present.words import bare_intensity, say

_ORDERS = 120
_TOGETHER = 17.0  # ridges nearer than this, in pixels, share one text
_DEAREST = 260.0  # a place dearer than this confuses more than a note below the plot
_Menu = list[tuple[float, float, Box]]
_Served = list[tuple[Slope, float, Box]]


def slope_texts(plan: Plan, canvas: Canvas, field: Field, weights: tuple[int, ...]) -> tuple[list[Text], list[str]]:
    """Slope names along their lines in the order of placing that costs least, and those that found no place."""
    chosen = [(s, line) for s, line in lines(plan) if isinstance(s, Slope) and s.weight in weights]
    menus = [(slope, _menu(plan, canvas, slope, line, field)) for slope, line in chosen]
    served = min((_serve(order) for order in islice(permutations(menus), _ORDERS)), key=lambda one: one[0])[1]
    field.taken += [box for _, _, box in served]
    texts = [Text(s.label, *box.middle, SLOPE_POINTS, turn, s.machine, s.weight == 2) for s, turn, box in served]
    named = {id(slope) for slope, _, _ in served}
    return texts, [slope.label for slope, _ in chosen if id(slope) not in named]


def ridge_texts(plan: Plan, canvas: Canvas, field: Field) -> tuple[list[Text], list[str]]:
    """Ridge intensities up and left of their corners, solid roofs first, and those that found no place."""
    texts: list[Text] = []
    left: list[str] = []
    for group in sorted(_corners(plan), key=lambda g: (g[0].style not in SOLID, -g[0].value)):
        ridges = sorted(bare_intensity(r.ridge) for r in group if r.ridge)
        shown = "–".join(dict.fromkeys((min(ridges, key=_number), max(ridges, key=_number))))
        text = say("plot.ridge", plan.scene.lang, intensity=shown)
        top, start = max(r.value for r in group), min(r.ridge or math.inf for r in group)
        box = first_free(_corner(plan.x(start), plan.y(top), *canvas.size(text, RIDGE_POINTS)), field)
        if box is None:
            left.append(f"{text} ({', '.join(dict.fromkeys(d for r in group for d in r.dtypes))})")
            continue
        field.taken.append(box)
        texts.append(Text(text, *box.middle, RIDGE_POINTS, 0.0, group[0].machine))
    return texts, left


def _menu(plan: Plan, canvas: Canvas, slope: Slope, line: Segment, field: Field) -> _Menu:
    """(price, angle, box) of the free places of one slope's name, cheapest first."""
    angle = math.degrees(math.atan2(line[3] - line[1], line[2] - line[0]))
    sizes = {turn: canvas.size(slope.label, SLOPE_POINTS, angle=turn) for turn in (angle, 0.0)}
    others = [*(other for s, other in lines(plan) if s is not slope), *field.leaders]
    dear = 70.0 if slope.weight < 2 else 150.0
    options = [*_turned(line, angle, sizes, others, field), *_level(line, sizes[0.0], others, field, dear)]
    rooms = list(_rooms(plan))
    kept = [(price + 25 * sum(box.hits(room) for room in rooms), turn, box) for price, turn, box in options]
    most = math.inf if slope.weight == 2 else _DEAREST
    return sorted((one for one in kept if one[0] < most), key=lambda option: option[0])


def _rooms(plan: Plan) -> Iterator[Box]:
    """Right of and below each point, where its own label will want to be; higher the more points crowd there."""
    spots = list(dict.fromkeys((plan.x(s.intensity), plan.y(s.rate)) for s in plan.scene.spots))
    for x, y in spots:
        crowd = sum(abs(x - other) < 60 and abs(y - height) < 100 for other, height in spots)
        yield Box(x - 10, y - 90, x + 300, y + 20 + 16 * crowd)


def _serve(menus: Sequence[tuple[Slope, _Menu]]) -> tuple[float, _Served]:
    """Each slope in turn takes its cheapest place that is still free: (total price, places)."""
    total, served = 0.0, _Served()
    for slope, menu in menus:
        taken = [box.grown(GAP) for _, _, box in served]
        free = next((option for option in menu if not any(option[2].hits(box) for box in taken)), None)
        if free is None:
            total += 1000.0
            continue
        total += free[0]
        served.append((slope, free[1], free[2]))
    return total, served


def _stations(line: Segment) -> Iterator[tuple[float, float, float]]:
    """(price, x, y) along a line, its lower middle preferred."""
    ax, ay, bx, by = line
    for step in range(4, 98, 3):
        t = step / 100
        yield abs(t - 0.35) * 40, ax + t * (bx - ax), ay + t * (by - ay)


def _turned(
    line: Segment, angle: float, sizes: dict[float, tuple[float, float]], others: Sequence[Segment], field: Field
) -> Iterator[tuple[float, float, Box]]:
    """Texts turned with the line, above it or (dearer) below, clear of every marker."""
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    flat = sizes[0.0]
    off = flat[1] / 2 + 5
    texts = Field(field.bounds, taken=field.taken)
    for price, x, y in _stations(line):
        for side, extra in ((1, 0), (-1, 12)):
            centre = (x - side * off * sin, y + side * off * cos)
            box = Box.around(*centre, *sizes[angle])
            if texts.free(box) and not any(_touches(centre, flat, cos, sin, mark) for mark in field.marks):
                yield price + extra + 60 * sum(_strip(centre, flat, cos, sin, other) for other in others), angle, box


def _level(
    line: Segment, flat: tuple[float, float], others: Sequence[Segment], field: Field, dear: float
) -> Iterator[tuple[float, float, Box]]:
    """Texts left unturned, ending left of the line or beginning right of it."""
    for price, x, y in _stations(line):
        for side in (1, -1):
            box = Box.around(x - side * (flat[0] / 2 + 14), y + side * 8, *flat)
            if field.free(box):
                yield price + dear + 60 * sum(box.crossed(other) for other in (*others, line)), 0.0, box


def _strip(centre: tuple[float, float], flat: tuple[float, float], cos: float, sin: float, line: Segment) -> bool:
    """Whether a line crosses a turned text: turn the line back instead."""
    (ax, ay), (bx, by) = (_back(centre, cos, sin, *end) for end in (line[:2], line[2:]))
    return Box.around(0, 0, *flat).crossed((ax, ay, bx, by))


def _touches(centre: tuple[float, float], flat: tuple[float, float], cos: float, sin: float, box: Box) -> bool:
    """Whether a turned text comes within a marker's circle."""
    x, y = _back(centre, cos, sin, *box.middle)
    reach = (box.x1 - box.x0) / 2 + GAP
    return abs(x) < flat[0] / 2 + reach and abs(y) < flat[1] / 2 + reach


def _back(centre: tuple[float, float], cos: float, sin: float, x: float, y: float) -> tuple[float, float]:
    dx, dy = x - centre[0], y - centre[1]
    return dx * cos + dy * sin, dy * cos - dx * sin


def _corners(plan: Plan) -> list[list[Roof]]:
    """Ridges inside the frame, those almost on one place together."""
    groups: list[list[Roof]] = []
    for roof in sorted(plan.scene.roofs, key=lambda r: (r.machine, -r.value)):
        if roof.ridge is None or not roof.marked:
            continue
        last = groups[-1][-1] if groups else None
        if last and last.machine == roof.machine and plan.y(last.value) - plan.y(roof.value) < _TOGETHER:
            groups[-1].append(roof)
        else:
            groups.append([roof])
    return groups


def _corner(x: float, y: float, width: float, height: float) -> Iterator[tuple[float, Box]]:
    for up in (0, 6, 12, 20, 28, -8, -16, -24):
        for out in (0, 8, 20, 36, 54):
            yield abs(up) + out * 0.7, Box.around(x - 11 - out - width / 2, y + up + height / 2, width, height)
            if up >= 0:
                yield up + out * 0.7 + 25, Box.around(x + out - width / 4, y + 13 + up + height / 2, width, height)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
