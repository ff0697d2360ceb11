"""The constants that rows give, from the priors alone: times of tokens first, then first tokens, then tokens again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.accuracy.priors import BEGIN, MEANS, NAMES, OF_FIRST, SDS, constants, values
from benchmarks.accuracy.table import Column, Table

WEIGHTS = {"tpot": 1.0, "latency": 0.7, "decode": 0.6, "elapsed": 0.7, "prefill": 0.5}
TOKEN_SCALE, FIRST_SCALE = 0.15, 0.3  # of a logarithm: from so far off on, a row pulls evenly
MANY = 8  # a deployment with more rows is heard less for each, by the fourth root
FIRST_WEIGHTS = ((4.0, 1.4), (16.0, 0.8), (float("inf"), 0.35))  # up to so many sequences a replica
USUAL = {(8192, 1024), (1024, 1024), (1024, 8192)}  # prompts and outputs of the runs whose first tokens are steady
UNUSUAL = 0.35
STEP = 1e-4
CLOSE = 1e-6
TIMES = 60  # evaluations of a part, at most


class Fit:
    """Least squares of one table, with the rows that may be heard."""

    def __init__(self, table: Table) -> None:
        self.table = table
        rows = table.rows
        self.measured = np.log([row.time_s for row in rows])
        groups = [row.group for row in rows]
        known = {group: groups.count(group) for group in set(groups)}
        damped = np.array([min(1.0, MANY / known[group]) ** 0.25 for group in groups])
        fitted = np.array([row.fitted for row in rows])
        self.tokens = np.array([WEIGHTS.get(row.what, 0.0) for row in rows]) * damped * fitted
        self.firsts = np.array([_first_weight(row.batch / row.dp, row.prompt, row.output) for row in rows])
        self.firsts *= np.array([row.what == "ttft" for row in rows]) * damped * fitted

    def solve(self, heard: Column) -> Column:
        """The constants' logarithms, from rows that are heard (a mask over the table's rows)."""
        x = BEGIN.copy()
        x = self._part(x, ~OF_FIRST, self.tokens * heard, TOKEN_SCALE)
        x = self._part(x, OF_FIRST, self.firsts * heard, FIRST_SCALE)
        return self._part(x, ~OF_FIRST, self.tokens * heard, TOKEN_SCALE)

    def _part(self, x: Column, free: Column, weight: Column, scale: float) -> Column:
        """Some of the constants, the others as they are."""
        from scipy.optimize import least_squares  # scoring does without

        heard, chosen = weight > 0, np.flatnonzero(free)
        whole = x.copy()

        def left(predicted: Column) -> Column:
            off = (np.log(predicted) - self.measured) / scale
            return (weight * np.sign(off) * np.sqrt(2 * (np.sqrt(1 + off * off) - 1)))[heard]

        def residuals(part: Column) -> Column:
            whole[chosen] = part
            return np.concatenate([left(self._predicted(whole)), (part - MEANS[chosen]) / SDS[chosen]])

        def slopes(part: Column) -> Column:
            whole[chosen] = part
            base, several = self._each(whole, chosen)
            rises = [(left(one) - left(base)) / STEP for one in several]
            return np.vstack([np.array(rises).T, np.diag(1 / SDS[chosen])])

        found = least_squares(residuals, x[chosen], jac=slopes, max_nfev=TIMES, xtol=CLOSE, ftol=CLOSE)
        whole[chosen] = found.x
        return whole

    def _predicted(self, x: Column) -> Column:
        return self.table.predicted(values(x))

    def _each(self, x: Column, chosen: Sequence[int]) -> tuple[Column, list[Column]]:
        """The times here, and with each of these constants a little larger: only what reads it is priced anew."""
        table, c = self.table, constants(values(x))
        costs = table.costs(c)
        sums = table.sums(c, costs)
        several = []
        for i in chosen:
            near = x.copy()
            near[i] += STEP
            moved = constants(values(near))
            own = table.costs(moved)
            several.append(table.chosen(table.times(moved, own, table.sums(moved, own, sums, NAMES[i]))))
        return table.chosen(table.times(c, costs, sums)), several


def _first_weight(running: float, prompt: float, output: float) -> float:
    of_load = next(weight for most, weight in FIRST_WEIGHTS if running <= most)
    return of_load * (1.0 if (int(prompt), int(output)) in USUAL else UNUSUAL)
