"""Laws of all readers: whatever is in a file, a record or a sentence comes out, and soon."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from observed_files import SOL, kernel, launch, ncu_long, ncu_wide, observed, op, packed, trace
from test_observed_benches import MATRIX, NCCL, SERVED, TABLE
from test_observed_others import COUNTERS, SUMMARY, V1, V2, V3

from rooflens import readers
from rooflens.errors import RooflensError
from rooflens.records import encode
from rooflens.roofline.observed import Observed

WHOLE = [
    text.encode()
    for text in (
        ncu_wide({"gpu__time_duration.sum": ("ns", "1,000"), "dram__bytes.sum": ("Mbyte", "7")}),
        ncu_long(("k<1, 2>", [(SOL, "Duration", "us", "1"), (SOL, "DRAM Throughput", "%", "5")])),
        trace(op("aten::mm", 0, 9, [[4, 4], [4, 4]]), launch(1, 1, 1), kernel("sgemm", 5, 10, corr=1)),
        SUMMARY, COUNTERS, V1, V2, V3, NCCL, MATRIX, TABLE, json.dumps(SERVED),
    )
]  # fmt: skip
SHORT = settings(
    max_examples=settings.default.max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NUMBERS = st.one_of(st.floats(), st.integers(), st.sampled_from([10**400, -1, True, None, "1", "nan", [], {}]))
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
CATEGORIES = st.sampled_from(["kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cpu_op", "user_annotation",
                              "python_function"])  # fmt: skip
NAMES = st.sampled_from(["aten::mm", "nccl", "cudaLaunchKernel", "nn.Module: A"])
ARGUMENTS = st.sampled_from([
    "correlation", "External id", "grid", "block", "Input Dims", "Input type", "device", "stream", "Concrete Inputs",
    "bytes", "Collective name", "In msg nelems", "graph node id",
])  # fmt: skip
TYPES = st.sampled_from(["float", "c10::BFloat16", "Scalar", "", "TensorList", "long int"])
STATED = {key: NUMBERS | JSON for key in SERVED if key != "output_throughput"}
EVENTS = st.fixed_dictionaries(
    {"cat": CATEGORIES | JSON, "name": NAMES | JSON},
    optional={
        **dict.fromkeys(("ts", "dur", "pid", "tid"), NUMBERS),
        "args": JSON | st.dictionaries(ARGUMENTS, JSON | NUMBERS),
    },
)


def said(tmp_path, data):
    """A record that can be written as JSON, or a sentence."""
    try:
        found = observed(tmp_path, data)
    except RooflensError as error:
        assert str(error)
        return None
    assert isinstance(found, Observed)
    assert json.dumps(encode(found))
    for one in found.kernels:
        assert one.calls >= 0
        assert one.time_s is None or one.time_s >= 0
        assert one.bytes is None or one.bytes >= 0
        assert one.bytes is not None or "bytes" in one.missing
    return found


@SHORT
@given(data=st.binary(max_size=400))
def test_any_bytes(tmp_path, data):
    said(tmp_path, data)


@SHORT
@given(text=st.text(max_size=300))
def test_any_text(tmp_path, text):
    said(tmp_path, text.encode(errors="replace"))


@SHORT
@given(value=JSON)
def test_any_json(tmp_path, value):
    said(tmp_path, json.dumps(value))


@SHORT
@given(whole=st.sampled_from(WHOLE), share=st.floats(0, 1))
def test_any_beginning_of_a_file(tmp_path, whole, share):
    said(tmp_path, whole[: int(len(whole) * share)])


@SHORT
@given(whole=st.sampled_from(WHOLE), share=st.floats(0, 1))
def test_any_beginning_of_a_gzip_file(tmp_path, whole, share):
    data = packed(whole)
    said(tmp_path, data[: int(len(data) * share)])


@SHORT
@given(whole=st.sampled_from(WHOLE), at=st.floats(0, 1), put=st.binary(max_size=12), gone=st.integers(0, 12))
def test_any_file_with_something_else_in_its_middle(tmp_path, whole, at, put, gone):
    place = int(len(whole) * at)
    said(tmp_path, whole[:place] + put + whole[place + gone :])


@SHORT
@given(events=st.lists(EVENTS, max_size=8))
def test_any_events(tmp_path, events):
    said(tmp_path, '{"traceEvents": ' + json.dumps(events) + "}")


@SHORT
@given(
    result=st.fixed_dictionaries(
        {"output_throughput": NUMBERS}, optional={k: NUMBERS | JSON for k in SERVED if k != "output_throughput"}
    )
)
def test_any_result_of_a_server(tmp_path, result):
    said(tmp_path, json.dumps(result))


@SHORT
@given(
    name=st.sampled_from(["aten::mm", "aten::addmm", "aten::bmm", "aten::_scaled_mm", "aten::convolution", "aten::mean",
                          "aten::add", "aten::copy_", "aten::cat", "aten::embedding", "aten::native_layer_norm",
                          "aten::_scaled_dot_product_flash_attention", "aten::index_select", "triton_poi_fused"]),
    shapes=st.lists(st.lists(st.integers(-1, 2**60), max_size=4) | JSON, max_size=6),
    types=st.lists(TYPES | JSON, max_size=6),
    values=st.lists(st.sampled_from(["", "True", "[-1]", "1", "[1, 1]"]) | JSON, max_size=8),
)  # fmt: skip
def test_any_shapes_of_an_operator(tmp_path, name, shapes, types, values):
    events = trace(op(name, 0, 9, shapes, types, values), launch(1, 1, 1), kernel("k", 5, 10, corr=1))
    found = said(tmp_path, events)
    assert found.kernels[0].calls == 1


@SHORT
@given(cut=st.integers(0, 2000), size=st.integers(1, 97))
def test_a_trace_is_the_same_however_its_text_arrives(cut, size):
    from rooflens.readers.profiles.events import Events

    text = trace(*(kernel(f'k"{{}},{{{i}', i, 1) for i in range(5)), deviceProperties=[{"id": 0}])[: 2000 + cut]
    at_once, in_pieces = (
        [e for batch in Events(pieces, "x").batches() for e in batch]
        for pieces in ([text], [text[i : i + size] for i in range(0, len(text), size)])
    )
    assert at_once == in_pieces


def test_a_device_that_never_ends_is_no_file(tmp_path):
    import os

    import pytest

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "absent"):
        with pytest.raises(RooflensError):
            readers.observed(path)
