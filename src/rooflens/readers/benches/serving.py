"""Serving benchmarks of vLLM and SGLang, as JSON or as the text they print: rates, and latencies with their definition.

Rates are worked out again from the counts and the duration of the file; where it states another figure, the counts are
believed and the difference is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rooflens.errors import BadFile
from rooflens.readers.figures import finite, number, shown
from rooflens.roofline.observed import BenchPoint, Condition, Observed, Resource

FAR = 0.02
LATENCIES = {
    "ttft": "time to first token: from sending the request to its first output token, waiting in the queue included",
    "tpot": "time per output token: (latency - time to first token) / (output tokens - 1) of each request",
    "itl": "inter-token latency: between two pieces of the stream; a piece may hold several tokens (speculation), and "
    "waits for other requests' prefills are in it",
    "e2el": "end-to-end latency of a request",
    "e2e_latency": "end-to-end latency of a request",
}
_RATES: tuple[tuple[str, str, str, Resource | None, str, tuple[str, ...]], ...] = (
    ("decode", "output_tokens_per_s", "output_throughput", "memory",
     "output tokens of all requests over the whole duration, prefills and waiting included", ("total_output_tokens",)),
    ("prompt and output", "total_tokens_per_s", "total_token_throughput", "compute",
     "prompt and output tokens over the whole duration: FLOPs follow from it, the speed of generation does not",
     ("total_input_tokens", "total_output_tokens")),
    ("prompt", "input_tokens_per_s", "input_throughput", None,
     "prompt tokens over the whole duration; those found in a cache cost no FLOPs", ("total_input_tokens",)),
    ("requests", "requests_per_s", "request_throughput", None, "finished requests over the whole duration",
     ("completed",)),
)  # fmt: skip
_BATCH = "of one batch that runs alone: batch_size sequences of input_len and output_len tokens"
_OFFLINE: dict[str, tuple[str, str, Resource | None, str]] = {
    "avg_latency": ("batch mean", "latency_s", None, f"time {_BATCH}"),
    "prefill_throughput": (
        "prefill",
        "tokens_per_s",
        "compute",
        f"prompt tokens over the time of the prefill {_BATCH}",
    ),
    "median_decode_throughput": ("decode", "tokens_per_s", "memory", f"tokens over the median time of a step {_BATCH}"),
    "decode_throughput": ("decode", "tokens_per_s", "memory", f"tokens over the time of the last step {_BATCH}"),
    "batch_prefill": ("prefill", "tokens_per_s", "compute", f"prompt tokens over the time to the first token {_BATCH}"),
    "batch_decode": ("decode", "tokens_per_s", "memory", f"tokens over the time after the first token {_BATCH}"),
}
_ALSO = {"total_throughput": "total_token_throughput", "successful_requests": "completed", "total_latency": "duration",
         "elapsed_time": "duration", "requests_per_second": "request_throughput", "num_requests": "completed",
         "tokens_per_second": "total_token_throughput", "total_num_tokens": "total_tokens"}  # fmt: skip
_LATENCY = re.compile(r"(mean|median|std|p\d+(?:\.\d+)?)_(ttft|tpot|itl|e2el|e2e_latency)_ms")
_OF_SGLANG = {"total_output_tokens_retokenized", "accept_length", "prefill_throughput", "median_decode_throughput",
              "last_gen_throughput", "overall_throughput"}  # fmt: skip
_FIRST_TOKEN = {"ttft", "last_ttft", "input_throughput"}
_KEPT = ("model_id", "backend", "endpoint_type", "dataset_name", "request_rate", "burstiness", "max_concurrency",
         "num_prompts", "completed", "failed", "duration", "total_input_tokens", "total_output_tokens", "concurrency",
         "random_input_len", "random_output_len", "accept_length", "max_concurrent_requests", "date",
         "batch_size", "input_len", "output_len", "run_name")  # fmt: skip
_TEXT = {
    "successful requests": "completed", "failed requests": "failed", "benchmark duration (s)": "duration",
    "total input tokens": "total_input_tokens", "total generated tokens": "total_output_tokens",
    "total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "request throughput (req/s)": "request_throughput", "output token throughput (tok/s)": "output_throughput",
    "input token throughput (tok/s)": "input_throughput", "total token throughput (tok/s)": "total_token_throughput",
    "backend": "backend", "traffic request rate": "request_rate",
    "request rate configured (rps)": "request_rate", "max request concurrency": "max_concurrency",
    "max reqeuest concurrency": "max_concurrency", "maximum request concurrency": "max_concurrency",
    "concurrency": "concurrency", "accept length": "accept_length",
}  # fmt: skip
_BEFORE = re.compile(r"^\s*[\w.-]{1,80}\s{1,20}\|\s")  # the name of a container
_LINE = re.compile(r"^\s*([A-Za-z0-9][^:]{1,60}?):\s+(\S.*?)\s*$")
_THROUGHPUT = re.compile(
    r"^Throughput: ([\d.]+) requests/s, ([\d.]+) total tokens/s, ([\d.]+) output tokens/s", re.MULTILINE
)
_THROUGHPUTS = ("requests_per_second", "tokens_per_second", "output_throughput")
_OLD_THROUGHPUT = re.compile(r"^Throughput: ([\d.]+) requests/s, ([\d.]+) tokens/s\s*$", re.MULTILINE)
_BATCHES = re.compile(
    r"^.{0,80}?Prefill\. latency:\s*[\d.]+ s, throughput:\s*([\d.]+) token/s"
    r"|^.{0,80}?Decode\.\s+median latency:\s*[\d.]+ s, median throughput:\s*([\d.]+) token/s",
    re.MULTILINE,
)
_AVERAGE = re.compile(r"^Avg latency: ([\d.]+) seconds", re.MULTILINE)
_TEXT_LATENCY = re.compile(r"(mean|median|std|p\d+(?:\.\d+)?) (ttft|tpot|itl|e2el|e2e latency) \(ms\)")


def is_result(record: Mapping[str, Any]) -> bool:
    """Whether this object is the result of a serving benchmark."""
    keys = set(record)
    return bool(keys & {"mean_ttft_ms", "output_throughput", "request_throughput", "requests_per_second", *_OFFLINE})


def from_records(found: Iterable[Mapping[str, Any]], where: str, faults: Iterable[str] = ()) -> Observed:
    """Results as JSON objects, one a run."""
    points: list[BenchPoint] = []
    warnings = list(faults)
    tools = []
    for record in found:
        if is_result(record):
            tools.append(_tool(record))
            points += _points(_named(record), tools[-1], warnings)
    if not points:
        raise BadFile(where, ["it holds no result of a serving benchmark"])
    return Observed(where, f"{tools[0]}-serving", points=tuple(points), warnings=tuple(dict.fromkeys(warnings)))


def from_text(text: str, where: str) -> Observed:
    """The block that the tools print at the end of a run; of several, all."""
    runs: list[dict[str, Any]] = []
    for written in text.splitlines():
        line = _BEFORE.sub("", written)
        if "Serving Benchmark Result" in line:
            runs.append({})
        match = _LINE.match(line) if runs else None
        key = _text_key(match[1].strip().lower()) if match else None
        if match and key:
            runs[-1].setdefault(key, match[2])
    runs += [dict(zip(_THROUGHPUTS, found, strict=True)) for found in _THROUGHPUT.findall(text)]
    runs += [dict(zip(_THROUGHPUTS, found, strict=False)) for found in _OLD_THROUGHPUT.findall(text)]
    runs += _batches(text)
    if average := _AVERAGE.search(text):
        runs.append({"avg_latency": average[1]})
    for run in runs:
        run.setdefault("backend", "sglang" if _OF_SGLANG & set(run) else "vllm")
    return from_records(runs, where)


def _batches(text: str) -> list[dict[str, Any]]:
    """Batches that ran alone, one after the other: a prefill, and what follows it."""
    runs: list[dict[str, Any]] = []
    for prefill, decode in _BATCHES.findall(text):
        if prefill or not runs:
            runs.append({"backend": "sglang"})
        runs[-1] |= {"prefill_throughput": prefill} if prefill else {"median_decode_throughput": decode}
    return runs


def _text_key(label: str) -> str | None:
    latency = _TEXT_LATENCY.fullmatch(label)
    if latency:
        return f"{latency[1]}_{latency[2].replace(' ', '_')}_ms"
    return _TEXT.get(label)


def _tool(record: Mapping[str, Any]) -> str:
    backend = str(record.get("backend", ""))
    sglang = _OF_SGLANG & set(record) or backend.startswith("sgl")
    return "sglang" if sglang else "vllm"


def _named(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the names that its kind has in most versions."""
    if {"batch_size", "latency", "output_throughput"} <= set(record) and _FIRST_TOKEN & set(record):
        of_batch = {"input_throughput": "batch_prefill", "output_throughput": "batch_decode", "latency": "avg_latency"}
        return {of_batch.get(key, key): value for key, value in record.items()}
    return {**{ours: record[theirs] for theirs, ours in _ALSO.items() if theirs in record}, **record}


