"""How fast a grid is swept into Parquet: points/s, memory, disk, and what a second worker brings.

    python -m benchmarks.sweep [--points N] [--ratio N] [--ray] [--columns] [--keep DIR]

Needs the extra `fleet`. Three sweeps, each by the command a person types: a smaller grid by one worker and by two, for
their ratio, then the large one by two. Wanted: 100 million points by 2 workers in at most 150 s, under 1 GB of memory
(all processes together) and 4 GB of disk; two workers at least 1.6 times as fast as one; both with the same bytes.
--ray: the smaller grid also on Ray, two workers of a cluster on this computer. --columns: the smaller grid also with
few columns. Wall clocks count other work on the
machine; processor seconds nearly do not, and the load is printed beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil

POINTS, RATIO = 100_000_000, 32_000_000
COLUMNS = (("tpot_estimate_s", "usd_per_million_tokens", "fits"), ("tpot_floor_s", "fits", "bound"))
MODELS = (
    "llama-3.1-8b", "llama-3.1-70b", "qwen2.5-7b", "qwen2.5-32b", "mistral-nemo-12b", "gpt-oss-120b", "glm-4.5",
    "deepseek-v3",
)  # fmt: skip
MACHINES = (
    "h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "a100-sxm4-80gb", "l40s", "mi300x-192gb", "h20-96gb",
    "rtx-4090-24gb",
)  # fmt: skip
BATCHES, CONTEXTS, LONGEST = 512, 256, 131_072
A_CASE = BATCHES * CONTEXTS
LOOK_S = 0.1


@dataclass(frozen=True)
class Took:
    """One sweep. memory_bytes: the most of all processes together, pages that they share counted for each."""

    wall_s: float
    processor_s: float
    memory_bytes: int
    disk_bytes: int
    priced: int
    points: int
    digest: str
    load: float


def main() -> None:
    """Prints the machine, a line a sweep, and what was wanted of each."""
    asked = _arguments()
    today = datetime.now().astimezone().date()
    print(f"{today}  Python {platform.python_version()}  {processor()}, {os.cpu_count()} processors")
    room = Path(tempfile.mkdtemp(prefix="sweep-")) if asked.keep is None else asked.keep
    try:
        one, two = (sweep(room, asked.ratio, f"ratio-{n}", "--workers", str(n)) for n in (1, 2))
        print(line("1 worker ", one))
        print(line("2 workers", two))
        same = "the same bytes" if one.digest == two.digest else "OTHER BYTES"
        print(f"2 workers are {one.wall_s / two.wall_s:.2f} times as fast as 1 (wanted: 1.6), {same}")
        if asked.ray:
            on_ray = sweep(room, asked.ratio, "ratio-ray", "--ray", "local", "--workers", "2")
            print(line("Ray      ", on_ray), "the same bytes" if on_ray.digest == one.digest else "OTHER BYTES")
        for columns in COLUMNS if asked.columns else ():
            few = sweep(room, asked.ratio, "columns", "--workers", "2", columns=columns)
            print(line("2 workers", few), ", ".join(columns))
        large = sweep(room, asked.points, "large", "--workers", "2")
        print(line("2 workers", large))
        print(f"wanted of {POINTS:,} points: 150 s, 1 GB of memory, 4 GB of disk")
        print(queries(room / "large"))
    finally:
        if asked.keep is None:
            shutil.rmtree(room, ignore_errors=True)


def sweep(room: Path, points: int, name: str, *how: str, columns: tuple[str, ...] = ()) -> Took:
    """Sweeps so many points into a folder, and looks at the processes meanwhile."""
    grid, out = room / f"{name}.json", room / name
    room.mkdir(parents=True, exist_ok=True)
    grid.write_text(json.dumps(grid_of(points) | ({"columns": columns} if columns else {})))
    shutil.rmtree(out, ignore_errors=True)
    line = [sys.executable, "-m", "rooflens", "sweep", str(grid), "-o", str(out), "--json", *how]
    began = time.monotonic()
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        memory, spent = _watched(process)
        answer = process.communicate()[0]
    wall_s = time.monotonic() - began
    if process.returncode:
        sys.exit(f"the sweep ended with {process.returncode}")
    found, parts = json.loads(answer), sorted((out / "points").iterdir())
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes())
    disk, priced = sum(part.stat().st_size for part in parts), found["account"]["priced"]
    return Took(wall_s, spent, memory, disk, priced, found["points"], digest.hexdigest(), os.getloadavg()[0])


def grid_of(points: int) -> dict[str, object]:
    """A grid of about so many points: cases of 512 batches x 256 contexts, as many of them as it takes."""
    cases = max(1, round(points / A_CASE))
    each = 12  # weights x kv x tp
    machines = max(1, min(len(MACHINES), round((cases / each) ** 0.5)))
    models = max(1, min(len(MODELS), round(cases / each / machines)))
    return {
        "models": MODELS[:models], "machines": MACHINES[:machines], "engine": "vllm", "weights": ["own", "int8"],
        "kv": ["own", "int8"], "tp": [1, 2, 4], "batch": f"1:{BATCHES}:1",
        "context": f"{LONGEST // CONTEXTS}:{LONGEST}:{LONGEST // CONTEXTS}",
    }  # fmt: skip


def queries(out: Path) -> str:
    """How long two questions to the large sweep take."""
    said = []
    for question in ("--tpot 50ms --ttft 2s --by model,machine", "--pareto"):
        began = time.monotonic()
        line = [sys.executable, "-m", "rooflens", "sweep", "query", str(out), *question.split(), "--json"]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        said.append(f"`{question}` {time.monotonic() - began:.1f} s")
    return "questions to it: " + ", ".join(said)


def line(name: str, took: Took) -> str:
    """One sweep in words."""
    a_point, rows = took.disk_bytes / max(1, took.priced), f"{took.priced:,} of {took.points:,} points"
    return (
        f"{name}  {rows} in {took.wall_s:.1f} s ({took.points / took.wall_s / 1e6:.2f} million/s), "
        f"{took.processor_s:.1f} processor s ({took.points / took.processor_s / 1e6:.2f} million/s of one), "
        f"{took.memory_bytes / 1e6:.0f} MB of memory, {took.disk_bytes / 1e9:.2f} GB of disk ({a_point:.1f} B a row); "
        f"load {took.load:.1f}"
    )


def _watched(process: subprocess.Popen[str]) -> tuple[int, float]:
    """The most memory of a process and its children together, and the processor seconds of all of them."""
    most, spent = 0, {}
    root = psutil.Process(process.pid)
    while process.poll() is None:
        together = 0
        for one in (root, *_children(root)):
            try:
                together += one.memory_info().rss
                times = one.cpu_times()
            except psutil.Error:
                continue
            spent[one.pid] = times.user + times.system
        most = max(most, together)
        time.sleep(LOOK_S)
    return most, sum(spent.values())


def _children(root: psutil.Process) -> list[psutil.Process]:
    try:
        return root.children(recursive=True)
    except psutil.Error:
        return []


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="points/s of rooflens sweep, its memory and its disk")
    parser.add_argument("--points", type=int, default=POINTS, help="of the large grid")
    parser.add_argument("--ratio", type=int, default=RATIO, help="of the grid swept by one worker and by two")
    parser.add_argument("--ray", action="store_true", help="also on Ray")
    parser.add_argument("--columns", action="store_true", help="also with few columns")
    parser.add_argument("--keep", type=Path, help="sweep into this folder and leave it")
    return parser.parse_args()


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main()
