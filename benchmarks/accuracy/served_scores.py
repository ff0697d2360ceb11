"""The served part of the table: errors on rows left out whole, intervals, floors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from benchmarks.accuracy import coverage, own_points
from benchmarks.accuracy.coverage import Covered
from benchmarks.accuracy.residuals import UNLOADED, Held
from benchmarks.accuracy.rows import Row
from benchmarks.accuracy.table import Column
from rooflens.prediction.intervals import kind_of, stack_of
from rooflens.records import record

Chosen = Callable[[Row], bool]
NO = "deployments"


@record
class Line:
    """One line of a table: what, how many rows, and its columns as text."""

    what: str
    rows: int
    columns: Mapping[str, str]


def errors(of: Held) -> Iterator[Line]:
    """Errors on rows left out: whole deployments, whole chips; what five own points make of them."""
    for what, left_out, times, wanted, chosen in _kinds(of):
        rows = [i for i, row in enumerate(of.rows) if chosen(row)]
        yield _line(what, left_out, wanted, _off(of, times, rows))
    own = own_points.scored(of)
    before = np.abs(own.before / own.measured - 1.0)
    some = f"{own.deployments} deployments, five of their points known"
    yield _line("TPOT, five own points", some, "10 / -", own.errors)
    yield _line("the same rows before", "deployments", "", before)


def _kinds(of: Held) -> Iterator[tuple[str, str, Column, str, Chosen]]:
    fold, chip = of.fold, of.chip
    yield "TPOT", NO, fold, "14 / 22", _tpot
    yield "without 60 that look speculative", NO, fold, "", lambda row: _tpot(row) and row.fitted
    for engine in ("vllm", "sglang", "trtllm"):
        yield engine, NO, fold, "", lambda row, engine=engine: _tpot(row) and row.engine == engine
    for kind in ("dense", "experts"):
        models = {row.model for row, i in zip(of.rows, of.table.index, strict=True)
                  if kind_of(of.table.deployments[i].model) == kind}  # fmt: skip
        yield kind, NO, fold, "", lambda row, models=models: _tpot(row) and row.model in models
    yield "TPOT, chip unseen", "chips", chip, "17 / -", _tpot
    for name in ("b200-sxm-180gb", "h100-sxm5-80gb"):
        yield name, "chips", chip, "", lambda row, name=name: _tpot(row) and row.chip == name
    yield "TTFT, unloaded", NO, fold, "30 / -", _first
    yield "TTFT, unloaded, chip unseen", "chips", chip, "", _first
    yield "TTFT, any load", NO, fold, "", lambda row: row.what == "ttft"
    yield "latencies of 2024", NO, fold, "", lambda row: row.what == "latency"
    yield "llama.cpp decode", NO, fold, "", lambda row: row.what == "decode"


def intervals(of: Held) -> Iterator[Line]:
    """Shares of rows inside intervals that their deployment, or chip, did not make; high over low."""
    seen, unseen = coverage.known(of), coverage.unseen(of)
    today = ("dense", "experts", "experts, vllm", "experts, sglang", "experts, latent, trtllm")
    yield _covered("TPOT, deployment unseen", seen.of(today))
    for name in (*today, "2024", "llama.cpp"):
        yield _covered(name, seen.of([name]))
    yield _covered("TPOT, chip unseen", unseen)
    for name in sorted(set(unseen.name)):
        yield _covered(name, unseen.of([name]))
    own = own_points.scored(of)
    inside, width = own_points.covered(own)
    yield _covered("TPOT, five own points", Covered(own.kind, own.row, inside, width))
    for kind in ("dense", "experts"):
        yield _covered(f"{kind}, own points", Covered(own.kind, own.row, inside, width).of([kind]))


def floors(of: Held) -> Iterator[Line]:
    """How far above their floors rows lie, and how many beat them: the measured time over what no software beats."""
    shares = np.array([_floor_s(of, i) for i in range(len(of.rows))]) / np.array([row.time_s for row in of.rows])
    classes: dict[str, list[int]] = {}
    for i, row in enumerate(of.rows):
        kind = kind_of(of.table.deployments[of.table.index[i]].model)
        stack = stack_of(row.engine)
        name = f"TPOT, {kind}, {row.engine}" if row.what == "tpot" else f"{row.what}, {kind}, {stack}"
        classes.setdefault(name, []).append(i)
    for name, rows in [("all", list(range(len(of.rows)))), *sorted(classes.items())]:
        yield Line(name, len(rows), _floor_columns(shares[rows]))


def _floor_columns(shares: Column) -> dict[str, str]:
    beaten = f"{np.sum(shares > 1)} ({100 * np.mean(shares > 1):.2f} %)"
    return {"median floor / measured": f"{np.median(shares):.2f}", "rows that beat their floor": beaten}


def _floor_s(of: Held, i: int) -> float:
    """The floor of what a row measured: a step, a prompt, or a whole batch from its first to its last token."""
    row, load = of.rows[i], of.table.deployments[of.table.index[i]]
    if row.what in ("ttft", "prefill"):
        return float(load.floor("prefill").floor_s)
    step_s = float(load.floor("decode").floor_s)
    return row.output * step_s if row.what == "latency" else step_s


def _off(of: Held, times: Column, rows: Sequence[int]) -> Column:
    measured = np.array([of.rows[i].time_s for i in rows])
    return np.abs(times[list(rows)] / measured - 1.0)


def _line(what: str, left_out: str, wanted: str, off: Column) -> Line:
    got = {"median": f"{100 * np.median(off):.1f}", "mean": f"{100 * off.mean():.1f}"}
    return Line(what, len(off), {"left out": left_out, "wanted, median / mean": wanted, **got})


def _covered(what: str, of: Covered) -> Line:
    columns = {"inside": f"{100 * of.inside.mean():.0f} %", "high / low, median": f"{np.median(of.width):.2f}"}
    return Line(what, len(of.row), columns)


def _tpot(row: Row) -> bool:
    return row.what == "tpot"


def _first(row: Row) -> bool:
    return row.what == "ttft" and row.batch / row.dp <= UNLOADED
