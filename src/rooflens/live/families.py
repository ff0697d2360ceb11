"""What an exporter tells: one table of metrics, each with its definition, made from targets at one moment.

Base units, ratios 0 to 1. What is not known has no sample: 0 is a figure like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rooflens.records import record
from rooflens.roofline.scraped import Gpu
from rooflens.telemetry.record import Rates, Reading, Roof, Spread

Labelled = tuple[tuple[str, ...], float]
LONGEST_LABEL = 128
TARGET = ("target",)
DEVICE = (*TARGET, "gpu")
QUANTILES = {0.5: "p50", 0.95: "p95", 0.99: "p99"}
BASE = (*TARGET, "engine", "model")


@record
class Family:
    """One metric. labels: of its series; those that say of whom it tells, as BASE, are first.

    of: what it tells of a reading, a device or a target: values of its further labels, and the figure.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    of: Callable[[Any], Iterator[Labelled]]

    @property
    def kind(self) -> str:
        """As Prometheus calls it."""
        return "counter" if self.name.endswith("_total") else "gauge"


def plain(name: str, says: str, value: Callable[[Rates], float | None]) -> Family:
    """A figure of the rates."""

    def samples(reading: Reading) -> Iterator[Labelled]:
        found = value(reading.rates)
        if found is not None:
            yield (), float(found)

    return Family(name, says, BASE, samples)


def roofed(
    name: str, says: str, labels: tuple[str, ...], values: Callable[[Roof], Mapping[tuple[str, ...], float | None]]
) -> Family:
    """Figures against the roofs, where model and machine are known."""

    def samples(reading: Reading) -> Iterator[Labelled]:
        if reading.roof is not None:
            yield from ((key, float(value)) for key, value in values(reading.roof).items() if value is not None)

    return Family(name, says, (*BASE, *labels), samples)


def spread(name: str, says: str, of: Callable[[Rates], Spread | None]) -> Family:
    """Mean and quantiles of a histogram over the last interval; a quantile is interpolated in its bucket."""

    def samples(reading: Reading) -> Iterator[Labelled]:
        found = of(reading.rates)
        if found is None or not found.count:
            return
        if found.mean_s is not None:
            yield ("mean",), found.mean_s
        for one in found.quantiles:
            if one.at_s is not None:
                yield (QUANTILES.get(one.share, f"{one.share:g}"),), one.at_s

    return Family(name, says, (*BASE, "stat"), samples)


def device(name: str, says: str, value: Callable[[Gpu], float | None]) -> Family:
    """A figure of one device."""

    def samples(gpu: Gpu) -> Iterator[Labelled]:
        found = value(gpu)
        if found is not None:
            yield (), float(found)

    return Family(name, says, DEVICE, samples)


def several(name: str, says: str, label: str, values: Callable[[Gpu], Mapping[str, float]]) -> Family:
    """Figures of one device by a label."""
    return Family(name, says, (*DEVICE, label), lambda gpu: (((key,), float(v)) for key, v in values(gpu).items()))


def _ratios(roof: Roof, which: str) -> dict[tuple[str, ...], float | None]:
    """MBU or MFU by whose roof, and over which time."""
    own, other = ("measured", "datasheet") if roof.measured else ("datasheet", "measured")
    found: dict[tuple[str, ...], float | None] = {
        (own, "wall"): getattr(roof, which),
        (own, "busy"): getattr(roof, f"{which}_busy"),
        (other, "wall"): getattr(roof, f"{which}_of_{other}"),
    }
    if which == "mbu":
        found[own, "decoding"] = roof.mbu_decoding
    return found


