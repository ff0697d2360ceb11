"""Rates of an engine between two scrapes, by differences of its counters, and the mean load of its steps.

How steps are counted: vllm's iterations, tgi's forward passes, llama.cpp's decode calls, trtllm's iterations. Where an
engine counts none, decoded tokens over the sequences that run, or one over its own time of a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rooflens.records import replace
from rooflens.roofline.scraped import Scrape, Served
from rooflens.telemetry.deltas import Deltas, deltas
from rooflens.telemetry.histograms import spread
from rooflens.telemetry.record import ESTIMATES, Rates, Spread
from rooflens.workload import mean_context

COUNTED = "counted"
BY_RUNNING = "decoded tokens over running sequences"
BY_STEP_TIME = "one over the engine's own time of a step"
BY_REQUEST = "requests: (latency - time to first token) / (tokens - 1)"
BY_WHOLE = "requests: time in the batch, the prompt's included / tokens"
BY_PIECE = "pieces of streams: inter-token latency"
BY_PIECES = "pieces of streams: inter-token latency / tokens of a step"
BY_STREAM = "tokens of streams: inter-token latency"
BY_READ = "the engine's own count of cached tokens that a step reads"
BY_FINISHED = "mean prompt + half of the mean output of requests that ended"
BY_POOL = "tokens in the pool over running sequences, half a page each taken off"
FIRST = "one scrape so far: rates need two"
NO_TIME = "no time went by between the scrapes, or it went backwards: rates of this interval are not known"
NEW_MODEL = "this model was not there in the scrape before: rates need two"
OTHER_ENGINE = "another engine answers here now: rates need two scrapes of one"
SLOTS = "llama.cpp adds the seconds of sequences that ran side by side: its busy time is not known"
AT_END = "{engine} counts tokens when a request ends: rates come in steps, longer intervals show them better"
IN_A_STEP = "sequences run and no step ended in this interval: a step is longer than it, so take a longer --interval"
ALONE = 1.01  # sequences a pass up to which llama.cpp's seconds are the engine's
TPOT_FROM = {"tgi": BY_WHOLE}  # else BY_REQUEST
SHARED_BY_STREAMS = ("sglang",)  # engines that share the time of a piece out to its tokens; others tell a step's
COUNTED_AT_END = ("tgi_request_generated_tokens_sum", "sglang:generation_tokens_total")
REPRESENTED = (0.5, 2.0)  # generated tokens of requests that ended over all that were generated meanwhile
RATES = {
    "prompt_tokens_per_s": "prompt_tokens_total",
    "cached_prompt_tokens_per_s": "cached_prompt_tokens_total",
    "computed_prompt_tokens_per_s": "computed_prompt_tokens_total",
    "generation_tokens_per_s": "generation_tokens_total",
    "requests_per_s": "finished_requests_total",
    "preemptions_per_s": "preemptions_total",
    "steps_per_s": "steps_total",
    "estimated_flops_per_s": "estimated_flops_total",
    "estimated_read_bytes_per_s": "estimated_read_bytes_total",
    "estimated_write_bytes_per_s": "estimated_write_bytes_total",
}
SPREADS = {"ttft": "ttft_s", "tpot": "tpot_s", "itl": "itl_s", "e2e": "e2e_s", "queue": "queue_s"}


def between(before: Scrape | None, after: Scrape) -> tuple[Rates, ...]:
    """The rates of every model of `after`. Without a scrape before, or one of use: its gauges, and why no more."""
    found = []
    for new in after.served:
        plain = _plain(after, new)
        old = _same(before, new) if before is not None and before.engine == after.engine else None
        if before is None or old is None:
            why = FIRST if before is None else OTHER_ENGINE if before.engine != after.engine else NEW_MODEL
            found.append(_without(plain, why))
            continue
        moved = deltas(before, after, old, new)
        found.append(_without(plain, NO_TIME) if moved is None else _rates(plain, moved, old, new))
    return tuple(found)


def _same(before: Scrape, new: Served) -> Served | None:
    return next((old for old in before.served if old.model == new.model), None)


def _without(plain: Rates, why: str) -> Rates:
    """Gauges alone, and what the engine itself says of its rates."""
    return replace(plain, missing={"rates": why, **plain.missing})


def _plain(scrape: Scrape, new: Served) -> Rates:
    """What one scrape tells. Rates that the engine tells itself are taken as they are."""
    gauges: dict[str, Any] = {
        name: new.gauge(name) for name in ("running", "waiting", "kv_usage", "kv_tokens", "kv_capacity_tokens")
    }
    own = {name: new.gauge(name) for name in ("prompt_tokens_per_s", "generation_tokens_per_s")}
    counted: dict[str, Any] = {name: None if RATES[name] in new.counters else rate for name, rate in own.items()}
    at_end = new.names.get("generation_tokens_total") in COUNTED_AT_END
    notes = (*scrape.notes, *((AT_END.format(engine=scrape.engine),) if at_end else ()))
    return Rates(
        scrape.engine, new.model, scrape.at_s, replicas=len(new.engines), settings=new.settings, names=new.names,
        missing=new.missing, notes=notes, **gauges, **counted,
    )  # fmt: skip


def _rates(plain: Rates, moved: Deltas, old: Served, new: Served) -> Rates:
    found: dict[str, Any] = {
        name: moved.counters[counter] / moved.interval_s for name, counter in RATES.items() if counter in moved.counters
    }
    found |= {name: found[name] / plain.replicas for name in ESTIMATES if name in found}
    found |= _prompts({**_kept(plain), **found}, plain)
    found |= _spreads(moved)
    found |= _decoded({**_kept(plain), **found}, moved, new)
    found |= _timed(found, plain.engine)
    found |= _stepped({**_kept(plain), **found}, moved, old, new)
    found |= _loaded(moved, old, new)
    busy, why = _busy(plain, moved, new)
    inside = bool(plain.running) and found.get("steps_per_s") == 0 and found.get("steps_from") == COUNTED
    notes = (*plain.notes, *moved.notes, *((SLOTS,) if why else ()), *((IN_A_STEP,) if inside else ()))
    waits = all((one.gauge("waiting") or 0) >= 1 for one in (old, new))
    return replace(
        plain, interval_s=moved.interval_s, restarted=moved.restarted, notes=notes, busy_share=busy, queueing=waits,
        **found,
    )  # fmt: skip


def _kept(plain: Rates) -> dict[str, Any]:
    """Rates that the engine tells itself."""
    own = {name: getattr(plain, name) for name in ("prompt_tokens_per_s", "generation_tokens_per_s")}
    return {name: rate for name, rate in own.items() if rate is not None}


def _prompts(found: Mapping[str, float], plain: Rates) -> dict[str, float]:
    """Prompt tokens: all = computed + found in a cache, whichever two are told; where no cache is told, none are."""
    whole, cached = found.get("prompt_tokens_per_s"), found.get("cached_prompt_tokens_per_s")
    computed = found.get("computed_prompt_tokens_per_s")
    if computed is not None:
        return {} if whole is not None else {"prompt_tokens_per_s": computed + (cached or 0.0)}
    if whole is None:
        return {}
    if cached is None and "cached_prompt_tokens_total" in plain.names:
        return {}  # told, and not known now
    return {"computed_prompt_tokens_per_s": max(0.0, whole - (cached or 0.0))}


def _spreads(moved: Deltas) -> dict[str, Spread]:
    return {
        name: spread(moved.histograms[quantity]) for name, quantity in SPREADS.items() if quantity in moved.histograms
    }


def _timed(found: Mapping[str, Any], engine: str) -> dict[str, Any]:
    """A token's time by requests, else by streams; a sequence's step by streams. Drafts put several tokens in one."""
    request, piece = (None if (of := found.get(name)) is None else of.mean_s for name in ("tpot", "itl"))
    each, shared = found.get("tokens_a_step") or 1.0, engine in SHARED_BY_STREAMS
    made = {} if piece is None else {"decode_step_s": piece * each if shared else piece}
    if request is not None:
        return {**made, "tpot_s": request, "tpot_from": TPOT_FROM.get(engine, BY_REQUEST)}
    if piece is None:
        return {}
    token_s, how = (piece, BY_STREAM) if shared else (piece / each, BY_PIECES if each > 1 else BY_PIECE)
    return {**made, "tpot_s": token_s, "tpot_from": how}


def _decoded(found: Mapping[str, Any], moved: Deltas, new: Served) -> dict[str, float]:
    """Tokens behind first tokens, and how often sequences passed through the model for them."""
    rate = found.get("generation_tokens_per_s")
    if rate is None:
        return {}
    first = moved.histograms.get("ttft_s")
    firsts = None if first is None else first.count / moved.interval_s
    decoded = max(0.0, rate - (firsts or 0.0))
    each = _tokens_a_step(moved, new)
    made = {"decode_tokens_per_s": decoded, "tokens_a_step": each, "sequence_steps_per_s": decoded / each}
    return made if firsts is None else {**made, "prompts_per_s": firsts}


def _tokens_a_step(moved: Deltas, new: Served) -> float:
    """1, or with drafts 1 + those kept over the steps that verified some."""
    drafts, kept = (moved.counters.get(name, 0.0) for name in ("drafts_total", "accepted_draft_tokens_total"))
    own = new.gauge("tokens_a_draft_step") or 1.0
    return 1.0 + kept / drafts if drafts > 0 else max(1.0, own)


def _stepped(found: Mapping[str, Any], moved: Deltas, old: Served, new: Served) -> dict[str, Any]:
    """Steps, counted or estimated, and the sequences of the mean one."""
    passed, steps, how = found.get("sequence_steps_per_s"), found.get("steps_per_s"), COUNTED
    running = _mean(old, new, "running")
    if steps is None:
        own = new.gauge("step_s")
        if passed is not None and running:
            steps, how = passed / (running / len(new.engines)), BY_RUNNING
        elif own:
            steps, how = len(new.engines) / own, BY_STEP_TIME
        else:
            return {}
    alone = moved.counters.get("decode_steps_total")
    over = steps if alone is None else alone / moved.interval_s
    made: dict[str, Any] = {"steps_per_s": steps, "steps_from": how}
    if passed is not None and over > 0:
        made["batch"] = passed * len(new.engines) / over
    return made


def _loaded(moved: Deltas, old: Served, new: Served) -> dict[str, Any]:
    """Sizes of requests, and the cached tokens that a sequence's step reads."""
    ended = moved.counters.get("finished_requests_total", 0.0)
    sums = [moved.counters.get(f"finished_{what}_tokens_total") for what in ("prompt", "generation")]
    prompt, output = (total / ended if ended > 0 and total is not None else None for total in sums)
    made = {name: value for name, value in (("prompt_tokens", prompt), ("output_tokens", output)) if value is not None}
    context, how = _context(moved, old, new, prompt, output)
    return made if context is None else {**made, "context_tokens": context, "context_from": how}


