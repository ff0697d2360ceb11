"""A second process beside this one: of a large trace it reads the larger part, so that both cores have work.

Which piece goes where depends on the file alone, never on who is quicker: the same file gives the same record.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from marshal import dumps, loads
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Any, BinaryIO, Self

from rooflens.measure.processors import processors
from rooflens.readers.profiles.events import decoded
from rooflens.readers.profiles.intake import Intake, not_collecting

LEAST_BYTES = 32 << 20
LEAST_PACKED_BYTES = 3 << 20
_LENGTH = 8
_ROUND, _MINE = 5, (1, 3)  # of five pieces this process reads two: it also cuts them, and puts all together
_WAITING = 16  # pieces that wait for the other process
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from rooflens.readers.profiles.beside import main; main()"


class Failed(Exception):
    """The other process did not read what it was handed: read alone."""


def is_worth_it(size: int, *, packed: bool) -> bool:
    """Whether a file of this size is read sooner by two, and there are two cores."""
    return bool(sys.executable) and processors() > 1 and size > (LEAST_PACKED_BYTES if packed else LEAST_BYTES)


class Beside:
    """The other process, and the thread that hands pieces to it."""

    def __init__(self) -> None:
        home = str(Path(__file__).resolve().parents[3])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, home],  # -P: nothing in the working folder is imported
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            raise Failed from None
        self._pieces: Queue[str | None] = Queue(maxsize=_WAITING)
        self._broken = threading.Event()
        self._hand = threading.Thread(target=self._write, daemon=True)
        self._hand.start()
        self._turn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._broken.set()
        self._process.kill()
        with suppress(Exception):
            self._pieces.get_nowait()
        with suppress(Exception):
            self._pieces.put_nowait(None)
        self._hand.join(timeout=5)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()

    def take(self, piece: str) -> bool:
        """Whether the other process takes this piece: three of five. Raises Failed when it is gone."""
        self._turn = (self._turn + 1) % _ROUND
        if self._turn in _MINE:
            return False
        if self._broken.is_set():
            raise Failed
        self._pieces.put(piece)
        return True

    def _write(self) -> None:
        stdin = self._process.stdin
        while (piece := self._pieces.get()) is not None and stdin is not None:
            if self._broken.is_set():
                continue  # nobody reads any more; what waits is let go
            data = piece.encode(errors="replace")
            try:
                stdin.write(len(data).to_bytes(_LENGTH))
                stdin.write(data)
            except OSError:
                self._broken.set()
        with suppress(OSError):
            if stdin is not None:
                stdin.close()

    def finish(self, intake: Intake) -> int:
        """Adds what the other process read, and says how many events. Raises Failed when it could not."""
        self._pieces.put(None)
        out = self._process.stdout
        try:
            if out is None or self._broken.is_set():
                raise Failed
            found = loads(_taken(out, int.from_bytes(_taken(out, _LENGTH))))  # noqa: S302 - our own process
            intake.refused += found["refused"]
            intake.columns.merge(found, [_taken(out, size) for size in found["sizes"]])
        except (EOFError, ValueError, TypeError, KeyError):
            raise Failed from None
        return int(found["read"])


def _taken(pipe: Any, size: int) -> bytes:
    data: bytes = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def main() -> None:
    """The other process: pieces from standard input, columns to standard output."""
    intake, read = Intake(), 0
    pipe = sys.stdin.buffer
    with not_collecting():
        while len(length := pipe.read(_LENGTH)) == _LENGTH:
            events = decoded(b"[" + pipe.read(int.from_bytes(length)) + b"]")
            if events is None:
                sys.exit(1)
            read += len(events)
            intake.take(events)
    _hand_back(sys.stdout.buffer, intake, read)


def _hand_back(out: BinaryIO, intake: Intake, read: int) -> None:
    plain, parts = intake.columns.handed()
    head = dumps({**plain, "sizes": [len(part) for part in parts], "refused": intake.refused, "read": read})
    out.write(len(head).to_bytes(_LENGTH) + head)
    out.writelines(parts)
    out.flush()
