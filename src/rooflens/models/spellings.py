"""How config.json files call things: every spelling of a fact, and the keys that change no price.

A key that is neither read nor listed in harmless.txt is a warning that names it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

SPELLINGS: dict[str, tuple[str, ...]] = {
    "width": ("hidden_size", "n_embd", "d_model", "n_embed", "model_dim"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_query_groups", "multi_query_group_num"),
    "head_width": ("head_dim", "kv_channels", "attention_head_dim"),
    "ffn": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "dense_ffn_hidden_size"),
    "vocab": ("padded_vocab_size", "vocab_size"),
    "context": (
        "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", "max_sequence_length",
        "model_max_length", "max_context_length", "context_length",
    ),
    "dtype": ("torch_dtype", "dtype"),
    "window": ("sliding_window", "attention_window_size", "window_size", "sliding_window_size"),
    "chunk": ("attention_chunk_size",),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "active": (
        "num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk", "moe_k", "top_k_experts",
        "experts_per_token",
    ),
    "expert_ffn": ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert"),
    "shared_ffn": (
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size",
    ),
    "dense_first": ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", "moe_layer_num_skipped"),
    "kinds": (
        "layer_types", "layers_block_type", "attn_type_list", "attention_layers", "hybrid_layer_pattern",
        "block_types", "hybrid_override_pattern",
    ),
    "ffn_kinds": ("mlp_layer_types",),
    "drafts": ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "mtp_num_layers"),
    "state_heads": ("mamba_num_heads", "mamba_n_heads", "linear_num_value_heads", "n_mamba_heads", "linear_num_heads"),
    "state_width": ("mamba_head_dim", "mamba_d_head", "linear_value_head_dim", "mamba_headdim", "linear_head_dim"),
    "state_size": ("ssm_state_size", "mamba_d_state", "state_size", "linear_key_head_dim"),
    "state_groups": ("mamba_n_groups", "n_groups", "linear_num_key_heads", "mamba_ngroups"),
    "state_dtype": ("mamba_ssm_cache_dtype", "mamba_ssm_dtype"),
    "taps": ("conv_kernel", "mamba_d_conv", "linear_conv_kernel_dim", "conv_L_cache", "conv1d_width"),
    "scan_chunk": ("chunk_size", "mamba_chunk_size", "block_size"),
    "expand": ("mamba_expand", "expand"),
    "dt_rank": ("mamba_dt_rank", "time_step_rank"),
}  # fmt: skip

_ASKED = (
    "width", "layers", "heads", "vocab", "ffn", "experts", "active", "context", "state_heads", "state_width",
    "state_size", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "index_n_heads", "index_head_dim",
    "index_topk",
)  # fmt: skip


def asked(key: str) -> bool:
    """Whether a config that is not inside another one has to say this itself."""
    return any(key in SPELLINGS.get(what, (what,)) for what in _ASKED)


@cache
def _spellings() -> dict[str, tuple[str, ...]]:
    return {key: keys for keys in SPELLINGS.values() for key in keys}


def same_fact(key: str) -> tuple[str, ...]:
    """All spellings of the fact that this key is one of."""
    return _spellings().get(key, (key,))


def harmless(key: str) -> bool:
    """Whether a key changes no price."""
    words = _harmless()
    return (
        key in words[""]
        or key.startswith(words["x*"])
        or key.endswith(words["*x"])
        or any(part in key for part in words["*x*"])
    )


@cache
def _harmless() -> dict[str, tuple[str, ...]]:
    """The words of harmless.txt, without their stars, by where these stand: first, last, at both ends, nowhere."""
    lines = Path(__file__).with_name("harmless.txt").read_text(encoding="utf-8").splitlines()
    found: dict[str, list[str]] = {"": [], "x*": [], "*x": [], "*x*": []}
    for word in (word for line in lines if not line.startswith("#") for word in line.split()):
        bare = word.strip("*")
        found[word.replace(bare, "x") if bare != word else ""].append(bare)
    return {kind: tuple(words) for kind, words in found.items()}
