"""What an operator of PyTorch asks for, from the shapes and types that the profiler wrote down beside it.

Products and attention are counted by the same rows that price models; element-wise work is one FLOP a result, also
where a function (exp, silu) takes more. Bytes: every operand and result once to or from main memory; what a cache keeps
between two kernels is not known here. A causal mask counts half of the scores. Not counted: padding, retries,
workspaces. The result of a scaled (8-bit) product is taken to be 16 bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rooflens.dtypes import Dtype
from rooflens.operators.cost import Cost, Precision, cost_of, total
from rooflens.operators.standard import ALONE, attended, attention
from rooflens.readers.profiles import pointwise
from rooflens.readers.profiles.tensors import Tensors, Work
from rooflens.units import MOST

Rule = Callable[[Tensors], "Work | None"]


def work(name: str, shapes: Any, types: Any, values: Any, item_bytes: int | None = None) -> Work | None:
    """What this operator asks for; None where nobody here knows it, or its shapes were not recorded.

    item_bytes: of a value, where the name of the kernel says it and the types of the operator do not.
    """
    rule = RULES.get(name) or pointwise.rule(name)
    if rule is None or not isinstance(shapes, (list, tuple)):
        return None
    tensors = Tensors(tuple(shapes), _listed(types), _listed(values), item_bytes)
    try:
        found = rule(tensors)
    except (TypeError, ValueError, LookupError, OverflowError):
        return None  # recorded otherwise than this operator is called: an older or newer form of it
    return found if found is None or found.bytes <= MOST else None


def _listed(said: Any) -> tuple[Any, ...]:
    """What a trace lists; a damaged one may say anything in its place."""
    return tuple(said) if isinstance(said, (list, tuple)) else ()


@lru_cache(maxsize=65536)
def is_known(name: str) -> bool:
    """Whether the values that an operator was called with are of use here."""
    return name in RULES or pointwise.rule(name) is not None


def _work(cost: Cost, dtype: str, times: float = 1.0, more_bytes: float = 0.0) -> Work:
    return Work(dtype, float(cost.total_flops) * times, float(cost.vector_flops) * times,
                float(cost.bytes) * times + more_bytes)  # fmt: skip


def _all_as(stored: Dtype) -> Precision:
    return Precision(weights=stored, kv=stored, activations=stored)


def _product(m: int, k: int, n: int, stored: Dtype, times: int = 1, more_bytes: float = 0.0) -> Work:
    """A matrix product: 2 M K N, and its three matrices moved once."""
    if not all((m, k, n)):
        return Work(stored.math, 0.0, 0.0, more_bytes)
    cost = cost_of(ALONE["gemm"], {"B": float(m), "D": float(k), "F": float(n)}, _all_as(stored))
    return _work(cost, stored.math, times, more_bytes)


def _mm(first: int) -> Rule:
    """A product of two matrices, or of stacks of them, that begin at this argument; what stands before is added."""

    def rule(t: Tensors) -> Work | None:
        *stack, m, k = t.shape(first)
        *others, k2, n = t.shape(first + 1)
        if k != k2 or stack != others:
            return None
        added = t.bytes(0) if first else 0.0
        return _product(m, k, n, t.dtype(first), math.prod(stack), added)

    return rule


def _linear(t: Tensors) -> Work | None:
    *rows, k = t.shape(0)
    n, k2 = t.shape(1)
    return _product(math.prod(rows), k, n, t.dtype(0), 1, t.bytes(2) if t.has(2) else 0.0) if k == k2 else None


def _matmul(t: Tensors) -> Work | None:
    a, b = t.shape(0), t.shape(1)
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        return None
    if len(b) == 2:
        return _product(math.prod(a[:-1]), a[-1], b[-1], t.dtype(0))
    return _product(a[-2], a[-1], b[-1], t.dtype(0), math.prod(a[:-2])) if a[:-2] == b[:-2] else None


def _mv(first: int) -> Rule:
    def rule(t: Tensors) -> Work | None:
        m, k = t.shape(first)
        return _product(m, k, 1, t.dtype(first), 1, t.bytes(0) if first else 0.0)

    return rule


def _scaled_mm(t: Tensors) -> Work | None:
    """8-bit or 4-bit operands, a 16-bit result. 4-bit ones are packed two a byte, so K is twice the size seen."""
    (m, k), (k2, n) = t.shape(0), t.shape(1)
    if k != k2:
        return None
    stored = t.dtype(0)
    k *= 2 if stored.bits == 4 else 1
    cost = cost_of(ALONE["gemm"], {"B": float(m), "D": float(k), "F": float(n)}, _all_as(stored))
    return _work(cost, stored.math, 1, m * n * (2 - stored.bytes))


def _convolution(
    stride_at: int, padding_at: int, dilation_at: int, groups_at: int, transposed_at: int | None = None
) -> Rule:
    """2 x results x channels of a group x taps; results from stride, padding and dilation. Transposed ones: unknown."""

    def rule(t: Tensors) -> Work | None:
        if transposed_at is not None and t.flag(transposed_at) is not False:
            return None
        batch, _, *spaces = t.shape(0)
        out, inside, *taps = t.shape(1)
        steps, pads, gaps = t.sizes(stride_at), t.sizes(padding_at), t.sizes(dilation_at)
        if not len(spaces) == len(taps) == len(steps) == len(pads) == len(gaps) or t.value(groups_at) is None:
            return None
        sizes = zip(spaces, taps, steps, pads, gaps, strict=True)
        results = math.prod((s + 2 * pad - gap * (tap - 1) - 1) // step + 1 for s, tap, step, pad, gap in sizes)
        flops = 2.0 * batch * out * results * inside * math.prod(taps)
        stored = t.dtype(0)
        return Work(stored.math, flops, 0.0, t.bytes(0) + t.bytes(1) + batch * out * results * stored.bytes)

    return rule


def _attention(first: int, causal_at: int, *, heads_first: bool, backward: bool = False) -> Rule:
    """Attention of a query, keys and values that begin at this argument. Backward: five products for two."""

    def rule(t: Tensors) -> Work | None:
        q, k, v = (t.shape(first + i) for i in range(3))
        if not heads_first:
            q, k, v = ([x[0], x[2], x[1], x[3]] for x in (q, k, v))
        (b, h, n, w), (_, kv_heads, s, _), wv = q, k, v[3]
        causal = t.flag(causal_at)
        if causal is None or h % kv_heads or wv != w:
            return None
        seen = attended(min(n, s), s, causal=causal)
        letters = {"B": b, "T": n, "K": kv_heads, "G": h / kv_heads, "W": w, "S": s, "P": seen}
        stored = t.dtype(first)
        cost = total(cost_of(row, {key: float(x) for key, x in letters.items()}, _all_as(stored))
                     for row in attention("flash"))  # fmt: skip
        if backward:
            return Work(stored.math, 2.5 * float(cost.total_flops), 0.0, 2.0 * float(cost.bytes))
        return _work(cost, stored.math)

    return rule


def _each(names: Sequence[str], rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names, rule)


RULES: dict[str, Rule] = {
    **_each(("aten::mm", "aten::bmm", "aten::_int_mm"), _mm(0)),
    **_each(("aten::addmm", "aten::baddbmm", "aten::addmm_", "aten::_addmm_activation", "aten::addbmm"), _mm(1)),
    "aten::linear": _linear,
    "aten::matmul": _matmul,
    "aten::mv": _mv(0),
    "aten::addmv": _mv(1),
    "aten::addmv_": _mv(1),
    "aten::_scaled_mm": _scaled_mm,
    **_each(("aten::cudnn_convolution", "aten::miopen_convolution"), _convolution(3, 2, 4, 5)),
    **_each(("aten::convolution", "aten::_convolution"), _convolution(3, 4, 5, 8, 6)),
    "aten::_cudnn_attention_forward": _attention(0, 10, heads_first=True),
    "aten::_scaled_dot_product_cudnn_attention": _attention(0, 6, heads_first=True),
    "aten::_scaled_dot_product_flash_attention": _attention(0, 4, heads_first=True),
    "aten::_scaled_dot_product_efficient_attention": _attention(0, 6, heads_first=True),
    "aten::_flash_attention_forward": _attention(0, 8, heads_first=False),
    "aten::_efficient_attention_forward": _attention(0, 9, heads_first=False),
    "aten::_flash_attention_backward": _attention(1, 11, heads_first=False, backward=True),
    "aten::_scaled_dot_product_flash_attention_backward": _attention(1, 11, heads_first=True, backward=True),
    "aten::_scaled_dot_product_efficient_attention_backward": _attention(1, 11, heads_first=True, backward=True),
    "aten::_scaled_dot_product_cudnn_attention_backward": _attention(1, 14, heads_first=True, backward=True),
    "aten::_cudnn_attention_backward": _attention(1, 14, heads_first=True, backward=True),
    "flash_attn::_flash_attn_forward": _attention(0, 5, heads_first=False),
}
