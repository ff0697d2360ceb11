"""What stands around the frame: roof names at the line ends, the key, the numbered list, the notes."""

from __future__ import annotations

from collections.abc import Sequence

from rooflens.present import ladder
from rooflens.present.boxes import Box, spread
from rooflens.present.canvas import DPI, Canvas, TextStyle, line_height
from rooflens.present.ladder import Rung
from rooflens.present.palette import ALARM, DASHES, FAINT, INK, LINK_DASH, MACHINES, SOFT, TAGS, dtype_colour, marker
from rooflens.present.roofs import NEAR, SOLID, STYLES, Roof, rates, wider
from rooflens.present.scale import Scale
from rooflens.present.scene import Scene, listed
from rooflens.present.sized import side
from rooflens.present.words import say
from rooflens.records import record
from rooflens.units import percent, show

WIDEST = 600.0
KEY_POINTS = 10.5
NOTE_POINTS = 9.5
LIST_POINTS = 10.0
LIST_ROWS = 14
_SAMPLE, _RIM = 64.0, 1.6
_SHOWN = (0.1, 0.01)  # the shares whose area the key shows
_FITS = (
    (0.0, (12.5, 11.5, 10.5, 9.5, 8.5)), (0.12, (10.5, 9.5, 8.5)), (0.3, (10.5, 9.5, 8.5)),
    (0.55, (10.5, 9.5, 8.5)), (1.0, (10.5, 9.5, 8.5, 7.5, 6.5)),
)  # fmt: skip


@record
class Row:
    """One line of the key: a sample (a dash style, a marker of this size in points, or a letter) and its text."""

    kind: str
    text: str
    colour: str = SOFT
    style: str = ""
    size: float = 9.0


@record
class End:
    """A roof label at the right: the roofs it names, its text."""

    roofs: tuple[Roof, ...]
    text: str
    colour: str


@record
class Column:
    """The right-hand column: roof labels at one size, key rows below them, all within `width` pixels."""

    ends: tuple[End, ...]
    points: float
    rows: tuple[Row, ...]
    width: float
    key_height: float
    rungs: tuple[Rung, ...] = ()


def column(scene: Scene, canvas: Canvas, height: float) -> Column:
    """The largest label size, and if need be the coarsest joining of labels, that fits `height` pixels."""
    rows = tuple(_rows(scene))
    key_height = len(rows) * line_height(canvas, KEY_POINTS) + 18
    key_width = max((canvas.size(row.text, KEY_POINTS)[0] + _SAMPLE for row in rows), default=0.0)
    if steps := ladder.rungs(scene):
        points, wide = ladder.fitted(steps, canvas, height - key_height, scene.lang)
        return Column((), points, rows, max(wide, key_width), key_height, steps)
    for tolerance, sizes in _FITS:
        ends = _ends(scene, tolerance)
        for points in sizes:
            wide = max((canvas.size(end.text, points)[0] for end in ends), default=0.0) + 30
            tall = len(ends) * (line_height(canvas, points) + 1)
            if wide <= WIDEST and tall <= height - key_height:
                return Column(ends, points, rows, max(wide, key_width), key_height)
    return Column(ends, points, rows, max(min(wide, WIDEST), key_width), key_height)


def paint_column(column: Column, canvas: Canvas, frame: Box, y_of: Scale, used: set[str], lang: str) -> None:
    """Roof labels with leaders from their line ends, or the ladder's table; then the key at the bottom."""
    x = frame.x1 + 46
    if column.rungs:
        ladder.paint(column.rungs, canvas, frame, y_of, (column.points, column.key_height), used, lang)
    else:
        _paint_ends(column, canvas, frame, y_of, used)
    paint_rows(column.rows, canvas, x, frame.y0 + 4)


