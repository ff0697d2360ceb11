"""Zamba 2: Mamba-2 layers, and before some of them a transformer block whose weights all its places share.

The block reads the layer's input beside the embedding, so it is twice as wide on its way in. Its weights are stored
once and streamed at every place; each place has adapters, a projection and a cache of its own.
Source: the class of transformers.
"""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.models import assemble, layers, recurrent
from rooflens.models.config import MOST_LAYERS, Config
from rooflens.models.family import Family, Plan
from rooflens.models.layers import BOTH
from rooflens.models.model import Block, Choices
from rooflens.operators.rows import Row
from rooflens.operators.standard import GATED_FLOPS, activation, attention, linear, norm, rotary
from rooflens.records import replace

Letters = dict[str, float]
FAMILY = Family(pattern="RRRRRB", recurrent="mamba-2")


def letters(config: Config) -> Letters:
    """Sizes of both kinds of layer; a head is as wide as two streams over all heads."""
    width, heads = config.size("width"), config.size("heads")
    config.must(f"2 x hidden_size {width} is not a multiple of {heads} heads", holds=2 * width % heads == 0)
    config.moot("head_width", "kv_heads", "attention_hidden_size", "hybrid_layer_ids")
    sizes = {
        "L": config.size("layers", most=MOST_LAYERS), "D": width, "V": config.size("vocab"), "H": heads, "K": heads,
        "G": 1, "W": 2 * width // heads, "F": config.size("ffn", 4 * width), "Rd": config.size("adapter_rank", 128),
    }  # fmt: skip
    return {name: float(size) for name, size in sizes.items()} | recurrent.letters(config, FAMILY)


def blocks(config: Config, sizes: Letters, choices: Choices) -> tuple[Block, ...]:
    """Embedding, Mamba-2 layers, the shared blocks where stored and where used again, what is not shared, head."""
    plan = Plan(config, FAMILY, choices)
    kinds = layers.mixers(config, FAMILY, int(sizes["L"]))
    uses, stored = kinds.count(BOTH), config.size("num_mem_blocks", 1)
    shared = tuple(_shared(plan))
    again = tuple(replace(row, home="tied") if row.home == "weight" else row for row in shared)
    return (
        Block("embedding", 1, assemble.embedding(plan)),
        Block("mamba-2", len(kinds), recurrent.rows(plan)),
        *([Block("shared block", min(stored, uses), shared)] if uses else []),
        *([Block("shared block, again", uses - stored, again)] if uses > stored else []),
        *([Block("adapters", uses, tuple(_own(plan)))] if uses else []),
        Block("head", 1, assemble.head(plan)),
    )


def _shared(plan: Plan) -> Iterator[Row]:
    """Attention on two streams at once, and a feed-forward network."""
    heads = "q: H W, 2 D; k: K W, 2 D; v: K W, 2 D"
    yield linear("qkv", "B T 2 D, 2 D H+2K W -> B T H+2K W", "project", stored=heads)
    yield norm("attention norm", "2 D")
    yield Row("attention norm", "B T D, D -> B T D", "weight", "norm", "w", 0.0, rides=True)  # its other half
    if plan.config.flag("use_mem_rope"):
        yield rotary("B T H+K W")
    yield from attention(plan.choices.attention)
    yield linear("out", "B T H W, H W D -> B T D", "project", stored="o")
    yield linear("gate_up", "B T D, D 2 F -> B T 2 F", stored="gate_up")
    yield norm("ffn norm")
    yield activation("B T F", GATED_FLOPS)
    yield linear("down", "B T F, F D -> B T D", stored="down")
    yield from plan.after("down")


def _own(plan: Plan) -> Iterator[Row]:
    """Low-rank additions to the shared weights, and the way back into the stream."""
    yield linear("ffn adapter in", "B T D, D Rd -> B T Rd")
    yield linear("ffn adapter out", "B T Rd, Rd 2 F -> B T 2 F")
    if plan.config.flag("use_shared_attention_adapter"):
        yield linear("qkv adapters in", "B T 2 D, 3 2 D Rd -> B T 3 Rd", "project")
        yield linear("qkv adapters out", "B T 3 Rd, 3 Rd H W -> B T 3 H W", "project")
    yield linear("into the stream", "B T D, D 1D -> B T 1D")
