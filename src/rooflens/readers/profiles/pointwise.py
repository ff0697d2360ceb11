"""Operators of PyTorch without products: element-wise, reductions, norms, copies, look-ups; one FLOP a result."""

from __future__ import annotations

import math
from collections.abc import Callable

from rooflens.operators.standard import LAYER_NORM_FLOPS, RMS_NORM_FLOPS, SOFTMAX_FLOPS
from rooflens.readers.profiles.tensors import TYPES, Tensors, Work

Rule = Callable[[Tensors], "Work | None"]

_MATH = """add sub rsub mul div true_divide floor_divide remainder maximum minimum pow neg exp exp2 expm1 log log2 log1p
cos sin tan tanh sqrt rsqrt reciprocal abs sign sigmoid silu gelu relu leaky_relu elu selu mish hardtanh hardswish
hardsigmoid softplus clamp clamp_min clamp_max floor ceil round trunc erf erfinv lerp addcmul addcdiv square logit
threshold fmod atan2 sigmoid_backward tanh_backward silu_backward gelu_backward threshold_backward dropout
native_dropout bernoulli bitwise_and bitwise_or bitwise_xor bitwise_not cumsum logcumsumexp"""
_MOVES = "clone contiguous _to_copy to where masked_fill tril triu roll flip index_fill fill zero"
_COMPARES = "eq ne lt le gt ge logical_and logical_or logical_not logical_xor isnan isinf isin isfinite"
_REDUCES = """sum mean amax amin max min argmax argmin prod norm linalg_vector_norm var std var_mean any all logsumexp
nansum count_nonzero"""


def rule(name: str) -> Rule | None:
    """How to count the operator of this name; None for one that is not known."""
    space, _, plain = name.rpartition("::")
    if space == "aten":
        base = plain.partition(".")[0]
        return _RULES.get(base) or (_in_place if base.removesuffix("_") in _POINTWISE and base.endswith("_") else None)
    return _generated if plain.startswith("triton_") and not space else None


def _pointwise(flops_each: float, result_bytes: int | None = None) -> Rule:
    """Every operand read, the result written with the widest type; it has the sizes that operands broadcast to."""

    def counted(t: Tensors) -> Work | None:
        if not t.full():
            return None
        results = t.broadcast()
        widest = t.widest()
        each = t.item(widest) if result_bytes is None else result_bytes
        read = sum(t.bytes(at) for at in t.full())
        return Work(_math(t, widest), 0.0, flops_each * results, read + results * each)

    return counted


def _math(t: Tensors, at: int) -> str:
    """Element-wise work on 16-bit values is done in fp32."""
    return "fp64" if TYPES[t.types[at]][0] == "fp64" else "fp32"


def _in_place(t: Tensors) -> Work | None:
    """The first operand is read and written."""
    if not t.is_full(0):
        return None
    return Work(_math(t, 0), 0.0, float(t.numel(0)), t.bytes(0) + sum(t.bytes(at) for at in t.full()))


def _fill(t: Tensors) -> Work | None:
    return Work("fp32", 0.0, 0.0, t.bytes(0)) if t.is_full(0) else None


def _copy(t: Tensors) -> Work | None:
    """The second operand is read, the first written; where the second is smaller it is broadcast."""
    return Work("fp32", 0.0, 0.0, t.bytes(0) + t.bytes(1)) if t.has(0) and t.has(1) else None


def _reduce(t: Tensors) -> Work | None:
    """One FLOP a value read; the result has the sizes of the dimensions that are left."""
    shape = t.shape(0)
    along = t.sizes(1) if len(t.values) > 1 else []
    left = [n for i, n in enumerate(shape) if i not in {at % len(shape) for at in along}] if along and shape else []
    return Work(_math(t, 0), 0.0, float(t.numel(0)), t.bytes(0) + math.prod(left) * t.item(0))


def _normal(flops_each: float) -> Rule:
    """Read, and written with the type of the operand; weights beside it."""

    def counted(t: Tensors) -> Work | None:
        beside = sum(t.bytes(at) for at in t.full()[1:])
        return Work(_math(t, 0), 0.0, flops_each * t.numel(0), 2 * t.bytes(0) + beside)

    return counted


def _backward_normal(flops_each: float) -> Rule:
    """Operands read, one result of the size of the first written."""

    def counted(t: Tensors) -> Work | None:
        return Work(_math(t, 0), 0.0, flops_each * t.numel(0), t.bytes(0) + sum(t.bytes(at) for at in t.full()))

    return counted


def _cat(t: Tensors) -> Work | None:
    """Every tensor of the list read and written. The profiler does not say their type; the kernel's name may."""
    lists = t.shapes[0]
    if (
        t.item_bytes is None
        or not isinstance(lists, (list, tuple))
        or not all(isinstance(x, (list, tuple)) for x in lists)
    ):
        return None
    values = sum(math.prod(shape) for shape in lists)
    return Work("fp32", 0.0, 0.0, 2.0 * values * t.item_bytes)


def _embedding(t: Tensors) -> Work | None:
    """The rows that are looked up, read and written; their indices read."""
    rows = t.numel(1)
    return Work("fp32", 0.0, 0.0, 2.0 * rows * t.shape(0)[-1] * t.item(0) + t.bytes(1))


def _index_select(t: Tensors) -> Work | None:
    shape, rows, along = t.shape(0), t.numel(2), t.sizes(1)
    each = t.numel(0) / shape[along[0]] if along and shape[along[0]] else 0.0
    return Work("fp32", 0.0, 0.0, 2.0 * rows * each * t.item(0) + t.bytes(2))


def _gather(t: Tensors) -> Work | None:
    return Work("fp32", 0.0, 0.0, 2.0 * t.numel(2) * t.item(0) + t.bytes(2))


def _generated(t: Tensors) -> Work | None:
    """A kernel that a compiler wrote: each tensor that it was handed once; what it computes nobody says."""
    if not t.full():
        return None
    note = "bytes: each tensor that the generated kernel was handed, once"
    return Work(None, None, None, sum(t.bytes(at) for at in t.full()), note)


_POINTWISE = {*_MATH.split(), *_MOVES.split(), *_COMPARES.split()}
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_MATH.split(), _pointwise(1.0)),
    **dict.fromkeys(_MOVES.split(), _pointwise(0.0)),
    **dict.fromkeys(_COMPARES.split(), _pointwise(1.0, result_bytes=1)),
    **dict.fromkeys(_REDUCES.split(), _reduce),
    **dict.fromkeys(("fill_", "zero_", "uniform_", "normal_", "random_", "exponential_"), _fill),
    "copy_": _copy,
    **dict.fromkeys(("softmax", "_softmax", "log_softmax", "_log_softmax"), _normal(SOFTMAX_FLOPS)),
    **dict.fromkeys(("native_layer_norm", "layer_norm", "native_group_norm", "batch_norm", "native_batch_norm",
                     "cudnn_batch_norm"), _normal(LAYER_NORM_FLOPS)),
    **dict.fromkeys(("rms_norm", "_fused_rms_norm"), _normal(RMS_NORM_FLOPS)),
    **dict.fromkeys(("_softmax_backward_data", "_log_softmax_backward_data"), _backward_normal(SOFTMAX_FLOPS)),
    "native_layer_norm_backward": _backward_normal(LAYER_NORM_FLOPS),
    "cat": _cat,
    "_cat": _cat,
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
}  # fmt: skip
