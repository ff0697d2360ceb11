"""What keeps a card from being measured or believed is a sentence each; and what does not fit is left out."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from test_cuda import GPU

from rooflens.lab.take import take
from rooflens.measure.backend import AttentionShape, Usage
from rooflens.measure.backends import cuda_device
from rooflens.measure.backends.cuda import CudaBackend, device_count
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_nvml import Nvml
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.gate import judge
from rooflens.measure.memory import out_of_memory
from rooflens.measure.options import gpu
from rooflens.measure.run import measure
from rooflens.records import replace

QUICK = replace(gpu(quick=True), dtypes=("bf16", "fp32"))


class CUDARuntimeError(RuntimeError):
    """As CuPy raises it."""

    def __init__(self, status, said):
        super().__init__(said)
        self.status = status


def cupy_that_raises(monkeypatch, error):
    def refuse():
        raise error

    runtime = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, getDeviceCount=refuse)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))


def test_a_driver_that_is_too_old_is_told_from_one_that_is_not_there(monkeypatch):
    said = "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"
    cupy_that_raises(monkeypatch, CUDARuntimeError(35, said))
    assert "driver is too old for this CuPy" in CudaBackend().why_not()
    assert "rooflens[nvidia-cuda12]" in CudaBackend().why_not()
    cupy_that_raises(monkeypatch, CUDARuntimeError(100, "cudaErrorNoDevice: no CUDA-capable device is detected"))
    assert CudaBackend().why_not() == (
        "no CUDA device can be used (cudaErrorNoDevice: no CUDA-capable device is detected); check nvidia-smi"
    )
    assert device_count() == 0


def test_a_card_that_is_not_there_is_named_with_those_that_are(monkeypatch):
    runtime = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, getDeviceCount=lambda: 2)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    assert CudaBackend(2).why_not() == "there is no cuda:2; this machine has 2 (cuda:0 to cuda:1)"
    assert device_count() == 2


def test_a_cupy_that_does_not_load_or_runs_no_kernel_names_the_other_build(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "cupy":
                raise ImportError("libnvrtc.so.12: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    assert CudaBackend().why_not() == (
        "CuPy is installed but does not load (libnvrtc.so.12: cannot open shared object file); "
        "pip install 'rooflens[nvidia]' matches CUDA 13"
    )
    runtime = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, getDeviceCount=lambda: 1)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    said = CudaBackend().why_not()  # this made-up CuPy has nothing to run a kernel with
    assert said.startswith("CuPy is installed but cannot run a kernel here (")
    assert "for CUDA 12 pip install 'rooflens[nvidia-cuda12]'" in said


def driver(monkeypatch, **answers):
    """The management library of a card in good order, with these answers instead."""
    good = {
        "DeviceGetHandleByPciBusId": "card", "DeviceGetMigMode": [0, 0], "DeviceGetEnforcedPowerLimit": 700_000,
        "DeviceGetPowerManagementDefaultLimit": 700_000, "DeviceGetClockInfo": 345, "DeviceGetPowerUsage": 75_000,
        "DeviceGetCurrentClocksThrottleReasons": 1, "DeviceGetTemperature": 30, "DeviceGetNvLinkState": 1,
        "DeviceGetCurrPcieLinkGeneration": 5, "DeviceGetMaxPcieLinkGeneration": 5, "DeviceGetCurrPcieLinkWidth": 16,
        "DeviceGetMaxPcieLinkWidth": 16, "DeviceGetComputeRunningProcesses": [SimpleNamespace(pid=os.getpid())],
    }  # fmt: skip
    functions = {f"nvml{name}": lambda *_, answer=answer: answer for name, answer in (good | answers).items()}
    library = SimpleNamespace(nvmlInit=lambda: None, NVML_CLOCK_SM=1, NVML_TEMPERATURE_GPU=0, **functions)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return Nvml("0000:00:00.0")


def distrust(monkeypatch, **answers):
    return list(cuda_device._distrust(driver(monkeypatch, **answers), virtual=False))


def test_a_card_in_good_order_is_trusted(monkeypatch):
    assert distrust(monkeypatch) == []


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"DeviceGetMigMode": [1, 1]}, "MIG is on: this is a slice of the card"),
        ({"DeviceGetCurrentClocksThrottleReasons": 0x21}, "throttled before anything ran: thermal limit (software)"),
        ({"DeviceGetCurrentClocksThrottleReasons": 0x88}, "hardware slowdown, power brake"),
        ({"DeviceGetEnforcedPowerLimit": 500_000}, "the power limit is 500 W, not the default 700 W"),
        ({"DeviceGetCurrPcieLinkWidth": 8}, "PCIe width 8 of 16"),
        ({"DeviceGetNvLinkState": 0}, "0 of 18 NVLinks are up"),
        (
            {"DeviceGetComputeRunningProcesses": [SimpleNamespace(pid=os.getpid()), SimpleNamespace(pid=7)]},
            "process 7 is on the card too",
        ),
    ],
)
def test_each_reason_to_doubt_a_card_is_a_sentence(monkeypatch, answers, said):
    (found,) = distrust(monkeypatch, **answers)
    assert said in found


def test_without_the_management_library_clocks_and_power_are_said_to_be_unknown(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found = list(cuda_device._distrust(Nvml("0000:00:00.0"), virtual=True))
    assert found[0] == "nvidia-ml-py is not installed, so clocks, power and throttling are not known"
    assert found[1].startswith("virtual machine")


def test_somebody_who_comes_to_the_card_meanwhile_spoils_the_figure():
    before, after = Usage(0.0), Usage(1.0, others=("process 7 is on the card too",))
    assert judge("x", before, after, 1).reasons == ("process 7 is on the card too",)
    assert judge("x", after, after, 1).reasons == ("process 7 is on the card too",)


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (RuntimeError("cudaErrorMemoryAllocation: out of memory"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered"), False),
        (ValueError("memory"), False),
    ],
)
def test_running_out_of_memory_is_told_from_other_errors(error, is_memory):
    assert out_of_memory(error) is is_memory


def test_a_stage_that_does_not_fit_is_skipped_and_the_rest_goes_on():
    profile = measure(FakeBackend(FakeMachine(**GPU), too_large=("fake main copy",)), QUICK)
    assert "memory copy skipped: out of memory (8 GB asked for)" in profile.skipped
    assert {c.id for c in profile.ceilings} >= {"memory/main/read", "memory/main/triad", "compute/vector/fp32/burst"}
    assert profile.complete


def test_a_way_of_a_cell_that_does_not_fit_is_skipped_and_the_others_stay():
    options = replace(QUICK, dtypes=("bf16", "fp16", "fp32"))
    profile = take(FakeBackend(FakeMachine(**GPU), too_large=("naive",)), options, AttentionShape())
    assert {a.implementation for a in profile.attention} == {"fused", "fused, graph"}
    assert "decode attention fp16 S=128 batch 1 (naive) skipped: out of memory (8 GB asked for)" in profile.skipped
    nothing = take(
        FakeBackend(FakeMachine(**GPU), too_large=("naive", "fused", "fused, graph")), options, AttentionShape()
    )
    assert nothing.attention == ()
    assert any(s.startswith("decode attention fp32 S=4096 refused: decode attention") for s in nothing.skipped)


def test_a_cell_of_a_processor_that_does_not_fit_is_skipped_too():
    backend = FakeBackend(too_large=("fake fp32 attention",))
    profile = take(backend, replace(QUICK, every_way=False, dtypes=("fp32",)), AttentionShape())
    assert any("S=128 skipped: out of memory" in s for s in profile.skipped)
    assert all(a.dtype != "fp32" for a in profile.attention)


def on_the_card(monkeypatch, *pids):
    return driver(monkeypatch, DeviceGetComputeRunningProcesses=[SimpleNamespace(pid=pid) for pid in pids]).others()


def test_processes_of_this_run_are_not_others_on_the_card(monkeypatch):
    own, parent, other = os.getpid(), os.getppid(), (f"process {os.getppid()} is on the card too",)
    with subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE) as child:
        assert on_the_card(monkeypatch, own, child.pid, parent) == other  # our shell is not of this run
        assert on_the_card(monkeypatch, child.pid, parent) == other
        monkeypatch.setattr("multiprocessing.parent_process", lambda: SimpleNamespace(pid=parent))
        assert on_the_card(monkeypatch, own, parent) == ()  # it started us to measure beside others
        monkeypatch.setattr("multiprocessing.parent_process", lambda: SimpleNamespace(pid=own))
        monkeypatch.setattr(os, "getpid", lambda: 2**30)  # seen from another child of this process
        assert on_the_card(monkeypatch, own, child.pid) == ()
        child.communicate(b"\n")


def test_one_of_the_others_under_strange_numbers_is_this_process(monkeypatch):
    strange = 2**30  # as a container shows the host's
    assert on_the_card(monkeypatch, strange) == ()
    assert on_the_card(monkeypatch, strange, strange + 1) == (f"process {strange + 1} is on the card too",)
    assert on_the_card(monkeypatch, strange, os.getpid()) == (f"process {strange} is on the card too",)


def test_a_card_is_measured_without_taking_hold_of_another(monkeypatch):
    current, held = [0], set()

    class Device:
        """As CuPy's: leaving one makes the one before current again, which since CUDA 12 takes hold of that too."""

        def __init__(self, index):
            self.index, self.before = index, []

        def use(self):
            current[0] = self.index
            held.add(self.index)

        def __enter__(self):
            self.before.append(Device(current[0]))
            self.use()

        def __exit__(self, *_):
            self.before.pop().use()

    cuda = SimpleNamespace(Device=Device, Stream=lambda **_: nullcontext(), Event=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    card = Card(1)
    with card.here():
        pass
    assert held == {1}
