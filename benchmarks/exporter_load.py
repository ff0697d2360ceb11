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
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.exporter_engines import page

MODEL, MACHINE = "llama-3.1-8b", "h100-sxm5-80gb"
SLOW, DEAD = 0.05, 0.05  # shares of the targets


@contextmanager
def engines(models: int) -> Iterator[int]:
    """Their port, while they run."""
    command = [sys.executable, "-m", "benchmarks.exporter_engines", str(models)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int((process.stdout or sys.stdin).readline())
        finally:
            process.terminate()


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
    asked = options.parse_args()
    if asked.day:
        return day(asked.interval, asked.hours, asked.models)
    return load(asked.targets, asked.interval, asked.seconds, asked.models)


if __name__ == "__main__":
    sys.exit(main())
