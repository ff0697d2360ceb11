"""GGUF files: exact bytes from the header alone, the model from the file alone, one sentence for a bad one."""

import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_files import LLAMA_31_8B, TINY, gguf_bytes, llama_gguf, pair, q4_k_m, text, write_gguf

from rooflens import api, models, readers, workload
from rooflens.dtypes import DTYPES
from rooflens.errors import BadFile, RooflensError
from rooflens.readers import gguf
from rooflens.readers.architectures import config_of

H100_READ_BYTES_PER_S = 3.35e12


@pytest.fixture
def eight_b(tmp_path):
    path = tmp_path / "eight-b-q4_k_m.gguf"
    write_gguf(path, *llama_gguf(LLAMA_31_8B, q4_k_m))
    return path


def tiny(tmp_path, types=lambda *_: "q8_0", **more):
    path = tmp_path / "tiny.gguf"
    write_gguf(path, *llama_gguf(TINY, types, **more))
    return path


def test_tokens_per_second_of_a_real_file_whole_and_without_its_embedding_table(eight_b):
    """An 8B Q4_K_M file of 4.58 GiB on 3.35 TB/s: 681 tok/s were the whole file read, 725 without the table."""
    found = readers.checkpoint(eight_b)
    assert found.bytes == pytest.approx(4.58 * 2**30, rel=1e-3)
    assert found.embedding_bytes == 128256 * 4096 * 4.5 / 8
    assert H100_READ_BYTES_PER_S / found.bytes == pytest.approx(681, rel=5e-3)
    assert H100_READ_BYTES_PER_S / found.streamed_bytes == pytest.approx(725, rel=5e-3)


def test_the_file_alone_is_a_model(eight_b):
    model = api.model(str(eight_b))
    assert (model.params_total, model.family, model.name) == (8_030_261_248, "llama", "eight-b-q4_k_m")
    assert model.kv_elements_per_token() * 2 == 131_072
    assert model.warnings == ()


def test_a_file_streams_exactly_its_own_bytes(eight_b):
    found, model = readers.checkpoint(eight_b), api.model(str(eight_b))
    precision = workload.precision(workload.own_dtype(model)[0], stored=model.stored)
    operators = workload.operators(model, workload.decode(), precision)
    streamed = sum(float(o.count * o.cost.weight_bytes) for o in operators)
    assert streamed == pytest.approx(found.streamed_bytes, rel=1e-12)
    assert sum(model.stored_bytes(precision).values()) == pytest.approx(found.bytes, rel=1e-12)
    assert precision.stored("embed").name == "q4_k"
    assert precision.stored("head").name == "q6_k"


def test_a_step_is_priced_from_the_file_alone(eight_b):
    placed = api.place(str(eight_b), on="h100-sxm5-80gb", phase="decode", batch=1, context=1)
    assert 1 / placed.step_floor.floor_s == pytest.approx(725, rel=1e-2)


def test_every_tensor_says_where_its_bytes_begin(tmp_path):
    path = tiny(tmp_path)
    last = max(readers.checkpoint(path).tensors, key=lambda tensor: tensor.begins)
    assert last.begins % 32 == 0
    assert last.begins + last.bytes <= path.stat().st_size < last.begins + last.bytes + 32


def test_bytes_in_each_format_are_exact(eight_b):
    by_dtype = Counter()
    for tensor in readers.checkpoint(eight_b).tensors:
        by_dtype[tensor.dtype] += tensor.bytes
    more = 16 * (4096 * 1024 + 14336 * 4096) + 128256 * 4096  # half of the values and down projections, and the head
    assert by_dtype["q6_k"] == more * 210 // 256
    assert by_dtype["fp32"] == 4 * (2 * 32 + 1) * 4096
    assert sum(by_dtype.values()) == readers.checkpoint(eight_b).bytes