def _paint_ends(column: Column, canvas: Canvas, frame: Box, y_of: Scale, used: set[str]) -> None:
    x = frame.x1 + 46
    size = line_height(canvas, column.points) + 1
    ends = sorted(column.ends, key=lambda end: -end.roofs[0].value)
    wanted = [y_of(end.roofs[0].value) for end in ends]
    centres = spread(wanted, [size] * len(ends), frame.y0 + column.key_height, frame.y1 + size / 2)
    for end, y in zip(ends, centres, strict=True):
        for roof in end.roofs:
            canvas.line((frame.x1 + 3, frame.x1 + 20, x - 8), (y_of(roof.value), y, y), end.colour, 0.8, alpha=0.7)
        shown = next((d for roof in end.roofs for d in roof.dtypes if d in used), None)
        if shown:
            canvas.line((x + 6,), (y,), end.colour, 0, marker=marker(shown), markersize=7)
        canvas.write(end.text, x + (20 if shown else 0), y, TextStyle(column.points, end.colour))


def paint_rows(rows: Sequence[Row], canvas: Canvas, x: float, bottom: float) -> None:
    """The key: a sample and a text a row, the last row at the bottom."""
    step = line_height(canvas, KEY_POINTS)
    for i, row in enumerate(reversed(rows)):
        y = bottom + (i + 0.5) * step
        _sample(row, canvas, x, y)
        canvas.write(row.text, x + _SAMPLE, y, TextStyle(KEY_POINTS))


def wrap_notes(notes: Sequence[str], canvas: Canvas, width: float) -> list[str]:
    """Notes packed into lines that fit; an overlong note is broken at blanks, at most four lines in all."""
    words = [w for i, note in enumerate(notes) for w in ((["·"] if i else []) + note.split())]
    lines: list[str] = []
    for word in words:
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and canvas.size(longer, NOTE_POINTS)[0] <= width:
            lines[-1] = longer
        elif canvas.size(word, NOTE_POINTS)[0] <= width:
            lines.append(word)
    return lines if len(lines) <= 4 else [*lines[:3], lines[3] + " …"]


