"""Samples of one quantity: what the median is worth, no distribution assumed; and which of two figures is faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import comb

CONFIDENCE = 0.95
LEAST = 6  # fewer samples than this give no interval of 95 %


def median(samples: Iterable[float]) -> float:
    """The middle one, or the mean of the two in the middle. Raises ValueError when there is none.

    As statistics.median, whose module loads fractions, decimals and random numbers.
    """
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("the median of no samples")
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def at_share(ordered: Sequence[float], share: float) -> float:
    """The value before which this share of them lies, between two neighbours in equal ratios; none is negative.

    Ratios, so that of seconds and of their rates the same one lies there.
    """
    place = share * (len(ordered) - 1)
    before = int(place)
    after, part = min(before + 1, len(ordered) - 1), place - before
    return float(ordered[before] ** (1 - part) * ordered[after] ** part)


def speed_ratio(value: float, reference: float, unit: str) -> float:
    """Speed over that of a reference, as 0.9 for a tenth slower: of seconds fewer are faster, of all else more."""
    return reference / value if unit == "s" else value / reference


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """An interval that holds the median with 95 % confidence: the r-th smallest and the r-th largest sample.

    r is the largest rank whose binomial(n, 1/2) coverage is enough; with too few samples for any (under LEAST), the
    smallest and largest sample. Source: order statistics.
    """
    ordered, rank = sorted(samples), _rank(len(samples))
    return ordered[rank - 1], ordered[-rank]


@cache
def _rank(n: int) -> int:
    below, rank = 0, 0
    while rank < (n - 1) // 2 and 2 * (below + comb(n, rank)) / 2**n <= 1 - CONFIDENCE:
        below += comb(n, rank)
        rank += 1
    return max(rank, 1)
