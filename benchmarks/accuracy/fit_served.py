"""Fits the constants of serving engines on the measured deployments.

python -m benchmarks.accuracy.fit_served [--workers N]   # fits anew and writes the shipped file and the held-out ones
python -m benchmarks.accuracy.fit_served --check         # exit 1 unless the shipped file is what it would write
python -m benchmarks.accuracy.fit_served --check all     # the same of the constants alone, without what was held out

Fitting everything takes about a quarter of an hour on two cores; a part of it, a minute.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import heldout, own_points
from benchmarks.accuracy import residuals as left
from benchmarks.accuracy.priors import constants
from benchmarks.accuracy.rows import HERE, Row, priced
from benchmarks.accuracy.table import Table
from rooflens.catalogue.calibrations import FOLDER, SCHEMA, SERVED, ServedConstants
from rooflens.prediction.intervals import stack_of
from rooflens.records import decode, encode

HELD = HERE / "rows" / "heldout.json.gz"
SOURCE = (
    "serving measurements published with aiconfigurator, Argonne's LLM inference bench, llama.cpp benchmarks and a "
    "note on four H100; fitted from weak priors, residuals of whole deployments and of whole chips held out"
)
CLOSE, CLOSE_INTERVAL = 0.1, 0.03  # what another machine's arithmetic may change; of costs that stand for each other
CLOSE_TIME = 0.03  # of any row's estimate


def main(arguments: list[str]) -> int:
    """Writes, or compares."""
    table = Table(priced())
    if "--check" in arguments:
        found = _anew(table, arguments[-1] == heldout.ALL)
        faults = [*differences(_shipped(), found), *_times(table, _shipped(), found)]
        print("\n".join(faults) or "the shipped constants are what the rows give")
        return int(bool(faults))
    workers = int(arguments[arguments.index("--workers") + 1]) if "--workers" in arguments else 1
    parts = heldout.fitted(table, workers)
    HELD.write_bytes(gzip.compress(json.dumps(parts, indent=1).encode(), 9, mtime=0))
    _write(FOLDER / f"{SERVED}.json", shipped(table, parts))
    return 0


def shipped(table: Table, parts: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The file: constants of all rows, residuals of rows held out."""
    of = left.held(table, parts)
    own = own_points.residuals(own_points.scored(of))
    made = _constants(parts[heldout.ALL], table.rows, left.residuals(of, own), left.chip_sd(left.shared(of)))
    return {"schema": SCHEMA, **encode(made)}


def differences(shipped: Mapping[str, Any], found: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Where a file is not what the rows give, each with both values."""
    for key, value in found.items():
        where, own = f"{path}{key}", shipped.get(key)
        if isinstance(value, dict) and isinstance(own, dict):
            yield from differences(own, value, f"{where}: ")
        elif not _same(own, value, CLOSE_INTERVAL if path.startswith("residuals") else CLOSE):
            yield f"{where}: {own} is shipped, {value} is found"
    yield from (f"{path}{key}: shipped, and not found" for key in shipped if key not in found)


def _times(table: Table, shipped: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """A sentence when the two files do not say the same of the rows."""
    was, now = (table.by(decode(ServedConstants, of, SERVED, SCHEMA)) for of in (shipped, found))
    off = float(np.max(np.abs(was / now - 1.0)))
    if off > CLOSE_TIME:
        yield f"an estimate differs by {100 * off:.1f} %"


def held_out() -> dict[str, dict[str, float]]:
    """The constants that were fitted without some rows, as they were written."""
    found: dict[str, dict[str, float]] = json.loads(gzip.decompress(HELD.read_bytes()))
    return found


def _anew(table: Table, alone: bool) -> dict[str, Any]:  # noqa: FBT001  one flag of the command line
    """The file as the rows give it; alone: all rows are fitted again, and the parts held out are those written."""
    parts = (
        {**held_out(), heldout.ALL: heldout.one(table, [True] * len(table.rows))} if alone else heldout.fitted(table)
    )
    return shipped(table, parts)


def _constants(
    found: Mapping[str, float], rows: list[Row], residuals: Mapping[str, Any], chip_sd: float
) -> ServedConstants:
    """The constants to four digits, with what they rest on."""
    used = [row for row in rows if row.fitted]
    counts = {what: sum(row.what == what for row in used) for what in sorted({row.what for row in used})}
    chips: dict[str, set[str]] = {}
    for row in rows:
        stack = stack_of(row.engine)
        if row.what == left.TIMES[stack]:
            chips.setdefault(stack, set()).add(row.chip)
    return constants(
        {name: float(f"{value:.4g}") for name, value in found.items()},
        date=SERVED[-10:],
        source=SOURCE,
        rows=counts,
        chips={stack: tuple(sorted(of)) for stack, of in sorted(chips.items())},
        residuals=residuals,
        chip_sd=float(f"{chip_sd:.3g}"),
    )


def _same(own: object, value: object, close: float) -> bool:
    if isinstance(own, (int, float)) and isinstance(value, (int, float)):
        return abs(own - value) <= close * abs(value)
    return own == value


def _shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{SERVED}.json").read_text(encoding="utf-8"))
    return found


def _write(path: Path, found: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