def _context(
    moved: Deltas, old: Served, new: Served, prompt: float | None, output: float | None
) -> tuple[float | None, str]:
    running, read = _mean(old, new, "running"), _mean(old, new, "kv_read_tokens")
    if read and running:
        return read / running, BY_READ
    generated = moved.counters.get("generation_tokens_total", 0.0)
    of_ended = moved.counters.get("finished_generation_tokens_total", 0.0)
    if prompt is not None and output is not None and generated > 0:
        low, high = REPRESENTED
        if low <= of_ended / generated <= high:
            return float(mean_context(prompt, output)), BY_FINISHED
    pairs = [_in_pool(one) for one in (old, new)]
    known = [pair for pair in pairs if pair is not None]
    if not known:
        return None, ""
    return max(1.0, sum(known) / len(known)), BY_POOL


def _in_pool(one: Served) -> float | None:
    """Tokens a running sequence holds; a page is half empty on average."""
    held, running = one.gauge("kv_tokens"), one.gauge("running")
    if held is None or not running:
        return None
    paged = "kv_tokens" in one.names and " x " in one.names["kv_tokens"]
    return held / running - ((one.gauge("kv_block_tokens") or 1.0) - 1) / 2 * paged


def _mean(old: Served, new: Served, gauge: str) -> float | None:
    """The mean of both scrapes; of one where only one tells it."""
    known = [value for one in (old, new) if (value := one.gauge(gauge)) is not None]
    return sum(known) / len(known) if known else None


def _busy(plain: Rates, moved: Deltas, new: Served) -> tuple[float | None, bool]:
    """The share of the time in which an engine computed, and whether it told seconds that cannot be used."""
    own = moved.counters.get("busy_s_total")
    if own is not None:  # one that stands still is a clock that was never started
        return (own / moved.interval_s / plain.replicas if own > 0 else None), False
    parts = [moved.counters.get(name) for name in ("prompt_s_total", "generation_s_total")]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None, False
    slots = new.gauge("slots_a_step")
    if slots is None or slots > ALONE:
        return None, True
    return sum(known) / moved.interval_s, False


def states(rates: Rates) -> Iterator[str]:
    """Which kinds of work happened: "prompts", "decoding"; none: idle."""
    if rates.computed_prompt_tokens_per_s:
        yield "prompts"
    if rates.decode_tokens_per_s:
        yield "decoding"
