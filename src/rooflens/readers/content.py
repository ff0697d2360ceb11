"""The content of a file, unpacked while it is read and never held as a whole: bytes, lines, the first of them."""

from __future__ import annotations

import codecs
import io
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from rooflens.artefacts import marked
from rooflens.errors import BadFile, RooflensError
from rooflens.readers.opened import opened

HEAD_BYTES = 256 << 10
LONGEST_LINE = 4 << 20
LARGEST_TEXT = 256 << 20  # of a format that is read whole
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 18


class Content:
    """One file: where it is, its bytes in order, and what went wrong on the way (`faults`, sentences)."""

    def __init__(self, where: str, file: BinaryIO, size: int, path: Path | None = None) -> None:
        self.where, self.size, self.path = where, size, path
        self.faults: list[str] = []
        start = file.read(2)
        file.seek(0)
        self.packed = start == _GZIP
        raw: Any = io.BufferedReader(_Unpacked(file, self.faults), _CHUNK) if self.packed else file
        first: bytes = raw.read(HEAD_BYTES)
        self._mark, self.encoding = marked(first)
        self._first, self._raw = first[self._mark :], raw
        self.head = self._first.decode(self.encoding, errors="replace")
        self.is_text = "\0" not in self.head[:4096]

    def read(self, most: int) -> bytes:
        """The next bytes, a byte order mark left out; empty at the end."""
        if self._first:
            held, self._first = self._first[:most], self._first[most:]
            return held
        found: bytes = self._raw.read(most)
        return found

    def whole(self, most: int = LARGEST_TEXT) -> bytes:
        """All that is left. Raises RooflensError when that is more than `most` bytes."""
        return b"".join(self._pieces(most))

    @contextmanager
    def unpacked(self, suffix: str, most: int) -> Iterator[Path]:
        """Where its bytes lie as they are: the file itself, or of a packed one a copy, unpacked, meanwhile.

        Raises RooflensError for more than `most` bytes, and where no folder can take the copy.
        """
        if not self.packed and self.path is not None:
            yield self.path
            return
        file = None
        try:
            file = tempfile.NamedTemporaryFile(suffix=suffix)  # noqa: SIM115 - closed below, also where that fails again
            for part in self._pieces(most):
                file.write(part)
            file.flush()
        except (OSError, RooflensError) as error:
            if file:
                with suppress(OSError):
                    file.close()
            if isinstance(error, RooflensError):
                raise
            why = (error.strerror or str(error)).lower()
            raise RooflensError(f"{self.where} cannot be unpacked here: {why}; unpack it yourself") from None
        with file:
            yield Path(file.name)

    def _pieces(self, most: int) -> Iterator[bytes]:
        size = 0
        while part := self.read(_CHUNK):
            size += len(part)
            if size > most:
                raise RooflensError(f"{self.where} holds over {most} bytes; files of this kind are read up to that")
            yield part

    def chunks(self, size: int) -> Iterator[str]:
        """The text in pieces; what is no text of its encoding is replaced, and said once."""
        decoder = codecs.getincrementaldecoder(self.encoding)(errors="replace")
        replaced = False
        while part := self.read(size):
            text = decoder.decode(part)
            if not replaced and "\ufffd" in text:
                replaced = True
                self.faults.append("some bytes are not UTF-8 text; they are shown as \ufffd")
            yield text
        yield decoder.decode(b"", final=True)

    def lines(self) -> Iterator[str]:
        """The text line by line, without line ends. Raises BadFile for a line longer than any table has."""
        rest = ""
        for text in self.chunks(_CHUNK):
            *whole, rest = (rest + text).replace("\r\n", "\n").split("\n")
            yield from whole
            if len(rest) > LONGEST_LINE:
                raise BadFile(self.where, [f"a line is longer than {LONGEST_LINE} characters; this is no table"])
        if rest:
            yield rest


@contextmanager
def content(path: Path) -> Iterator[Content]:
    """The content of this file, unpacked where it is gzipped. Raises RooflensError unless it is a file with bytes."""
    with opened(path) as (file, size):
        if not size:
            raise BadFile(str(path), ["is empty; was the tool stopped before it wrote?"])
        yield Content(str(path), file, size, path)


class _Unpacked(io.RawIOBase):
    """The bytes inside of a gzip file, as many as are whole."""

    def __init__(self, file: BinaryIO, faults: list[str]) -> None:
        self._file, self._faults = file, faults
        self._inner = zlib.decompressobj(wbits=31)
        self._waiting = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ended:
            found = self._more(len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)
        return 0

    def _more(self, most: int) -> bytes:
        if self._inner.eof:
            self._waiting = self._inner.unused_data or self._file.read(_CHUNK)
            self._ended = not self._waiting.startswith(_GZIP)  # zeros may follow a member; another may, too
            self._inner = zlib.decompressobj(wbits=31)
            return b""
        data = self._waiting or self._file.read(_CHUNK)
        try:
            found = self._inner.decompress(data, most)
        except zlib.error:
            return self._stop("the gzip file is damaged; what came before was read")
        self._waiting = self._inner.unconsumed_tail
        if not data and not found and not self._inner.eof:
            return self._stop("the gzip file is cut off; what came before was read")
        return found

    def _stop(self, why: str) -> bytes:
        self._ended = True
        self._faults.append(why)
        return b""
