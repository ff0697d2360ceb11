"""The example that the help of every command ends with is run here as it stands, on a machine without a GPU."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rooflens.cli import _run, group
from tests.commands import commands, example, groups
from tests.fake_engine import Engine, serving
from tests.node_files import full, matrix
from tests.observed_files import DATA, TRACE

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "experiments" / "cpu-example"
MEASURING = {"lab", "measure"}  # for real
SLOW = {*MEASURING, "fleet simulate"}
LISTENING = {"serve", "export", "watch"}  # until they are interrupted
ELSEWHERE = {"fleet measure": "a cluster of Ray, which tests/test_fleet_measure.py starts"}
SAYS_NO = {"claim", "fleet report"}  # an H100 is not six times an A100 in everything; a device is slow
NEEDS = {"sweep": "pyarrow", "sweep query": "pyarrow", "export": "yaml", "serve": "uvicorn", "fleet report": "yaml"}
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


ROOMS: dict[str, Callable[[], None]] = {
    "bench": copied(DATA / "llama_bench_made_up.json", "result.json"),
    "diff": copied(LAB / "profile.json", "monday/profile.json", "rooflens-lab/profile.json"),
    "doctor": a_node,
    "fit": measured_points,
    "fleet report": some_nodes,
    "kernels": copied(TRACE, "trace.json.gz"),
    "plot": copied(LAB / "roofline.json", "rooflens-lab/roofline.json"),
    "sweep": a_grid,
    "sweep query": some_points,
}


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, a home of its own, and no GPU."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (tmp_path / "room").mkdir()
    monkeypatch.chdir(tmp_path / "room")
    return tmp_path / "room"


def ran(line: list[str]) -> int:
    """Its exit code, also where the verb exits by itself."""
    try:
        return _run(line)
    except SystemExit as done:
        return int(done.code or 0)


def marked(name: str):
    return pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name


@pytest.mark.parametrize("name", [marked(name) for name in commands() if name not in {*LISTENING, *ELSEWHERE}])
def test_the_example_of_the_help_runs(room: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    ROOMS.get(name, lambda: None)()
    capsys.readouterr()
    line = shlex.split(example(commands()[name]))
    assert " ".join(line).startswith(name)
    code = ran(line)
    told = capsys.readouterr()
    assert code == int(name in SAYS_NO), told.err
    assert code or "rooflens: " not in told.err
    assert told.out.strip()
    written = [word for flag, word in itertools.pairwise(line) if flag in ("-o", "--out", "--plot", "--csv")]
    assert [word for word in written if not (room / word).exists()] == []


@pytest.mark.parametrize("name", ["", *groups()])
def test_the_example_of_a_group_is_one_of_a_verb_below_it(name: str) -> None:
    line = shlex.split(example(groups()[name] if name else group))
    assert any(" ".join(line).startswith(below) for below in commands() if below.startswith(name))
    assert name in MEASURING or not set(line) & {"--help"}


LISTENED = {  # what makes an example run beside others: any free port, this engine
    "serve": lambda line, url: f"{line} --port 0",
    "export": lambda line, url: f"{line} --listen 127.0.0.1:0",
    "watch": lambda line, url: line.replace("http://127.0.0.1:8000", url) + " --interval 1s",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LISTENING))
def test_the_example_of_a_verb_that_listens_runs_until_it_is_interrupted(room: Path, name: str) -> None:
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    with serving(Engine()) as url:
        Path("rooflens.yaml").write_text(f"targets:\n  - url: {url}/metrics\n")
        line = LISTENED[name](example(commands()[name]), url)
        program = [sys.executable, "-m", "rooflens", *shlex.split(line)]
        with Path("told").open("w", encoding="utf-8") as told:
            process = subprocess.Popen(program, stdout=told, stderr=told, env=dict(os.environ))
            try:
                until = time.monotonic() + 60
                while not Path("told").read_text() and process.poll() is None and time.monotonic() < until:
                    time.sleep(0.05)
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
                code = process.wait(30)
            finally:
                process.kill()
    assert (code, "Traceback" in Path("told").read_text()) == (0, False), Path("told").read_text()


def test_every_command_is_tried_here_or_where_it_is_said() -> None:
    assert {*ROOMS, *MEASURING, *LISTENING, *ELSEWHERE, *NEEDS} <= set(commands())
