"""What held-out estimates leave over, as the classes of intervals: four rows of five between low and high.

A chip that nobody measured is off by something of its own. How much is estimated over every chip that was left out
while other chips of its kind and stack stayed; an interval for an unseen chip holds both, what rows of one chip are off
and what chips are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from benchmarks.accuracy.heldout import fold
from benchmarks.accuracy.priors import LIVE
from benchmarks.accuracy.rows import Row
from benchmarks.accuracy.table import Column, Table
from rooflens.catalogue.calibrations import Residuals
from rooflens.prediction.intervals import GENERIC, LLAMA, UNSEEN, kind_of, residual_class, stack_of
from rooflens.records import record

TENTH, NINE_TENTHS = 0.1, 0.9
FEW = 20  # a class of fewer rows has no say
SAME = 0.004  # of a logarithm: two times so near are one measurement, written down twice
UNLOADED = 4.0  # sequences a replica up to which a first token waits for nobody
TIMES = {"served": "tpot", "2024": "latency", LLAMA: "decode"}  # what was measured of each stack
BY_ENGINE = tuple(f"experts, {engine}" for engine in LIVE if engine != "trtllm")  # too few chips to leave one out
CLASSES = (
    "dense", "experts", *BY_ENGINE, "experts, latent, trtllm",
    "2024", LLAMA, "engine not named, dense", "engine not named, experts", "ttft unloaded",
)  # fmt: skip
NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)  # a chip's own error, as fifteen chips


@record
class Held:
    """Rows and their times from constants that have not seen their deployment (fold) or their chip.

    generic: as of an engine that nobody named, their deployment not seen. found: the constants of every part.
    """

    table: Table
    fold: Column
    chip: Column
    generic: Column
    found: Mapping[str, Mapping[str, float]]

    @property
    def rows(self) -> list[Row]:
        """The rows of the table."""
        return self.table.rows

    def left(self, times: Column) -> Column:
        """Logarithms of measured over estimated."""
        return np.log(np.array([row.time_s for row in self.rows]) / times)


def held(table: Table, found: Mapping[str, Mapping[str, float]]) -> Held:
    """Every row's times by the constants of its fold and of its chip."""
    times = {name: table.predicted(of) for name, of in found.items()}
    unnamed = {name: table.predicted(of, GENERIC) for name, of in found.items() if name.startswith("fold")}

    def pick(of: Mapping[str, Column], name: Callable[[Row], str]) -> Column:
        return np.array([of[name(row)][i] for i, row in enumerate(table.rows)])

    def by_fold(row: Row) -> str:
        return f"fold {fold(row.group)}"

    return Held(table, pick(times, by_fold), pick(times, lambda row: f"chip {row.chip}"), pick(unnamed, by_fold), found)


def members(of: Held) -> dict[str, list[int]]:
    """The rows of each class, a measurement that stands there twice once."""
    found: dict[str, list[int]] = {name: [] for name in CLASSES}
    for i in distinct(of.rows):
        for name in _classes(of, i):
            found[name].append(i)
    return found


def distinct(rows: Sequence[Row]) -> Iterator[int]:
    """Each measurement once."""
    seen = set()
    for i, row in enumerate(rows):
        key = (row.group, row.weights, row.batch, row.prompt, row.output, row.what, round(np.log(row.time_s) / SAME))
        if key not in seen:
            seen.add(key)
            yield i


def _classes(of: Held, i: int) -> Iterator[str]:
    """The classes that a row speaks for."""
    row, model = of.rows[i], of.table.deployments[of.table.index[i]].model
    if row.what == "ttft" and row.batch / row.dp <= UNLOADED:
        yield "ttft unloaded"
    stack = stack_of(row.engine)
    if row.what != TIMES[stack]:
        return
    own = residual_class(row.engine, model, "tpot", CLASSES, known=True)
    yield own
    if own.startswith("experts, ") and "latent" not in own:
        yield "experts"
    if stack != LLAMA and of.table.deployments[of.table.index[i]].machine.family == "hbm":
        yield f"engine not named, {kind_of(model)}"


def shared(of: Held) -> dict[str, float]:
    """What each chip is off when it is left out and others of its kind and stack are not: medians of logarithms."""
    left, once = of.left(of.chip), list(distinct(of.rows))
    found: dict[str, float] = {}
    for what in TIMES.values():
        ran: dict[str, list[int]] = {}
        for i in once:
            if of.rows[i].what == what:
                ran.setdefault(of.rows[i].chip, []).append(i)
        for chip, own in ran.items():
            elsewhere = {_with(of, i) for other, several in ran.items() if other != chip for i in several}
            if {_with(of, i) for i in own} <= elsewhere:
                found[chip] = float(np.median(left[own]))
    return found


def _with(of: Held, i: int) -> tuple[str, str]:
    """The kind of chip and the engine of a row."""
    return of.table.deployments[of.table.index[i]].machine.family, of.rows[i].engine


def chip_sd(off: Mapping[str, float], without: str = "") -> float:
    """How far chips lie from what others say of them: root of the mean square."""
    return float(np.sqrt(np.mean([one**2 for chip, one in off.items() if chip != without])))


def residuals(of: Held, own: Mapping[str, Residuals]) -> dict[str, Residuals]:
    """Every class of a file, those of one's `own` points among them."""
    found, off = {}, shared(of)
    for name, chosen in members(of).items():
        seen, unseen = _known(of, name, chosen), _unseen(of, name, chosen, off)
        found[name] = between(seen)
        if name not in BY_ENGINE:
            found[f"{name}{UNSEEN}"] = between(unseen, chip_sd(off))
    return {**found, **own}


def _known(of: Held, name: str, chosen: Sequence[int]) -> Column:
    """Logarithms that deployments on known chips were off."""
    return of.left(of.generic if name.startswith("engine") else of.fold)[list(chosen)]


def _unseen(of: Held, name: str, chosen: Sequence[int], off: Mapping[str, float]) -> Column:
    """The same of chips left out, what a chip is off taken away; where too few chips could be, of deployments."""
    left = of.left(of.chip)
    usual = [i for i in chosen if of.rows[i].chip in off]
    if name.startswith("engine") or len(usual) < FEW:
        return _known(of, name, chosen)
    return np.array([left[i] - (0.0 if name.startswith("ttft") else off[of.rows[i].chip]) for i in usual])


def between(left: Column, sd: float = 0.0) -> Residuals:
    """Four of five, each row being off by a chip's own error too."""
    low, high = tenths(left, sd)
    return Residuals(float(f"{np.exp(low):.3f}"), float(f"{np.exp(high):.3f}"), len(left))


def tenths(left: Column, sd: float = 0.0) -> tuple[float, float]:
    """The first and the last tenth of logarithms, with a normal error of this size on each."""
    if not sd:
        low, high = np.quantile(left, [TENTH, NINE_TENTHS])
        return float(low), float(high)
    every, weights = (left[:, None] + sd * NODES).ravel(), np.tile(SHARES / SHARES.sum(), len(left)) / len(left)
    order = np.argsort(every)
    low, high = np.interp([TENTH, NINE_TENTHS], np.cumsum(weights[order]), every[order])
    return float(low), float(high)


def tenth_of(group: str) -> int:
    """A part of the deployments other than the folds of the fit, to take intervals from one and try them on another."""
    return zlib.crc32(f"{group}x".encode()) % 10