def list_columns(texts: Sequence[str], canvas: Canvas, width: float) -> list[list[str]]:
    """The numbered list cut into columns of equal width, filled downwards; overlong lists end in "…"."""
    if not texts:
        return []
    widest = max(canvas.size(text, LIST_POINTS)[0] for text in texts) + 36
    count = max(1, int((width + 36) // widest))
    rows = min(-(-len(texts) // count), LIST_ROWS)
    kept = list(texts) if len(texts) <= rows * count else [*texts[: rows * count - 1], "…"]
    return [kept[i : i + rows] for i in range(0, len(kept), rows)]


def list_height(columns: Sequence[Sequence[str]], canvas: Canvas) -> float:
    """Pixels that the numbered list takes, 0 for none."""
    return max((len(c) for c in columns), default=0) * line_height(canvas, LIST_POINTS) + (14 if columns else 0)


def paint_list(columns: Sequence[Sequence[str]], canvas: Canvas, x: float, top: float) -> None:
    """The numbered list below the frame, column by column."""
    step = line_height(canvas, LIST_POINTS)
    for texts in columns:
        for i, text in enumerate(texts):
            canvas.write(text, x, top - (i + 0.5) * step, TextStyle(LIST_POINTS))
        x += max(canvas.size(text, LIST_POINTS)[0] for text in texts) + 36


def _ends(scene: Scene, tolerance: float) -> tuple[End, ...]:
    groups = wider(scene.roofs, tolerance) if tolerance else [[roof] for roof in scene.roofs]
    return tuple(_end(group, scene) for group in groups)


def _end(group: Sequence[Roof], scene: Scene) -> End:
    first = group[0]
    text = first.label
    if len(group) > 1:
        names = listed((d for roof in group for d in roof.dtypes), scene.lang)
        text = say("plot.roof", scene.lang, names=names, rate=rates(min(r.low for r in group), first.value))
    if not scene.compares:
        return End(tuple(group), text, dtype_colour(first.dtypes[0]))
    return End(tuple(group), f"{TAGS[first.machine]}  {text}", MACHINES[first.machine])


def _rows(scene: Scene) -> list[Row]:
    def word(key: str, **values: object) -> str:
        return say(key, scene.lang, **values)

    rows: list[Row] = []
    if scene.compares:
        rows += [Row("letter", f"{TAGS[i]}  {_short(m.title)}", MACHINES[i]) for i, m in enumerate(scene.machines)]
    rows += _styles(scene)
    if any(s.weight == 0 for s in scene.slopes):
        rows.append(Row("link", word("key.link")))
    if any(s.share is not None for s in scene.spots):
        rows += [_area(share_of, scene.lang) for share_of in _SHOWN]
    elif any(s.point.measured for s in scene.spots):
        rows.append(Row("filled", word("key.measured_point")))
    if any(not s.point.measured for s in scene.spots):
        rows.append(Row("hollow", word("key.attainable_point")))
    if any(s.cap for s in scene.spots):
        rows.append(Row("cap", word("key.launch", time=show(scene.launch_s, "s", 2)), INK))
    if gemm_lines(scene):
        rows.append(Row("gemm", word("key.gemm")))
    if any(s.finding for s in scene.spots):
        rows.append(Row("alarm", word("key.above"), ALARM))
    return rows


def _area(share_of: float, lang: str) -> Row:
    return Row("filled", say("spent.area", lang, share=percent(share_of)), size=side(share_of, "o") * 72 / DPI - _RIM)


def _styles(scene: Scene) -> list[Row]:
    """What solid and dashed mean; a ladder's table says it in its header, so there only what caps the solid ones."""
    if scene.ladder:
        return [Row("line", text, INK, "sustained") for text in ladder.power(scene)]
    drawn = {r.style for r in scene.roofs} | {s.style for s in scene.slopes if s.weight}
    if not drawn - set(SOLID):
        return []
    shown = [style for style in STYLES if style in drawn and not (style == "sustained" and "measured" in drawn)]
    return [Row("line", say(f"style.{style}", scene.lang), INK, style) for style in shown]


def gemm_lines(scene: Scene) -> list[tuple[int, str, float]]:
    """(machine, dtype, rate) of the fastest measured compute-bound point of each; none in comparisons."""
    best: dict[tuple[int, str], float] = {}
    for spot in scene.spots if not scene.compares else ():
        if spot.point.measured and spot.share is None and spot.point.bound == "compute":
            where = (spot.machine, spot.point.dtype)
            best[where] = max(best.get(where, 0.0), spot.rate)
    return [(machine, dtype, rate) for (machine, dtype), rate in best.items() if not _on_a_roof(scene, machine, rate)]


def _on_a_roof(scene: Scene, machine: int, rate: float) -> bool:
    """Whether a line at this rate could not be told from a roof that is drawn."""
    return any(r.machine == machine and abs(rate / r.value - 1) < NEAR for r in scene.roofs)


def _sample(row: Row, canvas: Canvas, x: float, y: float) -> None:
    ends = ((x, x + 52), (y, y))
    if row.kind == "line":
        canvas.line(*ends, row.colour, 2, linestyle=DASHES[row.style])
    elif row.kind == "link":
        canvas.line(*ends, FAINT, 1.6, linestyle=LINK_DASH)
    elif row.kind == "gemm":
        canvas.line(*ends, row.colour, 1.4, linestyle=":")
    elif row.kind == "letter":
        canvas.line(*ends, row.colour, 2.6)
    elif row.kind == "cap":
        canvas.line((x + 26, x + 26), (y - 11, y + 9), SOFT, 1.0)
        canvas.line((x + 21, x + 31), (y + 9, y + 9), row.colour, 2.2)
    elif row.kind == "alarm":
        canvas.line((x + 26,), (y,), row.colour, 0, marker="o", markersize=13, fillstyle="none", markeredgewidth=1.8)
    else:
        face = row.colour if row.kind == "filled" else "white"
        canvas.line(
            (x + 26,), (y,), row.colour, 0, marker="o", markersize=row.size, markerfacecolor=face, markeredgewidth=_RIM
        )


def _short(title: str, most: int = 30) -> str:
    return title if len(title) <= most else title[: most - 1] + "…"
