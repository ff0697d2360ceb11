"""Cells as the tools of nodes print them: an amount with its unit, yes or no, or words that say why there is none."""

from __future__ import annotations

import math
import re

_SCALES = {
    "mib": 2.0**20, "mb": 2.0**20, "kib": 2.0**10, "gib": 2.0**30, "b": 1.0, "w": 1.0, "mw": 1e-3, "mhz": 1e6,
    "%": 0.01, "c": 1.0, "us": 1e-6, "ms": 1e-3, "x": 1.0, "gb/s": 1e9, "mb/s": 1e6, "kb/s": 1e3, "bool": 1.0,
    "errs": 1.0, "": 1.0,
}  # fmt: skip
_AMOUNT = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*([A-Za-z%/]*)(?:\s*\(.*)?")
_ABSENT = re.compile(
    r"\[?(n/?a|-|not supported|not available|unknown|none|.*not found|.*deprecated.*|insufficient permissions?"
    r"|(?P<lost>unknown error|err!?|.*requires? reset.*|.*is lost.*|.*error.*))\]?",
    re.IGNORECASE,
)
MOST_LETTERS = 200
MOST = 1e18  # blank values of monitors lie beyond it


def absent(cell: str) -> bool:
    """Whether a cell says that it has no value."""
    return _ABSENT.fullmatch(cell.strip()[:MOST_LETTERS]) is not None


def lost(cell: str) -> bool:
    """Whether it says so because the device did not answer."""
    found = _ABSENT.fullmatch(cell.strip()[:MOST_LETTERS])
    return bool(found and found["lost"])


def amount(cell: str, unit: str = "") -> float | None:
    """The amount in SI, by the unit behind it or else the one of its column; None where there is none.

    The tools of NVIDIA write MB and MiB for the same: 2^20.
    """
    found = _AMOUNT.fullmatch(cell.strip()[:MOST_LETTERS])
    scale = _SCALES.get((found[2] or unit).lower()) if found else None
    if found is None or scale is None or len(found[1]) > 30:
        return None
    value = float(found[1])
    return value * scale if math.isfinite(value) and abs(value) < MOST else None


def count(cell: str) -> int | None:
    """A whole number; None where there is none."""
    value = amount(cell)
    return None if value is None or value != int(value) else int(value)


def truth(cell: str) -> bool | None:
    """Enabled or not, active or not, yes or no; None for any other word."""
    word = cell.strip().strip("[]").lower()
    return True if word in ("enabled", "active", "yes") else False if word in ("disabled", "not active", "no") else None
