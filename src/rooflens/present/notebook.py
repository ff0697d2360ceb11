"""Tables for notebooks: plain HTML that carries no script and takes nothing from its surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rooflens.present.tables import Value, cell, is_number

_CELL = "padding: 2px 10px; text-align: {side}"


def html_table(columns: Sequence[str], rows: Sequence[Sequence[Value]], caption: str | None = None) -> str:
    """An HTML table with every text escaped; numbers to the right, what is not known as "-"."""
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f'<th scope="col" style="{_CELL.format(side="left")}">{escape(c)}</th>' for c in columns)
    body = "".join(f"<tr>{''.join(_td(value) for value in row)}</tr>" for row in rows)
    return f"<table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _td(value: Value) -> str:
    text = cell(value)
    return f'<td style="{_CELL.format(side="right" if is_number(text) else "left")}">{escape(text)}</td>'
