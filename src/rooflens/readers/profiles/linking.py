"""Which operator launched what: by the call that launched it and the operators open on its thread, else by number.

The innermost operator at the moment of the call is the one that launched; it carries the shapes. Operators that
enclose it say the phase (a backward one is never called forward), the layer and the user's annotation.
"""

from __future__ import annotations

import marshal
import re
from functools import lru_cache
from typing import Any, NamedTuple

from rooflens.arrays import library
from rooflens.readers.figures import shown
from rooflens.readers.profiles.columns import Columns, Doing
from rooflens.roofline.observed import Phase

_BLOCK = 1 << 17
ROUNDED = 1.5  # microseconds by which an operator may seem to outlast the one around it, in traces of whole ones
_BACKWARD = re.compile(
    r"^autograd::engine::evaluate_function|Backward\d*$|^aten::\w+_backward$|\bbackward\b", re.IGNORECASE
)
_OPTIMIZER = re.compile(r"^Optimizer\.|\boptimizer\b|^aten::_fused_(adam|sgd)", re.IGNORECASE)


class Around(NamedTuple):
    """What encloses an operator: the outermost operator, annotation, layer, and the phase that these say."""

    root: str | None = None
    scope: str | None = None
    module: str | None = None
    phase: Phase | None = None


class _Arounds:
    """Distinct surroundings by number; 0 is none."""

    def __init__(self, doings: list[Doing]) -> None:
        self.all = [Around()]
        self._of = {Around(): 0}
        self._steps: dict[tuple[int, int], int] = {}
        self._doings = [(doing.what, _name(doing), _phase(_name(doing))) for doing in doings]

    def inside(self, outer: int, doing: int) -> int:
        """The surroundings of what stands inside of this, inside of those."""
        what, _, phase = self._doings[doing]
        around = self.all[outer]
        if what == "op" and around.root is not None and (phase is None or around.phase is not None):
            return outer
        key = outer, doing
        found = self._steps.get(key)
        if found is None:
            new = self._within(around, doing)
            found = self._of.get(new)
            if found is None:
                found = self._of[new] = len(self.all)
                self.all.append(new)
            self._steps[key] = found
        return found

    def _within(self, around: Around, doing: int) -> Around:
        what, name, phase = self._doings[doing]
        phase = around.phase if around.phase is not None else phase
        if what == "op":
            return around._replace(root=around.root or name, phase=phase)
        return around._replace(scope=name, phase=phase) if what == "span" else around._replace(module=name, phase=phase)


class Ops:
    """The operators of all threads in order of thread and time, each with the one that encloses it (-1: none)."""

    def __init__(self, columns: Columns) -> None:
        np = library()
        self.doings = [Doing(*marshal.loads(key)) for key in columns.doings.values()]  # noqa: S302 - our own bytes
        start, time, thread, doing, external = columns.ops.arrays()
        order = np.lexsort((-time, start, thread))
        self.start, self.time, self.thread = start[order], time[order], thread[order]
        self.end = self.start + self.time
        self.doing, self.external = doing[order], external[order]
        self.parent = np.full(len(order), -1, dtype=np.int64)
        self.around = np.zeros(len(order), dtype=np.int32)
        arounds = _Arounds(self.doings)
        self._nest(arounds)
        self.arounds = arounds.all
        self.is_op = np.array([doing.what == "op" for doing in self.doings], dtype=bool)[self.doing]

    def _nest(self, arounds: _Arounds) -> None:
        """Parents, by a stack of what is open."""
        opened: list[tuple[float, int, int]] = []
        last = None
        for at in range(0, len(self.start), _BLOCK):
            block = slice(at, at + _BLOCK)
            parents, inside = [], []
            columns = (self.start[block], self.end[block], self.thread[block], self.doing[block])
            rows = zip(*(column.tolist() for column in columns), strict=True)
            for row, (start, end, thread, doing) in enumerate(rows, at):
                if thread != last:
                    opened, last = [], thread
                while opened and (opened[-1][0] <= start or opened[-1][0] + ROUNDED < end):
                    opened.pop()
                outer = opened[-1] if opened else (0.0, -1, 0)
                inner = arounds.inside(outer[2], doing)
                parents.append(outer[1])
                inside.append(inner)
                opened.append((end, row, inner))
            self.parent[block], self.around[block] = parents, inside

    def innermost(self, thread: Any, moment: Any) -> Any:
        """Of each thread and moment, the row that was open and innermost; -1 where none was."""
        np = library()
        found = np.full(len(thread), -1, dtype=np.int64)
        for one in np.unique(thread):
            asked = np.nonzero(thread == one)[0]
            first, last = np.searchsorted(self.thread, [one, one + 1])
            if first < last:
                found[asked] = first - 1 + np.searchsorted(self.start[first:last], moment[asked], side="right")
                found[asked[found[asked] < first]] = -1
        return self._outwards(found, lambda rows, asked: self.end[rows] < moment[asked])

    def operators(self, rows: Any) -> Any:
        """Of each row, itself or the nearest enclosing one that is an operator."""
        return self._outwards(rows, lambda found, _: ~self.is_op[found])

    def _outwards(self, rows: Any, unfit: Any) -> Any:
        """Rows replaced by what encloses them for as long as they do not fit."""
        np = library()
        found = rows.copy()
        asked = np.nonzero(found >= 0)[0]
        while asked.size:
            asked = asked[unfit(found[asked], asked)]
            found[asked] = self.parent[found[asked]]
            asked = asked[found[asked] >= 0]
        return found


class Linked(NamedTuple):
    """Of each activity: the row of its operator, its surroundings, when it was launched, the call that launched it.

    -1, and NaN of the moment: the trace does not say.
    """

    op: Any
    around: Any
    launched: Any
    call: Any


def linked(columns: Columns, ops: Ops) -> Linked:
    """What launched each activity."""
    np = library()
    _, _, _, correlation, external = columns.ran.arrays()
    launch_of, moments, _, threads, calls = columns.launches.arrays()
    call_row = find(launch_of, correlation)
    has = call_row >= 0
    launched = np.full(len(correlation), np.nan)
    launched[has] = moments[call_row[has]]
    call = np.full(len(correlation), -1, dtype=np.int32)
    call[has] = calls[call_row[has]]
    inside = np.full(len(correlation), -1, dtype=np.int64)
    inside[has] = ops.innermost(threads[call_row[has]], launched[has])
    rest = np.nonzero((inside < 0) & (external >= 0) & (external != correlation))[0]
    inside[rest] = find(ops.external, external[rest])
    around = np.zeros(len(inside), dtype=np.int32)
    around[inside >= 0] = ops.around[inside[inside >= 0]]
    return Linked(ops.operators(inside), around, launched, call)


def find(keys: Any, wanted: Any) -> Any:
    """Of each wanted number, a row of `keys` that holds it, the first; -1 where none does, and for negative ones."""
    np = library()
    if len(keys) == 0:
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    rows = order[at]
    return np.where((keys[rows] == wanted) & (wanted >= 0), rows, -1)


def _name(doing: Doing) -> str:
    return shown(doing.name) if isinstance(doing.name, str) else "(no name)"


@lru_cache(maxsize=65536)
def _phase(name: str) -> Phase | None:
    if _OPTIMIZER.search(name):
        return "optimizer"
    return "backward" if _BACKWARD.search(name) else None
