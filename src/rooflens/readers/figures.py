"""Figures as other people's tools print them: thousands separators, decimal commas, units with prefixes, N/A, NaN."""

from __future__ import annotations

import math
import re
from functools import lru_cache

_NOTHING = {"", "-", "n/a", "na", "none", "null", "not available", "[n/a]", "(!) nan"}
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?([eE][-+]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
             "P": 1e15, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}  # fmt: skip
_NAMES = {
    "byte": "B", "bytes": "B", "B": "B", "second": "s", "seconds": "s", "sec": "s", "s": "s", "hz": "Hz", "Hz": "Hz",
    "cycle": "cycle", "cycles": "cycle", "inst": "inst", "sector": "sector", "FLOPS": "FLOP/s", "FLOP/s": "FLOP/s",
}  # fmt: skip
_PLAIN = {"1", *_NAMES.values()}
_WORD = re.compile(
    r"(?P<prefix>[KMGTP]i|[nuµmkKMGTP])?(?P<name>bytes|byte|seconds|second|sec|cycles|cycle|inst|sector|hz|Hz|FLOPS|B|s)"
)


def number(text: object) -> float | None:
    """The number of a cell: None where it holds none, NaN where the tool says so; infinities stay.

    `1,310.20` and `6,912` have thousands separators, `25,63` a decimal comma. A whole number beyond a double is an
    infinity.
    """
    if isinstance(text, bool):
        return None
    if isinstance(text, (int, float)):
        return _float(text)
    return _number(text.strip()) if isinstance(text, str) and len(text) < 400 else None


@lru_cache(maxsize=65536)
def _number(text: str) -> float | None:
    if text.lower() in _NOTHING:
        return None
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    elif _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shown(text: object, most: int = 400) -> str:
    """Text that can be written again, and is not endless; half a character is shown as a question mark."""
    return str(text)[:most].encode(errors="replace").decode()


def finite(value: object, least: float = 0.0) -> float | None:
    """The number of a cell where it is finite and at least `least`; None for anything else."""
    found = number(value)
    return found if found is not None and math.isfinite(found) and found >= least else None


def whole(value: object) -> int | None:
    """The whole number of a cell, at most 2**62 either way; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= 2**62 else None
    found = number(value)
    return int(found) if found is not None and abs(found) <= 2**62 and found == int(found) else None


@lru_cache(maxsize=4096)
def unit(written: str) -> tuple[float, str]:
    """The factor to SI and the plain unit: "Gbyte/second" is (1e9, "B/s"), "usecond" (1e-6, "s"), "Ghz" (1e9, "Hz").

    Cycles a second are Hz. What is no unit of ours comes back as written, with factor 1.
    """
    text = written.strip()
    if text in ("%", "percent"):
        return 0.01, "1"
    above, slash, below = text.partition("/")
    over, under = _WORD.fullmatch(above), _WORD.fullmatch(below)
    if not over or (slash and not under):
        return 1.0, text
    factor, name = _PREFIXES[over["prefix"] or ""], _NAMES[over["name"]]
    if under:
        factor /= _PREFIXES[under["prefix"] or ""]
        name = f"{name}/{_NAMES[under['name']]}"
    return factor, "Hz" if name == "cycle/s" else name


def quantity(cell: str) -> tuple[float | None, str]:
    """A number with its unit in one cell, in SI units, and the plain unit: "25.63 us" is (25.63e-6, "s"); or None."""
    figure, _, written = cell.strip().partition(" ")
    value, (factor, plain) = number(figure), unit(written)
    if value is None or not all(part in _PLAIN for part in plain.split("/")):
        return None, ""
    return value * factor, plain
