"""Workers of Ray's, each with a processor and shards in hand, and what becomes of shards whose worker gives nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooflens.errors import RooflensError
from rooflens.fleet.cluster import here
from rooflens.fleet.sweeping.shard import Work, shard
from rooflens.records import record

AHEAD = 2  # shards that a worker has in hand: what is in memory at once stays bounded
TRIES = 4  # of one shard, and of workers one after another that do not come to life
LEAST_S, TIMES, UNKNOWN_S = 60.0, 10.0, 600.0
GO_ON = "what landed is whole: run the same again to go on"
AGAIN = "{why}: shard {shard} is tried again, elsewhere where possible ({count} of {all})"
LATE = "a worker gave nothing within {time} s"
DIED = "a worker was lost ({said})"


@record
class Patience:
    """How long a shard may take: as somebody said, or from what the slowest took that has landed."""

    said_s: float | None = None

    def __post_init__(self) -> None:
        if self.said_s is not None and self.said_s <= 0:
            raise RooflensError(f"a shard needs some time: {self.said_s:g} s is none")

    def limit_s(self, slowest_s: float | None) -> float:
        """Ten times the slowest and a minute at least; ten minutes before any has landed."""
        if self.said_s is not None:
            return self.said_s
        return UNKNOWN_S if slowest_s is None else max(LEAST_S, TIMES * slowest_s)


class Pricer:
    """What runs on the cluster: an actor, which writes nothing, so that pricing a shard twice does no harm."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def node(self) -> str:
        """Where it is, once it is there."""
        return here()

    def price(self, index: int) -> bytes:
        """The Parquet file of a shard."""
        return shard(self._work, index)


class Worker:
    """A pricer as its driver sees it.

    node: "" until it is there. hand: shards by what Ray calls their answers, in order. since_s: when the first of them
    began, by the driver's clock.
    """

    def __init__(self, pricer: Any) -> None:
        self.pricer, self.hello, self.node = pricer, pricer.node.remote(), ""
        self.hand: dict[Any, int] = {}
        self.since_s = 0.0

    def take(self, index: int, now_s: float) -> None:
        """One more shard."""
        if not self.hand:
            self.since_s = now_s
        self.hand[self.pricer.price.remote(index)] = index

    def gave(self, answer: Any, now_s: float) -> tuple[int, float]:
        """Which shard this is the answer of, and the seconds that it took."""
        index, took_s, self.since_s = self.hand.pop(answer), now_s - self.since_s, now_s
        return index, took_s


class Heap:
    """Shards to be priced, and where each was tried in vain."""

    def __init__(self, missing: Sequence[int]) -> None:
        self.left = list(reversed(missing))
        self.tried: dict[int, list[str]] = {}

    def pick(self, node: str, nodes: set[str]) -> int | None:
        """The next for this node: one that was tried here waits while there is a node where it was not."""
        for place in range(len(self.left) - 1, -1, -1):
            tried = self.tried.get(self.left[place], [])
            if node not in tried or nodes <= set(tried):
                return self.left.pop(place)
        return None

    def back(self, indices: Sequence[int]) -> None:
        """What nobody has begun."""
        self.left += reversed(indices)

    def again(self, index: int, node: str, why: str) -> str:
        """What was tried here in vain, in a sentence with its reason. Raises RooflensError after the last try."""
        tried = self.tried.setdefault(index, [])
        tried.append(node)
        if len(tried) == TRIES:
            raise RooflensError(f"shard {index} was tried {TRIES} times, the last time {why}; {GO_ON}")
        self.left.append(index)
        return AGAIN.format(why=why, shard=index, count=len(tried) + 1, all=TRIES)
