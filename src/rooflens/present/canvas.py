"""A sheet of pixels on a matplotlib figure: measured text, lines, one log-log frame, PNG and SVG bytes.

matplotlib is imported on first use; nothing here touches pyplot or leaves a setting behind.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from rooflens.errors import RooflensError
from rooflens.present.boxes import Box
from rooflens.present.palette import FAINT, GRID, INK, PAPER, SOFT
from rooflens.records import record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTH, HEIGHT, DPI = 1920, 1080, 150
_MEASURED = 12.0
_UNDER = "halo"
HALO = 6.0  # points: wide enough that a line behind does not show between letters, as if it struck them out
LINE_HALO = 3.5  # of a text along a line: so narrow that it does not bite into that line
FONT = "DejaVu Sans"  # travels with matplotlib, so a picture is the same everywhere
_SETTINGS: Any = {
    "svg.hashsalt": "rooflens",
    "svg.fonttype": "path",
    "path.simplify": False,
    "axes.unicode_minus": False,
}


@record
class TextStyle:
    """How a text is written: points, colour, where its anchor is, turned by degrees, with a white halo or not."""

    points: float
    colour: str = INK
    ha: Literal["left", "center", "right"] = "left"
    bold: bool = False
    angle: float = 0.0
    halo: bool = False


def blank(width: float, height: float) -> Figure:
    """A figure of so many pixels with nothing on it.

    Raises RooflensError where matplotlib is not installed, has no folder to write in, or does not know its backend.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise RooflensError(
            "no picture: matplotlib is not installed; pip install matplotlib, or draw elsewhere"
        ) from None
    except OSError:
        raise RooflensError(
            "no picture: matplotlib finds no folder to write in; set MPLCONFIGDIR to one, or draw elsewhere"
        ) from None
    except ValueError:  # it reads its settings while it is imported
        raise RooflensError(
            "no picture: matplotlib does not know the backend that MPLBACKEND names; unset it, as none is needed here"
        ) from None
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor=PAPER)
    FigureCanvasAgg(figure)
    return figure


class Canvas:
    """One figure of WIDTH x HEIGHT pixels; all coordinates are pixels from the lower left corner."""

    def __init__(self, width: float = WIDTH, height: float = HEIGHT) -> None:
        self.figure = blank(width, height)
        from matplotlib.transforms import Affine2D

        self.width, self.height = width, height
        self.pixels = Affine2D().scale(1 / width, 1 / height) + self.figure.transFigure
        self._sizes: dict[tuple[str, bool], tuple[float, float]] = {}

    def size(self, text: str, points: float, *, bold: bool = False, angle: float = 0.0) -> tuple[float, float]:
        """Width and height in pixels of the upright box around this text, a little generous.

        Measured once a text, as the renderer draws it, and scaled: glyph hinting makes that right to 2 %.
        """
        if (text, bold) not in self._sizes:
            drawn = self._text(text, 0, 0, TextStyle(_MEASURED, bold=bold))
            box = drawn.get_window_extent()
            drawn.remove()
            self._sizes[text, bold] = (box.width, box.height)
        width, height = (side * points / _MEASURED * 1.02 for side in self._sizes[text, bold])
        cos, sin = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
        return width * cos + height * sin, width * sin + height * cos

    def write(self, text: str, x: float, y: float, style: TextStyle) -> None:
        """A text whose anchor (by `style.ha`, vertically its middle) is at (x, y)."""
        drawn = self._text(text, x, y, style)
        if style.halo:
            from matplotlib.patheffects import Normal, Stroke

            under = self._text(text, x, y, style)  # of its own and under all texts, so that no halo eats into letters
            under.set(label=_UNDER, zorder=drawn.get_zorder() - 0.5, color=PAPER)
            width = LINE_HALO if style.angle else HALO
            under.set_path_effects([Stroke(linewidth=width, foreground=PAPER, joinstyle="round")])
            drawn.set_path_effects([Normal()])  # both as outlines: hinted letters stand elsewhere

    def line(self, xs: Sequence[float], ys: Sequence[float], colour: str, width: float = 1.0, **more: Any) -> None:
        """A polyline, or markers when `more` says so, in pixels; `more` goes to Line2D."""
        from matplotlib.lines import Line2D

        self.figure.add_artist(Line2D(xs, ys, color=colour, linewidth=width, transform=self.pixels, **more))

    def area(self, box: Box, colour: str, **more: Any) -> None:
        """A filled rectangle without a rim, in pixels; `more` goes to Rectangle."""
        from matplotlib.patches import Rectangle

        width, height = box.x1 - box.x0, box.y1 - box.y0
        style: dict[str, Any] = {"facecolor": colour, "linewidth": 0.0, "transform": self.pixels, **more}
        self.figure.add_artist(Rectangle((box.x0, box.y0), width, height, **style))

    def frame(self, box: Box, xlim: tuple[float, float], ylim: tuple[float, float]) -> Axes:
        """Log-log axes filling `box`, without ticks or labels."""
        x, y, width, height = box.x0 / self.width, box.y0 / self.height, box.x1 - box.x0, box.y1 - box.y0
        axes = self.figure.add_axes((x, y, width / self.width, height / self.height), facecolor=PAPER)
        axes.set(xscale="log", yscale="log", xlim=xlim, ylim=ylim)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.set_axisbelow(True)
        return axes

    def _text(self, text: str, x: float, y: float, style: TextStyle) -> Text:
        return self.figure.text(
            x / self.width, y / self.height, _printable(text), fontsize=style.points, fontfamily=FONT, ha=style.ha,
            va="center", color=style.colour, fontweight="bold" if style.bold else "normal", rotation=style.angle,
            parse_math=False, linespacing=1.15, multialignment="left",
        )  # fmt: skip


