"""On a real NVIDIA card: every kernel against float64, every ceiling plausible, one lab from end to end."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from rooflens.cli import main
from rooflens.lab.staging import ARTEFACTS, NONE_NOTICED
from rooflens.measure.attention import MOST_ERROR, measure_ways
from rooflens.measure.backend import AttentionShape, Cannot
from rooflens.measure.backends.cuda import CudaBackend, device_count
from rooflens.measure.backends.torch_gpu import TorchBackend
from rooflens.measure.budget import Budget
from rooflens.measure.kernels import STREAMS
from rooflens.measure.links import PEER_WAYS, WAYS, measure_peer
from rooflens.measure.options import gpu
from rooflens.measure.run import measure
from rooflens.measure.together import across, measure_together
from rooflens.records import replace

pytestmark = pytest.mark.gpu
DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")
QUICK = gpu(quick=True)


@pytest.fixture(scope="module")
def card():
    backend = CudaBackend()
    assert backend.why_not() == ""
    yield backend
    backend.close()


def right(backend, kernel):
    """Run as it is timed, twice, then checked."""
    seconds = [backend.elapsed_s(kernel, 1) for _ in range(2)]
    assert min(seconds) > 0
    assert kernel.error() <= kernel.tolerance, f"{kernel.unit}: {kernel.error():.1e}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 4096, 1024), (16, 1024, 4096), (512, 768, 1024)], ids=["row", "rows", "block"])
def test_products_are_right_in_every_dtype(card, dtype, sizes):
    try:
        kernels = card.gemm(dtype, *sizes, 3)
    except Cannot as reason:
        pytest.skip(str(reason))
    for kernel in kernels:
        right(card, kernel)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int8"])
@pytest.mark.parametrize(
    "shape",
    [
        AttentionShape(2, 128, 2), AttentionShape(1, 4096, 32), AttentionShape(1, 4096, 32, 8, batch=3),
        AttentionShape(1, 1024, 16, 2), AttentionShape(1, 480, 5, batch=2),
    ],
    ids=["small heads", "a head a cache", "four heads a cache", "eight narrow heads a cache", "odd heads"],
)  # fmt: skip
@pytest.mark.parametrize("context", [1, 7, 129, 4096])
def test_decode_attention_is_right_in_every_way(card, dtype, shape, context):
    for kernel in card.attention(dtype, context, shape, 5):
        right(card, kernel)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize(
    "shape",
    [
        AttentionShape(1, 1024, 8, 2, tokens=1000), AttentionShape(1, 1024, 8, tokens=2048),
        AttentionShape(1, 512, 4, 2, batch=3, tokens=96),
    ],
    ids=["a last block that is shorter", "whole blocks", "a prompt shorter than a block"],
)  # fmt: skip
def test_prefill_attention_is_right_in_every_cut(card, dtype, shape):
    kernels = card.attention(dtype, shape.tokens, shape, 5)
    assert any(kernel.way == "blocked, graph" for kernel in kernels)
    for kernel in kernels:
        right(card, kernel)


def test_blocked_prefill_is_faster_than_naive_and_stands_for_its_cuts(card):
    shape = AttentionShape(1, 4096, 32, 8, tokens=4096)
    found, lost = measure_ways(card, "fp16", 4096, shape, gpu(), Budget(card.clock), {})
    times = {point.implementation: point.time_s for point, _ in found}
    assert lost == ()
    assert set(times) == {"naive", "blocked, graph"}
    assert times["blocked, graph"] < times["naive"] / 5
    assert all(point.relative_error <= MOST_ERROR["fp16"] for point, _ in found)


@pytest.mark.parametrize("level", ["L2", "shared"])
def test_near_memory_is_read_whole(card, level):
    size = {cache.level: cache.bytes * cache.instances / 4 for cache in card.device().caches}[level]
    for kernel in card.stream("read", level, size, 1):
        right(card, kernel)


@pytest.mark.parametrize("level", ["L2", "shared"])
@pytest.mark.parametrize("vectors", [1, 3, 511, 1000, 1025, 4096])  # of each multiprocessor
def test_near_sets_smaller_than_a_step_are_read_whole(card, level, vectors):
    for kernel in card.stream("read", level, 16 * vectors * card.device().cores, 1):
        right(card, kernel)


@pytest.mark.parametrize("access", ["read", "write", "copy", "triad"])
@pytest.mark.parametrize("vectors", [1, 255, 257, 4097])
def test_arrays_that_are_no_whole_tiles_are_streamed_whole(card, access, vectors):
    for kernel in card.stream(access, "main", 16 * vectors * STREAMS[access].arrays, 1):
        right(card, kernel)


@pytest.mark.parametrize("way", [way.name for way in WAYS])
def test_transfers_arrive(card, way):
    right(card, card.transfer(way, 2**24))


@pytest.mark.parametrize("level", ["device", "host"])
def test_a_launch_costs_between_a_tenth_and_a_hundred_microseconds(card, level):
    (kernel,) = card.launch(level)
    with kernel.setting():
        assert 1e-7 < card.elapsed_s(kernel, 3) / 3 / kernel.inner < 1e-4


def test_the_device_query_knows_the_card(card):
    device = card.device()
    assert device.kind == "gpu"
    assert device.compute_capability
    assert device.memory_bytes > 1e9
    assert {"sm_clock_mhz", "pcie_width", "mig", "nvlinks", "topology"} <= set(device.details)
    assert [key for key in device.details if key.startswith("to_cuda:")] == [f"to_cuda:{o}" for _, o in card.peers()]


@pytest.mark.skipif(device_count() < 2, reason="needs two cards")
def test_copies_between_cards_arrive_in_every_way(card):
    for own, other in card.peers():
        for way in PEER_WAYS:
            kernel = card.peer(other, way.name, 2**26)
            right(card, kernel)
            roof, _ = measure_peer(card, (own, other), way, QUICK, Budget(card.clock))
            assert roof.value > 1e9
            assert roof.level == kernel.path


@pytest.mark.skipif(device_count() < 2, reason="needs two cards")
def test_all_cards_at_once():
    options = replace(QUICK, dtypes=("bf16",), budget_s=60.0)
    names = {number: f"cuda:{number}" for number in range(device_count())}
    profiles, failed = measure_together(CudaBackend, names, options)
    assert failed == ()
    assert list(profiles) == list(names.values())
    (read,) = (a for a in across(profiles) if a.id == "memory/main/read")
    assert read.share(read.slowest) > 0.8


def test_a_quick_measurement_is_trusted_and_below_every_peak(card):
    profile = measure(card, replace(QUICK, dtypes=("bf16", "fp32"), peers=False))
    assert profile.complete
    assert profile.contention is None
    roofs = {c.id: c for c in profile.ceilings if c.origin == "measured"}
    refused = [c for c in profile.refused() if c.kind != "link"]
    assert len(refused) <= 1, refused  # quick has no second try: one figure may be disturbed, and says by what
    assert all(c.why_not for c in refused)
    for peak in card.peaks():
        for c in roofs.values():
            if (c.kind, c.dtype, c.path, c.level) == (peak.kind, peak.dtype, peak.path, peak.level):
                assert c.value < 1.05 * peak.value, c.id
    assert roofs["launch/host"].value > roofs["launch/device"].value
    assert roofs["memory/L2/read"].value > roofs["memory/main/read"].value


@pytest.mark.parametrize(
    ("dtype", "sizes"), list(itertools.product(("fp32", "bf16", "fp16", "tf32", "fp8", "int8"), [(32, 64, 64)]))
)
def test_torch_multiplies_on_the_card(dtype, sizes):
    pytest.importorskip("torch")
    backend = TorchBackend("cuda")
    if reason := backend.why_not():
        pytest.skip(reason)
    try:
        kernels = backend.gemm(dtype, *sizes, 3)
    except Cannot as reason:
        pytest.skip(str(reason))
    for kernel in kernels:
        with kernel.setting():
            right(backend, kernel)


def test_torch_streams_copies_and_attends_on_the_card():
    pytest.importorskip("torch")
    backend = TorchBackend("cuda")
    if reason := backend.why_not():
        pytest.skip(reason)
    kernels = [k for access in ("read", "write", "copy", "triad") for k in backend.stream(access, "main", 6 * 2**20, 1)]
    kernels += [backend.transfer(way, 2**22) for way in ("h2d", "d2h", "h2d pageable", "d2h pageable")]
    kernels += backend.attention("fp16", 300, AttentionShape(2, 256, 4, 2, batch=2), 1)
    kernels += backend.attention("bf16", 96, AttentionShape(1, 256, 4, 2, tokens=96), 1)
    for kernel in kernels:
        with kernel.setting():
            right(backend, kernel)
    assert math.isfinite(backend.device().memory_bytes)


def test_a_quick_lab_leaves_every_artefact(tmp_path, capsys):
    # in this process: one of its own would find this one on the card, trust nothing and have nothing to draw
    command = ("lab", "--device", "cuda:0", "--quick", "--budget-s", "90", "--out", str(tmp_path))
    with pytest.raises(SystemExit) as left:
        main([*command, "--price-per-hour", "3.5"])
    said = capsys.readouterr()
    assert left.value.code == 0, said.err[-2000:]
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["contention"] == NONE_NOTICED
    assert sorted(manifest["files"]) == sorted(ARTEFACTS)
    assert "## 4. Speed-ups" in (tmp_path / "interpretation.md").read_text(encoding="utf-8")
    assert "end the instance" in said.out.splitlines()[-1]
