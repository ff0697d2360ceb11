"""What quantised models really store: bits with scales, parts left wide, the cache, and the math that follows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens import api, models, workload
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.models.ignored import meant
from rooflens.models.quantised import quantised
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


def ceil(size, part):
    return -(-size // part)


# The bits of one matrix of R outputs and C inputs, and the math that follows.
SCHEMES = [
    # int4 values, a 16-bit scale and a 4-bit zero point for 128 of a row, and the group of each input in 32 bits
    (
        {"quant_method": "gptq", "bits": 4, "group_size": 128},
        lambda r, c: 4 * r * c + (16 + 4) * r * ceil(c, 128) + 32 * c,
        "fp16",
    ),
    ({"quant_method": "gptq", "bits": 8, "group_size": -1}, lambda r, c: 8 * r * c + (16 + 8) * r + 32 * c, "fp16"),
    (
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "model_file_base_name": "model"},  # and a bias of zeros
        lambda r, c: 4 * r * c + (16 + 4) * r * ceil(c, 128) + 32 * c + 16 * r,
        "fp16",
    ),
    (
        {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
        lambda r, c: 4 * r * c + (16 + 4) * r * ceil(c, 128),
        "fp16",
    ),
    (
        {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": False},
        lambda r, c: 4 * r * c + 16 * r * ceil(c, 64),
        "fp16",
    ),
    (
        {"quant_method": "auto-round", "bits": 2, "group_size": 32},
        lambda r, c: 2 * r * c + (16 + 2) * r * ceil(c, 32),
        "fp16",
    ),
    (
        {"quant_method": "fp8", "weight_block_size": [128, 128]},
        lambda r, c: 8 * r * c + 32 * ceil(r, 128) * ceil(c, 128),
        "fp8",
    ),
    (
        {"quant_method": "fp8", "weight_block_size": [64, 128], "scale_fmt": "ue8m0"},  # a power of two, kept as fp32
        lambda r, c: 8 * r * c + 32 * ceil(r, 64) * ceil(c, 128),
        "fp8",
    ),
    ({"quant_method": "fp8", "activation_scheme": "static"}, lambda r, c: 8 * r * c + 2 * 32, "fp8"),
    ({"quant_method": "fp8", "activation_scheme": "dynamic"}, lambda r, c: 8 * r * c + 32, "fp8"),
    ({"quant_method": "fbgemm_fp8"}, lambda r, c: 8 * r * c + 32 * r + 32, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, lambda r, c: 8 * r * c + 2 * 32, "fp8"),
    (
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16},
        lambda r, c: 4 * r * c + 8 * r * ceil(c, 16) + 2 * 32,
        "fp4",
    ),
    (
        {"quant_method": "modelopt", "quant_algo": "W4A16_AWQ", "group_size": 128},
        lambda r, c: 4 * r * c + 16 * r * ceil(c, 128) + 16 * c,
        "fp16",
    ),
    (MODELOPT_NVFP4, lambda r, c: 4 * r * c + 8 * r * ceil(c, 16) + 2 * 32, "fp4"),
    ({"quant_method": "mxfp4"}, lambda r, c: 4 * r * c + 8 * r * ceil(c, 32), "fp16"),
    (
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        lambda r, c: 4 * r * c + 32 * ceil(r * c, 64) + 32 * 16,
        "fp16",
    ),
    (
        {"load_in_4bit": True, "bnb_4bit_use_double_quant": True},
        lambda r, c: 4 * r * c + 8 * ceil(r * c, 64) + 32 * ceil(ceil(r * c, 64), 256) + 32 * (16 + 256),
        "fp16",
    ),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, lambda r, c: 8 * r * c + 32 * r + 8, "int8"),
    ({"bits": 4, "group_size": 64}, lambda r, c: 4 * r * c + (16 + 16) * r * ceil(c, 64), "fp16"),  # MLX
    ({"bits": 4, "group_size": 32, "mode": "mxfp4"}, lambda r, c: 4 * r * c + 8 * r * ceil(c, 32), "fp16"),
    (
        compressed({"num_bits": 8, "type": "float", "strategy": "channel"}, FP8_ACTIVATIONS),
        lambda r, c: 8 * r * c + 16 * r,
        "fp8",
    ),
    (
        compressed({"num_bits": 8, "type": "float", "strategy": "tensor"}, {**FP8_ACTIVATIONS, "dynamic": False}),
        lambda r, c: 8 * r * c + 2 * 16,
        "fp8",
    ),
    (compressed({"num_bits": 8, "type": "int", "strategy": "channel"}), lambda r, c: 8 * r * c + 16 * r, "fp16"),
    (
        compressed({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}, format="pack-quantized"),
        lambda r, c: 4 * r * c + 16 * r * ceil(c, 128) + 2 * 64,  # its shape beside it
        "fp16",
    ),
    (
        compressed(
            {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": False,
             "actorder": "group"},
            format="pack-quantized",
        ),
        lambda r, c: 4 * r * c + (16 + 4) * r * ceil(c, 128) + 2 * 64 + 32 * c,
        "fp16",
    ),
    (
        compressed(
            {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
            {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
        ),
        lambda r, c: 4 * r * c + 8 * r * ceil(c, 16) + 2 * 32,
        "fp4",
    ),
    (
        compressed({**FP8_ACTIVATIONS, "strategy": "block", "block_structure": [128, 128]}, FP8_ACTIVATIONS),
        lambda r, c: 8 * r * c + 16 * ceil(r, 128) * ceil(c, 128),
        "fp8",
    ),
]  # fmt: skip
SHAPES = [(4096, 14336), (18432, 7168), (7168, 18432), (576, 7168), (1000, 1111), (1, 1)]


def scheme(facts):
    return quantised({"quantization_config": facts}, "config.json", ())[0]


@pytest.mark.parametrize(("facts", "bits", "math"), SCHEMES)
def test_scales_and_zero_points_are_counted_matrix_by_matrix(facts, bits, math):
    found = scheme(facts).weights
    assert {shape: found.layout.bits(*shape) for shape in SHAPES} == {shape: bits(*shape) for shape in SHAPES}
    assert found.math == math


@pytest.mark.parametrize(("facts", "bits", "math"), SCHEMES)
def test_a_value_of_a_large_matrix_takes_the_mean(facts, bits, math):
    side = 1 << 20
    assert scheme(facts).weights.bits == pytest.approx(bits(side, side) / side**2, rel=1e-4)


@pytest.mark.parametrize(("facts", "bits", "math"), SCHEMES)
def test_the_bytes_of_a_model_are_those_of_its_matrices(facts, bits, math):
    """Query, key, value and output products, gate, up and down, each by its own rows and columns."""
    config = {**LLAMA_31_8B, "hidden_size": 1000, "intermediate_size": 2345, "num_attention_heads": 10, "head_dim": 50,
              "num_key_value_heads": 2, "num_hidden_layers": 3, "vocab_size": 100}  # fmt: skip
    matrices = [(500, 1000), (100, 1000), (100, 1000), (1000, 500), (2345, 1000), (2345, 1000), (1000, 2345)]
    model = models.from_config({**config, "quantization_config": facts}, "llama")
    found = model.stored_bytes(precision(model))
    if facts.get("quant_method") != "mxfp4":  # which keeps all but experts wide
        narrow = {name: size for name, size in found.items() if name != "bf16"}
        cached = 64 if facts is MODELOPT_NVFP4 else 0  # the scales of keys and values
        tables = sum(bits(100, 1000) for part in ("head", "embed") if part not in model.stored.parts)
        assert sum(narrow.values()) == pytest.approx(
            (3 * (sum(bits(*shape) for shape in matrices) + cached) + tables) / 8, rel=1e-15
        )


@pytest.mark.parametrize(("facts", "bits", "math"), SCHEMES)
def test_packed_weights_are_not_parameters(facts, bits, math):
    assert llama(**facts).params_total == 8_030_261_248


def test_an_nvfp4_model_stores_what_its_file_holds():
    """Of 6,027,749,376 bytes in all, 2,048 are scales of whole tensors: 16 a layer."""
    model = llama(**MODELOPT_NVFP4)
    stored = {"nvfp4": LINEAR * 4.5 / 8 + 2048, "bf16": 2.0 * (HEAD + EMBED + NORMS)}
    assert model.stored_bytes(precision(model)) == stored
    assert sum(stored.values()) == 6_027_749_376
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
    inputs = 32 * (6 * 4096 + 14336)
    assert model.stored_bytes(precision(model)) == {
        "gptq int4 g128": LINEAR * 4.15625 / 8 + 4 * inputs, "bf16": 2.0 * (HEAD + EMBED + NORMS),
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
    assert any("12 % of the linear weights" in w for w in model.warnings)


@pytest.mark.parametrize(
    ("patterns", "part", "module", "layers"),
    [
        (["model.layers.*.self_attn"], "project", "q", 20),
        (["model.layers.*.self_attn*"], "project", "o", 20),
        (["*self_attn*"], "project", "kv_b", 20),
        (["self_attn"], "project", "k", 20),
        (["self_attn"], "linear", "up", 0),
        (["model.layers.1.self_attn"], "project", "v", 1),  # and not layers 10 to 19
        (["language_model.model.layers.1.self_attn"], "project", "q", 1),
        (["model.language_model.layers.1.self_attn.q_proj"], "project", "q", 1),
        (["transformer.h.1.attn.c_attn"], "project", "qkv", 1),
        (["backbone.layers.1.mixer.in_proj", "backbone.layers.2.mixer.in_proj"], "ssm", "in", 2),
        (["re:.*self_attn.*"], "project", "q_a", 20),
        (["re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], "linear", "down", 20),
        (["re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], "project", "o", 0),
        (["re:.*mlp.gate$"], "router", "", 20),
        (["re:.*mlp.gate$"], "linear", "gate", 0),
        (["mlp.gate"], "router", "", 20),
        (["mlp.gate"], "linear", "gate", 0),
        (["re:model.layers.\\d+.mlp.shared_experts.*"], "shared", "up", 20),
        (["model.layers.0.mlp.experts"], "expert", "down", 1),
        (["model.layers.3"], "expert", "down", 1),
        (["re:.*kv_b_proj$"], "project", "kv_b", 20),
        (["re:.*kv_b_proj$"], "project", "q_b", 0),
        (["q_proj", "k_proj"], "project", "k", 20),
        (["q_proj", "k_proj"], "project", "v", 0),
        (["model.layers.1?.mlp*"], "linear", "gate", 10),
        (["re:.*layers.1.mlp.*"], "linear", "gate", 1),
        (["linear_attn.in_proj_ba"], "ssm", "ba", 20),
        (["linear_attn.in_proj_ba"], "ssm", "qkvz", 0),
    ],
)
def test_a_list_of_modules_means_matrices(patterns, part, module, layers):
    found, unread = meant(patterns, "config.json")
    assert len(found.layers(part, module, range(20))) == layers
    assert not unread


@pytest.mark.parametrize(("pattern", "name"), [(["lm_head"], "lm_head"), (["re:.*lm_head"], "lm_head")])
def test_what_stands_outside_the_layers_is_meant_by_its_name(pattern, name):
    found, _ = meant(pattern, "config.json")
    assert found.name(name)
    assert not found.layers("project", "q", range(20))


@pytest.mark.parametrize("pattern", ["re:(a+)+$", "re:[a-z]*x", "re:(?=x)", "re:a{1,99}", "re:" + ".*" * 500, "re:(a"])
def test_an_expression_that_is_not_simple_is_never_run(pattern):
    found, unread = meant([pattern], "config.json")
    assert not found.layers("linear", "up", range(20))
    assert len(unread) == 1


def test_a_list_that_is_too_long_is_refused():
    with pytest.raises(RooflensError, match="201 patterns"):
        meant([f"*{i}" for i in range(201)], "config.json")
    with pytest.raises(RooflensError, match="100001 modules"):
        meant([f"layer {i}" for i in range(100_001)], "config.json")


def test_patterns_that_are_not_read_are_a_few_warnings():
    _, unread = meant(["*a" * 9, "x" * 301, *(f"re:[a-{i}]" for i in range(10))], "config.json")
    assert len(unread) == 6
    assert unread[-1].endswith("has 7 more patterns that are not read")


def test_only_the_matrices_that_a_list_means_stay_wide():
    """The smallest product of each latent attention, and all of layer 2."""
    names = ["lm_head", "re:.*kv_a_proj_with_mqa$", "model.layers.2"]
    config = {
        "model_type": "deepseek_v3", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4,
        "num_attention_heads": 4, "vocab_size": 1000, "kv_lora_rank": 64, "q_lora_rank": 96, "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16, "v_head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 256, "first_k_dense_replace": 2, "n_shared_experts": 1, "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128], "ignored_layers": names},
    }  # fmt: skip
    model = models.from_config(config, "a model")
    wide, attention = [(80, 512)], [(96, 512), (4 * 48, 96), (4 * 64, 64), (512, 4 * 32)]
    dense, experts = [(1024, 512), (1024, 512), (512, 1024)], 9 * [(256, 512), (256, 512), (512, 256)]
    narrow = 3 * attention + 2 * dense + experts  # layers 0, 1 and 3
    left = 4 * wide + attention + experts + 2 * [(8, 512)] + 2 * [(1000, 512)]
    norms = 4 * (2 * 512 + 64 + 96) + 512
    bits = sum(8 * r * c + 32 * ceil(r, 128) * ceil(c, 128) for r, c in narrow)
    assert model.stored_bytes(precision(model)) == {
        "fp8 128x128": bits / 8, "bf16": 2.0 * (sum(r * c for r, c in left) + norms),
    }  # fmt: skip


def test_no_kernel_of_the_builder_changes_a_stored_byte():
    uneven = llama(quant_method="fp8", weight_block_size=[96, 96], ignored_layers=["model.layers.1.self_attn"])
    for model in (uneven, *map(models.named, ("deepseek-v3", "gpt-oss-20b", "kimi-k2-instruct"))):
        stored = model.stored_bytes(precision(model))
        for choices in ({"fused": False}, {"mla": "expanded"}, {"attention": "unfused", "fused": False}):
            other = models.rebuilt(model, **choices)
            assert other.stored_bytes(precision(other)) == pytest.approx(stored, rel=1e-14)


def test_modules_that_mlx_keeps_in_another_format_are_counted_so():
    own = {"group_size": 32, "bits": 8}
    model = llama(bits=4, group_size=64, **{"lm_head": own, "model.layers.3.mlp.down_proj": own,
                                            "model.layers.4.mlp.down_proj": False})  # fmt: skip
    found = model.stored_bytes(precision(model))
    down = 4096 * 14336
    assert found == {
        "mlx int4 g64": (LINEAR + EMBED - 2 * down) * 4.5 / 8, "mlx int8 g32": (HEAD + down) * 9 / 8,
        "bf16": 2.0 * (NORMS + down),
    }  # fmt: skip


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
    assert streamed == LINEAR * 4.15625 / 8 + 4 * 32 * (6 * 4096 + 14336) + 2 * (HEAD + NORMS)


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


@given(st.sampled_from([*METHODS, ""]), facts, st.integers(1, 1 << 30), st.integers(1, 1 << 30))
def test_whatever_the_facts_are_the_answer_is_bits_or_a_sentence(method, said, rows, columns):
    try:
        found = scheme({"quant_method": method, **said})
    except RooflensError as refused:
        assert str(refused)
    else:
        assert found is None or found.weights.bits > 0
        if found is not None:
            layout = found.weights.layout
            least = float(rows * columns * layout.value_bits) * (1 - 1e-12)  # sizes of 2^60 are rounded
            assert layout.bits(rows, columns) >= least > 0
