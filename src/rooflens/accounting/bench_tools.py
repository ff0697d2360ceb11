"""What each tool's figure asked of a machine: llama-bench, and the tests of links, memory and products."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rooflens.accounting.bench_record import Demand, Modelled, context_of, prompts
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.records import replace
from rooflens.roofline.observed import BenchPoint
from rooflens.units import percent

LLAMA, NCCL, ROCM, STREAM = "llama-bench", "nccl-tests", "rocprofiler-compute", "babelstream"
LLAMA_MATH = "fp16"
APART = 0.02  # of the parameters: the model named is another than the file's
_EXPERTS = re.compile(r"moe|\b\d+x\d+(\.\d+)?B|\bA\d+(\.\d+)?B\b", re.IGNORECASE)


def asked(point: BenchPoint, model: Modelled | None, math: str | None) -> Demand | str | None:
    """The demand behind a point; a sentence where something is missing; None where it has no one ceiling."""
    if point.tool == LLAMA:
        return _llama(point, model, math)
    if point.resource in ("link", "host link"):
        return _link(point)
    if point.resource == "compute":
        return _product(point, math)
    return _memory(point) if point.resource == "memory" else None


def _llama(point: BenchPoint, model: Modelled | None, math: str | None) -> Demand | str | None:
    if point.resource is None or point.value is None:
        return None
    if model is None and _EXPERTS.search(str(point.conditions.get("model_type", ""))):
        return "a token visits some of the experts only: name the model with --model"
    found = _decode(point, model) if point.resource == "memory" else _prefill(point, model, math)
    if not isinstance(found, Demand):
        return found
    return replace(found, notes=(*found.notes, *_llama_notes(point, model)))


def _decode(point: BenchPoint, model: Modelled | None) -> Demand | str:
    """Bytes of a token x tokens/s. The file knows its bytes, rows which of them a token reads, and the KV cache."""
    weights, value = _number(point, "weight_bytes"), point.value or 0.0
    if model is None:
        if weights is None:
            return "the file does not say how large the model is: name it with --model, its format with --weights"
        note = "the embedding table is counted, of which a token reads one row, and no KV cache: --model knows both"
        return Demand("mbu", weights * value, "bytes of the file's weights, all of them, x tokens/s", notes=(note,))
    price = model.price("decode", 1, _attended(point), 0)
    floor_bytes = float(price.moved_bytes)
    if model.exact or weights is None:
        return Demand("mbu", floor_bytes * value, f"weights and KV cache by the rows of {model.name} x tokens/s")
    read = model.params_streamed / model.params_total
    cache = floor_bytes - float(price.cost.weight_bytes)
    share = f"{percent(read)} of the file's weights, which a token reads by the rows of {model.name}"
    counted = f"{share}, and KV cache x tokens/s"
    return Demand("mbu", (weights * read / model.devices + cache) * value, counted)


def _prefill(point: BenchPoint, model: Modelled | None, math: str | None) -> Demand | str:
    params, prompt = _number(point, "params"), _number(point, "n_prompt")
    if model is not None and prompt:
        return prompts(model, 1, prompt, _number(point, "n_depth") or 0.0, point.value or 0.0)
    if params is None:
        return "the file does not say how many parameters the model has: name it with --model"
    note = "2 x parameters counts the embedding table as a product, and no attention: --model counts by rows"
    per_s, counted = 2 * params * (point.value or 0.0), "2 x parameters of the file x tokens/s"
    return Demand("mfu", per_s, counted, math=math or LLAMA_MATH, notes=(note,))


def _llama_notes(point: BenchPoint, model: Modelled | None) -> Iterator[str]:
    params, layers = _number(point, "params"), point.conditions.get("n_gpu_layers")
    if model is not None and params and abs(params / model.params_total - 1) > APART:
        yield f"the file's model has {params:.4g} parameters, {model.name} has {model.params_total:.4g}: is it another?"
    if layers in (0, "0") and "CPU" not in str(point.conditions.get("backends", "")):
        yield "no layer was on the device (-ngl 0): its roofs are not those that were run under"


def _attended(point: BenchPoint) -> float:
    """Positions of the mean token: those before the test, and half of what is generated in it."""
    return context_of(_number(point, "n_depth") or 0.0, _number(point, "n_gen") or 0.0)


def _link(point: BenchPoint) -> Demand | str:
    """A figure of one direction, or one that adds up both."""
    value = point.value or 0.0
    link = "pcie" if point.resource == "host link" else None
    if point.tool == NCCL:
        headline = point.name == "plateau"
        return Demand("share_of_link", value, "the bus figure, which is of one direction", link=link, headline=headline)
    if point.conditions.get("direction") != "both":
        return Demand("share_of_link", value, "the figure itself, of one direction", link=link)
    if "total" in point.means.lower() or (point.name.endswith("_sm") and "device_to_device" in point.name):
        counted = "the figure itself, which adds both directions, of twice the link's rate"
        return Demand("share_of_link", value, counted, link=link, directions=2)
    counted = "the figure itself, of one direction while copies run the other way, which are not in it"
    return Demand("share_of_link", value, counted, link=link)


def _product(point: BenchPoint, math: str | None) -> Demand | str:
    named = math or str(point.conditions.get("dtype", ""))
    path = "matrix" if point.tool == ROCM else None
    if point.tool == ROCM and not math:
        vector, named = point.name.startswith("vector "), point.name.removeprefix("vector ")
        path = "vector" if vector else "matrix"
    if not named:
        return "the file does not say in which format it multiplied: name it with --math"
    try:
        named = named if math else dtype(named).math
    except RooflensError:
        return f"{named[:40]!r} is no format known here: name it with --math"
    counted = "the tool's own figure" if point.tool == ROCM else "2 M N K over the time of one product"
    return Demand("mfu", point.value or 0.0, counted, math=named, path=path)


def _memory(point: BenchPoint) -> Demand:
    value = point.value or 0.0
    if point.tool == ROCM:
        return Demand("mbu", value, "the tool's own figure", level="main" if point.name == "memory" else point.name)
    if point.tool != STREAM:
        note = "if the tool counts a byte that is copied once, memory moved twice as much"
        return Demand("mbu", value, "the figure itself", access="copy", notes=(note,))
    read, written = point.conditions.get("arrays_read", 1), point.conditions.get("arrays_written", 1)
    access = "write" if not read else "read" if not written else "copy" if read == written else "triad"
    return Demand("mbu", value, "arrays read and written, each once", access=access)


def _number(point: BenchPoint, name: str) -> float | None:
    found = point.conditions.get(name)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def sized(points: Sequence[BenchPoint]) -> bool:
    """Whether a file says how many bytes its model's weights are, which are then believed."""
    return any(point.tool == LLAMA and "weight_bytes" in point.conditions for point in points)


def measurements(points: Sequence[BenchPoint]) -> Iterator[dict[str, float] | str]:
    """Decode tests of llama-bench as measured points of one sequence."""
    for point in points:
        output = _number(point, "n_gen")
        if point.tool == LLAMA and point.name == "decode" and point.value and output:
            prompt = max(_number(point, "n_depth") or 0.0, 1.0)
            yield {"batch": 1.0, "prompt": prompt, "output": output, "tpot_s": 1 / point.value}
