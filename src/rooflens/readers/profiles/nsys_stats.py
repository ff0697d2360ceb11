"""Nsight Systems in text (`nsys stats`): summaries of kernels, copies, calls and ranges, and the trace of the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rooflens.errors import BadFile
from rooflens.readers.figures import finite, unit, whole
from rooflens.readers.profiles.columns import Columns, Kind
from rooflens.readers.profiles.gathered import observed
from rooflens.readers.profiles.kernel_names import said
from rooflens.readers.tables import tables
from rooflens.records import replace
from rooflens.roofline.observed import Copy, HostOp, Kernel, Launch, Observed, Span

FORM = "nsys-stats"
_TITLE = re.compile(r"(?P<name>.*?)\s*\((?P<unit>[^()]*)\)$")
_KINDS = (
    ("HtoD", re.compile("host-to-device|htod")),
    ("DtoH", re.compile("device-to-host|dtoh")),
    ("DtoD", re.compile("device-to-device|dtod")),
    ("PtoP", re.compile("peer-to-peer|ptop")),
    ("HtoH", re.compile("host-to-host|htoh")),
    ("memset", re.compile("memset")),
)
_COPIED = "[CUDA "  # what the tool calls a copy, a fill or a migration begins so
_CALLS = re.compile(r"_*(cu|hip|hsa|nv|nccl)")  # of a driver or a library; calls of the operating system are none
_KIB = re.compile(r"Total[,\s]+Operations[,\s]+Average[,\s].*Operation")  # sizes whose titles have no unit are KiB
_UNCOUNTED = "a summary of Nsight Systems holds times alone: collect counters with ncu, or shapes with a PyTorch trace"


def is_header(line: str) -> bool:
    """Whether this line is the header of one of its tables."""
    plain = line.replace('"', "").strip("| \t")
    if _KIB.fullmatch(plain):
        return True
    times = re.search(r"\b(Total Time|Start|Total|Time) ?\((ns|us|ms|s|sec|%|[KMG]i?B|B)\)", plain)
    return bool(times) and bool(re.search(r"(^|[,\s])(Name|Operation|Range)\s*$", plain))


def stats(lines: Iterable[str], where: str) -> Observed:
    """Kernels, copies and calls of all tables in the file. Raises BadFile when there is none that is known."""
    found = _Found()
    table: tuple[str, ...] = ()
    for header, cells in tables(lines, where, is_header):
        if header is not table:
            table = header
            found.tables += "Instances" in header and header[-1] == "Name"
        found.take(_si(cells))
    if not found.any():
        raise BadFile(
            where, ["its tables hold no kernels, copies or calls of CUDA: export the report cuda_gpu_kern_sum"]
        )
    if len(found.trace.ran):
        return found.traced(where)
    return found.summed(where)


def _si(cells: Mapping[str, str]) -> dict[str, object]:
    """Cells by plain title; those whose title has a unit as numbers in SI units."""
    out: dict[str, object] = {}
    for title, cell in cells.items():
        match = _TITLE.fullmatch(title)
        name = (match["name"] if match else title).strip().lower()
        if match:
            value = finite(cell)
            out[name] = None if value is None else value * unit(match["unit"])[0]
        else:
            out[name] = cell
    return out


class _Found:
    """What the tables said so far."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self.copies: dict[str, Copy] = {}
        self.calls: dict[str, HostOp] = {}
        self.tables = 0  # of kernels
        self.times: dict[tuple[str, bool], int] = {}  # how often each operation was, by tables of times and of sizes
        self.spans: list[Span] = []
        self.trace = Columns()
        self.broken = 0

    def any(self) -> bool:
        """Whether anything was said."""
        return bool(self.kernels or self.copies or self.calls or self.spans or len(self.trace.ran))

    def take(self, row: Mapping[str, object]) -> None:
        """Takes in a row of any table."""
        name = str(row.get("name") or row.get("operation") or row.get("range") or "")
        if "duration" in row and "start" in row:
            if "grdx" in row or "strm" in row:
                self._ran(name, row)
            else:  # a trace of calls
                self._called(name, 1, _number(row, "duration"))
        elif "range" in row:
            self.spans.append(Span(name, whole(row.get("instances")) or 1, _number(row, "total time") or 0.0))
        elif "num calls" in row or row.get("category") == "CUDA_API":
            calls = whole(row.get("num calls", row.get("instances")))
            self._called(name, calls or 0, _number(row, "total time"))
        elif name.startswith(_COPIED) or "count" in row or "operations" in row:
            self._copy(name, row)
        elif "instances" in row:
            self.kernels.append(_kernel(name, row))

    def _called(self, name: str, calls: int, time_s: float | None) -> None:
        if not _CALLS.match(name):
            return
        before = self.calls.get(name) or HostOp(name, 0, 0.0, 0.0)
        total = before.time_s + (time_s or 0.0)
        self.calls[name] = HostOp(name, before.calls + calls, total, total)

    def _copy(self, name: str, row: Mapping[str, object]) -> None:
        """One operation; one table has its times, another its sizes, both how often it was."""
        before = self.copies.get(name) or Copy(_what(name), 0)
        calls = next(filter(None, (whole(row.get(key)) for key in ("count", "instances", "operations"))), 0)
        moved, time = _number(row, "total"), _number(row, "total time")
        if moved is None and (kib := finite(row.get("total"))) is not None:
            moved = kib * 1024
        sort = name, time is None
        self.times[sort] = self.times.get(sort, 0) + calls
        self.copies[name] = replace(
            before,
            calls=max(self.times[sort], before.calls),
            bytes=before.bytes if moved is None else (before.bytes or 0.0) + moved,
            time_s=before.time_s if time is None else (before.time_s or 0.0) + time,
        )

    def _ran(self, name: str, row: Mapping[str, object]) -> None:
        columns = self.trace
        device = re.search(r"\((\d+)\)\s*$", str(row.get("device") or ""))
        place = int(device[1]) if device else whole(row.get("device"))
        stream = whole(row.get("strm"))
        if name.startswith(_COPIED):
            what = _what(name)
            kind = columns.kind_of(Kind(what, what, place, stream))
            columns.copied[kind] = columns.copied.get(kind, 0.0) + (_number(row, "bytes") or 0.0)
        else:
            grid, block = (tuple(whole(row.get(p + d)) or 0 for d in "xyz") for p in ("grd", "blk"))
            what = "collective" if said(name).family == "collective" else "kernel"
            kind = columns.kind_of(Kind(what, name, place, stream, grid, block, whole(row.get("reg/trd"))))
        start, time = _number(row, "start"), _number(row, "duration")
        if start is None or time is None:
            self.broken += 1
        else:
            columns.ran.extend([(start * 1e6, time * 1e6, kind, whole(row.get("corrid")) or -1, -1)])

    def traced(self, where: str) -> Observed:
        """The trace of the GPU, with what other tables said of the host."""
        self.broken += self.trace.settled()
        faults = [f"{self.broken} rows have no times and were left out"] if self.broken else []
        made = observed(self.trace, where, FORM, lost=self.broken, faults=faults)
        return replace(made, host_calls=tuple(self.calls.values()), spans=tuple(self.spans))

    def summed(self, where: str) -> Observed:
        """Summaries; the most time first."""
        kernels = tuple(sorted(self.kernels, key=lambda kernel: -(kernel.time_s or 0.0)))
        warnings: tuple[str, ...] = (f"FLOPs and bytes are unavailable: {_UNCOUNTED}",) if kernels else ()
        if self.tables > 1:
            warnings += (
                f"{self.tables} tables of kernels are in it and were added up: what two of them hold counts twice",
            )
        return Observed(where, FORM, kernels, _by_kind(self.copies.values()), host_calls=tuple(self.calls.values()),
                        spans=tuple(self.spans), warnings=warnings)  # fmt: skip


