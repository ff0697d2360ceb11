"""The CSV exports of Nsight Compute as one row a kernel: pages raw and details, long, wide and summary forms.

Metrics have the tool's raw names: what the details page calls by a label ("Duration", "SM Frequency") is translated,
whatever the age of the label. Values are in SI units.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

from rooflens.errors import BadFile
from rooflens.readers.figures import number, quantity, unit, whole
from rooflens.records import field, record

PCT = ".avg.pct_of_peak_sustained_elapsed"
# Labels of the details page, present and past, with the unit that tells two of one label apart.
LABELS: dict[tuple[str, str], str] = {
    ("duration", "s"): "gpu__time_duration.sum",
    ("elapsed cycles", "cycle"): "sm__cycles_elapsed.max",
    ("sm frequency", "Hz"): "sm__cycles_elapsed.avg.per_second",
    ("dram frequency", "Hz"): "dram__cycles_elapsed.avg.per_second",
    ("compute (sm) throughput", "1"): "sm__throughput" + PCT,
    ("compute (sm) [%]", "1"): "sm__throughput" + PCT,
    ("sm throughput", "1"): "sm__throughput" + PCT,
    ("sm [%]", "1"): "sm__throughput" + PCT,
    ("sol sm", "1"): "sm__throughput" + PCT,
    ("memory throughput", "1"): "gpu__compute_memory_throughput" + PCT,
    ("memory [%]", "1"): "gpu__compute_memory_throughput" + PCT,
    ("sol memory", "1"): "gpu__compute_memory_throughput" + PCT,
    ("dram throughput", "1"): "gpu__dram_throughput" + PCT,
    ("sol dram", "1"): "gpu__dram_throughput" + PCT,
    ("sol fb", "1"): "gpu__dram_throughput" + PCT,
    ("l2 cache throughput", "1"): "lts__throughput" + PCT,
    ("sol l2", "1"): "lts__throughput" + PCT,
    ("l1/tex cache throughput", "1"): "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ("sol l1/tex cache", "1"): "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ("sol tex", "1"): "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ("memory throughput", "B/s"): "dram__bytes.sum.per_second",
    ("dram bandwidth", "B/s"): "dram__bytes.sum.per_second",
    **{
        (
            f"predicated-on {op} thread instructions executed per cycle",
            "inst/cycle",
        ): f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed"
        for op in ("dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul", "hfma")
    },
    ("achieved occupancy", "1"): "sm__warps_active.avg.pct_of_peak_sustained_active",
    ("registers per thread", ""): "launch__registers_per_thread",
    ("dynamic shared memory per block", ""): "launch__shared_mem_per_block_dynamic",
    ("static shared memory per block", ""): "launch__shared_mem_per_block_static",
}
_BARE_LABELS = {"registers per thread", "dynamic shared memory per block", "static shared memory per block"}


@record
class Row:
    """One kernel, or all calls of one in a summary. facts: columns that are no metrics; metrics: SI values by name.

    A metric that the file says NaN of is NaN; one that it has no value of is absent.
    """

    facts: Mapping[str, str]
    metrics: Mapping[str, float]
    calls: int = 1
    texts: Mapping[str, str] = field(default_factory=dict)


def rows(lines: Iterable[str], where: str) -> Iterator[Row]:
    """The kernels of an export. `lines` begin with its header. Raises BadFile for what is no such table."""
    table = csv.reader(lines, strict=False)
    try:
        header = [name.strip() for name in next(table)]
        if "Metric Name" in header:
            yield from _long(header, table)
        else:
            yield from _wide(header, table)
    except csv.Error as error:
        raise BadFile(where, [f"line {table.line_num} is no CSV: {error}"]) from None
    except _Shifted as more:
        raise BadFile(where, [f"line {table.line_num} of its table has {more} titles"]) from None


class _Shifted(Exception):
    """A row has more cells than its header has titles, so that nobody knows which number is which."""


def _fits(cells: list[str], titles: int) -> None:
    if any(cells[titles:]):
        raise _Shifted(f"{len(cells)} cells below a header of {titles}")


def _long(header: list[str], table: Iterator[list[str]]) -> Iterator[Row]:
    at = {name: i for i, name in enumerate(header)}
    value_at = at.get("Metric Value", at.get("Average", len(header)))
    told_by = [at[name] for name in ("ID", "Process ID", "Kernel Name", "Block Size", "Grid Size") if name in at]
    least = 1 + max(value_at, at.get("Metric Unit", 0), at["Metric Name"], *told_by)
    facts_of = [(name, i) for name, i in at.items() if i < at.get("Section Name", at["Metric Name"])]
    last: tuple[str, ...] | None = None
    facts: dict[str, str] = {}
    metrics: dict[str, float] = {}
    texts: dict[str, str] = {}
    for cells in table:
        if len(cells) < least or _is_said(cells):
            continue
        if cells[at["Metric Name"]] == "Metric Name":
            last = None if last is None else ("",)  # another table begins: its kernels are others
            continue
        _fits(cells, len(header))
        key = tuple(cells[i] for i in told_by)
        if key != last:
            if metrics or texts:
                yield Row(facts, metrics, _calls(facts), texts)
            last, metrics, texts = key, {}, {}
            facts = {name: cells[i] for name, i in facts_of}
        section, of = (cells[at[what]] if what in at else "" for what in ("Section Name", "Metric Unit"))
        _put(metrics, texts, cells[at["Metric Name"]], of, cells[value_at], section)
    if metrics or texts:
        yield Row(facts, metrics, _calls(facts), texts)


def _calls(facts: Mapping[str, str]) -> int:
    return whole(facts.get("Invocations", "1")) or 1


def _put(metrics: dict[str, float], texts: dict[str, str], name: str, unit_text: str, cell: str, section: str) -> None:
    if not name:
        return  # a rule's row
    factor, plain = unit(unit_text)
    if "__" not in name:
        label = name.strip().lower()
        name = LABELS.get((label, "" if label in _BARE_LABELS else plain), f"{section}: {name}")
    value = number(cell)
    if value is None:
        texts.setdefault(name, cell)
    else:
        metrics.setdefault(name, value * factor if plain else value * _base(name))


def _wide(header: list[str], table: Iterator[list[str]]) -> Iterator[Row]:
    """Rows under a header, units in the first; where tables follow one another, each has its own header and units."""
    page = _Page(header)
    fresh = True
    for cells in table:
        if is_header(",".join(cells)):
            page, fresh = _Page(cells), True
        elif len(cells) >= page.first_metric and not _is_said(cells):
            _fits(cells, len(page.header))
            if fresh and not cells[page.key].strip():
                page.units = [unit(cell) for cell in cells]
            else:
                yield page.row(cells)
            fresh = False


class _Page:
    """The columns of a wide table."""

    def __init__(self, header: list[str]) -> None:
        self.header = [name.strip() for name in header]
        self.first_metric = next((i for i, name in enumerate(header) if "__" in name), len(header))
        self.key = next((i for i, name in enumerate(header) if name == "ID"), 0)
        self.units: list[tuple[float, str]] = []

    def row(self, cells: list[str]) -> Row:
        """One kernel."""
        facts = dict(zip(self.header[: self.first_metric], cells, strict=False))
        metrics: dict[str, float] = {}
        texts: dict[str, str] = {}
        columns = itertools.zip_longest(self.header, self.units, cells)
        for name, of, cell in itertools.islice(columns, self.first_metric, len(self.header)):
            value, plain = _value(cell or "", of or (1.0, ""))
            if value is not None:
                metrics.setdefault(name, value if plain else value * _base(name))
            elif cell:
                texts.setdefault(name, cell)
        return Row(facts, metrics, _calls(facts), texts)


def _value(cell: str, of: tuple[float, str]) -> tuple[float | None, str]:
    """The number of a cell in SI units and its plain unit: its own where it has one, else the column's."""
    value = number(cell)
    return quantity(cell) if value is None else (value * of[0], of[1])


def _base(name: str) -> float:
    """The factor of a metric whose unit the file leaves out: times are nanoseconds, shares are per cent."""
    if "pct_of_peak" in name:
        return 0.01
    return 1e-9 if name.startswith("gpu__time_") else 1.0


def _is_said(cells: list[str]) -> bool:
    return bool(cells) and cells[0].startswith("==")


def is_header(line: str) -> bool:
    """Whether this line is the header of an export."""
    plain = line.lstrip("\ufeff").replace('"', "")
    begins = plain.startswith(("ID,", "Process ID,", "Kernel Name,"))
    return begins and "Kernel Name" in plain and ("__" in plain or "Metric Name" in plain)


def known(metrics: Mapping[str, float], *names: str) -> float | None:
    """The first of these metrics that the file has a value of, NaN among them; None where it has none."""
    return next((metrics[name] for name in names if name in metrics), None)


def plain(value: float | None) -> float | None:
    """A finite number of at least 0, or None."""
    return value if value is not None and math.isfinite(value) and value >= 0 else None
