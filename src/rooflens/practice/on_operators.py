"""Problems about one operator: FLOP, bytes, and how many FLOP there are for each byte."""

from __future__ import annotations

from rooflens.dtypes import dtype
from rooflens.operators.standard import LAYER_NORM_FLOPS, RMS_NORM_FLOPS, SOFTMAX_FLOPS
from rooflens.practice.record import Drawn, Pick, Problem
from rooflens.practice.worked import cost, intensity, rows
from rooflens.units import show

ON = "h100-sxm5-80gb"
INTENSITY = "total.intensity_flops_per_byte"
WIDTHS = (2048, 3072, 4096, 5120, 6144, 8192)


def _double(pick: Pick) -> Drawn:
    kind, n = pick.one("bf16", "fp32", "fp64"), 2 ** pick.one(*range(20, 29))
    text, size = f"elementwise:n={n},flops=1", dtype(kind).bytes
    right = intensity(text, ON, kind)
    return Drawn(
        {"n": f"{n:,}", "dtype": kind},
        right,
        f"N FLOP / (2 N x {size:g} B) = {right:g} FLOP/B",
        {"one_way": 1 / size, "twice_the_flops": 2 * right, "elements": 1 / 2, "inverted": 1 / right},
        f"rooflens place {text} --weights {kind} --on {ON}",
        INTENSITY,
        rows=rows(text),
    )


def _axpy(pick: Pick) -> Drawn:
    kind, n = pick.one("bf16", "fp32", "fp64"), 1000 * 2 ** pick.one(*range(10, 19))
    size = dtype(kind).bytes
    text = f"op:flops={2 * n},bytes={3 * n * size:.0f}"
    right = intensity(text, ON)
    return Drawn(
        {"n": f"{n:,}", "dtype": kind},
        right,
        f"2 N FLOP / (3 N x {size:g} B) = {right:.4g} FLOP/B",
        {"result_forgotten": 2 / (2 * size), "half_the_flops": right / 2, "elements": 2 / 3, "inverted": 1 / right},
        f"rooflens place {text} --on {ON}",
        INTENSITY,
    )


def _square(pick: Pick) -> Drawn:
    n = pick.one(1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288)
    text = f"gemm:M={n},K={n},N={n}"
    right = intensity(text, ON)
    return Drawn(
        {"n": f"{n}"},
        right,
        f"2 N^3 FLOP / (3 N^2 x 2 B) = N / 3 = {right:.4g} FLOP/B",
        {"result_forgotten": n / 2, "half_the_flops": right / 2, "elements": 2 * right, "inverted": 1 / right},
        f"rooflens place {text} --on {ON}",
        INTENSITY,
        rows=rows(text),
    )


def _gemm(pick: Pick) -> Drawn:
    m, k, n = pick.one(256, 384, 512, 768, 1024, 2048), pick.one(*WIDTHS), pick.one(8192, 11008, 14336, 28672)
    text = f"gemm:M={m},K={k},N={n}"
    right = intensity(text, ON)
    return Drawn(
        {"m": f"{m}", "k": f"{k}", "n": f"{n}"},
        right,
        f"2 M K N / (2 B x (M K + K N + M N)) = {right:.4g} FLOP/B",
        {
            "weights_only": m, "result_forgotten": m * k * n / (m * k + k * n), "half_the_flops": right / 2,
            "elements": 2 * right,
        },
        f"rooflens place {text} --on {ON}",
        INTENSITY,
        rows=rows(text),
    )  # fmt: skip


def _gemv(pick: Pick) -> Drawn:
    kind, k, n = pick.one("bf16", "fp8", "int4"), pick.one(*WIDTHS), pick.one(8192, 11008, 14336, 28672)
    text = f"gemm:M=1,K={k},N={n}"
    right, size = intensity(text, ON, kind), dtype(kind).bytes
    return Drawn(
        {"k": f"{k}", "n": f"{n}", "dtype": kind, "bits": f"{dtype(kind).bits:g}"},
        right,
        f"2 K N FLOP / (K N x {size:g} B + (K + N) x 2 B) = {right:.4g} FLOP/B",
        {"half_the_flops": right / 2, "elements": 2, "wide_weights": 1, "eight_small": right / 8},
        f"rooflens place {text} --weights {kind} --on {ON}",
        INTENSITY,
        rows=rows(text),
    )


