"""What a model type is made of: the features in which decoders differ, written as one line of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rooflens.models.config import Config
from rooflens.models.model import Choices
from rooflens.operators.rows import Row
from rooflens.operators.standard import bias, link, norm, vector
from rooflens.records import record

Flag = bool | str
"""True, False, or the config key that decides."""

Normal = Literal["rms", "layer", "plain", "bare rms", "bare layer"]
"""RMS norm; layer norm with bias; layer norm without ("plain"); either with no weights at all ("bare")."""

Mixer = Literal["attention", "mla", "selected mla"]
Recurrent = Literal["", "mamba-1", "mamba-2", "delta net", "delta attention", "lightning", "short conv", "rg-lru"]


@record
class Experts:
    """What a mixture of experts has beyond a router and experts of three matrices.

    shared: as many as the config counts, or always one. shared_gate: a gate of one value a token. bias: experts have
    biases. router_bias: a value an expert that the class holds as a parameter. norms: more norms in this half.
    bare_router: its router is no linear module, so that no tool makes it narrow.
    """

    shared: Literal["counted", "one"] = "counted"
    shared_gate: bool = False
    bias: bool = False
    router_bias: Flag = False
    norms: int = 0
    bare_router: bool = False


@record
class Family:
    """One model type. Flags may name the config key that decides; texts may end in `if KEY`.

    head_norm: norms of queries and keys: "head" (one head's width), "heads" (each head has its own weights), "whole"
    (all heads at once); "layer head" has a bias. parallel: attention and feed-forward read the same input;
    shared_norm: and one norm feeds both. sandwich: norms also after each half. gate: of attention's output, "doubled"
    (inside the q projection), "wide" (one for each value), "head" (one for each head). pattern: kinds of layers,
    repeated: G all positions, L local ones (where the config has a window), R recurrent, B both at once. offset:
    learned positions beyond the context. final_norm: False where the last block has none. recurrent_form: what models.
    recurrent is to know about its layers: "norm" at the end of Mamba-2, "inner norms" of Mamba-1, "wide gates".
    packed: matrices that files keep as one: "qkv" of attention, "ffn" (gate and up), "in_qkv", "in_qkvz" of delta nets.
    """

    norm: Normal = "rms"
    qkv_bias: Flag = False
    out_bias: Flag = False
    ffn_bias: Flag = False
    head_norm: str = ""
    gated: bool = True
    parallel: Flag = False
    shared_norm: Flag = False
    sandwich: Flag = False
    pattern: str = "G"
    gate: str = ""
    sinks: Literal["", "all", "local"] = ""
    positions: Literal["rotary", "learned", "none"] = "rotary"
    offset: int = 0
    embed_norm: bool = False
    final_norm: Flag = True
    head_bias: Flag = False
    mixer: Mixer = "attention"
    recurrent: Recurrent = ""
    recurrent_form: str = "norm"
    experts: Experts | None = None
    attention_extra: tuple[Row, ...] = ()
    ffn_extra: tuple[Row, ...] = ()
    packed: str = ""


@record
class Plan:
    """What rows are made from: the facts of a model, the features of its type, the builder's choices."""

    config: Config
    family: Family
    choices: Choices

    def asked(self, feature: Flag) -> bool:
        """Whether a feature is there: for a key, what the config says, else its class, else not."""
        return self.config.flag(feature) if isinstance(feature, str) else feature

    def said(self, feature: str) -> str:
        """The feature without its condition; "" when the condition does not hold."""
        what, _, key = feature.partition(" if ")
        return what if not key or self.config.flag(key) else ""

    def packs(self, what: str) -> bool:
        """Whether files keep these matrices as one."""
        return what in self.family.packed.split()

    def norm(self, name: str, width: str = "D", tokens: str = "B T") -> Iterator[Row]:
        """A norm of the family's kind, riding with the kernel before it."""
        return norms(name, self.family.norm, width, tokens)

    def after(self, name: str, *, joined: bool = False) -> Iterator[Row]:
        """What follows a half's last product: the sum over devices, a norm, the residual.

        joined: halves in parallel are summed on each device first, so that one sum over devices serves both.
        """
        if self.choices.links and not joined:
            yield link(f"{name} all-reduce", "all-reduce")
        if self.asked(self.family.sandwich):
            yield from self.norm(f"{name} norm")
        yield vector("residual", "B T D -> B T D", 1.0)


def norms(name: str, kind: Normal, width: str = "D", tokens: str = "B T") -> Iterator[Row]:
    """A norm of this kind: its weights, and its biases where it has some."""
    layer = kind in ("layer", "plain", "bare layer")
    with_weights = norm(name, width, tokens, layer_norm=layer)
    if kind.startswith("bare"):
        yield vector(name, f"{tokens} {width} -> {tokens} {width}", with_weights.flops_per_point)
        return
    yield with_weights
    if kind == "layer":
        yield bias(f"{name} bias", width.rsplit(maxsplit=1)[-1], tokens)
