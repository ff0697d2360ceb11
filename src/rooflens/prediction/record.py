"""The answer to `predict`: how fast a deployment could be, how fast it will be, and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.diagnose import Verdict
from rooflens.prediction.memory import Memory
from rooflens.records import html, record

SCHEMA = "rooflens/prediction/1"
Scales = Literal["static", "dynamic", "block"]  # of an fp8 product: known before, of each token, of blocks of 128


@record
class Times:
    """Seconds. floor: nothing beats it on these ceilings; floor_overlapped: were all kernels to overlap.

    floor_without_collectives: the same floor on links without a limit.
    estimate: what to expect, between low and high in four cases of five; absent where nothing was calibrated.
    """

    floor: float
    floor_overlapped: float
    floor_without_collectives: float
    estimate: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def expected(self) -> float:
        """The estimate, or the floor where there is none."""
        return self.floor if self.estimate is None else self.estimate


@record
class Constant:
    """One number that an estimate rests on. origin: datasheet, measured here, fitted on N rows, prior, assumed."""

    name: str
    value: float
    origin: str


@record
class Prediction:
    """One deployment at one load.

    tokens_per_s_per_user: 1 / TPOT, as expected, at the floor where nothing is; tokens_per_s: of all sequences;
    tokens_per_s_per_device: of all sequences, over the devices; tokens_per_s_ceiling: of all sequences at the floor.
    mfu, mbu: of the decode step at its expected time, of either roof where it is known; without _of: of a measured
    rate. batch_at_ridge: from where on compute binds the products with weights. batch_memory_allows: sequences that fit
    at this context. where_time_goes: seconds, of the floor by what binds and beside it by what is added. bubble: of a
    pipeline, the share of the step that a stage waits, (p - 1) / (m + p - 1). usd, joules: at the catalogue's price and
    power limit.
    """

    _repr_html_ = html

    model: str
    machine: str
    devices: int
    step: Mapping[str, float | str]
    conventions: Mapping[str, str]
    tpot_s: Times
    ttft_s: Times
    tokens_per_s_per_user: float
    tokens_per_s: float
    tokens_per_s_per_device: float
    tokens_per_s_ceiling: float
    bound: str
    where_time_goes: Mapping[str, float]
    ridge_flops_per_byte: float
    batch_at_ridge: int | None
    batch_memory_allows: int | None
    constants: tuple[Constant, ...]
    memory: Memory | None = None
    bubble: float | None = None
    mfu_of_measured: float | None = None
    mfu_of_datasheet: float | None = None
    mbu_of_measured: float | None = None
    mbu_of_datasheet: float | None = None
    usd_per_million_tokens: float | None = None
    joules_per_token: float | None = None
    measured_tokens_per_s: float | None = None
    mbu: float | None = None
    mfu: float | None = None
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