def test_a_tied_table_is_streamed_as_the_head(tmp_path):
    path = tiny(tmp_path, tied=True)
    found, model = readers.checkpoint(path), api.model(str(path))
    assert found.streamed_bytes == found.bytes
    precision = workload.precision(workload.own_dtype(model)[0], stored=model.stored)
    operators = workload.operators(model, workload.decode(), precision)
    assert sum(float(o.count * o.cost.weight_bytes) for o in operators) == pytest.approx(found.bytes, rel=1e-12)


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_are_read(tmp_path, version):
    path = tmp_path / "tiny.gguf"
    write_gguf(path, *llama_gguf(TINY, lambda *_: "q4_k"), version=version)
    assert api.model(str(path)).params_total == models.from_config(TINY, "tiny").params_total


def test_every_type_has_the_bits_of_its_block():
    assert {DTYPES[name].bits * block % 8 for name, block in gguf.TYPES.values()} == {0}
    pure = {d.name for d in DTYPES.values() if d.everywhere and not d.parts}
    assert {name for name, _ in gguf.TYPES.values()} >= pure


QWEN3_30B_A3B = ("qwen3moe", 151936, False, {
    "block_count": 48, "embedding_length": 2048, "feed_forward_length": 6144, "attention.head_count": 32,
    "attention.head_count_kv": 4, "attention.key_length": 128, "expert_count": 128, "expert_used_count": 8,
    "expert_feed_forward_length": 768,
})  # fmt: skip
MIXTRAL_8X7B = ("llama", 32000, False, {
    "block_count": 32, "embedding_length": 4096, "feed_forward_length": 14336, "attention.head_count": 32,
    "attention.head_count_kv": 8, "expert_count": 8, "expert_used_count": 2,
})  # fmt: skip
GEMMA_2_9B = ("gemma2", 256000, True, {
    "block_count": 42, "embedding_length": 3584, "feed_forward_length": 14336, "attention.head_count": 16,
    "attention.head_count_kv": 8, "attention.key_length": 256, "attention.sliding_window": 4096,
})  # fmt: skip
GPT_OSS_20B = ("gpt-oss", 201088, False, {
    "block_count": 24, "embedding_length": 2880, "feed_forward_length": 2880, "attention.head_count": 64,
    "attention.head_count_kv": 8, "attention.key_length": 64, "attention.sliding_window": 128, "expert_count": 32,
    "expert_used_count": 4, "expert_feed_forward_length": 2880,
})  # fmt: skip
DEEPSEEK_V3 = ("deepseek2", 129280, False, {
    "block_count": 61, "embedding_length": 7168, "feed_forward_length": 18432, "attention.head_count": 128,
    "attention.head_count_kv": 1, "attention.key_length": 576, "attention.value_length": 512,
    "attention.key_length_mla": 192, "attention.value_length_mla": 128, "attention.q_lora_rank": 1536,
    "attention.kv_lora_rank": 512, "rope.dimension_count": 64, "leading_dense_block_count": 3, "expert_count": 256,
    "expert_used_count": 8, "expert_shared_count": 1, "expert_feed_forward_length": 2048,
})  # fmt: skip
# Its class has a low rank of queries by default; a file that says none has none.
DEEPSEEK_V2_LITE = ("deepseek2", 102400, False, {
    "block_count": 27, "embedding_length": 2048, "feed_forward_length": 10944, "attention.head_count": 16,
    "attention.head_count_kv": 16, "attention.key_length": 192, "attention.value_length": 128,
    "attention.kv_lora_rank": 512, "rope.dimension_count": 64, "leading_dense_block_count": 1, "expert_count": 64,
    "expert_used_count": 6, "expert_shared_count": 2, "expert_feed_forward_length": 1408,
})  # fmt: skip
GLM_45 = ("glm4moe", 151552, False, {
    "block_count": 93, "nextn_predict_layers": 1, "embedding_length": 5120, "feed_forward_length": 12288,
    "attention.head_count": 96, "attention.head_count_kv": 8, "attention.key_length": 128, "expert_count": 160,
    "expert_used_count": 8, "expert_shared_count": 1, "expert_feed_forward_length": 1536,
    "leading_dense_block_count": 3,
})  # fmt: skip


