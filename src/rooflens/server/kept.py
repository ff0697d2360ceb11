"""The last answers, as the bytes that were sent: dragging back and forth asks for the same states again."""

from __future__ import annotations

from collections import OrderedDict

MOST_BYTES = 128 << 20  # some 6,000 answers
BESIDE = 2 << 10  # what a key and its place take, about


class Kept:
    """Answers by what was asked, up to so many bytes: what was not asked for the longest is forgotten first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._found: OrderedDict[tuple[str, object], bytes] = OrderedDict()

    def get(self, kind: str, asked: object) -> bytes | None:
        """What was answered to this before."""
        found = self._found.get((kind, asked))
        if found is not None:
            self._found.move_to_end((kind, asked))
        return found

    def put(self, kind: str, asked: object, body: bytes) -> None:
        """Keeps an answer."""
        self.bytes += len(body) + BESIDE - self._size(self._found.pop((kind, asked), None))
        self._found[kind, asked] = body
        while self.bytes > self.most_bytes:
            self.bytes -= self._size(self._found.popitem(last=False)[1])

    @staticmethod
    def _size(body: bytes | None) -> int:
        return 0 if body is None else len(body) + BESIDE
