"""A Ray cluster of several nodes on this computer, for tests: real raylets, real tasks, real deaths.

Run as a program it starts one, says on one line where it is and which process is which node, and ends it when its
standard input closes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[1]
STORE_BYTES = 80 << 20  # the least that Ray takes
GPUS = 8
START_S, LOST_S = 240, 60
QUICK_TO_MISS = {  # a dead node is known as such within seconds
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 4,
}


class Cluster(NamedTuple):
    """Where it is, and the process of each node's raylet."""

    address: str
    raylets: dict[str, int]


@contextmanager
def cluster(count: int, gpus: int = GPUS) -> Iterator[Cluster]:
    """`count` nodes named node-0 and on, each with one processor and `gpus` accelerators as Ray counts them."""
    folder = tempfile.mkdtemp(prefix="rl-", dir="/tmp")  # sockets have short names
    Path(folder, "ray").mkdir()  # where Ray notes which cluster is the newest: not where a user's own is noted
    own = {"HOME": folder, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    home = {**os.environ, **own}
    command = [sys.executable, __file__, str(count), str(gpus), folder]
    with Path(folder, "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=home,
            start_new_session=True,
            text=True,
        )
    try:
        said = process.stdout.readline()
        assert said.startswith("{"), Path(folder, "log").read_text(encoding="utf-8")
        yield Cluster(**json.loads(said))
    finally:
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOST_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def measuring(node: str) -> psutil.Process | None:
    """The process that measures a made-up node now."""
    named = f"fake:{node}"
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(part == named or part.startswith(f"{named}:") for part in process.cmdline()) and process.ppid():
                return process
    return None


def ended(process: psutil.Process) -> bool:
    """Whether it runs no more, though whoever started it may not have asked for its end yet."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


def wait_for(what, limit_s: float = START_S):
    """What a function returns once it is true."""
    end = time.monotonic() + limit_s
    while not (found := what()):
        assert time.monotonic() < end, f"{what} did not come true within {limit_s} s"
        time.sleep(0.1)
    return found


def fleet(*arguments: str, **more) -> subprocess.Popen[str]:
    """`rooflens fleet measure` in a process of its own."""
    command = [sys.executable, "-m", "rooflens", "fleet", "measure", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def main() -> None:
    """Starts one, and ends it when nobody is there any more."""
    from ray.cluster_utils import Cluster as Started

    count, gpus, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    said, sys.stdout = sys.stdout, sys.stderr
    own = {"object_store_memory": STORE_BYTES, "include_dashboard": False}
    head = {**own, "num_cpus": 0, "temp_dir": folder, "_system_config": QUICK_TO_MISS}
    started = Started(initialize_head=True, connect=False, head_node_args=head)
    try:
        nodes = {
            f"node-{i}": started.add_node(wait=False, node_name=f"node-{i}", num_cpus=1, num_gpus=gpus, **own)
            for i in range(count)
        }
        started.wait_for_nodes(timeout=START_S)
        raylets = {name: node.all_processes["raylet"][0].process.pid for name, node in nodes.items()}
        print(json.dumps({"address": started.address, "raylets": raylets}), file=said, flush=True)
        sys.stdin.read()
    finally:
        started.shutdown()


if __name__ == "__main__":
    main()
