"""Tables in text: comma-separated, or in columns with blanks between them, with whatever a tool prints around them."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator

from rooflens.errors import BadFile

Row = dict[str, str]
_APART = re.compile(r"\s{2,}")
_RULE = re.compile(r"[\s\-=|+:]*")
_NAMES = ("Name", "Operation", "Range", "Kernel Name")


def tables(lines: Iterable[str], where: str, is_header: Callable[[str], bool]) -> Iterator[tuple[tuple[str, ...], Row]]:
    """The rows of every table whose header is known by `is_header`, each with its header; an empty line ends a table.

    A name that stands last keeps its commas where nobody quoted it. Raises BadFile for a line that is no CSV.
    """
    header: tuple[str, ...] = ()
    comma = True
    for number, line in enumerate(lines, 1):
        plain = line.strip().lstrip("\ufeff")
        if is_header(plain):
            comma = "," in plain
            header = tuple(name.strip() for name in _cells(plain, 0, where, number, comma=comma))
        elif not plain:
            header = ()
        elif header and not _RULE.fullmatch(plain):
            cells = _cells(plain, len(header), where, number, comma=comma)
            if comma and len(cells) > len(header) and header[-1] in _NAMES:
                cells[len(header) - 1 :] = [", ".join(cells[len(header) - 1 :])]
            if len(cells) >= len(header) - 1:
                yield header, dict(zip(header, cells, strict=False))


def _cells(line: str, most: int, where: str, number: int, *, comma: bool) -> list[str]:
    if not comma:
        return _APART.split(line, maxsplit=max(most - 1, 0))
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error as error:
        raise BadFile(where, [f"line {number} is no CSV: {error}"]) from None
