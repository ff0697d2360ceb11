"""The processor backend: threads, the C kernel, numpy's limits, what the system tells."""

from __future__ import annotations

import os
import sys

import pytest

from rooflens.measure.attention import measure_attention
from rooflens.measure.backend import AttentionShape, Cannot
from rooflens.measure.backends import cpu_c, host
from rooflens.measure.backends.cpu import CpuBackend
from rooflens.measure.backends.cpu_attention import _shares, random_data, reference, relative_error
from rooflens.measure.backends.pool import Pool
from rooflens.measure.bandwidth import measure_main
from rooflens.measure.budget import Budget
from rooflens.measure.options import Options, quick
from rooflens.measure.run import measure

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pinning and /proc are Linux")


@pytest.fixture(scope="module")
def plain():
    backend = CpuBackend(native=False, torch=False)
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def native():
    found = cpu_c.load()
    if found.library is None:
        pytest.skip(found.why_not)
    return found.library


def test_every_worker_of_a_pool_does_its_part():
    pool = Pool(host.usable_cpus() * 2)
    try:
        assert pool.map(lambda number: number) == list(range(len(pool)))
    finally:
        pool.close()


def test_a_worker_that_fails_is_heard():
    pool = Pool([host.usable_cpus()[0]] * 2)
    try:
        with pytest.raises(ZeroDivisionError):
            pool.run(lambda number: 1 // (1 - number))
        assert pool.map(lambda number: number) == [0, 1]  # and the pool still works
    finally:
        pool.close()


@linux
def test_pinning_is_undone():
    before = os.sched_getaffinity(0)
    pool = Pool(host.usable_cpus()[:1])
    with pool.pinned():
        assert os.sched_getaffinity(0) == {pool.cpus[0]}
    assert os.sched_getaffinity(0) == before


@linux
def test_workers_are_pinned_each_to_its_own_core():
    pool = Pool(host.usable_cpus())
    try:
        with pool.pinned():
            assert pool.map(lambda _: os.sched_getaffinity(0)) == [{cpu} for cpu in pool.cpus]
    finally:
        pool.close()


def test_priorities_are_left_alone(plain):
    before = os.nice(0)
    plain.state()
    kernel = plain.stream("read", "main", 2**20, 0)[0]
    with kernel.setting():
        kernel.run()
    assert os.nice(0) == before


def test_the_issue_loops_run(native):
    assert native.rl_issue_fp32(10) == pytest.approx(native.rl_issue_fp32(10))
    assert native.rl_width() in (16, 32, 64)
    assert native.rl_chains() >= 8


def test_without_a_compiler_the_reason_says_what_to_install(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "no C compiler found" in cpu_c.load().why_not


def test_a_compiler_that_fails_is_a_reason(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: "/bin/false")
    assert "could not compile the C kernel" in cpu_c.load().why_not


@pytest.mark.parametrize("access", ["write", "triad"])
def test_without_a_compiler_writing_is_never_a_roof(plain, access):
    (kernel,) = plain.stream(access, "main", 2**20, 0)
    assert "no non-temporal store" in kernel.why_not
    assert "not counted" in kernel.note


def test_numpy_is_no_roof_for_narrow_dtypes(plain):
    for dtype in ("bf16", "fp16", "int8"):
        with pytest.raises(Cannot, match=r"torch is not installed; pip install 'rooflens\[torch\]'"):
            plain.gemm(dtype, 64, 64, 64, 0)


def test_sixteen_bit_attention_needs_sixteen_bit_arithmetic(plain):
    for dtype in ("bf16", "fp16"):
        with pytest.raises(Cannot, match=f"decode attention {dtype} skipped: "):
            plain.attention(dtype, 16, AttentionShape(), 0)


def test_attention_that_does_not_fit_or_is_not_covered_is_a_sentence(plain):
    with pytest.raises(Cannot, match="is more than an eighth of the memory"):
        plain.attention("fp32", 10**9, AttentionShape(), 0)
    with pytest.raises(Cannot, match="one sequence with a key-value head for each query head"):
        plain.attention("fp32", 16, AttentionShape(kv_heads=2), 0)


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 12])
def test_threads_share_all_heads_once(threads):
    shares = _shares((4, 3), threads)
    heads = [(layer, h) for share in shares for layer, a, b in share for h in range(a, b)]
    assert heads == [(layer, h) for layer in range(4) for h in range(3)]


def test_caches_take_turns_until_they_outgrow_the_cache():
    shape = AttentionShape(layers=2, width=64, heads=2)
    one_bytes = 2 * 2 * 64 * 16 * 4  # keys and values, layers, width, context, fp32
    assert random_data(shape, 16, 0, cold_bytes=10 * one_bytes).sets == 20
    assert random_data(shape, 16, 0, cold_bytes=0.1 * one_bytes).sets == 1


