"""Multi-head latent attention: one latent a position stands for the keys and values of all heads.

Absorbed: queries go into the latent space, so that the cache is read as it is (decode). Expanded: keys and values are
made from the latents of every position, then attended to (prefill). The same weights, the same result, other prices.
With an indexer, only the best-scored positions are attended to.
"""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.models.attention import gating
from rooflens.models.config import Config
from rooflens.models.family import Family, Plan
from rooflens.models.model import Choices
from rooflens.operators.rows import Home, Row
from rooflens.operators.standard import bias, linear, norm, rotary, softmax, vector

EXPAND = "kv_b: H Wn+Wv, R"  # keys and values of all heads, made from the latent


def letters(config: Config, family: Family) -> dict[str, float]:
    """Heads, latents and the two parts of a head's width; the indexer's, where there is one."""
    config.moot("kv_heads", "head_width", "qk_head_dim")
    found = {
        "H": config.size("heads"), "R": config.size("kv_lora_rank"), "Wn": config.size("qk_nope_head_dim"),
        "Wr": config.size("qk_rope_head_dim"), "Wv": config.size("v_head_dim"), "Rq": config.count("q_lora_rank"),
    }  # fmt: skip
    if family.mixer == "selected mla":
        found |= {"Hi": config.size("index_n_heads"), "Wi": config.size("index_head_dim")}
    return {name: float(size) for name, size in found.items() if size}


def rows(plan: Plan, *, selects: bool = False) -> tuple[Row, ...]:
    """Latents, queries, attention in the chosen form, output. `selects`: this layer has an indexer of its own."""
    return (
        *_latents(plan),
        *(_indexer() if selects else ()),
        *(_absorbed(plan.choices) if plan.choices.mla == "absorbed" else _expanded(plan.choices)),
        *gating(plan, "Wv"),
        linear("out", "B T H Wv, H Wv D -> B T D", "project", stored="o"),
        *([bias("out bias", "D")] if plan.asked(plan.family.out_bias) else []),
        *plan.after("out"),
    )


def _latents(plan: Plan) -> Iterator[Row]:
    """Down to the latents, which every device holds whole, and up to its own query heads."""
    low_rank = plan.config.count("q_lora_rank") > 0
    queries = ("q_a", "Rq") if low_rank else ("q", "H Wn+Wr")
    for i, (name, width) in enumerate((queries, ("kv_a", "R+Wr"))):
        rides = plan.choices.fused and i > 0
        spec, touches = f"B T D, D {width} -> B T {width}", "wy" if rides else "xwy"
        yield Row(name, spec, "weight", "project", touches, rides=rides, stored=name)
        if i == 0:
            yield from plan.norm("attention norm")
        if plan.asked(plan.family.qkv_bias) and name != "q":
            yield bias(f"{name} bias", width)
    yield norm("kv norm", "R")
    if low_rank:
        yield norm("q norm", "Rq")
        yield linear("q_b", "B T Rq, Rq H Wn+Wr -> B T H Wn+Wr", "project", stored="q_b")
    yield rotary("B T H+1 Wr")


def _absorbed(choices: Choices) -> tuple[Row, ...]:
    """The latent is read once, for scores and values alike."""
    return (
        linear("absorb k", "B T H Wn, H Wn R -> B T H R", "project", stored=EXPAND),
        *_attend(choices, "kv", "H R+Wr, B [S] R+Wr", "B [S] R", "H R"),
        linear("absorb v", "B T H R, H R Wv -> B T H Wv", "project", stored=EXPAND),
    )


def _expanded(choices: Choices) -> tuple[Row, ...]:
    """Keys and values are written out for every position, then read by plain attention."""
    return (
        Row("expand", "B S R, R H Wn+Wv -> B S H Wn+Wv", "weight", "project", "wy", stored=EXPAND),
        Row("latents", "B T, B [S] R+Wr -> B T", "kv", "attend", "w", 0.0, rides=True),
        *_attend(choices, "act", "H Wn+Wr, B [S] H Wn+Wr", "B [S] H Wv", "H Wv"),
    )


def _attend(choices: Choices, home: Home, first: str, second: str, out: str) -> tuple[Row, Row, Row]:
    """Scores, softmax, values; the latent of a cache is not read again for the values where one kernel does it all."""
    fused = choices.attention == "flash"
    name, touches = ("attention", "xw") if fused else ("scores", "xwy")
    values = ("y" if home == "kv" else "wy") if fused else "xwy"
    return (
        Row(name, f"B T {first} -> B T H P", home, "attend", touches),
        softmax(choices.attention, "B T H P"),
        Row("values", f"B T H P, {second} -> B T {out}", home if fused else "act", "attend", values, rides=fused),
    )


def _indexer() -> tuple[Row, ...]:
    """A small key a position, scored by a few heads that every device holds; the scores choose what is attended to."""
    return (
        linear("index q", "B T Rq, Rq Hi Wi -> B T Hi Wi", "project", stored="wq_b"),
        linear("index k", "B T D, D Wi -> B T Wi", "project", stored="wk"),
        norm("index norm", "Wi", layer_norm=True),
        bias("index norm bias", "Wi"),
        Row("index weights", "B T D, D Hi -> B T Hi", "weight", "router", "wy", rides=True),
        Row("index scores", "B T Hi Wi, B [Si] Wi -> B T Hi Pi", "kv", "attend", "xw"),
        vector("choice", "B T Hi Pi -> B T Hi Pi", 3.0),
    )
