"""What a class takes for a key that is absent, and which layers it makes local then: every optional key left out."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from rooflens import models
from rooflens.models.shapes import SHAPES
from rooflens.models.spellings import asked

FAMILIES = sorted(set(SHAPES) & set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) & set(CONFIG_MAPPING))
# Sizes that a file is asked for, and one of every kind that classes have a default of, made other than theirs.
SIZES: dict[str, Any] = {
    "vocab_size": 1000, "hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 32,
    "intermediate_size": 768, "ffn_dim": 768, "max_position_embeddings": 1 << 20, "kv_lora_rank": 64,
    "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "n_routed_experts": 8, "num_experts": 8,
    "num_local_experts": 8, "moe_num_experts": 8, "num_experts_per_tok": 2, "moe_k": 2, "n_embd": 512, "n_layer": 12,
    "n_head": 16, "n_positions": 4096, "pad_token_id": 0, "index_n_heads": 4, "index_head_dim": 32, "index_topk": 64,
}  # fmt: skip
LOCAL = {"use_sliding_window": True}
# Whose files always say what their class cannot do without, or where its own parts do not fit each other.
LEFT_OUT = {
    "helium",
    "lfm2_moe",
    "mamba2",
    "zamba2",
    "glm4_moe",
    "hunyuan_v1_dense",
    "nemotron_h",
    "dbrx",
    "bitnet",
    "gemma3n_text",
}
ALL_LOCAL = {"mistral", "mixtral", "phi3", "starcoder2", "phimoe", "ministral3"}


@pytest.mark.parametrize("more", [{}, LOCAL], ids=["as it is", "window on"])
@pytest.mark.parametrize("family", [f for f in FAMILIES if f not in LEFT_OUT])
def test_what_is_left_out_is_what_the_class_takes(on_meta: Any, family: str, more: dict[str, Any]) -> None:
    fields = {field.name for field in dataclasses.fields(CONFIG_MAPPING[family])}
    facts = {key: value for key, value in {**SIZES, **more}.items() if key in fields}
    if more and not more.keys() & fields:
        pytest.skip("has no such switch")
    try:
        config, built = on_meta(family, facts)
    except Exception as error:  # noqa: BLE001  other people's, who ask for more
        pytest.skip(f"its class asks for more: {type(error).__name__}")
    facts |= {key: config[key] for key in fields - facts.keys() if asked(key) and config.get(key) is not None}
    found = models.from_config({**facts, "model_type": family}, family)
    assert found.params_total == sum(p.numel() for p in built.parameters())
    if family in ALL_LOCAL or isinstance(config.get("layer_types"), list):
        assert _ours(found) == _windows(family, config)


def _ours(model: models.Model) -> dict[float | None, int]:
    found: collections.Counter[float | None] = collections.Counter()
    for block in model.blocks:
        if block.kind in ("attention", "local attention", "chunked attention", "latent attention", "sparse attention"):
            found[block.window if block.local != "selection" else None] += block.count
    return dict(found)


def _windows(family: str, config: dict[str, Any]) -> dict[float | None, int]:
    window = config.get("sliding_window") or None
    if family in ALL_LOCAL:
        return {window: config["num_hidden_layers"]}
    reach = {"sliding_attention": window, "chunked_attention": config.get("attention_chunk_size")}
    kinds = [kind for kind in config["layer_types"] if "attention" in kind and kind != "linear_attention"]
    return dict(collections.Counter(reach.get(kind) for kind in kinds))
