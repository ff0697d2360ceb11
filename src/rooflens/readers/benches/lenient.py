"""JSON as benchmarks write it: one value, one a line, or one after the other; bare NaN and Infinity; a cut end."""

from __future__ import annotations

import json
import re
from typing import Any

from rooflens.errors import BadFile

_BEGIN = re.compile(r"\s*[\[{]")
MOST_VALUES = 200_000


def values(text: str, where: str) -> tuple[list[Any], list[str]]:
    """The values of a text, and what was wrong with it. Raises BadFile when nothing of it is whole."""
    try:
        return [_one(text)], []
    except (ValueError, RecursionError) as error:
        whole, broken = _lines(text)
        if broken:
            after, left = _sequence(text)
            whole, broken = (after, left) if len(after) > len(whole) else (whole, broken)
        if not whole:
            deep = "is no JSON text that can be read: it is nested too deep"
            at = error.lineno if isinstance(error, json.JSONDecodeError) else 0
            why = f"is no whole JSON text: it breaks at line {at}; was it cut off?" if at else deep
            raise BadFile(where, [why]) from None
        return whole, [f"{broken} lines are no whole JSON and were left out"] if broken else []


def _lines(text: str) -> tuple[list[Any], int]:
    whole: list[Any] = []
    broken = 0
    for line in text.splitlines():
        if line.strip() and len(whole) < MOST_VALUES:
            try:
                whole.append(_one(line))
            except (ValueError, RecursionError):
                broken += 1
    return [value for value in whole if isinstance(value, (dict, list))], broken


def _sequence(text: str) -> tuple[list[Any], int]:
    """Values that follow one another with nothing but blanks between them, and the lines that are left."""
    found: list[Any] = []
    decoder, at = json.JSONDecoder(strict=False), 0
    while len(found) < MOST_VALUES and (start := _BEGIN.match(text, at)):
        try:
            value, at = decoder.raw_decode(text, start.end() - 1)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found, sum(bool(line.strip()) for line in text[at:].splitlines())


def _one(text: str) -> Any:
    return json.loads(text, strict=False)


def records(found: list[Any]) -> list[dict[str, Any]]:
    """The objects among these values, lists taken apart."""
    flat = [inner for value in found for inner in (value if isinstance(value, list) else [value])]
    return [value for value in flat if isinstance(value, dict)]
