"""How surely a figure is out: tails of Student's t, which is the normal distribution where much is known."""

from __future__ import annotations

import math
from functools import lru_cache

_STEPS = 300
_CLOSE = 1e-12
_TINY = 1e-300


def beyond(t: float, freedom: float) -> float:
    """The chance that Student's t with so many degrees of freedom is above t.

    >>> round(beyond(2.0, 10.0), 4)  # a table's 0.0367
    0.0367
    """
    if t < 0:
        return 1 - beyond(-t, freedom)
    return _beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2


@lru_cache(4096)
def quantile(chance: float, freedom: float) -> float:
    """The t that is exceeded with this chance, at most one half. Raises ValueError for any other.

    >>> round(quantile(0.025, 10.0), 3)  # a table's 2.228
    2.228
    """
    if not 0 < chance <= 0.5:
        raise ValueError(f"a chance of {chance:g} is none of an upper tail")
    low, high = 0.0, 1.0
    while beyond(high, freedom) > chance:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle, freedom) > chance else (low, middle)
    return high


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + term * d)
            c = _off_zero(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return found


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
