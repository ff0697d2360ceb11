"""The time of one kernel on one chip: few constants, each with a meaning (catalogue.kernels), and no look-up.

    time = fixed + (compute^p + memory^p)^(1/p) + beside

Compute is whole tiles in whole waves over the units; memory is what the last cache does not serve. Letters may be
arrays; sizes are those of a kernel that is repeated, so what fits the last cache may stay there.
"""

from __future__ import annotations

from typing import Any

from rooflens.arrays import Number
from rooflens.catalogue.kernels import CacheSlope
from rooflens.records import record


@record
class Chip:
    """What a kernel meets: the peak of its math, memory, units at a clock, and the last cache.

    cache_bytes: None where its size is not known; 0 where data must not be expected to be there still.
    """

    flops_per_s: float
    bytes_per_s: float
    units: float
    clock_hz: float
    cache_bytes: float | None = None

    def fetched(self, working_bytes: Number, slope: CacheSlope) -> Number:
        """The time that memory and cache take for a working set, over the time that memory alone would take."""
        if not self.cache_bytes:
            return 1.0
        served = 1.0 / (1.0 + (working_bytes / (slope.share * self.cache_bytes)) ** slope.steep)
        return 1.0 - served + served / slope.gain


@record
class Spent:
    """Seconds of a kernel. compute and memory overlap (1: not at all; endless: wholly), the others add."""

    fixed_s: Number
    compute_s: Number
    memory_s: Number
    beside_s: Number
    overlap: float

    @property
    def time_s(self) -> Number:
        """All of it."""
        return self.fixed_s + together(self.compute_s, self.memory_s, self.overlap) + self.beside_s


def together(a: Number, b: Number, overlap: float) -> Number:
    """Two times that overlap: (a^p + b^p)^(1/p), their sum at p = 1, the larger one when p is endless."""
    found: Number = (a**overlap + b**overlap) ** (1.0 / overlap)
    return found


def when(condition: Any, value: Number) -> Number:
    """The value where the condition holds, 0 elsewhere."""
    found: Number = condition * value
    return found
