"""Dense decoders: one line of features a model type, and the rows those features make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rooflens.models.config import Config
from rooflens.models.model import Block, Choices
from rooflens.operators.rows import Row
from rooflens.operators.standard import (
    ACTIVATION_FLOPS,
    GATED_FLOPS,
    ROTARY_FLOPS,
    attention,
    bias,
    linear,
    norm,
    vector,
)


@dataclass(frozen=True, slots=True)
class Dense:
    """The features in which dense families differ. A bias given as text is the config key that decides."""

    gated: bool = True
    layer_norm: bool = False
    qkv_bias: bool | str = False
    out_bias: bool | str = False
    ffn_bias: bool | str = False
    head_norms: bool = False
    positions: Literal["rotary", "learned"] = "rotary"
    tied: bool = False
    window_flag: bool = False


FAMILIES: dict[str, Dense] = {
    "llama": Dense(qkv_bias="attention_bias", out_bias="attention_bias", ffn_bias="mlp_bias"),
    "mistral": Dense(),
    "qwen2": Dense(qkv_bias=True, window_flag=True),
    "qwen3": Dense(qkv_bias="attention_bias", out_bias="attention_bias", head_norms=True, window_flag=True),
    "gpt2": Dense(
        gated=False, layer_norm=True, qkv_bias=True, out_bias=True, ffn_bias=True, positions="learned", tied=True
    ),
}


def letters(config: Config, family: Dense) -> dict[str, float]:
    """The sizes of a dense decoder, checked against each other."""
    width, heads = config.size("width"), config.size("heads")
    kv_heads = config.size("kv_heads", heads)
    head_width = config.size("head_width", max(width // heads, 1))
    if "head_dim" not in config.read:
        config.must(f"hidden_size {width} is not a multiple of num_attention_heads {heads}", holds=width % heads == 0)
    config.must(f"{heads} query heads are not a multiple of {kv_heads} key-value heads", holds=heads % kv_heads == 0)
    out = {
        "L": config.size("layers"), "D": width, "H": heads, "K": kv_heads, "G": heads / kv_heads, "W": head_width,
        "F": config.size("ffn", 4 * width if not family.gated else None), "V": config.size("vocab"),
    }  # fmt: skip
    if family.positions == "learned":
        out["C"] = config.size("context")
    return {name: float(size) for name, size in out.items()}


def blocks(config: Config, family: Dense, sizes: dict[str, float], choices: Choices) -> tuple[Block, ...]:
    """Embedding, layers, head."""
    tied = config.flag("tie_word_embeddings", default=family.tied)
    layer = (*_attention(config, family, choices), *_ffn(config, family, choices))
    return (
        Block("embedding", 1, _embedding(family)),
        Block("layer", int(sizes["L"]), layer, window=_window(config, family)),
        Block("head", 1, _head(family, tied=tied)),
    )


def _embedding(family: Dense) -> tuple[Row, ...]:
    table = (Row("embedding", "B T, V D -> B T D", "table", "embed", "wy", 0.0),)
    positions = (Row("positions", "B T, C D -> B T D", "table", "embed", "w", 1.0, rides=True),)
    return table + positions if family.positions == "learned" else table


def _attention(config: Config, family: Dense, choices: Choices) -> tuple[Row, ...]:
    has_bias = _asked(config, family.qkv_bias)
    if choices.fused:
        rows = [linear("qkv", "B T D, D H+2K W -> B T H+2K W", "project"), *_norms("attention norm", family)]
        rows += [bias("qkv bias", "H+2K W")] if has_bias else []
    else:
        rows = []
        for name, heads in (("q", "H"), ("k", "K"), ("v", "K")):
            rows.append(linear(name, f"B T D, D {heads} W -> B T {heads} W", "project"))
            rows += _norms("attention norm", family) if name == "q" else []
            rows += [bias(f"{name} bias", f"{heads} W")] if has_bias else []
    if family.head_norms:
        rows += [norm("q norm", "H W"), norm("k norm", "K W")]
    if family.positions == "rotary":
        rows.append(vector("rotary", "B T H+K W -> B T H+K W", ROTARY_FLOPS))
    rows += [*attention(choices.attention), linear("out", "B T H W, H W D -> B T D", "project")]
    return (*rows, *_after("out", "D", choices, has_bias=_asked(config, family.out_bias)))


def _ffn(config: Config, family: Dense, choices: Choices) -> tuple[Row, ...]:
    has_bias = _asked(config, family.ffn_bias)
    flops = GATED_FLOPS if family.gated else ACTIVATION_FLOPS
    rows: list[Row] = []
    for name, width in _first_products(family, choices):
        rows.append(linear(name, f"B T D, D {width} -> B T {width}"))
        rows += _norms("ffn norm", family) if len(rows) == 1 else []
        rows += [bias(f"{name} bias", width)] if has_bias else []
    rows += [vector("activation", "B T F -> B T F", flops), linear("down", "B T F, F D -> B T D")]
    return (*rows, *_after("down", "D", choices, has_bias=has_bias))


def _first_products(family: Dense, choices: Choices) -> list[tuple[str, str]]:
    if not family.gated:
        return [("up", "F")]
    return [("gate_up", "2 F")] if choices.fused else [("gate", "F"), ("up", "F")]


def _after(name: str, width: str, choices: Choices, *, has_bias: bool) -> list[Row]:
    rows = [bias(f"{name} bias", width)] if has_bias else []
    if choices.links:
        rows.append(Row(f"{name} all-reduce", "B T D, Z -> B T D", "link", "link", "", 0.0))
    return [*rows, vector("residual", "B T D -> B T D", 1.0)]


def _head(family: Dense, *, tied: bool) -> tuple[Row, ...]:
    product = linear("lm_head", "B Y D, D V -> B Y V", "head", "tied" if tied else "weight")
    return (product, *_norms("final norm", family, "B Y"))


def _norms(name: str, family: Dense, tokens: str = "B T") -> list[Row]:
    first = norm(name, "D", tokens, layer_norm=family.layer_norm)
    return [first, bias(f"{name} bias", "D", tokens)] if family.layer_norm else [first]


def _window(config: Config, family: Dense) -> float | None:
    used = config.flag("use_sliding_window", default=not family.window_flag)
    window = config.size("sliding_window", 0) if config.data.get("sliding_window") else 0
    return float(window) if used and window else None


def _asked(config: Config, feature: object) -> bool:
    return config.flag(feature, default=False) if isinstance(feature, str) else feature is True
