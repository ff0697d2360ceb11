"""The roofline as a picture: 16:9, for a talk, in colour or grey.

draw(machines, points) -> a matplotlib Figure;  render(figure, "png" | "svg") -> bytes;  text_boxes(figure) for tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rooflens.present.canvas import Canvas, render, text_boxes
from rooflens.present.layout import arrange
from rooflens.present.paint import paint
from rooflens.present.scene import Points, compose
from rooflens.roofline.ceilings import Machine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "render", "text_boxes"]


def draw(
    machines: Machine | Sequence[Machine],
    points: Points = (),
    *,
    title: str | None = None,
    lang: str = "en",
) -> Figure:
    """A log-log roofline of one machine, or of up to five side by side, with operator points.

    Drawn: every trusted compute roof (sustained and measured solid, burst and datasheet dashed), read slopes of main
    memory and caches, link slopes, ridges, launch caps. Measured points are filled, attainable ones hollow. Points
    above 100 % are drawn and marked. An untrusted ceiling is never drawn; a note names it.
    `points`: a sequence (of the first machine) or {machine name: sequence}.
    Raises RooflensError when there is nothing to draw.
    """
    scene = compose(machines, points, title=title, lang=lang)
    canvas = Canvas()
    paint(arrange(scene, canvas), canvas)
    canvas.figure.set_label(scene.title)
    return canvas.figure
