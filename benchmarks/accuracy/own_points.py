"""Five points of a deployment's own: what the product makes of them, on constants that never saw the deployment."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.accuracy.heldout import fold
from benchmarks.accuracy.residuals import Held, between, distinct, tenth_of, tenths
from benchmarks.accuracy.table import Column
from rooflens.catalogue.calibrations import Residuals
from rooflens.prediction import fitting
from rooflens.prediction.intervals import kind_of
from rooflens.records import record

POINTS, LEAST, DRAWS = 5, 6, 5  # of a deployment with six points, five are its own and one is scored; five seeded draws
MEASURED = ("tpot", "latency")


@record
class Scored:
    """Rows scored with factors from five others of their deployment. before: times without those factors."""

    deployments: int
    row: list[int]
    said: Column
    before: Column
    measured: Column
    spread: Column
    kind: list[str]
    group: list[str]

    @property
    def errors(self) -> Column:
        """Relative errors."""
        return np.abs(self.said / self.measured - 1.0)

    @property
    def left(self) -> Column:
        """Logarithms of measured over said, in units of the spread of the five."""
        return np.log(self.measured / self.said) / self.spread


def scored(of: Held) -> Scored:
    """Every deployment with points enough, drawn with a seed of its name."""
    measured = np.array([row.time_s for row in of.rows])
    by_fold = {name: of.table.parts(values) for name, values in of.found.items() if name.startswith("fold")}
    parts = np.array([by_fold[f"fold {fold(row.group)}"][i] for i, row in enumerate(of.rows)])
    groups = list(_groups(of))
    found = [one for group, rows in groups for one in _drawn(group, rows, parts, measured)]
    rows = [i for i, *_ in found]
    return Scored(
        len(groups),
        rows,
        np.array([said for _, said, _ in found]),
        of.fold[rows],
        measured[rows],
        np.array([spread for *_, spread in found]),
        [kind_of(of.table.deployments[of.table.index[i]].model) for i in rows],
        [of.rows[i].group for i in rows],
    )


def residuals(of: Scored) -> dict[str, Residuals]:
    """The classes of estimates with own points, for a spread of 1."""
    kinds = np.array(of.kind)
    return {f"own points, {kind}": between(of.left[kinds == kind]) for kind in ("dense", "experts")}


def covered(of: Scored) -> tuple[Column, Column]:
    """Whether each lies in an interval taken from other deployments, and how wide that is, high over low."""
    kinds, part = np.array(of.kind), np.array([tenth_of(group) for group in of.group])
    inside, width = np.zeros(len(of.row)), np.zeros(len(of.row))
    for kind in sorted(set(kinds)):
        for i in sorted(set(part)):
            test, other = (kinds == kind) & (part == i), (kinds == kind) & (part != i)
            low, high = tenths(of.left[other])
            inside[test] = (of.left[test] >= low) & (of.left[test] <= high)
            width[test] = np.exp((high - low) * of.spread[test])
    return inside, width


def _groups(of: Held) -> Iterator[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for i in distinct(of.rows):
        if of.rows[i].what in MEASURED:
            found.setdefault(of.rows[i].group, []).append(i)
    yield from ((group, rows) for group, rows in sorted(found.items()) if len(rows) >= LEAST)


def _drawn(group: str, rows: Sequence[int], parts: Column, measured: Column) -> Iterator[tuple[int, float, float]]:
    """Rows that were not drawn, what is said of them, and the spread of those that were."""
    for draw in range(DRAWS):
        shuffled = np.random.default_rng(zlib.crc32(group.encode()) + draw).permutation(rows)
        own, rest = shuffled[:POINTS], shuffled[POINTS:]
        times = [float(one) for one in measured[own]]
        factors = np.array(fitting.factors([tuple(map(float, parts[i])) for i in own], times))
        spread = fitting.spread([float(one) for one in parts[own] @ factors], times)
        for i in rest:
            yield int(i), float(parts[i] @ factors), spread
