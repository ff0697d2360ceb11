"""Other GPUs through torch, on torch's own CPU device: every form is right, and what is lacking is a sentence."""

from __future__ import annotations

import sys

import pytest

from rooflens.cli import measuring
from rooflens.measure import bandwidth, shapes
from rooflens.measure.backend import AttentionShape, Cannot
from rooflens.measure.backends import cuda, torch_gpu
from rooflens.measure.backends.torch_gpu import TorchBackend
from rooflens.measure.options import gpu
from rooflens.measure.run import measure
from rooflens.records import replace


@pytest.fixture(scope="module")
def backend():
    pytest.importorskip("torch")
    made = TorchBackend("cpu")
    yield made
    made.close()


def test_every_profile_says_that_this_way_was_never_tried_on_such_a_device(backend):
    assert "never tried on such a device" in backend.device().distrust[0]
    assert backend.device().kind == "gpu"
    assert backend.device().blas.startswith("torch ")


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "int8", "fp8", "tf32"])
def test_narrow_products_are_right_or_refused_with_a_sentence(backend, dtype):
    try:
        kernels = backend.gemm(dtype, 32, 64, 64, 1)
    except Cannot as reason:
        assert str(reason).startswith(f"{dtype} skipped: torch ")
        return
    for kernel in kernels:
        assert kernel.error() <= kernel.tolerance, kernel.unit
        assert kernel.path == "matrix"


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize(
    "shape",
    [
        AttentionShape(2, 64, 4, 2, batch=3),
        AttentionShape(1, 64, 4, 2, tokens=40),
        AttentionShape(1, 64, 4, tokens=40, batch=2),
    ],
    ids=["shared heads", "a prompt with shared heads", "prompts"],
)
def test_attention_is_right_for_shared_heads_and_for_prompts(backend, dtype, shape):
    kernels = backend.attention(dtype, max(40, shape.tokens), shape, 2)
    assert [kernel.unit for kernel in kernels] == ["naive", "fused"]
    for kernel in kernels:
        with kernel.setting():
            kernel.run()
        assert kernel.error() <= kernel.tolerance, kernel.unit


def test_decode_weights_take_turns(backend):
    one, several = (backend.gemm("fp32", m, 256, 256, 1)[0] for m in (512, 1))
    assert one.note == ""
    assert several.note == "64 weights take turns"  # of 256 kB: never more copies than that


def test_what_torch_does_not_measure_is_a_sentence(backend):
    for refused in (
        lambda: backend.transfer("h2d", 1024),
        lambda: backend.peer(1, "to", 1024),
        lambda: backend.stream("read", "L2", 1024, 0),
        lambda: backend.attention("int8", 16, AttentionShape(), 0),
    ):
        with pytest.raises(Cannot, match=r" skipped: |are not measured"):
            refused()


def test_a_kind_of_device_that_is_not_there_is_a_sentence():
    pytest.importorskip("torch")
    for kind, name in (("mps", "Metal"), ("xpu", "Intel XPU")):
        assert f"sees no {name} device" in TorchBackend(kind).why_not()


def test_without_torch_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert TorchBackend("mps").why_not().startswith("torch is not installed; pip install 'rooflens[torch]'")
    assert torch_gpu.torch_kind() is None


class Nothing:
    """A backend that cannot be used."""

    def __init__(self, *_):
        pass

    def why_not(self):
        return "CuPy is not installed"


@pytest.mark.parametrize(
    ("device", "kind", "index"), [("rocm", "cuda", 0), ("rocm:1", "cuda", 1), ("xpu:2", "xpu", 2), ("mps", "mps", 0)]
)
def test_devices_of_other_makers_are_named_and_go_through_torch(monkeypatch, device, kind, index):
    monkeypatch.setattr(TorchBackend, "why_not", lambda self: "")
    made = measuring._backend(device)
    assert (made.name, made._kind, made._index) == ("torch", kind, index)


def test_nvidia_goes_through_torch_where_cupy_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(cuda, "CudaBackend", Nothing)
    monkeypatch.setattr(TorchBackend, "why_not", lambda self: "")
    assert measuring._backend("cuda:1").name == "torch"
    assert "through torch: CuPy is not installed" in capsys.readouterr().err


@pytest.mark.slow
def test_the_plan_of_a_gpu_runs_through_torch(backend, monkeypatch):
    monkeypatch.setitem(bandwidth.SMALLEST_SET_BYTES, "gpu", 2**22)
    monkeypatch.setattr(bandwidth, "WHEN_CACHE_UNKNOWN_BYTES", 2**22)
    monkeypatch.setattr(shapes, "START", ((256, 256, 256),))
    monkeypatch.setattr(shapes, "SMALLEST", 256)
    monkeypatch.setattr(shapes, "LARGEST", 256)
    monkeypatch.setattr("rooflens.measure.stages.FEED_FORWARD", ())
    short = {"rest_s": 0.01, "shapes_s": 0.05, "sustained_least_s": 0.05, "sustained_s": 0.1, "stream_s": 0.1}
    options = replace(gpu(quick=True), dtypes=("fp32", "tf32"), sustained=("fp32",), **short)
    profile = measure(backend, options)
    measured = {c.id for c in profile.ceilings if c.origin == "measured"}
    assert {"compute/vector/fp32/burst", "compute/vector/fp32/sustained", "memory/main/read", "launch/host"} <= measured
    assert any(s.startswith("tf32 skipped") for s in profile.skipped)
