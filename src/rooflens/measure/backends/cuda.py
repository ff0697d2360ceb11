"""An NVIDIA GPU through CuPy: kernels of our own for memory and decode attention, cuBLASLt for products."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version

from rooflens.measure.backend import AttentionShape, Kernel, State, Usage
from rooflens.measure.backends.cuda_attention import DecodeAttention
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_device import query, spec_peaks
from rooflens.measure.backends.cuda_gemm import Products
from rooflens.measure.backends.cuda_nvml import Nvml, Watch
from rooflens.measure.backends.cuda_peers import Peers
from rooflens.measure.backends.cuda_streams import Streams, Transfers
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Device

PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "nvmath-python", "nvidia-ml-py", "numpy", "rooflens")
INSTALL = "pip install 'rooflens[nvidia]'"
OLDER = "pip install 'rooflens[nvidia-cuda12]'"
DRIVER_TOO_OLD = 35  # cudaErrorInsufficientDriver


def device_count() -> int:
    """How many cards CUDA sees, asked without taking hold of one; 0 without CuPy or a driver."""
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # noqa: BLE001  (no CuPy, no driver, no card: each raises its own)
        return 0


class CudaBackend:
    """Device `index` of this machine."""

    name = "cuda"
    turn_s = 0.002

    def __init__(self, index: int = 0) -> None:
        self._index = index

    def why_not(self) -> str:
        """One sentence: no CuPy or one that does not load, no driver or one too old for it, no such device."""
        try:
            import cupy
        except ModuleNotFoundError:
            return f"CuPy is not installed; {INSTALL}"
        except ImportError as error:
            return f"CuPy is installed but does not load ({_first_line(error)}); {INSTALL} matches CUDA 13"
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            if getattr(error, "status", None) == DRIVER_TOO_OLD:
                return f"the driver is too old for this CuPy ({_first_line(error)}); update the driver, or {OLDER}"
            return f"no CUDA device can be used ({_first_line(error)}); check nvidia-smi"
        if self._index >= count:
            return f"there is no cuda:{self._index}; this machine has {count} (cuda:0 to cuda:{count - 1})"
        return self._does_not_compute()

    def device(self) -> Device:
        """The card as the driver shows it."""
        return self._device

    def versions(self) -> dict[str, str]:
        """Python, CuPy and what it runs on."""
        found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
        for package in PACKAGES:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
        device = self.device()
        return {**found, "driver": device.driver or "not known", "cuda": device.runtime or "not known"}

    def clock(self) -> float:
        """Seconds of the host's finest clock."""
        return time.perf_counter()

    def elapsed_s(self, kernel: Kernel, calls: int) -> float:
        """Between two events on the device; where the host's launches are timed, nothing else of ours runs."""
        if not kernel.hosted:
            return self._card.elapsed_s(kernel.run, calls)
        with self._watch.paused():
            return self._card.elapsed_s(kernel.run, calls, held=False)

    def rest(self, seconds: float) -> None:
        """Wait until the device is done, then leave it alone."""
        self.sync()
        time.sleep(seconds)

    def sync(self) -> None:
        """Wait for the device."""
        self._card.sync()

    def usage(self) -> Usage:
        """Who else is on the card; the host's own contention does not touch what the device's clock says."""
        return Usage(time.perf_counter(), others=self._nvml.others())

    def state(self) -> State:
        """How the card ran since the last call."""
        return self._watch.state()

    def peaks(self) -> tuple[Ceiling, ...]:
        """The datasheet's, where the catalogue knows this device."""
        return spec_peaks(self.device())

    def gemm(self, dtype: str, m: int, n: int, k: int, seed: int) -> Sequence[Kernel]:
        """The first algorithms of cuBLASLt, and for one row a kernel of ours."""
        return self._products.kernels(dtype, m, n, k, seed)

    def stream(self, access: str, level: str, working_set_bytes: float, seed: int) -> Sequence[Kernel]:
        """Main memory, L2 and shared memory."""
        return self._streams.kernels(access, level, working_set_bytes, seed)

    def transfer(self, way: str, size_bytes: int) -> Kernel:
        """Over the host link."""
        return self._transfers.kernel(way, size_bytes)

    def peers(self) -> Sequence[tuple[int, int]]:
        """Every other card."""
        return [(self._index, other) for other in self._peers.others()]

    def peer(self, other: int, way: str, size_bytes: int) -> Kernel:
        """Through NVLink or PCIe, by the copy engines."""
        return self._peers.kernel(other, way, size_bytes)

    def launch(self, level: str = "device") -> Sequence[Kernel]:
        """An empty kernel, replayed or launched from Python."""
        return self._streams.launch(level)

    def attention(self, dtype: str, context: int, shape: AttentionShape, seed: int) -> Sequence[Kernel]:
        """Naive, fused, and fused under graph replay."""
        return self._attention.kernels(dtype, context, shape, seed)

    def close(self) -> None:
        """Stop watching and give the memory back."""
        if "_watch" in self.__dict__:
            self._watch.close()
            del self.__dict__["_watch"]
        if "_card" in self.__dict__:
            self._card.free_bytes()

    @cached_property
    def _card(self) -> Card:
        return Card(self._index)

    @cached_property
    def _nvml(self) -> Nvml:
        return Nvml(self._card.cp.cuda.runtime.deviceGetPCIBusId(self._index))

    @cached_property
    def _watch(self) -> Watch:
        return Watch(self._nvml.look)

    @cached_property
    def _device(self) -> Device:
        return query(self._card, self._nvml, self._peers)

    @cached_property
    def _products(self) -> Products:
        return Products(self._card, int(self._card.device.compute_capability))

    @cached_property
    def _streams(self) -> Streams:
        return Streams(self._card)

    @cached_property
    def _transfers(self) -> Transfers:
        return Transfers(self._card)

    @cached_property
    def _peers(self) -> Peers:
        return Peers(self._card, self._nvml)

    @cached_property
    def _attention(self) -> DecodeAttention:
        return DecodeAttention(self._card)

    def _does_not_compute(self) -> str:
        """The smallest kernel once: a CuPy for another CUDA, or headers that are missing, show here."""
        try:
            self._card.elapsed_s(lambda: None)
        except Exception as error:  # noqa: BLE001  (compiler, driver and runtime each raise their own)
            said = f"CuPy is installed but cannot run a kernel here ({_first_line(error)})"
            return f"{said}; {INSTALL} matches CUDA 13, for CUDA 12 {OLDER}"
        return ""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
