"""The floors of the house, from the import contract in pyproject.toml: as a drawing, and as a table of rooms.

    python tools/rooms.py        writes docs/pictures/architecture.svg

The contract is what import-linter holds the code to, so the drawing cannot say anything else.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rooflens"
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
CONTRACT = "Imports point down, and every module stands on a floor"
TOPS = {  # what a floor is called, by the first room on it
    "__main__": "door", "cli": "door", "server": "door", "api": "door", "lab": "show", "present": "draw",
    "prediction": "think", "measure": "meet", "roofline": "roof", "models": "work", "catalogue": "know",
    "dtypes": "ground", "frozen": "ground", "units": "ground", "errors": "ground",
}  # fmt: skip
WIDTH, LEFT, HIGH, GAP, LETTER = 960, 74, 30, 8, 7.4


class Floor(NamedTuple):
    """Rooms beside each other. apart: none of them may know another. shut: nor one of the floor below."""

    name: str
    rooms: tuple[str, ...]
    apart: bool
    shut: bool


def floors() -> list[Floor]:
    """The contract's layers, top to bottom; rooms that are not built yet are left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [c for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    main = next(c for c in contracts if c["name"] == CONTRACT)
    turned = {pair for c in contracts if c is not main for pair in pairwise(map(_rooms, c["layers"]))}
    found = []
    for layer, below in pairwise([*main["layers"], ""]):
        rooms = _rooms(layer)
        built = tuple(room for room in rooms if (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").is_file())
        if built:  # a pair that another contract has the other way round may not meet at all
            found.append(Floor(TOPS[rooms[0]], built, "|" in layer, (_rooms(below), rooms) in turned))
    return found


def _rooms(layer: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", layer))


def purpose(room: str) -> str:
    """What a room is for: the first line of its docstring."""
    path = PACKAGE / room / "__init__.py" if (PACKAGE / room).is_dir() else PACKAGE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip().replace("|", "\\|")


def table() -> None:
    """Prints every room with its floor and what it is for."""
    print("| room | floor | is for |\n| --- | --- | --- |")
    for floor in floors():
        for room in floor.rooms:
            print(f"| `{room}` | {floor.name} | {purpose(room)} |")


def rows(rooms: tuple[str, ...]) -> list[list[str]]:
    """Rooms of a floor, as many beside each other as there is place."""
    lines: list[list[str]] = [[]]
    for room in rooms:
        wide = sum(_wide(one) + GAP for one in (*lines[-1], room))
        if lines[-1] and LEFT + wide > WIDTH - GAP:
            lines.append([])
        lines[-1].append(room)
    return lines


def drawing() -> str:
    """The floors as an SVG: a box a room, arrows pointing the way that imports may."""
    body, y = [], 16.0
    for floor in floors():
        lines = rows(floor.rooms)
        high = len(lines) * (HIGH + GAP) + GAP
        body += _band(floor, y, high, lines)
        y += high + 14
        body += [f'<path d="M 34 {y - 7:g} H {WIDTH - 8}" stroke="#b00" stroke-width="2"/>'] if floor.shut else []
    arrow = f'<path d="M 20 20 V {y - 24:g} m -5 -9 l 5 9 l 5 -9" fill="none" stroke="#777" stroke-width="1.5"/>'
    said = "imports point down; where a red line stands between, neither side knows the other"
    foot = f'<text x="{LEFT}" y="{y + 8:g}" fill="#555">{said}</text>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 20:g}" width="{WIDTH}" role="img" '
        f'font-family="sans-serif" font-size="13"><title>The floors of rooflens</title>'
        f'<rect width="{WIDTH}" height="{y + 20:g}" fill="#fff"/>'
    )
    return "\n".join([head, arrow, *body, foot, "</svg>"]) + "\n"


def _wide(room: str) -> float:
    return len(room) * LETTER + 20


def _band(floor: Floor, y: float, high: float, lines: list[list[str]]) -> Iterator[str]:
    yield f'<rect x="34" y="{y:g}" width="{WIDTH - 42}" height="{high:g}" rx="4" fill="#f3f4f6"/>'
    middle = y + high / 2
    yield f'<text transform="rotate(-90 52 {middle:g})" x="52" y="{middle:g}" text-anchor="middle" fill="#555">'
    yield f"{escape(floor.name)}</text>"
    for number, line in enumerate(lines):
        top, x = y + GAP + number * (HIGH + GAP), float(LEFT)
        for place, room in enumerate(line):
            wide = _wide(room)
            yield f'<rect x="{x:g}" y="{top:g}" width="{wide:g}" height="{HIGH}" rx="3" fill="#fff" stroke="#445"/>'
            yield f'<text x="{x + wide / 2:g}" y="{top + 20:g}" text-anchor="middle" fill="#111">{escape(room)}</text>'
            x += wide + GAP
            if floor.apart and place < len(line) - 1:
                yield f'<path d="M {x - GAP / 2:g} {top:g} v {HIGH}" stroke="#b00" stroke-width="2"/>'


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