def _points(record: Mapping[str, Any], tool: str, warnings: list[str]) -> Iterator[BenchPoint]:
    conditions = _conditions(record)
    failed = finite(record.get("failed"))
    if failed:
        asked = finite(record.get("num_prompts")) or failed + (finite(record.get("completed")) or 0.0)
        warnings.append(f"{failed:g} of {asked:g} requests failed; what is left is of those that finished")
    for name, metric, key, resource, means, counts in _RATES:
        stated, counted = number(record.get(key)), _counted(record, counts)
        if stated is None and (counted is None or key == "input_throughput"):
            continue
        if stated is not None and counted is not None and abs(stated - counted) <= _rounded(record.get(key)):
            counted = None
        yield _rate(tool, (name, metric, key), (stated, counted), means, resource, conditions, warnings)
    for key, (name, metric, resource, means) in _OFFLINE.items():
        if key in record:
            found = number(record[key])
            known = found if found is not None and math.isfinite(found) else None
            notes = () if known is not None else ("the file says no number",)
            yield BenchPoint(tool, name, metric, known, means, resource, None, conditions, notes)
    for key, value in record.items():
        latency = _LATENCY.fullmatch(key)
        if latency:
            yield _latency(tool, latency, value, conditions)


def _rounded(written: object) -> float:
    """What a figure in text may be off by: half of its last digit."""
    return 0.5 * 10.0 ** -len(written.strip().partition(".")[2]) if isinstance(written, str) else 0.0


