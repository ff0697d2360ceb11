"""Markers whose area is a share of a whole, whatever their shape: sides in pixels. Pure."""

from __future__ import annotations

import math

WHOLE = 90.0  # the diameter of a circle that is all of it
LEAST = 6.0  # the diameter of the smallest: a dot stands for what is less
LEAST_SHARE = (LEAST / WHOLE) ** 2
_SHAPES = {  # of a marker drawn in a square of side 1: its area, and the side of the box around it
    "o": (math.pi / 4, 1.0), "s": (1.0, 1.0), "D": (1.0, math.sqrt(2)), "^": (0.5, 1.0), "v": (0.5, 1.0),
    "p": (0.5944, 1.0), "h": (0.6495, 1.0), "X": (0.625, 1.0), "P": (5 / 9, 1.0),
}  # fmt: skip


def side(share: float, shape: str) -> float:
    """What a marker of this shape is drawn at, so that its area is `share` of a circle of diameter WHOLE.

    area(shape) * side**2 = share * pi / 4 * WHOLE**2
    """
    return math.sqrt(max(share, LEAST_SHARE) * math.pi / 4 / _SHAPES[shape][0]) * WHOLE


def extent(share: float, shape: str) -> float:
    """The side of the upright square that such a marker takes."""
    return side(share, shape) * _SHAPES[shape][1]


def ring(share: float, shape: str) -> float:
    """The diameter of the ring around such a marker when it is a finding."""
    return 1.25 * extent(share, shape) + 10
