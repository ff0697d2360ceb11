"""Parameter counts are those of the classes of transformers, built on the meta device."""

from __future__ import annotations

import dataclasses
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from rooflens import models
from rooflens.models.shapes import SHAPES

BUILT = {family: {} for family in sorted(set(SHAPES) & set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))}
# What a class needs before it can be built, or what makes more of its features appear.
NEEDED: dict[str, dict[str, Any]] = {
    "dbrx": {
        "attn_config": {"kv_n_heads": 8, "rope_theta": 1e4},
        "ffn_config": {"ffn_hidden_size": 1000, "moe_num_experts": 16, "moe_top_k": 4},
    },
    "deepseek_v2": {"num_experts_per_tok": 6},
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 2, "moe_layer_freq": 1},
    "glm4_moe": {"head_dim": 128},
    "hunyuan_v1_dense": {"head_dim": 128, "num_key_value_heads": 8},
    "hunyuan_v1_moe": {
        "head_dim": 128, "num_key_value_heads": 8, "num_experts": 8, "moe_topk": [2] * 32,
        "num_shared_expert": [1] * 32, "moe_intermediate_size": [1024] * 32,
    },
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
}  # fmt: skip
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("bamba", {"attn_layer_indices": [3, 9]}),
    ("bloom", {"hidden_size": 256, "num_hidden_layers": 4}),
    ("cohere", {"use_qk_norm": True, "attention_bias": True}),
    ("deepseek_v3", {"q_lora_rank": None, "attention_bias": True}),
    ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 8, "hidden_size": 512, "num_attention_heads": 64}),
    ("falcon", {"multi_query": False, "parallel_attn": False, "alibi": True, "bias": True}),
    ("falcon_h1", {"mamba_rms_norm": True}),
    ("gemma3n_text", {"num_kv_shared_layers": 0}),
    ("gemma4_text", {"attention_k_eq_v": True, "num_kv_shared_layers": 10, "use_double_wide_mlp": True}),
    ("glm4_moe", {"head_dim": 128, "use_qk_norm": True, "attention_bias": True}),
    ("glm_moe_dsa", {"indexer_types": ["full", "shared"] * 39}),
    ("gpt2", {"n_inner": 1000, "tie_word_embeddings": False}),
    ("gpt_bigcode", {"multi_query": False}),
    ("gpt_neox", {"use_parallel_residual": False, "attention_bias": False}),
    ("granitemoehybrid", {"layer_types": ["mamba", "attention"] * 16, "shared_intermediate_size": 100}),
    ("granitemoehybrid", {"num_local_experts": 0, "shared_intermediate_size": 100}),
    ("jamba", {"num_experts": 1}),
    ("jamba", {"num_experts": 8, "expert_layer_period": 3, "expert_layer_offset": 2, "attn_layer_offset": 0}),
    ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "num_key_value_heads": 4}),
    ("llama4_text", {"interleave_moe_layer_step": 2}),
    ("opt", {"word_embed_proj_dim": 512, "do_layer_norm_before": False}),
    ("phi", {"qk_layernorm": True}),
    ("phimoe", {"attention_bias": True, "lm_head_bias": True}),
    ("qwen3_moe", {"decoder_sparse_step": 2, "mlp_only_layers": [3, 5]}),
    ("stablelm", {"use_parallel_residual": True, "qk_layernorm": True, "use_qkv_bias": True}),
    ("zamba2", {"use_shared_attention_adapter": True, "num_mem_blocks": 2}),
]
CONFIGS = [(family, NEEDED.get(family, {})) for family in BUILT] + VARIANTS


def test_there_are_enough_opinions() -> None:
    assert len(BUILT) >= 100


@pytest.mark.parametrize(("family", "facts"), CONFIGS, ids=[f"{f}-{i}" for i, (f, _) in enumerate(CONFIGS)])
def test_parameters_are_those_of_the_class(on_meta: Any, family: str, facts: dict[str, Any]) -> None:
    config, built = on_meta(family, facts)
    found = models.from_config(config, family)
    assert found.params_total == sum(p.numel() for p in built.parameters())
    assert [warning for warning in found.warnings if "is not read" in warning] == []


@pytest.mark.parametrize("name", [n for n in models.known() if models.named(n).config["model_type"] in BUILT])
def test_parameters_of_the_catalogue_are_those_of_the_class(on_meta: Any, name: str) -> None:
    model = models.named(name)
    facts = {key: value for key, value in model.config.items() if key not in ("model_type", "quantization_config")}
    _, built = on_meta(model.config["model_type"], facts)
    assert model.params_total == sum(p.numel() for p in built.parameters() if p.requires_grad)


PUBLISHED = json.loads((Path(__file__).parents[1] / "data/published_models.json").read_text())


@pytest.mark.parametrize("name", [n for n, of in PUBLISHED.items() if of["config"]["model_type"] in BUILT])
def test_parameters_of_published_configs_are_those_of_the_class(on_meta: Any, name: str) -> None:
    facts = {key: value for key, value in PUBLISHED[name]["config"].items() if key != "quantization_config"}
    _, built = on_meta(facts.pop("model_type"), facts)
    assert models.from_config(PUBLISHED[name]["config"], name).params_total == sum(
        p.numel() for p in built.parameters()
    )


@pytest.mark.parametrize("family", sorted(set(SHAPES) & set(CONFIG_MAPPING)))
def test_what_a_class_takes_for_an_absent_key_is_what_is_written_down(family: str) -> None:
    """Keys written by hand stand where a class has no field of that name and takes a constant."""
    written = json.loads((resources.files("rooflens.models") / "classes.json").read_text())[family]
    fields = {f.name: f for f in dataclasses.fields(CONFIG_MAPPING[family])}
    for key, value in written.items():
        if key in fields:
            field = fields[key]
            factory = field.default_factory
            assert value == (field.default if factory is dataclasses.MISSING else factory()), key
