"""What runs on a node: `rooflens measure` in a process of its own, watched. And the barrier that all nodes wait at.

Nothing but Python and Ray is imported here: it travels to the nodes as code, so that one without rooflens, or with an
older one, can say so. The measurement ends with the process that started it, and it keeps the lock of its node itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

Job = dict[str, Any]
Answer = dict[str, Any]

PROBE_S = 120.0
ENDED_S = 2.0
MOST_BYTES = 64 << 20
MOST_SAID = 300  # characters of what a node said last
# The measurement's own process: it and all that it started end when whoever holds the other end of its input does.
WATCHED = """
import os, signal, sys, threading
def watch():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)
threading.Thread(target=watch, daemon=True).start()
sys.argv = ["rooflens", *sys.argv[1:]]
from rooflens.__main__ import main
main()
"""


class Barrier:
    """An actor. Nodes arrive and are let go together, when the last is there or after `limit_s`.

    It answers who has been let go, how many seconds ago, and how far apart their measurements began by its own clock.
    """

    def __init__(self, nodes: list[str], limit_s: float) -> None:
        self.missing = set(nodes)
        self.end_s = time.monotonic() + limit_s
        self.open = asyncio.Event()
        self.left_s: dict[str, float] = {}
        self.began_s: list[float] = []

    async def arrive(self, node: str) -> None:
        """Returns when the measurement of this node may begin."""
        self._gone(node)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.open.wait(), max(0.0, self.end_s - time.monotonic()))
        self.open.set()
        self.left_s[node] = time.monotonic()

    async def begin(self) -> None:
        """A measurement has just been started."""
        self.began_s.append(time.monotonic())

    async def leave(self, node: str) -> None:
        """Nobody waits for this node."""
        self._gone(node)

    async def ages_s(self) -> dict[str, float]:
        """How long ago each node was let go."""
        now_s = time.monotonic()
        return {node: now_s - then_s for node, then_s in self.left_s.items()}

    async def spread_s(self) -> float | None:
        """First to last of what began; the way of a node's word is part of it. None where fewer than two did."""
        return max(self.began_s) - min(self.began_s) if len(self.began_s) > 1 else None

    def _gone(self, node: str) -> None:
        self.missing.discard(node)
        if not self.missing:
            self.open.set()


def work(job: Job, barrier: Any) -> Answer:
    """One node's answer: state (answered, died, hung, refused), why, text, version.

    job: node, arguments (of rooflens measure), python ("" is this one), limit_s, cpus.
    """
    import ray

    python = job["python"] or sys.executable
    version, refused = _version(python)
    if refused:
        with suppress(Exception):
            ray.get(barrier.leave.remote(job["node"]), timeout=PROBE_S)
        return {"state": "refused", "why": refused, "version": version}
    with suppress(ray.exceptions.RayError):  # whoever asked may be gone: then nobody wants the answer either
        ray.get(barrier.arrive.remote(job["node"]))
    return {**_measured(python, job, barrier), "version": version}


def _version(python: str) -> tuple[str, str]:
    """What the node's rooflens calls itself, and why there is none."""
    try:
        done = subprocess.run(
            [python, "-m", "rooflens", "--version"], capture_output=True, timeout=PROBE_S, stdin=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
    except OSError as error:
        return "", f"{python} cannot be started: {(error.strerror or str(error)).lower()}"
    except subprocess.TimeoutExpired:
        return "", f"rooflens did not say its version within {PROBE_S:g} s"
    said = _tail(done.stderr) or _tail(done.stdout)
    if done.returncode:
        return "", f"rooflens does not start there: {said or f'exit code {done.returncode}'}"
    return _tail(done.stdout).rpartition(" ")[2], ""


def _measured(python: str, job: Job, barrier: Any) -> Answer:
    command = [python, "-c", WATCHED, "measure", *job["arguments"], "--json"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(  # not as a context, which would wait for one that cannot be ended
            command, stdin=subprocess.PIPE, stdout=out, stderr=err, env=_environment(job), start_new_session=True
        )
        barrier.begin.remote()
        try:
            return _judged(process.wait(job["limit_s"]), out, err)
        except subprocess.TimeoutExpired:
            return {"state": "hung", "why": _late(job["limit_s"], _last(err))}
        finally:
            _end(process)


def _judged(code: int, out: Any, err: Any) -> Answer:
    """What a process that ended means: 2 is a sentence of ours, a signal or anything else a death."""
    if code == 0:
        out.seek(0)
        return {"state": "answered", "text": out.read(MOST_BYTES).decode("utf-8", "replace"), "said": _last(err)}
    if code == 2:
        return {"state": "refused", "why": _last(err).removeprefix("rooflens: ") or "it said no reason"}
    how = f"by signal {-code} ({_signal(-code)})" if code < 0 else f"with exit code {code}"
    return {"state": "died", "why": f"the measurement ended {how}; the last it said: {_last(err) or 'nothing'}"}


def _late(limit_s: float, said: str) -> str:
    return f"no answer within {limit_s:g} s; the last it said: {said or 'nothing'}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _environment(job: Job) -> dict[str, str]:
    """Without the number of threads that Ray sets by itself: measuring sets its own."""
    kept = dict(os.environ)
    if kept.get("OMP_NUM_THREADS") == str(max(1, int(job["cpus"]))):
        del kept["OMP_NUM_THREADS"]
    return kept


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it with all that it started. What hangs in a driver cannot be ended, and is not waited for."""
    if process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(ENDED_S)


def _last(file: Any) -> str:
    """The last line that was written."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 4096))
    return _tail(file.read())


def _tail(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").replace("\r", "\n").strip().splitlines()
    return lines[-1].strip()[:MOST_SAID] if lines else ""