FAMILIES: tuple[Family, ...] = (
    plain("rooflens_prompt_tokens_per_second", "Prompt tokens taken in, those found in a cache included.",
          lambda r: r.prompt_tokens_per_s),
    plain("rooflens_computed_prompt_tokens_per_second", "Prompt tokens that were computed: those in a cache cost none.",
          lambda r: r.computed_prompt_tokens_per_s),
    plain("rooflens_generation_tokens_per_second", "Tokens generated.", lambda r: r.generation_tokens_per_s),
    plain("rooflens_requests_per_second", "Requests that ended well.", lambda r: r.requests_per_s),
    plain("rooflens_steps_per_second", "Passes through the model; each reads the weights once.",
          lambda r: r.steps_per_s),
    plain("rooflens_preemptions_per_second", "Requests thrown out of the KV pool for want of room.",
          lambda r: r.preemptions_per_s),
    plain("rooflens_running_requests", "Requests in the batch.", lambda r: r.running),
    plain("rooflens_waiting_requests", "Requests in the queue.", lambda r: r.waiting),
    plain("rooflens_batch_sequences", "Sequences of the mean step over the interval.", lambda r: r.batch),
    plain("rooflens_context_tokens", "Cached tokens that a sequence's step reads, the mean.",
          lambda r: r.context_tokens),
    plain("rooflens_kv_usage_ratio", "Share of the KV pool in use.", lambda r: r.kv_usage),
    plain("rooflens_kv_capacity_tokens", "Tokens that the KV pool can hold.", lambda r: r.kv_capacity_tokens),
    plain("rooflens_busy_ratio", "Share of the interval in which the engine computed, by its own word.",
          lambda r: r.busy_share),
    spread("rooflens_ttft_seconds", "Time to first token over the interval, waiting included.", lambda r: r.ttft),
    spread("rooflens_tpot_seconds", "Time per output token: (latency - TTFT) / (output tokens - 1) of each request; "
           "tgi's is a request's time in the batch, its prompt's included, over its tokens.",
           lambda r: r.tpot),
    spread("rooflens_itl_seconds", "Inter-token latency: between two pieces of a request's stream (sglang: its time "
           "shared out to the tokens of a piece).", lambda r: r.itl),
    spread("rooflens_e2e_seconds", "A whole request.", lambda r: r.e2e),
    spread("rooflens_queue_seconds", "A request's wait before its first pass.", lambda r: r.queue),
    roofed("rooflens_mbu_ratio",
           "Model bandwidth utilisation of one device: steps/s x weight bytes of a step (experts touched) + KV bytes "
           "read, over the read roof. of: whose roof; over: all of the time, the engine's busy time, or decode steps.",
           ("of", "over"), lambda roof: _ratios(roof, "mbu")),
    roofed("rooflens_mfu_ratio",
           "Model FLOPs utilisation of one device: FLOPs of computed prompt and generated tokens by the model's rows, "
           "over the dense peak of each math.", ("of", "over"), lambda roof: _ratios(roof, "mfu")),
    roofed("rooflens_model_bytes_per_second", "Bytes that the model must move on one device, by what they are.",
           ("part",), lambda roof: {("weights",): roof.weight_bytes_per_s, ("kv",): roof.kv_bytes_per_s}),
    roofed("rooflens_model_flops_per_second", "FLOPs that the model must do on one device.", (),
           lambda roof: {(): roof.flops_per_s}),
    roofed("rooflens_read_roof_bytes_per_second", "The read roof of one device that ratios are of.", (),
           lambda roof: {(): roof.read_roof_bytes_per_s}),
    roofed("rooflens_compute_roof_flops_per_second", "The dense peak of one device, of the math of most FLOPs.",
           ("math",), lambda roof: {(roof.peak_math or "",): roof.compute_roof_flops_per_s}),
    roofed("rooflens_tpot_floor_seconds", "A token at the present batch and context that no software beats.", (),
           lambda roof: {(): roof.tpot_floor_s}),
    roofed("rooflens_tpot_estimate_seconds",
           "The same as this engine is expected to take; low and high hold four cases of five.", ("bound",),
           lambda roof: {("estimate",): roof.tpot_estimate_s, ("low",): roof.tpot_low_s, ("high",): roof.tpot_high_s}),
    roofed("rooflens_tpot_over_floor_ratio", "Measured time per output token over the floor.", (),
           lambda roof: {(): roof.tpot_over_floor}),
    roofed("rooflens_estimated_over_ours_ratio", "The engine's own estimate of bytes read over those counted here.", (),
           lambda roof: {(): roof.estimated_over_ours}),
    roofed("rooflens_devices", "Devices that serve the model, all replicas together.", (),
           lambda roof: {(): float(roof.devices)}),
    roofed("rooflens_roofs_info", "1; whose roofs ratios are of, and as which model bytes and FLOPs are counted.",
           ("machine", "counted_as"), lambda roof: {(roof.machine, roof.model): 1.0}),
    roofed("rooflens_state", "1 for what the engine is doing now.", ("state",),
           lambda roof: {} if roof.state is None else {(roof.state,): 1.0}),
    roofed("rooflens_regime", "1 for what binds its steps now.", ("regime",),
           lambda roof: {} if roof.regime is None else {(roof.regime,): 1.0}),
)  # fmt: skip
DEVICES: tuple[Family, ...] = (
    device("rooflens_gpu_dram_active_ratio", "Share of cycles in which the memory interface moved data (DCGM).",
           lambda g: g.dram_active),
    device("rooflens_gpu_tensor_active_ratio", "Share of cycles in which the matrix units were busy (DCGM).",
           lambda g: g.tensor_active),
    device("rooflens_gpu_kernel_present_ratio",
           "Share of time in which any kernel was there: no measure of efficiency.", lambda g: g.utilisation),
    device("rooflens_gpu_power_watts", "Power drawn.", lambda g: g.power_w),
    device("rooflens_gpu_temperature_celsius", "Temperature of the device.", lambda g: g.temperature_c),
    device("rooflens_gpu_clock_hertz", "Clock of the multiprocessors.", lambda g: g.clock_hz),
    device("rooflens_gpu_memory_used_bytes", "Memory in use.", lambda g: g.memory_used_bytes),
    several("rooflens_gpu_throttled_seconds_total", "Seconds held back since the driver started, by reason (DCGM).",
            "reason", lambda g: g.throttled_s),
    several("rooflens_gpu_link_errors_total", "Errors and repetitions on PCIe and NVLink since the driver started.",
            "kind", lambda g: {kind: count for kind, count in g.errors.items() if kind != "last_xid"}),
    device("rooflens_gpu_last_xid", "Number of the driver's last error report (XID); 0: none.",
           lambda g: g.errors.get("last_xid")),
)  # fmt: skip
AGREEMENT = Family(
    "rooflens_model_over_dram_bytes_ratio",
    "Bytes that the model must move over those that the memory interface moved (DRAM active x read roof): far from 1, "
    "the two tell different things, and /status says what that may mean.",
    BASE, lambda of: iter(() if of is None else (((), of),)),
)  # fmt: skip
NEAR = (0.67, 1.5)  # of that ratio: agreement


