"""Constants that have not seen the rows they are scored on: ten folds of whole deployments, and each chip left out.

Every one is fitted from the priors, never from the constants of all rows, which know what was left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.accuracy.fitting import Fit
from benchmarks.accuracy.priors import values
from benchmarks.accuracy.rows import Row
from benchmarks.accuracy.table import Table

FOLDS = 10
ALL = "all"


def fold(group: str) -> int:
    """The part in which a deployment is left out."""
    return zlib.crc32(group.encode()) % FOLDS


def parts(rows: Sequence[Row]) -> Iterator[tuple[str, list[bool]]]:
    """What is fitted, by name: all rows, the rows without a fold of deployments, without a chip. True: heard."""
    yield ALL, [True] * len(rows)
    for i in range(FOLDS):
        yield f"fold {i}", [fold(row.group) != i for row in rows]
    for chip in sorted({row.chip for row in rows}):
        yield f"chip {chip}", [row.chip != chip for row in rows]


def fitted(table: Table, workers: int = 1) -> dict[str, dict[str, float]]:
    """The constants of each part."""
    wanted = list(parts(table.rows))
    with ProcessPoolExecutor(workers, initializer=_keep, initargs=(table,)) as pool:
        return dict(zip((name for name, _ in wanted), pool.map(_solve, [heard for _, heard in wanted]), strict=True))


def one(table: Table, heard: Sequence[bool]) -> dict[str, float]:
    """The constants of one part."""
    return values(Fit(table).solve(np.array(heard, dtype=float)))


_TABLE: list[Table] = []


def _keep(table: Table) -> None:
    _TABLE[:] = [table]


def _solve(heard: Sequence[bool]) -> dict[str, float]:
    return one(_TABLE[0], heard)
