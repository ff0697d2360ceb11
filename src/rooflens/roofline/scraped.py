"""What an engine said of itself at one moment, as plain values under one set of names.

Kept apart everywhere: a number; 0 (none happened); absent, with the reason in `missing`. Counters, gauges and
histograms stay apart for each engine behind a target, since each restarts on its own; sums are made when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.records import field, record

Labels = tuple[tuple[str, str], ...]  # sorted by name

COUNTERS = {
    "prompt_tokens_total": "prompt tokens taken in, those found in a cache included",
    "cached_prompt_tokens_total": "prompt tokens found in a cache, which cost no FLOPs",
    "computed_prompt_tokens_total": "prompt tokens that were computed",
    "generation_tokens_total": "tokens generated",
    "steps_total": "passes through the model: each reads the weights once",
    "decode_steps_total": "passes that generate only, where the engine tells them apart",
    "finished_requests_total": "requests that ended well",
    "finished_prompt_tokens_total": "prompt tokens of requests that ended",
    "finished_generation_tokens_total": "generated tokens of requests that ended",
    "busy_s_total": "seconds that the engine computed",
    "prompt_s_total": "seconds of prompts, summed over sequences",
    "generation_s_total": "seconds of generation, summed over sequences",
    "preemptions_total": "requests thrown out of the cache for want of room",
    "drafts_total": "sequences' steps that verified drafts",
    "draft_tokens_total": "drafted tokens that were verified",
    "accepted_draft_tokens_total": "drafted tokens that were kept",
    "estimated_flops_total": "the engine's own estimate of its FLOPs, of one device",
    "estimated_read_bytes_total": "the engine's own estimate of bytes read, of one device",
    "estimated_write_bytes_total": "the engine's own estimate of bytes written, of one device",
}
GAUGES = {
    "running": "requests in the batch",
    "waiting": "requests in the queue",
    "kv_usage": "share of the KV pool in use, 0 to 1",
    "kv_tokens": "tokens that the pool holds",
    "kv_capacity_tokens": "tokens that the pool can hold",
    "kv_used_blocks": "pages of the pool in use",
    "kv_capacity_blocks": "pages of the pool",
    "kv_block_tokens": "tokens a page",
    "kv_read_tokens": "cached tokens that a decode step reads, all sequences together",
    "prompt_tokens_per_s": "the engine's own rate of prompt tokens: never differenced",
    "generation_tokens_per_s": "the engine's own rate of generated tokens: never differenced",
    "step_s": "the engine's own time of a pass",
    "slots_a_step": "sequences in a pass, the mean since the engine started",
    "tokens_a_draft_step": "tokens that a sequence's step yields with drafts, by the engine",
    "weight_bytes": "the engine's own size of its weights",
    "kv_pool_bytes": "the engine's own size of its pool",
}
MEANS = ("kv_usage", "kv_block_tokens", "step_s", "slots_a_step", "tokens_a_draft_step", "weight_bytes")  # never added
HISTOGRAMS = {
    "ttft_s": "time to first token of a request, waiting included",
    "tpot_s": "(time of a request behind its first token) / (its tokens - 1)",
    "itl_s": "time between two pieces of a request's stream",
    "e2e_s": "a whole request",
    "queue_s": "a request's wait",
}


@record
class Page:
    """Samples of an exposition by name and labels. stamped_s: the latest time that samples carry themselves.

    faults: lines that are none, each a sentence; the first few of `faulty`.
    """

    series: Mapping[str, Mapping[Labels, float]]
    stamped_s: float | None = None
    faults: tuple[str, ...] = ()
    faulty: int = 0


@record
class Histogram:
    """Counts up to and with each upper bound, the last one infinite. sum: of all values; None: not told."""

    count: float
    sum: float | None
    buckets: tuple[tuple[float, float], ...] = ()


@record
class Served:
    """One model of a target. Of each quantity: its value by engine ("0", "1" ...; "" where it has no name).

    settings: what the engine tells of itself, in its own words. names: the metric that gave a quantity.
    missing: why a quantity is absent and what to turn on.
    """

    model: str | None = None
    counters: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    gauges: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    histograms: Mapping[str, Mapping[str, Histogram]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines behind this model, each a replica of it; what is told of all together is none of them."""
        named = tuple(name for name in self.tellers if name)
        return named or ("",)

    @property
    def tellers(self) -> tuple[str, ...]:
        """All that tell something of this model: its engines, and "" for what is told without a name."""
        found = {name for of in (self.counters, self.gauges) for by in of.values() for name in by}
        return tuple(sorted(found)) or ("",)

    def total(self, quantity: str) -> float | None:
        """A counter over all engines since they started; None when it is not told."""
        by = self.counters.get(quantity)
        return sum(by.values()) if by else None

    def gauge(self, quantity: str) -> float | None:
        """A gauge over all engines: their sum, or the mean of what cannot be added; None when it is not told."""
        by = self.gauges.get(quantity)
        if not by:
            return None
        return sum(by.values()) / (len(by) if quantity in MEANS else 1)


@record
class Gpu:
    """One device by DCGM's exporter. Shares of its time or cycles are ratios; what is blank there is absent here.

    utilisation: share of time in which any kernel was there, however small: no measure of efficiency.
    """

    id: str
    name: str | None = None
    host: str | None = None
    utilisation: float | None = None
    engine_active: float | None = None
    sm_active: float | None = None
    sm_occupancy: float | None = None
    tensor_active: float | None = None
    dram_active: float | None = None
    pcie_sent_bytes_per_s: float | None = None
    pcie_received_bytes_per_s: float | None = None
    nvlink_sent_bytes_per_s: float | None = None
    nvlink_received_bytes_per_s: float | None = None
    clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    memory_used_bytes: float | None = None
    memory_free_bytes: float | None = None
    throttled_s: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)


@record
class Scrape:
    """A target at one moment. at_s: by our clock. started_s: when the engine's process began, by its own clock.

    stamped_s: the time that the samples carry, where they do. engine: "vllm", "sglang", "trtllm", "tgi", "llama.cpp",
    "dcgm".
    """

    engine: str
    at_s: float
    served: tuple[Served, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    started_s: float | None = None
    stamped_s: float | None = None
    notes: tuple[str, ...] = ()
