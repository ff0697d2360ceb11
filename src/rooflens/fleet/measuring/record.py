"""What is asked of a fleet, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.errors import RooflensError
from rooflens.records import field, record

SCHEMA = "rooflens/fleet-measure/1"
CONVENTIONS = {
    "together": "all nodes that could start began behind one barrier; a second attempt runs later, beside fewer",
    "landed": "a profile that is in the folder is not measured again",
    "began_within_s": "first to last start of a measurement as the barrier heard of it, at the first attempt",
}
State = Literal["measured", "landed before", "died", "hung", "garbage", "refused"]


@record
class Asking:
    """What every node is asked, and how long for.

    arguments: of `rooflens measure`, for all nodes. device: which one, "auto" for what the node has. limit_s: of one
    measurement. start_s: until which a node must have begun. attempts: how often a node that died or answered nonsense
    is asked. ships: our own code travels to the nodes; else theirs is used. pip: packages that are installed there
    first. python: of the nodes; "" is the one that Ray runs. nodes: only these; none: all.
    """

    arguments: tuple[str, ...] = ()
    device: str = "auto"
    limit_s: float = 3600.0
    start_s: float = 120.0
    attempts: int = 2
    ships: bool = True
    pip: tuple[str, ...] = ()
    python: str = ""
    nodes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if min(self.limit_s, self.start_s) <= 0 or self.attempts < 1:
            raise RooflensError("limits of time must be above 0 s, and every node is asked at least once")


@record
class Outcome:
    """What came of one node. file: where its profile is. version: of the rooflens that measured."""

    node: str
    state: State
    why: str | None = None
    attempts: int = 0
    file: str | None = None
    version: str | None = None

    @property
    def answered(self) -> bool:
        """Whether there is a profile of it."""
        return self.state in ("measured", "landed before")


@record
class Gathered:
    """The answer of `rooflens fleet measure`. left_out: nodes that take no work, by name, each with its reason."""

    folder: str
    started: str
    duration_s: float
    nodes: tuple[Outcome, ...]
    began_within_s: float | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=lambda: dict(CONVENTIONS))

    @property
    def missing(self) -> tuple[Outcome, ...]:
        """Those without a profile."""
        return tuple(one for one in self.nodes if not one.answered)
