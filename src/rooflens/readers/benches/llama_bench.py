"""llama-bench (llama.cpp): JSON, JSON lines, CSV, SQL and the markdown table; one point a test."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rooflens.errors import BadFile
from rooflens.readers.figures import finite, number, shown, unit, whole
from rooflens.roofline.observed import BenchPoint, Condition, Observed, Resource

TOOL = "llama-bench"
_MEANS = {
    "decode": "generated tokens over the time of generating them, one sequence; the weights are read for each token",
    "prefill": "prompt tokens over the time of processing the prompt; no token is generated",
    "mixed": "prompt and generated tokens together over the time of both",
}
_RESOURCE: dict[str, Resource | None] = {"decode": "memory", "prefill": "compute", "mixed": None}
_KEPT = ("model_type", "model_filename", "backends", "gpu_info", "cpu_info", "type_k", "type_v", "n_batch", "n_ubatch",
         "n_threads", "n_gpu_layers", "flash_attn", "build_commit", "n_depth", "n_prompt", "n_gen")  # fmt: skip
_TEST = re.compile(r"(?:pp\s*(?P<pp>\d{1,9}))?\s*\+?\s*(?:tg\s*(?P<tg>\d{1,9}))?(?:\s*@\s*d(?P<depth>\d{1,9}))?")
_INSERT = re.compile(r"INSERT INTO \w+ \(([\w, ]+)\)\s*VALUES\s*\((.*)\);")
_CELL = re.compile(r"'((?:[^']|'')*)'|([^\s,']+)")
_LETTERS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def is_row(record: Mapping[str, Any]) -> bool:
    """Whether this object is a test of llama-bench."""
    return {"n_prompt", "n_gen"} <= set(record) and bool({"avg_ts", "avg_ns"} & set(record))


def from_records(rows: Iterable[Mapping[str, Any]], where: str, faults: Iterable[str] = ()) -> Observed:
    """Tests as objects of JSON, or as rows of a table with the same keys."""
    points, warnings = [], list(faults)
    for row in rows:
        if is_row(row) and not (whole(row["n_prompt"]) or whole(row["n_gen"])):
            warnings.append(
                f"a test with neither prompt nor generated tokens was left out: {shown(row.get('test', ''))}"
            )
        elif is_row(row):
            point, doubt = _point(row)
            points.append(point)
            warnings += [doubt] if doubt else []
    if not points:
        raise BadFile(where, ["; ".join(["it holds no test of llama-bench", *warnings])])
    return Observed(where, TOOL, points=tuple(points), warnings=tuple(warnings))


def from_csv(text: str, where: str) -> Observed:
    """Tests as CSV, each row under the header above it; one with more or fewer cells than that is left out."""
    rows: list[dict[str, str]] = []
    header: list[str] = []
    odd = 0
    try:
        for cells in csv.reader(text.splitlines()):
            if "n_prompt" in cells and "avg_ts" in cells:
                header = cells
            elif header and len(cells) == len(header):
                rows.append(dict(zip(header, cells, strict=True)))
            else:
                odd += bool(header) and len(cells) > len(header) // 2
    except csv.Error as error:
        raise BadFile(where, [f"is no CSV: {error}"]) from None
    return from_records(rows, where, _left_out(odd))


def _left_out(odd: int) -> list[str]:
    return [f"{odd} rows have more or fewer cells than the header has titles; they were left out"] if odd else []


def from_sql(text: str, where: str) -> Observed:
    """Tests as statements that insert them."""
    rows, odd = [], 0
    for found in _INSERT.finditer(text):
        titles = [title.strip() for title in found[1].split(",")]
        cells = [quoted.replace("''", "'") if quoted else bare for quoted, bare in _CELL.findall(found[2])]
        if len(cells) == len(titles):
            rows.append(dict(zip(titles, cells, strict=True)))
        else:
            odd += 1
    return from_records(rows, where, _left_out(odd))


def from_markdown(text: str, where: str) -> Observed:
    """The table that llama-bench prints unless told otherwise."""
    rows: list[dict[str, Any]] = []
    header: list[str] = []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "test" in cells and "t/s" in cells:
            header = cells
        elif header and len(cells) == len(header) and not set(line) <= set("| -:"):
            rows.append(_as_record(dict(zip(header, cells, strict=True))))
    return from_records(rows, where)


def _as_record(cells: Mapping[str, str]) -> dict[str, Any]:
    """A row of the table with the keys of the JSON form."""
    test = _TEST.fullmatch(cells["test"])
    speed, _, spread = cells["t/s"].replace("+/-", "±").partition("±")
    size, _, size_unit = cells.get("size", "").partition(" ")
    params, _, letter = cells.get("params", "").partition(" ")
    bytes_each, plain = unit(size_unit or "?")
    known_size, known_params = finite(size), finite(params)
    out: dict[str, Any] = {
        "test": cells["test"],
        "n_prompt": int(test["pp"] or 0) if test else None,
        "n_gen": int(test["tg"] or 0) if test else None,
        "n_depth": int(test["depth"] or 0) if test else None,
        "avg_ts": number(speed.strip()),
        "stddev_ts": number(spread.strip()),
        "model_type": cells.get("model"),
        "backends": cells.get("backend"),
        "n_gpu_layers": cells.get("ngl"),
        "flash_attn": cells.get("fa"),
    }
    if known_size is not None and plain == "B":
        out["model_size"] = _rounded(known_size * bytes_each)
    if known_params is not None and letter.strip() in _LETTERS:
        out["model_n_params"] = _rounded(known_params * _LETTERS[letter.strip()])
    return out


def _rounded(amount: float) -> int | None:
    return round(amount) if amount < 2**62 else None


def _point(row: Mapping[str, Any]) -> tuple[BenchPoint, str | None]:
    prompt, generated = whole(row.get("n_prompt")), whole(row.get("n_gen"))
    kind = "mixed" if prompt and generated else "decode" if generated else "prefill"
    stated, time_ns = number(row.get("avg_ts")), finite(row.get("avg_ns"))
    tokens = (prompt or 0) + (generated or 0)
    worked_out = tokens * 1e9 / time_ns if time_ns and tokens else None
    value = stated if stated is not None and math.isfinite(stated) else worked_out
    doubt = None
    if value is not None and worked_out is not None and abs(value - worked_out) > 0.02 * worked_out:
        doubt = f"pp{prompt} tg{generated}: {value:g} tokens/s is said, {tokens} tokens in its time are {worked_out:g}"
    notes: tuple[str, ...] = ("neither the speed of prefill nor that of decode",) if kind == "mixed" else ()
    notes += ("the tool gives no speed",) if value is None else ()
    point = BenchPoint(
        TOOL, kind, "tokens_per_s", value, _MEANS[kind], _RESOURCE[kind], finite(row.get("stddev_ts")),
        _conditions(row), notes,
    )  # fmt: skip
    return point, doubt


def _conditions(row: Mapping[str, Any]) -> dict[str, Condition]:
    out: dict[str, Condition] = {}
    for key in _KEPT:
        value, count = row.get(key), whole(row.get(key)) if key.startswith("n_") else None
        if count is not None:
            out[key] = count
        elif isinstance(value, bool):
            out[key] = value
        elif isinstance(value, str) and value:
            out[key] = shown(value)
        elif (figure := finite(value)) is not None:
            out[key] = figure
    for key, ours in (("model_size", "weight_bytes"), ("model_n_params", "params")):
        found = finite(row.get(key))
        if found is not None:
            out[ours] = found
    return {**out, "batch": 1}
