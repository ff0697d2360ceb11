"""A key that is absent is what the class takes for it; one that is null says none: two things, and both are said."""

from __future__ import annotations

from typing import Any

import pytest

from rooflens import models
from rooflens.errors import BadFile

MISTRAL = {
    "model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768,
    "sliding_window": None,
}  # fmt: skip
DEEPSEEK = {
    "model_type": "deepseek_v3", "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 4,
    "num_attention_heads": 8, "vocab_size": 1000, "kv_lora_rank": 64, "q_lora_rank": None, "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16, "v_head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 256, "first_k_dense_replace": 1, "n_shared_experts": None,
}  # fmt: skip
QWEN2 = {**MISTRAL, "model_type": "qwen2", "use_sliding_window": True, "sliding_window": 1024, "max_window_layers": 30}
GEMMA2 = {**MISTRAL, "model_type": "gemma2", "sliding_window": 1024, "head_dim": 128, "num_key_value_heads": 16}
SMOLLM3 = {**MISTRAL, "model_type": "smollm3", "num_key_value_heads": 8}
DOTS = {
    **MISTRAL, "model_type": "dots1", "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512,
    "sliding_window": 1024, "max_window_layers": 30,
}  # fmt: skip


def built(config: dict[str, Any], **change: Any) -> models.Model:
    return models.from_config({**config, **change}, "a model")


def without(config: dict[str, Any], *keys: str) -> models.Model:
    return models.from_config({key: value for key, value in config.items() if key not in keys}, "a model")


def windows(model: models.Model) -> dict[float | None, int]:
    found: dict[float | None, int] = {}
    for block in model.blocks:
        if block.kind.endswith("attention"):
            found[block.window] = found.get(block.window, 0) + block.count
    return found


@pytest.mark.parametrize(
    ("config", "key", "absent", "null"),
    [
        (MISTRAL, "sliding_window", {4096: 32}, {None: 32}),
        ({**MISTRAL, "model_type": "starcoder2"}, "sliding_window", {None: 32}, {None: 32}),  # its class takes none
        ({**MISTRAL, "model_type": "ministral3"}, "sliding_window", {None: 32}, {None: 32}),
        (GEMMA2, "sliding_window", {4096: 16, None: 16}, {None: 32}),
        (QWEN2, "sliding_window", {None: 30, 4096: 2}, {None: 32}),
        (QWEN2, "max_window_layers", {None: 28, 1024: 4}, {1024: 32}),
        (QWEN2, "use_sliding_window", {None: 32}, {None: 32}),
        (DOTS, "max_window_layers", {None: 32}, {1024: 32}),
    ],
)
def test_a_window_that_is_absent_is_the_class_s_and_a_null_one_is_none(
    config: dict[str, Any], key: str, absent: dict[float | None, int], null: dict[float | None, int]
) -> None:
    assert (windows(without(config, key)), windows(built(config, **{key: None}))) == (absent, null)


@pytest.mark.parametrize(
    ("config", "key", "absent", "null"),
    [
        (MISTRAL, "num_key_value_heads", 8, 32),  # none of its own: as many as query heads
        (SMOLLM3, "num_key_value_heads", 4, 32),
        ({**MISTRAL, "model_type": "llama"}, "num_key_value_heads", 32, 32),
        (GEMMA2, "head_dim", 256, 4096 // 32),
        (DEEPSEEK, "q_lora_rank", 1536, None),
        (DEEPSEEK, "n_shared_experts", 256, None),  # one
    ],
)
def test_a_size_that_is_absent_is_the_class_s_and_a_null_one_is_none(
    config: dict[str, Any], key: str, absent: int, null: int | None
) -> None:
    letter = {
        "num_key_value_heads": "K", "head_dim": "W", "q_lora_rank": "Rq", "n_shared_experts": "Fs",
    }[key]  # fmt: skip
    left, said = without(config, key), built(config, **{key: None})
    assert (left.letters.get(letter), said.letters.get(letter)) == (absent, null)
    assert said.warnings == ()


def test_what_the_class_filled_in_is_said() -> None:
    assert without(MISTRAL, "sliding_window", "num_key_value_heads").warnings == (
        "the config leaves out num_key_value_heads 8, sliding_window 4096: the defaults of its class are taken",
    )


def test_experts_without_a_width_are_not_as_wide_as_the_dense_layers() -> None:
    assert without(DEEPSEEK, "moe_intermediate_size").letters["Fe"] == 2048  # the class's, and said
    with pytest.raises(BadFile, match=r"moe_intermediate_size.*missing"):
        built(DEEPSEEK, moe_intermediate_size=None)
    assert (
        built({**MISTRAL, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}).letters["Fe"]
        == 14336
    )


@pytest.mark.parametrize(
    "key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"]
)
def test_the_sizes_that_make_a_model_are_asked_for(key: str) -> None:
    with pytest.raises(BadFile, match=f"{key}.*missing"):
        without(MISTRAL, key)


def test_a_plain_network_is_four_times_as_wide_only_where_its_class_says_so() -> None:
    gpt = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32, "vocab_size": 100}
    opt = {
        "model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
        "max_position_embeddings": 32,
    }  # fmt: skip
    assert built(gpt).letters["F"] == built(gpt, n_inner=None).letters["F"] == 4 * 64
    with pytest.raises(BadFile, match="ffn_dim"):
        built(opt)


@pytest.mark.parametrize(
    ("family", "facts", "local"),
    [
        ("smollm3", {"use_sliding_window": True, "sliding_window": 16}, {None: 24, 16: 8}),
        (
            "smollm3",
            {"use_sliding_window": True, "sliding_window": 16, "no_rope_layers": [0, 1] * 16},
            {None: 16, 16: 16},
        ),
        ("smollm3", {"sliding_window": 16}, {None: 32}),
        ("qwen2_moe", {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 9}, {None: 27, 16: 5}),
    ],
)
def test_kinds_of_layers_that_only_the_class_knows(family: str, facts: dict[str, Any], local: dict[Any, int]) -> None:
    experts = {"num_experts": 4, "num_experts_per_tok": 2} if family == "qwen2_moe" else {}
    assert windows(built({**MISTRAL, **experts, "model_type": family}, **facts)) == local
