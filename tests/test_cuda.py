"""The GPU backend without a GPU: formats, layouts, choices, and a made-up device measured by the same plan."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.lab.choose import to_draw
from rooflens.lab.observe import observations
from rooflens.lab.take import grid, take
from rooflens.measure.backend import AttentionShape
from rooflens.measure.backends import cuda_card, cuda_data, cuda_lt
from rooflens.measure.backends.cuda import CudaBackend
from rooflens.measure.backends.cuda_attention import grouping, held_values, largest_part, on_tensor_cores, split
from rooflens.measure.backends.cuda_nvml import Sample, summary
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.options import gpu
from rooflens.measure.shapes import neighbours
from rooflens.roofline.profile import Cache, Device

ACCESSES = ("read", "write", "copy", "triad")
GPU = {
    "kind": "gpu",
    "compute": {"bf16": 800e12, "fp8": 1600e12, "fp16": 790e12, "fp32": 50e12},
    "memory": {("main", a): 4.5e12 for a in ACCESSES} | {("L2", "read"): 9e12, ("shared", "read"): 33e12},
    "caches": (Cache("shared", 2.0**17, 132, addressed=True), Cache("L2", 60e6)),
    "memory_bytes": 140e9,
    "links": {"h2d": 55e9, "d2h": 54e9, "both": 50e9},
}


def test_e4m3_has_its_published_corners():
    magnitudes = cuda_data.e4m3_grid()
    assert len(magnitudes) == 127  # the 128th code is NaN
    assert magnitudes[1] == 2**-9  # smallest: 1/8 x 2^-6
    assert magnitudes[8] == 2**-6  # smallest normal
    assert magnitudes[-1] == 448.0
    assert sorted(magnitudes) == list(magnitudes)


@given(st.floats(-400, 400, width=32))
def test_rounding_to_fp8_is_to_the_nearest(value):
    stored = cuda_data.encode(np, np.array([value], np.float32), "fp8")
    (back,) = cuda_data.decode(np, stored, "fp8")
    assert abs(back - value) == min(abs(sign * m - value) for m in cuda_data.e4m3_grid() for sign in (1, -1))


@given(st.floats(-(2.0**100), 2.0**100, width=32))
def test_bf16_keeps_eight_bits(value):
    (back,) = cuda_data.decode(np, cuda_data.encode(np, np.array([value], np.float32), "bf16"), "bf16")
    assert abs(back - value) <= 2**-8 * abs(value) + 2**-133


def test_what_was_not_written_is_nan_in_every_format():
    for dtype in ("fp64", "fp32", "fp16"):
        out = np.zeros(4, cuda_data.STORED[dtype])
        cuda_data.poison(out)
        assert np.isnan(out).all()
    bits = np.zeros(2, np.uint16)
    cuda_data.poison(bits)
    assert np.isnan(cuda_data.decode(np, bits, "bf16")).all()


def test_a_kernel_file_carries_its_headers_with_it():
    for file in ("attention.cu", "attention_mma.cu", "gemv.cu", "stream.cu"):
        assert '#include "' not in cuda_card.source(file)
    assert "struct Soft" in cuda_card.source("attention.cu")


@pytest.mark.parametrize(
    ("width", "size", "held"),
    [(128, 2, 8), (128, 4, 4), (256, 4, 8), (64, 2, 8), (80, 2, 8), (97, 2, 4), (99, 1, 4), (128, 1, 16)],
)
def test_a_row_lies_across_the_lanes_in_pieces(width, size, held):
    assert held_values(width, size) == held


def test_tensor_cores_take_whole_rows_of_short_formats():
    assert on_tensor_cores(128, "fp16", 90)
    assert on_tensor_cores(64, "bf16", 80)
    assert on_tensor_cores(128, "int8", 90)
    assert not on_tensor_cores(64, "int8", 90)  # eight lanes of 16 bytes are 128 values
    assert not on_tensor_cores(128, "fp32", 90)
    assert not on_tensor_cores(80, "fp16", 90)
    assert not on_tensor_cores(128, "fp16", 75)


@given(st.integers(1, 64), st.sampled_from((64, 80, 97, 128, 256)), st.sampled_from(("fp32", "fp16", "int8")))
def test_a_group_is_split_into_equal_parts_that_fit_the_registers(group, width, dtype):
    heads, keys = grouping(group, width, dtype)
    assert group % heads == 0
    assert heads == 1 or heads * held_values(width, cuda_data.BYTES[dtype]) <= 64
    assert keys in (2, 4)


def test_the_largest_part_divides():
    assert [largest_part(n, 8) for n in (1, 4, 7, 8, 12, 32)] == [1, 4, 7, 8, 6, 8]


@given(st.integers(1, 10**6), st.integers(1, 4096), st.integers(1, 200))
def test_splits_cover_every_key_and_none_is_empty(context, pairs, units):
    chunk, splits = split(context, pairs, units)
    assert (splits - 1) * chunk < context <= splits * chunk


def test_every_product_is_described_in_the_librarys_words():
    names = list(cuda_lt.MATHS)
    assert names == ["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"]
    for dtype, described in cuda_lt.MATHS.items():
        assert dtype in cuda_data.BYTES
        assert described.scale in cuda_lt.SCALES
        assert described.stored_result in cuda_lt.RESULTS


def test_a_state_speaks_for_the_later_half():
    seen = [Sample(1980e6, 120.0, 30.0), Sample(1980e6, 700.0, 50.0), Sample(1400e6, 690.0, 55.0, 0x4)]
    state = summary(seen)
    assert state.clock_hz == 1690e6  # median of the last two
    assert state.throttle == ("power cap",)
    assert summary([Sample(None, None, None)]).clock_hz is None


def test_without_cupy_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert CudaBackend().why_not() == "CuPy is not installed; pip install 'rooflens[nvidia]'"


@given(st.tuples(*[st.sampled_from((2048, 4096, 8192, 16384))] * 3))
def test_neighbouring_shapes_differ_in_one_side(shape):
    for other in neighbours(shape):
        assert sum(a != b for a, b in zip(shape, other, strict=True)) == 1
        assert min(other) >= 2048
        assert max(other) <= 16384


@pytest.fixture(scope="module")
def profile():
    return take(FakeBackend(FakeMachine(**GPU)), replace(gpu(full=True), cell_s=0.02), AttentionShape())


def test_a_gpus_ceilings_are_found_again(profile):
    found = {c.id: c.value for c in profile.ceilings if c.origin == "measured"}
    truth = {"memory/main/read": 4.5e12, "memory/L2/read": 9e12, "memory/shared/read": 33e12, "link/pcie/h2d": 55e9}
    for id, value in truth.items():
        assert math.isclose(found[id], value, rel_tol=0.01)
    for dtype, rate in GPU["compute"].items():
        assert math.isclose(found[f"compute/vector/{dtype}/sustained"], rate, rel_tol=0.02)


def test_what_a_gpu_lacks_is_said(profile):
    assert any(s.startswith("tf32 skipped") for s in profile.skipped)
    assert any("h2d pageable skipped" in s for s in profile.skipped)


def test_decode_is_measured_for_the_minigpt_and_for_layers_of_models(profile):
    models = {(a.model, a.batch, a.kv_heads) for a in profile.attention}
    assert ("MiniGPT", 1, None) in models
    assert ("Llama-3.1-8B layer", 64, 8) in models
    products = {g.name for g in profile.gemms if g.trusted}
    assert products >= {"decode FFN gate and up, batch 1", "decode FFN down, batch 64"}


def test_a_picture_shows_some_of_hundreds_of_cells(profile):
    shown = to_draw(observations(profile))
    assert any(o.gemm for o in shown)
    assert sum(1 for o in shown if o.attention) < 16


def test_a_quick_look_has_few_cells_and_a_full_run_many():
    device = Device("GPU", "gpu", memory_bytes=140e9, caches=GPU["caches"])

    def cells(**how):
        return sum(len(row.contexts) * len(row.dtypes) for row in grid(device, AttentionShape(), gpu(**how)))

    assert cells(quick=True) <= 12
    assert cells(full=True) > 100
