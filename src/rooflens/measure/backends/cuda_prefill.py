"""Causal attention of a whole prompt as any CuPy user writes it: the scores of all pairs go through memory."""

from __future__ import annotations

import math
from typing import Any

from rooflens.measure.backend import AttentionShape, Cannot, Kernel
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_data import STORED, normal, poison

TOLERANCE = {"fp32": 1e-5, "fp16": 5e-3}
CALLS = 8  # scores, mask, max, subtract, exp, sum, divide, values


def prefill(card: Card, dtype: str, shape: AttentionShape, seed: int) -> Kernel:
    """The one way there is. Raises Cannot for a dtype that CuPy does not multiply."""
    if dtype not in TOLERANCE:
        raise Cannot(f"prefill attention {dtype} skipped: CuPy multiplies fp16 and fp32")
    cp, T, W = card.cp, shape.tokens, shape.head_width
    caches, group = shape.batch * shape.kv_heads, shape.heads // shape.kv_heads
    q = normal(cp, (caches, group, T, W), dtype, seed) * q_scale(cp, dtype, W)
    k, v = (normal(cp, (caches, 1, T, W), dtype, seed + i) for i in (1, 2))
    later = cp.triu(cp.full((T, T), -cp.inf, q.dtype), 1)
    out = cp.empty_like(q)

    def run() -> None:
        scores = cp.matmul(q, k.swapaxes(-1, -2)) + later
        weights = cp.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        cp.matmul(weights, v, out=out)

    def error() -> float:
        with card.here():
            poison(out)
            run()
            rows = ((0, 0, 0), (0, 0, T // 2), (caches - 1, group - 1, T - 1))
            return max(_row_error(cp, q, k, v, out, *row) for row in rows)

    return Kernel(run, "naive", error, TOLERANCE[dtype], calls=CALLS, setting=card.here, hosted=True)


def _row_error(cp: Any, q: Any, k: Any, v: Any, out: Any, cache: int, head: int, row: int) -> float:
    """Of one token's output against float64; infinite when it was not written."""
    keys, values = (x[cache, 0, : row + 1].astype("float64") for x in (k, v))
    scores = keys @ q[cache, head, row].astype("float64")
    weights = cp.exp(scores - scores.max())
    expected = weights @ values / weights.sum()
    off = float(cp.abs(out[cache, head, row] - expected).max() / cp.abs(expected).max())
    return math.inf if math.isnan(off) else off


def q_scale(cp: Any, dtype: str, width: int) -> Any:
    """1 / sqrt(width) in the dtype of the queries."""
    return cp.dtype(STORED[dtype]).type(1 / math.sqrt(width))
