"""A config.json read strictly: each key by any of its spellings, every fault at once, nothing guessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rooflens.errors import BadFile
from rooflens.models.spellings import SPELLINGS, harmless, same_fact

LARGEST = 1 << 40
MOST_LAYERS = 10_000
MOST_NOTES = 20


class Config:
    """One config.json as facts. Faults are gathered while reading; `close` raises them all as one BadFile.

    defaults: what the class of this model takes for a switch that is absent. left: keys that the file left to its
    class, whose values stand in `data` already.
    """

    def __init__(
        self, data: Mapping[str, Any], where: str, defaults: Mapping[str, Any] | None = None, left: Iterable[str] = ()
    ) -> None:
        self.data, self.where = data, where
        self.defaults, self.left = defaults or {}, frozenset(left)
        self.faults: list[str] = []
        self.read: set[str] = set()
        self.sized: set[str] = set()

    def size(self, what: str, default: int | None = None, most: int = LARGEST) -> int:
        """A whole number above 0; a null or absent key takes `default`, or is a fault that names its spellings."""
        return self._whole(what, default, 1, most)

    def count(self, what: str, default: int | None = 0, most: int = LARGEST) -> int:
        """A whole number, 0 being none of it."""
        return self._whole(what, default, 0, most)

    def setting(self, what: str, default: int = 0) -> int:
        """A whole number that arranges layers: a null or absent key takes the class's default, else `default`."""
        key, value = self._switch(what)
        return default if value is None or isinstance(value, list) else self._one(key, value, 0, LARGEST)

    def sizes(self, what: str, layers: int) -> tuple[int, ...]:
        """A size for each layer, written once for all or as a list."""
        key, value = self._said(what)
        if not isinstance(value, list):
            return (self.size(what),) * layers
        if len(value) != layers:
            self.faults.append(f"{key}: {len(value)} sizes for {layers} layers")
            return (1,) * layers
        return tuple(self._one(f"{key}[{i}]", entry, 0, LARGEST) for i, entry in enumerate(value))

    def number(self, what: str, default: float) -> float:
        """A number above 0; a null or absent key takes `default`."""
        key, value = self._said(what)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LARGEST:
            self.faults.append(f"{key}: expected a number above 0, found {value!r:.40}")
            return default
        return float(value)

    def flag(self, what: str, *, default: bool = False) -> bool:
        """A true or false; a null or absent key takes the class's default, else `default`."""
        key, value = self._switch(what)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.faults.append(f"{key}: expected true or false, found {value!r:.40}")
            return default
        return value

    def text(self, what: str, default: str = "") -> str:
        """A text; a null or absent key takes the class's default, else `default`."""
        key, value = self._switch(what)
        if value is None:
            return default
        if not isinstance(value, str):
            self.faults.append(f"{key}: expected text, found {value!r:.40}")
            return default
        return value

    def items(self, what: str) -> list[Any] | None:
        """A list, or the characters of a text; None when absent, and for anything else, which is read as a size."""
        _, value = self._said(what)
        return list(value) if isinstance(value, (list, str)) else None

    def positions(self, what: str, layers: int) -> frozenset[int] | None:
        """A list of layer numbers as a set; None when absent."""
        key, value = self._said(what)
        if value is None:
            return None
        good = isinstance(value, list) and all(type(i) is int and 0 <= i < layers for i in value)
        self.must(f"{key}: expected a list of layer numbers below {layers}", holds=good)
        return frozenset(value) if good else frozenset()

    def has(self, what: str) -> bool:
        """Whether the key is there and says something (not null)."""
        return self._said(what)[1] is not None

    def of_class(self, what: str) -> bool:
        """Whether the class takes something for this key when it is absent."""
        return self._of_class(what)[1] is not None

    def moot(self, *whats: str) -> None:
        """Notes facts that other facts make irrelevant here, so that nobody is warned of them."""
        for what in whats:
            self.read.update(SPELLINGS.get(what, (what,)))

    def must(self, fault: str, *, holds: bool) -> None:
        """Notes `fault` unless it holds; skipped when sizes are already faulty."""
        if not holds and not self.faults:
            self.faults.append(fault)

    def close(self) -> None:
        """Raises BadFile with every fault found so far."""
        if self.faults:
            raise BadFile(self.where, list(dict.fromkeys(self.faults)))

    def notes(self) -> tuple[str, ...]:
        """Warnings: sizes that the file leaves to its class, and keys that nobody read and that may change a price."""
        taken = ", ".join(f"{key} {self.data[key]}" for key in sorted(self.left & self.sized) if self._is_size(key))
        said = [f"the config leaves out {taken}: the defaults of its class are taken"] if taken else []
        unread = [key for key, value in self.data.items() if self._unread(key, value)]
        why = "is not read; if it changes a size or a layer, this model is priced without it"
        said += [f"{key:.80} {why}" for key in unread[:MOST_NOTES]]
        more = len(unread) - MOST_NOTES
        return (*said, *([f"{more} more keys are not read"] if more > 0 else []))

    def _unread(self, key: str, value: Any) -> bool:
        """Whether nobody read a key that says something and may change a price."""
        if key in self.read or key in self.left or value in (None, False, [], {}):
            return False
        return not harmless(key) and not self._repeats(key, value)

    def _repeats(self, key: str, value: Any) -> bool:
        """Whether the same fact was read under another spelling, with the same value."""
        return any(other in self.read and self.data.get(other) == value for other in same_fact(key))

    def _is_size(self, key: str) -> bool:
        return type(self.data[key]) is int and self.data[key] > 0

    def _whole(self, what: str, default: int | None, least: int, most: int) -> int:
        key, value = self._said(what)
        if value is None:
            if default is None:
                self.faults.append(f"{' / '.join(SPELLINGS.get(what, (what,)))}: missing")
            return least if default is None else default
        self.sized.add(key)
        return self._one(key, value, least, most)

    def _one(self, key: str, value: Any, least: int, most: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.faults.append(f"{key}: expected a whole number, found {value!r:.40}")
        elif not least <= value <= most:
            self.faults.append(f"{key}: {str(value)[:40]} is not a size ({least} to {most})")
        else:
            return value
        return least

    def _switch(self, what: str) -> tuple[str, Any]:
        key, value = self._said(what)
        return (key, value) if value is not None else self._of_class(what)

    def _said(self, what: str) -> tuple[str, Any]:
        for key in SPELLINGS.get(what, (what,)):
            if key in self.data:
                self.read.add(key)
                if self.data[key] is not None:
                    return key, self.data[key]
        return what, None

    def _of_class(self, what: str) -> tuple[str, Any]:
        return next(
            ((key, self.defaults[key]) for key in SPELLINGS.get(what, (what,)) if key in self.defaults), (what, None)
        )
