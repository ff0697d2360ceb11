"""nvbandwidth, as JSON and as text: one point a test, the median of its matrix; latencies are not bandwidths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rooflens.errors import BadFile
from rooflens.readers.figures import number, shown
from rooflens.roofline.observed import BenchPoint, Condition, Observed, Resource
from rooflens.samples import median

TOOL = "nvbandwidth"
_RUNNING = re.compile(r"^\s*Running (\w+)\.?\s*$")
_NOT_RUN = re.compile(r"^\s*(?:\S+:\s*)?(\w+)?.*\b(WAIVED|Waived|ERROR|Error)\b")
_PART = re.compile(r"\b(Read[12]|Write[12]|Total) bandwidth")  # a test of both directions prints a matrix of each
_ONE_OF_BOTH = re.compile(r"_(?:read|write)[12]$")
_MATRIX_ROW = re.compile(r"^\s*\d+(?:\s+(?:[\d.]+|N/A))+\s*$")


def from_json(record: Mapping[str, Any], where: str) -> Observed:
    """The tests of one run. Those that were waived or failed are points without a value, and say so."""
    run = record.get("nvbandwidth")
    cases = run.get("testcases") if isinstance(run, dict) else None
    points = tuple(_case(case) for case in cases if isinstance(case, dict)) if isinstance(cases, list) else ()
    if not points:
        raise BadFile(where, ["its run holds no testcases"])
    return _observed(points, where)


def from_text(text: str, where: str) -> Observed:
    """The tests that the tool prints. Raises BadFile when none has a matrix."""
    points = tuple(_text_cases(text.splitlines()))
    if not points:
        raise BadFile(where, ["no test of nvbandwidth in it has a matrix; did it stop early?"])
    return _observed(points, where)


def _observed(points: tuple[BenchPoint, ...], where: str) -> Observed:
    gone = [f"{point.name}: {point.notes[0]}" for point in points if point.value is None and point.notes]
    return Observed(where, TOOL, points=points, warnings=tuple(gone))


def _case(case: Mapping[str, Any]) -> BenchPoint:
    name, status = shown(case.get("name", "(no name)")), shown(case.get("status", ""))
    matrix = case.get("bandwidth_matrix")
    if not isinstance(matrix, list):
        why = shown(case.get("error") or status or "no matrix")
        return _point(name, shown(case.get("bandwidth_description", "")), [], f"not measured: {why.lower()}")
    return _point(name, shown(case.get("bandwidth_description", "")), matrix)


def _text_cases(lines: Sequence[str]) -> Iterator[BenchPoint]:
    name, description, said = "", "", ""
    rows: list[list[str]] = []
    for line in [*lines, "Running end."]:
        running = _RUNNING.match(line)
        if running:
            if name and (rows or said):
                yield _point(name + _part(description), description, rows, said)
            name, description, rows, said = running[1], "", [], ""
        elif "(GB/s)" in line or "(ns)" in line:
            if name and rows:
                yield _point(name + _part(description), description, rows)
                rows = []
            description = line.strip()
        elif _MATRIX_ROW.match(line) and description and ("." in line or "N/A" in line):  # whole numbers: the header
            rows.append(line.split()[1:])
        elif not rows and (gone := _NOT_RUN.match(line)):
            said = f"not measured: {gone[2].lower()}"


def _part(description: str) -> str:
    """What JSON adds to the name of a test for this matrix."""
    part = _PART.search(description)
    return f"_{part[1].lower()}" if part else ""


def _point(name: str, description: str, matrix: Sequence[Any], why: str = "") -> BenchPoint:
    latency = "latency" in name or "(ns)" in description
    cells = list(_cells(matrix, square="device_to_device" in name or "GPU(row)" in description))
    factor, metric = (1e-9, "latency_s") if latency else (1e9, "bytes_per_s")
    both = "bidirectional" in name and not _ONE_OF_BOTH.search(name)
    conditions: dict[str, Condition] = {"cells": len(cells), "direction": "both" if both else "one"}
    if cells:
        conditions |= {"least": min(cells) * factor, "most": max(cells) * factor}
    value = median(cells) * factor if cells else None
    means = description or ("latency" if latency else "bandwidth of one copy")
    notes = (why,) if why and value is None else () if value is not None else ("no cell holds a number",)
    return BenchPoint(TOOL, name, metric, value, means, None if latency else _resource(name), None, conditions, notes)


def _resource(name: str) -> Resource:
    if "local" in name:
        return "memory"
    return "link" if "device_to_device" in name or "multinode" in name else "host link"


def _cells(matrix: Sequence[Any], *, square: bool) -> Iterator[float]:
    """The numbers of a matrix; of one between devices, the diagonal left out."""
    for r, row in enumerate(matrix):
        for c, cell in enumerate(row if isinstance(row, list) else []):
            found = number(cell)
            diagonal = square and r == c and len(matrix) > 1
            if found is not None and 0 <= found < 1e12 and not diagonal:
                yield found
