"""The events of a Chrome trace, a batch at a time: of any size in little memory, and of a broken one what is whole.

Both forms are read: an object with `traceEvents`, and a bare array. A piece of text between two events is decoded as an
array of its own: that it decodes proves that it holds whole events. NaN and Infinity are taken as numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from rooflens.errors import BadFile

CHUNK = 64 << 10  # what is decoded at once then stays in the second-level cache
LONGEST = 32 << 20  # characters of one event, or of one value beside the events
MOST_LOST = 10_000
FACTS = ("deviceProperties", "distributedInfo", "record_shapes", "with_stack", "with_modules", "schemaVersion")
_NEXT = re.compile(r"\}\s*,\s*\{")
_SPACE = re.compile(r"[\s,]*")
_DECODE = json.JSONDecoder(strict=False).raw_decode
_TRIES = 64
_GAP = 256  # characters between two events


class _Cut(Exception):
    """The text ended inside of a value."""


class Events:
    """Reads a trace once. After `batches`: the `facts` beside the events, how many events were `lost`, `faults`.

    elsewhere: takes the text of several events off our hands where it says so; these are not among those `read`.
    """

    def __init__(self, chunks: Iterable[str], where: str, elsewhere: Callable[[str], bool] | None = None) -> None:
        self.where = where
        self.facts: dict[str, Any] = {}
        self.faults: list[str] = []
        self.lost = 0
        self.read = 0
        self._chunks = iter(chunks)
        self._text, self._at, self._before = "", 0, 0
        self._ended = False
        self._elsewhere = elsewhere

    def batches(self) -> Iterator[list[Any]]:
        """The events, in lists. Raises BadFile when the text is no trace at all."""
        try:
            opens = self._peek()
            if opens == "[":
                self._at += 1
                yield from self._array()
            elif opens == "{":
                self._at += 1
                yield from self._object()
            else:
                raise BadFile(self.where, ["is no JSON text; a trace begins with { or ["])
        except _Cut as cut:
            self.faults.append(self._where_cut(str(cut)))
        if self.lost:
            self.faults.append(f"{self.lost} events are damaged and were left out")

    def _where_cut(self, why: str) -> str:
        before = self._before + _bytes(self._text[: self._at])
        return f"{why or 'is cut off'} at byte {before}; what is before it was read"

    def _more(self) -> bool:
        """Whether there was more text to take in; what was used is let go."""
        if self._ended:
            return False
        self._before += _bytes(self._text[: self._at])
        try:
            self._text = self._text[self._at :] + next(self._chunks)
        except StopIteration:
            self._ended = True
            self._text = self._text[self._at :]
        self._at = 0
        return not self._ended

    def _peek(self) -> str:
        """The next character that is no space or comma. Raises _Cut at the end."""
        while True:
            at = _SPACE.match(self._text, self._at)
            self._at = at.end() if at else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                raise _Cut

    def _object(self) -> Iterator[list[Any]]:
        seen = False
        while self._peek() != "}":
            key = self._value()
            if self._peek() != ":":
                raise _Cut("is no JSON text any more")
            self._at += 1
            if key == "traceEvents" and self._peek() == "[":
                self._at += 1
                if seen:
                    self.faults.append("traceEvents is there twice; both were read")
                seen = True
                yield from self._array()
            else:
                value = self._value()
                if key in FACTS:
                    self.facts[key] = value

    def _value(self) -> Any:
        """The value that begins here, however much text it needs. Raises _Cut when it is broken or ends early."""
        self._peek()
        while True:
            try:
                value, end = _DECODE(self._text, self._at)
                length = end - self._at
                if end < len(self._text) or not self._more():
                    self._at += length
                    return value
            except (ValueError, RecursionError) as error:
                if _is_certain(error, self._text) or len(self._text) - self._at > LONGEST or not self._more():
                    raise _Cut("is no JSON text any more" if _is_certain(error, self._text) else "") from None

    def _array(self) -> Iterator[list[Any]]:
        """The events up to the end of the array, as many at a time as the text at hand holds."""
        while self._peek() != "]":
            cut = self._last_whole()
            if cut > self._at and self._elsewhere and self._elsewhere(self._text[self._at : cut]):
                self._at = cut
                continue
            events = self._decoded(cut) if cut > self._at else None
            if events is None:
                events = self._one_by_one()
            self.read += len(events)
            yield events
        self._at += 1

    def _last_whole(self) -> int:
        """Where the last event ends that another one follows in the text at hand; -1 where there is none."""
        text, brace = self._text, len(self._text)
        for _ in range(_TRIES):
            brace = text.rfind("{", self._at, brace)
            if brace <= self._at:
                return -1
            begin = max(brace - _GAP, self._at)
            before = text[begin:brace].rstrip()
            event = before[:-1].rstrip() if before.endswith(",") else ""
            if event.endswith("}"):
                return begin + len(event)
        return -1

    def _decoded(self, cut: int) -> list[Any] | None:
        events = decoded(f"[{self._text[self._at : cut]}]")
        if events is not None:
            self._at = cut
        return events

    def _one_by_one(self) -> list[Any]:
        """The next event alone; of a damaged one, nothing, and the text goes on at the next."""
        while True:
            try:
                event, end = _DECODE(self._text, self._at)
                length = end - self._at
                if end < len(self._text) or not self._more():  # at the end of the text, a number may go on
                    self._at += length
                    return [event]
            except (ValueError, RecursionError) as error:
                certain = _is_certain(error, self._text) or len(self._text) - self._at > LONGEST
                if not certain and self._more():
                    continue
                self._skip("is damaged" if certain else "")
                return []

    def _skip(self, why: str) -> None:
        """Goes on at the next event after a damaged one. Raises _Cut where there is none."""
        found = _NEXT.search(self._text, self._at + 1)
        while not found and self._more():
            found = _NEXT.search(self._text, self._at + 1)
            if not found:
                self._at = max(self._at, len(self._text) - 256)
        if not found or self.lost >= MOST_LOST:
            raise _Cut(why)
        self.lost += 1
        self._at = found.end() - 1


def decoded(text: str | bytes) -> list[Any] | None:
    """The array of events in this text, by orjson where it is installed (extra `traces`); None when it is not whole."""
    for loads in _loaders():
        with suppress(ValueError, RecursionError):
            found: list[Any] = loads(text)
            return found
    return None


@cache
def _loaders() -> tuple[Callable[[str | bytes], Any], ...]:
    """The quick one is strict: what it refuses (NaN, half a character) the patient one may take."""
    try:
        import orjson
    except ImportError:
        return (json.loads,)
    return orjson.loads, json.loads


def _is_certain(error: Exception, text: str) -> bool:
    """Whether more text could not mend it."""
    if not isinstance(error, json.JSONDecodeError):
        return True  # nested too deeply, or a number of thousands of digits
    return error.pos < len(text) - 8 and not error.msg.startswith("Unterminated")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
