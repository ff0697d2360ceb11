"""The answer to `predict`: how fast a deployment could be, how fast it will be, and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.diagnose import Verdict
from rooflens.predict.memory import Memory
from rooflens.records import html, record

SCHEMA = "rooflens/predict/1"


@record
class Times:
    """Seconds. floor: nothing beats it on these ceilings; floor_overlapped: were all kernels to overlap.

    estimate: what to expect, between low and high in four cases of five; absent where nothing was calibrated.
    """

    floor: float
    floor_overlapped: float
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

    tokens_per_s_per_user: 1 / TPOT. tokens_per_s: of all sequences, with the prompts' share of the time; per_device: the
    same over the devices. mfu, mbu: of the decode step at its expected time, of either roof where it is known.
    batch_at_ridge: from where on the weights' products bind by compute; batch_memory_allows: sequences that fit at this
    context. where_time_goes: seconds of the expected step.
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
