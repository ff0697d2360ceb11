"""Whole numbers at which something begins or stops to hold, found by halving."""

from __future__ import annotations

from collections.abc import Callable


def edge(breaks: int, holding: int, holds: Callable[[int], bool]) -> int:
    """The number next to `breaks` that still holds, between the two: the largest or the smallest that does.

    `holds` changes once between them, on whichever side each lies.
    """
    while abs(holding - breaks) > 1:
        middle = (holding + breaks) // 2
        breaks, holding = (breaks, middle) if holds(middle) else (middle, holding)
    return holding
