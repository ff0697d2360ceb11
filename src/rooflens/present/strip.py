"""A whole as one bar: pieces from left to right, each named inside it or, where too small, in a line below."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.present.boxes import Box
from rooflens.present.canvas import Canvas, TextStyle, line_height
from rooflens.present.palette import FAINT, INK, PIECES, SOFT
from rooflens.present.words import say, share
from rooflens.records import record
from rooflens.units import show

HEAD_POINTS, NAME_POINTS, TIME_POINTS, BELOW_POINTS = 13.0, 11.0, 10.0, 9.5
TALL = 60.0
_PAD, _GUTTER, _SWATCH, _SKY = 9.0, 17.0, 16.0, 9.0
_TINY = 1e-4


@record
class Piece:
    """A part of the whole: its seconds, and the pixels it takes."""

    part: str
    time_s: float
    x0: float
    x1: float
    name: str
    figure: str
    inside: bool

    @property
    def below(self) -> str:
        """What is written of it under the bar."""
        return f"{self.name} {self.figure}"


@record
class Strip:
    """Heading, bar and the lines below it, `height` pixels in all."""

    heading: str
    pieces: tuple[Piece, ...]
    lines: tuple[tuple[Piece, ...], ...]
    height: float


def lay(parts: Mapping[str, float], heading: str, canvas: Canvas, margin: float, lang: str) -> Strip:
    """The bar of these seconds over the width between the margins; a part of no time at all is left out."""
    whole_s, room = sum(parts.values()), canvas.width - 2 * margin
    pieces: list[Piece] = []
    x = margin
    for part, time_s in parts.items():
        if time_s > 0:
            pieces.append(_piece(part, time_s, whole_s, (x, x + room * time_s / whole_s), canvas, lang))
            x = pieces[-1].x1
    lines = _lines([one for one in pieces if not one.inside], canvas, room)
    height = line_height(canvas, HEAD_POINTS) + TALL + len(lines) * _step(canvas) + 2 * _SKY
    return Strip(heading, tuple(pieces), lines, height)


def paint(strip: Strip, canvas: Canvas, margin: float, bottom: float) -> None:
    """The strip with its lower edge at `bottom`."""
    step = _step(canvas)
    low = bottom + _SKY + len(strip.lines) * step
    for piece in strip.pieces:
        _area(piece.part, Box(piece.x0, low, piece.x1, low + TALL), canvas)
        if piece.inside:
            x, ink = (piece.x0 + piece.x1) / 2, PIECES[piece.part][1]
            canvas.write(piece.name, x, low + 0.72 * TALL, _style(piece, NAME_POINTS, ink))
            canvas.write(piece.figure, x, low + 0.27 * TALL, _style(piece, TIME_POINTS, ink))
    xs, ys = (margin, canvas.width - margin), (low, low + TALL)
    canvas.line((xs[0], xs[1], xs[1], xs[0], xs[0]), (ys[0], ys[0], ys[1], ys[1], ys[0]), FAINT, 0.8)
    head = low + TALL + _SKY / 2 + line_height(canvas, HEAD_POINTS) / 2
    canvas.write(strip.heading, margin, head, TextStyle(HEAD_POINTS, bold=True))
    for i, line in enumerate(strip.lines):
        _below(line, canvas, margin, low - (i + 0.5) * step - 4)


def named(part: str, lang: str) -> str:
    """What a part is called, as in the table; the floor plainly so."""
    return say("spent.floor" if part == "floor" else f"kernels.part.{part}", lang)


def _piece(
    part: str, time_s: float, whole_s: float, ends: tuple[float, float], canvas: Canvas, lang: str
) -> Piece:  # fmt: skip
    name = named(part, lang)
    figure = say("spent.figure", lang, time=show(time_s, "s", 3), share=_share(time_s / whole_s))
    wide = max(canvas.size(name, NAME_POINTS, bold=True)[0], canvas.size(figure, TIME_POINTS)[0]) + 2 * _PAD
    return Piece(part, time_s, *ends, name, figure, inside=wide <= ends[1] - ends[0])


def _share(of: float) -> str:
    return share(of) if of >= _TINY else f"< {share(_TINY)}"


def _lines(small: list[Piece], canvas: Canvas, room: float) -> tuple[tuple[Piece, ...], ...]:
    """Pieces packed into lines that fit."""
    lines: list[list[Piece]] = []
    used = 0.0
    for piece in small:
        wide = _wide(piece, canvas)
        if not lines or used + wide - _GUTTER > room:
            lines.append([])
            used = 0.0
        lines[-1].append(piece)
        used += wide
    return tuple(tuple(line) for line in lines)


def _below(line: tuple[Piece, ...], canvas: Canvas, x: float, y: float) -> None:
    for piece in line:
        box = Box.around(x + _SWATCH / 2, y, _SWATCH, _SWATCH)
        _area(piece.part, box, canvas)
        canvas.line(
            (box.x0, box.x1, box.x1, box.x0, box.x0), (box.y0, box.y0, box.y1, box.y1, box.y0), FAINT, 0.8
        )  # fmt: skip
        canvas.write(piece.below, box.x1 + 8, y, TextStyle(BELOW_POINTS, INK))
        x += _wide(piece, canvas)


def _area(part: str, box: Box, canvas: Canvas) -> None:
    fill, _, hatch = PIECES[part]
    canvas.area(box, fill, hatch=hatch, edgecolor=SOFT if hatch else fill)


def _style(piece: Piece, points: float, ink: str) -> TextStyle:
    return TextStyle(points, ink, "center", bold=points == NAME_POINTS, halo=bool(PIECES[piece.part][2]))


def _wide(piece: Piece, canvas: Canvas) -> float:
    return _SWATCH + 8 + canvas.size(piece.below, BELOW_POINTS)[0] + _GUTTER


def _step(canvas: Canvas) -> float:
    return line_height(canvas, BELOW_POINTS) + 2
