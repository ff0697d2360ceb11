"""The tools of this node, asked: each within a time, none through a shell, nothing changed by any of them."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from rooflens.records import record

LIMIT_S = 30.0
ENDED_S = 1.0
MOST_BYTES = 16 << 20
ASKED: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi", "-q", "-x"),
    ("nvidia-smi", "topo", "-m"),
    ("nvidia-smi", "topo", "-p2p", "r"),
    ("nvidia-smi", "nvlink", "-s"),
    ("nvidia-smi", "dmon", "-s", "pucvmet", "-c", "2"),
    ("rocm-smi", "--showtopo"),
    ("amd-smi", "topology"),
    ("lscpu",),
    ("numactl", "--hardware"),
)


@record
class Heard:
    """What one command printed. missing: there is no such program here. why: why it has no answer, "" where it has."""

    command: str
    text: str = ""
    missing: bool = False
    why: str = ""


def ask(limit_s: float = LIMIT_S) -> tuple[Heard, ...]:
    """Every command that is known to say something of a node, one after another."""
    return tuple(_asked(command, limit_s) for command in ASKED)


def _asked(command: tuple[str, ...], limit_s: float) -> Heard:
    name = " ".join(command)
    try:
        program = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"}, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError:
        return Heard(name, missing=True, why="there is no such program")
    except OSError as error:
        return Heard(name, why=(error.strerror or str(error)).lower())
    try:
        out, err = program.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return Heard(name, why=f"no answer within {limit_s:g} s")
    finally:
        _ended(program)
    text = out[:MOST_BYTES].decode("utf-8", errors="replace")
    said = (text + err.decode("utf-8", errors="replace")).strip().splitlines()
    why = (said[0][:200] if said else f"exit code {program.returncode}") if program.returncode else ""
    return Heard(name, text, why=why)


def _ended(program: subprocess.Popen[bytes]) -> None:
    """Ends it and what it started. One that hangs in its driver cannot be ended, and is not waited for."""
    if program.poll() is not None:
        return
    with suppress(OSError):
        os.killpg(program.pid, signal.SIGKILL)
    for pipe in (program.stdout, program.stderr):
        if pipe is not None:
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        program.wait(ENDED_S)
