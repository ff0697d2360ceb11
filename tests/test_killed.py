"""`kill -9` before any touch of the disk: what stands is whole, as its manifest says, and a second run is fine."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rooflens import artefacts
from tests.commands import commands
from tests.fake_engine import Engine, serving
from tests.rooms import ROOMS, needed
from tests.surroundings import REFUSED, files, quick, whole

pytestmark = pytest.mark.slow

MOMENTS = 12
# Every opening for writing, renaming and removing counts; the wanted one is not lived to see, and 0 counts them all.
COUNTED = """
import atexit, os, signal, sys
wanted, seen = int(sys.argv.pop(1)), 0
def hear(event, about):
    global seen
    writes = event == "open" and isinstance(about[2], int) and about[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
        seen += 1
        if seen == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hear)
atexit.register(lambda: sys.stderr.write(f"seen {seen}\\n"))
from rooflens.__main__ import main
main()
"""
TWICE = {  # lines that write where an older run stands, in place of the quick one
    "fleet report": "fleet report nodes --save-baseline base.json --plot fleet.svg -o fleet.json",
    "lab": "lab --device fake --seed 1 -o my-lab",
    "measure": "measure --device fake --seed 1 -o profile.json",
}
WRITING = [name for name in commands() if name not in REFUSED and {"-o", "--out", "--plot", "--csv"} & {*quick(name)}]


def line_of(name: str) -> list[str]:
    return shlex.split(TWICE[name]) if name in TWICE else quick(name)


@pytest.fixture(scope="module")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where matplotlib keeps what it knows of fonts, so that it looks for them once."""
    return str(tmp_path_factory.mktemp("fonts"))


def run(wanted: int, line: list[str], fonts: str) -> subprocess.CompletedProcess[str]:
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": fonts}
    return subprocess.run(
        [sys.executable, "-c", COUNTED, str(wanted), *line],
        capture_output=True, text=True, check=False, timeout=300, env={**os.environ, **settings},
    )  # fmt: skip


def manifest_holds(folder: Path) -> bool:
    """Whether the files beside a lab's manifest are those it was written with; also where there is none."""
    file = folder / "manifest.json"
    said = json.loads(file.read_text())["files"] if file.exists() else {}
    return all(artefacts.sha256(folder / name) == digest for name, digest in said.items())


def seen(room: Path) -> list[Path]:
    """What anybody who looks takes for an artefact."""
    return [path for path in files(room) if not any(part.startswith(".") for part in path.relative_to(room).parts)]


def fine(room: Path, before: set[Path]) -> None:
    assert [path for path in seen(room) if path not in before and not whole(path)] == []
    assert all(manifest_holds(folder) for folder in (room / "my-lab", room / "my-lab/partial"))


@pytest.mark.parametrize("name", WRITING)
def test_killed_before_any_touch_of_the_disk(room: Path, fonts: str, name: str) -> None:
    needed(name)
    ROOMS.get(name, lambda: None)()
    before, line = files(room), line_of(name)
    older = [word if word != "1" else "0" for word in line] if name in TWICE else line
    run(0, older, fonts)
    count = int(re.search(r"seen (\d+)\n", run(0, line, fonts).stderr)[1])
    for wanted in sorted(random.Random(name).sample(range(1, count + 1), min(count, MOMENTS))):
        again = run(0, older, fonts)
        assert again.returncode in (0, 1), (wanted, again.stderr)
        fine(room, before)
        assert run(wanted, line, fonts).returncode == -signal.SIGKILL, wanted
        fine(room, before)


@pytest.mark.parametrize("moment", range(4))
def test_a_lab_killed_at_any_time(room: Path, fonts: str, moment: int) -> None:
    line = [sys.executable, "-m", "rooflens", *line_of("lab")]
    began = time.monotonic()
    assert run(0, line_of("lab"), fonts).returncode == 0
    lasts_s = time.monotonic() - began
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.Random(moment).uniform(0.2, 1.0) * lasts_s)
    process.kill()
    process.wait()
    fine(room, set())
    assert run(0, line_of("lab"), fonts).returncode == 0
    fine(room, set())
    assert not list((room / "my-lab").glob(".*"))


def test_a_recording_that_was_killed_goes_on(room: Path) -> None:
    with serving(Engine()) as url:
        line = [sys.executable, "-m", "rooflens", "watch", url, "--interval", "0.1s", "--record", "run.jsonl"]
        for kept in (1, 2):
            process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
            until = time.monotonic() + 60
            while time.monotonic() < until and pages() < 3 * kept:
                time.sleep(0.05)
            process.kill()
            process.wait()
            assert pages() >= 3 * kept
    done = subprocess.run([*line[:4], "run.jsonl", "--once"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def pages() -> int:
    file = Path("run.jsonl")
    return file.read_bytes().count(b"\n") if file.exists() else 0


def test_an_exporter_that_was_killed_starts_again_where_it_listened(room: Path) -> None:
    needed("export")
    with serving(Engine()) as url, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        taken.close()
        Path("rooflens.yaml").write_text(f"targets:\n  - url: {url}/metrics\nlisten: 127.0.0.1:{port}\n")
        before = files(room)
        for _ in range(3):
            line = [sys.executable, "-m", "rooflens", "export", "--config", "rooflens.yaml"]
            process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
            told = process.stderr.readline()
            process.kill()
            process.communicate()
            assert str(port) in told
        assert files(room) == before
