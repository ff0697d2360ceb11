"""What a trace holds, gathered while it is read: a few numbers an event in columns, and each distinct text once.

Bounds: past MOST_KINDS distinct launches or operators, further ones lose
their detail (sizes, shapes), and past twice as many they are gathered under one name; `folded` says so.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from marshal import dumps, loads
from typing import Any, NamedTuple

from rooflens.arrays import library

LATEST = 1e18  # microseconds; nothing begins later
LONGEST = 1e14
MOST_KINDS = 150_000
OTHERS = "(others: too many distinct names)"


class Kind(NamedTuple):
    """What distinguishes launches on a device. what: kernel, collective, or what is copied or filled."""

    what: str
    name: str
    device: int | None
    stream: int | None
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int | None = None
    shared_bytes: int | None = None
    graph: bool = False
    message: tuple[Any, ...] | None = None

    def plainer(self, name: str) -> Kind:
        """Without detail, under this name."""
        return Kind(self.what, name, self.device, self.stream, graph=self.graph)


class Doing(NamedTuple):
    """What distinguishes what the host does. what: op, span (an annotation) or module. The rest is as the file says."""

    what: str
    name: Any
    shapes: Any = None
    types: Any = None
    values: Any = None


class Interned:
    """Numbers for distinct values, in the order in which they came."""

    def __init__(self) -> None:
        self.of: dict[Hashable, int] = {}
        self.folded = False

    def __call__(self, key: Hashable) -> int:
        """The number of this value."""
        found = self.of.get(key)
        if found is None:
            found = self.of[key] = len(self.of)
        return found

    def values(self) -> list[Any]:
        """The values by number."""
        return list(self.of)


class Table:
    """Columns of numbers that grow by rows."""

    def __init__(self, *codes: str) -> None:
        self.columns = [array(code) for code in codes]

    def __len__(self) -> int:
        return len(self.columns[0])

    def extend(self, rows: Sequence[tuple[Any, ...]]) -> int:
        """Adds rows; those that hold anything but numbers are left out, and how many is said."""
        if not rows:
            return 0
        size = len(self)
        try:
            for column, values in zip(self.columns, zip(*rows, strict=True), strict=True):
                column.extend(values)
        except (TypeError, ValueError, OverflowError):
            for column in self.columns:
                del column[size:]
            if len(rows) == 1:
                return 1
            return sum(self.extend([row]) for row in rows)
        return 0

    def arrays(self) -> list[Any]:
        """The columns for numpy, without copying them."""
        np = library()
        return [np.frombuffer(column, dtype=_NUMPY[column.typecode]) for column in self.columns]


_NUMPY = {"d": "f8", "i": "i4", "q": "i8"}


class Columns:
    """Activities of devices, launches by the host, operators; one row each.

    ran: start, time, kind, correlation, external (-1: not said). launches: correlation, start, time, thread, call (all
    calls of a driver; the correlation of those that start nothing is -1). ops: start, time, thread, doing, external.
    Starts and times are microseconds. doings are marshalled.
    """

    def __init__(self) -> None:
        self.kinds, self.doings, self.threads, self.calls = Interned(), Interned(), Interned(), Interned()
        self.ran, self.launches, self.ops = Table(*"ddiqq"), Table(*"qddii"), Table(*"ddiiq")
        self.copied: dict[int, float] = {}
        self.folded = False

    def kind_of(self, kind: Kind) -> int:
        """The number of this kind of launch; of a plainer one when there are too many."""
        number = self.kinds.of.get(kind)
        if number is not None:
            return number
        if len(self.kinds.of) >= MOST_KINDS:
            self.folded = True
            kind = kind.plainer(kind.name if len(self.kinds.of) < 2 * MOST_KINDS else OTHERS)
        return self.kinds(kind)

    def call_of(self, name: str) -> int:
        """The number of a call of the host."""
        return self.calls(name if len(self.calls.of) < MOST_KINDS else OTHERS)

    def doing_of(self, key: bytes) -> int:
        """The number of what the host does; without shapes when there are too many kinds."""
        of = self.doings.of
        if key not in of and len(of) >= MOST_KINDS:
            self.folded = True
            what, name, *_ = loads(key)  # noqa: S302 - our own bytes
            key = dumps((what, name if len(of) < 2 * MOST_KINDS else OTHERS), 2)
        return self.doings(key)

    def settled(self) -> int:
        """Leaves out rows whose times are none, lets times count from the first one, and says how many it left out."""
        np = library()
        gone = 0
        for table, at, long in ((self.ran, 0, 1), (self.launches, 1, 2), (self.ops, 0, 1)):
            columns = table.arrays()
            good = np.abs(columns[at]) < LATEST  # NaN is no less
            good &= (columns[long] >= 0) & (columns[long] < LONGEST)
            if not good.all():
                gone += int((~good).sum())
                kept = zip(table.columns, columns, strict=True)
                table.columns = [array(own.typecode, column[good].tobytes()) for own, column in kept]
        starts = [self.ran.arrays()[0], self.launches.arrays()[1], self.ops.arrays()[0]]
        first = min((float(column.min()) for column in starts if len(column)), default=0.0)
        for column in starts:
            np.subtract(column, first, out=column)
        return gone

    def handed(self) -> tuple[dict[str, Any], list[memoryview]]:
        """All of it in plain types, and the columns as they lie in memory."""
        plain = {
            "kinds": [tuple(kind) for kind in self.kinds.values()],
            "doings": self.doings.values(),
            "threads": self.threads.values(),
            "calls": self.calls.values(),
            "copied": self.copied,
            "folded": self.folded,
        }
        return plain, [memoryview(column).cast("B") for table in self._tables() for column in table.columns]

    def merge(self, found: dict[str, Any], parts: Sequence[bytes]) -> None:
        """Adds what another process handed over."""
        np = library()
        renamed = {
            "kind": [self.kind_of(Kind(*kind)) for kind in found["kinds"]],
            "doing": [self.doing_of(doing) for doing in found["doings"]],
            "thread": [self.threads(thread) for thread in found["threads"]],
            "call": [self.call_of(call) for call in found["calls"]],
        }
        self.folded = self.folded or found["folded"]
        for number, moved in found["copied"].items():
            kind = renamed["kind"][number]
            self.copied[kind] = self.copied.get(kind, 0.0) + moved
        places = [
            None,
            None,
            "kind",
            None,
            None,
            None,
            None,
            None,
            "thread",
            "call",
            None,
            None,
            "thread",
            "doing",
            None,
        ]
        columns = [column for table in self._tables() for column in table.columns]
        for column, part, place in zip(columns, parts, places, strict=True):
            if place is None:
                column.frombytes(part)
            elif part:
                column.frombytes(np.array(renamed[place], dtype="i4")[np.frombuffer(part, dtype="i4")].tobytes())

    def _tables(self) -> tuple[Table, Table, Table]:
        return self.ran, self.launches, self.ops
