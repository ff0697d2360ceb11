"""Rows that a person takes into a spreadsheet: --out FILE.csv, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.kept import keeping
from rooflens.cli.options import F, Named
from rooflens.errors import RooflensError


def rows_option(function: F) -> F:
    """--out, which is never the file that was asked about."""
    text = "Write the rows as CSV (.csv), the answer as JSON (.json), or both into a folder."
    return click.option("--out", "-o", type=Named(), help=text)(keeping(function))


def write(out: Path, verb: str, answer: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], schema: str) -> None:
    """VERB.csv and VERB.json in a folder, or the one file that is named. Raises RooflensError for any other name."""
    folder = out.is_dir() or not out.suffix
    if not folder and out.suffix not in (".csv", ".json"):
        raise RooflensError(f"--out {out}: name a .csv or a .json file, or a folder for both")
    if folder or out.suffix == ".csv":
        artefacts.write_bytes(out / f"{verb}.csv" if folder else out, _csv(rows).encode())
    if folder or out.suffix == ".json":
        artefacts.write_json(out / f"{verb}.json" if folder else out, answer, schema)


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """A head of every key, then a line a row; what is not known stays empty."""
    import csv
    import io

    sheet = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sheet, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return sheet.getvalue()


def _cell(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value
