"""Loads at which something begins or stops to hold: found by halving, or among those that were tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence

FREE = 0.9  # batching is nearly free while tokens/s grow with at least this share of proportionally


def edge(breaks: int, holding: int, holds: Callable[[int], bool]) -> int:
    """The number next to `breaks` that still holds, between the two: the largest or the smallest that does.

    `holds` changes once between them, on whichever side each lies.
    """
    while abs(holding - breaks) > 1:
        middle = (holding + breaks) // 2
        breaks, holding = (breaks, middle) if holds(middle) else (middle, holding)
    return holding


def nearly_free(loads: Sequence[float], tokens_per_s: Sequence[float]) -> int | None:
    """The index of the largest batch that still brings 90 % of its share of tokens/s; None when there is no next."""
    first = tokens_per_s[0] / loads[0]
    free = [i for i, (load, rate) in enumerate(zip(loads, tokens_per_s, strict=True)) if rate >= FREE * first * load]
    return free[-1] if free[-1] + 1 < len(loads) else None
