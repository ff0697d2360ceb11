"""Launches that are alike, together: the same kernel, sizes, operator, shapes and surroundings; and whose work it was.

An operator may launch several kernels. Its work is one kernel's: the longest that is no helper (one that adds partial
sums, converts, pads). The others are said to help, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rooflens.arrays import library
from rooflens.readers.profiles import shapes
from rooflens.readers.profiles.columns import Columns, Kind
from rooflens.readers.profiles.kernel_names import item_bytes, said
from rooflens.readers.profiles.linking import Linked, Ops
from rooflens.readers.profiles.tensors import Work


class Alike(NamedTuple):
    """Launches that are alike, in microseconds. doing: their operator (-1: not known). main: its work is theirs."""

    kind: int
    doing: int
    around: int
    main: bool
    graph: bool
    calls: int
    time: float
    shortest: float
    longest: float
    work: Work | None


class Grouped(NamedTuple):
    """Groups, the most time first, and of each activity its group (-1: a copy)."""

    groups: list[Alike]
    of_row: Any


def groups(columns: Columns, kinds: Sequence[Kind], ops: Ops, link: Linked, graph: Any) -> Grouped:
    """The launches of kernels and collectives, grouped."""
    np = library()
    _, times, kind, _, _ = columns.ran.arrays()
    of_row = np.full(len(kind), -1, dtype=np.int64)
    is_kernel = np.array([k.what in ("kernel", "collective") for k in kinds] or [False], dtype=bool)
    rows = np.nonzero(is_kernel[kind])[0] if len(kind) else np.zeros(0, dtype=np.int64)
    if not rows.size:
        return Grouped([], of_row)
    time = times[rows]
    op = np.where(graph[rows], -1, link.op[rows])
    doing = np.where(op >= 0, ops.doing[op] if len(ops.doing) else -1, -1).astype(np.int64)
    pairs, pair = np.unique(doing * len(kinds) + kind[rows], return_inverse=True)
    works = [_work(int(key // len(kinds)), kinds[int(key % len(kinds))], ops) for key in pairs]
    helper = np.array([said(k.name).family == "helper" for k in kinds], dtype=bool)[kind[rows]]
    main = _main(op, np.array([work is not None for work in works], dtype=bool)[pair], helper, time)
    around = link.around[rows].astype(np.int64)
    key = ((pair * (int(around.max()) + 1) + around) * 2 + main) * 2 + graph[rows]
    _, first, group, calls = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    total = np.bincount(group, weights=time)
    order = np.argsort(group, kind="stable")
    begins = np.concatenate(([0], np.cumsum(calls)[:-1]))
    shortest, longest = (f.reduceat(time[order], begins) for f in (np.minimum, np.maximum))
    ranked = np.argsort(-total, kind="stable")
    rank = np.empty(len(ranked), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    of_row[rows] = rank[group]
    listed = [
        Alike(int(kind[rows[first[g]]]), int(doing[first[g]]), int(around[first[g]]), bool(main[first[g]]),
              bool(graph[rows[first[g]]]), int(calls[g]), float(total[g]), float(shortest[g]), float(longest[g]),
              works[pair[first[g]]])
        for g in ranked
    ]  # fmt: skip
    return Grouped(listed, of_row)


def _work(doing: int, kind: Kind, ops: Ops) -> Work | None:
    if doing < 0 or kind.what != "kernel":
        return None
    of = ops.doings[doing]
    return shapes.work(of.name, of.shapes, of.types, of.values, item_bytes(kind.name))


def _main(op: Any, has_work: Any, helper: Any, time: Any) -> Any:
    """Of each launch, whether it is the one that did its operator's work."""
    np = library()
    main = np.zeros(len(op), dtype=bool)
    rows = np.nonzero((op >= 0) & has_work)[0]
    if rows.size:
        order = rows[np.lexsort((-time[rows], helper[rows], op[rows]))]
        is_first = np.concatenate(([True], op[order][1:] != op[order][:-1]))
        main[order[is_first]] = True
    return main
