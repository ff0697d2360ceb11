"""The example that the help of every command ends with is run here as it stands, on a machine without a GPU."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rooflens.cli import _run, group
from tests.commands import commands, example, groups
from tests.fake_engine import Engine, serving
from tests.rooms import NEEDS, ROOMS, SAYS_NO, needed

MEASURING = {"lab", "measure"}  # for real
SLOW = {*MEASURING, "fleet simulate"}
LISTENING = {"serve", "export", "watch"}  # until they are interrupted
ELSEWHERE = {"fleet measure": "a cluster of Ray, which tests/test_fleet_measure.py starts"}


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
    needed(name)
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
    needed(name)
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