def line_height(canvas: Canvas, points: float) -> float:
    """Pixels from one line of text to the next."""
    return canvas.size("Ågjÿ|ế", points)[1] + 4


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family=FONT))).get_charmap())


def _printable(text: str) -> str:
    """The text with "?" for what the font cannot draw, so that a foreign name costs no warning and no empty box."""
    return text if text.isascii() else "".join(c if c == "\n" or ord(c) in _glyphs() else "?" for c in text)


def ticks(
    axes: Axes, which: Literal["x", "y"], majors: Sequence[tuple[float, str]], minors: Sequence[float], points: float
) -> None:
    """Fixed ticks with fixed texts, so that nothing moves or overlaps later; a light grid on the majors."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator([value for value, _ in majors]))
    axis.set_major_formatter(FixedFormatter([text for _, text in majors]))
    axis.set_minor_locator(FixedLocator(list(minors)))
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis=which, which="major", labelsize=points, labelfontfamily=FONT, labelcolor=SOFT, length=6)
    axes.tick_params(axis=which, which="minor", length=3)
    axes.tick_params(axis=which, which="both", color=FAINT)
    axes.grid(visible=True, axis=which, which="major", color=GRID, linewidth=0.8)


def render(figure: Figure, kind: str) -> bytes:
    """The figure as "png" or "svg" bytes: the same bytes for the same figure, without dates or machine names.

    Raises ValueError for another kind.
    """
    import matplotlib as mpl

    if kind not in {"png", "svg"}:
        raise ValueError(f"a plot is written as png or svg, not {kind!r}")
    sheet = io.BytesIO()
    empty = {"Software": None} if kind == "png" else {"Date": None, "Creator": "rooflens", "Format": None, "Type": None}
    with mpl.rc_context(_SETTINGS):
        figure.savefig(sheet, format=kind, dpi=DPI, metadata=empty, facecolor=PAPER)
    return sheet.getvalue() if kind == "png" else _titled(sheet.getvalue(), figure.get_label())


def text_boxes(figure: Figure) -> list[tuple[str, Box]]:
    """Every visible text with its measured box in pixels: what must lie inside the figure and never overlap."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_label() != _UNDER]
    seen = [t for t in texts if t.get_text().strip()]
    boxes = [(t.get_text(), t.get_window_extent()) for t in seen]
    return [(text, Box(b.x0, b.y0, b.x1, b.y1)) for text, b in boxes]


def _titled(svg: bytes, title: object) -> bytes:
    """The same SVG with a role and a title for people who hear it instead."""
    from xml.sax.saxutils import escape, quoteattr

    text = str(title or "roofline")
    head = f'<svg role="img" aria-label={quoteattr(text)} '
    body = svg.decode("utf-8").replace("<svg ", head, 1)
    return re.sub(r"(<svg [^>]*>)", lambda m: f"{m[1]}\n <title>{escape(text)}</title>", body, count=1).encode("utf-8")
