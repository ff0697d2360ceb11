"""What every backend promises, over all of them; none of these tests looks at how long anything takes."""

from __future__ import annotations

import math

import pytest

from rooflens.measure.backend import AttentionShape, Cannot
from rooflens.measure.backends.cpu import CpuBackend
from rooflens.measure.backends.cuda import CudaBackend
from rooflens.measure.backends.fake import FakeBackend
from rooflens.measure.backends.torch_gpu import TorchBackend

SMALL = 2**20
SHAPE = AttentionShape(layers=2, width=64, heads=2)


@pytest.fixture(
    scope="module",
    params=[
        "fake",
        "cpu",
        "cpu without compiler and torch",
        "torch on its own CPU device",
        pytest.param("cuda", marks=pytest.mark.gpu),
    ],
)
def backend(request):
    if request.param.startswith("torch"):
        pytest.importorskip("torch")
    made = {
        "fake": FakeBackend,
        "cpu": CpuBackend,
        "cuda": CudaBackend,
        "torch on its own CPU device": lambda: TorchBackend("cpu"),
        "cpu without compiler and torch": lambda: CpuBackend(native=False, torch=False),
    }[request.param]()
    yield made
    made.close()


def run_once(backend, kernel):
    with kernel.setting():
        kernel.run()
        backend.sync()


def test_it_can_be_used_here_or_says_why(backend):
    assert backend.why_not() == ""


def test_it_names_its_device(backend):
    device = backend.device()
    assert device.name
    assert device.threads >= 1
    assert device == backend.device()
    assert all(c.bytes > 0 and c.instances >= 1 for c in device.caches)
    sizes = [c.bytes * c.instances for c in device.caches]
    assert sizes == sorted(sizes)


def test_it_names_its_versions(backend):
    assert all(isinstance(k, str) and isinstance(v, str) for k, v in backend.versions().items())


def test_its_clock_never_goes_back(backend):
    before = backend.clock()
    backend.rest(0.001)
    assert backend.clock() > before


def test_its_counters_never_go_back(backend):
    before = backend.usage()
    run_once(backend, backend.launch()[0])
    after = backend.usage()
    for name in ("wall_s", "cpu_s", "involuntary_switches", "steal_s"):
        first, last = getattr(before, name), getattr(after, name)
        assert (first is None) == (last is None)
        assert first is None or last >= first


def test_its_state_is_plausible_where_known(backend):
    clock = backend.state().clock_hz
    assert clock is None or 1e8 < clock < 1e10


def test_its_peaks_are_derived_or_printed_and_positive(backend):
    for peak in backend.peaks():
        assert peak.origin in ("derived", "spec")
        assert peak.kind in ("compute", "memory")
        assert peak.value > 0


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("sizes", [(64, 64, 64), (1, 96, 32), (33, 17, 65)])
def test_products_are_right(backend, dtype, sizes):
    for kernel in backend.gemm(dtype, *sizes, 3):
        run_once(backend, kernel)
        assert kernel.error() <= kernel.tolerance, kernel.unit
        assert kernel.unit
        assert kernel.path in ("vector", "matrix")


def test_a_dtype_without_a_product_is_a_sentence(backend):
    with pytest.raises(Cannot, match="fp4 skipped: "):
        backend.gemm("fp4", 64, 64, 64, 0)


@pytest.mark.parametrize("access", ["read", "write", "copy", "triad"])
def test_streams_do_what_they_say(backend, access):
    kernels = backend.stream(access, "main", 6 * SMALL, 1)
    assert kernels
    assert len({k.unit for k in kernels}) == len(kernels)
    for kernel in kernels:
        run_once(backend, kernel)
        assert kernel.error() <= kernel.tolerance, kernel.unit


def test_a_larger_set_offers_the_same_ways(backend):
    units = [{k.unit for k in backend.stream("copy", "main", size, 1)} for size in (2 * SMALL, 8 * SMALL)]
    assert units[0] == units[1]


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_cache_reads_loop_inside_or_are_refused_with_a_reason(backend, level):
    try:
        kernels = backend.stream("read", level, 4 * SMALL if backend.name == "cuda" else 64 * 1024, 1)
    except Cannot as reason:
        assert f"memory/{level}/read skipped: " in str(reason)
        return
    for kernel in kernels:
        assert kernel.inner >= 1
        assert kernel.overhead_s is not None
        assert kernel.error() <= kernel.tolerance


def test_the_smallest_call_runs(backend):
    (kernel, *_) = backend.launch()
    run_once(backend, kernel)
    assert kernel.error() <= kernel.tolerance


@pytest.mark.parametrize("context", [1, 7, 256])
def test_attention_is_right(backend, context):
    kernels = backend.attention("fp32", context, SHAPE, 5)
    assert kernels
    for kernel in kernels:
        with kernel.setting():
            for _ in range(3):
                kernel.run()
        assert kernel.error() <= 1e-5, kernel.unit
        assert kernel.calls >= SHAPE.layers
        assert math.isfinite(kernel.error())


def test_attention_offers_the_same_ways_at_every_context(backend):
    ways = [[k.unit for k in backend.attention("fp32", context, SHAPE, 5)] for context in (1, 64)]
    assert ways[0] == ways[1]


def test_attention_in_a_dtype_nobody_computes_in_is_a_sentence(backend):
    with pytest.raises(Cannot, match="decode attention fp4 skipped: "):
        backend.attention("fp4", 16, SHAPE, 0)


def test_closing_twice_is_harmless():
    for make in (FakeBackend, lambda: CpuBackend(native=False, torch=False)):
        backend = make()
        backend.launch()
        backend.close()
        backend.close()
