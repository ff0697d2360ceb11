"""A process that answers questions one after another: `python -m rooflens.server.worker`.

A question is a kind and a record, as JSON behind its length; an answer is a mark, a length and its bytes: the JSON that
is sent, or the sentence why there is none. It ends when nobody writes to it any more.
"""

from __future__ import annotations

import gc
import json
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from rooflens.errors import RooflensError
from rooflens.records import decode
from rooflens.server import levers, panels
from rooflens.server.answers import answer
from rooflens.server.predicted import batching
from rooflens.server.state import State

LENGTH = struct.Struct("<I")
GOOD, BAD, BROKEN = b"+", b"-", b"!"
KINDS: dict[str, tuple[type[Any], Callable[[Any], Mapping[str, Any]]]] = {
    "state": (State, answer),
    "batching": (State, batching),
    "ceilings": (State, panels.at_batch_one),
    "levers": (State, levers.levers),
    "claim": (panels.Said, panels.judged),
}


def answered(kind: str, asked: Any) -> bytes:
    """The JSON of an answer. Raises RooflensError where there is none."""
    return json.dumps(KINDS[kind][1](asked), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _one(question: bytes) -> tuple[bytes, bytes]:
    """A mark and what follows it."""
    said = json.loads(question)
    try:
        return GOOD, answered(said["kind"], decode(KINDS[said["kind"]][0], said["asked"], said["kind"]))
    except RooflensError as error:
        return BAD, str(error).encode()
    except Exception as error:  # noqa: BLE001 - a fault of ours ends one answer, not this process
        return BROKEN, type(error).__name__.encode()


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answers until the questions end."""
    while len(head := questions.read(LENGTH.size)) == LENGTH.size:
        mark, body = _one(questions.read(LENGTH.unpack(head)[0]))
        answers.write(mark + LENGTH.pack(len(body)) + body)
        answers.flush()


if __name__ == "__main__":
    gc.freeze()  # what is loaded stays, and answers leave few circles behind: looking for them was a tenth of the time
    gc.set_threshold(100_000, 20, 100)
    serve(sys.stdin.buffer, sys.stdout.buffer)