def _norm(pick: Pick) -> Drawn:
    name, n = pick.one("softmax", "rmsnorm", "layernorm"), 2 ** pick.one(*range(18, 27))
    flops = {"softmax": SOFTMAX_FLOPS, "rmsnorm": RMS_NORM_FLOPS, "layernorm": LAYER_NORM_FLOPS}[name]
    text = f"{name}:n={n}"
    right = intensity(text, ON)
    return Drawn(
        {"name": name, "n": f"{n:,}", "flops": f"{flops:g}"},
        right,
        f"{flops:g} N FLOP / (2 N x 2 B) = {right:g} FLOP/B",
        {"one_way": 2 * right, "elements": flops / 2, "one_flop": 1 / 4, "inverted": 1 / right},
        f"rooflens place {text} --on {ON}",
        INTENSITY,
        rows=rows(text),
    )


def _attention(pick: Pick) -> Drawn:
    heads, group = pick.one(32, 64), pick.one(1, 2, 4, 8)
    width, context, batch = 128, pick.one(2048, 4096, 8192, 16384), pick.one(1, 4, 16, 64)
    text = f"attention:B={batch},H={heads},K={heads // group},W={width},S={context}"
    right = intensity(text, ON)
    return Drawn(
        {
            "batch": f"{batch}", "heads": f"{heads}", "kv_heads": f"{heads // group}", "width": f"{width}",
            "context": f"{context}",
        },
        right,
        f"4 S H W FLOP / (2 S K W x 2 B + 2 H W x 2 B) = {right:.4g} FLOP/B, H / K = {group}",
        {
            "query_heads": 1, "keys_only": 2 * right, "half_the_flops": right / 2, "elements": 2 * right,
            "batch_reuses": batch * right,
        },
        f"rooflens place {text} --on {ON}",
        INTENSITY,
        rows=rows(text),
    )  # fmt: skip


def _phase(pick: Pick) -> Drawn:
    phase, k, n = pick.one("decode", "prefill"), pick.one(*WIDTHS), pick.one(11008, 14336, 28672)
    batch, prompt = pick.one(1, 2, 4, 8, 16, 32), pick.one(512, 1024, 2048, 4096)
    m, other = (batch, prompt) if phase == "decode" else (prompt, batch)
    text, otherwise = (f"gemm:M={rows_of},K={k},N={n}" for rows_of in (m, other))
    right = intensity(text, ON)
    return Drawn(
        {"phase": phase, "k": f"{k}", "n": f"{n}", "batch": f"{batch}", "prompt": f"{prompt}"},
        right,
        f"M = {m}: 2 M K N / (2 B x (M K + K N + M N)) = {right:.4g} FLOP/B",
        {
            "other_phase": intensity(otherwise, ON), "weights_only": m, "half_the_flops": right / 2,
            "elements": 2 * right, "both_at_once": intensity(f"gemm:M={batch * prompt},K={k},N={n}", ON),
        },
        f"rooflens place {text} --on {ON}",
        INTENSITY,
        rows=rows(text),
    )  # fmt: skip


def _flops(pick: Pick) -> Drawn:
    m, k, n = pick.one(128, 512, 1000, 2048, 3000), pick.one(*WIDTHS), pick.one(8192, 11008, 14336)
    text = f"gemm:M={m},K={k},N={n}"
    counted, _ = cost(text, ON)
    right = float(counted.total_flops)
    return Drawn(
        {"m": f"{m}", "k": f"{k}", "n": f"{n}"},
        right,
        f"2 M K N = 2 x {m} x {k} x {n} = {show(right, 'FLOP')}",
        {
            "half_the_flops": right / 2,
            "results_only": m * n,
        },
        f"rooflens place {text} --on {ON}",
        "total.flops",
        rows=rows(text),
    )


PROBLEMS = (
    Problem("double", "operators", "FLOP/B", _double),
    Problem("axpy", "operators", "FLOP/B", _axpy),
    Problem("square", "operators", "FLOP/B", _square),
    Problem("gemm", "operators", "FLOP/B", _gemm),
    Problem("gemv", "operators", "FLOP/B", _gemv),
    Problem("norm", "operators", "FLOP/B", _norm),
    Problem("attention", "operators", "FLOP/B", _attention),
    Problem("phase", "operators", "FLOP/B", _phase),
    Problem("flops", "operators", "FLOP", _flops),
)