def label(text: str | None) -> str:
    """A label value: printable, and no longer than LONGEST_LABEL."""
    return "".join(c if c.isprintable() else "?" for c in text or "")[:LONGEST_LABEL]


def agreement(reading: Reading, gpus: Sequence[Gpu]) -> float | None:
    """Bytes of the model over bytes of the memory interface, a device; None where one of the two is not known."""
    roof, active = reading.roof, [gpu.dram_active for gpu in gpus if gpu.dram_active is not None]
    if roof is None or not active or roof.weight_bytes_per_s is None or not roof.read_roof_bytes_per_s:
        return None
    moved = sum(active) / len(active) * roof.read_roof_bytes_per_s
    return (roof.weight_bytes_per_s + (roof.kv_bytes_per_s or 0.0)) / moved if moved else None


def disagreement(reading: Reading, gpus: Sequence[Gpu]) -> str | None:
    """A sentence where the two tell different things."""
    ratio = agreement(reading, gpus)
    if ratio is None or NEAR[0] <= ratio <= NEAR[1]:
        return None
    if ratio < NEAR[0]:
        why = "something else moves data on these GPUs, or the engine moves more than its model needs"
    else:
        why = "these are other GPUs than the engine's, or model, format or devices are not as configured"
    return f"the model needs {ratio:.2g} times the bytes that the memory interface moved: {why}"
