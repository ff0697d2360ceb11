"""Histograms between two moments: differences of buckets, means by sum and count, quantiles with their error."""

from __future__ import annotations

import math

from rooflens.roofline.scraped import Histogram
from rooflens.telemetry.record import Quantile, Spread

SHARES = (0.5, 0.95, 0.99)


def less(after: Histogram, before: Histogram) -> Histogram | None:
    """What came in between; None where a count fell or the bounds are others, so that nobody knows."""
    if [bound for bound, _ in after.buckets] != [bound for bound, _ in before.buckets]:
        before = Histogram(before.count, before.sum)
        after = Histogram(after.count, after.sum)
    heights = [(bound, b - a) for (bound, b), (_, a) in zip(after.buckets, before.buckets, strict=True)]
    count = after.count - before.count
    total = None if after.sum is None or before.sum is None else after.sum - before.sum
    counts = [height for _, height in heights]
    if count < 0 or any(one < 0 for one in counts) or counts != sorted(counts):
        return None
    return Histogram(count, None if total is None or total < 0 else total, tuple(heights))


def together(several: list[Histogram]) -> Histogram:
    """Of several engines; buckets only where all have the same bounds, a sum only where all tell it."""
    first = several[0]
    if len(several) == 1:
        return first
    bounds = [bound for bound, _ in first.buckets]
    alike = all([bound for bound, _ in one.buckets] == bounds for one in several)
    sums = [one.sum for one in several]
    return Histogram(
        sum(one.count for one in several),
        None if None in sums else sum(total for total in sums if total is not None),
        tuple((bound, sum(one.buckets[i][1] for one in several)) for i, bound in enumerate(bounds)) if alike else (),
    )


def spread(of: Histogram) -> Spread:
    """Mean and quantiles; neither of nothing."""
    if of.count <= 0:
        return Spread(0.0)
    mean = None if of.sum is None else of.sum / of.count
    found = (quantile(of, share) for share in SHARES)
    return Spread(of.count, mean, tuple(one for one in found if one is not None))


def quantile(of: Histogram, share: float) -> Quantile | None:
    """The bucket in which this share of the values is reached; None without buckets.

    Within it values are taken to lie evenly. Below the first bound it starts at 0; over the last finite one nobody
    knows where, so only that bound is said.
    """
    if not of.buckets or of.count <= 0:
        return None
    rank, low, below = share * of.count, 0.0, 0.0
    for bound, height in of.buckets:
        if height >= rank and height > below:
            if math.isinf(bound):
                return Quantile(share, low)
            low = min(low, bound)
            inside = (bound - low) * ((rank - below) / (height - below))
            return Quantile(share, low, bound, min(bound, low + inside))
        low, below = bound, height
    return None
