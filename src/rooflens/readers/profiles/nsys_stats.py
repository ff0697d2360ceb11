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
    ("HtoD", "host-to-device"),
    ("DtoH", "device-to-host"),
    ("DtoD", "device-to-device"),
    ("PtoP", "peer-to-peer"),
    ("HtoH", "host-to-host"),
    ("memset", "memset"),
)
_UNCOUNTED = "a summary of Nsight Systems holds times alone: collect counters with ncu, or shapes with a PyTorch trace"


def is_header(line: str) -> bool:
    """Whether this line is the header of one of its tables."""
    plain = line.replace('"', "")
    times = re.search(r"\b(Total Time|Start|Total|Time) ?\((ns|us|ms|s|sec|%|[KMG]i?B|B)\)", plain)
    return bool(times) and bool(re.search(r"(^|[,\s])(Name|Operation|Range)\s*$", plain))


def stats(lines: Iterable[str], where: str) -> Observed:
    """Kernels, copies and calls of all tables in the file. Raises BadFile when there is none that is known."""
    found = _Found()
    for _, cells in tables(lines, where, is_header):
        found.take(_si(cells))
    if not found.any():
        raise BadFile(where, ["its tables hold no kernels, copies or calls"])
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
        self.calls: list[HostOp] = []
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
            self._ran(name, row)
        elif "range" in row:
            self.spans.append(Span(name, whole(row.get("instances")) or 1, _number(row, "total time") or 0.0))
        elif "num calls" in row:
            total = _number(row, "total time") or 0.0
            self.calls.append(HostOp(name, whole(row.get("num calls")) or 0, total, total))
        elif name.startswith("[CUDA mem") or "count" in row or "operations" in row:
            self._copy(name, row)
        elif "instances" in row:
            self.kernels.append(_kernel(name, row))

    def _copy(self, name: str, row: Mapping[str, object]) -> None:
        what = _what(name)
        before = self.copies.get(what) or Copy(what, 0)
        calls = next(filter(None, (whole(row.get(key)) for key in ("count", "instances", "operations"))), before.calls)
        moved, time = _number(row, "total"), _number(row, "total time")
        self.copies[what] = replace(
            before,
            calls=max(calls, before.calls),
            bytes=before.bytes if moved is None else (before.bytes or 0.0) + moved,
            time_s=before.time_s if time is None else (before.time_s or 0.0) + time,
        )

    def _ran(self, name: str, row: Mapping[str, object]) -> None:
        columns = self.trace
        device = re.search(r"\((\d+)\)\s*$", str(row.get("device") or ""))
        place = int(device[1]) if device else whole(row.get("device"))
        stream = whole(row.get("strm"))
        if name.startswith("[CUDA mem"):
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
        return replace(made, host_calls=tuple(self.calls), spans=tuple(self.spans))

    def summed(self, where: str) -> Observed:
        """Summaries; the most time first."""
        kernels = tuple(sorted(self.kernels, key=lambda kernel: -(kernel.time_s or 0.0)))
        warnings = (f"FLOPs and bytes are unavailable: {_UNCOUNTED}",) if kernels else ()
        return Observed(where, FORM, kernels, tuple(self.copies.values()), host_calls=tuple(self.calls),
                        spans=tuple(self.spans), warnings=warnings)  # fmt: skip


def _number(row: Mapping[str, object], name: str) -> float | None:
    found = row.get(name)
    return found if isinstance(found, float) else None


def _what(name: str) -> str:
    plain = name.lower().replace(" ", "-")
    return next((kind for kind, words in _KINDS if words in plain), "copy")


def _kernel(name: str, row: Mapping[str, object]) -> Kernel:
    """A line of a summary. The total is what counts: it is exact where the average is rounded."""
    calls = whole(row.get("instances")) or 0
    total, average = _number(row, "total time"), _number(row, "avg") or _number(row, "average")
    named = said(name)
    sizes = [tuple(int(n) for n in re.findall(r"\d+", str(row.get(key) or ""))) for key in ("gridxyz", "blockxyz")]
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
