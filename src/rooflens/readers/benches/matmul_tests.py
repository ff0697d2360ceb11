"""What matrix products reached: mamf-finder's text, tables of its results, and rocprofiler-compute's measured roofs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping

from rooflens.errors import BadFile
from rooflens.readers.figures import finite
from rooflens.roofline.observed import BenchPoint, Condition, Observed, Resource

TOOL = "mamf-finder"
_SHAPE = re.compile(r"(\d{1,9})x(\d{1,9})x(\d{1,9})")
_BEST = re.compile(
    r"^[\s#]*(?:(mean|median|max|MAMF|MSMF)(?: \([^()\n]*\))?:\s*|The best outcome was )"
    r"([\d.]+)\s*TFLOPS @ (\d+x\d+x\d+)",
    re.MULTILINE,
)
_DTYPE = re.compile(r"(?:Dtype:\s*(?:torch\.)?|--dtype[ =])(\w+)")
_ROOFS: dict[str, tuple[str, Resource, float]] = {
    "HBMBw": ("memory", "memory", 1e9), "L2Bw": ("L2", "memory", 1e9), "L1Bw": ("L1", "memory", 1e9),
    "LDSBw": ("LDS", "memory", 1e9), "FP32Flops": ("vector fp32", "compute", 1e9),
    "FP64Flops": ("vector fp64", "compute", 1e9), "FP16Flops": ("vector fp16", "compute", 1e9),
    "MFMABF16Flops": ("bf16", "compute", 1e9), "MFMAF16Flops": ("fp16", "compute", 1e9),
    "MFMAF32Flops": ("fp32", "compute", 1e9), "MFMAF64Flops": ("fp64", "compute", 1e9),
    "MFMAF8Flops": ("fp8", "compute", 1e9), "MFMAI8Ops": ("int8", "compute", 1e9),
    "MFMAF6F4Flops": ("fp4", "compute", 1e9), "MFMAF4Flops": ("fp4", "compute", 1e9),
}  # fmt: skip


def mamf_text(text: str, where: str) -> Observed:
    """The best shapes of a run: by mean, by median, by the fastest repetition."""
    dtype = _DTYPE.search(text)
    shared: dict[str, Condition] = {"dtype": dtype[1]} if dtype else {}
    points = tuple(
        _product(TOOL, f"best {found[1] or 'outcome'}", float(found[2]), found[3], shared)
        for found in _BEST.finditer(text)
        if finite(found[2]) is not None
    )
    if not points:
        raise BadFile(where, ["no best outcome is in it; was the search stopped before its end?"])
    return Observed(where, TOOL, points=points)


def mamf_table(text: str, where: str) -> Observed:
    """A table of results: one point a row, the datasheet's figure beside it."""
    points = []
    try:
        for row in csv.DictReader(text.splitlines()):
            figure, theory = finite(row.get("mamf_tflops")), finite(row.get("theory_tflops"))
            shared: dict[str, Condition] = {k: str(row[k]) for k in ("accelerator", "dtype") if row.get(k)}
            if theory is not None:
                shared["theory_flops_per_s"] = theory * 1e12
            points.append(_product(TOOL, str(row.get("accelerator")), figure, row.get("best_shape") or "", shared))
    except csv.Error as error:
        raise BadFile(where, [f"is no CSV: {error}"]) from None
    if not points:
        raise BadFile(where, ["its table has no rows"])
    return Observed(where, TOOL, points=tuple(points))


def _product(tool: str, name: str, tflops: float | None, shape: str, shared: Mapping[str, Condition]) -> BenchPoint:
    sizes = _SHAPE.search(shape)
    conditions: dict[str, Condition] = dict(shared)
    if sizes:
        conditions |= {"M": int(sizes[1]), "N": int(sizes[2]), "K": int(sizes[3])}
    means = "2 M N K over the time of one product of the best shape that was tried; other shapes read lower"
    value = None if tflops is None else tflops * 1e12
    notes = ("the file says no number",) if value is None else ()
    return BenchPoint(tool, name, "flops_per_s", value, means, "compute", None, conditions, notes)


def rocm_roofs(text: str, where: str) -> Observed:
    """The roofs that rocprofiler-compute measured, each of one device: of a package of two, one half."""
    points = []
    try:
        for row in csv.DictReader(text.splitlines()):
            points += list(_roofs(row))
    except csv.Error as error:
        raise BadFile(where, [f"is no CSV: {error}"]) from None
    if not points:
        raise BadFile(where, ["its table holds no roof"])
    warning = (
        "each row is one device as ROCm counts them: of a card of two dies (MI250X), one die; not the card's figure"
    )
    return Observed(where, "rocprof-roofline", points=tuple(points), warnings=(warning,))


def _roofs(row: Mapping[str, str]) -> Iterator[BenchPoint]:
    folded = {str(title).lower(): cell for title, cell in row.items()}  # some titles are written in another case
    for column, (name, resource, factor) in _ROOFS.items():
        figure = finite(row.get(column))
        if not figure:  # 0: it was not run there
            continue
        metric = "flops_per_s" if resource == "compute" else "bytes_per_s"
        shared: dict[str, Condition] = {"device": row.get("device") or ""}
        for end, ours in (("Low", "least"), ("High", "most")):
            bound = finite(folded.get((column + end).lower()))
            if bound is not None:
                shared[ours] = bound * factor
        means = "mean of the repetitions of a micro-benchmark on one device"
        yield BenchPoint("rocprofiler-compute", name, metric, figure * factor, means, resource, None, shared)
