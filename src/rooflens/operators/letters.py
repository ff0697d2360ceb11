"""The one registry of letters: what each means, and how it is split over devices.

A row may use these letters and no other: an unregistered letter is an error, since a letter that nobody
declared would be replicated in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.arrays import Number, maximum
from rooflens.errors import RooflensError, Unknown
from rooflens.records import record

Shard = Literal["tp", "ep", "expert", "active", "none"]


@record
class Letter:
    """One dimension. `at_least_one`: a device keeps one even when there are more devices than heads or experts.

    shard: tp, split over the devices of a layer; ep, over the devices that share the experts; expert, a width inside
    one expert; active, the experts that one device works on for a token of its own; none, whole on every device.
    """

    meaning: str
    shard: Shard = "none"
    at_least_one: bool = False


LETTERS: dict[str, Letter] = {
    "B": Letter("sequences"),
    "T": Letter("new tokens a sequence"),
    "S": Letter("positions touched in the cache a sequence"),
    "P": Letter("positions attended to, on average over the new tokens"),
    "Si": Letter("positions whose keys an indexer scores"),
    "Pi": Letter("positions that it scores, on average over the new tokens"),
    "Y": Letter("logits a sequence"),
    "L": Letter("layers"),
    "D": Letter("width of the residual stream"),
    "De": Letter("width of the embedding, where it differs from D"),
    "F": Letter("feed-forward width", "tp"),
    "H": Letter("query heads", "tp"),
    "K": Letter("key-value heads", "tp", at_least_one=True),
    "G": Letter("query heads a key-value head, H / K after sharding"),
    "W": Letter("head width"),
    "Wv": Letter("width of a value head, where it differs from W"),
    "V": Letter("vocabulary", "tp"),
    "C": Letter("positions with a learned embedding"),
    "E": Letter("experts that the router scores"),
    "A": Letter("experts active a token", "active"),
    "X": Letter("experts touched by the step", "ep", at_least_one=True),
    "Fe": Letter("feed-forward width of one expert", "expert"),
    "Fs": Letter("feed-forward width of the shared experts together", "tp"),
    "R": Letter("width of the latent that stands for keys and values (MLA)"),
    "Rq": Letter("width of the latent of the queries (MLA)"),
    "Wn": Letter("head width without position (MLA)"),
    "Wr": Letter("head width with rotary position (MLA)"),
    "Hi": Letter("heads of the indexer that selects positions"),
    "Wi": Letter("head width of that indexer"),
    "Hs": Letter("heads of a recurrent state", "tp"),
    "Ws": Letter("values of a head of the state"),
    "Ns": Letter("keys of a head of the state"),
    "Gs": Letter("key heads or groups of a recurrent layer", "tp", at_least_one=True),
    "J": Letter("taps of a short convolution"),
    "Jc": Letter("taps that the cache keeps"),
    "Pc": Letter("positions attended to inside a chunk of a scan, on average"),
    "Rd": Letter("width of a low-rank gate"),
    "Dp": Letter("width of the embedding that each layer has of its own"),
    "Vp": Letter("vocabulary of those embeddings"),
    "U": Letter("copies of the residual stream"),
    "N": Letter("elements of an operator placed alone"),
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


def shard(letters: Letters, tp: int = 1, ep: int = 1, dp: int = 1) -> dict[str, Number]:
    """The letters as one of tp x dp devices sees them; G follows from the sharded H and K.

    ep = 1: each replica holds all experts, their widths split over tp. ep > 1: the experts are spread whole over ep
    devices (split further over tp x dp / ep) and serve the tokens of all dp replicas.
    """
    spread = ep > 1
    ways = {
        "tp": float(tp), "ep": float(ep), "none": 1.0,
        "expert": tp * dp / ep if spread else float(tp), "active": ep / dp if spread else 1.0,
    }  # fmt: skip
    out = {name: _split(LETTERS[check(name)], size, ways) for name, size in letters.items()}
    if "H" in out and "K" in out:
        out["G"] = out["H"] / out["K"]
    return out


def _split(letter: Letter, size: Number, ways: Mapping[str, float]) -> Number:
    part = size / ways[letter.shard]
    return maximum([part, 1.0]) if letter.at_least_one else part
