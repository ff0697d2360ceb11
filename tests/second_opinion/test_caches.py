"""What a model caches after a prompt is what the rows say: keys, values, latents, states, in the class's formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from rooflens import models, workload
from rooflens.dtypes import dtype

PROMPT = 12
BASE = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "pad_token_id": 0,
}  # fmt: skip
LATENT = {
    "num_key_value_heads": 4, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "moe_intermediate_size": 16,
}  # fmt: skip
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 16, "mamba_n_groups": 2, "mamba_expand": 2}
DELTA = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 16,
    "head_dim": 8,
}  # fmt: skip
TINY: dict[str, dict[str, Any]] = {
    "bamba": {**BASE, **MAMBA, "attn_layer_indices": [1]},
    "deepseek_v32": {
        **BASE, **LATENT, "n_routed_experts": 4, "q_lora_rank": 16, "n_group": 1, "topk_group": 1, "index_topk": 4,
        "num_experts_per_tok": 2, "index_head_dim": 8, "index_n_heads": 2, "first_k_dense_replace": 1,
    },
    "falcon_h1": {**BASE, **MAMBA, "mamba_d_ssm": 64},
    "falcon_mamba": {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "time_step_rank": 2},
    "granitemoehybrid": {
        **BASE, **MAMBA, "layer_types": ["mamba", "attention", "mamba", "mamba"], "shared_intermediate_size": 16,
    },
    "jamba": {
        **BASE, "attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 4, "mamba_dt_rank": 2,
        "use_mamba_kernels": False,
    },
    "lfm2": {**BASE, "layer_types": ["conv", "full_attention", "conv", "conv"]},
    "llama": BASE,
    "mamba": {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "time_step_rank": 2},
    "mamba2": {
        "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 16, "num_heads": 8, "head_dim": 8,
        "n_groups": 2,
    },
    "olmo_hybrid": {**BASE, **DELTA, "linear_num_key_heads": 4},
    "qwen3_5_text": {**BASE, **DELTA},
    "qwen3_next": {
        **BASE, **DELTA, "num_experts": 4, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
        "num_experts_per_tok": 2,
    },
}  # fmt: skip


@pytest.mark.parametrize("family", TINY)
def test_what_is_cached_is_what_the_rows_say(family: str) -> None:
    """Delta nets remember one position less than their class keeps: its oldest column is never read again."""
    config = AutoConfig.for_model(family, **TINY[family])
    built = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        out = built(torch.arange(1, PROMPT + 1)[None], use_cache=True)
    cache = out.past_key_values if getattr(out, "past_key_values", None) is not None else out.cache_params
    facts = {**json.loads(json.dumps(config.to_dict(), default=str)), "model_type": family}
    found = models.facts(models.from_config(facts, family), workload.precision(dtype("bf16")))
    delta = family in ("olmo_hybrid", "qwen3_5_text", "qwen3_next")
    assert found.kv_bytes_per_token * PROMPT == _held(cache, "keys", "values", "indexer_keys")
    assert found.state_bytes_per_sequence == _held(cache, "recurrent_states") + _held(cache, "conv_states", less=delta)


def _held(cache: Any, *names: str, less: bool = False) -> int:
    held = 0
    for layer in cache.layers:
        for name in names:
            stored = getattr(layer, name, None)
            tensors = stored.values() if isinstance(stored, dict) else [stored]
            held += sum(_bytes(tensor, less=less) for tensor in tensors if tensor is not None)
    return held


def _bytes(tensor: Any, *, less: bool) -> int:
    size: int = tensor.numel() * tensor.element_size()
    return size * (tensor.shape[-1] - 1) // tensor.shape[-1] if less else size
