"""The one registry of letters: what each means, and how it is split over devices.

A row may use these letters and no other: an unregistered letter is an error, since a letter that nobody
declared would be replicated in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rooflens.arrays import Number, maximum
from rooflens.errors import RooflensError, Unknown

Shard = Literal["tp", "ep", "none"]


@dataclass(frozen=True, slots=True)
class Letter:
    """One dimension. `at_least_one`: a device keeps one even when there are more devices than heads."""

    meaning: str
    shard: Shard = "none"
    at_least_one: bool = False


LETTERS: dict[str, Letter] = {
    "B": Letter("sequences"),
    "T": Letter("new tokens a sequence"),
    "S": Letter("positions touched in the cache a sequence"),
    "P": Letter("positions attended to, on average over the new tokens"),
    "Y": Letter("logits a sequence"),
    "L": Letter("layers"),
    "D": Letter("width of the residual stream"),
    "F": Letter("feed-forward width", "tp"),
    "H": Letter("query heads", "tp"),
    "K": Letter("key-value heads", "tp", at_least_one=True),
    "G": Letter("query heads a key-value head, H / K after sharding"),
    "W": Letter("head width"),
    "V": Letter("vocabulary", "tp"),
    "C": Letter("positions with a learned embedding"),
    "E": Letter("experts", "ep"),
    "A": Letter("experts active a token"),
    "X": Letter("experts touched by the step", "ep"),
    "N": Letter("elements of an operator placed alone"),
    "Z": Letter("bytes on the wire for each byte reduced, 2 (n - 1) / n for an all-reduce over n"),
}

Letters = Mapping[str, Number]


def value(letters: Letters, name: str) -> Number:
    """The size of a letter. Raises RooflensError when the model or step does not say it."""
    try:
        return letters[name]
    except KeyError:
        raise RooflensError(f"letter {name} ({LETTERS[name].meaning}) has no size here") from None


def check(name: str) -> str:
    """`name` when registered. Raises Unknown otherwise."""
    if name not in LETTERS:
        raise Unknown("letter", name, LETTERS)
    return name


def shard(letters: Letters, tp: int = 1, ep: int = 1) -> dict[str, Number]:
    """The letters as one device of a tp x ep group sees them; G follows from the sharded H and K."""
    ways = {"tp": float(tp), "ep": float(ep), "none": 1.0}
    out = {name: _split(LETTERS[check(name)], size, ways) for name, size in letters.items()}
    if "H" in out and "K" in out:
        out["G"] = out["H"] / out["K"]
    return out


def _split(letter: Letter, size: Number, ways: Mapping[str, float]) -> Number:
    part = size / ways[letter.shard]
    return maximum([part, 1.0]) if letter.at_least_one else part
