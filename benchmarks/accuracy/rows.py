"""The measured rows as deployments that rooflens prices. Where they come from: rows/README.md."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import rooflens
from rooflens import catalogue, workload
from rooflens.dtypes import dtype
from rooflens.models import Model
from rooflens.operators.cost import Precision
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.memory import Reserve, memory
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.machines import from_accelerator
from rooflens.roofline.math import resolve

HERE = Path(__file__).parent
MEMORY_FRACTION = 0.94  # of a device that weights and cache may fill; series that stop rising with the load follow it
TOGETHER = ("latency", "elapsed", "prefill")  # a fixed batch, read together and then written together
UNFITTED = "fit:"  # a row that is scored and not fitted
NARROW_CACHE = ("fp8", "nvfp4", "mxfp4", "int4")  # weights beside which the cache is taken as fp8


@record
class Row:
    """One measured load.

    batch: sequences at once over all replicas. what: tpot, ttft, latency (first to last token of a batch), elapsed (the
    same a token), prefill, decode (a token of llama.cpp), prompt, throughput; all but the last in seconds.
    correction: what was read otherwise than it was published. left_out: why it is not priced, or, after `fit:`, priced
    and scored and not fitted.
    """

    source: str
    id: str
    published_model: str
    model: str
    engine: str
    version: str
    date: str
    chip: str
    devices: int
    weights: str
    tp: int
    pp: int
    ep: int
    dp: int
    batch: float
    prompt: float
    output: float
    what: str
    time_s: float
    correction: str
    left_out: str

    @property
    def group(self) -> str:
        """The deployment it belongs to, in whatever format: what is left out together."""
        return "|".join(map(str, (self.model, self.chip, self.engine, self.tp, self.ep, self.dp, self.pp)))

    @property
    def fitted(self) -> bool:
        """Whether the constants may know it."""
        return not self.left_out

    @property
    def static(self) -> bool:
        """Whether the batch is read together and then written together, and nobody comes in between."""
        return self.what in TOGETHER


def served() -> list[Row]:
    """Every served row, also those that are left out."""
    return [Row(**{name: _typed(name, text) for name, text in row.items()}) for row in read("served")]


def priced() -> list[Row]:
    """The served rows that can be priced."""
    return [row for row in served() if not row.left_out or row.left_out.startswith(UNFITTED)]


def read(name: str) -> Iterator[dict[str, str]]:
    """The lines of a file of rows."""
    text = gzip.decompress((HERE / "rows" / f"{name}.csv.gz").read_bytes()).decode()
    yield from csv.DictReader(io.StringIO(text))


def deployment(row: Row) -> Deployment:
    """The row as it runs: of the sequences that ask, those that fit. The layers of a llama.cpp split run in turn."""
    built, there = model(row.model), machine(row.chip)
    stored = precision(row.model, row.weights, row.chip)
    how = {"tp": row.tp, "ep": row.ep, "dp": row.dp, "pp": 1}
    full = Deployment(built, stored, there, row.batch, row.prompt or 1.0, row.output, how=how)
    if row.what == "decode":
        return replace(full, context=max(row.output / 2, 1.0), output=0.0)
    return full if row.static else replace(full, batch=min(row.batch, room(row.model, row.weights, row.chip, row)))


def room(name: str, weights: str, chip: str, row: Row) -> float:
    """Sequences that fit at their full length, at least one a replica."""
    return _room(name, weights, chip, row.tp, row.ep, row.dp, row.prompt + row.output)


@cache
def _room(name: str, weights: str, chip: str, tp: int, ep: int, dp: int, length: float) -> float:
    step = workload.decode(dp, max(length, 1.0), tp=tp, ep=ep, dp=dp)
    capacity = machine(chip).memory_bytes
    if capacity is None:
        return float("inf")
    kept, stored = Reserve(memory_fraction=MEMORY_FRACTION), precision(name, weights, chip)
    return max(float(dp), float(memory(model(name), stored, step, capacity, kept).max_sequences))


@cache
def model(name: str) -> Model:
    """A model of the catalogue, or of the configurations beside the rows."""
    own = HERE / "models" / f"{name}.json"
    return rooflens.model(str(own) if own.exists() else name, links=True)


@cache
def machine(chip: str) -> Machine:
    """The chip's datasheet."""
    return from_accelerator(catalogue.accelerator(chip))


@cache
def precision(name: str, weights: str, chip: str) -> Precision:
    """What is stored and computed. The cache, which the rows do not say, is fp8 beside weights under 16 bit."""
    built, own = model(name), dtype("fp16" if weights in ("fp16", "q4_k_m") else "bf16")
    kv = "fp8" if weights in NARROW_CACHE else own.name
    if weights == "mxfp4":
        stored = workload.precision(own, None, kv, built.stored, built.state_dtype)
    else:
        stored = workload.precision(own, weights, kv, None, built.state_dtype)
    if weights == "int4" and "E" in built.letters:  # such files narrow the routed experts alone
        parts = dict.fromkeys(("project", "ssm", "shared", "linear"), own)
        stored = replace(stored, stored_parts={**stored.stored_parts, **parts})
    return resolve(stored, machine(chip))[0]


def _typed(name: str, text: str) -> str | int | float:
    kind = Row.__annotations__[name]
    if kind == "str":
        return text
    return int(text or 1) if kind == "int" else float(text or "nan")