@pytest.mark.parametrize(
    ("file", "params", "kv_bytes"),
    [
        (QWEN3_30B_A3B, 30_532_122_624, 98_304),
        (MIXTRAL_8X7B, 46_702_792_704, 131_072),
        (GEMMA_2_9B, 9_241_705_984, 344_064),
        (GPT_OSS_20B, 20_914_757_184, 49_152),
        (DEEPSEEK_V3, 671_026_404_352, 70_272),
        (DEEPSEEK_V2_LITE, 15_706_484_224, 31_104),
        (GLM_45, 352_797_814_784, 376_832),
    ],
)
def test_metadata_says_the_same_architecture_as_the_config(tmp_path, file, params, kv_bytes):
    """Parameters and 16-bit KV bytes a token as counted from the config.json of the same model."""
    architecture, vocab, tied, facts = file
    tensors = {"token_embd.weight": ("q8_0", (facts["embedding_length"], vocab))}
    shown = [] if tied else ["output.weight"]
    shown += ["blk.0.attn_q.bias", "blk.0.attn_q_norm.weight"] if architecture == "glm4moe" else []
    tensors |= dict.fromkeys(shown, ("fp32", (32,)))
    metadata = {"general.architecture": architecture} | {f"{architecture}.{k}": v for k, v in facts.items()}
    write_gguf(tmp_path / "x.gguf", metadata, tensors)
    found = gguf.read(tmp_path / "x.gguf")
    model = models.from_config(config_of(found, "x.gguf"), "x")
    assert model.params_total == params
    assert 2 * model.kv_elements_per_token() == kv_bytes
    assert model.warnings == ()


def test_a_split_model_is_the_sum_of_its_files(tmp_path):
    metadata, tensors = llama_gguf(TINY, lambda *_: "q8_0")
    names = list(tensors)
    for i, part in enumerate((names[:3], names[3:9], names[9:])):
        own = metadata if i == 0 else {}
        split = {**own, "split.count": 3, "split.no": i}
        write_gguf(tmp_path / f"big-{i + 1:05}-of-00003.gguf", split, {n: tensors[n] for n in part})
    assert readers.checkpoint(tmp_path / "big-00001-of-00003.gguf").bytes == readers.checkpoint(tiny(tmp_path)).bytes
    (tmp_path / "tiny.gguf").unlink()
    assert api.model(str(tmp_path)).params_total == models.from_config(TINY, "tiny").params_total
    (tmp_path / "big-00002-of-00003.gguf").unlink()
    with pytest.raises(RooflensError, match=r"cannot read .*00002-of-00003"):
        api.model(str(tmp_path / "big-00001-of-00003.gguf"))


def test_a_folder_of_several_models_asks_for_one(tmp_path):
    for name in ("a-q4.gguf", "a-q8.gguf", "mmproj-a.gguf"):
        write_gguf(tmp_path / name, *llama_gguf(TINY, lambda *_: "q8_0"))
    with pytest.raises(RooflensError, match=r"2 GGUF models; name one: a-q4.gguf, a-q8.gguf"):
        api.model(str(tmp_path))


def changed(**facts):
    metadata, tensors = llama_gguf(TINY, lambda *_: "q8_0")
    return {**metadata, **{k.replace("__", "."): v for k, v in facts.items()}}, tensors


def header(tensor_count=0, keys=0, rest=b"", magic=b"GGUF", version=3):
    return magic + struct.pack("<IQQ", version, tensor_count, keys) + rest


def overlapping():
    one = struct.pack("<IQIQ", 1, 256, 8, 0)
    return header(2, 0, text("a") + one + text("b") + one) + bytes(1000)


