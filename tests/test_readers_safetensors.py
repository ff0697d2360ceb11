"""safetensors files, indices, folders: exact bytes from headers, disagreement said, one sentence for a bad one."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_files import LLAMA_31_8B, TINY, llama_shapes, nbytes, write_gguf, write_header, write_safetensors

from rooflens import api, models, readers, workload
from rooflens.errors import BadFile, RooflensError
from rooflens.models.facts import facts

GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
TINY_PARAMS = models.from_config(TINY, "tiny").params_total


def folder(path, config=TINY, tensors=None):
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    write_safetensors(path / "model.safetensors", tensors or as_dtype("BF16"))
    return path


def as_dtype(dtype, config=TINY, **more):
    return {name: (dtype, shape) for name, shape in llama_shapes(config, **more).items()}


def sharded(path, tensors, shards=3, total=None):
    path.mkdir(exist_ok=True)
    where, names = {}, list(tensors)
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        write_safetensors(path / file, {n: tensors[n] for n in names[i::shards]})
        where |= dict.fromkeys(names[i::shards], file)
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    return path


def precision(model):
    return workload.precision(workload.own_dtype(model)[0], stored=model.stored)


def packed(tensors):
    """The matrices of layers as GPTQ stores them: values and zero points in words, a 16-bit scale for 128 values."""
    out = {}
    for name, (dtype, shape) in tensors.items():
        if ".layers." not in name or "norm" in name:
            out[name] = (dtype, shape)
            continue
        rows, columns = shape
        stem = name.removesuffix("weight")
        out[f"{stem}qweight"] = ("I32", (columns // 8, rows))
        out[f"{stem}scales"] = ("F16", (columns // 128, rows))
        out[f"{stem}qzeros"] = ("I32", (columns // 128, rows // 8))
    return out


def test_a_folder_stores_what_its_files_hold(tmp_path):
    model = api.model(str(folder(tmp_path / "tiny")))
    assert (model.name, model.params_total, model.warnings) == ("tiny", TINY_PARAMS, ())
    assert model.stored_bytes(precision(model)) == {"bf16": 2.0 * TINY_PARAMS}


def test_files_override_the_config(tmp_path):
    """The config says bfloat16, the file holds fp8 but for embedding and head: the file is right."""
    wide = dict.fromkeys(("model.embed_tokens.weight", "lm_head.weight"), ("BF16", (1024, 256)))
    tensors = as_dtype("F8_E4M3") | wide
    model = api.model(str(folder(tmp_path / "tiny", tensors=tensors)))
    assert sum(model.stored_bytes(precision(model)).values()) == sum(nbytes(s, 16 if d == "BF16" else 8)
                                                                     for d, s in tensors.values())  # fmt: skip
    assert precision(model).stored("project").math == "fp8"


def test_packed_values_scales_and_zero_points_are_exact_and_no_parameters(tmp_path):
    tensors = packed(as_dtype("F16"))
    path = folder(tmp_path / "tiny", {**TINY, "quantization_config": GPTQ}, tensors)
    model, held = api.model(str(path)), readers.checkpoint(path)
    assert held.params(packed_bits=4) == TINY_PARAMS
    assert model.warnings == ()
    assert sum(model.stored_bytes(precision(model)).values()) == pytest.approx(held.bytes, rel=1e-12)
    assert precision(model).stored("linear").bits == pytest.approx(4 + 16 / 128 + 4 / 128)
    assert precision(model).stored("linear").math == "fp16"


def test_packed_values_that_nobody_explains_are_refused(tmp_path):
    path = folder(tmp_path / "tiny", TINY, packed(as_dtype("F16")))
    with pytest.raises(RooflensError, match=r"qweight holds packed values \(i32\); no quantization_config"):
        api.model(str(path))


def test_disagreement_with_the_config_is_a_warning(tmp_path):
    path = folder(tmp_path / "tiny", {**TINY, "vocab_size": 1000})
    counted = TINY_PARAMS - 2 * 24 * 256
    said = f"the files hold {TINY_PARAMS:,} parameters, the config says {counted:,}: the files' "
    model = api.model(str(path))
    (warning,) = (w for w in model.warnings if w.startswith(said))
    assert warning.endswith("give the bytes of a parameter, the config how many are priced")
    assert sum(model.stored_bytes(precision(model)).values()) == 2.0 * counted  # not the files' 2 x TINY_PARAMS
    found = facts(model, precision(model))
    assert (found.weight_bytes, found.weight_bytes_by_format) == (
        2.0 * TINY_PARAMS,
        {"in its files": 2.0 * TINY_PARAMS},
    )


def test_what_stands_beside_the_language_model_is_left_out_aloud(tmp_path):
    more = {"model.layers.2.mlp.down_proj.weight": ("BF16", (256, 512)), "visual.patch.weight": ("BF16", (256, 64))}
    model = api.model(str(folder(tmp_path / "tiny", tensors=as_dtype("BF16") | more)))
    assert model.stored_bytes(precision(model)) == {"bf16": 2.0 * TINY_PARAMS}
    assert any("2 tensors (model.layers.2.mlp.down_proj.weight ...)" in w for w in model.warnings)


def test_shards_are_the_whole_and_a_single_file_finds_its_config(tmp_path):
    path = sharded(folder(tmp_path / "tiny"), as_dtype("BF16"))
    assert readers.checkpoint(path).bytes == 2 * TINY_PARAMS
    (path / "model.safetensors.index.json").unlink()
    (path / "model.safetensors").unlink()
    assert readers.checkpoint(path).bytes == 2 * TINY_PARAMS  # the files of a folder without an index
    assert api.model(str(folder(tmp_path / "one") / "model.safetensors")).params_total == TINY_PARAMS


def test_an_index_alone_states_its_total(tmp_path):
    path = sharded(folder(tmp_path / "tiny"), as_dtype("BF16"), total=6_027_749_376)
    for file in path.glob("*.safetensors"):
        file.unlink()
    model = api.model(str(path / "model.safetensors.index.json"))
    assert readers.checkpoint(path).bytes == 6_027_749_376
    assert model.stored is None
    assert "only the index is here: its tensors take 6.028 GB" in model.warnings[0]


def test_the_side_file_of_a_quantised_model_is_read(tmp_path):
    side = {"producer": {"name": "modelopt"}, "quantization": {
        "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}  # fmt: skip
    for name, beside in (("config.json", "hf_quant_config.json"), ("a.json", "a.hf_quant_config.json")):
        (tmp_path / name).write_text(json.dumps(LLAMA_31_8B))
        (tmp_path / beside).write_text(json.dumps(side))
        model = api.model(str(tmp_path / name))
        assert (model.params_total, model.stored.weights.name, model.stored.kv.name) == (8_030_261_248, "nvfp4", "fp8")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl", "tf_model.h5"])
def test_pickled_weights_are_never_opened(tmp_path, name):
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(RooflensError, match="can run code when they are opened"):
        api.model(str(tmp_path / name))
    with pytest.raises(RooflensError, match=f"no config.json and no .gguf; {name} is never opened"):
        api.model(str(tmp_path))


def test_a_folder_without_a_model_says_so(tmp_path):
    with pytest.raises(RooflensError, match=r"holds no model: no config\.json and no \.gguf"):
        api.model(str(tmp_path))


def test_a_path_that_is_not_there_says_so(tmp_path):
    for name in ("no/config.json", "no.gguf", "no.safetensors", "no/model.safetensors.index.json", "no/folder"):
        with pytest.raises(RooflensError, match="cannot read"):
            api.model(str(tmp_path / name))


def test_a_pipe_or_a_huge_config_does_not_hang_or_fill_memory(tmp_path):
    os.mkfifo(tmp_path / "a.gguf")
    os.mkfifo(tmp_path / "config.json")
    for name in ("a.gguf", "config.json"):
        with pytest.raises(RooflensError, match="is not a plain file"):
            api.model(str(tmp_path / name))
    with (tmp_path / "big.json").open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(RooflensError, match="is 2147483648 bytes; files of this kind are read up to"):
        api.model(str(tmp_path / "big.json"))


def tensor(dtype="BF16", shape=(4,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


BAD = [
    (b"", 0, "its header does not end within the file"),
    ({"a": tensor(offsets=(0, 9))}, 9, "do not need the 9 bytes"),
    ({"a": tensor(dtype="F13")}, 8, "dtype 'F13' is not known"),
    ({"a": tensor(shape=[-4])}, 8, "are not lists of sizes"),
    ({"a": tensor(shape=[1 << 60])}, 8, "are not lists of sizes"),
    ({"a": tensor(shape="4")}, 8, "are not lists of sizes"),
    ({"a": tensor(shape=[1] * 99)}, 8, "are not lists of sizes"),
    ({"a": tensor(offsets=(0, True))}, 8, "are not lists of sizes"),
    ({"a": tensor(offsets=(8, 0))}, 8, "do not need the -8 bytes"),
    ({"a": 5}, 8, "dtype None is not known"),
    ({"a": tensor(), "b": tensor()}, 8, "tensors overlap or leave a gap at byte 0"),
    ({"a": tensor(), "b": tensor(offsets=(16, 24))}, 24, "tensors overlap or leave a gap at byte 8"),
    ({"a": tensor()}, 7, "it ends early: 7 bytes of data, 8 in the header"),
    ({"a": tensor()}, 9, "it holds more than its tensors"),
    ([], 0, "its header is not an object"),
    (b"[" * 100_000, 0, "nested too deeply"),
    (b"\xff\xfe{", 0, "not a whole JSON file"),
    (b'{"a": ' + b"9" * 5000 + b"}", 0, "not a whole JSON file"),
]


@pytest.mark.parametrize(("header", "data_bytes", "said"), BAD)
def test_a_bad_file_is_one_sentence(tmp_path, header, data_bytes, said):
    path = folder(tmp_path / "tiny") / "bad.safetensors"
    write_header(path, header if isinstance(header, bytes) else json.dumps(header).encode(), data_bytes)
    if not header and isinstance(header, bytes):
        path.write_bytes(b"")
    with pytest.raises(BadFile) as refused:
        api.model(str(path))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ((1 << 63).to_bytes(8, "little"), "its header does not end within the file"),
        ((100 << 20).to_bytes(8, "little"), "its header says 104857600 bytes; up to 16777216 are read"),
        (b"version https://git-lfs.github.com/spec/v1\n", "it is a Git LFS pointer"),
    ],
)
def test_a_header_length_that_lies_is_not_believed(tmp_path, start, said):
    path = folder(tmp_path / "tiny") / "bomb.safetensors"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(1 << 30 if len(start) == 8 else len(start))
    with pytest.raises(BadFile, match=said):
        api.model(str(path))


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ([], "weight_map: expected an object"),
        ({"weight_map": {"a": 1}}, "weight_map: expected an object"),
        ({"weight_map": {"a": "../../etc/passwd"}}, "'../../etc/passwd' is not a .safetensors file beside the index"),
        ({"weight_map": {"a": "model.bin"}}, "'model.bin' is not a .safetensors file"),
        ({"weight_map": {str(i): f"{i}.safetensors" for i in range(2000)}}, "it lists 2000 files; up to 1024"),
        ({"weight_map": {"a": "no.safetensors"}}, "metadata.total_size does not say"),
        ({"weight_map": {"a": "model.safetensors", "b": "no.safetensors"}}, "1 of its 2 files are missing"),
        ({"weight_map": {"a": "model.safetensors"}}, "'a' is not in model.safetensors, where the index says it is"),
        ({"weight_map": {"a": "no.safetensors"}, "metadata": {"total_size": -1}}, "total_size does not say"),
    ],
)
def test_a_bad_index_is_one_sentence(tmp_path, index, said):
    path = folder(tmp_path / "tiny")
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(BadFile) as refused:
        api.model(str(path))
    assert said in str(refused.value)


def test_a_tensor_in_two_files_is_not_counted_twice(tmp_path):
    path = folder(tmp_path / "tiny")
    write_safetensors(path / "consolidated.safetensors", as_dtype("BF16"))
    with pytest.raises(BadFile, match="tensors are in two of its files"):
        api.model(str(path))


def test_a_gguf_beside_a_config_is_not_read_for_it(tmp_path):
    path = folder(tmp_path / "tiny")
    write_gguf(path / "x.gguf", {}, {})
    assert api.model(str(path)).params_total == TINY_PARAMS


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["BF16", "U8"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["dtype", "shape", "data_offsets", "__metadata__", "weight_map"]) | st.text(max_size=8),
        inner, max_size=3,
    ),
)  # fmt: skip


@given(st.binary(max_size=100) | anything.map(lambda facts: json.dumps(facts).encode()), st.integers(0, 100))
def test_any_bytes_are_tensors_or_a_sentence(tmp_path_factory, data, more):
    path = tmp_path_factory.mktemp("fuzz")
    write_header(path / "a.safetensors", data, more)
    (path / "b.safetensors").write_bytes(data)
    (path / "c.index.json").write_bytes(data)
    for name in ("a.safetensors", "b.safetensors", "c.index.json"):
        try:
            assert readers.checkpoint(path / name).bytes >= 0
        except RooflensError as refused:
            assert str(refused)
