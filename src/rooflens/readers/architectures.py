"""GGUF metadata in the words of a config.json, so that one reader of architectures serves both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflens.errors import BadFile, RooflensError
from rooflens.readers.gguf import Gguf

# general.architecture, and the model_type that has the same layers (and the one that has them with experts).
TYPES: dict[str, tuple[str, ...]] = {
    "llama": ("llama", "mixtral"),
    "qwen2": ("qwen2",), "qwen2moe": ("qwen2_moe",), "qwen3": ("qwen3",), "qwen3moe": ("qwen3_moe",),
    "gemma": ("gemma",), "gemma2": ("gemma2",), "gemma3": ("gemma3_text",),
    "phi3": ("phi3",), "starcoder2": ("starcoder2",), "command-r": ("cohere",), "olmo2": ("olmo2",),
    "gpt2": ("gpt2",), "gptj": ("gptj",), "falcon": ("falcon",), "bloom": ("bloom",), "mpt": ("mpt",),
    "deepseek2": ("deepseek_v2", "deepseek_v3"), "gpt-oss": ("gpt_oss",), "glm4": ("glm4",),
    "glm4moe": ("glm4_moe",), "granite": ("granite",), "minimax-m2": ("minimax_m2",),
}  # fmt: skip
KEYS = {
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.q_lora_rank": "q_lora_rank",
    "attention.kv_lora_rank": "kv_lora_rank",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "leading_dense_block_count": "first_k_dense_replace",
}
_EXPERTS = {
    "mixtral": "num_local_experts", "gpt_oss": "num_local_experts", "minimax_m2": "num_local_experts",
    "deepseek_v2": "n_routed_experts", "deepseek_v3": "n_routed_experts", "glm4_moe": "n_routed_experts",
}  # fmt: skip
# Switches of a config that a GGUF file shows by having the tensor, and the types that have such a switch.
_SWITCHES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("attention_bias", "blk.0.attn_q.bias", ("llama", "mixtral", "qwen3", "qwen3_moe", "granite", "glm4", "glm4_moe")),
    ("mlp_bias", "blk.0.ffn_up.bias", ("llama", "granite")),
    ("use_qk_norm", "blk.0.attn_q_norm.weight", ("glm4_moe",)),
)


def config_of(file: Gguf, where: str) -> dict[str, Any]:
    """The config of the model in this file, null where the file says nothing: it leaves nothing to a class.

    Raises RooflensError for an architecture that is not modelled, by name.
    """
    architecture = file.metadata.get("general.architecture")
    if architecture not in TYPES:
        raise RooflensError(
            f"{where}: GGUF architecture {architecture!r:.60} is not modelled; modelled are: {', '.join(sorted(TYPES))}"
        )
    prefix = f"{architecture}."
    facts = {k.removeprefix(prefix): v for k, v in file.metadata.items() if k.startswith(prefix)}
    experts = _whole(facts, "expert_count", where)
    model_type = TYPES[architecture][-1 if experts else 0]
    out = {ours: _one(facts.get(key), key, where) for key, ours in KEYS.items()}
    layers = _whole(facts, "block_count", where) - _whole(facts, "nextn_predict_layers", where)
    out |= {"model_type": model_type, "num_hidden_layers": layers, "torch_dtype": "float16"}
    if experts:
        out[_EXPERTS.get(model_type, "num_experts")] = experts
    if out["kv_lora_rank"] is not None:
        out |= _latent(facts, where)
    if model_type == "falcon":
        out["num_kv_heads"] = out.pop("num_key_value_heads") or 1
        out["new_decoder_architecture"] = out["num_kv_heads"] != 1
    return {**out, **_from_tensors(file, model_type, where)}


def _one(value: Any, key: str, where: str) -> Any:
    """A value that may be given once for each layer, where all layers agree."""
    if not isinstance(value, list):
        return value
    if len({repr(v) for v in value}) != 1:
        raise BadFile(
            where, [f"{key} differs between layers: that is not modelled for GGUF files; give the config.json"]
        )
    return value[0]


def _whole(facts: Mapping[str, Any], key: str, where: str) -> int:
    value = facts.get(key, 0)
    if type(value) is not int:
        raise BadFile(where, [f"{key}: expected a whole number, found {value!r:.40}"])
    return value


def _latent(facts: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Widths of latent attention. Files that keep the latent as keys state the heads' own widths beside."""
    own = "_mla" if "attention.key_length_mla" in facts else ""
    rotary, key = (_whole(facts, k, where) for k in ("rope.dimension_count", f"attention.key_length{own}"))
    value = _whole(facts, f"attention.value_length{own}", where)
    return {"qk_rope_head_dim": rotary, "qk_nope_head_dim": key - rotary, "v_head_dim": value, "head_dim": None}


def _from_tensors(file: Gguf, model_type: str, where: str) -> dict[str, Any]:
    """What only the tensors say: the vocabulary, a tied embedding, switches."""
    shapes = {tensor.name: tensor.shape for tensor in file.checkpoint.tensors}
    table = shapes.get("token_embd.weight", ())
    if len(table) != 2:
        raise BadFile(where, ["token_embd.weight is missing, so the vocabulary is not known; is it a language model?"])
    switches = {key: tensor in shapes for key, tensor, types in _SWITCHES if model_type in types}
    return {"vocab_size": table[0], "tie_word_embeddings": "output.weight" not in shapes, **switches}
