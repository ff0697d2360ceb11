"""JSON as benchmarks write it: one value, or one a line; bare NaN and Infinity; a last line that is cut off."""

from __future__ import annotations

import json
from typing import Any

from rooflens.errors import BadFile


def values(text: str, where: str) -> tuple[list[Any], list[str]]:
    """The values of a text, and what was wrong with it. Raises BadFile when nothing of it is whole."""
    try:
        return [_one(text)], []
    except (ValueError, RecursionError) as error:
        whole, broken = _lines(text)
        if not whole:
            at = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "somewhere"
            raise BadFile(where, [f"is no whole JSON text: it breaks at {at}; was it cut off?"]) from None
        return whole, [f"{broken} lines are no whole JSON and were left out"] if broken else []


def _lines(text: str) -> tuple[list[Any], int]:
    whole, broken = [], 0
    for line in text.splitlines():
        if line.strip():
            try:
                whole.append(_one(line))
            except (ValueError, RecursionError):
                broken += 1
    return [value for value in whole if isinstance(value, (dict, list))], broken


def _one(text: str) -> Any:
    return json.loads(text, strict=False)


def records(found: list[Any]) -> list[dict[str, Any]]:
    """The objects among these values, lists taken apart."""
    flat = [inner for value in found for inner in (value if isinstance(value, list) else [value])]
    return [value for value in flat if isinstance(value, dict)]
