"""A fleet as a picture: a row a ceiling, a dot a device by its speed over the median, who is out in numbers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rooflens.peers.record import NINE_OF_TEN, Figure, Spread, Standing
from rooflens.present.boxes import Box
from rooflens.present.canvas import Canvas, TextStyle
from rooflens.present.palette import ALARM, FAINT, GRID, INK, MACHINES, PAPER, SOFT
from rooflens.present.words import say
from rooflens.present.words import share as per_cent
from rooflens.records import record
from rooflens.roofline.collective import both_ways
from rooflens.samples import at_share, median, speed_ratio
from rooflens.units import percent, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Along = Callable[[float], float]  # from a share to its pixel
MOST_ROWS, MOST_NAMED = 18, 22
LINKS = "link/*"  # all pairs of devices in one row
_LEFT, _RIGHT, _TOP, _BOTTOM = 562.0, 1350.0, 150.0, 132.0
_LIST, _EDGE = 1392.0, 30.0
_LOWEST = 0.5  # a share under it is never drawn to scale
_STEPS, _APART = (0.01, 0.02, 0.05, 0.1, 0.2), 84.0  # from tick to tick, and pixels that it must be at least
_WORDS = 140.0  # pixels that two words above the frame take
_FEW = 20  # of so few no band is drawn
_DISC = 20.0
_BAND = "#dbe5ef"
_GOLDEN = 0.618034  # spreads dots over the height of a row, the same at every drawing


@record
class Row:
    """One ceiling. shares: every device's speed over the median. out: that of those that are out here, and who."""

    id: str
    median: str
    shares: tuple[float, ...]
    out: tuple[tuple[float, int], ...]


@record
class Shown:
    """What a picture is of: counts, the rows, who is out by number, and the loss from which on a device matters."""

    nodes: int
    silent: int
    kinds: tuple[str, ...]
    devices: tuple[Standing, ...]
    rows: tuple[Row, ...]
    hidden: int
    least: float

    @property
    def out(self) -> tuple[Standing, ...]:
        """Worst first; its number is its place, from 1."""
        return tuple(one for one in self.devices if one.state == "out")


def draw(shown: Shown, lang: str = "en") -> Picture:
    """The sheet. Devices further behind than the axis reaches stand at its left end, with their share."""
    canvas = Canvas()
    frame = Box(_LEFT, _BOTTOM, _RIGHT, canvas.height - _TOP)
    low, high = _range(shown.rows)

    def x(at: float) -> float:
        return frame.x0 + (min(max(at, low), high) - low) / (high - low) * (frame.x1 - frame.x0)

    title = say("fleet.plot.title", lang, devices=f"{len(shown.devices):,}", nodes=f"{shown.nodes:,}",
                out=len(shown.out))  # fmt: skip
    canvas.write(title, _EDGE + 10, canvas.height - 42, TextStyle(21, bold=True))
    canvas.write(
        _cut(canvas, ";  ".join(shown.kinds), 11.5, 1300), _EDGE + 10, canvas.height - 82, TextStyle(11.5, SOFT)
    )
    _grid(canvas, frame, (low, high), shown.least, x, lang)
    height = (frame.y1 - frame.y0) / max(len(shown.rows), 1)
    for place, row in enumerate(shown.rows):
        y = frame.y1 - (place + 0.5) * height
        _row(canvas, row, y, height, x, low, lang)
    _legend(canvas, lang)
    _who(canvas, shown, frame, lang)
    canvas.figure.set_label(title)
    return canvas.figure


def shown(
    devices: Sequence[Standing], spreads: Sequence[Spread], figures: Sequence[Figure], *, nodes: int, silent: int,
    kinds: Sequence[str], least: float,
) -> Shown:  # fmt: skip
    """What to draw of a report: of many ceilings those with the furthest behind, in the order of the report."""
    numbers = {one.of: place + 1 for place, one in enumerate(one for one in devices if one.state == "out")}
    rows = [*_rows(spreads, figures, devices, numbers), *_pairs(figures, devices, numbers)]
    worst = sorted(rows, key=lambda row: (not row.out, min(row.shares)))[:MOST_ROWS]
    kept = tuple(row for row in rows if row in worst)
    return Shown(nodes, silent, tuple(kinds), tuple(devices), kept, len(rows) - len(kept), least)


def _rows(
    spreads: Sequence[Spread], figures: Sequence[Figure], devices: Sequence[Standing], numbers: Mapping[str, int]
) -> Iterator[Row]:
    medians = {(spread.key, spread.id): spread for spread in spreads}
    shares: dict[str, list[float]] = defaultdict(list)
    out: dict[str, list[tuple[float, int]]] = defaultdict(list)
    bad = {(one.of, loss.id) for one in devices for loss in one.losses if loss.state == "out"}
    for figure in figures:
        spread = medians.get((figure.key, figure.id))
        if figure.whose == "device" and spread and figure.value > 0:
            at = speed_ratio(figure.value, spread.median, figure.unit)
            shares[figure.id].append(at)
            if (figure.of, figure.id) in bad and figure.of in numbers:
                out[figure.id].append((at, numbers[figure.of]))
    for id, own in shares.items():
        same = [spread for spread in spreads if spread.id == id]
        text = show(same[0].median, same[0].unit, 3) if len(same) == 1 else ""
        yield Row(id, text, tuple(own), tuple(sorted(out[id])))


