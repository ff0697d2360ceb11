"""rocprof in CSV, versions 1, 2 and 3: traces, statistics, counters in columns or in rows; and the tables made of them.

Counters as AMD defines them: an instruction of a wave works on all its lanes (fma 2 FLOPs); MFMA counters are in units
of 512; requests to memory are 64 bytes, of which some are said to be 32 or 128. FETCH_SIZE and WRITE_SIZE are KiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rooflens.errors import BadFile
from rooflens.readers.figures import finite, whole
from rooflens.readers.profiles import rocm_counters
from rooflens.readers.profiles.columns import Columns, Kind
from rooflens.readers.profiles.gathered import observed
from rooflens.readers.profiles.kernel_names import said
from rooflens.readers.tables import tables
from rooflens.records import replace
from rooflens.roofline.observed import Copy, HostOp, Kernel, Launch, Observed

FORM = "rocprof"
MOST_DISPATCHES = 100_000
_NAMES = ("Kernel_Name", "KernelName", "Kernel Name", "kernel", "Name", "Function")
_BEGINS = ("Start_Timestamp", "BeginNs", "Start_Timestamp(ns)", "start_timestamp", "Start")
_ENDS = ("End_Timestamp", "EndNs", "End_Timestamp(ns)", "end_timestamp", "End")
_DEVICES = ("GPU_ID", "gpu-id", "Agent_Id", "Device_Id", "GPU_Id")
_QUEUES = ("Stream_Id", "Queue_ID", "Queue_Id", "queue-id")
_CALL = re.compile(r"^(hip|hsa_|__hip|rccl|roctx|nccl[A-Z])[A-Za-z_]*$")
_COPIES = {"HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH", "DEVICE_TO_DEVICE": "DtoD", "HOST_TO_HOST": "HtoH"}
_COPY = re.compile(r"(?:MEMORY_COPY_|Copy)(\w+)")
_DOMAIN = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")  # a sum over all calls of an interface, or all dispatches
_TOTALS = ("TotalDurationNs", "Sum(ns)")


def is_header(line: str) -> bool:
    """Whether this line is the header of one of its tables."""
    names = {name.strip() for name in line.replace('"', "").split(",")}
    if names & set(_TOTALS) and names & {"Calls", "Count"} and names & set(_NAMES):
        return True
    if {"KernelName", "gpu-id"} <= names:
        return True
    named = names & {"Kernel_Name", "KernelName", "Direction", "Function"}
    times = names & {*_BEGINS, "DurationNs", "Counter_Name"}
    return bool(named and (times or any(rocm_counters.is_counter(name) for name in names)))


def csv(lines: Iterable[str], where: str) -> Observed:
    """Kernels with their counters where some were collected, else with their place in time; copies and calls.

    Raises BadFile when no row says a kernel, a copy or a call.
    """
    found = _Found()
    for header, row in tables(lines, where, is_header):
        found.take(header, row)
    if found.counted:
        return found.with_counters(where)
    if len(found.columns.ran) or len(found.columns.launches):
        return found.traced(where)
    if found.kernels or found.calls or found.copies:
        kernels = tuple(sorted(found.kernels, key=lambda kernel: -(kernel.time_s or 0.0)))
        return Observed(where, FORM, kernels, tuple(found.copies.values()), host_calls=tuple(found.calls))
    why = "its tables hold no kernels, copies or calls"
    raise BadFile(where, [f"{why}, sums of all of them alone; name the file *_kernel_stats.csv" if found.sums else why])


def _first(row: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((row[name] for name in names if row.get(name)), None)


class _Found:
    """What the tables said so far. counted: rows with counters, by dispatch."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.kernels: list[Kernel] = []
        self.calls: list[HostOp] = []
        self.copies: dict[str, Copy] = {}
        self.sums = 0
        self.counted: dict[tuple[str, ...], tuple[Kernel, int, dict[str, float]]] = {}
        self.beyond = False
        self.broken = 0

    def take(self, header: tuple[str, ...], row: Mapping[str, str]) -> None:
        """Takes in a row of any table."""
        if any(name in row for name in _TOTALS):
            self._summary(row)
        elif "Counter_Name" in row:
            self._counter(row, row["Counter_Name"], row.get("Counter_Value", ""))
        elif "Direction" in row:
            self._copy(row)
        elif "Function" in row:
            self._call(row)
        else:
            counters = [name for name in header if rocm_counters.is_counter(name)]
            for name in counters:
                self._counter(row, name, row.get(name, ""))
            if not counters and any(name in row for name in (*_BEGINS, "DurationNs")):
                self._kernel(row)
            elif not counters:
                self._counter(row, "", "")

    def _counter(self, row: Mapping[str, str], name: str, value: str) -> None:
        order = (row.get(key, "") for key in ("Dispatch_Id", "Dispatch_ID", "Index", "Process_Id", "PID", "pid"))
        key = (*order, _first(row, _NAMES) or "")
        dispatch = self.counted.get(key)
        if dispatch is None:
            if len(self.counted) >= MOST_DISPATCHES:
                self.beyond = True
                return
            dispatch = self.counted[key] = self._dispatch(row), _lanes(row), {}
        found = finite(value)
        if found is not None:
            counters = dispatch[2]
            counters[name.strip()] = counters.get(name.strip(), 0.0) + found  # one row a unit that counts

    def _dispatch(self, row: Mapping[str, str]) -> Kernel:
        """One launch, nothing counted yet."""
        said_s = finite(row.get("DurationNs"))
        timed = said_s is None and _first(row, _BEGINS) is not None
        span = self._span(row) if timed else None
        time_s = said_s * 1e-9 if said_s is not None else span[1] * 1e-6 if span else None
        name, queue = _first(row, _NAMES) or "(no name)", _number(_first(row, _QUEUES))
        device, launch = _number(_first(row, _DEVICES)), Launch(*_sizes(row))
        missing = {} if time_s is not None else {"time_s": "not in the file: collect a kernel trace too"}
        return Kernel(name, time_s=time_s, device=device, stream=queue, launch=launch, missing=missing)

    def _span(self, row: Mapping[str, str]) -> tuple[float, float] | None:
        """Start and duration in microseconds."""
        begin, end = finite(_first(row, _BEGINS)), finite(_first(row, _ENDS))
        if begin is None or end is None or end < begin:
            self.broken += 1
            return None
        first, last = whole(_first(row, _BEGINS)), whole(_first(row, _ENDS))
        exact = (last - first) if first is not None and last is not None else end - begin
        return begin / 1e3, exact / 1e3

    def _kernel(self, row: Mapping[str, str]) -> None:
        name = _first(row, _NAMES) or "(no name)"
        what = "collective" if said(name).family == "collective" else "kernel"
        kind = Kind(what, name, _number(_first(row, _DEVICES)), _number(_first(row, _QUEUES)), *_sizes(row))
        self._ran(row, kind)

    def _copy(self, row: Mapping[str, str]) -> None:
        what = _direction(row["Direction"].removeprefix("MEMORY_COPY_"))
        self._ran(row, Kind(what, what, _number(row.get("Destination_Agent_Id")), _number(row.get("Stream_Id"))))

    def _ran(self, row: Mapping[str, str], kind: Kind) -> None:
        span = self._span(row)
        if span is not None:
            number = whole(row.get("Correlation_Id", row.get("Correlation_ID"))) or -1
            self.columns.ran.extend([(*span, self.columns.kind_of(kind), number, -1)])

    def _call(self, row: Mapping[str, str]) -> None:
        span = self._span(row)
        if span is not None:
            call = self.columns.call_of(row["Function"])
            thread = self.columns.threads((row.get("Process_Id"), row.get("Thread_Id")))
            starts = re.search(r"launch|memcpy|memset", row["Function"], re.IGNORECASE)
            number = whole(row.get("Correlation_Id")) if starts else None
            self.columns.launches.extend([(-1 if number is None else number, *span, thread, call)])

    def _summary(self, row: Mapping[str, str]) -> None:
        name, calls = _first(row, _NAMES) or "(no name)", whole(_first(row, ("Calls", "Count"))) or 0
        total = finite(_first(row, _TOTALS))
        if total is None:
            self.broken += 1
            return
        if _CALL.match(name):
            self.calls.append(HostOp(name, calls, total * 1e-9, total * 1e-9))
            return
        if copied := _COPY.fullmatch(name):
            self._copied(_direction(copied[1]), calls, total * 1e-9)
            return
        if _DOMAIN.fullmatch(name) and "_" in name:
            self.sums += 1
            return
        shortest, longest = finite(row.get("MinNs")), finite(row.get("MaxNs"))
        named = said(name)
        self.kernels.append(
            Kernel(
                name,
                calls,
                total * 1e-9,
                None if shortest is None else shortest * 1e-9,
                None if longest is None else longest * 1e-9,
                dtype=named.dtype,
                unit=named.unit,
                accumulate=named.accumulate,
                missing=rocm_counters.NOT_COLLECTED,
            )
        )

    def _copied(self, what: str, calls: int, time_s: float) -> None:
        before = self.copies.get(what) or Copy(what, 0, 0.0)
        self.copies[what] = Copy(what, before.calls + calls, (before.time_s or 0.0) + time_s)

    def _faults(self) -> list[str]:
        return [f"{self.broken} rows have no times and were left out"] if self.broken else []

    def traced(self, where: str) -> Observed:
        """Kernels by what they have in common, and the timeline."""
        self.broken += self.columns.settled()
        made = observed(self.columns, where, FORM, lost=self.broken, faults=self._faults())
        kernels = tuple(replace(k, missing={**k.missing, **rocm_counters.NOT_COLLECTED}) for k in made.kernels)
        return replace(made, kernels=kernels)

    def with_counters(self, where: str) -> Observed:
        """One kernel a dispatch."""
        kernels = tuple(rocm_counters.counted(*dispatch) for dispatch in self.counted.values())
        beyond = [f"only the first {MOST_DISPATCHES} dispatches were read"] if self.beyond else []
        return Observed(where, FORM, kernels, warnings=(*self._faults(), *beyond, *rocm_counters.warnings(kernels)))


def _direction(name: str) -> str:
    """`HOST_TO_DEVICE`, or `HostToDevice`."""
    return _COPIES.get(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper(), "copy")


def _lanes(row: Mapping[str, str]) -> int:
    return whole(row.get("wave_size", row.get("Wave_Size"))) or rocm_counters.LANES


def _number(cell: str | None) -> int | None:
    """`4`, or `Agent 4`."""
    found = re.search(r"(\d{1,9})\s*$", cell or "")
    return int(found[1]) if found else None


def _sizes(row: Mapping[str, str]) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    """Grid in work items, workgroup, registers."""
    grid = _three(row, "Grid_Size") or _three(row, "grd") or _three(row, "GRD")
    group = _three(row, "Workgroup_Size") or _three(row, "wgr") or _three(row, "WGR")
    return grid, group, whole(_first(row, ("Arch_VGPR", "VGPR_Count", "vgpr", "arch_vgpr")))


def _three(row: Mapping[str, str], name: str) -> tuple[int, ...]:
    cells = [row.get(f"{name}_{d}") for d in "XYZ"] if f"{name}_X" in row else [row.get(name)]
    return tuple(n for n in map(whole, cells) if n is not None)
