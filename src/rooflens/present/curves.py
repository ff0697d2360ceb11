"""Curves over a load: time a token and tokens a second, floor and expectation, with the knee marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rooflens.prediction.edges import nearly_free
from rooflens.present.canvas import FONT, HEIGHT, WIDTH, blank
from rooflens.present.palette import FAINT, GRID, INK, MACHINES, SOFT
from rooflens.present.words import say
from rooflens.records import record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@record
class Curve:
    """One quantity over the load, in SI units. low, high: a band around the expectation, where there is one."""

    floor: tuple[float, ...]
    expected: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


def draw(
    loads: Sequence[float], over: str, times: Curve, rates: Curve, title: str, subtitle: str, lang: str = "en"
) -> Figure:
    """Two panels: milliseconds a token, and tokens a second of all sequences. over: "batch" or "context"."""
    figure = blank(WIDTH, HEIGHT)
    figure.text(0.06, 0.945, title, color=INK, fontsize=17, fontweight="bold", family=FONT)
    figure.text(0.06, 0.905, subtitle, color=SOFT, fontsize=10.5, family=FONT)
    panels = figure.subplots(
        1, 2, gridspec_kw={"left": 0.06, "right": 0.975, "top": 0.83, "bottom": 0.11, "wspace": 0.2}
    )
    ms = Curve(*(tuple(1e3 * v for v in part) for part in (times.floor, times.expected, times.low, times.high)))
    _panel(panels[0], loads, over, ms, say("curves.time", lang), lang)
    _panel(panels[1], loads, over, rates, say("curves.rate", lang), lang)
    at = nearly_free(loads, rates.expected or rates.floor) if over == "batch" else None
    if at is not None:
        for panel in panels:
            panel.axvline(loads[at], color=FAINT, linewidth=1.2, linestyle=(0, (4, 3)))
        said = say("curves.knee", lang, batch=f"{loads[at]:g}")
        figure.text(0.975, 0.905, said, color=SOFT, fontsize=10.5, ha="right", family=FONT)
    return figure


def _panel(axes: Axes, loads: Sequence[float], over: str, curve: Curve, label: str, lang: str) -> None:
    style: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.8}
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    if curve.low:
        axes.fill_between(
            loads, curve.low, curve.high, color=MACHINES[0], alpha=0.15, linewidth=0, label=say("curves.band", lang)
        )
    if curve.expected:
        axes.plot(loads, curve.expected, color=MACHINES[0], label=say("curves.expected", lang), **style)
    axes.plot(
        loads,
        curve.floor,
        color=MACHINES[1],
        linestyle=(0, (5, 2)),
        label=say("curves.floor", lang),
        **{**style, "marker": "s"},
    )
    axes.set_xlabel(say(f"curves.{over}", lang), color=SOFT, fontsize=11, family=FONT)
    axes.set_title(label, color=INK, fontsize=12, loc="left", family=FONT, pad=8)
    axes.grid(visible=True, which="major", color=GRID)
    axes.set_axisbelow(True)
    _plain(axes, loads)
    axes.legend(frameon=False, prop={"family": FONT, "size": 10}, handlelength=3.6)  # so long that dashes are seen


def _plain(axes: Axes, loads: Sequence[float]) -> None:
    """Numbers as people write them, and no box."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(min(loads) / 1.15, max(loads) * 1.15)
    axes.tick_params(colors=SOFT, labelsize=10)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(FAINT)