def _pairs(figures: Sequence[Figure], devices: Sequence[Standing], numbers: Mapping[str, int]) -> Iterator[Row]:
    """All pairs in one row, each over the median of its kind and way."""
    groups: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for figure in figures:
        if figure.whose == "pair":
            groups[figure.key, both_ways(figure.of)].append(figure.value)
    shares = [value / median(own) for own in groups.values() for value in own]
    one_way = [value for (_, both), own in groups.items() if not both for value in own]
    out = sorted(
        (min(mine), numbers[one.of])
        for one in devices
        if one.of in numbers
        and (mine := [x.share for x in one.losses if x.id.startswith("link/") and x.id[5:6].isdigit()])
    )
    if shares:
        yield Row(LINKS, show(median(one_way), "B/s", 3) if one_way else "", tuple(shares), tuple(out))


def _range(rows: Sequence[Row]) -> tuple[float, float]:
    """From where to where the axis goes: all that are not out, and a loss of nine in a hundred at least."""
    bad = {at for row in rows for at, _ in row.out}
    every = sorted(at for row in rows for at in row.shares if at not in bad)
    if not every:
        return 0.9, 1.04
    low, high = every[int(0.001 * len(every))], every[-1 - int(0.001 * len(every))]
    return max(_LOWEST, min(0.91, low - 0.01)), min(1.5, max(1.03, high + 0.01))


def _grid(canvas: Canvas, frame: Box, ends: tuple[float, float], least: float, x: Along, lang: str) -> None:
    """Ticks in per cent of the median, the median itself, and the loss that matters."""
    step = next((step for step in _STEPS if x(ends[0] + step) - frame.x0 >= _APART), _STEPS[-1])
    for count in range(math.ceil(ends[0] / step), math.floor(ends[1] / step) + 1):
        at = count * step
        if x(at) > frame.x0 + 20:
            canvas.line([x(at)] * 2, [frame.y0, frame.y1], GRID, 1.0)
            canvas.write(percent(at), x(at), frame.y0 - 18, TextStyle(11, SOFT, "center"))
    canvas.line([x(1.0)] * 2, [frame.y0, frame.y1], FAINT, 1.6)
    canvas.line([x(1 - least)] * 2, [frame.y0, frame.y1 + 6], ALARM, 1.4, linestyle=(0, (5, 3)))
    canvas.write(say("fleet.plot.least", lang, share=percent(least)), x(1 - least), frame.y1 + 20,
                 TextStyle(10.5, ALARM, "center"))  # fmt: skip
    if x(1.0) - x(1 - least) > _WORDS:
        canvas.write(say("fleet.plot.median", lang), x(1.0), frame.y1 + 20, TextStyle(10.5, SOFT, "center"))
    canvas.write(
        say("fleet.plot.axis", lang), (frame.x0 + frame.x1) / 2, frame.y0 - 54, TextStyle(12.5, SOFT, "center")
    )


def _row(canvas: Canvas, row: Row, y: float, height: float, x: Along, low: float, lang: str) -> None:
    """A name, a median, nine devices of ten as a band, dots, and who is out as numbered discs."""
    canvas.line([_EDGE + 10, _RIGHT], [y - height / 2] * 2, GRID, 0.8)
    points = min(10.5, 0.27 * height)
    name = say("fleet.plot.pairs", lang) if row.id == LINKS else row.id
    room = _LEFT - _EDGE - 40 - canvas.size(row.median, points)[0]
    _level(canvas, _cut(canvas, name, points, room), _EDGE + 10, y, TextStyle(points, INK))
    _level(canvas, row.median, _LEFT - 14, y, TextStyle(points, SOFT, "right"))
    ordered = sorted(row.shares)
    first, last = (at_share(ordered, part) for part in NINE_OF_TEN)
    if len(ordered) >= _FEW:
        canvas.area(Box(x(first), y - 0.38 * height, x(last), y + 0.38 * height), _BAND)
    drawn = [at for at in row.shares if at >= low]
    many = len(drawn) > 100
    ys = [y + 0.6 * height * ((place * _GOLDEN) % 1 - 0.5) for place in range(len(drawn))]
    canvas.line([x(at) for at in drawn], ys, MACHINES[0], linestyle="none", marker="o",
                markersize=2.6 if many else 6.0, alpha=0.35 if many else 0.75, markeredgewidth=0)  # fmt: skip
    _numbered(canvas, row, y, height, x, low)


