"""The tools of this node, asked: each within a time, none through a shell, nothing changed by any of them."""

from __future__ import annotations

import os
import subprocess

from rooflens.records import record

LIMIT_S = 30.0
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
        done = subprocess.run(
            command, capture_output=True, timeout=limit_s, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except FileNotFoundError:
        return Heard(name, missing=True, why="there is no such program")
    except subprocess.TimeoutExpired:
        return Heard(name, why=f"no answer within {limit_s:g} s")
    except OSError as error:
        return Heard(name, why=(error.strerror or str(error)).lower())
    text = done.stdout[:MOST_BYTES].decode("utf-8", errors="replace")
    said = (text + done.stderr.decode("utf-8", errors="replace")).strip().splitlines()
    return Heard(name, text, why=(said[0][:200] if said else f"exit code {done.returncode}") if done.returncode else "")
