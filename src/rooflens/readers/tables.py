"""Tables in text: comma- or tab-separated, between bars, or in columns of blanks, with whatever a tool prints around.

In columns of blanks the rule below the header says where each begins and ends, since a cell may hold blanks itself.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator

from rooflens.errors import BadFile

Row = dict[str, str]
_APART = re.compile(r"\s{2,}")
_RULE = re.compile(r"[\s\-=|+:]*")
_DASHES = re.compile(r"-+|=+")
_NAMES = ("Name", "Operation", "Range", "Kernel Name", "KernelName", "Kernel_Name")


def tables(lines: Iterable[str], where: str, is_header: Callable[[str], bool]) -> Iterator[tuple[tuple[str, ...], Row]]:
    """The rows of every table whose header is known by `is_header`, each with its header; an empty line ends a table.

    A name keeps its commas where nobody quoted it. Raises BadFile for a line that is no CSV, and for a table whose
    first row has more cells than its header; a later one is no row of it.
    """
    table: _Table | None = None
    for number, line in enumerate(lines, 1):
        plain = line.strip().lstrip("\ufeff")
        try:
            if is_header(plain):
                table = _Table(plain)
            elif not plain:
                table = None if table and table.rows else table
            elif table and _RULE.fullmatch(plain):
                table.ruled(line)
            elif table:
                cells, titles = table.cells(line), len(table.header)
                if len(cells) > titles and table.rows == 1:
                    raise BadFile(where, [f"line {number} has {len(cells)} cells below a header of {titles} titles"])
                if titles - 1 <= len(cells) <= titles:
                    yield table.header, dict(zip(table.header, cells, strict=False))
        except csv.Error as error:
            raise BadFile(where, [f"line {number} is no CSV: {error}"]) from None


class _Table:
    """How the lines of one table are cut into cells."""

    def __init__(self, line: str) -> None:
        self.between = next((mark for mark in "|\t," if mark in line and (mark != "|" or line.startswith("|"))), "")
        self.rows = 0
        self.spans: list[tuple[int, int]] = []
        self.header: tuple[str, ...] = ()
        self.header = tuple(name.strip() for name in self._cut(line))

    def ruled(self, line: str) -> None:
        """Takes the columns from the rule below the header."""
        spans = [found.span() for found in _DASHES.finditer(line)]
        if not self.between and not self.rows and len(spans) == len(self.header):
            self.spans = spans

    def cells(self, line: str) -> list[str]:
        """The cells of a row."""
        self.rows += 1
        cells = self._by_columns(line) or self._cut(line.strip())
        while len(cells) > len(self.header) and not cells[-1]:
            cells.pop()
        more = len(cells) - len(self.header)
        name = next((at for at, title in enumerate(self.header) if title in _NAMES), None)
        if self.between == "," and more > 0 and name is not None and f'"{cells[name]}"' not in line:
            cells[name : name + more + 1] = [", ".join(cells[name : name + more + 1])]
        return cells

    def _by_columns(self, line: str) -> list[str]:
        """Empty where there is no rule, or a cell stands across two of its columns."""
        ends = [end for _, end in self.spans]
        starts = [0, *(start for start, _ in self.spans[1:])]
        if not self.spans or any(line[end:start].strip() for end, start in zip(ends, starts[1:], strict=False)):
            return []
        return [line[start:end].strip() for start, end in zip(starts, [*ends[:-1], len(line)], strict=False)]

    def _cut(self, line: str) -> list[str]:
        if self.between == ",":
            return next(csv.reader([line], skipinitialspace=True), [])
        if self.between:
            return [cell.strip() for cell in line.strip(self.between).split(self.between)]
        return _APART.split(line, maxsplit=max(len(self.header) - 1, 0))
