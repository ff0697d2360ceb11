"""Sweeps that are killed, stopped or short of disk, and sweeps on Ray: what landed is whole, and the end the same."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from rooflens.api import sweeping
from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.on_ray import ALL_IN_USE
from rooflens.sweep.question import Wanted
from tests.fleet_cluster import ended, wait_for
from tests.surroundings import NO_PYC
from tests.sweep_grids import LARGER, SMALL, digest, swept, written

pytest.importorskip("pyarrow", reason="pip install 'rooflens[fleet]'")
pytestmark = pytest.mark.slow

ROOFLENS = [sys.executable, "-m", "rooflens"]


def started(grid: Path, out: Path, *more: str, **how: object) -> subprocess.Popen[str]:
    line = [*ROOFLENS, "sweep", str(grid), "-o", str(out), *more]
    return subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **how
    )


def landed(out: Path, least: int, within_s: float = 120) -> int:
    """Waits until so many shards have landed."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        found = len(list((out / "points").glob("0*.parquet")))
        if found >= least:
            return found
        time.sleep(0.02)
    pytest.fail(f"fewer than {least} shards after {within_s} s")


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_in_the_middle_and_resumed_gives_the_same_bytes(tmp_path: Path, workers: int):
    grid, out, whole = written(tmp_path, LARGER), tmp_path / "killed", swept(tmp_path, LARGER)
    first = started(grid, out, "--workers", str(workers))
    landed(out, 3)
    os.kill(first.pid, signal.SIGKILL)  # the driver alone: its workers must not outlive it for long
    first.communicate()
    assert not (out / "manifest.json").exists()
    again = started(grid, out, "--workers", str(3 - workers))
    assert again.wait(300) == 0, again.stderr.read()
    again.communicate()
    assert digest(out) == digest(whole)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_keeps_what_landed_and_says_how_to_go_on(tmp_path: Path, workers: str):
    grid, out = written(tmp_path, LARGER), tmp_path / "stopped"
    first = started(grid, out, "--workers", workers)
    landed(out, 2)
    os.killpg(first.pid, signal.SIGINT)
    _, error = first.communicate(timeout=60)
    assert first.returncode == 2
    assert "each whole; run the same again to go on from there" in error
    assert "Traceback" not in error
    manifest = json.loads((out / "manifest.json").read_text())
    assert 2 <= manifest["landed"] < manifest["shards"]
    found = sweeping.query(out, Wanted())
    assert (found.landed, found.shards) == (manifest["landed"], manifest["shards"])


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path):
    grid, out, whole = written(tmp_path, LARGER), tmp_path / "points2", swept(tmp_path, LARGER)
    first = started(grid, out, "--workers", "2")
    landed(out, 2)
    below(first.pid, "spawn_main")[0].kill()
    assert first.wait(300) == 0, first.stderr.read()
    first.communicate()
    assert digest(out) == digest(whole)


