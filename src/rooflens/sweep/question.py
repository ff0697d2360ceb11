"""What a sweep is asked once it is there, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rooflens.errors import RooflensError, Unknown
from rooflens.records import field, record
from rooflens.sweep.columns import FIGURES
from rooflens.sweep.grid import NAMED

QUERY_SCHEMA = "rooflens/sweep-query/1"
Best = Literal["cost", "latency", "throughput", "memory"]
Use = Literal["estimate", "high", "floor"]
Value = str | float

COLUMN: Mapping[Best, str] = {
    "cost": "usd_per_million_tokens", "latency": "tpot_{use}_s", "throughput": "tokens_per_s",
    "memory": "batch_memory_allows",
}  # fmt: skip
MOST_IS_BEST = ("throughput", "memory")
CASE = tuple(name for name, column in NAMED.items() if column.kind in ("name", "count"))  # all but batch and load


@record
class Wanted:
    """A question. where: values of a column, any of them. tpot_s, ttft_s: no more than this, by `use`.

    best: what is looked for. by: the best of each combination of these columns instead of the best of all. pareto:
    instead, all points that no other beats both in cost and in latency. fits: only what fits in memory.
    """

    best: Best = "cost"
    use: Use = "estimate"
    where: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    tpot_s: float | None = None
    ttft_s: float | None = None
    pareto: bool = False
    fits: bool = True
    top: int = 10

    def __post_init__(self) -> None:
        for name in (*self.where, *self.by):
            if name not in (*NAMED, "bound"):
                raise Unknown("column", name, [*NAMED, "bound"])
        if self.pareto and self.best != "cost":
            raise RooflensError("a Pareto front is of cost and latency; leave the best out")

    @property
    def order(self) -> str:
        """The column that decides."""
        return COLUMN[self.best].format(use=self.use)

    @property
    def latency(self) -> str:
        """The column that latency is read from."""
        return f"tpot_{self.use}_s"

    @property
    def limits(self) -> dict[str, float]:
        """The most of each column that is limited."""
        said = {self.latency: self.tpot_s, f"ttft_{self.use}_s": self.ttft_s}
        return {name: most for name, most in said.items() if most is not None}

    @property
    def groups(self) -> tuple[str, ...]:
        """What the best is looked for in: of memory, every case and context."""
        return self.by or ((*CASE, "context") if self.best == "memory" else ())

    @property
    def needed(self) -> tuple[str, ...]:
        """The figures that decide. Everything else is read of the points that are found."""
        memory = ["fits"] if self.fits and self.best != "memory" else []
        both = [self.latency, self.order] if self.pareto else [self.order]
        named = [name for name in (*self.where, *self.groups) if name in FIGURES]
        return tuple(dict.fromkeys((*both, *self.limits, *memory, *named)))


@record
class Found:
    """The points, best first. matching: how many meet the question in all.

    on_front: how many lie on a Pareto front, of which `points` are a spread from the fastest to the cheapest where they
    are more than were asked for. landed: shards that were looked at, of `shards`.
    """

    wanted: Wanted
    matching: int
    points: tuple[Mapping[str, Any], ...]
    landed: int
    shards: int
    on_front: int | None = None
