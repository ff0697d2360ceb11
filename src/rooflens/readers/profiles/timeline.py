"""When a device was busy, with what, and why it was not: streams merged, gaps told apart by what ended them.

Overlapping activities count once. A gap ends when the next activity begins: until the host began the call that launches
it, the device waited for the host; from then on for the launch. What was launched before the gap began (it waited in a
queue) counts as launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rooflens.arrays import library
from rooflens.roofline.observed import Gap, Timeline

MICRO = 1e-6
LONGEST_GAPS = 10
LONGEST_ORDER = 100_000


class Ran(NamedTuple):
    """Activities of one device, a row each, in microseconds.

    launched: NaN where not said. sort: 0 kernel, 1 collective, 2 copy. kernel: its index (-1: a copy). graph: replayed.
    """

    start: Any
    end: Any
    launched: Any
    sort: Any
    kernel: Any
    stream: Any
    graph: Any


def timeline(device: int | None, ran: Ran, names: Sequence[str], begin: float) -> Timeline:
    """What this device did. names: of the kernels. begin: the moment that the trace's times count from."""
    np = library()
    order = np.argsort(ran.start, kind="stable")
    ran = Ran(*(column[order] for column in ran))
    kernels = _union(ran, ran.sort == 0)
    with_collectives = _union(ran, ran.sort <= 1)
    busy = _union(ran, ran.sort <= 2)
    latest = np.maximum.accumulate(ran.end)
    before = np.concatenate(([ran.start[0]], latest[:-1]))
    gap = np.maximum(ran.start - before, 0.0)
    known = ~np.isnan(ran.launched)
    waited = np.where(known, np.clip(np.minimum(ran.launched, ran.start) - before, 0.0, gap), 0.0)
    host, unseen, gaps = float(waited.sum()), float(gap[~known].sum()), float(gap.sum())
    first = ran.kernel >= 0
    return Timeline(
        device,
        span_s=float(latest[-1] - ran.start[0]) * MICRO,
        kernels_s=kernels * MICRO,
        collectives_s=(with_collectives - kernels) * MICRO,
        copies_s=(busy - with_collectives) * MICRO,
        summed_s=float((ran.end - ran.start).sum()) * MICRO,
        gaps_s=gaps * MICRO,
        host_s=host * MICRO,
        launch_s=max(gaps - host - unseen, 0.0) * MICRO,
        unseen_s=unseen * MICRO,
        launches=int(first.sum()),
        streams=len(np.unique(ran.stream)),
        graph_launches=int(ran.graph.sum()),
        begin_s=float(ran.start[0] - begin) * MICRO,
        longest_gaps=_longest(ran, gap, before, names),
        order=tuple(ran.kernel[first][:LONGEST_ORDER].tolist()),
        order_s=tuple(((ran.end - ran.start)[first][:LONGEST_ORDER] * MICRO).tolist()),
    )


def _union(ran: Ran, chosen: Any) -> float:
    """The time in which at least one of the chosen activities ran; they are in order of their start."""
    np = library()
    start, end = ran.start[chosen], ran.end[chosen]
    if not len(start):
        return 0.0
    latest = np.maximum.accumulate(end)
    before = np.concatenate(([start[0]], latest[:-1]))
    return float(np.maximum(latest - np.maximum(start, before), 0.0).sum())


def _longest(ran: Ran, gap: Any, before: Any, names: Sequence[str]) -> tuple[Gap, ...]:
    np = library()
    most = min(LONGEST_GAPS, len(gap))
    rows = np.argpartition(gap, len(gap) - most)[len(gap) - most :]
    rows = rows[np.argsort(-gap[rows], kind="stable")]

    def name(row: int) -> str:
        kernel = int(ran.kernel[row]) if row >= 0 else -1
        return names[kernel] if kernel >= 0 else "a copy"

    return tuple(
        Gap(float(before[row] - ran.start[0]) * MICRO, float(gap[row]) * MICRO, name(int(row) - 1), name(int(row)))
        for row in rows
        if gap[row] > 0
    )
