"""Bytes of published quantised checkpoints, as their files or indexes state them, against what their configs say."""

from __future__ import annotations

from typing import Any

import pytest

from rooflens import models, workload

LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip
LLAMA_70B = {
    **LLAMA_8B, "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64, "num_hidden_layers": 80,
}  # fmt: skip
LLAMA_1B = {
    **LLAMA_8B, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "tie_word_embeddings": True,
    "head_dim": 64,
}  # fmt: skip
LLAMA_3B = {
    **LLAMA_1B, "hidden_size": 3072, "num_attention_heads": 24, "num_hidden_layers": 28, "head_dim": 128,
}  # fmt: skip
SMOL_135M = {
    **LLAMA_8B, "hidden_size": 576, "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3,
    "num_hidden_layers": 30, "vocab_size": 49152, "tie_word_embeddings": True,
}  # fmt: skip
QWEN3_CODER_30B = {
    "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48,
    "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "moe_intermediate_size": 768,
    "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936, "tie_word_embeddings": False,
    "max_position_embeddings": 262144, "sliding_window": None, "torch_dtype": "bfloat16",
}  # fmt: skip
QWEN3_CODER_NEXT = {
    "model_type": "qwen3_next", "hidden_size": 2048, "intermediate_size": 5120, "num_hidden_layers": 48,
    "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512, "num_experts": 512, "num_experts_per_tok": 10, "vocab_size": 151936,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
    "linear_value_head_dim": 128, "full_attention_interval": 4, "max_position_embeddings": 262144,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
GLM_47_FLASH = {
    "model_type": "glm4_moe_lite", "hidden_size": 2048, "intermediate_size": 10240, "num_hidden_layers": 47,
    "num_attention_heads": 20, "num_key_value_heads": 20, "kv_lora_rank": 512, "q_lora_rank": 768,
    "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "moe_intermediate_size": 1536,
    "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4, "first_k_dense_replace": 1,
    "vocab_size": 154880, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
GPT_OSS_20B = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32,
    "num_experts_per_tok": 4, "vocab_size": 201088, "sliding_window": 128, "attention_bias": True,
    "layer_types": ["sliding_attention", "full_attention"] * 12, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}  # fmt: skip
WIDE_8 = {"group_size": 64, "bits": 8}
MLX_4, MLX_8 = {"group_size": 64, "bits": 4, "mode": "affine"}, {**WIDE_8, "mode": "affine"}
DYNAMIC = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
NVFP4 = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}


def compressed(weights: dict[str, Any], inputs: dict[str, Any] | None, written: str) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    groups = {"config_groups": {"group_0": group}, "ignore": ["lm_head"]}
    return {"quant_method": "compressed-tensors", "format": written, **groups}


def in_layers(layers: int, *modules: str) -> dict[str, Any]:
    return {f"model.layers.{i}.{module}": WIDE_8 for i in range(layers) for module in modules}


