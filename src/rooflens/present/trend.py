"""The memory wall as a picture: compute, bandwidth and their ratio by year, one panel each, a line through each.

All three have the same number of decades, so that the slopes of their lines can be compared by eye.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rooflens.present.boxes import Box
from rooflens.present.canvas import Canvas, TextStyle, ticks
from rooflens.present.labels import Field, Label, Placed, place
from rooflens.present.palette import FAINT, INK, MACHINES, PAPER, SOFT
from rooflens.present.scale import Scale, majors, minors
from rooflens.present.words import say
from rooflens.records import record
from rooflens.units import percent
from rooflens.wall import QUANTITIES, Product, Trend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNITS = {"compute": "FLOP/s", "memory": "B/s", "ridge": ""}
_MARKERS = ("o", "s", "^", "D", "v")
_MARK = 14.0
_TOP, _BOTTOM, _LEFT, _GAP, _RIGHT = 196.0, 150.0, 185.0, 135.0, 40.0
_NAME_LEFT = 130.0
_POINTS = 10.0


@record
class Panel:
    """One quantity in its frame: years along, values up (both in pixels by `x` and `y`)."""

    quantity: str
    frame: Box
    years: tuple[float, float]
    y: Scale

    def x(self, year: float) -> float:
        """The pixel of a year."""
        first, last = self.years
        return self.frame.x0 + (year - first) / (last - first) * (self.frame.x1 - self.frame.x0)


def draw(trend: Trend, title: str, lang: str = "en") -> Figure:
    """Three panels; a named point was the highest so far, and no text stands on another or on a point.

    Hollow points are announced, not shipped, and not fitted. Raises ValueError when there is no product to draw.
    """
    if not trend.products:
        raise ValueError("no product to draw")
    canvas = Canvas()
    years = (min(p.year for p in trend.products) - 0.7, max(p.year for p in trend.products) + 0.9)
    decades = max(_decades(trend, quantity) for quantity in QUANTITIES) + 0.35
    wide = (canvas.width - _LEFT - _RIGHT - 2 * _GAP) / 3
    makers = _makers(trend.products)
    for i, quantity in enumerate(QUANTITIES):
        left = _LEFT + i * (wide + _GAP)
        frame = Box(left, _BOTTOM, left + wide, canvas.height - _TOP)
        panel = Panel(quantity, frame, years, Scale(_range(trend, quantity, decades), frame.y0, frame.y1))
        _panel(panel, trend, makers, canvas, lang)
    canvas.write(title, 40, canvas.height - 42, TextStyle(21, bold=True))
    canvas.write(say("trend.subtitle", lang, kind=say(f"trend.kind.{trend.kind}", lang)), 40, canvas.height - 84,
                 TextStyle(12.5, SOFT))  # fmt: skip
    _legend(makers, trend, canvas, lang)
    canvas.figure.set_label(title)
    return canvas.figure


def _makers(products: Sequence[Product]) -> dict[str, int]:
    """Makers by how many products they have; those beyond the colours share the last."""
    names = sorted({p.vendor for p in products}, key=lambda v: (-sum(p.vendor == v for p in products), v))
    return {name: min(i, len(MACHINES) - 1) for i, name in enumerate(names)}


def _values(trend: Trend, quantity: str) -> list[float]:
    return [p.value(quantity) for p in trend.products]


def _decades(trend: Trend, quantity: str) -> float:
    values = _values(trend, quantity)
    return math.log10(max(values) / min(values))


def _range(trend: Trend, quantity: str, decades: float) -> tuple[float, float]:
    """The values in the middle of as many decades as the other panels have."""
    values = _values(trend, quantity)
    middle = math.log10(max(values) * min(values)) / 2
    return 10 ** (middle - decades / 2), 10 ** (middle + decades / 2)


def _panel(panel: Panel, trend: Trend, makers: dict[str, int], canvas: Canvas, lang: str) -> None:
    low, high = panel.y.data
    axes = canvas.frame(panel.frame, (1.0, 10.0), (low, high))
    axes.set_xscale("linear")
    axes.set_xlim(panel.years)
    first, last = math.ceil(panel.years[0]), math.floor(panel.years[1])
    step = max(1, math.ceil((last - first + 1) / 6))
    ticks(axes, "x", [(float(y), str(y)) for y in range(first, last + 1, step)], [], 10.5)
    unit = UNITS[panel.quantity]
    ticks(axes, "y", [(t.value, t.text) for t in majors((low, high), unit, 9)], minors((low, high)), 10.5)
    _line(panel, trend, axes)
    for product in trend.products:
        _spot(axes, product, product.value(panel.quantity), makers[product.vendor])
    for placed, label in _named(panel, trend, canvas):
        if placed.leader:
            ax, ay, bx, by = placed.leader
            canvas.line((ax, bx), (ay, by), FAINT, 0.9)
        canvas.write(label, *placed.box.middle, TextStyle(_POINTS, INK, "center", halo=True))
    left, top = panel.frame.x0, panel.frame.y1
    canvas.write(say(f"trend.{panel.quantity}", lang), left - _NAME_LEFT, top + 52, TextStyle(12.5, bold=True))
    canvas.write(_growth(trend, panel.quantity, lang), left - _NAME_LEFT, top + 20, TextStyle(10.5, SOFT))


def _line(panel: Panel, trend: Trend, axes: Axes) -> None:
    fit = trend.fits.get(panel.quantity)
    if fit is None:
        return
    span = [fit.first_year, fit.last_year]
    axes.plot(span, [fit.at(y) for y in span], color=INK, linewidth=2.2, zorder=3)
    beyond = [fit.last_year, panel.years[1]]
    axes.plot(beyond, [fit.at(y) for y in beyond], color=INK, linewidth=1.4, linestyle=(0, (2, 2)), zorder=3)


def _spot(axes: Axes, product: Product, value: float, maker: int) -> None:
    colour = MACHINES[maker]
    axes.plot(
        [product.year], [value], marker=_MARKERS[maker], markersize=8, linestyle="none", zorder=5,
        markerfacecolor=colour if product.fitted else PAPER, markeredgecolor=PAPER if product.fitted else colour,
        markeredgewidth=0.8 if product.fitted else 1.8, clip_on=False,
    )  # fmt: skip


def _named(panel: Panel, trend: Trend, canvas: Canvas) -> list[tuple[Placed, str]]:
    """The products that were the highest so far, with a place for their names; one without a place is left out."""
    records = _records(trend.products, panel.quantity)
    marks = [_mark(panel, product) for product in trend.products]
    field = Field(panel.frame.grown(-3), marks=marks, lines=[(_fitted(panel, trend), 90.0)])
    texts = [_short(product) for product in records]
    labels = [
        Label(i, _mark(panel, product), *canvas.size(text, _POINTS))
        for i, (product, text) in enumerate(zip(records, texts, strict=True))
    ]
    placed, _ = place(labels, field)
    return [(one, texts[one.key]) for one in placed]


def _records(products: Sequence[Product], quantity: str) -> list[Product]:
    """Of each year the highest, where it is higher than all before; the first of equals."""
    found: list[Product] = []
    for year in sorted({p.year for p in products}):
        best = max((p for p in products if p.year == year), key=lambda p: (p.fitted, p.value(quantity)))
        announced = max((p for p in products if p.year == year), key=lambda p: p.value(quantity))
        for one in dict.fromkeys((best, announced)):
            if not found or one.value(quantity) > max(p.value(quantity) for p in found):
                found.append(one)
    return found


def _mark(panel: Panel, product: Product) -> Box:
    return Box.around(panel.x(product.year), panel.y(product.value(panel.quantity)), _MARK, _MARK)


def _fitted(panel: Panel, trend: Trend) -> tuple[float, float, float, float]:
    fit = trend.fits.get(panel.quantity)
    if fit is None:
        return (0.0, 0.0, 0.0, 0.0)
    first, last = fit.first_year, panel.years[1]
    return panel.x(first), panel.y(fit.at(first)), panel.x(last), panel.y(fit.at(last))


def _short(product: Product) -> str:
    """A name without what stands in brackets."""
    return product.name.partition(" (")[0].removeprefix("GeForce ").removeprefix("Instinct ").removeprefix("Tesla ")


def _growth(trend: Trend, quantity: str, lang: str) -> str:
    fit = trend.fits.get(quantity)
    if fit is None:
        return say("trend.no_fit", lang)
    grown = percent(fit.growth_per_year - 1)
    spread = {"low": percent(fit.low - 1), "high": percent(fit.high - 1)}
    return say("trend.growth", lang, growth=grown, n=fit.n, **spread)


def _legend(makers: dict[str, int], trend: Trend, canvas: Canvas, lang: str) -> None:
    """One row below: makers, hollow points, the line."""
    y, x = 62.0, 60.0
    for i in sorted(set(makers.values())):
        names = [maker for maker, mine in makers.items() if mine == i]
        canvas.line((x,), (y,), MACHINES[i], marker=_MARKERS[i], markersize=8, linestyle="none")
        x = _beside(names[0] if len(names) == 1 else say("trend.others", lang), x, y, canvas)
    if not all(p.fitted for p in trend.products):
        canvas.line(
            (x,), (y,), SOFT, marker="o", markersize=8, linestyle="none", markerfacecolor=PAPER, markeredgewidth=1.8
        )
        x = _beside(say("trend.announced", lang), x, y, canvas)
    if trend.fits:
        canvas.line((x - 12, x + 26), (y, y), INK, 2.2)
        _beside(say("trend.line", lang), x + 22, y, canvas)
    canvas.write(say("trend.same_decades", lang), 48, 26, TextStyle(9.5, SOFT))


def _beside(text: str, x: float, y: float, canvas: Canvas) -> float:
    canvas.write(text, x + 16, y, TextStyle(10.5))
    return x + 16 + canvas.size(text, 10.5)[0] + 44
