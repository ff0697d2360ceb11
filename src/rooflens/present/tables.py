"""Tables as text: aligned and plain, or drawn by rich when the caller says that a terminal wants colour.

Reads neither the environment nor the terminal: width and colour arrive as arguments.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence

from rooflens.present.words import say, share
from rooflens.units import show

Value = str | float | int | bool | None
_NUMBER = re.compile(r"[-+<>~≤≥]?\s*[\d.,]+(?:e[-+]?\d+)?(?:\s?[–-]\s?[\d.,]+)?(\s*[%x]|\s\S+)?", re.IGNORECASE)
_GAP = 2
_LEAST = 8


def table(
    columns: Sequence[str], rows: Sequence[Sequence[Value]], *, width: int | None = None, colour: bool = False,
    lang: str = "en",
) -> str:  # fmt: skip
    """Columns two blanks apart, those of numbers to the right. With `width`, never wider than that.

    Too wide for `width`: long text cells are cut with "…"; where that is not enough, each row becomes a block of
    "column  value" lines. `colour`: the same table with bold heads and terminal escapes, through rich.
    """
    cells = [[cell(value, lang=lang) for value in row] for row in rows]
    heads = [_line(c) for c in columns]
    if not cells:
        return "  ".join(heads) + "\n" + say("table.empty", lang) if heads else say("table.empty", lang)
    right = [
        all(is_number(row[i]) for row in cells) and any(_digits(row[i]) for row in cells) for i in range(len(heads))
    ]
    widths = [max(_wide(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
    if width is not None:
        least = [
            have if number else min(have, max(_LEAST, _wide(head)))
            for have, number, head in zip(widths, right, heads, strict=True)
        ]
        least[0] = _apart([row[0] for row in cells], least[0], widths[0])
        widths = _narrowed(widths, least, width)
        if sum(widths) + _GAP * (len(widths) - 1) > width:
            return _blocks(heads, cells, width)
    if colour:
        return _rich(heads, cells, right, widths)
    return "\n".join(_joined(line, widths, right) for line in [heads, *cells])


def cell(value: Value, unit: str | None = None, lang: str = "en") -> str:
    """A value as a cell: "2.04 TB/s" with a unit, a share with the unit "%", "-" for what is not known."""
    if value is None:
        return say("table.unknown", lang)
    if isinstance(value, bool):
        return say("table.yes" if value else "table.no", lang)
    if isinstance(value, str):
        return _line(value)
    if unit == "%":
        return share(value)
    if unit:
        return show(value, unit)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def _line(text: str) -> str:
    """One line without control characters: a name from a file must not move the cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split(" ")).strip()


def is_number(text: str) -> bool:
    """Whether a cell reads as a number, with or without a unit: "0.64 %", "1,215 FLOP/B", "770–791", "-"."""
    return text in {"", "-"} or _NUMBER.fullmatch(text) is not None


def _digits(text: str) -> bool:
    return any(c.isdigit() for c in text)


def _wide(text: str) -> int:
    """Columns that a terminal gives this text: two for wide letters, none for combining marks."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in {"W", "F"} else 1 for c in text
    )


def _narrowed(widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Text columns cut, the widest first, as far as they stay readable; numbers are never cut."""
    narrow = list(widths)
    while sum(narrow) + _GAP * (len(narrow) - 1) > width:
        spare = [have - need for have, need in zip(narrow, least, strict=True)]
        widest = max(range(len(narrow)), key=lambda i: (spare[i] > 0, narrow[i]))
        if spare[widest] <= 0:
            break
        narrow[widest] -= 1
    return narrow


def _apart(names: Sequence[str], least: int, most: int) -> int:
    """How far the names of rows may be cut and still be told apart."""
    different = len(set(names))
    return next((w for w in range(least, most) if len({_cut(name, w) for name in names}) == different), most)


def _cut(text: str, width: int) -> str:
    if _wide(text) <= width:
        return text
    while text and _wide(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def _padded(text: str, width: int, *, right: bool) -> str:
    cut = _cut(text, width)
    blanks = " " * (width - _wide(cut))
    return blanks + cut if right else cut + blanks


def _joined(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (_padded(text, w, right=r) for text, w, r in zip(line, widths, right, strict=True))
    return (" " * _GAP).join(padded).rstrip()


def _blocks(heads: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> str:
    """Every row as lines of head and value, wrapped and not cut, for terminals narrower than the table."""
    lead = min(max(_wide(head) for head in heads), max(_LEAST, width // 2 - _GAP))
    room = max(1, width - lead - _GAP)
    blocks = []
    for row in cells:
        lines: list[str] = []
        for head, text in zip(heads, row, strict=True):
            first, *more = textwrap.wrap(text, room) or [""]
            lines.append(f"{_padded(head, lead, right=False)}{' ' * _GAP}{first}".rstrip())
            lines += [" " * (lead + _GAP) + part for part in more]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _rich(heads: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], widths: Sequence[int]) -> str:
    import io

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for head, number, wide in zip(heads, right, widths, strict=True):
        drawn.add_column(
            Text(head), justify="right" if number else "left", width=wide, no_wrap=True, overflow="ellipsis"
        )
    for row in cells:
        drawn.add_row(*(Text(text) for text in row))
    sheet = io.StringIO()
    console = Console(
        file=sheet, force_terminal=True, color_system="standard", legacy_windows=False, _environ={},
        width=sum(widths) + 4 * len(widths) + 4,
    )  # fmt: skip
    console.print(drawn)
    return "\n".join(line.rstrip() for line in sheet.getvalue().splitlines())
