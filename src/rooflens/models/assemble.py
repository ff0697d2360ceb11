"""From a family and a config to the model's letters and blocks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from rooflens.models import attention, ffn, layers, recurrent
from rooflens.models.attention import Form
from rooflens.models.config import MOST_LAYERS, Config
from rooflens.models.family import Family, Plan
from rooflens.models.layers import BOTH, CHUNKED, EXPERTS, FOLLOWS, FULL, LOCAL, NONE, RECURRENT
from rooflens.models.model import Block, Choices
from rooflens.operators.rows import Home, Row
from rooflens.operators.standard import bias, linear
from rooflens.records import replace

Letters = dict[str, float]
Kind = TypeVar("Kind", bound=Hashable)


def letters(config: Config, family: Family) -> Letters:
    """The sizes that no layer changes, checked against each other."""
    count = config.size("layers", most=MOST_LAYERS)
    mixers, halves = _halves(config, family, count)
    found: Letters = {"L": float(count), "D": float(config.size("width")), "V": float(config.size("vocab"))}
    if set(mixers) - {RECURRENT, NONE}:
        found |= attention.letters(config) if family.mixer == "attention" else _latent_letters(config, family)
    else:
        config.moot("heads", "kv_heads", "head_width")
    if LOCAL not in mixers:
        config.moot(*attention.LOCAL_HEADS.values())
    if {RECURRENT, BOTH} & set(mixers):
        found |= recurrent.letters(config, family)
    elif family.recurrent:
        config.moot(*recurrent.FACTS)
    if EXPERTS in halves and family.experts:
        found |= ffn.expert_letters(config, family.experts)
    else:
        config.moot("taps")
    config.moot("ffn", "expert_ffn" if EXPERTS not in halves else "ffn")
    if layers.DENSE in halves:
        usual = not family.gated and not config.of_class("ffn")  # four times the width where the class says no other
        found["F"] = float(config.size("ffn", 4 * int(found["D"]) if usual else None))
    if family.positions == "learned":
        found["C"] = float(config.size("context") + family.offset)
    if config.has("embed_width"):
        found["De"] = float(config.size("embed_width"))
    return found


def blocks(config: Config, sizes: Letters, choices: Choices, family: Family) -> tuple[Block, ...]:
    """Embedding, the mixers of all layers by kind, their feed-forwards by kind, head."""
    plan = Plan(config, family, choices)
    mixers, halves = _halves(config, family, int(sizes["L"]))
    return (
        Block("embedding", 1, embedding(plan)),
        *each(mixers, lambda kind: _mixer(plan, kind)),
        *each(halves, lambda kind: _feed_forward(plan, kind)),
        Block("head", 1, head(plan)),
    )


def each(kinds: Iterable[Kind], build: Callable[[Kind], Iterable[Block]]) -> Iterator[Block]:
    """The blocks of every kind, counted, in the order in which the kinds first appear."""
    at: dict[Kind, list[int]] = {}
    for i, kind in enumerate(kinds):
        at.setdefault(kind, []).append(i)
    for kind, found in at.items():
        yield from (replace(block, count=len(found), layers=tuple(found)) for block in build(kind))


def embedding(plan: Plan) -> tuple[Row, ...]:
    """The look-up: stored whole, of which only the rows of this step's tokens move."""
    width = "De" if plan.config.has("embed_width") else "D"
    table = (
        Row("embedding", f"B T, V {width} -> B T {width}", "table", "embed", "wy", 0.0, stored="model.embed_tokens"),
    )
    widened = (linear("embedding in", "B T De, De D -> B T D"),) if width == "De" else ()
    positions = (Row("positions", "B T, [C] D -> B T D", "table", "embed", "w", 1.0, rides=True),)
    first_norm = tuple(plan.norm("embedding norm")) if plan.family.embed_norm else ()
    return table + widened + (positions if plan.family.positions == "learned" else ()) + first_norm


def head(plan: Plan) -> tuple[Row, ...]:
    """The last norm and the logits, from the embedding's own weights where these are tied."""
    tied: Home = "tied" if plan.config.flag("tie_word_embeddings", default=True) else "weight"
    narrow = plan.config.has("embed_width")
    return (
        *([linear("embedding out", "B Y D, D De -> B Y De")] if narrow else []),
        linear("lm_head", "B Y De, De V -> B Y V" if narrow else "B Y D, D V -> B Y V", "head", tied, "lm_head"),
        *(plan.norm("final norm", tokens="B Y") if plan.asked(plan.family.final_norm) else ()),
        *([bias("lm_head bias", "V", "B Y")] if plan.asked(plan.family.head_bias) else []),
    )


def _halves(config: Config, family: Family, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The mixer and the feed-forward of every layer."""
    if family.pattern == "single":
        both = layers.single(config, count)
        return tuple(mixer for mixer, _ in both), tuple(half for _, half in both)
    if family.pattern == "R" and not config.has("ffn"):
        return (RECURRENT,) * count, (NONE,) * count
    mixed = family.experts is not None and config.count("experts", None) > 0
    if family.experts and not mixed:
        config.moot("active", "expert_layer_period", "expert_layer_offset")
    sparse = layers.feed_forwards(config, count) if mixed else (layers.DENSE,) * count
    return layers.mixers(config, family, count), sparse


def _mixer(plan: Plan, kind: str) -> Iterator[Block]:
    if kind == BOTH:
        yield _attention(plan, FULL)
    if kind in (RECURRENT, BOTH):
        yield Block(plan.family.recurrent, 1, recurrent.rows(plan, normed=kind == RECURRENT))
    if kind in (FULL, LOCAL, CHUNKED, FOLLOWS):
        yield _attention(plan, kind)


def _attention(plan: Plan, kind: str) -> Block:
    family, config = plan.family, plan.config
    if family.mixer != "attention":
        return _latent_attention(plan, kind)
    values = "Wv" if config.has("v_head_dim") else "W"
    sinks = family.sinks == "all" or (kind == LOCAL and family.sinks == "local")
    rows, reach = attention.rows(plan, Form(value_width=values, sinks=sinks)), layers.reach(config, kind)
    if kind == CHUNKED:
        return Block("chunked attention", 1, rows, window=reach, local="chunk")
    if kind == LOCAL:
        return Block("local attention", 1, rows, attention.local_letters(config), reach)
    return Block("attention", 1, rows)


def _latent_letters(config: Config, family: Family) -> Letters:
    from rooflens.models import mla

    return mla.letters(config, family)


def _latent_attention(plan: Plan, kind: str) -> Block:
    from rooflens.models import mla

    if plan.family.mixer == "mla":
        return Block("latent attention", 1, mla.rows(plan))
    rows, reach = mla.rows(plan, selects=kind != FOLLOWS), float(plan.config.size("index_topk"))
    return Block("sparse attention", 1, rows, window=reach, local="selection")


def _feed_forward(plan: Plan, kind: str) -> Iterator[Block]:
    normed = not (plan.asked(plan.family.parallel) and plan.asked(plan.family.shared_norm))
    if kind == EXPERTS:
        yield Block("experts", 1, ffn.mixture(plan, normed=normed))
    elif kind != NONE:
        yield Block("ffn", 1, ffn.dense(plan, normed=normed))
