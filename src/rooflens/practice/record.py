"""A practice problem, what one drawing of it says, and what became of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TypeVar

from rooflens.records import record

T = TypeVar("T")
SCHEMA = "rooflens/practice/1"
TOLERANCE = 0.02  # an answer may be rounded, also in what it was worked out from
CONVENTIONS = {
    "answer": "in `unit`: SI, ratios from 0 to 1; right within the tolerance",
    "flops": "a multiply-add is 2; tensor contractions, vector work apart",
    "peaks": "dense, as the catalogue has them",
    "links": "one direction",
    "seed": "equal id and seed give equal numbers",
}


class Pick:
    """The numbers of one drawing: equal text, equal picks."""

    def __init__(self, text: str) -> None:
        self._random = Random(text)

    def one(self, *of: T) -> T:
        """One of these."""
        return self._random.choice(of)


@record
class Drawn:
    """One drawing of a problem. says: what fills its sentences. answer: in the problem's unit, SI.

    worked: the formula with this drawing's numbers. missed: what each mistake gives, by the name of the mistake.
    command: prints the same number; key: where in its JSON, a step into a list by index or by `[name]`; "" where only
    `--explain` shows it. rows: what was counted. sources: a chip, and where its figures come from.
    """

    says: Mapping[str, str]
    answer: float
    worked: str
    missed: Mapping[str, float]
    command: str
    key: str = ""
    rows: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()


@record
class Problem:
    """A row of the table. unit: of units.parse, or "ratio" (65 % is 0.65), "times" or "count"."""

    id: str
    topic: str
    unit: str
    draw: Callable[[Pick], Drawn]


@record
class Question:
    """A problem drawn with a seed."""

    problem: Problem
    seed: int
    drawn: Drawn


@record
class Judged:
    """An answer judged. off: how far above the right one, as a share of it; below it is negative.

    missed: the names of the mistakes that give just this number, the nearest first; together: only both at once do.
    """

    text: str
    value: float
    right: bool
    off: float
    missed: tuple[str, ...] = ()
    together: bool = False