def _counted(record: Mapping[str, Any], counts: tuple[str, ...]) -> float | None:
    """What was counted over the duration."""
    duration, found = finite(record.get("duration")), [finite(record.get(count)) for count in counts]
    there = [n for n in found if n is not None]
    return sum(there) / duration if duration and len(there) == len(found) else None


def _rate(
    tool: str,
    names: tuple[str, str, str],
    values: tuple[float | None, float | None],
    means: str,
    resource: Resource | None,
    conditions: Mapping[str, Condition],
    warnings: list[str],
) -> BenchPoint:
    name, metric, key = names
    stated, counted = values
    notes: tuple[str, ...] = ()
    if stated is not None and counted is not None and not abs(stated - counted) <= FAR * counted:
        notes = (f"the file states {stated:g}; its counts over its duration are {counted:.4g}",)
        warnings.append(
            f"{key}: {stated:g} is stated, but the counts over the duration are {counted:.4g}; believed: counts"
        )
        stated = counted
    value = stated if stated is not None else counted
    if value is None or not math.isfinite(value):
        return BenchPoint(tool, name, metric, None, means, resource, None, conditions, ("the file says no number",))
    return BenchPoint(tool, name, metric, value, means, resource, None, conditions, notes)


def _latency(tool: str, match: re.Match[str], value: Any, conditions: Mapping[str, Condition]) -> BenchPoint:
    of, what = match[1], match[2]
    found = number(value)
    known = found is not None and math.isfinite(found)
    resource: Resource | None = "memory" if what in ("tpot", "itl") else None
    name = "e2e" if what.startswith("e2e") else what
    return BenchPoint(
        tool,
        f"{name} {of}",
        f"{name}_s",
        found * 1e-3 if found is not None and known else None,
        LATENCIES[what],
        resource,
        conditions={**conditions, "statistic": of},
        notes=() if known else ("the file says no number",),
    )


def _conditions(record: Mapping[str, Any]) -> dict[str, Condition]:
    """What the run was like; infinities as text, since no JSON holds them."""
    out: dict[str, Condition] = {}
    for key in _KEPT:
        value = record.get(key)
        found = number(value)
        if isinstance(value, bool) or value is None or value == "":
            continue
        if found is not None and not math.isnan(found):
            out[key] = found if math.isfinite(found) else "inf"
        elif isinstance(value, str):
            out[key] = shown(value)
    return out
