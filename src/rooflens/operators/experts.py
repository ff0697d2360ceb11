"""How many experts a step touches: the one thing about a mixture of experts that a row cannot say."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

from rooflens.arrays import Number, power


def experts_touched(experts: float, active: float, tokens: Number, skew: float = 0.0) -> Number:
    """How many of `experts` at least one of `tokens` tokens visits, each visiting `active` of them.

    Even routing (skew 0): E (1 - (1 - A/E)^tokens). Skewed: the sum of 1 - (1 - q)^tokens over the chances q of
    `popularity`. Tokens choose independently; real routers, which are less even and less independent, touch fewer.
    """
    if skew == 0:
        return experts * (1.0 - power(1.0 - active / experts, tokens))
    missed: Number = 0.0
    for chance in popularity(round(experts), active, skew):
        missed = missed + power(1.0 - chance, tokens)
    return experts - missed


@lru_cache(maxsize=64)
def popularity(experts: int, active: float, skew: float) -> tuple[float, ...]:
    """The chance that a token visits each expert, most popular first: min(1, c / rank^skew), together `active`.

    skew is a Zipf exponent: 0 is even, 1 makes the second expert half as popular as the first. No chance is above 1,
    so what the most popular cannot take falls to the others in proportion.
    """
    weights = [float(rank) ** -skew for rank in range(1, experts + 1)]
    below = [*accumulate(reversed(weights))][::-1]  # below[i] = weights[i] + weights[i + 1] + ...
    always = 0
    while weights[always] * (active - always) > below[always]:  # never so of the last one: no more are active
        always += 1
    scale = (active - always) / below[always]
    return (1.0,) * always + tuple(scale * weight for weight in weights[always:])


def ranks_touched(ranks: float, active: float) -> float:
    """How many other devices one token is sent to when its `active` experts lie evenly over `ranks` devices."""
    return float((ranks - 1.0) * (1.0 - (1.0 - 1.0 / ranks) ** active))
