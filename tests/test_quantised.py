"""What quantised models really store: bits with scales, parts left wide, the cache, and the math that follows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens import api, models, workload
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.models.ignored import shares
from rooflens.models.quantised import stored
from rooflens.models.schemes import METHODS

LLAMA_31_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip
HEAD = EMBED = 128256 * 4096
NORMS = (2 * 32 + 1) * 4096
LINEAR = 8_030_261_248 - HEAD - EMBED - NORMS
FP8_ACTIVATIONS = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True, "symmetric": True}
MODELOPT_NVFP4 = {
    "producer": {"name": "modelopt"},
    "quantization": {
        "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"],
    },
}  # fmt: skip


def llama(**facts):
    return models.from_config({**LLAMA_31_8B, "quantization_config": facts}, "llama-3.1-8b")


def compressed(weights, activations=None, **more):
    group = {"targets": ["Linear"], "weights": weights, "input_activations": activations}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"], **more}


def precision(model):
    return workload.precision(workload.own_dtype(model)[0], stored=model.stored)


SCHEMES = [
    # int4 values, a 16-bit scale and a 4-bit zero point for 128 of them
    ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 16 / 128 + 4 / 128, "fp16"),
    ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8 + (16 + 8) / 4096, "fp16"),
    ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, 4.15625, "fp16"),
    ({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": False}, 4.25, "fp16"),
    ({"quant_method": "auto-round", "bits": 2, "group_size": 32}, 2 + 16 / 32 + 2 / 32, "fp16"),
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 16384, "fp8"),
    ({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}, 8 + 8 / 16384, "fp8"),
    ({"quant_method": "fp8", "activation_scheme": "static"}, 8, "fp8"),
    ({"quant_method": "fbgemm_fp8"}, 8 + 32 / 4096, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, 8, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}, 4 + 8 / 16, "fp4"),
    ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ", "group_size": 128}, 4 + 16 / 128, "fp16"),
    (MODELOPT_NVFP4, 4.5, "fp4"),
    ({"quant_method": "mxfp4"}, 4 + 8 / 32, "fp16"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, 4 + 32 / 64, "fp16"),
    ({"load_in_4bit": True, "bnb_4bit_use_double_quant": True}, 4 + 8 / 64 + 32 / (64 * 256), "fp16"),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8 + 32 / 4096, "int8"),
    ({"bits": 4, "group_size": 64}, 4 + (16 + 16) / 64, "fp16"),  # MLX
    (compressed({"num_bits": 8, "type": "float", "strategy": "channel"}, FP8_ACTIVATIONS), 8 + 16 / 4096, "fp8"),
    (compressed({"num_bits": 8, "type": "int", "strategy": "channel"}), 8 + 16 / 4096, "fp16"),
    (compressed({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}), 4 + 16 / 128, "fp16"),
    (
        compressed({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": False}),
        4 + 16 / 128 + 4 / 128,
        "fp16",
    ),
    (
        compressed(
            {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
            {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
        ),
        4.5,
        "fp4",
    ),
    (
        compressed({**FP8_ACTIVATIONS, "strategy": "block", "block_structure": [128, 128]}, FP8_ACTIVATIONS),
        8 + 16 / 16384,
        "fp8",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "bits", "math"), SCHEMES)
def test_scales_and_zero_points_are_counted_in_the_bits(facts, bits, math):
    found = stored({"quantization_config": facts}, "config.json", 32, 4096)
    assert found.weights.bits == pytest.approx(bits, rel=1e-12)
    assert found.weights.math == math


@pytest.mark.parametrize(("facts", "bits", "math"), SCHEMES)
def test_packed_weights_are_not_parameters(facts, bits, math):
    assert llama(**facts).params_total == 8_030_261_248


def test_an_nvfp4_model_stores_what_its_file_holds_but_for_the_scalars():
    """The index of the published file says 6,027,749,376 bytes: 2,048 of them are scales of whole tensors."""
    model = llama(**MODELOPT_NVFP4)
    assert model.stored_bytes(precision(model)) == {"nvfp4": LINEAR * 4.5 / 8, "bf16": 2.0 * (HEAD + EMBED + NORMS)}
    assert 6_027_749_376 - sum(model.stored_bytes(precision(model)).values()) == 2048
    assert precision(model).kv.name == "fp8"


@pytest.mark.parametrize(("layers", "experts", "file_bytes"), [(24, 32, 13_761_264_768), (36, 128, 65_248_815_744)])
def test_an_mxfp4_model_stores_what_its_published_files_hold(layers, experts, file_bytes):
    """gpt-oss-20b and -120b: experts in 4.25 bits, all else in 16."""
    config = {
        "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": layers,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": experts,
        "num_experts_per_tok": 4, "vocab_size": 201088, "sliding_window": 128, "attention_bias": True,
        "layer_types": ["sliding_attention", "full_attention"] * (layers // 2),
        "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
    }  # fmt: skip
    model = models.from_config(config, "gpt-oss")
    assert sum(model.stored_bytes(precision(model)).values()) == file_bytes
    assert precision(model).stored("expert").math == "fp16"


def test_head_embedding_and_norms_stay_wide():
    model = llama(quant_method="gptq", bits=4, group_size=128)
    assert model.stored_bytes(precision(model)) == {
        "gptq int4 g128": LINEAR * 4.15625 / 8, "bf16": 2.0 * (HEAD + EMBED + NORMS),
    }  # fmt: skip


def test_a_head_that_is_quantised_too_is_counted_so():
    model = llama(quant_method="gptq", bits=4, group_size=128, lm_head=True)
    assert model.stored_bytes(precision(model))["bf16"] == 2.0 * (EMBED + NORMS)
    assert llama(**compressed({"num_bits": 8, "type": "int", "strategy": "tensor"}, ignore=[])).stored.parts.get(
        "head", "quantised"
    ) == "quantised"  # fmt: skip


def test_mlx_quantises_the_embedding_too():
    model = llama(bits=4, group_size=64)
    assert model.stored_bytes(precision(model))["bf16"] == 2.0 * NORMS


def test_the_format_that_a_person_names_wins():
    model = llama(**MODELOPT_NVFP4)
    named = workload.precision(dtype("bf16"), "fp8", stored=model.stored)
    assert (named.weights.name, named.kv.name) == (
        "fp8",
        "fp8",
    )  # only the weights were named: the cache is the model's
    assert workload.precision(dtype("bf16"), None, "int8", model.stored).kv.name == "int8"


def test_the_older_key_of_compressed_tensors_is_read():
    model = llama()
    named = {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}}
    scheme = {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"group_0": named}}
    older = models.from_config({**model.config, "compression_config": scheme}, "older")
    newer = models.from_config({**model.config, "quantization_config": scheme}, "newer")
    assert older.stored == newer.stored
    assert older.stored is not None


def test_attention_that_is_ignored_stays_wide():
    model = llama(**compressed({"num_bits": 8, "type": "float", "strategy": "tensor"}, FP8_ACTIVATIONS)
                  | {"ignore": ["lm_head", "re:.*self_attn.*"]})  # fmt: skip
    attention = 32 * (4096 * (32 + 2 * 8) * 128 + 32 * 128 * 4096)
    assert model.stored_bytes(precision(model))["bf16"] == 2.0 * (HEAD + EMBED + NORMS + attention)


def test_layers_that_are_ignored_are_a_share_and_said():
    names = ["lm_head", *(f"model.layers.{i}.mlp" for i in (0, 1, 30, 31))]
    model = llama(quant_method="fp8", modules_to_not_convert=names)
    ffn = 32 * 3 * 4096 * 14336
    attention = LINEAR - ffn
    total = sum(model.stored_bytes(precision(model)).values())
    assert total == pytest.approx(2 * (HEAD + EMBED + NORMS) + attention + ffn * (28 + 2 * 4) / 32)
    assert any("12% of the linear weights" in w for w in model.warnings)


@pytest.mark.parametrize(
    ("patterns", "part", "share"),
    [
        (["lm_head"], "head", 1),
        (["model.layers.*.self_attn"], "project", 1),
        (["model.layers.*.self_attn*"], "project", 1),
        (["*self_attn*"], "project", 1),
        (["self_attn"], "project", 1),
        (["model.layers.1.self_attn"], "project", 1 / 20),  # and not layer 10 to 19
        (["language_model.model.layers.1.self_attn"], "project", 1 / 20),
        (["re:.*self_attn.*"], "project", 1),
        (["re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], "linear", 1),
        (["re:.*mlp.gate$"], "router", 1),
        (["re:.*mlp.gate$"], "linear", 0),
        (["mlp.gate"], "router", 1),
        (["mlp.gate"], "linear", 0),
        (["re:model.layers.\\d+.mlp.shared_experts.*"], "shared", 1),
        (["model.layers.0.mlp.experts"], "expert", 1 / 20),
        (["re:.*kv_b_proj$"], "project", 1 / 5),
        (["q_proj", "k_proj", "v_proj", "o_proj"], "project", 1),
    ],
)
def test_a_list_of_modules_means_parts(patterns, part, share):
    found, unread = shares(patterns, 20, "config.json")
    assert found.get(part, 0) == pytest.approx(share)
    assert not unread


@pytest.mark.parametrize("pattern", ["re:(a+)+$", "re:[a-z]*x", "re:(?=x)", "re:a{1,99}", "re:" + ".*" * 500, "re:(a"])
def test_an_expression_that_is_not_simple_is_never_run(pattern):
    found, unread = shares([pattern], 10, "config.json")
    assert found == {}
    assert len(unread) == 1


def test_a_list_that_is_too_long_is_refused():
    with pytest.raises(RooflensError, match="201 patterns"):
        shares([f"*{i}" for i in range(201)], 10, "config.json")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"quant_method": "quip"}, "quant_method 'quip' is not modelled; modelled are: gptq"),
        ({"some": "thing"}, "quant_method is missing"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "quant_algo 'MIXED_PRECISION' is not modelled"),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP3"}, "a KV cache in 'fp3'"),
        ({"quant_method": "gptq", "bits": "four"}, "bits: expected a whole number, found 'four'"),
        ({"quant_method": "gptq", "group_size": 0}, "group_size: 0 is not a size"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "weight_block_size: expected two sizes"),
        ({"quant_method": "fp8", "weight_block_size": 128}, "weight_block_size: expected two sizes"),
        ({"quant_method": "fp8", "modules_to_not_convert": "lm_head"}, "expected a list of names"),
        ({"quant_method": "compressed-tensors"}, "config_groups: expected an object of groups"),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {}}}, "a group without weights"),
        (compressed({"num_bits": 4, "strategy": "row"}), "strategy 'row' is not modelled"),
        (compressed({"num_bits": 4, "type": "posit"}), "type 'posit' is not modelled"),
        (compressed({"num_bits": 4, "strategy": "block", "block_structure": [0, 1]}), "block_structure"),
    ],
)
def test_a_scheme_that_is_not_known_is_refused_by_name(facts, said):
    with pytest.raises(RooflensError, match="quantization_config") as refused:
        llama(**facts)
    assert said in str(refused.value)


def test_keys_that_change_bytes_and_are_not_read_are_warnings():
    assert "quantization_config.dynamic is not read" in llama(quant_method="gptq", dynamic={"-:x": {}}).warnings[0]
    assert llama(quant_method="gptq", dynamic={}, sparsity_config={"format": "dense"}).warnings == ()


def test_weight_only_math_is_16_bit_and_w8a8_needs_the_path(tmp_path):
    """W8A8 runs in fp8 on an H100; an A100 has no fp8, and it is said that 16 bit takes its place."""
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA_31_8B, "quantization_config": {"quant_method": "fp8"}}))
    path = str(tmp_path)
    assert api.place(path, on="h100-sxm5-80gb", phase="prefill").math == "fp8"
    on_a100 = api.place(path, on="a100-sxm4-80gb", phase="prefill")
    assert on_a100.math == "bf16"
    assert any("has no fp8 arithmetic" in note for note in on_a100.notes)


def test_a_quantised_model_streams_its_own_bytes():
    model = llama(quant_method="gptq", bits=4, group_size=128)
    found = workload.operators(model, workload.decode(1, 2048), precision(model))
    streamed = sum(float(o.count * o.cost.weight_bytes) for o in found)
    assert streamed == pytest.approx(LINEAR * 4.15625 / 8 + 2 * (HEAD + NORMS))


def test_other_kernels_of_a_quantised_model_keep_its_formats():
    model = llama(quant_method="gptq", bits=4, group_size=128)
    assert models.rebuilt(model, attention="unfused").stored == model.stored


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
KEYS = (
    "bits", "group_size", "weight_block_size", "quant_algo", "kv_cache_scheme", "ignore", "modules_to_not_convert",
    "config_groups", "load_in_4bit", "zero_point", "kv_cache_quant_algo", "scale_fmt", "dynamic", "quantization",
)  # fmt: skip
facts = st.dictionaries(st.sampled_from(KEYS), anything) | st.dictionaries(st.text(max_size=8), anything)


@given(st.sampled_from([*METHODS, ""]), facts, st.integers(1, 8) | st.just(1 << 40), st.integers(1, 1 << 40))
def test_whatever_the_facts_are_the_answer_is_bits_or_a_sentence(method, said, layers, width):
    try:
        found = stored({"quantization_config": {"quant_method": method, **said}}, "config.json", layers, width)
    except RooflensError as refused:
        assert str(refused)
    else:
        assert found is None or found.weights.bits > 0