def _numbered(canvas: Canvas, row: Row, y: float, height: float, x: Along, low: float) -> None:
    """Discs of those that are out, in two lanes; far ones at the left end, each with its share."""
    size = min(_DISC, 0.44 * height)
    taken: list[Box] = []
    for at, number in row.out:
        far = at < low
        text = per_cent(at) if far else ""
        width = size + (canvas.size(text, 9.5)[0] + 12 if far else 0.0)
        left = _LEFT + 16 if far else x(at) - size / 2
        near = sum(other < low if far else abs(x(other) - x(at)) < size + 2 for other, _ in row.out) > 1
        box = _free(Box(left, y - size / 2, left + width, y + size / 2), 0.24 * height if near else 0.0, taken)
        taken.append(box)
        cx, cy = box.x0 + size / 2, (box.y0 + box.y1) / 2
        canvas.line([cx], [cy], ALARM, linestyle="none", marker="o", markersize=0.48 * size + 1.5,
                    markeredgecolor=PAPER, markeredgewidth=0.8)  # fmt: skip
        if number <= MOST_NAMED:
            _level(canvas, str(number), cx, cy, TextStyle(0.36 * size, PAPER, "center", bold=True))
        if far:
            canvas.line([_LEFT + 8], [cy], ALARM, linestyle="none", marker="<", markersize=5)
            _level(canvas, text, box.x0 + size + 4, cy, TextStyle(9.5, ALARM))


def _free(box: Box, lane: float, taken: Sequence[Box]) -> Box:
    """The box in the upper or the lower lane; where both are taken, further right."""
    while True:
        for up in (lane, -lane):
            moved = Box(box.x0, box.y0 + up, box.x1, box.y1 + up)
            if not any(moved.hits(other) for other in taken):
                return moved
        box = Box(box.x0 + 4, box.y0, box.x1 + 4, box.y1)


def _legend(canvas: Canvas, lang: str) -> None:
    """What dot, disc, band and arrow are, in one line at the foot."""
    at, y = _EDGE + 18, 34.0
    for marker, colour, size, key in (
        ("o", MACHINES[0], 6.0, "ok"),
        ("o", ALARM, 10.0, "out"),
        ("<", ALARM, 6.0, "beyond"),
        ("s", _BAND, 13.0, "band"),
    ):
        text = say(f"fleet.plot.{key}", lang)
        canvas.line([at], [y], colour, linestyle="none", marker=marker, markersize=size, markeredgewidth=0)
        canvas.write(text, at + 16, y, TextStyle(10.5, SOFT))
        at += canvas.size(text, 10.5)[0] + 56


def _who(canvas: Canvas, shown: Shown, frame: Box, lang: str) -> None:
    """The list of those that are out: number, name, cause, worst share."""
    y = frame.y1 + 20
    canvas.write(say("fleet.plot.who", lang), _LIST, y, TextStyle(12.5, INK, bold=True))
    step = min(38.0, (frame.y1 - frame.y0) / (MOST_NAMED + 2))
    lines = [*shown.out[:MOST_NAMED]]
    for place, one in enumerate(lines):
        y = frame.y1 - (place + 0.5) * step
        cause = say(f"fleet.cause.{one.reasons[0].cause if one.reasons else 'unknown'}", lang)
        canvas.line([_LIST + 10], [y], ALARM, linestyle="none", marker="o", markersize=11)
        _level(canvas, str(place + 1), _LIST + 10, y, TextStyle(7.5, PAPER, "center", bold=True))
        _level(canvas, _cut(canvas, one.of, 10.5, 230), _LIST + 32, y, TextStyle(10.5))
        _level(canvas, _cut(canvas, cause, 10.5, 130), _LIST + 276, y, TextStyle(10.5, SOFT))
        _level(canvas, per_cent(one.worst), canvas.width - _EDGE, y, TextStyle(10.5, ALARM, "right"))
    rest = [] if lines else [say("fleet.plot.nobody", lang)]
    rest += [say("fleet.plot.more", lang, count=len(shown.out) - MOST_NAMED)] if len(shown.out) > MOST_NAMED else []
    rest += [say("fleet.plot.silent", lang, count=shown.silent)] if shown.silent else []
    rest += [say("fleet.plot.hidden", lang, count=shown.hidden)] if shown.hidden else []
    for place, text in enumerate(rest):
        canvas.write(text, _LIST, frame.y1 - (len(lines) + place + 0.6) * step, TextStyle(10.5, SOFT))


def _level(canvas: Canvas, text: str, x: float, y: float, style: TextStyle) -> None:
    """A text on one line with its neighbours, whichever letters it has."""
    canvas.write(text, x, y, style)
    canvas.figure.texts[-1].set_verticalalignment("center_baseline")


def _cut(canvas: Canvas, text: str, points: float, width: float) -> str:
    """The text, its end left out where it is too long."""
    if canvas.size(text, points)[0] <= width:
        return text
    while text and canvas.size(text + "...", points)[0] > width:
        text = text[:-1]
    return text + "..."
