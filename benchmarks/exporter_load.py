"""What following many engines costs `rooflens export`: processor time, memory, cycles on time; a day without growth.

    python -m benchmarks.exporter_load [--targets 200] [--interval 5] [--seconds 60] [--models 20]
    python -m benchmarks.exporter_load --day

The engines are one other process, whose cost is not counted: every page has about 50 kB in the families and buckets of
a vLLM, its counters run, and each target has its own load. One target in ten is dead (nobody listens) or slow (bytes
drip and never end). The exporter is scraped as Prometheus would, once an interval. `--day`: pages of simulated 24 hours
are given to one target of the exporter without sockets or sleep.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MODEL, MACHINE = "llama-3.1-8b", "h100-sxm5-80gb"
SLOW, DEAD = 0.05, 0.05  # shares of the targets
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


# --- the engines


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


@contextmanager
def engines(models: int) -> Iterator[int]:
    """Their port, while they run."""
    command = [sys.executable, "-m", "benchmarks.exporter_load", "--engines", "--models", str(models)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int((process.stdout or sys.stdin).readline())
        finally:
            process.terminate()


# --- the exporter


def configuration(port: int, count: int, interval_s: float, room: Path) -> Path:
    """A file that names so many targets, of which one in ten is dead or slow."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        dead = nobody.getsockname()[1]
    lines = [f"interval_s: {interval_s} s", "listen: 127.0.0.1:0", "targets:"]
    for i in range(count):
        kind = "slow" if i < count * SLOW else "dead" if i < count * (SLOW + DEAD) else "well"
        where = dead if kind == "dead" else port
        lines.append(f"  - {{url: 'http://127.0.0.1:{where}/{kind}/{i}/metrics', name: {kind}-{i},")
        lines.append(f"     model: {MODEL}, 'on': {MACHINE}}}")
    path = room / "rooflens.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@contextmanager
def exporter(path: Path) -> Iterator[tuple[int, str]]:
    """The process of `rooflens export` and where it answers."""
    command = [sys.executable, "-m", "rooflens", "export", "--config", str(path), "--lang", "en"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = (process.stderr or sys.stdin).readline()
            yield process.pid, said.partition("http://")[2].partition("/metrics")[0]
        finally:
            process.terminate()


def spent_s(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int | str = "self") -> int:
    """Memory of a process that is there."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def load(count: int, interval_s: float, seconds: float, models: int) -> int:
    """Runs it and says what it took; 1 when a limit is missed."""
    with tempfile.TemporaryDirectory() as room, engines(models) as port:
        path = configuration(port, count, interval_s, Path(room))
        size = len(page(7, 1e5, models)) / 1e3
        print(f"{count} targets, a page of {size:.0f} kB every {interval_s:g} s, {models} models")
        with exporter(path) as (pid, where):
            time.sleep(4 * interval_s)  # begun, priced and warm
            first, before, began, most, text = scraped(where), spent_s(pid), time.monotonic(), 0, ""
            while time.monotonic() - began < seconds:
                time.sleep(interval_s)
                text = scraped(where)
                most = max(most, resident_bytes(pid))
            share = (spent_s(pid) - before) / (time.monotonic() - began)
    return _told(first, text, share, most, count)


def scraped(where: str) -> str:
    """The page of the exporter, as Prometheus asks for it."""
    with urllib.request.urlopen(f"http://{where}/metrics", timeout=30) as answer:
        return answer.read().decode()


def yardstick_s() -> float:
    """Processor time of three million additions of Python: about 0.1 s where nobody else computes on the core."""
    began, total = time.process_time(), 0
    for i in range(3_000_000):
        total += i
    return time.process_time() - began


def _late(text: str) -> float:
    start = 'rooflens_late_cycles_total{target="well'
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(start))


def _told(first: str, text: str, share: float, most: int, count: int) -> int:
    lines, late = text.splitlines(), _late(text) - _late(first)
    up = sum(line.startswith('rooflens_up{target="well') and line.endswith(" 1.0") for line in lines)
    mbu = sum(line.startswith("rooflens_mbu_ratio") and 'of="datasheet",over="wall"' in line for line in lines)
    well = count - round(count * (SLOW + DEAD))
    print(f"processor: {100 * share:.1f} % of a core   memory: {most / 1e6:.0f} MB   page: {len(text) / 1e3:.0f} kB")
    print(
        f"healthy targets: {up} of {well} up, {mbu} with an MBU, {late:g} cycles late ({_late(first):g} at the start)"
    )
    print(f"three million additions take this core {yardstick_s():.2f} s now")
    return int(not (share < 0.15 and most < 150e6 and late == 0 and up == mbu == well))


def day(interval_s: float, hours: float, models: int) -> int:
    """Simulated hours of one target through the exporter's own loop body; 1 when memory grew."""
    from rooflens.api.exporting import exporter as made
    from rooflens.live import following
    from rooflens.live.config import Export, Target

    now = [0.0]
    following.fetch = lambda url, access: _simulated(url, now[0], models)
    following.Clock = lambda: lambda: now[0]
    target = Target("http://127.0.0.1:9/metrics", name="one", model=MODEL, on=MACHINE)
    whole = made(Export((target,), interval_s))
    cycles, sizes = int(hours * 3600 / interval_s), []
    for i in range(cycles):
        now[0] += interval_s
        whole.once()
        if i % (cycles // 8) == cycles // 8 - 1:
            sizes.append(resident_bytes())
            print(f"{now[0] / 3600:5.1f} h  {sizes[-1] / 1e6:.1f} MB")
    grown = (sizes[-1] - sizes[1]) / 1e6
    print(f"{cycles} cycles; memory after the first quarter grew by {grown:.1f} MB")
    return int(grown > 2)


def _simulated(url: str, now: float, models: int) -> str:
    """A day: load rises and falls, the engine restarts every three hours, an hour has a broken page in it."""
    from rooflens.live.fetch import Unreachable

    if not url.endswith("/metrics"):
        raise Unreachable("no such page", 404)
    if now % 3600 < 30:
        raise Unreachable("it did not answer")
    return page(int(now / 600) % 60, 1 + now % 10_800, models)


def main() -> int:
    """Parses the command line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--targets", type=int, default=200)
    options.add_argument("--interval", type=float, default=5.0)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--models", type=int, default=20)
    options.add_argument("--hours", type=float, default=24.0)
    options.add_argument("--day", action="store_true")
    options.add_argument("--engines", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.engines:
        asyncio.run(_engines(asked.models))
        return 0
    if asked.day:
        return day(asked.interval, asked.hours, asked.models)
    return load(asked.targets, asked.interval, asked.seconds, asked.models)


if __name__ == "__main__":
    sys.exit(main())
