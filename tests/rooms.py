"""Rooms: an empty folder made into one that holds the files which the command line of a verb names."""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rooflens.cli import _run
from tests.metric_pages import page
from tests.node_files import full, matrix
from tests.observed_files import DATA, TRACE

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "experiments" / "cpu-example"
GRID = {"models": ["llama-3.1-8b"], "machines": ["h100-sxm5-80gb"], "batch": "1:64", "context": "512:4096"}


def copied(source: Path, *names: str) -> Callable[[], None]:
    """A room with this file under these names."""

    def make() -> None:
        for name in names:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, name)

    return make


def a_node() -> None:
    Path("topo.txt").write_text(matrix(full(4, "NV18")))
    gpus = "".join(
        f"<gpu><product_name>NVIDIA H100 80GB HBM3</product_name><minor_number>{n}</minor_number></gpu>"
        for n in range(4)
    )
    Path("smi.xml").write_text(f"<nvidia_smi_log><attached_gpus>4</attached_gpus>{gpus}</nvidia_smi_log>")


def measured_points() -> None:
    rows = [(batch, 1024, 256, 0.006 + 0.0001 * batch) for batch in (1, 4, 16, 64)]
    lines = ["batch,prompt,output,tpot_s", *(",".join(map(str, row)) for row in rows)]
    Path("mine.csv").write_text("\n".join(lines) + "\n")


def a_grid() -> None:
    Path("grid.yaml").write_text(json.dumps(GRID))  # JSON is YAML too


def some_points() -> None:
    a_grid()
    assert _run(shlex.split("sweep grid.yaml -o points --workers 1")) == 0


def some_nodes() -> None:
    assert _run(shlex.split("fleet simulate --nodes 4 --devices 8 --faults 1 -o nodes/")) == 0


def a_recording() -> None:
    said = [{"schema": "rooflens/scrape/1", "at_s": at_s, "url": "http://a:8000/metrics"} for at_s in (1.0, 6.0)]
    pages = [page("vllm_first.prom"), page("vllm.prom")]
    lines = (json.dumps({**one, "text": text}) for one, text in zip(said, pages, strict=True))
    Path("engine.jsonl").write_text("\n".join(lines) + "\n")


def one_target() -> None:
    Path("rooflens.yaml").write_text("targets:\n  - url: http://127.0.0.1:9/metrics\n")


ROOMS: dict[str, Callable[[], None]] = {
    "bench": copied(DATA / "llama_bench_made_up.json", "result.json"),
    "diff": copied(LAB / "profile.json", "monday/profile.json", "rooflens-lab/profile.json"),
    "doctor": a_node,
    "export": one_target,
    "fit": measured_points,
    "fleet report": some_nodes,
    "kernels": copied(TRACE, "trace.json.gz"),
    "plot": copied(LAB / "roofline.json", "rooflens-lab/roofline.json"),
    "sweep": a_grid,
    "sweep query": some_points,
    "watch": a_recording,
}
SAYS_NO = {"claim", "fleet report"}  # an H100 is not six times an A100 in everything; a device is slow
NEEDS = {"sweep": "pyarrow", "sweep query": "pyarrow", "export": "yaml", "serve": "uvicorn", "fleet report": "yaml"}


def needed(name: str) -> None:
    """Skips the test of a command whose package is not there."""
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
