"""An answer read, compared, and traced to the mistake that gives just this number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from rooflens.errors import RooflensError
from rooflens.practice.record import TOLERANCE, Judged, Question
from rooflens.units import parse, percent, show, show_binary

_PLAIN = re.compile(r"\s*([+-]?(?:\d+(?:[_,]\d{3})*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%|[^\W\d]*|×)\s*")
_SAME = 1e-3  # numbers this near are one number
_TWO = 5e-3  # two mistakes at once must be met this well: there are many pairs
# unit -> what a right answer is multiplied by, by the name of the confusion
_UNITS: dict[str, tuple[tuple[str, float], ...]] = {
    "B": (
        *((f"gib_as_gb.{p}", 1000.0**n / 1024.0**n) for n, p in enumerate("kMGT", 1)),
        *((f"gb_as_gib.{p}", 1024.0**n / 1000.0**n) for n, p in enumerate("kMGT", 1)),
        ("eight_large", 8.0), ("eight_small", 0.125),
    ),
    "B/s": (("eight_large", 8.0), ("eight_small", 0.125)),
    "ratio": (("percent", 100.0),),
}  # fmt: skip
_PREFIXES = (("prefix_large", 1e3), ("prefix_small", 1e-3))
_OTHER = {"FLOP": "FLOP/s", "FLOP/s": "FLOP", "B": "B/s", "B/s": "B"}  # an amount for a rate, and the other way round
PLAIN = ("ratio", "times", "count")  # units that units.parse does not know


def judge(question: Question, text: str) -> Judged:
    """The answer against the right one. Raises RooflensError for a text that is no answer of this unit."""
    right, value = question.drawn.answer, read(text, question.problem.unit)
    off = value / right - 1
    if abs(off) <= TOLERANCE:
        return Judged(text, value, right=True, off=off)
    missed = tuple(_missed(question, value))
    both = () if missed else _two(question, value)
    return Judged(text, value, right=False, off=off, missed=missed or both, together=bool(both))


def read(text: str, unit: str) -> float:
    """`12.5 FLOP/byte`, `65 %`, `4x` or `222` in SI. Raises RooflensError, as units.parse does."""
    if unit not in PLAIN:
        other = _OTHER.get(unit)
        if other and _reads(text, other):
            kinds = ("an amount", "a rate") if unit.endswith("/s") else ("a rate", "an amount")
            raise RooflensError(f"{text!r} is {kinds[0]}, in {other}; what is asked for is {kinds[1]}, in {unit}")
        return parse(text, unit)
    match = _PLAIN.fullmatch(text)
    if not match:
        example = {"ratio": "65 %", "times": "4x", "count": "222"}[unit]
        raise RooflensError(f"{text!r} is not a plain number; write it like {example!r}")
    value = float(match[1].replace("_", "").replace(",", ""))
    if match[2] == "%" and unit != "ratio":
        raise RooflensError(f"{text!r}: what is asked for is a number, not a share of a hundred")
    value = value / 100 if match[2] == "%" else value
    if not math.isfinite(value) or value < 0:
        raise RooflensError(f"{text!r} is not a finite number that is at least 0")
    return value


def _reads(text: str, unit: str) -> bool:
    try:
        parse(text, unit)
    except RooflensError:
        return False
    return True


def written(value: float, unit: str) -> str:
    """A number as it would be answered; bytes in both countings."""
    if unit == "ratio":
        return percent(value)
    if unit in PLAIN:
        return f"{value:.4g}x" if unit == "times" else f"{value:.4g}"
    if unit == "FLOP/B":
        return f"{value:.4g} {unit}"
    return f"{show(value, unit)} = {show_binary(value)}" if unit == "B" and value >= 1024 else show(value, unit)


def apart(missed: Mapping[str, float], right: float) -> dict[str, float]:
    """The mistakes whose number an answer that is right within the tolerance cannot have."""
    return {name: value for name, value in missed.items() if value > 0 and abs(value / right - 1) > 2 * TOLERANCE}


def mistakes(question: Question) -> dict[str, float]:
    """Every mistake that is looked for in an answer to this question, with its number."""
    right = question.drawn.answer
    confused = _confused(question.problem.unit, right)
    return {**question.drawn.missed, **{name: right * times for name, times in confused.items()}}


def _confused(unit: str, value: float) -> dict[str, float]:
    """Confusions of units: what each multiplies such a value by."""
    every = (*_UNITS.get(unit, ()), *(_PREFIXES if unit not in PLAIN else ()))
    near = _prefix(value)
    parted = [(*name.partition("."), times) for name, times in every]
    return {kind: times for kind, _, prefix, times in parted if not prefix or prefix == near}


def _missed(question: Question, value: float) -> Iterator[str]:
    """The nearest mistake within the tolerance, and those that give the same number."""
    every = {name: abs(value / number - 1) for name, number in mistakes(question).items()}
    near = sorted((off, name) for name, off in every.items() if off <= TOLERANCE)
    yield from (name for off, name in near if off <= near[0][0] + _SAME)


def _two(question: Question, value: float) -> tuple[str, ...]:
    """A mistake of this problem and a confusion of units that together give this number; none where no pair does."""
    pairs = [
        (abs(value / (number * times) - 1), (name, confusion))
        for name, number in question.drawn.missed.items()
        for confusion, times in _confused(question.problem.unit, number).items()
    ]
    off, both = min(pairs, default=(math.inf, ()))
    return both if off <= _TWO else ()


def _prefix(size_bytes: float) -> str:
    """The prefix that such an amount of bytes is written with."""
    return next((p for p, least in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)) if size_bytes >= least), "")