def test_a_full_disk_is_a_sentence_and_what_landed_stays(tmp_path: Path):
    resource = pytest.importorskip("resource")
    grid, out = written(tmp_path, {**LARGER, "shard_points": 100_000}), tmp_path / "full"
    full = started(
        grid, out, "--workers", "1", env={**os.environ, **NO_PYC},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip
    _, error = full.communicate(timeout=120)
    assert full.returncode == 2
    assert "cannot write" in error
    assert "Traceback" not in error
    with started(grid, out, "--workers", "1") as again:
        again.communicate(timeout=300)
    assert again.returncode == 0


@pytest.fixture
def ray():
    found = pytest.importorskip("ray", reason="pip install 'rooflens[fleet]'")
    yield found
    found.shutdown()


@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_bytes(tmp_path: Path, ray):
    whole = swept(tmp_path, LARGER)
    sweeping.sweep(written(tmp_path, LARGER), tmp_path / "rayed", workers=2, ray="local")
    assert digest(tmp_path / "rayed") == digest(whole)
    assert not ray.is_initialized()


@pytest.mark.filterwarnings("ignore")
def test_a_node_that_dies_loses_nothing(tmp_path: Path, ray):
    from ray.cluster_utils import Cluster

    whole = swept(tmp_path, LARGER)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    doomed = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    try:
        killed = []

        def told(done: int, points: int, seconds: float) -> None:
            if done > points / 4 and not killed:
                killed.append(done)
                cluster.remove_node(doomed, allow_graceful=False)

        sweeping.sweep(written(tmp_path, LARGER), tmp_path / "rayed", workers=2, ray=cluster.address, told=told)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert killed
    assert digest(tmp_path / "rayed") == digest(whole)


def below(process: int, said: str) -> list[psutil.Process]:
    """The processes under this one whose command line says so."""
    found = []
    for one in psutil.Process(process).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended while it was looked at
            if said in " ".join(one.cmdline()):
                found.append(one)
    return found


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_hangs_is_ended_and_its_shard_priced_by_another(tmp_path: Path, ray):
    grid = {**LARGER, "batch": "1:60:1", "shard_points": 500}  # whoever is stopped early has one in hand, or gets one
    whole, stopped, said = swept(tmp_path, grid), [], []

    def told(done: int, points: int, seconds: float) -> None:
        if 0 < done < points // 2 and not stopped:
            stopped.extend(below(os.getpid(), "ray::Pricer.price")[:1])
            for worker in stopped:
                worker.suspend()

    how = {"workers": 2, "ray": "local", "shard_limit_s": 10, "told": told, "noted": said.append}
    sweeping.sweep(written(tmp_path, grid), tmp_path / "rayed", **how)
    assert stopped
    wait_for(lambda: ended(stopped[0]), 60)
    again = r"a worker gave nothing within 10 s: shard \d+ is tried again, elsewhere where possible \(2 of 4\)"
    assert [one for one in said if re.fullmatch(again, one)]
    assert digest(tmp_path / "rayed") == digest(whole)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_in_use_is_said_and_waited_for(tmp_path: Path, ray, monkeypatch):
    monkeypatch.setattr("rooflens.fleet.sweeping.on_ray.QUIET_S", 1.0)
    whole, said = swept(tmp_path, SMALL), []
    ray.init(address="local", num_cpus=1, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    holder = ray.remote(type("Holder", (), {"there": lambda self: True})).options(num_cpus=1).remote()
    assert ray.get(holder.there.remote())

    def noted(sentence: str) -> None:
        said.append(sentence)
        ray.kill(holder)

    sweeping.sweep(written(tmp_path, SMALL), tmp_path / "rayed", workers=1, ray="local", noted=noted)
    assert said == [ALL_IN_USE.format(count=1)]
    assert digest(tmp_path / "rayed") == digest(whole)
    assert ray.is_initialized()  # it was joined before, and stays


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_without_processors_is_refused_at_once(tmp_path: Path, ray):
    ray.init(address="local", num_cpus=0, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    with pytest.raises(RooflensError, match=r"^no node of the Ray cluster at auto offers a processor .* --num-cpus"):
        sweeping.sweep(written(tmp_path, SMALL), tmp_path / "rayed", workers=1, ray="auto")


@pytest.mark.filterwarnings("ignore")
def test_a_ray_where_nobody_answers_is_a_sentence(tmp_path: Path, ray):
    with pytest.raises(RooflensError, match=r"^no Ray cluster at 127\.0\.0\.1:1: connection refused; `ray start"):
        sweeping.sweep(written(tmp_path, SMALL), tmp_path / "rayed", workers=1, ray="127.0.0.1:1")
    with pytest.raises(RooflensError, match=r"--ray foo: write auto, HOST:PORT"):
        sweeping.sweep(written(tmp_path, SMALL), tmp_path / "rayed", workers=1, ray="foo")


@pytest.mark.filterwarnings("ignore")
def test_whoever_answers_there_and_is_no_ray_is_a_sentence_and_not_waited_for(tmp_path: Path, ray, monkeypatch):
    monkeypatch.setattr("rooflens.fleet.cluster.PROBE_S", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(RooflensError, match=r"cannot be joined: it gave no answer that Ray understands"):
            sweeping.sweep(written(tmp_path, SMALL), tmp_path / "rayed", workers=1, ray=address)


@pytest.mark.filterwarnings("ignore")
def test_an_environment_that_ray_does_not_take_is_a_sentence(tmp_path: Path, ray):
    with pytest.raises(RooflensError, match=r"--ray-env: Ray does not take it: .*pip"):
        sweeping.sweep(written(tmp_path, SMALL), tmp_path / "rayed", workers=1, ray="local", env={"pip": 3})
    assert not ray.is_initialized()
