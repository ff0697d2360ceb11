"""Compute roofs as a small table beside the frame, where a name at each line would crowd: a row a dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rooflens.present.boxes import Box, spread
from rooflens.present.canvas import Canvas, TextStyle, line_height
from rooflens.present.palette import DASHES, INK, SOFT, dtype_colour, marker
from rooflens.present.roofs import STYLES, main_slopes, rates_of
from rooflens.present.scale import Scale
from rooflens.present.scene import Scene
from rooflens.present.words import bare_intensity, say
from rooflens.records import record, replace
from rooflens.units import show

STYLED = ("sustained", "burst", "spec")
COLUMNS = (*STYLED, "ridge")
POINTS = (11.5, 10.5, 9.5, 8.5)
GUTTER = 18.0
_LEADER = 46.0


@record
class Rung:
    """The rates of one dtype: FLOP/s by style. ridge: FLOP/byte of the rate that leads."""

    name: str
    dtype: str
    values: Mapping[str, float]
    ridge: float | None = None

    @property
    def lead(self) -> float:
        """The rate that the leader starts from: the settled one where there is one."""
        return next(self.values[style] for style in STYLES if style in self.values)


def rungs(scene: Scene) -> tuple[Rung, ...]:
    """The rows of the table, fastest first; none where roofs are named at their lines."""
    if not scene.ladder:
        return ()
    found: dict[str, dict[str, float]] = {}
    dtypes = {}
    drawn = {dtype for roof in scene.roofs for dtype in roof.dtypes}
    for line in rates_of(scene.machines[0], drawn, scene.lang):
        found.setdefault(line.name, {})[line.style] = line.value
        dtypes[line.name] = line.dtype
    rows = sorted((Rung(name, dtypes[name], found[name]) for name in found), key=lambda rung: -rung.lead)
    slope = max((s.value for s in main_slopes(scene.slopes)), default=None)
    return tuple(replace(row, ridge=row.lead / slope if slope else None) for row in rows)


def power(scene: Scene) -> Iterator[str]:
    """A sentence for the key when a power limit holds the settled roofs down."""
    machine = scene.machines[0]
    capped = [c for c in machine.find("compute", mode="sustained") if "power" in (c.throttle or "")]
    if capped:
        limit = machine.power_w
        yield say("key.power", scene.lang, watts=f" ({show(limit, 'W', 3)})" if limit else "")


def fitted(rows: Sequence[Rung], canvas: Canvas, height: float, lang: str) -> tuple[float, float]:
    """(points, width): the largest size at which header and rows fit `height` pixels."""
    for points in POINTS:
        tall = (len(rows) + 2) * (line_height(canvas, points) + 1)
        if tall <= height:
            break
    return points, 20 + sum(_widths(rows, canvas, points, lang)) + GUTTER * len(COLUMNS)


def paint(
    rows: Sequence[Rung], canvas: Canvas, frame: Box, y_of: Scale, sizes: tuple[float, float], used: set[str], lang: str
) -> None:
    """Header with a sample of each line, then the rows with leaders from their settled lines.

    sizes: of the text, in points, and of what stands below the table, in pixels.
    """
    points, below = sizes
    size = line_height(canvas, points) + 1
    widths = _widths(rows, canvas, points, lang)
    x = frame.x1 + _LEADER
    rights = [x + 20 + sum(widths[: i + 1]) + GUTTER * i for i in range(len(widths))]
    top = frame.y1 + size / 2
    centres = spread([y_of(row.lead) for row in rows], [size] * len(rows), frame.y0 + below, top)
    head = centres[0] + 1.6 * size
    canvas.write("FLOP/s", x + 20, head, TextStyle(points, SOFT))
    for style, right, width in zip(COLUMNS, rights[1:], widths[1:], strict=True):
        canvas.write(_head(style, lang), right, head, TextStyle(points, SOFT, "right"))
        if style in STYLED:
            canvas.line((right - min(52.0, width), right), (head - 0.6 * size,) * 2, INK, 2, linestyle=DASHES[style])
        else:
            canvas.line((right - width / 2,), (head - 0.6 * size,), INK, 0, marker="o", markersize=6, fillstyle="none")
    for row, y in zip(rows, centres, strict=True):
        colour = dtype_colour(row.dtype)
        canvas.line((frame.x1 + 3, frame.x1 + 20, x - 8), (y_of(row.lead), y, y), colour, 0.8, alpha=0.7)
        if row.dtype in used:
            canvas.line((x + 6,), (y,), colour, 0, marker=marker(row.dtype), markersize=7)
        canvas.write(row.name, x + 20, y, TextStyle(points, colour))
        for style, right in zip(COLUMNS, rights[1:], strict=True):
            canvas.write(_cell(row, style), right, y, TextStyle(points, colour, "right"))


def _widths(rows: Sequence[Rung], canvas: Canvas, points: float, lang: str) -> list[float]:
    names = max(canvas.size(text, points)[0] for text in ("FLOP/s", *(row.name for row in rows)))
    cells = [
        max(canvas.size(text, points)[0] for text in (_head(style, lang), *(_cell(row, style) for row in rows)))
        for style in COLUMNS
    ]
    return [names, *cells]


def _head(style: str, lang: str) -> str:
    return say("plot.ridge", lang, intensity="").strip() if style not in STYLED else say(f"style.{style}", lang)


def _cell(row: Rung, style: str) -> str:
    if style not in STYLED:
        return "" if row.ridge is None else bare_intensity(row.ridge)
    value = row.values.get(style, row.values.get("measured") if style == "sustained" else None)
    return "" if value is None else show(value, "FLOP/s", 3).removesuffix("FLOP/s").strip()
