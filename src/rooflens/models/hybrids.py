"""Decoders with recurrent layers, alone or between attention: one line of features a model type.

Sources: the classes of transformers, and the modelling files that stand beside the weights of those it does not have.
"""

from __future__ import annotations

from rooflens.models.dense import LLAMA
from rooflens.models.family import Experts, Family
from rooflens.records import replace

DELTA = Family(
    qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head", gate="doubled if attn_output_gate",
    pattern="RRRG", recurrent="delta net",
)  # fmt: skip
DELTA_MOE = replace(DELTA, experts=Experts(shared_gate=True))
MINIMAX = Family(pattern="RG", recurrent="lightning", experts=Experts())
LFM = Family(head_norm="head", pattern="G", recurrent="short conv")

HYBRIDS: dict[str, Family] = {
    "bailing_hybrid": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", mixer="mla", gate="head", pattern="RRRRRG",
        recurrent="delta attention", recurrent_form="wide gates", experts=Experts(),
    ),
    "bamba": replace(LLAMA, pattern="R", recurrent="mamba-2"),
    "falcon_h1": replace(LLAMA, pattern="B", recurrent="mamba-2", recurrent_form="norm if mamba_rms_norm"),
    "falcon_mamba": Family(pattern="R", recurrent="mamba-1"),
    "granitemoehybrid": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", pattern="R", recurrent="mamba-2", experts=Experts()
    ),
    "jamba": Family(pattern="RRRRGRRR", recurrent="mamba-1", recurrent_form="inner norms", experts=Experts()),
    "kimi_linear": Family(mixer="mla", pattern="RRRG", recurrent="delta attention", experts=Experts()),
    "lara_mini": replace(DELTA, gate="", pattern="RLRGL", experts=Experts()),
    "lfm2": LFM,
    "lfm2_moe": replace(LFM, experts=Experts()),
    "lfm3": replace(LFM, sandwich="use_sandwich_norm", gate="head if use_attention_gate"),
    "mamba": Family(pattern="R", recurrent="mamba-1"),
    "mamba2": Family(pattern="R", recurrent="mamba-2"),
    "minimax": MINIMAX,
    "minimax_m1": MINIMAX,
    "minimax_text_01": MINIMAX,
    "nemotron_h": Family(
        gated=False, qkv_bias="attention_bias", out_bias="attention_bias", ffn_bias="mlp_bias", pattern="single",
        recurrent="mamba-2", experts=Experts(),
    ),
    "olmo_hybrid": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", head_norm="whole", pattern="RRRG", recurrent="delta net"
    ),
    "qwen3_5_moe_text": replace(DELTA_MOE, packed="in_qkv"),
    "qwen3_5_text": replace(DELTA, packed="in_qkv"),
    "qwen3_next": replace(DELTA_MOE, packed="in_qkvz"),
    "recurrent_gemma": Family(
        qkv_bias="attention_bias", out_bias=True, ffn_bias=True, pattern="RRL", recurrent="rg-lru"
    ),
}  # fmt: skip