def test_attention_of_equal_values_is_that_value():
    import numpy as np

    data = random_data(AttentionShape(layers=1, width=8, heads=2), 5, 0, 0.0)
    data.v[...] = 3.0
    assert np.allclose(reference(data, 0), 3.0)
    assert relative_error(np.full((1, 2, 4), 3.3), reference(data, 0)) == pytest.approx(0.1)


@pytest.mark.parametrize(("text", "quota"), [("max 100000", None), ("", None), ("150000 100000", 1.5)])
def test_cgroup_quotas_are_read(text, quota):
    assert host.cpu_quota(text) == quota


def test_a_quota_limits_the_threads(tmp_path):
    file = tmp_path / "cpu.max"
    file.write_text("100000 100000\n")
    assert len(host.usable_cpus(file)) == 1


def test_a_second_hardware_thread_is_left_out():
    assert host.one_a_core({0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}) == [0, 1]
    assert host.one_a_core({0: "", 1: ""}) == [0, 1]


@pytest.mark.parametrize(("text", "size"), [("32K", 32768), ("16M", 2**24), ("", 0), ("many", 0)])
def test_cache_sizes_are_read(text, size):
    assert host.cache_bytes(text) == size


def test_a_forced_kernel_and_limited_threads_are_said():
    environment = {"OPENBLAS_CORETYPE": "Prescott", "OMP_NUM_THREADS": "1"}
    said = host.distrust(environment, virtual=False, shown_cache_bytes=None)
    assert any("OPENBLAS_CORETYPE=Prescott forces" in s for s in said)
    assert any("OMP_NUM_THREADS=1 limits" in s for s in said)


def test_a_virtual_machine_may_not_own_the_cache_it_shows():
    (said, *_) = host.distrust({}, virtual=True, shown_cache_bytes=2**25)
    assert "32 MiB" in said


def test_sixteen_bit_units_are_known_by_their_flags():
    assert host.native_sixteen_bit(["avx2", "fma"]) == ()
    assert host.native_sixteen_bit(["avx512_bf16"]) == ("bf16",)
    assert host.native_sixteen_bit(["amx_bf16", "avx512_fp16"]) == ("bf16", "fp16")


def test_torch_names_the_unit_that_carries_a_dtype():
    from rooflens.measure.backends.torch_cpu import native_path

    assert native_path("bf16", ["avx512_bf16", "amx_bf16"]) == ("matrix", "amx_bf16")
    assert native_path("bf16", ["avx512_bf16"]) == ("vector", "avx512_bf16")
    assert native_path("bf16", ["avx2"]) == ("vector", "")
    assert native_path("fp32", ["avx2", "fma"]) == ("vector", "avx2")


def test_torch_products_are_right_in_every_dtype():
    pytest.importorskip("torch")
    from rooflens.measure.backends import torch_cpu

    for dtype in ("fp64", "fp32", "bf16", "fp16", "int8"):
        for kernel in torch_cpu.gemm(dtype, 64, 96, 32, 0, 1, ("avx2",)):
            assert kernel.error() <= kernel.tolerance, kernel.unit


def test_torch_attention_is_right_in_every_dtype():
    pytest.importorskip("torch")
    from rooflens.measure.attention import MOST_ERROR
    from rooflens.measure.backends import torch_cpu

    for dtype in ("fp32", "bf16", "fp16"):
        for kernel in torch_cpu.attention(dtype, 128, AttentionShape(2, 64, 2), 0, 1, 0.0):
            assert kernel.error() <= MOST_ERROR[dtype], kernel.unit


def test_a_real_slope_comes_out_positive_and_explains_itself(plain):
    options = Options(stream_s=0.02, retry_until_s=0.0)
    roof, gate = measure_main(plain, "read", options, Budget(plain.clock, 5.0))
    assert roof.value > 0
    assert roof.best >= roof.value
    assert roof.trusted == (roof.why_not is None)
    assert gate.id == roof.id


@pytest.mark.slow
def test_a_quick_measurement_of_this_machine_is_complete_and_explains_itself():
    backend = CpuBackend(torch=False)
    try:
        profile = measure(backend, quick())
        cells = measure_attention(backend, quick(), contexts=(16, 256), dtypes=("fp32", "bf16"))
    finally:
        backend.close()
    assert profile.complete
    assert {"compute/vector/fp32/burst", "memory/main/read", "launch/device"} <= {c.id for c in profile.ceilings}
    assert all(c.trusted or c.why_not for c in profile.ceilings)
    assert len(cells.points) + len(cells.skipped) >= 2
    assert all(p.relative_error <= 1e-5 for p in cells.points if p.dtype == "fp32")
