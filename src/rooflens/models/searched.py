"""Decoders whose layers differ in size one by one: found by search (DeciLM, Nemotron) or scaled by depth (OpenELM).

Sources: the modelling files that stand beside the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rooflens.models import assemble, attention, ffn
from rooflens.models.config import MOST_LAYERS, Config
from rooflens.models.dense import LLAMA
from rooflens.models.dialects import is_factor
from rooflens.models.family import Family, Plan
from rooflens.models.model import Block, Choices
from rooflens.operators.rows import Row
from rooflens.operators.standard import linear, norm
from rooflens.records import replace

Letters = dict[str, float]
OPENELM = Family(head_norm="head if normalize_qk_projections", packed="qkv ffn")
NONE, LINEAR = -1, 0


def nas_letters(config: Config) -> Letters:
    """The sizes that all layers share."""
    count, heads = config.size("layers", most=MOST_LAYERS), config.size("heads")
    sizes = {"L": count, "D": config.size("width"), "H": heads, "V": config.size("vocab")}
    width = config.size("head_width", max(sizes["D"] // heads, 1))
    listed = config.items("block_configs") or []
    config.must(f"block_configs: {len(listed)} entries for {count} layers", holds=len(listed) == count)
    return {name: float(size) for name, size in {**sizes, "W": width}.items()}


def nas_blocks(config: Config, sizes: Letters, choices: Choices) -> tuple[Block, ...]:
    """Each layer's attention (grouped, a linear map, nothing) and feed-forward (any width, a linear map, nothing)."""
    plan = Plan(config, LLAMA, choices)
    listed = config.items("block_configs") or []
    groups = [_attention_group(config, _half(entry, "attention"), int(sizes["H"])) for entry in listed]
    widths = [_ffn_width(config, _half(entry, "ffn"), int(sizes["D"])) for entry in listed]
    return (
        Block("embedding", 1, assemble.embedding(plan)),
        *assemble.each(groups, lambda group: _nas_attention(plan, group, sizes["H"])),
        *assemble.each(widths, lambda width: _nas_ffn(plan, width)),
        Block("head", 1, assemble.head(plan)),
    )


def openelm_letters(config: Config) -> Letters:
    """The sizes that all layers share."""
    config.moot("num_gqa_groups", "qkv_multipliers", "share_input_output_layers", "ffn_multipliers")
    sizes = {"L": config.size("layers", most=MOST_LAYERS), "D": config.size("width"), "V": config.size("vocab")}
    return {name: float(size) for name, size in {**sizes, "W": config.size("head_width")}.items()}


def openelm_blocks(config: Config, sizes: Letters, choices: Choices) -> tuple[Block, ...]:
    """Query heads, key-value heads and widths grow with depth."""
    family = replace(OPENELM, gated=config.flag("ffn_with_glu", default=True))
    plan, count = Plan(config, family, choices), int(sizes["L"])
    heads, kv_heads = config.sizes("num_query_heads", count), config.sizes("num_kv_heads", count)
    factors = config.items("ffn_multipliers") or []
    good = len(factors) == count and all(map(is_factor, factors))
    config.must(f"ffn_multipliers: expected {count} factors, one a layer", holds=good)
    divisor = config.size("ffn_dim_divisor", 256)
    widths = [_divisible(factor * sizes["D"], divisor) for factor in factors if is_factor(factor)]
    return (
        Block("embedding", 1, assemble.embedding(plan)),
        *assemble.each(zip(heads, kv_heads, strict=True), lambda of: _heads(plan, *of)),
        *assemble.each(widths, lambda width: [Block("ffn", 1, ffn.dense(plan), {"F": float(width)})]),
        Block("head", 1, assemble.head(plan)),
    )


def _heads(plan: Plan, heads: int, kv_heads: int) -> Iterator[Block]:
    plan.config.must(
        f"{heads} query heads are not a multiple of {kv_heads} key-value heads", holds=heads % kv_heads == 0
    )
    yield Block("attention", 1, attention.rows(plan), {"H": float(heads), "K": float(kv_heads), "G": heads / kv_heads})


def _divisible(value: float, divisor: int) -> int:
    """The nearest multiple, never below nine tenths of the value."""
    nearest = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * value else nearest


def _half(entry: Any, key: str) -> Mapping[str, Any]:
    half = entry.get(key) if isinstance(entry, Mapping) else None
    return half if isinstance(half, Mapping) else {}


def _attention_group(config: Config, half: Mapping[str, Any], heads: int) -> int:
    """Query heads a key-value head; a linear map or nothing in its place."""
    if half.get("no_op"):
        return NONE
    if half.get("replace_with_linear"):
        return LINEAR
    group = half.get("n_heads_in_group")
    good = type(group) is int and 0 < group <= heads and heads % group == 0
    config.must(f"block_configs: n_heads_in_group {group!r:.20} does not divide {heads} heads", holds=good)
    return group if good and isinstance(group, int) else 1


def _ffn_width(config: Config, half: Mapping[str, Any], width: int) -> int:
    """Two thirds of ffn_mult x 2 x hidden_size, rounded up to a multiple of 256; or the width itself."""
    if half.get("no_op"):
        return NONE
    if half.get("replace_with_linear"):
        return LINEAR
    factor, said = half.get("ffn_mult", 0.0), half.get("intermediate_size")
    if type(said) is int and said > 0:
        return said
    good = is_factor(factor)
    config.must(f"block_configs: ffn_mult {factor!r:.20} is not a factor", holds=good)
    return -(-int(2 * factor * width / 3) // 256) * 256 if good else 1


def _nas_attention(plan: Plan, group: int, heads: float) -> Iterator[Block]:
    if group == LINEAR:
        yield Block("linear in place of attention", 1, _linear(plan))
    elif group != NONE:
        yield Block("attention", 1, attention.rows(plan), {"K": heads / group, "G": float(group)})


def _nas_ffn(plan: Plan, width: int) -> Iterator[Block]:
    if width == LINEAR:
        yield Block("linear in place of ffn", 1, _linear(plan))
    elif width != NONE:
        yield Block("ffn", 1, ffn.dense(plan), {"F": float(width)})


def _linear(plan: Plan) -> tuple[Row, ...]:
    return (linear("linear", "B T D, D 1D -> B T 1D"), norm("norm"), *plan.after("linear"))
