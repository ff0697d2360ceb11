"""How a grid is cut: by its text alone, so that any number of workers, today or tomorrow, make the same shards."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from rooflens.records import record
from rooflens.sweep.grid import DEVICES, LOADS, NAMES, Axes

PIECE_POINTS = 1 << 17  # larger arrays are no quicker, smaller ones are mostly calls
Case = Mapping[str, Any]
"""One combination of all but batch and load, by axis. `own`: none was named."""


@record
class Lengths:
    """One prompt, output and context; None where the grid has no such axis."""

    prompt: int | None = None
    output: int | None = None
    context: int | None = None


@record
class Piece:
    """Some batches of one case, all of its loads. last: the first batch that is no longer of it."""

    case: int
    first: int
    last: int


def case(axes: Axes, index: int) -> Case:
    """The case of this number: models change last, dp first."""
    found: dict[str, str | int] = {}
    for name in reversed((*NAMES, *DEVICES)):
        values = axes.names[name] if name in axes.names else axes.devices[name]
        index, at = divmod(index, len(values))
        found[name] = values[at]
    return found


def loads(axes: Axes) -> tuple[Lengths, ...]:
    """Every load: the context changes first."""
    several = [axes.loads.get(name, (None,)) for name in LOADS]
    return tuple(Lengths(*each) for each in itertools.product(*several))


def shards(axes: Axes) -> int:
    """How many shards the grid has."""
    return -(-_rows(axes) // _rows_a_shard(axes))


def points_of(axes: Axes, shard: int) -> int:
    """Points of one shard."""
    first = shard * _rows_a_shard(axes)
    return (min(_rows(axes), first + _rows_a_shard(axes)) - first) * axes.of_loads


def pieces(axes: Axes, shard: int) -> Iterator[Piece]:
    """What a shard is made of, in order, each of a size that is priced at once."""
    each, at_once = len(axes.batch), max(1, PIECE_POINTS // axes.of_loads)
    row, end = shard * _rows_a_shard(axes), min(_rows(axes), (shard + 1) * _rows_a_shard(axes))
    while row < end:
        case, first = divmod(row, each)
        last = min(each, first + at_once, first + end - row)
        yield Piece(case, first, last)
        row += last - first


def _rows(axes: Axes) -> int:
    """A row is a case at one batch, all loads."""
    return axes.cases * len(axes.batch)


def _rows_a_shard(axes: Axes) -> int:
    return max(1, axes.shard_points // axes.of_loads)
