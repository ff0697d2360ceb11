"""BabelStream and STREAM: memory bandwidth by kernel, as text and as CSV; the best of the repetitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rooflens.errors import BadFile
from rooflens.readers.figures import finite, unit
from rooflens.roofline.observed import BenchPoint, Condition, Observed

TOOL = "babelstream"
_READS = {"copy": (1, 1), "mul": (1, 1), "scale": (1, 1), "add": (2, 1), "triad": (2, 1), "dot": (2, 0),
          "nstream": (3, 1), "read": (1, 0), "write": (0, 1)}  # fmt: skip
_MEANS = "arrays read and written, each once, over the best time of the repetitions"
_LINE = re.compile(r"^\s*(Copy|Mul|Scale|Add|Triad|Dot|Nstream|Read|Write):?\s+([\d.]+)((?:\s+[\d.eE+-]+)+)\s*$")
_HEAD = re.compile(r"^\s*Function\s+(?:Best )?(?:Rate )?\(?([KMGT]i?)B(?:ytes)?/s")
_ELEMENTS = re.compile(r"^Array size\s*=\s*(\d{1,15}) \(elements\)", re.MULTILINE)
_EACH = re.compile(r"uses (\d{1,2}) bytes per array element")
_SIZE = re.compile(r"^(Array size|Total size):\s*([\d.]+)\s*([KMGT]i?B)", re.MULTILINE)
_CONDITIONS = (("precision", re.compile(r"^Precision:\s*(\w+)", re.MULTILINE)),
               ("implementation", re.compile(r"^Implementation:\s*(\S+)", re.MULTILINE)),
               ("device", re.compile(r"^Using \w+ device:?\s+(.+?)\s*$", re.MULTILINE)),
               ("times", re.compile(r"^Running kernels (\d+) times", re.MULTILINE)))  # fmt: skip


def from_text(text: str, where: str) -> Observed:
    """One point a kernel. Raises BadFile when none has a figure."""
    points = tuple(_csv(text)) or tuple(_table(text))
    if not points:
        raise BadFile(where, ["no kernel in it has a bandwidth; did the benchmark stop early?"])
    failed = re.search(r"(Validation failed.{0,120}|Solution does not validate|Failed Validation)", text)
    warnings = (f"the benchmark says: {failed[1].strip()}; do not trust these figures",) if failed else ()
    return Observed(where, TOOL, points=points, warnings=warnings)


def _table(text: str) -> Iterator[BenchPoint]:
    """Each table has the unit of its header, and the conditions that stand above it."""
    factor = 2.0**20 if re.search(r"Mi(?:Bytes|B)/s", text) else 1e6
    shared: dict[str, Condition] = {}
    above: list[str] = []
    for line in text.splitlines():
        head, found = _HEAD.match(line), _LINE.match(line)
        if head:
            factor, shared = unit(head[1] + "B")[0], _conditions("\n".join(above)) or shared
            above = []
        elif found:
            shared = shared or _conditions("\n".join(above))
            yield _point(found[1], finite(found[2]), factor, shared)
        else:
            above.append(line)


def _conditions(above: str) -> dict[str, Condition]:
    out: dict[str, Condition] = {key: found[1] for key, look in _CONDITIONS if (found := look.search(above))}
    size = _SIZE.search(above)
    amount = finite(size[2]) if size and size[1] == "Array size" else None
    if size and amount is not None and amount < 2**62:
        out["array_bytes"] = round(amount * unit(size[3])[0])
    elements, each = _ELEMENTS.search(above), _EACH.search(above)
    if elements and each:
        out["array_bytes"] = int(elements[1]) * int(each[1])
    return out


def _csv(text: str) -> Iterator[BenchPoint]:
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if cells[0] in ("function", "phase") and "function" in cells:
            header = cells
        elif header and len(cells) == len(header):
            yield from _csv_row(dict(zip(header, cells, strict=True)))


def _csv_row(row: Mapping[str, str]) -> Iterator[BenchPoint]:
    for key, factor in (("max_mbytes_per_sec", 1e6), ("max_mibytes_per_sec", 2.0**20)):
        if key in row and row["function"].lower() in _READS:
            each, count = finite(row.get("sizeof")), finite(row.get("n_elements"))
            shared: dict[str, Condition] = {"times": row.get("num_times", "")}
            if each is not None and count is not None:
                shared["array_bytes"] = each * count
            yield _point(row["function"], finite(row[key]), factor, shared)


def _point(kernel: str, figure: float | None, factor: float, shared: Mapping[str, Condition]) -> BenchPoint:
    read, written = _READS[kernel.lower()]
    conditions: dict[str, Condition] = {**shared, "arrays_read": read, "arrays_written": written}
    value = None if figure is None else figure * factor
    notes = ("the file says no number",) if value is None else ()
    return BenchPoint(TOOL, kernel.lower(), "bytes_per_s", value, _MEANS, "memory", None, conditions, notes)
