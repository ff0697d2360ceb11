"""Centre and spread of equal devices, such that a few bad ones move neither. All on the logarithm of speed.

Source of the small-sample factors of the MAD: Croux and Rousseeuw, Time-efficient algorithms (1992). That a spread of
few is drawn towards what is usual: Smyth, Linear models and empirical Bayes (2004).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rooflens.peers.record import Figure, Rules
from rooflens.records import record
from rooflens.samples import LEAST, median, median_interval

_MAD = 1.4826  # of a normal distribution's standard deviation over its MAD
_FEW = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
_WORTH = 0.37  # a MAD tells as much of a spread as so large a share of the values would by their squares
_HALF_WIDTHS = 3.92  # of a 95 % interval, in standard errors
_OF_MEDIAN = math.pi / 2  # a median's variance over that of a mean


@record
class Middle:
    """centre: median of the logarithms. spread: standard deviation of one of them about it; freedom: its degrees.

    noise: a usual standard error of one figure, which `spread` already holds.
    """

    centre: float
    spread: float
    freedom: float
    count: int
    noise: float

    def error(self, noise: float | None) -> float:
        """Standard deviation of one figure about the centre, with its own noise where that is more than usual."""
        own = self.noise if noise is None else max(self.noise, noise)
        return math.sqrt(self.spread**2 * (1 + _OF_MEDIAN / self.count) + own**2 - self.noise**2)


def log_speed(value: float, unit: str) -> float:
    """The logarithm of the speed that a figure means: of a rate, or of one over seconds."""
    return -math.log(value) if unit == "s" else math.log(value)


def figure_at(speed: float, unit: str) -> float:
    """The figure that means this logarithm of speed: the inverse of log_speed."""
    return math.exp(-speed) if unit == "s" else math.exp(speed)


def noise(figure: Figure) -> float | None:
    """Standard error of its median, as a share; None with too few samples for an interval."""
    if len(figure.samples) < LEAST or min(figure.samples) <= 0:
        return None
    low, high = median_interval(figure.samples)
    return math.log(high / low) / _HALF_WIDTHS


def middle(speeds: Sequence[float], noises: Sequence[float], rules: Rules) -> Middle:
    """Of at least one speed. A single one has the usual spread."""
    centre, n = median(speeds), len(speeds)
    usual = math.hypot(rules.usual, typical := median(noises) if noises else 0.0)
    found = _FEW.get(n, n / (n - 0.8)) * _MAD * median(abs(s - centre) for s in speeds)
    return _held(centre, usual, found, n, typical, rules)


def stored(centre: float, spread: float, count: int, now: Middle, rules: Rules) -> Middle:
    """A median and a spread from before, with the noise of now."""
    return _held(centre, math.hypot(rules.usual, now.noise), spread, count, now.noise, rules)


def _held(centre: float, usual: float, found: float, count: int, noise: float, rules: Rules) -> Middle:
    """A spread that was found of so many, drawn towards the usual one."""
    freedom = _WORTH * (count - 1)
    spread = math.sqrt((rules.weight * usual**2 + freedom * found**2) / (rules.weight + freedom))
    return Middle(centre, spread, rules.weight + freedom, count, min(noise, spread))