PUBLISHED = {
    "Llama 3.1 8B, FP8 dynamic: a 16-bit scale an output": (
        LLAMA_8B,
        compressed({"num_bits": 8, "type": "float", "strategy": "channel"}, DYNAMIC, "float-quantized"),
        9_083_953_152,
    ),
    "Llama 3.1 8B, W4A16 of AutoGPTQ: groups of inputs, and a bias of zeros for every matrix": (
        LLAMA_8B,
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True, "model_file_base_name": "model"},
        5_735_587_840,
    ),
    "Llama 3.3 70B, W4A16 of compressed-tensors: groups of inputs, and the shape of every matrix": (
        LLAMA_70B,
        compressed(
            {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "actorder": "group"},
            None,
            "pack-quantized",
        ),
        39_525_311_232,
    ),
    "Llama 3 70B, AWQ": (LLAMA_70B, {"quant_method": "awq", "bits": 4, "group_size": 128}, 39_767_785_472),
    "Llama 3.1 8B, NVFP4": (LLAMA_8B, NVFP4, 6_027_749_376),
    "Llama 3.2 1B, MLX": (LLAMA_1B, MLX_4, 695_242_752),
    "Llama 3.2 3B, MLX": (LLAMA_3B, MLX_4, 1_807_423_488),
    "Llama 3.1 8B, MLX": (LLAMA_8B, MLX_4, 4_517_404_672),
    "Llama 3.3 70B, MLX": (LLAMA_70B, MLX_4, 39_688_355_840),
    "SmolLM2 135M, MLX in 8 bits: nine groups a row": (SMOL_135M, MLX_8, 142_955_136),
    "Qwen3 Coder 30B, MLX: routers in 8 bits": (
        QWEN3_CODER_30B,
        {**MLX_4, **in_layers(48, "mlp.gate")},
        17_180_913_664,
    ),
    "Qwen3 Coder Next, MLX: routers and the shared expert's gate in 8 bits": (
        QWEN3_CODER_NEXT,
        {**MLX_4, **in_layers(48, "mlp.gate", "mlp.shared_expert_gate")},
        44_844_060_160,
    ),
    "GLM 4.7 Flash, MLX: routers stay wide; beside them an fp32 correction for each expert, which is no parameter": (
        GLM_47_FLASH,
        MLX_4,
        16_852_202_496 - 46 * 64 * 4,
    ),
    "gpt-oss 20B, MXFP4, all else in 8 bits": (
        GPT_OSS_20B,
        {
            "group_size": 32, "bits": 4, "mode": "mxfp4", "model.embed_tokens": WIDE_8, "lm_head": WIDE_8,
            **in_layers(24, *(f"self_attn.{name}_proj" for name in "qkvo"), "mlp.router"),
        },
        12_076_119_168,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_bytes_to_the_byte(name: str) -> None:
    config, quantised, file_bytes = PUBLISHED[name]
    assert stored({**config, "quantization_config": quantised}) == file_bytes


def test_a_70b_in_nvfp4_but_for_eight_bytes_a_layer() -> None:
    """Four of the sixteen scalars of each layer are stored in 16 bits there."""
    assert stored({**LLAMA_70B, "quantization_config": NVFP4}) == 42_709_045_632 + 80 * 4 * 2


def test_deepseek_v3_in_blocks_of_128_with_edges_counted_whole() -> None:
    """kv_a is 576 x 7168: five rows of blocks, the last half full. The files hold a layer that drafts tokens, too.

    688,586,727,753 B in all; what is left are the headers of 163 files: 130 B for each of 91,991 tensors.
    """

    def block(rows: int, columns: int) -> int:
        return rows * columns + 4 * -(-rows // 128) * -(-columns // 128)

    width, heads = 7168, 128
    attention = [(1536, width), (heads * 192, 1536), (576, width), (heads * 256, 512), (width, heads * 128)]
    expert, norms = [(2048, width), (2048, width), (width, 2048)], 2 * (2 * width + 1536 + 512)
    correction = 4 * 256  # an fp32 for each expert, which is no parameter
    experts = 257 * sum(block(*m) for m in expert) + 2 * 256 * width
    attend, table = sum(block(*m) for m in attention) + norms, 2 * 129280 * width
    dense = 2 * block(18432, width) + block(width, 18432)
    ours = 61 * attend + 58 * experts + 3 * dense + 2 * table + 2 * width
    model = models.named("deepseek-v3")
    assert stored(dict(model.config)) == ours
    drafts = attend + experts + 2 * table + 2 * width * 2 * width + 3 * 2 * width
    headers = 688_586_727_753 - ours - drafts - 59 * correction
    assert 120 < headers / 91_991 < 140


def stored(config: dict[str, Any]) -> float:
    model = models.from_config(config, "a model")
    own, _ = workload.own_dtype(model)
    return sum(model.stored_bytes(workload.precision(own, stored=model.stored)).values())
