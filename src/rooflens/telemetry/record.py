"""Rates of an engine between two scrapes, and its place under the roofs: what `watch` shows and exporters tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.records import field, html, record

SCHEMA = "rooflens/watch/1"
ESTIMATES = ("estimated_flops_per_s", "estimated_read_bytes_per_s", "estimated_write_bytes_per_s")  # of one device
State = Literal["idle", "busy", "queueing"]
DEFINITIONS = {
    "rates": "differences of counters over the time between two scrapes by our clock; a restart counts from zero",
    "tpot": "(time of a request behind its first token) / (its tokens - 1), the mean over requests that ended; where "
    "an engine does not tell it, the mean time between two pieces of a stream over the tokens of a step, and tpot_from "
    "says so; tgi's is a request's time in the batch, its prompt's included, over its tokens",
    "itl": "time between two pieces of a request's stream, the mean over pieces; sglang's: a piece's time shared out "
    "to its tokens, the mean over tokens",
    "mbu": "(steps/s x weight bytes of a step + cached tokens read/s x bytes a token) / read bandwidth, of one device",
    "mfu": "FLOPs of computed prompt tokens and generated tokens / time / peak, of one device; tokens found in a cache "
    "cost none",
    "mbu_busy": "the same over the time in which the engine computed, where it tells that",
    "mbu_decoding": "bytes of the mean decode step / the time between two steps of a sequence, by its stream / read "
    "bandwidth",
    "quantile": "between low_s and high_s for certain, as the engine's buckets have it; at_s: on a line between them",
    "not_counted": "activations, cache writes, cache reads of prompts, drafts that were thrown away",
}


@record
class Quantile:
    """A quantile by buckets: it lies in low_s ... high_s for certain. high_s, at_s absent: over the last bound."""

    share: float
    low_s: float
    high_s: float | None = None
    at_s: float | None = None


@record
class Spread:
    """Times seen between two scrapes. mean_s: sum / count; absent: none was seen, or no sum is told."""

    count: float
    mean_s: float | None = None
    quantiles: tuple[Quantile, ...] = ()


@record
class Rates:
    """One model of a target between two scrapes. Absent: not known; `missing` says why. Rates add all its engines.

    replicas: engines behind the target, each with the whole model. decode_tokens_per_s: generated behind first tokens.
    sequence_steps_per_s: the same with drafts taken together: how often a sequence passed through the model.
    steps_from, context_from, tpot_from: "counted" or how it was estimated. batch: sequences of the mean step, over all
    replicas. decode_step_s: between two steps of a sequence, by its stream; tpot_s: between two of its tokens.
    context_tokens: cached tokens that a sequence's step reads. busy_share: of the time, by the engine.
    estimated_*: the engine's own estimate, of one device. names: the metric that gave each quantity.
    """

    engine: str
    model: str | None
    at_s: float
    interval_s: float | None = None
    replicas: int = 1
    restarted: bool = False
    prompt_tokens_per_s: float | None = None
    cached_prompt_tokens_per_s: float | None = None
    computed_prompt_tokens_per_s: float | None = None
    generation_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    sequence_steps_per_s: float | None = None
    prompts_per_s: float | None = None
    requests_per_s: float | None = None
    preemptions_per_s: float | None = None
    steps_per_s: float | None = None
    steps_from: str | None = None
    batch: float | None = None
    context_tokens: float | None = None
    context_from: str | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    tokens_a_step: float | None = None
    busy_share: float | None = None
    running: float | None = None
    waiting: float | None = None
    queueing: bool = False
    kv_usage: float | None = None
    kv_tokens: float | None = None
    kv_capacity_tokens: float | None = None
    ttft: Spread | None = None
    tpot: Spread | None = None
    itl: Spread | None = None
    e2e: Spread | None = None
    queue: Spread | None = None
    decode_step_s: float | None = None
    tpot_s: float | None = None
    tpot_from: str | None = None
    estimated_flops_per_s: float | None = None
    estimated_read_bytes_per_s: float | None = None
    estimated_write_bytes_per_s: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@record
class Roof:
    """Where one model stands under the roofs of a machine. Rates are of one device; times of a step.

    mbu, mfu: overall, of the roofs of `machine`; _of_datasheet: of the datasheet's where the machine was measured, or
    _of_measured the other way round. mbu_busy, mfu_busy: over the engine's own busy time. mbu_decoding: of its decode
    steps alone. tpot_floor_s, tpot_estimate_s: a token at the present batch and context. tpot_low_s,
    tpot_high_s: four of five lie between. tpot_over_floor: measured TPOT over the floor.
    estimated_over_ours: the engine's own bytes read over those counted here.
    """

    machine: str
    model: str
    measured: bool
    devices: int
    state: State | None  # None: neither what runs nor what was computed is known
    conventions: Mapping[str, str]
    weight_bytes_per_s: float | None = None
    kv_bytes_per_s: float | None = None
    flops_per_s: float | None = None
    mbu: float | None = None
    mfu: float | None = None
    mbu_busy: float | None = None
    mfu_busy: float | None = None
    mbu_decoding: float | None = None
    mbu_of_datasheet: float | None = None
    mfu_of_datasheet: float | None = None
    mbu_of_measured: float | None = None
    mfu_of_measured: float | None = None
    read_roof_bytes_per_s: float | None = None
    compute_roof_flops_per_s: float | None = None
    peak_math: str | None = None
    step_weight_bytes: float | None = None
    step_kv_bytes: float | None = None
    tpot_floor_s: float | None = None
    tpot_estimate_s: float | None = None
    tpot_low_s: float | None = None
    tpot_high_s: float | None = None
    tpot_over_floor: float | None = None
    bound: str | None = None
    regime: str | None = None
    estimated_over_ours: float | None = None
    lever: str | None = None
    findings: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@record
class Reading:
    """One model of a target: its rates, and its place under the roofs where model and machine are known."""

    _repr_html_ = html

    target: str
    rates: Rates
    roof: Roof | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
