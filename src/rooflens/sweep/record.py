"""What a sweep leaves beside its points: whose they are, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflens.records import record

SCHEMA = "rooflens/sweep/1"
MANIFEST_SCHEMA = "rooflens/sweep-manifest/1"


@record
class Identity:
    """What must not change between a sweep and its resumption.

    digests: of every model, machine and file of constants, by name, as they were read.
    """

    rooflens: str
    points: int
    shards: int
    axes: Mapping[str, Any]
    digests: Mapping[str, str]


@record
class Refused:
    """Points that have no row, and why."""

    reason: str
    points: int


@record
class Account:
    """What became of points: each is a row, or is counted under a reason."""

    points: int
    priced: int
    refused: tuple[Refused, ...] = ()

    def __add__(self, other: Account) -> Account:
        counts = {one.reason: one.points for one in self.refused}
        for one in other.refused:
            counts[one.reason] = counts.get(one.reason, 0) + one.points
        refused = tuple(Refused(reason, points) for reason, points in counts.items())
        return Account(self.points + other.points, self.priced + other.priced, refused)

    @property
    def whole(self) -> bool:
        """Whether every point is accounted for."""
        return self.points == self.priced + sum(one.points for one in self.refused)


@record
class Manifest:
    """A sweep that is done, or as far as it came. columns: what each holds."""

    rooflens: str
    shards: int
    landed: int
    points: int
    account: Account
    parquet_bytes: int
    columns: Mapping[str, str]
    axes: Mapping[str, Any]

    @property
    def done(self) -> bool:
        """Whether every shard has landed."""
        return self.landed == self.shards
