"""Problems about serving: the batch-1 ceiling, a step and its cache, the ridge batch, MBU, MFU, narrower weights."""

from __future__ import annotations

from rooflens.dtypes import dtype
from rooflens.operators.alone import alone
from rooflens.practice.record import Drawn, Pick, Problem
from rooflens.practice.worked import (
    CHIPS,
    bandwidth,
    cost,
    deployment,
    machine,
    peak,
    point,
    rows,
    sources,
    sparse,
)
from rooflens.prediction.arithmetic import Arithmetic, arithmetic
from rooflens.prediction.deployment import batch_at_ridge, ridge_of
from rooflens.units import percent, show

GIB, GB = 2**30, 1e9
MODELS = ("llama-2-7b", "llama-3.1-8b", "qwen2.5-7b", "phi-4")
RIDGE_MODEL = "llama-3.1-405b"  # its head, which narrow formats leave wide, is half a per cent of it
FILES = ((3e9, "2.2"), (8e9, "4.6"), (8e9, "7.9"), (13e9, "7.4"), (14e9, "8.5"), (32e9, "18.4"), (70e9, "39.6"))


def _alone(params: float, size: float, on: str, measured: float | None = None) -> tuple[str, Arithmetic]:
    text = f"params={params / 1e9:g}e9,weight_bytes={size:.0f}"
    return text, arithmetic(text, alone(text), cost(text, on)[1], machine(on), measured)


def _ceiling(pick: Pick) -> Drawn:
    on, unit, (params, amount) = pick.one(*CHIPS), pick.one("GB", "GiB"), pick.one(*FILES)
    size = float(amount) * (GIB if unit == "GiB" else GB)
    text, found = _alone(params, size, on)
    right, read = found.tokens_per_s_ceiling, found.bandwidth_bytes_per_s
    other = float(amount) * (GB if unit == "GiB" else GIB)
    return Drawn(
        {
            "machine": found.machine, "params": f"{params / 1e9:g}e9", "size": f"{amount} {unit}",
            "bandwidth": show(read, "B/s"), "peak": show(found.peak_flops_per_s, "FLOP/s"),
        },
        right,
        f"{show(read, 'B/s')} / {show(size, 'B')} = {show(right, 'tok/s')}",
        {
            "gb_gib": read / other, "from_compute": found.peak_flops_per_s / (2 * params),
            "wide_weights": read / (2 * params), "eight_small": right / 8, "eight_large": right * 8,
        },
        f"rooflens predict {text} --on {on}",
        "tokens_per_s_ceiling",
        sources=sources(on),
    )  # fmt: skip