BAD = [
    (b"", "does not end within 0 bytes"),
    (b"GG", "does not end within 2 bytes"),
    (b"PK\x03\x04" + bytes(100), "does not begin with GGUF"),
    (header(version=1), "version 1 GGUF"),
    (b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "big-endian"),
    (header(1 << 62, 0, bytes(64)), "up to 200000 are read"),
    (header(0, 1 << 62, bytes(64)), "up to 2000 are read"),
    (header(0, 1, struct.pack("<Q", 1 << 60)), "does not end within"),
    (header(0, 1, struct.pack("<Q", 5000) + bytes(6000)), "a name longer than 1024"),
    (header(0, 1, text("k") + struct.pack("<I", 8) + struct.pack("<Q", 1 << 63)), "does not end within"),
    (header(0, 1, text("k") + struct.pack("<IIQ", 9, 8, 1 << 40)), "up to 4000000 are read"),
    (header(0, 1, text("k") + struct.pack("<IIQ", 9, 5, 1 << 60)), "does not end within"),
    (header(0, 1, text("k") + struct.pack("<IIQ", 9, 9, 1)), "a list of values of kind 9"),
    (header(0, 1, text("k") + struct.pack("<I", 99)), "a value of kind 99"),
    (header(1, 0, text("t") + struct.pack("<I", 1 << 30)), "dimensions of 't'"),
    (header(1, 0, text("t") + struct.pack("<IQQQIQ", 3, 1 << 60, 1, 1, 0, 0)), "are not sizes"),
    (header(1, 0, text("t") + struct.pack("<IQIQ", 1, 256, 4, 0)), "tensor type 4 is not known"),
    (header(1, 0, text("t") + struct.pack("<IQIQ", 1, 100, 12, 0)), "not whole blocks of 256"),
    (header(1, 0, text("t") + struct.pack("<IQIQ", 1, 256, 12, 0)), "ends early"),
    (overlapping(), "'b' overlaps the tensor before it"),
    (header(0, 1, pair("general.alignment", 0)), "general.alignment: 0 is not a size"),
    (gguf_bytes(*changed(general__architecture="clip"))[0] + bytes(5 << 20), "architecture 'clip' is not modelled"),
    (gguf_bytes(*changed(llama__attention__head_count_kv=[1, 2]))[0] + bytes(5 << 20), "differs between layers"),
    (gguf_bytes(*changed(llama__block_count="two"))[0] + bytes(5 << 20), "block_count: expected a whole number"),
    (gguf_bytes(*changed(split__count=9999))[0] + bytes(5 << 20), "split.count: 9999 is not from 1"),
    (gguf_bytes(*changed(split__count=2))[0] + bytes(5 << 20), "which are they"),
    (gguf_bytes({"general.architecture": "llama"}, {})[0] + bytes(64), "token_embd.weight is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "said"), BAD)
def test_a_bad_file_is_one_sentence(tmp_path, data, said):
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(BadFile if "modelled" not in said else RooflensError) as refused:
        api.model(str(path))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_ends_anywhere_is_one_sentence(tmp_path):
    data, size = gguf_bytes(*llama_gguf({**TINY, "num_hidden_layers": 1}, lambda *_: "q8_0"))
    data = data.replace(b"x" * 100_000, b"")  # the length of a long text stays, what it promised does not
    path = tmp_path / "cut.gguf"
    for end in [*range(0, len(data), 13), *range(len(data), size, 50_021)]:
        with path.open("wb") as file:
            file.write(data[:end])
            file.truncate(end)
        with pytest.raises(BadFile) as refused:
            api.model(str(path))
        assert "\n" not in str(refused.value)


def test_a_file_that_ends_early_says_so(tmp_path):
    path = tmp_path / "cut.gguf"
    write_gguf(path, *llama_gguf(TINY, lambda *_: "q8_0"), cut=33)
    with pytest.raises(BadFile, match="ends early"):
        api.model(str(path))


GOOD_HEADER, GOOD_SIZE = gguf_bytes(*llama_gguf({**TINY, "num_hidden_layers": 1}, lambda *_: "q8_0"))


@given(st.binary(max_size=200), st.integers(0, len(GOOD_HEADER)), st.booleans())
def test_any_bytes_are_a_model_or_a_sentence(tmp_path_factory, noise, at, whole):
    path = tmp_path_factory.mktemp("fuzz") / "any.gguf"
    data = GOOD_HEADER[:at] + noise + (GOOD_HEADER[at + len(noise) :] if whole else b"")
    with path.open("wb") as file:
        file.write(data)
        file.truncate(max(len(data), GOOD_SIZE if whole else 0))
    try:
        assert api.model(str(path)).params_total > 0
    except RooflensError as refused:
        assert str(refused)