def _by_kind(copies: Iterable[Copy]) -> tuple[Copy, ...]:
    """Operations that move the same way, together."""
    out: dict[str, Copy] = {}
    for copy in copies:
        before = out.get(copy.what)
        out[copy.what] = copy if before is None else replace(
            before,
            calls=before.calls + copy.calls,
            bytes=_sum(before.bytes, copy.bytes),
            time_s=_sum(before.time_s, copy.time_s),
        )  # fmt: skip
    return tuple(out.values())


def _sum(*parts: float | None) -> float | None:
    there = [part for part in parts if part is not None]
    return sum(there) if there else None


def _number(row: Mapping[str, object], name: str) -> float | None:
    found = row.get(name)
    return found if isinstance(found, float) else None


def _what(name: str) -> str:
    plain = name.lower().replace(" ", "-")
    return next((kind for kind, words in _KINDS if words.search(plain)), "copy")


def _kernel(name: str, row: Mapping[str, object]) -> Kernel:
    """A line of a summary. The total is what counts: it is exact where the average is rounded."""
    calls = whole(row.get("instances")) or 0
    total, average = _number(row, "total time"), _number(row, "avg") or _number(row, "average")
    named = said(name)
    sizes = [tuple(int(n) for n in re.findall(r"\d{1,12}", str(row.get(key) or ""))) for key in ("gridxyz", "blockxyz")]
    return Kernel(
        name,
        calls,
        total if total is not None or average is None else average * calls,
        _number(row, "min") or _number(row, "minimum"),
        _number(row, "max") or _number(row, "maximum"),
        dtype=named.dtype,
        unit=named.unit,
        accumulate=named.accumulate,
        launch=Launch(sizes[0], sizes[1]) if any(sizes) else None,
        missing=dict.fromkeys(("bytes", "flops", "vector_flops"), _UNCOUNTED),
    )
