"""Logarithmic scales in pixels and the ticks that are written on them. Pure."""

from __future__ import annotations

import math

from rooflens.records import record
from rooflens.units import show


@record
class Scale:
    """log10 of `data` (low, high) spread evenly over pixels start..end."""

    data: tuple[float, float]
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high = (math.log10(v) for v in self.data)
        return self.start + (math.log10(value) - low) / (high - low) * (self.end - self.start)

    def back(self, pixel: float) -> float:
        """The value at a pixel."""
        low, high = (math.log10(v) for v in self.data)
        return float(10 ** (low + (pixel - self.start) / (self.end - self.start) * (high - low)))


@record
class Tick:
    """A power of ten inside the range and how it is written."""

    value: float
    text: str


def majors(data: tuple[float, float], unit: str, most: int) -> tuple[Tick, ...]:
    """At most `most` powers of ten inside the range, evenly chosen; "1 TFLOP/s" with a unit, "1,000" without."""
    low, high = math.ceil(math.log10(data[0]) - 1e-9), math.floor(math.log10(data[1]) + 1e-9)
    step = max(1, -(-(high - low + 1) // most))
    if high - low < 2:
        steps = [m * 10.0**n for n in range(low - 1, high + 1) for m in (1, 2, 5)]
        return tuple(Tick(v, _short(v, unit)) for v in steps if data[0] <= v <= data[1])
    return tuple(Tick(10.0**n, _written(n, unit)) for n in range(low, high + 1) if n % step == 0)


def minors(data: tuple[float, float]) -> list[float]:
    """2 to 9 times every power of ten in the range; none when the range is wider than nine decades."""
    low, high = math.floor(math.log10(data[0])), math.ceil(math.log10(data[1]))
    if high - low > 9:
        return [10.0**n for n in range(low, high + 1) if data[0] <= 10.0**n <= data[1]]
    return [m * 10.0**n for n in range(low, high + 1) for m in range(2, 10) if data[0] <= m * 10.0**n <= data[1]]


def _short(value: float, unit: str) -> str:
    return show(value, unit, 3) if unit else f"{value:,.4g}"


def _written(exponent: int, unit: str) -> str:
    if unit and 0 <= exponent <= 20:
        return show(10.0**exponent, unit, 3)
    if not unit and -4 <= exponent <= 6:
        return f"{10.0**exponent:,.{max(0, -exponent)}f}"
    return f"1e{exponent} {unit}".strip()
