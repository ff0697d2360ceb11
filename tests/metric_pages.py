"""Pages of metrics as engines write them, made here: what tests of readers and rates share."""

from __future__ import annotations

from pathlib import Path

from rooflens.readers.metrics.scrapes import scrape

DATA = Path(__file__).parent / "data" / "metrics"


def page(name):
    return (DATA / name).read_text(encoding="utf-8")


def histogram(name, labels, counts, total, *, more=""):
    """counts: of each bucket by its upper bound, not added up."""
    lines, height = [], 0.0
    for bound, count in counts.items():
        height += count
        lines.append(f'{name}_bucket{{{labels}le="{bound}"}} {height}')
    bare = f"{{{labels.rstrip(',')}}}" if labels else ""
    return "\n".join([*lines, f"{name}_sum{bare} {total}", f"{name}_count{bare} {height}", more])


def vllm(
    *, engine="0", model="tiny", prompt=0, generated=0, steps=0, cached=0, running=0, waiting=0, usage=0.0, ended=0,
    prompt_each=100, output_each=50, firsts=None, itl=(0, 0.0), tpot=None, started=1000.0, blocks=1000, block=16,
    estimate=None, more="",
):  # fmt: skip
    """A page of a vLLM that has done so much."""
    own = f'engine="{engine}",model_name="{model}"'
    firsts = ended if firsts is None else firsts
    said = {
        "vllm:prompt_tokens_total": prompt, "vllm:generation_tokens_total": generated,
        "vllm:prompt_tokens_cached_total": cached, "vllm:iteration_tokens_total_count": steps,
        "vllm:num_requests_running": running, "vllm:num_requests_waiting": waiting, "vllm:kv_cache_usage_perc": usage,
        "vllm:request_generation_tokens_count": ended, "vllm:request_generation_tokens_sum": ended * output_each,
        "vllm:request_prompt_tokens_sum": ended * prompt_each,
    }  # fmt: skip
    if estimate is not None:
        said["vllm:estimated_read_bytes_per_gpu_total"] = estimate
    lines = [f"{name}{{{own}}} {float(value)}" for name, value in said.items()]
    lines.append(f'vllm:cache_config_info{{block_size="{block}",engine="{engine}",num_gpu_blocks="{blocks}"}} 1.0')
    if started is not None:
        lines.append(f"process_start_time_seconds {started}")
    lines.append(histogram("vllm:time_to_first_token_seconds", own + ",", {0.1: firsts, "+Inf": 0}, 0.05 * firsts))
    lines.append(histogram("vllm:inter_token_latency_seconds", own + ",", {0.05: itl[0], "+Inf": 0}, itl[1]))
    if tpot is not None:
        name = "vllm:request_time_per_output_token_seconds"
        lines.append(histogram(name, own + ",", {0.05: tpot[0], "+Inf": 0}, tpot[1]))
    return "\n".join([*lines, more]) + "\n"


def at(seconds, text):
    return scrape(text, float(seconds))
