"""Dense decoders: one line of features a model type.

Sources: the classes of transformers, and the modelling files that stand beside the weights of those it does not have.
"""

from __future__ import annotations

from rooflens.models.family import Family
from rooflens.operators.rows import Row
from rooflens.operators.standard import norm
from rooflens.records import replace

LLAMA = Family(qkv_bias="attention_bias", out_bias="attention_bias", ffn_bias="mlp_bias")
QWEN2 = Family(qkv_bias=True, pattern="L")
QWEN3 = Family(qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head", pattern="L")
GLM = Family(qkv_bias="attention_bias")
GPT2 = Family(norm="layer", gated=False, qkv_bias=True, out_bias=True, ffn_bias=True, positions="learned")
GEMMA2 = Family(qkv_bias="attention_bias", out_bias="attention_bias", sandwich=True, pattern="LG")
ERNIE = Family(qkv_bias="use_bias", out_bias="use_bias", ffn_bias="use_bias")
COHERE = Family(norm="plain", qkv_bias="attention_bias", out_bias="attention_bias", parallel=True, shared_norm=True)
XIELU = (Row("xielu", "B T, 2 -> B T", "weight", "norm", "w", 1.0, rides=True),)
APERTUS = Family(
    qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head if qk_norm", gated=False, ffn_extra=XIELU
)  # fmt: skip

DENSE: dict[str, Family] = {
    "apertus": APERTUS,
    "apertus1p5_text": APERTUS,
    "arcee": replace(LLAMA, gated=False),
    "aquila": Family(),
    "baichuan": Family(packed="qkv"),
    "biogpt": replace(GPT2, offset=2),
    "bitnet": Family(
        qkv_bias="attention_bias", out_bias="attention_bias",
        attention_extra=(Row("sub-norm", "B T H W, H W -> B T H W", "weight", "norm", "w", 4.0, rides=True),),
        ffn_extra=(norm("sub-norm", "F"),),
    ),
    "bloom": replace(GPT2, positions="none", embed_norm=True, packed="qkv"),
    "chatglm": Family(
        packed="qkv ffn",
        qkv_bias="add_qkv_bias", out_bias="add_bias_linear", ffn_bias="add_bias_linear", final_norm="post_layer_norm"
    ),
    "codegen": Family(
        norm="layer", gated=False, ffn_bias=True, parallel=True, shared_norm=True, head_bias=True, packed="qkv"
    ),
    "cohere": replace(COHERE, head_norm="heads if use_qk_norm"),
    "cohere2": replace(COHERE, pattern="LLLG"),
    "cwm": Family(ffn_bias="mlp_bias", pattern="GLLL"),
    "ernie4_5": ERNIE,
    "exaone": LLAMA,
    "exaone4": Family(head_norm="head", pattern="LLLG"),
    "falcon": Family(
        packed="qkv",
        norm="layer", gated=False, qkv_bias="bias", out_bias="bias", ffn_bias="bias", parallel="parallel_attn",
        shared_norm="shared_norm",
    ),
    "gemma": Family(qkv_bias="attention_bias", out_bias="attention_bias"),
    "gemma2": GEMMA2,
    "gemma3_text": replace(GEMMA2, head_norm="head", pattern="LLLLLG"),
    "glm": replace(GLM, packed="ffn"),
    "glm4": replace(GLM, sandwich=True, packed="ffn"),
    "glm4v_text": Family(qkv_bias=True, sandwich=True, packed="ffn"),
    "gpt2": replace(GPT2, packed="qkv"),
    "gpt_bigcode": replace(GPT2, packed="qkv"),
    "gpt_neo": replace(GPT2, qkv_bias=False, pattern="GL"),
    "gpt_neox": Family(
        packed="qkv",
        norm="layer", gated=False, qkv_bias="attention_bias", out_bias="attention_bias", ffn_bias=True,
        parallel="use_parallel_residual",
    ),
    "gptj": Family(norm="layer", gated=False, ffn_bias=True, parallel=True, shared_norm=True, head_bias=True),
    "granite": LLAMA,
    "granite_swa": replace(LLAMA, sinks="all", pattern="GLLL"),
    "helium": LLAMA,
    "hunyuan_v1_dense": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", head_norm="head if use_qk_norm"
    ),
    "hyperclovax": replace(LLAMA, sandwich="use_post_norm"),
    "internlm": Family(qkv_bias="bias", out_bias="bias"),
    "internlm2": Family(qkv_bias="bias", out_bias="bias", packed="qkv"),
    "internlm3": Family(qkv_bias="qkv_bias", out_bias="bias", ffn_bias="bias"),
    "iquestcoder": LLAMA,
    "jais": Family(norm="layer", qkv_bias=True, out_bias=True, ffn_bias=True, positions="none", packed="qkv"),
    "jais2": replace(LLAMA, norm="layer", gated=False),
    "llama": LLAMA,
    "mimo": replace(QWEN2, qkv_bias="attention_bias"),
    "minicpm": LLAMA,
    "ministral": Family(pattern="L"),
    "ministral3": Family(pattern="L"),
    "mistral": Family(pattern="L"),
    "mpt": Family(norm="plain", gated=False, positions="none", packed="qkv"),
    "nanochat": Family(norm="bare rms", gated=False, qkv_bias="attention_bias", out_bias="attention_bias"),
    "nemotron": replace(LLAMA, norm="layer", gated=False),
    "olmo": Family(norm="bare layer", qkv_bias="attention_bias", out_bias="attention_bias"),
    "olmo2": Family(qkv_bias="attention_bias", out_bias="attention_bias", head_norm="whole"),
    "olmo3": Family(qkv_bias="attention_bias", out_bias="attention_bias", head_norm="whole", pattern="LLLG"),
    "opt": Family(
        norm="layer", gated=False, qkv_bias="enable_bias", out_bias="enable_bias", ffn_bias="enable_bias",
        positions="learned", offset=2, final_norm="do_layer_norm_before",
    ),
    "orion": Family(norm="layer"),
    "paddleocr_vl_text": ERNIE,
    "persimmon": Family(
        packed="qkv",
        norm="layer", gated=False, qkv_bias=True, out_bias=True, ffn_bias=True, head_norm="layer head if qk_layernorm"
    ),
    "phi": Family(
        norm="layer", gated=False, qkv_bias=True, out_bias=True, ffn_bias=True, parallel=True, shared_norm=True,
        head_norm="layer head if qk_layernorm", head_bias=True,
    ),
    "phi3": Family(pattern="L", packed="qkv ffn"),
    "qwen": Family(qkv_bias=True, out_bias="other_bias", ffn_bias="other_bias", packed="qkv"),
    "qwen2": QWEN2,
    "qwen2_5_omni_text": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_vl_text": QWEN2,
    "qwen3": QWEN3,
    "qwen3_vl_text": QWEN3,
    "seed_oss": Family(qkv_bias="attention_bias", out_bias="attention_out_bias", ffn_bias="mlp_bias"),
    "skywork": Family(),
    "smollm3": replace(LLAMA, pattern="L"),
    "stablelm": Family(
        norm="layer", qkv_bias="use_qkv_bias", head_norm="heads if qk_layernorm", parallel="use_parallel_residual",
        shared_norm=True,
    ),
    "stablelm_epoch": Family(norm="layer", qkv_bias="use_qkv_bias"),
    "starcoder2": Family(
        norm="layer", gated=False, qkv_bias="use_bias", out_bias="use_bias", ffn_bias="use_bias", pattern="L"
    ),
    "vaultgemma": replace(GEMMA2, sandwich=False),
    "xverse": Family(),
    "xglm": replace(GPT2, positions="none"),
    "Yi": LLAMA,
}  # fmt: skip
