"""Gemma 3n and 4: heads of two widths, layers that read an earlier layer's cache, an embedding for each layer.

Gemma 3n also carries several copies of the residual stream (AltUp) and a narrow path beside attention (LAuReL).
Source: the classes of transformers.
"""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.models import assemble, attention, ffn, layers
from rooflens.models.attention import Form
from rooflens.models.config import MOST_LAYERS, Config
from rooflens.models.dense import GEMMA2
from rooflens.models.family import Experts, Plan
from rooflens.models.layers import FULL, LOCAL
from rooflens.models.model import Block, Choices
from rooflens.operators.rows import Row
from rooflens.operators.standard import SOFTMAX_FLOPS, bias, linear, norm, vector
from rooflens.records import replace

Letters = dict[str, float]
FAMILY = replace(GEMMA2, head_norm="head", pattern="LLLLLG")


def letters(config: Config) -> Letters:
    """The sizes that no layer changes; those of layers that attend to everything stand in their blocks."""
    sizes = {"L": config.size("layers", most=MOST_LAYERS), "D": config.size("width"), "V": config.size("vocab")}
    found: Letters = {name: float(size) for name, size in sizes.items()} | attention.letters(config)
    per_layer = config.setting("hidden_size_per_layer_input")
    if per_layer:
        found |= {"Dp": float(per_layer), "Vp": float(config.setting("vocab_size_per_layer_input", sizes["V"]))}
    if config.flag("enable_moe_block"):
        found |= ffn.expert_letters(config, Experts())
    if config.has("laurel_rank"):
        found |= {"Rd": float(config.size("laurel_rank")), "U": float(config.size("altup_num_inputs", 4))}
    config.moot("vocab_size_per_layer_input", "activation_sparsity_pattern", "expert_ffn", "experts", "active")
    return found


def blocks(config: Config, sizes: Letters, choices: Choices) -> tuple[Block, ...]:
    """Embeddings, mixers and feed-forwards by kind, head."""
    plan = Plan(config, FAMILY, choices)
    count, shared = int(sizes["L"]), config.setting("num_kv_shared_layers")
    kinds = layers.mixers(config, FAMILY, count)
    config.must(f"num_kv_shared_layers: {shared} of {count} layers leave none that caches", holds=shared < count)
    reads = [i >= count - shared > 0 for i in range(count)]
    double = 2 if config.flag("use_double_wide_mlp") else 1
    widths = [width * (double if later else 1) for width, later in zip(config.sizes("ffn", count), reads, strict=False)]
    extra = tuple(_beside(plan, sizes))
    return (
        Block("embedding", 1, (*assemble.embedding(plan), *_embeddings(sizes))),
        *assemble.each(zip(kinds, reads, strict=True), lambda of: _attention(plan, of[0], reads=of[1])),
        *assemble.each(widths, lambda width: _feed_forward(plan, width, extra, moe="E" in sizes)),
        Block("head", 1, (*assemble.head(plan), *_unembeddings(sizes))),
    )


def _attention(plan: Plan, kind: str, *, reads: bool) -> Iterator[Block]:
    config = plan.config
    own: Letters = {}
    form = Form("earlier" if reads else "own")
    if kind == FULL:
        heads = config.setting("num_global_key_value_heads")
        equal = config.flag("attention_k_eq_v")
        own |= {"W": float(config.setting("global_head_dim"))} if config.setting("global_head_dim") else {}
        own |= {"K": float(heads)} if heads and equal else {}
        form = replace(form, values="keys") if equal and not reads else form
    name = f"{'local ' if kind == LOCAL else ''}attention{', reading an earlier cache' if reads else ''}"
    reach = layers.reach(config, kind)
    yield Block(name, 1, attention.rows(plan, form), own, reach, caches=not reads)


def _feed_forward(plan: Plan, width: int, extra: tuple[Row, ...], *, moe: bool) -> Iterator[Block]:
    """The dense half; beside it, in models with experts, a router and these, each with its own norms."""
    experts = tuple(_experts(plan)) if moe else ()
    rows = (*ffn.mlp(plan, "F", "linear", normed=True), *experts, *plan.after("down"), *extra)
    yield Block("ffn and experts" if moe else "ffn", 1, rows, {"F": float(width)})


def _experts(plan: Plan) -> Iterator[Row]:
    yield linear("router", "B T D, D E -> B T E", "router")
    yield bias("router scale", "D")
    yield bias("expert scale", "E")
    yield vector("choice", "B T E -> B T E", SOFTMAX_FLOPS)
    yield from ffn.expert_rows(plan, Experts())
    for name in ("ffn norm after", "experts norm before", "experts norm after"):
        yield from plan.norm(name)


def _beside(plan: Plan, sizes: Letters) -> Iterator[Row]:
    """What each layer does besides attention and feed-forward."""
    if "U" in sizes:
        copies = int(sizes["U"])
        yield linear("laurel in", "B T D, D Rd -> B T Rd")
        yield linear("laurel out", "B T Rd, Rd D -> B T D")
        yield norm("laurel norm")
        yield linear("altup router", "B T D, D U -> B T U", "router")
        yield norm("altup norm")
        yield Row("altup mix", f"B T U D, {copies**3 + copies**2} -> B T U D", "weight", "norm", "w", 4.0, rides=True)
        yield bias("altup scale", "D")
    if "Dp" in sizes:
        yield linear("layer input gate", "B T D, D Dp -> B T Dp")
        yield linear("layer input", "B T Dp, Dp D -> B T D")
        yield from plan.norm("layer input norm")


def _embeddings(sizes: Letters) -> Iterator[Row]:
    if "Dp" in sizes:
        yield Row("layer embeddings", "B T, Vp L Dp -> B T L Dp", "table", "embed", "wy", 0.0)
        yield linear("layer inputs", "B T D, D L Dp -> B T L Dp")
        yield norm("layer inputs norm", "L Dp")
    if "U" in sizes:
        yield linear("altup copies", f"B T D, {int(sizes['U']) - 1} D 1D -> B T 1D")


def _unembeddings(sizes: Letters) -> Iterator[Row]:
    if "U" in sizes:
        yield linear("altup sum", f"B Y D, {int(sizes['U']) - 1} D 1D -> B Y 1D")
