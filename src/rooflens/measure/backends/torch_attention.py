"""Attention through torch: naive and torch's fused form, of one new token or of a whole prompt."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import cycle
from typing import Any

from rooflens.measure.backend import AttentionShape, Cannot, Kernel
from rooflens.measure.backends.torch_work import MOST_COPIES, REFUSALS, TorchDevice, cannot, double
from rooflens.measure.kernels import MOST_KV_BYTES, cold_copies
from rooflens.units import show

TOLERANCE = {"fp32": 1e-5, "fp16": 5e-3, "bf16": 2e-2}
BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}


class TorchAttention:
    """Decode attention, and the causal one of a prompt, on caches [sets, L, B, K, S, W] that take turns."""

    def __init__(self, own: TorchDevice) -> None:
        self._own = own

    def kernels(self, dtype: str, context: int, shape: AttentionShape, seed: int) -> list[Kernel]:
        """Naive and fused. Raises Cannot for a dtype without a form, or a cache that is too large."""
        if dtype not in TOLERANCE:
            raise Cannot(f"decode attention {dtype} skipped: through torch there is no form for {dtype}")
        size = 2.0 * shape.layers * shape.batch * shape.kv_heads * shape.head_width * context * BYTES[dtype]
        if size > min(MOST_KV_BYTES, (self._own.memory_bytes() or math.inf) / 4):
            raise Cannot(f"decode attention {dtype} S={context} skipped: a cache of {show(size, 'B')} is too large")
        sets = cold_copies(self._own.cold_bytes(), size, MOST_COPIES)
        cache = (sets, shape.layers, shape.batch, shape.kv_heads, context, shape.head_width)
        q = self._own.normal((shape.layers, shape.batch, shape.heads, shape.tokens, shape.head_width), dtype, seed)
        k, v = (self._own.normal(cache, dtype, seed + i) for i in (1, 2))
        made = []
        for unit, form, calls in (("naive", _naive, 4), ("fused", _fused, 1)):
            try:
                made.append(self._kernel(unit, form, calls, dtype, (q, k, v)))
            except REFUSALS as error:
                if unit == "naive":
                    raise cannot(f"decode attention {dtype}", self._own, error) from error
        return made

    def _kernel(
        self, unit: str, form: Callable[..., Any], calls: int, dtype: str, data: tuple[Any, Any, Any]
    ) -> Kernel:
        own, (q, k, v) = self._own, data
        turns, out = cycle(range(k.shape[0])), [None] * q.shape[0]

        def step(which: int) -> None:
            for layer in range(q.shape[0]):
                out[layer] = form(own.torch, q[layer], k[which, layer], v[which, layer])

        def error() -> float:
            with own.torch.inference_mode():
                step(0)
            return max(_row_error(own.torch, q[i], k[0, i], v[0, i], out[i]) for i in {0, q.shape[0] - 1})

        with own.torch.inference_mode():
            step(0)
        return Kernel(
            run=lambda: step(next(turns)),
            unit=unit,
            error=error,
            tolerance=TOLERANCE[dtype],
            calls=calls * q.shape[0],
            setting=own.torch.inference_mode,
            hosted=True,
            note=f"{k.shape[0]} caches take turns",
        )


def _naive(torch: Any, q: Any, k: Any, v: Any) -> Any:
    """Queries [B, H, T, W] as [B, K, group x T, W]: scale, scores, softmax, values."""
    B, H, T, W = q.shape
    heads, S = k.shape[1], k.shape[2]
    scores = torch.matmul((q * W**-0.5).reshape(B, heads, -1, W), k.transpose(-1, -2))
    if T > 1:
        later = torch.ones((T, S), dtype=torch.bool, device=q.device).triu(1)
        scores = scores.view(B, H, T, S).masked_fill(later, -math.inf).view(B, heads, -1, S)
    return torch.matmul(torch.softmax(scores, dim=-1), v).view(B, H, T, W)


def _fused(torch: Any, q: Any, k: Any, v: Any) -> Any:
    attend, shared = torch.nn.functional.scaled_dot_product_attention, q.shape[1] != k.shape[1]
    more = {"enable_gqa": True} if shared else {}
    return attend(q, k, v, is_causal=q.shape[2] > 1, **more)


def _row_error(torch: Any, q: Any, k: Any, v: Any, out: Any) -> float:
    """Of the first and the last head's first and last token against float64; infinite when NaN."""
    (B, H, T, W), heads = q.shape, k.shape[1]
    worst = 0.0
    for b, h, t in {(0, 0, 0), (B - 1, H - 1, T - 1)}:
        seen = k.shape[2] - T + t + 1
        keys, values = (double(x[b, h * heads // H, :seen]) for x in (k, v))
        weights = torch.softmax(keys @ double(q[b, h, t]) / math.sqrt(W), dim=-1)
        expected = weights @ values
        worst = max(worst, float((double(out[b, h, t]) - expected).abs().max() / expected.abs().max()))
    return math.inf if math.isnan(worst) else worst
