"""A plan put on the canvas. Decides colours and widths, never places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rooflens.present import key
from rooflens.present.canvas import DPI, Canvas, TextStyle, line_height, ticks
from rooflens.present.palette import (
    ALARM,
    DASHES,
    FAINT,
    INK,
    LINK_DASH,
    MACHINES,
    PAPER,
    SHADE,
    SOFT,
    dtype_colour,
    marker,
)  # fmt: skip
from rooflens.present.plan import (
    AXIS_POINTS,
    MARGIN,
    MARK,
    SUBTITLE_POINTS,
    TICK_POINTS,
    TITLE_POINTS,
    Plan,
    label_text,
    roof_start,
    slope_line,
)  # fmt: skip
from rooflens.present.roofs import SOLID, Roof, Slope, main_slopes
from rooflens.present.scale import minors
from rooflens.present.scene import Spot
from rooflens.present.sized import ring, side
from rooflens.present.words import say
from rooflens.records import replace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def paint(plan: Plan, canvas: Canvas) -> None:
    """The whole picture: frame, lines, points, then every text."""
    scene = plan.scene
    axes = canvas.frame(plan.frame, scene.intensities, scene.rates)
    ticks(axes, "x", [(t.value, t.text) for t in plan.x_ticks], minors(scene.intensities), TICK_POINTS)
    ticks(axes, "y", [(t.value, t.text) for t in plan.y_ticks], minors(scene.rates), TICK_POINTS)
    _shade(plan, axes)
    for slope in scene.slopes:
        _slope(plan, axes, slope)
    for roof in scene.roofs:
        _roof(plan, axes, roof)
    for machine, dtype, rate in key.gemm_lines(scene):
        _gemm(plan, axes, machine, dtype, rate)
    for spot in scene.spots:
        _spot(plan, axes, spot)
    for bar in plan.bars:
        colour = _colour(plan, bar.machine, bar.dtype)
        canvas.line((bar.x, bar.x), (bar.y0, bar.y1), colour, 1.0)
        canvas.line((bar.x + MARK / 2, bar.x), (bar.y0, bar.y0), colour, 1.0, zorder=-1)
        canvas.line((bar.x - 5, bar.x + 5), (bar.y1, bar.y1), INK, 2.2)
    _texts(plan, canvas)
    _around(plan, canvas)


def _shade(plan: Plan, axes: Axes) -> None:
    """What is attainable at all, lightly tinted: under the main slope and the fastest roof of a single machine."""
    scene = plan.scene
    mains = main_slopes(scene.slopes)
    if scene.compares or not mains or not scene.roofs:
        return
    top, slope = max(r.value for r in scene.roofs), max(s.value for s in mains)
    (low, high), (floor, _) = scene.intensities, scene.rates
    xs = [low, min(max(top / slope, low), high), high]
    axes.fill_between(xs, [min(top, slope * x) for x in xs], floor, color=SHADE, linewidth=0, zorder=0)


def _slope(plan: Plan, axes: Axes, slope: Slope) -> None:
    xs, ys = slope_line(plan, slope)
    colour = MACHINES[slope.machine] if plan.scene.compares else (FAINT if slope.weight < 2 else INK)
    width = {2: 2.6, 1: 1.3, 0: 1.5}[slope.weight]
    dashes = LINK_DASH if slope.weight == 0 else DASHES[slope.style]
    axes.plot(xs, ys, color=colour, linewidth=width, linestyle=dashes, zorder=2, solid_capstyle="round")


def _roof(plan: Plan, axes: Axes, roof: Roof) -> None:
    colour = _colour(plan, roof.machine, roof.dtypes[0])
    start, end = roof_start(plan, roof), plan.scene.intensities[1]
    width, dashes = _width(plan, roof), DASHES[roof.style]
    axes.plot((start, end), (roof.value, roof.value), color=colour, linewidth=width, linestyle=dashes, zorder=2.2)
    fastest = max((s.value for s in plan.scene.slopes if s.machine == roof.machine and s.weight), default=0.0)
    if fastest and roof.ridge and roof.marked and roof.value / fastest < roof.ridge:
        axes.plot(
            (roof.value / fastest, roof.ridge), (roof.value,) * 2, color=colour, linewidth=0.9, alpha=0.55, zorder=1.9
        )
    if roof.ridge and roof.marked:
        axes.plot(
            [roof.ridge], [roof.value], marker="o", markersize=6, color=colour, markerfacecolor=PAPER,
            markeredgewidth=1.6, zorder=2.6,
        )  # fmt: skip


def _width(plan: Plan, roof: Roof) -> float:
    """Thick, but in a ladder the lines above the settled ones are thin."""
    return 2.4 if roof.style in SOLID or not plan.column.rungs else 1.3


def _gemm(plan: Plan, axes: Axes, machine: int, dtype: str, rate: float) -> None:
    """The rate of the fastest compute-bound run as a dotted line, from the slope to the right edge."""
    mains = [s.value for s in main_slopes(plan.scene.slopes) if s.machine == machine]
    low, high = plan.scene.intensities
    start = max(rate / max(mains), low) if mains else low
    axes.plot(
        (start, high), (rate, rate), color=_colour(plan, machine, dtype), linewidth=1.2, linestyle=":", zorder=2.5
    )


def _spot(plan: Plan, axes: Axes, spot: Spot) -> None:
    colour = _colour(plan, spot.machine, spot.point.dtype)
    x, y = [spot.intensity], [spot.rate]
    if spot.share is not None:
        _sized(spot, spot.share, axes, colour)
        return
    if spot.finding:
        axes.plot(x, y, marker="o", markersize=20, color=ALARM, fillstyle="none", markeredgewidth=1.8, zorder=4)
    face, edge = (colour, PAPER) if spot.point.measured else (PAPER, colour)
    axes.plot(
        x, y, marker=marker(spot.point.dtype), markersize=11 if spot.point.measured else 10, linestyle="none",
        markerfacecolor=face, markeredgecolor=edge, markeredgewidth=1.0 if spot.point.measured else 2.0, zorder=5,
    )  # fmt: skip


def _sized(spot: Spot, share: float, axes: Axes, colour: str) -> None:
    """A marker whose area is its share; smaller ones lie on larger ones, and both are seen."""
    shape, points = marker(spot.point.dtype), 72 / DPI
    if spot.finding:
        axes.plot(
            [spot.intensity], [spot.rate], marker="o", markersize=ring(share, shape) * points, color=ALARM,
            fillstyle="none", markeredgewidth=1.8, zorder=5.1,
        )  # fmt: skip
    axes.plot(
        [spot.intensity], [spot.rate], marker=shape, markersize=side(share, shape) * points, linestyle="none",
        markerfacecolor=colour, markeredgecolor=PAPER, markeredgewidth=0.5, alpha=0.8, zorder=5 - share,
    )  # fmt: skip


def _texts(plan: Plan, canvas: Canvas) -> None:
    for text in plan.texts:
        colour = MACHINES[text.machine] if plan.scene.compares else (INK if text.strong else SOFT)
        style = TextStyle(text.points, colour, "center", angle=text.angle, halo=True)
        canvas.write(text.text, text.x, text.y, style)
    for placed in plan.placed:
        bundle = plan.bundles[placed.key]
        if placed.leader:
            ax, ay, bx, by = placed.leader
            canvas.line((ax, bx), (ay, by), FAINT, 0.9)
        colour = ALARM if any(s.finding for s in bundle.spots) else INK
        style = TextStyle(plan.label_points, colour, "center", halo=True)
        canvas.write(label_text(bundle, plan.numbers.get(placed.key)), *placed.box.middle, style)


def _around(plan: Plan, canvas: Canvas) -> None:
    scene, frame = plan.scene, plan.frame
    used = {s.point.dtype for s in scene.spots} if not scene.compares else set()
    key.paint_column(plan.column, canvas, frame, plan.y, used, scene.lang)
    _axis_names(plan, canvas)
    _heading(scene.title, canvas, canvas.height - 42, TextStyle(TITLE_POINTS, bold=True))
    _heading(scene.subtitle, canvas, canvas.height - 87, TextStyle(SUBTITLE_POINTS, SOFT))
    step = line_height(canvas, key.NOTE_POINTS)
    for i, line in enumerate(reversed(plan.notes)):
        canvas.write(line, MARGIN, 16 + (i + 0.5) * step, TextStyle(key.NOTE_POINTS, SOFT))
    top = 16 + len(plan.notes) * step + key.list_height(plan.listing, canvas) - 6
    key.paint_list(plan.listing, canvas, MARGIN, top)


def _axis_names(plan: Plan, canvas: Canvas) -> None:
    frame, lang = plan.frame, plan.scene.lang
    across, up = say("plot.x", lang), say("plot.y", lang)
    x, y = frame.middle
    canvas.write(across, x, frame.y0 - 66, TextStyle(AXIS_POINTS, ha="center"))
    left = MARGIN + canvas.size(up, AXIS_POINTS)[1] / 2
    canvas.write(up, left, y, TextStyle(AXIS_POINTS, ha="center", angle=90.0))


def _heading(text: str, canvas: Canvas, y: float, style: TextStyle) -> None:
    """The text at the largest size that fits, down to 60 %; below that cut with "…"."""
    room = canvas.width - 2 * MARGIN
    wide = canvas.size(text, style.points, bold=style.bold)[0]
    fitted = replace(style, points=style.points * min(1.0, max(room / wide, 0.6)) if wide else style.points)
    while len(text) > 1 and (wide := canvas.size(text, fitted.points, bold=style.bold)[0]) > room:
        text = text[: min(len(text) - 2, int(len(text) * room / wide))].rstrip() + "…"
    canvas.write(text, MARGIN, y, fitted)


def _colour(plan: Plan, machine: int, dtype: str) -> str:
    return MACHINES[machine] if plan.scene.compares else dtype_colour(dtype)
