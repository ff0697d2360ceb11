"""FLOPs are those that torch counts in a forward pass: products and attention, to the last one.

torch computes masked scores too, so the mask is full here; logits are of every token; latents are expanded.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

from rooflens import models, workload
from rooflens.dtypes import dtype
from rooflens.models import Choices
from rooflens.operators.cost import total

BATCH, TOKENS = 2, 48
BASE = {
    "vocab_size": 512, "hidden_size": 128, "intermediate_size": 192, "num_hidden_layers": 3, "num_attention_heads": 8,
    "num_key_value_heads": 2, "pad_token_id": 0, "max_position_embeddings": 512,
}  # fmt: skip
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
TINY: dict[str, dict[str, Any]] = {
    "cohere": BASE,
    "deepseek_v3": {
        **BASE, "num_key_value_heads": 8, "moe_intermediate_size": 48, "n_routed_experts": 8, "n_shared_experts": 1,
        "num_experts_per_tok": 2, "first_k_dense_replace": 1, "kv_lora_rank": 32, "q_lora_rank": 48, "n_group": 1,
        "topk_group": 1, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
    },
    "exaone4": {**BASE, "sliding_window": 300},
    "falcon": {"vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 8},
    "gemma2": {**BASE, "head_dim": 16, "sliding_window": 300},
    "glm4": {**BASE, "head_dim": 16},
    "gpt2": {"vocab_size": 512, "n_embd": 128, "n_layer": 3, "n_head": 8, "n_positions": 512},
    "gpt_neox": {**BASE, "num_key_value_heads": 8},
    "gpt_oss": {**BASE, "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16, "sliding_window": 300},
    "granite": BASE,
    "llama": BASE,
    "mixtral": {**BASE, "num_local_experts": 4, "num_experts_per_tok": 2},
    "olmo2": BASE,
    "opt": {
        "vocab_size": 512, "hidden_size": 128, "ffn_dim": 256, "num_hidden_layers": 3, "num_attention_heads": 8,
        "word_embed_proj_dim": 128, "max_position_embeddings": 512,
    },
    "phi3": BASE,
    "qwen2_moe": {**BASE, **EXPERTS, "shared_expert_intermediate_size": 64},
    "qwen3": {**BASE, "head_dim": 32},
    "starcoder2": BASE,
}  # fmt: skip


@pytest.mark.parametrize("family", TINY)
def test_flops_are_those_that_torch_counts(family: str) -> None:
    how = {"attn_implementation": "eager", "experts_implementation": "eager"}
    config = AutoConfig.for_model(family, **TINY[family])
    built = AutoModelForCausalLM.from_config(config, **how).eval()
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        built(torch.randint(1, 500, (BATCH, TOKENS)), use_cache=False)
    facts = {**json.loads(json.dumps(config.to_dict(), default=str)), "model_type": family}
    model = models.from_config(facts, family, Choices(mla="expanded"))
    step = replace(workload.prefill(BATCH, TOKENS, mask="full"), logits=float(TOKENS))
    operators = workload.operators(model, step, workload.precision(dtype("bf16")))
    assert total(o.cost * o.count for o in operators).total_flops == counter.get_total_flops()
