"""The last answers, as the bytes that were sent: dragging back and forth asks for the same states again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")
MOST_BYTES = 128 << 20  # some 6,000 answers
BESIDE = 2 << 10  # what a key and its place take, about


class Kept(Generic[T]):
    """Values by what was asked, up to so many bytes: what was not asked for the longest is forgotten first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._found: OrderedDict[tuple[str, object], tuple[T, int]] = OrderedDict()

    def get(self, kind: str, asked: object) -> T | None:
        """What was found for this before."""
        found = self._found.get((kind, asked))
        if found is None:
            return None
        self._found.move_to_end((kind, asked))
        return found[0]

    def put(self, kind: str, asked: object, value: T, size: int) -> None:
        """Keeps a value of so many bytes."""
        before = self._found.pop((kind, asked), None)
        self.bytes += size + BESIDE - (0 if before is None else before[1] + BESIDE)
        self._found[kind, asked] = value, size
        while self.bytes > self.most_bytes:
            self.bytes -= self._found.popitem(last=False)[1][1] + BESIDE
