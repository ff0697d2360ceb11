"""nccl-tests and rccl-tests: bus bandwidth by size, in and out of place; the ceiling is the plateau of large sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rooflens.errors import BadFile
from rooflens.readers.bus import bus_factor, operation
from rooflens.readers.figures import finite, whole
from rooflens.records import record
from rooflens.roofline.observed import BenchPoint, Condition, Observed
from rooflens.samples import median

TOOL = "nccl-tests"
_ROW = re.compile(r"^\s*\d+\s+\d+\s+[a-z]\w*\s")
_TAG = re.compile(  # what mpirun, srun, containers and their logs put before each line
    r"^(?:\d{4}-\d\d-\d\d[T ][\d:.,]{8,20}Z?[ \t]+)?(?:\[\d+,\d+\]<\w+>:? ?|\d{1,5}: )?", re.MULTILINE
)
_HEADER = re.compile(r"#.*\balgbw\b.*\bbusbw\b")
_BELOW = re.compile(r"\s*#\s*(Out of bounds|Avg bus|Collective test concluded|Errors with)")
_MEANS = "bus bandwidth: bytes over the busiest link in one direction, from the time of the whole collective"


@record
class Line:
    """One size, in or out of place."""

    size_bytes: float
    dtype: str
    in_place: bool
    time_s: float
    algorithm_bytes_per_s: float
    bus_bytes_per_s: float


def from_text(text: str, where: str) -> Observed:
    """One point a size and place, and first the plateau. Raises BadFile when no line holds a figure."""
    points: list[BenchPoint] = []
    warnings: list[str] = []
    for run in _runs(_TAG.sub("", text)):
        lines = [line for row in run.splitlines() if _ROW.match(row) for line in _lines(row.split())]
        if lines:
            found, doubts = _run(run, lines)
            points += found
            warnings += doubts
    if not points:
        raise BadFile(where, ["no line of it holds a size with its bandwidth; did the test stop early?"])
    return Observed(where, TOOL, points=tuple(points), warnings=tuple(warnings))


def _runs(text: str) -> Iterable[str]:
    """Of a log with several tests, each with what stands above its table and below it."""
    run: list[str] = []
    rows = last = 0  # rows so far; where what is said of this table ends
    for line in text.splitlines():
        if rows and _HEADER.search(line):
            yield "\n".join(run[:last])
            run, rows = run[last:], 0
        run.append(line)
        if _ROW.match(line):
            rows += 1
        if _ROW.match(line) or _BELOW.match(line):
            last = len(run)
    yield "\n".join(run)


def _run(text: str, lines: list[Line]) -> tuple[list[BenchPoint], list[str]]:
    """The plateau of a test and its lines."""
    named, ranks = _operation(text, lines)
    shared: dict[str, Condition] = {"operation": named, **({"ranks": ranks} if ranks is not None else {})}
    points = [_point(line, f"{named} {line.size_bytes:g} B", shared) for line in lines]
    largest = max(line.size_bytes for line in lines)
    best = max((line for line in lines if line.size_bytes == largest), key=lambda line: line.bus_bytes_per_s)
    note = f"the largest size, {largest:g} B"
    plateau = _point(best, "plateau", shared, note)
    return [plateau, *points], list(_warnings(text, best))


def _lines(cells: list[str]) -> Iterable[Line]:
    """The figures stand in one or two groups of four at the end: time, algorithm, bus bandwidth, wrong values."""
    size = finite(cells[0])
    groups = ((False, -8), (True, -4)) if len(cells) >= 11 else ((False, -4),) if len(cells) >= 8 else ()
    for place, at in groups:
        time, algorithm, bus = (finite(cell) for cell in cells[at:][:3])
        if size is not None and time is not None and algorithm is not None and bus is not None:
            yield Line(size, cells[2], place, time * 1e-6, algorithm * 1e9, bus * 1e9)


def _operation(text: str, lines: list[Line]) -> tuple[str, int | None]:
    """Which collective of how many ranks: by name where it is written, else by how the bus figure was made."""
    written = re.search(r"(\w+?)_perf(?:_mpi)?\b", text)
    listed = len(re.findall(r"^#\s+Rank\s+\d+", text, re.MULTILINE)) or None
    each = re.search(r"nThread (\d{1,6}) nGpus (\d{1,6})", text)
    ranks = max(listed or 0, int(each[1]) * int(each[2]) if each else 0) or None
    ratios = [line.bus_bytes_per_s / line.algorithm_bytes_per_s for line in lines if line.algorithm_bytes_per_s > 1e9]
    if not ratios:
        return operation(written[1]) if written else "collective", ranks
    ratio = median(ratios)
    if written:
        return operation(written[1]), _ranks(ratio, operation(written[1])) or ranks
    if ratio > 1.02:
        return "all_reduce", _ranks(ratio, "all_reduce") or ranks
    if ranks is not None and abs(ratio - (bus_factor("all_reduce", ranks) or 0.0)) < 0.02:
        return "all_reduce", ranks
    if ratio < 0.98:
        return "collective", _ranks(ratio, "all_gather") or ranks
    return "collective", ranks


def _ranks(ratio: float, named: str) -> int | None:
    """The number of ranks that makes this ratio of bus to algorithm bandwidth, where one does."""
    share = ratio / 2 if named == "all_reduce" else ratio
    if named in ("broadcast", "reduce", "send_recv", "collective") or not 0.4 < share < 0.999:
        return None
    ranks = round(1 / (1 - share))
    factor = bus_factor(named, ranks)
    return ranks if factor is not None and abs(factor - ratio) < 0.01 * ratio else None


def _point(line: Line, name: str, shared: dict[str, Condition], *notes: str) -> BenchPoint:
    conditions: dict[str, Condition] = {
        **shared,
        "size_bytes": line.size_bytes,
        "time_s": line.time_s,
        "algorithm_bytes_per_s": line.algorithm_bytes_per_s,
        "in_place": line.in_place,
        "dtype": line.dtype,
    }
    return BenchPoint(TOOL, name, "bus_bytes_per_s", line.bus_bytes_per_s, _MEANS, "link", None, conditions, notes)


def _warnings(text: str, best: Line) -> Iterable[str]:
    average = re.search(r"Avg bus bandwidth\s*:\s*([\d.]+)", text)
    mean = finite(average[1]) if average else None
    if mean is not None and mean * 1e9 < 0.97 * best.bus_bytes_per_s:
        yield (f"its average of {mean:g} GB/s is over all sizes, small ones too; the ceiling is the plateau, "
               f"{best.bus_bytes_per_s / 1e9:.4g} GB/s")  # fmt: skip
    wrong = re.search(r"Out of bounds values\s*:\s*(\d+)", text)
    if wrong and whole(wrong[1]):
        yield f"{wrong[1]} results were wrong: do not trust these figures before the fabric is checked"
