"""The rows that most models share, and operators that stand alone.

FLOPs a point on the vector unit, by convention: bias and residual 1, rotary 3 (two products, one sum), softmax 5
(max, subtract, exponential, sum, divide), RMS norm 4, layer norm 8, gated activation 5. Source: operation counts.
"""

from __future__ import annotations

from typing import Literal

from rooflens.arrays import Number
from rooflens.operators.rows import Collective, Function, Home, Part, Row

AttentionForm = Literal["flash", "unfused", "fused-softmax"]

SOFTMAX_FLOPS = 5.0
RMS_NORM_FLOPS = 4.0
LAYER_NORM_FLOPS = 8.0
ROTARY_FLOPS = 3.0
ACTIVATION_FLOPS = 4.0
GATED_FLOPS = 5.0


def linear(name: str, spec: str, part: Part = "linear", home: Home = "weight", stored: str = "") -> Row:
    """A matrix product against stored weights, a kernel of its own."""
    return Row(name, spec, home, part, stored=stored)


def bias(name: str, width: str, tokens: str = "B T") -> Row:
    """A vector added to the output of the row before."""
    return Row(name, f"{tokens} {width}, {width} -> {tokens} {width}", "weight", "norm", "w", 1.0, rides=True)


def norm(name: str, width: str = "D", tokens: str = "B T", *, layer_norm: bool = False) -> Row:
    """RMS or layer norm with learned weights, riding with its neighbour: only its weights move."""
    flops = LAYER_NORM_FLOPS if layer_norm else RMS_NORM_FLOPS
    last = width.rsplit(maxsplit=1)[-1]
    return Row(name, f"{tokens} {width}, {last} -> {tokens} {width}", "weight", "norm", "w", flops, rides=True)


def wide_norm(name: str, width: str) -> Row:
    """RMS norm with a weight for each value of several factors (all heads at once), riding with its neighbour."""
    return Row(name, f"B T {width}, {width} -> B T {width}", "weight", "norm", "w", RMS_NORM_FLOPS, rides=True)


def vector(name: str, spec: str, flops_per_point: float, function: Function | None = None) -> Row:
    """Element-wise work that stays on chip, riding with the row before."""
    return Row(name, spec, "none", "elementwise", "", flops_per_point, rides=True, function=function)


def rotary(heads: str) -> Row:
    """The rotary embedding of these heads: "B T H+K W"."""
    return vector("rotary", f"{heads} -> {heads}", ROTARY_FLOPS, "rotary")


def activation(width: str, flops_per_point: float) -> Row:
    """What stands between the products of a feed-forward network of this width: "B T F"."""
    return vector("activation", f"{width} -> {width}", flops_per_point, "activation")


def link(name: str, collective: Collective, message: str = "B T D") -> Row:
    """A collective of this message, a kernel of its own."""
    return Row(name, f"{message} -> {message}", "link", "link", "", 0.0, collective=collective)


def attention(form: AttentionForm = "flash", value_width: str = "W") -> tuple[Row, ...]:
    """Grouped-query attention over a cache: scores, softmax, values. value_width: the letter of a value head.

    flash: one kernel, the scores stay on chip. unfused: three kernels, the scores are written, read, normalised,
    written and read again. fused-softmax: two kernels, the scores are written and read once.
    """
    scores, last = "B T K G W, B [S] K W -> B T K G P", value_width
    values = f"B T K G P, B [S] K {last} -> B T K G {last}"
    fused = form == "flash"
    return (
        Row("attention" if fused else "scores", scores, "kv", "attend", "xw" if fused else "xwy"),
        softmax(form, "B T K G P"),
        Row("values", values, "kv", "attend", "wy" if fused else "xwy", rides=fused),
    )


def attended(tokens: Number, positions: Number, *, causal: bool = True) -> Number:
    """Positions that each of the new tokens attends to, on average: P of S.

    Causal: the last token sees all S, each before it one less, so S - (T - 1) / 2; else all S.
    """
    return positions - (tokens - 1) / 2 if causal else positions


def softmax(form: AttentionForm, scores: str) -> Row:
    """The softmax of an attention: a kernel of its own only where nothing is fused."""
    alone = form == "unfused"
    touches = "xy" if alone else ""
    return Row("softmax", f"{scores} -> {scores}", "none", "elementwise", touches, SOFTMAX_FLOPS, rides=not alone)


ALONE: dict[str, Row] = {
    "gemm": Row("gemm", "B D, D F -> B F"),
    "elementwise": Row("elementwise", "N -> N", "none", "elementwise", "xy", 1.0),
    "softmax": Row("softmax", "N -> N", "none", "elementwise", "xy", SOFTMAX_FLOPS),
    "rmsnorm": Row("rmsnorm", "N -> N", "none", "norm", "xy", RMS_NORM_FLOPS),
    "layernorm": Row("layernorm", "N -> N", "none", "norm", "xy", LAYER_NORM_FLOPS),
}
