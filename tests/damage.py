"""Files that a verb reads, small and whole, and what may have become of one on its way."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from test_observed_benches import MATRIX, NCCL, SERVED, TABLE
from test_observed_others import PREFILL, PRODUCT, SUMMARY, V1, V3, database

from rooflens.cli import _run
from tests.metric_pages import DATA as METRICS
from tests.model_files import TINY, llama_gguf, llama_shapes, q4_k_m, write_gguf, write_safetensors
from tests.node_files import H200, query, xml
from tests.observed_files import COUNTERS, SOL, kernel, launch, ncu_long, op, trace
from tests.rooms import GRID, ROOMS

OWN = """[accelerator]
id = "acme-one"
unit_count = 10
matrix = { bf16 = "400 TFLOP/s", fp8 = 0 }
memory = { capacity_bytes = "64 GB", bandwidth_bytes_per_s = "2.0 TB/s" }
"""
EXTENSION = {"assumption": "a", "measurement": "b", "conclusion": "c", "limitation": "d"}
EXPORTER = "targets:\n  - url: http://127.0.0.1:9/metrics\n    name: one\n    on: h100-sxm5-80gb\ninterval_s: 5s\n"
TRACED = trace(op("aten::mm", 0, 9, [[4, 4], [4, 4]]), launch(1, 1, 1), kernel("sgemm", 5, 10, corr=1))
NCU = ncu_long(("k<1, 2>", [(SOL, "Duration", "us", "1"), (SOL, "DRAM Throughput", "%", "5")]))


def done(line: str) -> Callable[[], object]:
    """What a verb of ours writes."""
    return lambda: _run(shlex.split(line))


def put(name: str, content: object) -> Callable[[], object]:
    return lambda: Path(name).write_text(content if isinstance(content, str) else json.dumps(content))


def made(*makers: Callable[[], object]) -> Callable[[], None]:
    def make() -> None:
        for one in makers:
            one()

    return make


A_PROFILE = done("measure --device fake -o profile.json")
A_SWEEP = made(ROOMS["sweep"], done("sweep grid.yaml -o points --workers 1"))
SOME_NODES = done("fleet simulate --nodes 3 --devices 2 -o nodes")
WEIGHTS = {name: ("BF16", shape) for name, shape in llama_shapes(TINY).items()}
A_SHARD = made(
    put("config.json", TINY),
    lambda: write_safetensors(Path("m.safetensors"), WEIGHTS),
    put("m.safetensors.index.json", {"metadata": {}, "weight_map": dict.fromkeys(WEIGHTS, "m.safetensors")}),
)

# the file that is damaged: what makes it, and the lines that read it
READ: dict[str, tuple[Callable[[], object], list[str]]] = {
    "profile.json": (
        made(A_PROFILE, lambda: shutil.copy("profile.json", "other.json")),
        ["place llama-3.1-8b --on profile.json", "diff other.json profile.json", "plot profile.json -o x.svg",
         "lab --profile profile.json -o lab", "lab --profile other.json --compare profile.json -o lab",
         "predict llama-3.1-8b --on profile.json"],
    ),
    "rooflens-lab/roofline.json": (ROOMS["plot"], ["plot rooflens-lab/roofline.json -o x.svg"]),
    "lab/manifest.json": (done("lab --device fake -o lab"), ["lab --device fake -o lab", "plot lab -o x.svg"]),
    "e.json": (made(A_PROFILE, put("e.json", EXTENSION)), ["lab --profile profile.json --extension e.json -o lab"]),
    "machine.toml": (
        put("machine.toml", OWN),
        ["place llama-3.1-8b --on machine.toml", "ceilings llama-3.1-8b --on machine.toml"],
    ),
    "config.json": (
        put("config.json", TINY),
        ["models config.json", "place config.json --on l4", "advise config.json --on l4"],
    ),
    "m.safetensors": (A_SHARD, ["models m.safetensors"]),
    "m.safetensors.index.json": (A_SHARD, ["models m.safetensors.index.json"]),
    "m.gguf": (
        lambda: write_gguf(Path("m.gguf"), *llama_gguf(TINY, q4_k_m)),
        ["models m.gguf", "predict m.gguf --on l4"],
    ),
    "grid.yaml": (put("grid.yaml", GRID), ["sweep grid.yaml -o new --dry-run"]),
    "points/sweep.json": (A_SWEEP, ["sweep query points", "sweep grid.yaml -o points --workers 1"]),
    "points/manifest.json": (A_SWEEP, ["sweep query points"]),
    "points/points/000000.parquet": (A_SWEEP, ["sweep query points", "sweep grid.yaml -o points --workers 1"]),
    "calibrated.json": (
        made(ROOMS["fit"], done("fit mine.csv --model llama-3.1-8b --on h100-sxm5-80gb -o calibrated.json")),
        ["predict llama-3.1-8b --on h100-sxm5-80gb --calibration calibrated.json"],
    ),
    "mine.csv": (ROOMS["fit"], ["fit mine.csv --model llama-3.1-8b --on h100-sxm5-80gb"]),
    "trace.json": (
        put("trace.json", TRACED),
        ["kernels trace.json --on l4", "kernels compare trace.json trace.json --on l4"],
    ),
    "ncu.csv": (put("ncu.csv", NCU), ["kernels ncu.csv --on l4"]),
    "counters.csv": (
        lambda: Path("counters.csv").write_bytes(gzip.decompress(COUNTERS.read_bytes())),
        ["kernels counters.csv"],
    ),
    "nsys.txt": (put("nsys.txt", SUMMARY), ["kernels nsys.txt --on l4"]),
    "rocprof.csv": (put("rocprof.csv", V1), ["kernels rocprof.csv --on mi250x-128gb"]),
    "rocprof3.csv": (put("rocprof3.csv", V3), ["kernels rocprof3.csv --on mi250x-128gb"]),
    "n.sqlite": (lambda: database(Path("n.sqlite"), kernels=[PREFILL, PRODUCT]), ["kernels n.sqlite"]),
    "served.json": (put("served.json", SERVED), ["bench served.json --on l4 --model llama-3.1-8b"]),
    "llama.md": (put("llama.md", TABLE), ["bench llama.md --on l4"]),
    "nccl.txt": (put("nccl.txt", NCCL), ["bench nccl.txt --on h100-sxm5-80gb"]),
    "nvbandwidth.txt": (put("nvbandwidth.txt", MATRIX), ["bench nvbandwidth.txt --on h100-sxm5-80gb"]),
    "topo.txt": (ROOMS["doctor"], ["doctor topo.txt smi.xml"]),
    "smi.xml": (put("smi.xml", xml(H200)), ["doctor smi.xml"]),
    "smi.csv": (put("smi.csv", query({}, {})), ["doctor smi.csv --on h100-sxm5-80gb"]),
    "engine.jsonl": (
        ROOMS["watch"],
        ["watch engine.jsonl --once", "watch engine.jsonl --on h100-sxm5-80gb --model llama-3.1-8b"],
    ),
    "sglang.jsonl": (
        put("sglang.jsonl", json.dumps({"schema": "rooflens/scrape/1", "at_s": 1, "url": "http://a/metrics",
                                        "text": (METRICS / "sglang.prom").read_text()}) + "\n"),
        ["watch sglang.jsonl --once --json"],
    ),
    "rooflens.yaml": (put("rooflens.yaml", EXPORTER), ["export --config rooflens.yaml --check"]),
    "nodes/node001.json": (SOME_NODES, ["fleet report nodes"]),
    "nodes/truth.json": (SOME_NODES, ["fleet report nodes"]),
    "baseline.json": (
        made(SOME_NODES, done("fleet report nodes --save-baseline baseline.json")),
        ["fleet report nodes --baseline baseline.json", "fleet report nodes --save-baseline baseline.json"],
    ),
}  # fmt: skip
ODD: tuple[Any, ...] = (
    None, 0, -1, 1, 2, 0.5, 1e-300, 1e300, 1e308, 5e-324, -0.0, 10**400, float("nan"), float("inf"), "", "x", "0", "-1",
    "1e999", "é", "\ud800", "\x00", True, False, [], {}, [0.0], [[]], [None], {"x": 1}, [1e-12] * 8, "9" * 400, "1 GB",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, one in inside for deeper in places(one, (*path, key)))]


def changed(whole: Any, chance: random.Random, odd: Sequence[Any] = ODD) -> Any:
    """One to four things in it changed to something odd, left out or twice there."""
    found, known = copy.deepcopy(whole), places(whole)
    for _ in range(chance.randint(1, 4)):
        *way, last = chance.choice(known[1:] or [("x",)])
        try:
            holder: Any = found
            for key in way:
                holder = holder[key]
            what = chance.random()
            if what < 0.2:
                del holder[last]
            elif what < 0.4 and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            else:
                holder[last] = chance.choice(odd)
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            continue
    return found


def retold(text: str, chance: random.Random) -> str:
    """A number, a word or a line of a text is another, gone, or there twice."""
    for _ in range(chance.randint(1, 3)):
        what = chance.random()
        pieces = re.split(r"(\n)" if what < 0.4 else r"(-?\d[\d.eE+]*|\w+)", text)
        at = 2 * chance.randrange(len(pieces) // 2 or 1) + (what >= 0.4 and len(pieces) > 1)
        other = str(chance.choice(ODD)).encode(errors="replace").decode()
        pieces[at] = chance.choice(["", 2 * pieces[at], pieces[at][::-1], other])
        text = "".join(pieces)
    return text


def damaged(whole: bytes, seed: int) -> bytes:
    """The same bytes, cut off, overwritten, or with other values where they are JSON or text."""
    chance = random.Random(seed)
    what, at = chance.randrange(6), chance.randrange(len(whole) + 1)
    if what == 0:
        return whole[:at]
    if what == 1:
        return whole[:at] + chance.randbytes(chance.randint(0, 9)) + whole[at + chance.randint(0, 9) :]
    if what == 2:
        flipped = bytearray(whole)
        for _ in range(chance.randint(1, 5)):
            flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        return bytes(flipped)
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        return damaged(whole, seed + 1_000_003)
    try:
        return json.dumps(changed(json.loads(text), chance)).encode()
    except ValueError:
        return retold(text, chance).encode()
