"""Engines that are not there, for what follows many: pages of a vLLM under steady work, some that drip and never end.

    python -m benchmarks.exporter_engines MODELS

prints its port and answers until it is ended: /well/NUMBER/metrics and /slow/NUMBER/metrics. Pages have about 50 kB, in
the families and buckets of a vLLM; their counters run, and each number has its own load and one of MODELS names.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress

PROMPT, OUTPUT, STEP_S = 900, 128, 0.012
TIMES = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
    160,
    640,
    2560,
)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
STREAMS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
TIMED = {
    "time_to_first_token_seconds": 0.07, "e2e_request_latency_seconds": 1.6, "request_queue_time_seconds": 0.008,
    "request_inference_time_seconds": 1.5, "request_prefill_time_seconds": 0.06,
    "request_decode_time_seconds": 1.5, "request_prefill_kv_computed_tokens": 1.0,
}  # fmt: skip
SIZED = {
    "request_prompt_tokens": PROMPT, "request_generation_tokens": OUTPUT, "request_params_max_tokens": 256,
    "request_max_num_generation_tokens": OUTPUT, "request_params_n": 1,
}  # fmt: skip
ROUTES = (
    "/v1/completions",
    "/v1/chat/completions",
    "/v1/models",
    "/health",
    "/metrics",
    "/tokenize",
    "/version",
    "/ping",
)


def page(number: int, seconds: float, models: int) -> str:
    """What engine `number` tells after so many seconds of steady work."""
    model = f"acme/model-{number % models}"
    own = f'engine="0",model_name="{model}"'
    batch = 1 + number % 60
    steps = int(seconds / STEP_S)
    ended = int(batch * steps / (OUTPUT - 1))
    pieces = batch * steps
    lines: list[str] = []
    for name, value in _counted(batch, steps, ended).items():
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += _head(name, kind)
        lines.append(f"vllm:{name}{{{own}}} {float(value)}")
    for reason in ("stop", "length", "abort", "error", "repetition"):
        lines.append(
            f'vllm:request_success_total{{{own},finished_reason="{reason}"}} {float(ended * (reason == "stop"))}'
        )
    for name, typical in TIMED.items():
        lines += _histogram("vllm:" + name, own, TIMES, ended, typical)
    for name, size in SIZED.items():
        lines += _histogram("vllm:" + name, own, SIZES, ended, size)
    lines += _histogram("vllm:iteration_tokens_total", own, SIZES, steps, batch)
    lines += _histogram("vllm:inter_token_latency_seconds", own, STREAMS, pieces, STEP_S)
    lines += _histogram("vllm:request_time_per_output_token_seconds", own, STREAMS, ended, STEP_S)
    lines += _head("cache_config_info", "gauge")
    lines.append(
        'vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",'
        'gpu_memory_utilization="0.9",num_gpu_blocks="30000",sliding_window="None",swap_space="4"} 1.0'
    )
    for route in ROUTES:
        which = f'handler="{route}",method="POST"'
        lines += _histogram("http_request_duration_seconds", which, TIMES[:8], ended, 1.0)
    lines.append(f"process_start_time_seconds {1.79e9 + number}")
    return "\n".join(lines) + "\n"


def _counted(batch: int, steps: int, ended: int) -> dict[str, float]:
    return {
        "num_requests_running": batch, "num_requests_waiting": batch % 3, "kv_cache_usage_perc": batch * 1000 / 480_000,
        "num_preemptions_total": 0, "prefix_cache_queries_total": ended * PROMPT,
        "prefix_cache_hits_total": ended * 100,
        "prompt_tokens_total": ended * PROMPT, "generation_tokens_total": batch * steps, "mm_cache_hits_total": 0,
        "engine_sleep_state": 0, "prompt_tokens_cached_total": ended * 100, "corrupted_requests_total": 0,
    }  # fmt: skip


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP vllm:{name} What an engine says of this metric, in one line.", f"# TYPE vllm:{name} {kind}"]


def _histogram(name: str, own: str, bounds: tuple[float, ...], count: int, typical: float) -> list[str]:
    """All values but a tenth lie below the first bound over `typical`, that tenth one bucket on."""
    at = next((i for i, bound in enumerate(bounds) if bound > typical), len(bounds) - 1)
    lines = [f"# HELP {name} Histogram of what an engine says of this metric.", f"# TYPE {name} histogram"]
    for i, bound in enumerate(bounds):
        height = 0 if i < at else count - count // 10 if i == at else count
        lines.append(f'{name}_bucket{{{own},le="{float(bound)}"}} {float(height)}')
    lines.append(f'{name}_bucket{{{own},le="+Inf"}} {float(count)}')
    lines += [f"{name}_count{{{own}}} {float(count)}", f"{name}_sum{{{own}}} {count * typical}"]
    return [*lines, f"# TYPE {name}_created gauge", f"{name}_created{{{own}}} 1.79e+09"]


async def _engines(models: int) -> None:
    began = time.monotonic()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            asked = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
            kind, _, number = asked.removesuffix("/metrics").strip("/").partition("/")
            if kind == "slow":
                await _drip(writer)
            elif kind == "well":
                _say(writer, "200 OK", page(int(number), time.monotonic() - began, models))
            else:
                _say(writer, "404 Not Found", "")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def _say(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    data = text.encode()
    writer.write(
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
    )


async def _drip(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"# still here\n")
        await writer.drain()
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    asyncio.run(_engines(int(sys.argv[1])))
