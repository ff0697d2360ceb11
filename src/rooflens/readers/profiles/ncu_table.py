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
from rooflens.readers.figures import number, unit, whole
from rooflens.records import field, record

_PCT = ".avg.pct_of_peak_sustained_elapsed"
# Labels of the details page, present and past, with the unit that tells two of one label apart.
LABELS: dict[tuple[str, str], str] = {
    ("duration", "s"): "gpu__time_duration.sum",
    ("elapsed cycles", "cycle"): "sm__cycles_elapsed.max",
    ("sm frequency", "Hz"): "sm__cycles_elapsed.avg.per_second",
    ("dram frequency", "Hz"): "dram__cycles_elapsed.avg.per_second",
    ("compute (sm) throughput", "1"): "sm__throughput" + _PCT,
    ("compute (sm) [%]", "1"): "sm__throughput" + _PCT,
    ("sm throughput", "1"): "sm__throughput" + _PCT,
    ("sm [%]", "1"): "sm__throughput" + _PCT,
    ("sol sm", "1"): "sm__throughput" + _PCT,
    ("memory throughput", "1"): "gpu__compute_memory_throughput" + _PCT,
    ("memory [%]", "1"): "gpu__compute_memory_throughput" + _PCT,
    ("sol memory", "1"): "gpu__compute_memory_throughput" + _PCT,
    ("dram throughput", "1"): "gpu__dram_throughput" + _PCT,
    ("sol dram", "1"): "gpu__dram_throughput" + _PCT,
    ("sol fb", "1"): "gpu__dram_throughput" + _PCT,
    ("l2 cache throughput", "1"): "lts__throughput" + _PCT,
    ("sol l2", "1"): "lts__throughput" + _PCT,
    ("l1/tex cache throughput", "1"): "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ("sol l1/tex cache", "1"): "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ("sol tex", "1"): "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ("memory throughput", "B/s"): "dram__bytes.sum.per_second",
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


def _long(header: list[str], table: Iterator[list[str]]) -> Iterator[Row]:
    at = {name: i for i, name in enumerate(header)}
    value_at = at.get("Metric Value", at.get("Average"))
    told_by = [at[name] for name in ("ID", "Process ID", "Kernel Name", "Block Size", "Grid Size") if name in at]
    facts_of = [(name, i) for name, i in at.items() if i < at.get("Section Name", at["Metric Name"])]
    last: tuple[str, ...] | None = None
    facts: dict[str, str] = {}
    metrics: dict[str, float] = {}
    texts: dict[str, str] = {}
    for cells in table:
        if len(cells) < len(header) - 6 or value_at is None or value_at >= len(cells) or _is_said(cells):
            continue
        key = tuple(cells[i] for i in told_by)
        if key != last and last is not None:
            yield Row(facts, metrics, _calls(facts), texts)
            metrics, texts = {}, {}
        if key != last:
            last, facts = key, {name: cells[i] for name, i in facts_of}
        section = cells[at["Section Name"]] if "Section Name" in at else ""
        _put(metrics, texts, cells[at["Metric Name"]], cells[at["Metric Unit"]], cells[value_at], section)
    if last is not None:
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
        metrics.setdefault(name, value * factor)


def _wide(header: list[str], table: Iterator[list[str]]) -> Iterator[Row]:
    first_metric = next((i for i, name in enumerate(header) if "__" in name), len(header))
    key = next((i for i, name in enumerate(header) if name == "ID"), 0)
    units: list[tuple[float, str]] = [(1.0, "")] * len(header)
    for number_of_row, cells in enumerate(table):
        if len(cells) < first_metric or _is_said(cells):
            continue
        if number_of_row == 0 and not cells[key].strip():
            units = [unit(cell) for cell in cells] + units[len(cells) :]
            continue
        yield _wide_row(header, units, cells, first_metric)


def _wide_row(header: list[str], units: list[tuple[float, str]], cells: list[str], first_metric: int) -> Row:
    facts = dict(zip(header[:first_metric], cells, strict=False))
    metrics: dict[str, float] = {}
    texts: dict[str, str] = {}
    columns = zip(header, units, cells, strict=False)
    for name, (factor, plain), cell in itertools.islice(columns, first_metric, None):
        value = number(cell)
        if value is None:
            if cell:
                texts.setdefault(name, cell)
            continue
        metrics.setdefault(name, value * factor if plain else value * _base(name))
    return Row(facts, metrics, _calls(facts), texts)


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
