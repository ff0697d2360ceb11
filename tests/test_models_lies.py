"""Configs that lie: one sentence a fault, all of them at once, in bounded time and memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens import models
from rooflens.errors import BadFile, RooflensError

LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 6, "vocab_size": 100,
    "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 512,
}  # fmt: skip
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
GEMMA = {**LLAMA, "model_type": "gemma3_text", "sliding_window": 8}
MAMBA = {
    **LLAMA, "model_type": "granitemoehybrid", "layer_types": ["mamba"] * 6, "mamba_n_heads": 4, "mamba_d_head": 32,
    "mamba_d_state": 8, "mamba_n_groups": 1, "num_local_experts": 4, "num_experts_per_tok": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "change", "sentence"),
    [
        (LLAMA, {"hidden_size": None}, "hidden_size / n_embd / d_model / n_embed / model_dim: missing"),
        (LLAMA, {"hidden_size": "64"}, "hidden_size: expected a whole number, found '64'"),
        (LLAMA, {"hidden_size": True}, "hidden_size: expected a whole number, found True"),
        (LLAMA, {"hidden_size": [64]}, "hidden_size: expected a whole number, found [64]"),
        (LLAMA, {"hidden_size": {"size": 64}}, "hidden_size: expected a whole number"),
        (LLAMA, {"hidden_size": 64.5}, "hidden_size: expected a whole number, found 64.5"),
        (LLAMA, {"hidden_size": -64}, "hidden_size: -64 is not a size"),
        (LLAMA, {"hidden_size": 0}, "hidden_size: 0 is not a size"),
        (LLAMA, {"hidden_size": 10**400}, "hidden_size: 1000000000"),
        (LLAMA, {"num_hidden_layers": 10**9}, "num_hidden_layers: 1000000000 is not a size (1 to 10000)"),
        (LLAMA, {"hidden_size": 60}, "hidden_size 60 is not a multiple of num_attention_heads 8"),
        (LLAMA, {"num_key_value_heads": 3}, "8 query heads are not a multiple of 3 key-value heads"),
        (LLAMA, {"num_key_value_heads": 16}, "8 query heads are not a multiple of 16 key-value heads"),
        (LLAMA, {"tie_word_embeddings": "yes"}, "tie_word_embeddings: expected true or false, found 'yes'"),
        (LLAMA, {"torch_dtype": 16}, "torch_dtype: expected text, found 16"),
        (MIXTRAL, {"num_experts_per_tok": 9}, "9 experts active a token, but there are 8"),
        (MIXTRAL, {"num_experts_per_tok": None}, "num_experts_per_tok"),
        (MIXTRAL, {"moe_layer_freq": [1, 1]}, "moe_layer_freq: 2 entries for 6 layers"),
        (MIXTRAL, {"mlp_layer_types": ["dense"]}, "mlp_layer_types: 1 entries for 6 layers"),
        (MIXTRAL, {"mlp_layer_types": ["dents"] * 6}, "mlp_layer_types: expected dense or sparse"),
        (MIXTRAL, {"mlp_only_layers": [7]}, "mlp_only_layers: expected a list of layer numbers below 6"),
        (GEMMA, {"layer_types": ["full_attention"] * 5}, "5 layer kinds for 6 layers"),
        (GEMMA, {"layer_types": ["holy_attention"] * 6}, "layer kinds 'holy_attention' are not known"),
        (GEMMA, {"layer_types": [["full_attention"]] * 6}, "layer kinds"),
        (GEMMA, {"sliding_window": "8"}, "sliding_window: expected a whole number, found '8'"),
        (MAMBA, {"mamba_n_groups": 3}, "4 state heads are not a multiple of 3 groups"),
        (MAMBA, {"mamba_d_state": None}, "mamba_d_state"),
    ],
)
def test_a_lie_is_one_sentence(config: dict[str, Any], change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadFile) as told:
        models.from_config({**config, **change}, "liar")
    assert sentence in str(told.value)
    assert str(told.value).startswith("liar: ")
    assert max(len(line) for line in str(told.value).splitlines()) < 200


def test_a_fault_is_told_once_however_often_it_is_met() -> None:
    with pytest.raises(BadFile) as told:
        models.from_config({**LLAMA, "hidden_size": -64}, "liar")
    assert told.value.faults == ("hidden_size: -64 is not a size (1 to 1099511627776)",)


def test_many_keys_that_nobody_reads_are_a_few_warnings() -> None:
    found = models.from_config({**LLAMA, **{f"key {i}": i + 1 for i in range(1000)}}, "liar").warnings
    assert len(found) == 21
    assert found[0].startswith("key 0 is not read")
    assert found[-1] == "980 more keys are not read"


@pytest.mark.parametrize("key", ["use_cla", "is_encoder_decoder", "add_cross_attention"])
def test_a_switch_that_nobody_models_is_refused_by_name(key: str) -> None:
    assert models.from_config({**LLAMA, key: False}, "liar").warnings == ()
    with pytest.raises(RooflensError, match=f"liar: {key} is not modelled: it means ."):
        models.from_config({**LLAMA, key: True}, "liar")


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(BadFile) as told:
        models.from_config({"model_type": "llama", "hidden_size": "64", "vocab_size": -1}, "liar")
    said = "\n".join(told.value.faults)
    assert len(told.value.faults) >= 5
    for key in ("hidden_size", "vocab_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
        assert key in said


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "model_type is missing"),
        ({"model_type": ""}, "model_type is missing"),
        ({"model_type": 7}, "model_type is missing"),
        ({"model_type": "llava"}, "missing"),
        ({"model_type": "llava", "text_config": [1]}, "missing"),
        ({"model_type": "internvl_chat"}, "none of text_config"),
        ({"model_type": "llama", "text_config": LLAMA}, "hidden_size"),
        ({"model_type": "llava", "text_config": {"model_type": "bert"}}, "model_type 'bert' is not modelled"),
    ],
)
def test_wrong_nesting_is_a_sentence(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RooflensError, match=sentence):
        models.from_config(config, "liar")


def test_a_config_that_nests_itself_for_ever_ends() -> None:
    config: dict[str, Any] = {"model_type": "llava"}
    config["text_config"] = config
    assert models.from_config(config, "liar").warnings  # a LLaVA that leaves everything to its class


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PUBLISHED = json.loads((Path(__file__).parent / "data/published_models.json").read_text())
REAL = [*(models.named(name).config for name in models.known()), *(entry["config"] for entry in PUBLISHED.values())]
real = st.sampled_from([json.dumps(config) for config in REAL])


@given(real, st.data())
def test_any_value_of_any_key_is_a_model_or_a_sentence(text: str, data: st.DataObject) -> None:
    config = json.loads(text)
    where = config.get("text_config", config) if data.draw(st.booleans()) else config
    key = data.draw(st.sampled_from([*where]))
    where[key] = data.draw(anything)
    try:
        models.from_config(config, "liar")
    except RooflensError as told:
        assert str(told)


@given(real, st.data())
def test_any_key_left_out_is_a_model_or_a_sentence(text: str, data: st.DataObject) -> None:
    config = json.loads(text)
    where = config.get("text_config", config) if data.draw(st.booleans()) else config
    del where[data.draw(st.sampled_from([*where]))]
    try:
        models.from_config(config, "liar")
    except RooflensError as told:
        assert str(told)
