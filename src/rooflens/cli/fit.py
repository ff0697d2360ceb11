"""`rooflens fit`: calibrate on measured points of one's own, from a table or from a benchmark's files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.api.serving import fit
from rooflens.cli.kept import keeping
from rooflens.cli.options import Named, answer_file, format_options, json_flag, lang, load_options, on
from rooflens.cli.predict import reserve_options
from rooflens.cli.printing import emit, say
from rooflens.errors import BadFile, RooflensError
from rooflens.prediction.fitting import SCHEMA, Calibrated
from rooflens.present.retold import retold
from rooflens.present.words import say as phrase
from rooflens.records import encode
from rooflens.units import percent

SIZES = ("batch", "prompt", "output")
TIMES = {"tpot_s": 1.0, "tpot_ms": 1e-3, "tokens_per_s": 1.0}
MOST_POINTS = 100_000


@click.command("fit", epilog="Example:  rooflens fit mine.csv --model llama-3.1-8b --on h100-sxm5-80gb")
@click.argument("measurements", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", required=True, help="The model that was served.")
@on
@load_options
@format_options
@reserve_options
@click.option("--out", "-o", type=Named(), help="Write the factors here, for predict --calibration.")
@lang
@json_flag
@keeping
def command(
    measurements: tuple[Path, ...], model: str, on: str, out: Path | None, lang: str, as_json: bool, batch: str,
    context: str | None, prompt: int | None, output: int | None, **asked: Any,
) -> None:  # fmt: skip
    """Calibrate the estimates on MEASUREMENTS of one deployment: five points are enough.

    A CSV with the columns batch, prompt, output and one of tpot_s, tpot_ms, tokens_per_s (of all sequences), or results
    of the benchmarks of vLLM, SGLang or llama.cpp, several files for several loads.
    """
    if (batch, context, prompt, output) != ("1", None, None, None):
        raise RooflensError("batch, prompt and output of each point stand in the file; leave the options away")
    points = [point for path in measurements for point in measured(path)]
    said = {name: value for name, value in asked.items() if value is not None}
    found, notes = fit(model, on, points, **said)
    for note in notes:
        say(note)
    if out is not None:
        artefacts.write_json(answer_file(out, "calibrated"), found, SCHEMA)
    emit(artefacts.to_json(encode(found), SCHEMA) if as_json else _shown(found, lang))


def measured(path: Path) -> list[dict[str, float]]:
    """The points of a CSV with our columns, else the served points of a benchmark's result.

    Raises BadFile with what is missing; of a file that nobody knows, with what is missing for a CSV.
    """
    text = artefacts.read_text(path)
    if text.lstrip().startswith("{") and '"rooflens/profile/' in text[:300]:
        raise RooflensError(
            f"{path} is a measured machine and holds no served points; it calibrates every estimate as it is: "
            f"--on {path}, without a fit"
        )
    head = {name.strip() for name in text.partition("\n")[0].split(",")}
    if head & {*SIZES, *TIMES}:
        return read_points(text, str(path))
    from rooflens.api.benches import measurements

    try:
        return measurements(path)
    except BadFile:
        raise
    except RooflensError:
        return read_points(text, str(path))


def read_points(text: str, where: str) -> list[dict[str, float]]:
    """The points of a CSV, seconds and tokens/s. Raises BadFile with every fault, each with its line."""
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    try:
        return _points(rows, where)
    except csv.Error as error:
        raise BadFile(where, [f"line {rows.line_num + 1} is no CSV: {error}"]) from None


def _points(rows: csv.DictReader[str], where: str) -> list[dict[str, float]]:
    rows.fieldnames = [(name or "").strip() for name in rows.fieldnames or ()]
    time = _time_column(rows.fieldnames, where)
    faults: list[str] = []
    found: list[dict[str, float]] = []
    for row in rows:
        if len(found) >= MOST_POINTS:
            raise BadFile(where, [f"more than {MOST_POINTS} points"])
        if None in row:
            faults.append(f"line {rows.line_num}: has more values than columns; write decimals with a point")
        point = {name: _number(row.get(name), f"line {rows.line_num}: {name}", faults) for name in (*SIZES, time)}
        value = point.pop(time) * TIMES[time]
        found.append({**point, "tokens_per_s" if time == "tokens_per_s" else "tpot_s": value})
    if faults:
        raise BadFile(where, faults)
    return found


def _time_column(names: Sequence[str], where: str) -> str:
    """The one that holds the time. Raises BadFile unless that and every size are there, each once."""
    needed = (*SIZES, *TIMES)
    twice = [name for name in needed if names.count(name) > 1]
    if twice:
        raise BadFile(where, [f"columns that are there twice: {', '.join(twice)}"])
    timed = [name for name in names if name in TIMES]
    if len(timed) > 1:
        raise BadFile(where, [f"{' and '.join(timed)} both say the time of a point; keep one of them"])
    missing = [name for name in SIZES if name not in names]
    if missing or not timed:
        one = "" if timed else f"one of {', '.join(TIMES)}"
        raise BadFile(where, [f"columns missing: {', '.join(filter(None, [*missing, one]))}"])
    return timed[0]


def _number(text: str | None, what: str, faults: list[str]) -> float:
    try:
        value = float((text or "").strip())
    except ValueError:
        faults.append(f"{what} is {'missing' if text is None else repr(text)}, not a number")
        return 1.0
    if not 0 < value < float("inf"):
        faults.append(f"{what} is {text}; it must be above 0, and finite")
        return 1.0
    return value


def _shown(found: Calibrated, lang: str) -> str:
    own = found.fit
    values = {
        "points": own.points, "model": found.model, "machine": found.machine, "engine": found.engine,
        "before": percent(own.error_before), "after": percent(own.error_after), "roofs": f"{own.roofs:.3f}",
        "fixed": f"{own.fixed:.3f}", "prompts": f"{own.prompts:.3f}",
    }  # fmt: skip
    lines = [phrase(f"fit.{name}", lang, **values) for name in ("title", "factors", "errors")]
    return "\n".join(retold(line, lang) for line in lines)
