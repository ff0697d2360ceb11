"""Decoders with a mixture of experts, and those with latent attention: one line of features a model type.

Sources: the classes of transformers, and the modelling files that stand beside the weights of those it does not have.
"""

from __future__ import annotations

from rooflens.models.dense import COHERE, GLM, LLAMA, QWEN3
from rooflens.models.family import Experts, Family
from rooflens.records import replace

COUNTED = Experts()
BARE = Experts(bare_router=True)
MIXTRAL = Family(pattern="L", experts=COUNTED)
QWEN3_MOE = replace(QWEN3, experts=COUNTED)
DEEPSEEK = Family(qkv_bias="attention_bias", out_bias="attention_bias", mixer="mla", experts=BARE)
GLM_MOE = Family(qkv_bias="attention_bias", head_norm="head if use_qk_norm", experts=BARE)
OLMO = Family(qkv_bias="attention_bias", out_bias="attention_bias", head_norm="whole", experts=COUNTED)

MOE: dict[str, Family] = {
    "afmoe": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head", sandwich=True, pattern="LLLG",
        gate="wide", experts=Experts(router_bias=True),
    ),
    "aria_text": replace(LLAMA, experts=COUNTED),
    "axk1": replace(DEEPSEEK, experts=Experts(norms=1, bare_router=True)),
    "bailing_moe": Family(qkv_bias="use_qkv_bias", out_bias="use_bias", experts=COUNTED, packed="qkv"),
    "bailing_moe_v2": Family(
        packed="qkv",
        qkv_bias="use_qkv_bias", out_bias="use_bias", head_norm="head if use_qk_norm", experts=COUNTED
    ),
    "cohere2_moe": replace(COHERE, pattern="LLLG", experts=COUNTED),
    "dbrx": Family(norm="plain", experts=COUNTED, packed="qkv"),
    "deepseek": Family(qkv_bias="attention_bias", out_bias="attention_bias", experts=COUNTED),
    "deepseek_v2": DEEPSEEK,
    "deepseek_v3": DEEPSEEK,
    "deepseek_v32": replace(DEEPSEEK, mixer="selected mla"),
    "dots1": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head", pattern="L", experts=BARE
    ),
    "ernie4_5_moe": Family(
        qkv_bias="use_bias", out_bias="use_bias", ffn_bias="use_bias", experts=Experts(router_bias=True)
    ),
    "exaone_moe": Family(head_norm="head", pattern="LLLG", experts=COUNTED),
    "flex_olmo": OLMO,
    "flint": replace(QWEN3, sinks="all", pattern="GGLLL", experts=COUNTED),
    "glm4_moe": GLM_MOE,
    "glm4_moe_lite": DEEPSEEK,
    "glm4v_moe_text": replace(GLM, experts=BARE),
    "glm_moe_dsa": replace(DEEPSEEK, mixer="selected mla"),
    "gpt_oss": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", pattern="LG", sinks="all",
        experts=Experts(bias=True, router_bias=True),
    ),
    "granitemoe": replace(LLAMA, ffn_bias=False, experts=COUNTED),
    "granitemoe_swa": replace(LLAMA, ffn_bias=False, sinks="all", pattern="GLLL", experts=COUNTED),
    "granitemoeshared": replace(LLAMA, ffn_bias=False, experts=COUNTED),
    "grok-1": Family(sandwich=True, experts=COUNTED),
    "hunyuan_v1_moe": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head if use_qk_norm", experts=COUNTED
    ),
    "hy_v3": replace(QWEN3, pattern="G", experts=COUNTED),
    "kimi_k2": DEEPSEEK,
    "kolibri1": Family(head_norm="head", sandwich=True, pattern="LLLLG", experts=COUNTED),
    "laguna": Family(head_norm="head", gate="head", experts=Experts(router_bias=True)),
    "llama4_text": replace(
        LLAMA, ffn_bias=False, pattern="CCCG", head_norm="bare head if use_qk_norm", experts=Experts(shared="one")
    ),
    "mellum": replace(QWEN3, pattern="G", experts=COUNTED),
    "mimo_v2_flash": Family(
        qkv_bias="attention_bias", sinks="local", pattern="GLLLLG", experts=COUNTED,
    ),
    "minicpm3": Family(mixer="mla"),
    "minimax_m2": Family(head_norm="whole if use_qk_norm", experts=COUNTED),
    "mistral4": DEEPSEEK,
    "mixtral": MIXTRAL,
    "olmoe": OLMO,
    "phimoe": Family(
        norm="layer", qkv_bias="attention_bias", out_bias="attention_bias", pattern="L", head_bias="lm_head_bias",
        experts=COUNTED,
    ),
    "qwen2_moe": Family(qkv_bias="qkv_bias", pattern="L", experts=Experts(shared_gate=True)),
    "qwen3_moe": QWEN3_MOE,
    "qwen3_omni_moe_text": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "sarvam_mla": DEEPSEEK,
    "sarvam_moe": GLM_MOE,
    "solar_open": GLM_MOE,
    "step3p5": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head", gate="head", pattern="GLLL",
        experts=COUNTED,
    ),
    "youtu": Family(qkv_bias="attention_bias", out_bias="attention_bias", mixer="mla"),
}  # fmt: skip
