"""Families: every spelling of a fact means the same, each feature adds its rows, and no type is read as another."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from rooflens import models
from rooflens.errors import RooflensError
from rooflens.models import Choices, Model
from rooflens.models.refused import REFUSED
from rooflens.models.shapes import SHAPES
from rooflens.models.spellings import SPELLINGS, harmless
from rooflens.models.wrappers import WRAPPERS

PUBLISHED = json.loads((Path(__file__).parent / "data/published_models.json").read_text())
LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 6, "vocab_size": 100,
    "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 512, "tie_word_embeddings": False,
}  # fmt: skip
GEMMA3 = {**LLAMA, "model_type": "gemma3_text", "head_dim": 8, "sliding_window": 32, "tie_word_embeddings": True}
DEEPSEEK = {
    **LLAMA, "model_type": "deepseek_v3", "moe_intermediate_size": 16, "n_routed_experts": 8, "n_shared_experts": 1,
    "num_experts_per_tok": 2, "first_k_dense_replace": 1, "kv_lora_rank": 12, "q_lora_rank": 20,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
}  # fmt: skip


def model(config: dict[str, Any], **changes: Any) -> Model:
    return models.from_config({**config, **changes}, "tiny")


def kinds(found: Model) -> dict[str, int]:
    return {block.kind: block.count for block in found.blocks[1:-1]}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_parameter_counts(name: str) -> None:
    """Counts that end in five zeros are published rounded: within 1 %. The others are exact."""
    want, found = PUBLISHED[name]["params_total"], models.from_config(PUBLISHED[name]["config"], name)
    assert found.params_total == (pytest.approx(want, rel=0.01) if want % 100_000 == 0 else want)
    assert found.warnings == ()


@pytest.mark.parametrize("family", sorted(set(SHAPES) | set(WRAPPERS)))
def test_every_type_without_sizes_is_one_list_of_faults_and_never_a_crash(family: str) -> None:
    with pytest.raises(RooflensError, match=r"missing|holds a language model"):
        models.from_config({"model_type": family}, family)


@pytest.mark.parametrize("family", sorted(REFUSED))
def test_a_type_that_is_refused_says_what_it_has_that_is_not_modelled(family: str) -> None:
    with pytest.raises(RooflensError, match=f"model_type '{family}' is not modelled: it has ."):
        models.from_config({**LLAMA, "model_type": family}, "x")


def test_every_harmless_key_has_its_stars_at_its_ends_and_means_what_wildcards_mean() -> None:
    lines = (Path(models.__file__).parent / "harmless.txt").read_text(encoding="utf-8").splitlines()
    words = [word for line in lines if not line.startswith("#") for word in line.split()]
    assert not [word for word in words if "*" in word.strip("*")]
    keys = {word.replace("*", filler) for word in words for filler in ("", "x", "rope_")} | {*SPELLINGS}
    for key in keys | {f"x{key}" for key in keys}:
        assert harmless(key) == any(fnmatchcase(key, word) for word in words), key


def test_refused_and_modelled_types_are_different_types() -> None:
    assert not set(REFUSED) & set(SHAPES)
    assert set(WRAPPERS.values()) - {""} <= set(SHAPES)


def test_an_unknown_type_is_refused_by_name_even_when_it_looks_like_llama() -> None:
    with pytest.raises(RooflensError, match=r"model_type 'llamma' is not modelled, and no other.*nearest: llama"):
        model(LLAMA, model_type="llamma")


@pytest.mark.parametrize(
    ("what", "spelling"),
    [(what, s) for what in ("width", "layers", "heads", "ffn", "vocab", "context") for s in SPELLINGS[what]],
)
def test_every_spelling_of_a_size_means_the_same(what: str, spelling: str) -> None:
    usual = next(key for key in SPELLINGS[what] if key in LLAMA)
    config = {(spelling if key == usual else key): value for key, value in LLAMA.items()}
    assert models.from_config(config, "tiny").blocks == model(LLAMA).blocks


def test_all_spellings_are_of_one_fact_only() -> None:
    every = [key for keys in SPELLINGS.values() for key in keys]
    assert sorted(every) == sorted(set(every))


def test_a_head_width_that_is_written_wins_over_the_one_that_divides() -> None:
    """qkv and out: (8 + 2 x 2) x 16 x 64 + 8 x 16 x 64 weights, twice those of heads of 8."""
    wide, derived = model(LLAMA, head_dim=16), model(LLAMA)
    assert wide.params_total - derived.params_total == 6 * 64 * 8 * (8 + 2 * 2 + 8)
    assert wide.kv_elements_per_token() == 2 * derived.kv_elements_per_token()


@pytest.mark.parametrize(
    "pattern",
    [
        {"layer_types": ["sliding_attention"] * 5 + ["full_attention"]},
        {"sliding_window_pattern": 6},
        {"sliding_window_pattern": "LLLLLG"},
        {"global_attn_every_n_layers": 6},
        {},  # the class's own
    ],
)
def test_a_pattern_of_layers_reads_the_same_in_every_spelling(pattern: dict[str, Any]) -> None:
    found = model(GEMMA3, **pattern)
    assert kinds(found) == {"local attention": 5, "attention": 1, "ffn": 6}
    assert found.kv_elements_per_token(growing=True) == 2 * 2 * 8


@pytest.mark.parametrize("change", [{"sliding_window": None}, {"sliding_window": 512}, {"sliding_window": 9999}])
def test_a_window_that_never_binds_is_none(change: dict[str, Any]) -> None:
    assert kinds(model(GEMMA3, **change)) == {"attention": 6, "ffn": 6}


def test_a_window_is_off_unless_qwen_switches_it_on() -> None:
    qwen = {**LLAMA, "model_type": "qwen2", "sliding_window": 32, "max_window_layers": 4}
    assert kinds(model(qwen)) == kinds(model(qwen, use_sliding_window=False)) == {"attention": 6, "ffn": 6}
    assert kinds(model(qwen, use_sliding_window=True)) == {"attention": 4, "local attention": 2, "ffn": 6}


@pytest.mark.parametrize(
    "where",
    [
        {"first_k_dense_replace": 1, "moe_layer_freq": 1},
        {"moe_layer_freq": [0, 1, 1, 1, 1, 1], "first_k_dense_replace": 0},
        {"mlp_layer_types": ["dense"] + ["sparse"] * 5},
        {"mlp_only_layers": [0], "first_k_dense_replace": 0},
        {"first_k_dense_replace": None, "num_dense_layers": 1},
    ],
)
def test_where_experts_are_reads_the_same_in_every_spelling(where: dict[str, Any]) -> None:
    assert kinds(model(DEEPSEEK, **where)) == {"latent attention": 6, "ffn": 1, "experts": 5}


def test_every_second_layer_starts_where_its_class_starts() -> None:
    qwen = {**LLAMA, "model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    jamba = {
        **LLAMA, "model_type": "jamba", "num_experts": 4, "num_experts_per_tok": 2, "mamba_d_state": 4,
        "mamba_dt_rank": 4, "attn_layer_period": 3, "attn_layer_offset": 1,
    }  # fmt: skip
    assert kinds(model(qwen, decoder_sparse_step=2))["experts"] == 3
    assert kinds(model(jamba)) == {"mamba-1": 4, "attention": 2, "ffn": 3, "experts": 3}
    assert kinds(model(jamba, expert_layer_offset=0, expert_layer_period=4))["experts"] == 2  # layers 0 and 4


def test_latent_attention_counts_the_same_absorbed_and_expanded() -> None:
    """kv_b is one matrix of 12 x 8 x (8 + 8); absorbed, its two halves stand on both sides of attention."""
    absorbed, expanded = model(DEEPSEEK), models.from_config(DEEPSEEK, "tiny", Choices(mla="expanded"))
    latent = 64 * 20 + 20 + 20 * 8 * 12 + 64 * 16 + 12 + 12 * 8 * 16 + 8 * 8 * 64 + 64
    (one,) = (block for block in absorbed.blocks if block.kind == "latent attention")
    assert replace(absorbed, blocks=(replace(one, count=1),)).params_total == latent
    assert absorbed.params_total == expanded.params_total
    assert absorbed.kv_elements_per_token() == expanded.kv_elements_per_token() == 6 * (12 + 4)


def test_queries_without_a_latent_of_their_own() -> None:
    """q_a, its norm and q_b give way to one product of 64 x 8 x 12."""
    straight = model(DEEPSEEK, q_lora_rank=None)
    assert model(DEEPSEEK).params_total - straight.params_total == 6 * (64 * 20 + 20 + 20 * 96 - 64 * 96)


def test_an_indexer_adds_its_weights_and_a_small_key_a_position() -> None:
    sparse = model(DEEPSEEK, model_type="deepseek_v32", index_topk=8, index_n_heads=4, index_head_dim=6)
    added = 20 * 4 * 6 + 64 * 6 + 2 * 6 + 64 * 4
    assert sparse.params_total - model(DEEPSEEK).params_total == 6 * added
    assert sparse.kv_elements_per_token() == sparse.kv_elements_per_token(growing=True) == 6 * (12 + 4 + 6)


def test_layers_that_share_a_selection_have_no_indexer() -> None:
    glm = {**DEEPSEEK, "model_type": "glm_moe_dsa", "index_topk": 8, "index_n_heads": 4, "index_head_dim": 6}
    every, some = model(glm), model(glm, indexer_types=["full", "shared", "shared"] * 2)
    assert every.params_total - some.params_total == 4 * (20 * 4 * 6 + 64 * 6 + 2 * 6 + 64 * 4)


def test_layers_that_read_an_earlier_cache_store_none_and_project_no_keys() -> None:
    gemma = {**GEMMA3, "model_type": "gemma4_text", "global_head_dim": 16, "hidden_size_per_layer_input": 0}
    alone, shared = model(gemma), model(gemma, num_kv_shared_layers=3)
    assert alone.kv_elements_per_token() == 5 * 2 * 2 * 8 + 2 * 2 * 16
    assert shared.kv_elements_per_token() == 3 * 2 * 2 * 8
    # Two local layers and the global one lose k and v, 64 x 2 heads each, and the norm of the keys.
    assert alone.params_total - shared.params_total == 2 * (64 * 4 * 8 + 8) + 64 * 4 * 16 + 16


def test_an_embedding_for_each_layer_is_stored_but_not_streamed() -> None:
    gemma = {**GEMMA3, "model_type": "gemma4_text", "global_head_dim": 8, "vocab_size_per_layer_input": 90}
    without, with_it = model(gemma, hidden_size_per_layer_input=0), model(gemma, hidden_size_per_layer_input=4)
    streamed = 64 * 6 * 4 + 4 + 6 * (2 * 64 * 4 + 64)  # a product for all layers and its norm, two and a norm a layer
    assert with_it.params_streamed - without.params_streamed == streamed
    assert with_it.params_total - without.params_total == streamed + 90 * 6 * 4


def test_one_string_of_layers_is_one_half_each() -> None:
    nemotron = {
        **LLAMA, "model_type": "nemotron_h", "head_dim": 8, "hybrid_override_pattern": "M*-MEM", "mamba_num_heads": 4,
        "mamba_head_dim": 8, "ssm_state_size": 16, "n_groups": 2, "conv_kernel": 4, "n_routed_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 24, "moe_shared_expert_intermediate_size": 40,
        "n_shared_experts": 1,
    }  # fmt: skip
    assert kinds(model(nemotron)) == {"mamba-2": 3, "attention": 1, "ffn": 1, "experts": 1}
    listed = {**nemotron, "layers_block_type": ["mamba", "attention", "mlp", "mamba", "moe", "mamba"]}
    del listed["hybrid_override_pattern"], listed["num_hidden_layers"]
    assert models.from_config(listed, "tiny").blocks == model(nemotron).blocks


def test_null_blocks_of_a_searched_architecture_have_no_rows() -> None:
    plain = {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 3.0}}
    entries = [
        plain, plain, plain, {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.5}},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
        {"attention": {"n_heads_in_group": 8}, "ffn": {"replace_with_linear": True}},
    ]  # fmt: skip
    found = model({**LLAMA, "model_type": "nemotron-nas", "block_configs": entries, "hidden_size": 512})
    assert [(b.kind, b.count) for b in found.blocks[1:-1]] == [
        ("attention", 3), ("linear in place of attention", 1), ("attention", 1), ("ffn", 3), ("ffn", 1),
        ("linear in place of ffn", 1),
    ]  # fmt: skip
    assert found.kv_elements_per_token() == 2 * 64 * (3 * 2 + 1)


def test_shared_transformer_blocks_are_stored_once_and_streamed_at_every_place() -> None:
    zamba = {
        **LLAMA, "model_type": "zamba2", "n_mamba_heads": 4, "mamba_d_state": 8, "mamba_headdim": 32,
        "mamba_ngroups": 1, "adapter_rank": 4, "num_mem_blocks": 1, "tie_word_embeddings": True,
        "layers_block_type": ["mamba", "hybrid"] * 3,
    }  # fmt: skip
    found = model(zamba)
    block = 128 * 3 * 128 + 128 + 128 * 64 + 3 * 64 * 96 + 64
    assert kinds(found) == {"mamba-2": 6, "shared block": 1, "shared block, again": 2, "adapters": 3}
    assert found.params_streamed == found.params_total + 2 * block
    assert found.kv_elements_per_token() == 3 * 2 * 128


@pytest.mark.parametrize("nest", ["text_config", "language_config", "llm_config"])
def test_a_language_model_inside_another_is_found_and_the_rest_is_said(nest: str) -> None:
    outer = {"model_type": "internvl_chat", nest: LLAMA, "vision_config": {"model_type": "intern_vit"}}
    found = models.from_config(outer, "x")
    assert found.blocks == model(LLAMA).blocks
    assert found.not_modelled == ("vision part (intern_vit): left out, the text part alone is counted",)


def test_what_a_nested_config_leaves_out_is_its_class_and_what_it_writes_as_null_is_null() -> None:
    outer = {"model_type": "llava", "text_config": {"num_hidden_layers": 4, "model_type": "mistral"}}
    found = models.from_config(outer, "x")
    assert (found.letters["D"], found.letters["L"]) == (4096.0, 4.0)
    assert "hidden_size 4096" in found.warnings[0]
    assert kinds(found) == {"local attention": 4, "ffn": 4}
    whole = models.from_config({**outer, "text_config": {**outer["text_config"], "sliding_window": None}}, "x")
    assert kinds(whole) == {"attention": 4, "ffn": 4}


def test_what_a_nested_config_says_in_other_words_than_its_class_is_said() -> None:
    """The class has num_local_experts 128 where files write num_experts."""
    inner = {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    inner["model_type"] = "qwen3_moe"
    found = models.from_config({"model_type": "internvl_chat", "llm_config": inner}, "x")
    assert (found.letters["E"], found.letters["A"]) == (4, 2)


def test_the_outer_config_decides_whether_the_head_is_tied() -> None:
    inner = {**LLAMA, "tie_word_embeddings": True}
    found = models.from_config({"model_type": "llava", "text_config": inner, "tie_word_embeddings": False}, "x")
    assert found.params_total == model(LLAMA).params_total


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"num_local_experts": 8, "num_experts_per_tok": 2}, "num_local_experts"),
        ({"kv_lora_rank": 64}, "kv_lora_rank"),
        ({"sliding_window": 128}, "sliding_window"),
        ({"use_qk_norm": True}, "use_qk_norm"),
        ({"never_seen_before": 3}, "never_seen_before"),
    ],
)
def test_a_key_that_llama_does_not_read_is_a_warning_that_names_it(change: dict[str, Any], key: str) -> None:
    assert any(warning.startswith(f"{key} is not read") for warning in model(LLAMA, **change).warnings)


def test_keys_that_change_nothing_make_no_noise() -> None:
    quiet = {
        "rope_theta": 1e6, "rope_scaling": {"type": "yarn"}, "rms_norm_eps": 1e-6, "attention_dropout": 0.1,
        "initializer_range": 0.02, "bos_token_id": 1, "_name_or_path": "x", "attn_implementation": "sdpa",
        "use_cache": True, "hidden_act": "silu", "torch_dtype": "bfloat16", "never_seen_but_null": None,
    }  # fmt: skip
    assert model(LLAMA, **quiet).warnings == ()


def test_two_spellings_of_one_fact_may_stand_together_only_when_they_agree() -> None:
    moe = {**LLAMA, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    assert model(moe, experts_per_token=2).warnings == ()
    assert "experts_per_token is not read" in model(moe, experts_per_token=4).warnings[0]


def test_a_model_built_again_with_another_choice_is_the_same_model() -> None:
    found = models.rebuilt(model(DEEPSEEK), mla="expanded")
    assert (found.choices.mla, found.params_total) == ("expanded", model(DEEPSEEK).params_total)
