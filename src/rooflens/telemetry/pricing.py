"""Prices of one deployment at any load, quickly: priced on a lattice of loads, remembered, and read between its points.

Points lie one apart up to 64 and 4 % apart beyond. What grows in proportion, as bytes of a cache and FLOPs of a decoded
token do, is met exactly between them; what bends is met within a thousandth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from rooflens.errors import RooflensError
from rooflens.operators.cost import Cost, total
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.predicting import Estimator, Expected
from rooflens.records import record, replace
from rooflens.roofline.price import StepPrice, price_step
from rooflens.workload import operators, prefill, suited

DENSE = 64.0
APART = 1.04
MOST_KEPT = 4096


@record
class Timed:
    """A decode step of the whole batch. estimate_s, low_s, high_s: absent where nothing is known of such chips."""

    floor_s: float
    launch_s: float
    bound: str
    estimate_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None


class Prices:
    """What steps of one deployment cost; its own batch, prompt, output and context do not matter."""

    def __init__(self, served: Deployment, estimator: Estimator | None = None) -> None:
        self.served, self.estimator = served, estimator
        self.experts = "E" in served.model.letters
        self._late = suited(served.model, "prefill")
        self._early = replace(served, model=suited(served.model, "decode"))
        self._decode = lru_cache(MOST_KEPT)(self._priced)
        self._prompt = lru_cache(MOST_KEPT)(self._taken_in)
        self._times = lru_cache(MOST_KEPT)(self._timed)

    def decode(self, batch: float, context: float) -> Cost:
        """One decode step, on one device."""
        return _mixed(self._decode, batch, context)

    def prompt(self, fresh: float, whole: float) -> Cost:
        """The prefill of `fresh` tokens at the end of a prompt of `whole`, on one device."""
        return _mixed(self._prompt, fresh, max(0.0, whole - fresh))

    def times(self, batch: float, prompt: float, output: float) -> Timed:
        """The decode step of so many sequences half-way through their outputs."""
        found = [(share, self._times(*point)) for share, point in _corners(max(1.0, batch), max(1.0, prompt), output)]
        first = max(found, key=lambda one: one[0])[1]

        def mean(name: str) -> Any:
            values = [(share, getattr(one, name)) for share, one in found]
            return None if any(v is None for _, v in values) else sum(share * v for share, v in values)

        means = {name: mean(name) for name in ("floor_s", "launch_s", "estimate_s", "low_s", "high_s")}
        return replace(first, **means)

    def load(self, batch: float, prompt: float, output: float) -> Deployment:
        """The deployment at this load."""
        return replace(self._early, batch=batch, prompt=prompt, output=output, context=None)

    def _priced(self, batch: float, context: float) -> Cost:
        return self._step(self.load(max(1.0, batch), max(1.0, context), 0.0)).cost

    def _taken_in(self, fresh: float, cached: float) -> Cost:
        tokens = max(1.0, fresh)
        step = prefill(1, tokens, tokens + cached, **{**self.served.how, "microbatches": 1})
        found = operators(self._late, step, self.served.precision)
        return price_step(found, self.served.machine, activations=False).cost

    def _timed(self, batch: float, prompt: float, output: float) -> Timed:
        load = self.load(batch, prompt, output)
        floor, expected = self._step(load), self._expected(load)
        times = () if expected is None else (expected.time_s, expected.low_s, expected.high_s)
        return Timed(float(floor.floor_s), float(floor.launch_s), floor.bound, *times)

    def _step(self, load: Deployment) -> StepPrice:
        return load.floor("decode")

    def _expected(self, load: Deployment) -> Expected | None:
        try:
            return None if self.estimator is None else self.estimator.expect(load, "decode")
        except RooflensError:
            return None


def _mixed(cost_at: Callable[[float, float], Cost], one: float, other: float) -> Cost:
    found = [(share, cost_at(*point)) for share, point in _corners(one, other)]
    return found[0][1] if len(found) == 1 else total(cost * share for share, cost in found)


def _corners(*at: float) -> Iterator[tuple[float, tuple[float, ...]]]:
    """The points of the lattice around a load, each with its share; those without a share are left out."""
    for corner in product(*(_around(value) for value in at)):
        share = math.prod(part for part, _ in corner)
        if share > 0:
            yield share, tuple(point for _, point in corner)


def _around(value: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The points below and above, each with its share: whole numbers, since sequences are."""
    if value < DENSE:
        low = float(math.floor(value))
        high = low + 1.0
    else:
        step = math.floor(math.log(value / DENSE) / math.log(APART) + 1e-12)
        low, high = (float(round(DENSE * APART**n)) for n in (step, step + 1))
        if not low <= value < high:  # rounding put it beside
            low, high = (low - 1.0, low) if value < low else (high, float(round(DENSE * APART ** (step + 2))))
    above = (value - low) / (high - low)
    return (1.0 - above, low), (above, high)
