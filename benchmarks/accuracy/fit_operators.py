"""Fits the constants of single kernels on the measured ones.

python -m benchmarks.accuracy.fit_operators            # fits anew and writes the shipped file
python -m benchmarks.accuracy.fit_operators --check    # exit 1 unless the shipped file is what it would write
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.accuracy.kernel_errors import caches, fits, heard, held, unnamed
from benchmarks.accuracy.kernels import COMMON, ENGINES, WIDEST, Row, rows
from benchmarks.accuracy.operator_scores import operator_scores, residuals
from benchmarks.accuracy.shrunk import Fit, Label
from rooflens.catalogue.calibrations import FOLDER
from rooflens.catalogue.kernels import OPERATORS, SCHEMA
from rooflens.records import encode

CLOSE = 0.02  # what another machine's arithmetic may change
SOURCE = (
    "kernels measured by aiconfigurator (vLLM, SGLang, TensorRT-LLM, NCCL), vidur, InferSim, AITER, DeepBench and "
    "LLMCompass; fitted with weak priors, residuals of whole families of shapes and of whole chips held out"
)


def constants() -> dict[str, Any]:
    """The shipped file anew."""
    chips = sorted({str(row.label["chip"]) for found in rows().values() for row in found})
    kinds = {kind: _kind(kind) for kind in COMMON}
    head = {"schema": SCHEMA, "date": OPERATORS[-10:], "source": SOURCE, "chips": chips}
    return {**head, "cache_bytes": dict(caches()), **kinds}


def _kind(kind: str) -> dict[str, Any]:
    costs, counts = {}, {}
    for key, label, fit, mine in _keys(kind):
        found = {name: float(f"{value:.4g}") for name, value in fit.constants(label).items()}
        if kind == "products" and not label["narrows"]:
            del found["narrowing"]
        if kind == "decoding" and label["engine"] in WIDEST:
            found["widest"] = WIDEST[label["engine"]]
        costs[key], counts[key] = found, len(mine)
    return {"common": encode(COMMON[kind]), "costs": costs, "rows": counts, "residuals": dict(residuals(held(kind)))}


def _keys(kind: str) -> Iterator[tuple[str, Label, Fit, list[Row]]]:
    """Whom constants are of (chips, architectures, anybody; an engine or none), the fit that knows, and its rows."""
    found, (apart, together) = heard(rows()[kind]), fits(kind)
    for who in ("chip", "arch", "*") if kind != "exchanging" else ("chip", "*"):
        for engine in (*ENGINES, None):
            mine = [row for row in found if row.label["engine"] == engine] if engine else unnamed(kind, found)
            by: dict[str, list[Row]] = defaultdict(list)
            for row in mine:
                by[f"{row.label.get(who, who)} {row.label['flavour']}"].append(row)
            for key, its in sorted(by.items()):
                fit = together if engine is None and who == "chip" else apart
                yield f"{key} {engine or '*'}", _whose(its, who, engine), fit, its


def _whose(its: Sequence[Row], who: str, engine: str | None) -> Label:
    """The label of these rows with no more than is known of them."""
    unknown = {"chip": ("arch",), "arch": ("chip",), "*": ("chip", "arch")}[who]
    label = {**its[0].label, "engine": engine, **({} if who == "chip" else dict.fromkeys(unknown))}
    return label | ({"narrows": any(row.label["narrows"] for row in its)} if "narrows" in label else {})


def main(arguments: Sequence[str]) -> int:
    """Writes the file, or compares it with the shipped one."""
    made, path = constants(), FOLDER / f"{OPERATORS}.json"
    if "--check" in arguments:
        off = list(_differences(json.loads(path.read_text(encoding="utf-8")), made))
        print("\n".join(off) or f"{path.name} is what its rows give")
        return 1 if off else 0
    path.write_text(_written(made), encoding="utf-8")
    operator_scores()
    return 0


def _written(made: Any, depth: int = 0) -> str:
    """JSON whose innermost objects take a line each."""
    if not isinstance(made, dict) or not any(isinstance(value, dict) for value in made.values()):
        return json.dumps(made)
    pad = " " * (depth + 1)
    lines = [f"{pad}{json.dumps(name)}: {_written(value, depth + 1)}" for name, value in made.items()]
    return "{\n" + ",\n".join(lines) + f"\n{pad[:-1]}}}" + ("" if depth else "\n")


def _differences(shipped: Any, made: Any, path: str = "") -> Iterator[str]:
    if isinstance(shipped, dict) and isinstance(made, dict):
        for name in sorted({*shipped, *made}):
            yield from _differences(shipped.get(name), made.get(name), f"{path}.{name}")
    elif isinstance(shipped, float) and isinstance(made, float):
        if abs(shipped - made) > CLOSE * abs(shipped):
            yield f"{path}: shipped {shipped:g}, its rows give {made:g}"
    elif shipped != made:
        yield f"{path}: shipped {shipped}, its rows give {made}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
