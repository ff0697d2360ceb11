"""Attention over a cache of keys and values: heads of any width and grouping, local or not, with its projections."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.models.config import Config
from rooflens.models.family import Family, Normal, Plan, norms
from rooflens.operators.rows import Row
from rooflens.operators.standard import GATED_FLOPS, attention, bias, linear, rotary, vector, wide_norm
from rooflens.records import record

_NORMS: dict[str, Normal] = {"head": "rms", "layer head": "layer", "bare head": "bare rms"}
LOCAL_HEADS = {
    "H": "swa_num_attention_heads", "K": "swa_num_key_value_heads", "W": "swa_head_dim", "Wv": "swa_v_head_dim",
}  # fmt: skip
Product = tuple[str, str, str, str]  # name, heads, head width, what a file keeps it in


@record
class Form:
    """How one layer's attention differs from its neighbours'.

    values: "own"; "keys" when no values are projected; "earlier" when the layer reads keys and values that an earlier
    layer cached. value_width: the letter of a value head. sinks: a learned weight a head beside the positions.
    """

    values: str = "own"
    value_width: str = "W"
    sinks: bool = False


OWN = Form()


def letters(config: Config) -> dict[str, float]:
    """Heads and their width, checked against each other."""
    width, heads = config.size("width"), config.size("heads")
    kv_heads = config.size("kv_heads", heads)
    config.must(f"{heads} query heads are not a multiple of {kv_heads} key-value heads", holds=heads % kv_heads == 0)
    if not config.has("head_width"):
        divides = width % heads == 0
        config.must(f"hidden_size {width} is not a multiple of num_attention_heads {heads}", holds=divides)
    head_width = config.size("head_width", max(width // heads, 1))
    found = {"H": float(heads), "K": float(kv_heads), "G": heads / kv_heads, "W": float(head_width)}
    return {**found, "Wv": float(config.size("v_head_dim"))} if config.has("v_head_dim") else found


def local_letters(config: Config) -> dict[str, float]:
    """The heads of local layers, where they have others."""
    return {letter: float(config.size(key)) for letter, key in LOCAL_HEADS.items() if config.has(key)}


def rows(plan: Plan, form: Form = OWN) -> tuple[Row, ...]:
    """Projections, norms, rotary positions, attention, output."""
    family, width = plan.family, form.value_width
    return (
        *_projections(plan, form),
        *_head_norms(plan, form),
        *_rotary(family, form),
        *([bias("sinks", "H")] if form.sinks else []),
        *attention(plan.choices.attention, width),
        *gating(plan, width),
        *family.attention_extra,
        linear("out", f"B T H {width}, H {width} D -> B T D", "project", stored="o"),
        *([bias("out bias", "D")] if plan.asked(family.out_bias) else []),
        *plan.after("out", joined=plan.asked(family.parallel)),
    )


def gating(plan: Plan, width: str) -> Iterator[Row]:
    """A gate on what attention gives: inside the q projection, or a product of its own."""
    gate = plan.said(plan.family.gate)
    if gate in ("wide", "head"):
        heads = f"H {width}" if gate == "wide" else "H"
        yield linear("gate", f"B T D, D {heads} -> B T {heads}", "project", stored="gate")
    if gate:
        yield vector("gating", f"B T H {width} -> B T H {width}", GATED_FLOPS)


def _projections(plan: Plan, form: Form) -> Iterator[Row]:
    for i, (name, heads, width, stored) in enumerate(_products(plan, form)):
        rides = plan.choices.fused and i > 0
        spec, touches = f"B T D, D {heads} {width} -> B T {heads} {width}", "wy" if rides else "xwy"
        yield Row(name, spec, "weight", "project", touches, rides=rides, stored=stored)
        if i == 0:
            yield from plan.norm("attention norm")
        if plan.asked(plan.family.qkv_bias):
            yield bias(f"{name} bias", f"{heads} {width}")


def _products(plan: Plan, form: Form) -> list[Product]:
    queries = "2H" if plan.said(plan.family.gate) == "doubled" else "H"
    q, k, v = f"q: {queries} W, D", "k: K W, D", f"v: K {form.value_width}, D"
    if plan.packs("qkv"):
        q = k = v = f"qkv: {queries}+2K W, D"
    if form.values == "earlier":
        return [("q", queries, "W", q)]
    values = [("v", "K", form.value_width, v)] if form.values == "own" else []
    if not plan.choices.fused:
        return [("q", queries, "W", q), ("k", "K", "W", k), *values]
    if form.values == "own" and form.value_width == "W":
        return [("qkv", f"{queries}+2K", "W", q if q == k else f"{q}; {k}; {v}")]
    return [("qk", f"{queries}+K", "W", f"{q}; {k}"), *values]


def _head_norms(plan: Plan, form: Form) -> Iterator[Row]:
    kind = plan.said(plan.family.head_norm)
    sides = [("q norm", "H"), ("k norm", "K")][: 1 if form.values == "earlier" else 2]
    for name, heads in sides if kind else []:
        if kind.endswith("head"):
            yield from norms(name, _NORMS[kind], f"{heads} W")
        else:  # "whole" and "heads" hold one weight for each value of every head
            yield wide_norm(name, f"{heads} W")


def _rotary(family: Family, form: Form) -> Iterator[Row]:
    heads = "H" if form.values == "earlier" else "H+K"
    if family.positions == "rotary":
        yield rotary(f"B T {heads} W")