def _step(pick: Pick) -> Drawn:
    model, on = pick.one(*MODELS), pick.one("h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "mi300x-192gb")
    batch, context = pick.one(4, 8, 16, 32), pick.one(2048, 4096)
    served = deployment(model, on, batch=batch, context=context)
    floor = served.floor("decode")
    weights, kv, read = float(floor.cost.weight_bytes), float(floor.cost.kv_bytes), bandwidth(on)
    right = float(floor.floor_s)
    return Drawn(
        {
            "model": model, "machine": machine(on).title, "batch": f"{batch}", "context": f"{context}",
            "weights": show(weights, "B"), "kv": show(kv / batch / context, "B"), "bandwidth": show(read, "B/s"),
        },
        right,
        f"({show(weights, 'B')} + B {batch} x S {context} x {show(kv / batch / context, 'B')}) / {show(read, 'B/s')}"
        f" = {show(right, 's')}",
        {
            "weights_alone": weights / read, "cache_once": (weights + kv / batch) / read, "cache_alone": kv / read,
            "weights_each": (batch * weights + kv) / read, "cache_twice": (weights + 2 * kv) / read,
        },
        f"rooflens place {model} --on {on} --batch {batch} --context {context}",
        "step_floor.floor_s",
        sources=sources(on),
    )  # fmt: skip


def _ridge_batch(pick: Pick) -> Drawn:
    on, kind = pick.one("h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "mi300x-192gb"), pick.one("bf16", "fp8")
    served = deployment(RIDGE_MODEL, on, weights=kind)
    right, size, math = float(batch_at_ridge(served) or 0), dtype(kind).bytes, served.precision.math_of("linear")
    roof, read, point_of = peak(on, math), bandwidth(on), ridge_of(served)
    high = sparse(on, math)
    wide, narrow = peak(on, "bf16") / read * size / 2, (2 if kind != math else 1) * right
    return Drawn(
        {
            "machine": machine(on).title, "dtype": kind, "math": math, "peak": show(roof, "FLOP/s"),
            "bandwidth": show(read, "B/s"), "bits": f"{dtype(kind).bits:g}",
        },
        right,
        f"2 B FLOP / {size:g} B = {point_of:.4g} FLOP/B, B = {point_of * size / 2:.4g}",
        {"half_the_flops": 2 * right, "elements": point_of / 2, "bf16_roof": wide, "math_of_weights": narrow}
        | ({"sparse": high / read * size / 2} if high else {}),
        f"rooflens predict {RIDGE_MODEL} --weights {kind} --on {on}",
        "batch_at_ridge",
        sources=sources(on),
    )  # fmt: skip


def _mbu(pick: Pick) -> Drawn:
    on, (params, amount), share = pick.one(*CHIPS), pick.one(*FILES), pick.one(0.41, 0.52, 0.58, 0.66, 0.73, 0.81)
    size = float(amount) * GB
    measured = float(f"{share * _alone(params, size, on)[1].tokens_per_s_ceiling:.3g}")
    text, found = _alone(params, size, on, measured)
    right, read = found.mbu or 0.0, found.bandwidth_bytes_per_s
    return Drawn(
        {
            "machine": found.machine, "params": f"{params / 1e9:g}e9", "size": f"{amount} GB",
            "rate": show(measured, "tok/s"), "bandwidth": show(read, "B/s"),
            "peak": show(found.peak_flops_per_s, "FLOP/s"),
        },
        right,
        f"{show(measured, 'tok/s')} x {amount} GB / {show(read, 'B/s')} = {percent(right)}",
        {
            "mfu_instead": found.mfu or 0.0, "gb_gib": right * GIB / GB, "tib": right * GB * 1e3 / 2**40,
            "wide_weights": measured * 2 * params / read, "what_is_missing": 1 - right, "inverted": 1 / right,
        },
        f"rooflens predict {text} --on {on} --measured-tokens-per-s {measured:g}",
        "mbu",
        sources=sources(on),
    )  # fmt: skip


def _mfu(pick: Pick) -> Drawn:
    on, share = pick.one(*CHIPS), pick.one(0.38, 0.47, 0.55, 0.62, 0.71, 0.78)
    m, n = pick.one(2048, 4096, 8192), pick.one(8192, 14336, 16384)
    text = f"gemm:M={m},K=8192,N={n}"
    spent_us = float(f"{1e6 * point(text, on).time_s / share:.3g}")
    found = point(text, on, measured_s=spent_us / 1e6)
    right, roof = found.share_of_peak, peak(on, "bf16")
    high = sparse(on, "bf16")
    return Drawn(
        {
            "machine": machine(on).title, "m": f"{m}", "k": "8192", "n": f"{n}", "time": show(spent_us / 1e6, "s"),
            "peak": show(roof, "FLOP/s"),
        },
        right,
        f"2 M K N / {show(spent_us / 1e6, 's')} / {show(roof, 'FLOP/s')} = {percent(right)}",
        {
            "half_the_flops": right / 2, "what_is_missing": 1 - right, "inverted": 1 / right,
            "mbu_instead": found.bytes / (spent_us / 1e6) / bandwidth(on),
        }
        | ({"sparse": right * roof / high} if high else {}),
        f"rooflens place {text} --on {on} --measured-s '{spent_us:g} us'",
        "measured.mfu",
        rows=rows(text),
        sources=sources(on),
    )  # fmt: skip


def _quantise(pick: Pick) -> Drawn:
    model, on, kind = pick.one(*MODELS), pick.one("h100-sxm5-80gb", "a100-sxm4-80gb"), pick.one("int4", "int8", "mxfp4")
    batch, context = pick.one(1, 4, 16), pick.one(2048, 4096)
    sizes = {"batch": batch, "context": context}
    before, after = (deployment(model, on, weights=w, **sizes).floor("decode") for w in (None, kind))
    right = float(before.floor_s) / float(after.floor_s)
    old, new, kv = float(before.cost.weight_bytes), float(after.cost.weight_bytes), float(before.cost.kv_bytes)
    share = 16 / dtype(kind).bits
    return Drawn(
        {
            "model": model, "machine": machine(on).title, "batch": f"{batch}", "context": f"{context}",
            "dtype": kind, "old": show(old, "B"), "new": show(new, "B"), "kv": show(kv, "B"),
        },
        right,
        f"({show(old, 'B')} + {show(kv, 'B')}) / ({show(new, 'B')} + {show(kv, 'B')}) = {right:.4g}",
        {"bits_alone": share, "weights_alone": old / new, "no_gain": 1.0, "inverted": 1 / right},
        f"rooflens advise {model} --on {on} --batch {batch} --context {context}",
        f"levers[{kind} weights].gain_floor",
    )  # fmt: skip


PROBLEMS = (
    Problem("ceiling", "serving", "tok/s", _ceiling),
    Problem("step", "serving", "s", _step),
    Problem("ridge-batch", "serving", "count", _ridge_batch),
    Problem("mbu", "serving", "ratio", _mbu),
    Problem("mfu", "serving", "ratio", _mfu),
    Problem("quantise", "serving", "times", _quantise),
)
