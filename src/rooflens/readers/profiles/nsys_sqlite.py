"""Nsight Systems as a database (`nsys export --type sqlite`): kernels, copies, launches, ranges, the devices."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from marshal import dumps
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rooflens.errors import BadFile
from rooflens.readers.content import Content
from rooflens.readers.figures import finite, whole
from rooflens.readers.profiles.columns import Columns, Kind
from rooflens.readers.profiles.gathered import observed
from rooflens.readers.profiles.kernel_names import said
from rooflens.roofline.observed import Device, Observed

MAGIC = b"SQLite format 3\0"
LARGEST = 16 << 30
_KERNELS, _COPIES, _SETS = (f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET"))
_CALLS, _GRAPHS, _RANGES = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "NVTX_EVENTS"
_COPY = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}  # CUpti_ActivityMemcpyKind
_PROCESS = ~0xFFFFFF  # a global thread is a global process and a thread
_BATCH = 10_000


def database(content: Content) -> Observed:
    """All that the tables hold. Raises BadFile when it is no export of Nsight Systems, or is damaged."""
    with content.unpacked(".sqlite", LARGEST) as path:
        try:
            with closing(_opened(path)) as connection:
                return _Reader(connection, content.where).read()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: what SQLite says quotes bytes of the file
            raise BadFile(content.where, [f"the database cannot be read ({error!s:.100}); export it again"]) from None


def _opened(path: Path) -> sqlite3.Connection:
    """Read only, and nothing in it can run: tables alone are asked for."""
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


class _Reader:
    """One database into columns."""

    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self.connection, self.where = connection, where
        self.columns = Columns()
        self.broken = 0
        self._texts: dict[int, str] = {}
        self._processes: dict[Any, int] = {}
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.tables = {name for (name,) in listed if isinstance(name, str)}

    def read(self) -> Observed:
        """Everything, with what is missing said."""
        if not self.tables & {_KERNELS, _COPIES, _CALLS, _GRAPHS, "TARGET_INFO_GPU"}:
            if any(name.startswith("rocpd") for name in self.tables):
                raise BadFile(self.where, ["a rocpd database is not read; export it: rocprofv3 --output-format csv"])
            raise BadFile(self.where, ["this database is no export of Nsight Systems: it has no CUDA activity"])
        for take in (self._kernels, self._graphs, self._copies, self._calls, self._ranges):
            take()
        devices = tuple(self._devices())
        self.broken += self.columns.settled()
        faults = [f"{self.broken} rows hold no times and were left out"] if self.broken else []
        return observed(self.columns, self.where, "nsys-sqlite", devices=devices, lost=self.broken, faults=faults)

    def _rows(self, table: str, *names: str) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of a table in batches; a column that it lacks is None everywhere."""
        if table not in self.tables:
            return
        has = {row[1] for row in self.connection.execute(f'PRAGMA table_info("{table}")')}
        wanted = ", ".join(f'"{name}"' if name in has else "NULL" for name in names)
        cursor = self.connection.execute(f'SELECT {wanted} FROM "{table}"')  # noqa: S608 - names of our own
        while rows := cursor.fetchmany(_BATCH):
            yield rows

    def _text(self, of: Any) -> str:
        """A text that stands in StringIds, or as such."""
        if not isinstance(of, int):
            return str(of)[:4000] if of is not None else "(no name)"
        found = self._texts.get(of)
        if found is None:
            row = self.connection.execute("SELECT value FROM StringIds WHERE id = ?", (of,)).fetchone()
            found = str(row[0])[:4000] if row else f"(name {of})"
            if len(self._texts) < 1_000_000:
                self._texts[of] = found
        return found

    def _correlation(self, process: Any, number: Any) -> int:
        """A launch's number, told apart by process; -1 where not said."""
        if type(number) is not int or number < 0 or number >= 2**40:
            return -1
        key = process & _PROCESS if type(process) is int else None
        return self._processes.setdefault(key, len(self._processes)) * 2**40 + number

    def _ran(self, rows: list[tuple[Any, Any, int, Any, Any]]) -> None:
        """Start and end in nanoseconds, kind, process, correlation."""
        try:
            kept = [(a / 1e3, (b - a) / 1e3, kind, self._correlation(p, c), -1) for a, b, kind, p, c in rows]
        except (TypeError, OverflowError):
            kept = [
                (a / 1e3, (b - a) / 1e3, kind, self._correlation(p, c), -1)
                for a, b, kind, p, c in rows
                if type(a) in (int, float) and type(b) in (int, float) and abs(a) < 1e21 and abs(b) < 1e21
            ]
            self.broken += len(rows) - len(kept)
        self.broken += self.columns.ran.extend(kept)

    def _kernels(self) -> None:
        names = ("start", "end", "globalPid", "correlationId", "demangledName", "shortName", "deviceId", "streamId",
                 "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "dynamicSharedMemory",
                 "graphNodeId")  # fmt: skip
        numbers: dict[tuple[Any, ...], int] = {}
        for batch in self._rows(_KERNELS, *names):
            ran = []
            for begin, end, process, correlation, *launch in batch:
                key = tuple(launch)
                if key not in numbers:
                    numbers[key] = self.columns.kind_of(self._kind(key))
                ran.append((begin, end, numbers[key], process, correlation))
            self._ran(ran)
            if len(numbers) > 1_000_000:
                numbers.clear()

    def _kind(self, key: tuple[Any, ...]) -> Kind:
        long, short, device, stream, *sizes, registers, shared, node = key
        name = self._text(long if long is not None else short)
        what = "collective" if said(name).family == "collective" else "kernel"
        grid, block = (tuple(whole(n) or 0 for n in part) for part in (sizes[:3], sizes[3:]))
        return Kind(
            what, name, whole(device), whole(stream), grid, block, whole(registers), whole(shared), node is not None
        )

    def _graphs(self) -> None:
        """Graphs that were traced as a whole: one activity each."""
        for batch in self._rows(
            _GRAPHS, "start", "end", "globalPid", "correlationId", "graphId", "deviceId", "streamId"
        ):
            self._ran([
                (a, b, self.columns.kind_of(
                    Kind("kernel", f"(graph {graph}, not taken apart)", whole(device), whole(stream), graph=True)
                ), process, correlation)
                for a, b, process, correlation, graph, device, stream in batch
            ])  # fmt: skip

    def _copies(self) -> None:
        for table in (_COPIES, _SETS):
            names = ("start", "end", "globalPid", "correlationId", "copyKind", "deviceId", "streamId", "bytes")
            for batch in self._rows(table, *names):
                ran = []
                for a, b, process, correlation, copy, device, stream, moved in batch:
                    what = "memset" if table == _SETS else _COPY.get(copy, "copy")
                    kind = self.columns.kind_of(Kind(what, what, whole(device), whole(stream)))
                    size = finite(moved)
                    if size is not None:
                        self.columns.copied[kind] = self.columns.copied.get(kind, 0.0) + size
                    ran.append((a, b, kind, process, correlation))
                self._ran(ran)

    def _calls(self) -> None:
        for batch in self._rows(_CALLS, "start", "end", "globalTid", "correlationId", "nameId"):
            launches = []
            for begin, end, thread, correlation, name in batch:
                if type(begin) is not int or type(end) is not int:
                    self.broken += 1
                    continue
                call = self.columns.call_of(self._text(name).partition("_v")[0])
                number = self._correlation(thread, correlation)
                launches.append((number, begin / 1e3, (end - begin) / 1e3, self.columns.threads(thread), call))
            self.broken += self.columns.launches.extend(launches)

    def _ranges(self) -> None:
        """Ranges that a person named, as annotations of the thread they were pushed on."""
        for batch in self._rows(_RANGES, "start", "end", "globalTid", "text", "textId"):
            ops = []
            for begin, end, thread, text, number in batch:
                if type(begin) is int and type(end) is int:
                    name = self._text(text if text is not None else number)
                    doing = self.columns.doing_of(dumps(("span", name[:400]), 2))
                    ops.append((begin / 1e3, (end - begin) / 1e3, self.columns.threads(thread), doing, -1))
            self.broken += self.columns.ops.extend(ops)

    def _devices(self) -> Iterator[Device]:
        names = ("id", "name", "computeMajor", "computeMinor", "smCount", "totalMemory", "memoryBandwidth", "clockRate")
        for batch in self._rows("TARGET_INFO_GPU", *names):
            for number, name, major, minor, units, memory, bandwidth, clock in batch:
                capability = f"{major}.{minor}" if major is not None and minor is not None else None
                yield Device(
                    str(name)[:200] if name is not None else None,
                    whole(number),
                    capability,
                    whole(units),
                    finite(memory),
                    finite(bandwidth),
                    finite(clock),
                )
