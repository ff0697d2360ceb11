"""Other GPUs through torch: AMD (ROCm), Apple (MPS), Intel (XPU), and NVIDIA where CuPy is missing.

Written against torch's documented calls and tested on torch's own CPU device only: every profile says so.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from rooflens.measure.backend import AttentionShape, Cannot, Kernel, State, Usage, waited_s
from rooflens.measure.backends import host
from rooflens.measure.backends.cuda_device import spec_peaks
from rooflens.measure.backends.torch_attention import TorchAttention
from rooflens.measure.backends.torch_work import TorchDevice, empties, product, stream, transfer
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Cache, Device

INSTALL = "pip install 'rooflens[torch]', in torch's build for this device"
UNTESTED = (
    "measured through torch: this way was never tried on such a device before release, so look at every figure twice"
)
NAMES = {"cuda": "CUDA or ROCm", "mps": "Metal", "xpu": "Intel XPU", "cpu": "CPU"}
KINDS = ("cuda", "xpu", "mps")


class TorchBackend:
    """Device `kind:index` of torch; "cpu" is for tests."""

    name = "torch"
    turn_s = 0.002

    def __init__(self, kind: str, index: int = 0) -> None:
        self._kind, self._index = kind, index

    def why_not(self) -> str:
        """One sentence: no torch, torch without this kind of device, no such device, or one that does not compute."""
        try:
            import torch
        except ImportError:
            return f"torch is not installed; {INSTALL}"
        if self._kind == "cpu":
            return ""
        if not _available(torch, self._kind):
            return f"torch {torch.__version__} sees no {NAMES[self._kind]} device; {INSTALL}"
        count = getattr(torch, self._kind).device_count()
        if self._index >= count:
            return f"there is no {self._kind}:{self._index}; torch sees {count}"
        return self._does_not_compute()

    def device(self) -> Device:
        """What torch tells of it."""
        return self._device

    def versions(self) -> dict[str, str]:
        """Python, torch and what torch was built for."""
        torch = self._own.torch
        system = f"{platform.system()} {platform.release()}"
        return {"python": platform.python_version(), "system": system, "torch": str(torch.__version__)}

    def clock(self) -> float:
        """Seconds of the host's finest clock."""
        return time.perf_counter()

    def elapsed_s(self, kernel: Kernel, calls: int) -> float:
        """Between two events of the device; on the host's clock where torch has none. Launches are in it."""
        timed = self._own.timed_s(kernel.run, calls)
        return waited_s(self, kernel, calls) if timed is None else timed

    def rest(self, seconds: float) -> None:
        """Wait until the device is done, then leave it alone."""
        self.sync()
        time.sleep(seconds)

    def sync(self) -> None:
        """Wait for the device."""
        self._own.sync()

    def usage(self) -> Usage:
        """Torch does not tell who else is on the device."""
        return Usage(time.perf_counter())

    def state(self) -> State:
        """Clock, power and temperature where torch tells them."""
        return State(
            clock_hz=_scaled(self._own.ask("clock_rate"), 1e6),
            power_w=_scaled(self._own.ask("power_draw"), 1e-3),
            temperature_c=_scaled(self._own.ask("temperature"), 1.0),
        )

    def peaks(self) -> tuple[Ceiling, ...]:
        """The datasheet's, where the catalogue knows this device."""
        return spec_peaks(self.device()) if self._kind != "cpu" else ()

    def gemm(self, dtype: str, m: int, n: int, k: int, seed: int) -> Sequence[Kernel]:
        """Both transposes."""
        return product(self._own, dtype, m, n, k, seed)

    def stream(self, access: str, level: str, working_set_bytes: float, seed: int) -> Sequence[Kernel]:
        """Main memory, by torch's own element-wise kernels."""
        return stream(self._own, access, level, working_set_bytes, seed)

    def transfer(self, way: str, size_bytes: int) -> Kernel:
        """To the device or back, one direction at a time."""
        return transfer(self._own, way, size_bytes)

    def peers(self) -> Sequence[tuple[int, int]]:
        """None: torch's copies between devices are not measured."""
        return ()

    def peer(self, other: int, way: str, size_bytes: int) -> Kernel:
        """Not written for torch."""
        raise Cannot(f"copies to device {other} skipped: through torch they are not measured")

    def launch(self, level: str = "device") -> Sequence[Kernel]:
        """Adding to one number, again and again from Python."""
        return [empties(self._own, level)]

    def attention(self, dtype: str, context: int, shape: AttentionShape, seed: int) -> Sequence[Kernel]:
        """Naive and torch's fused form."""
        return self._attention.kernels(dtype, context, shape, seed)

    def close(self) -> None:
        """Give the memory back."""
        if "_own" in self.__dict__:
            self._own.ask("empty_cache")

    @cached_property
    def _own(self) -> TorchDevice:
        return TorchDevice(self._kind, self._index)

    @cached_property
    def _attention(self) -> TorchAttention:
        return TorchAttention(self._own)

    @cached_property
    def _device(self) -> Device:
        return _described(self._own)

    def _does_not_compute(self) -> str:
        try:
            ones = self._own.torch.ones(8, device=self._own.device)
            return "" if float(ones.sum()) == 8 else f"{self._kind}:{self._index} adds eight ones to something else"
        except Exception as error:  # noqa: BLE001  (driver, runtime and library each raise their own)
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            return f"torch is installed but cannot compute on {self._kind}:{self._index} ({said}); {INSTALL}"


def torch_kind() -> str | None:
    """The kind of the first accelerator that torch sees; None without one, or without torch."""
    try:
        import torch
    except ImportError:
        return None
    return next((kind for kind in KINDS if _available(torch, kind)), None)


def devices(kind: str) -> int:
    """How many of this kind torch sees; 0 without torch."""
    try:
        import torch
    except ImportError:
        return 0
    return int(getattr(torch, kind).device_count()) if _available(torch, kind) else 0


def _available(torch: Any, kind: str) -> bool:
    module = torch.backends.mps if kind == "mps" else getattr(torch, kind, None)
    return bool(module is not None and module.is_available())


def _described(own: TorchDevice) -> Device:
    torch, virtual = own.torch, host.virtualised()
    known = own.properties()
    cache_bytes = getattr(known, "L2_cache_size", None)
    cores = getattr(known, "multi_processor_count", None) or getattr(known, "gpu_subslice_count", None)
    nvidia = own.kind == "cuda" and not torch.version.hip
    described = Device(
        name=str(getattr(known, "name", "") or f"{platform.processor() or platform.machine()} ({NAMES[own.kind]})"),
        kind="gpu",
        cores=cores and int(cores),
        memory_bytes=own.memory_bytes(),
        caches=(Cache("L2", float(cache_bytes)),) if cache_bytes else (),
        virtualised=virtual,
        blas=f"torch {torch.__version__}",
        system=platform.platform(),
        runtime=_runtime(torch, own.kind),
        distrust=(UNTESTED, *(("virtual machine: other devices of this host may share its power",) if virtual else ())),
    )
    return replace(described, compute_capability=f"{known.major}.{known.minor}") if nvidia else described


def _runtime(torch: Any, kind: str) -> str:
    if kind == "cuda":
        return f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    return NAMES[kind]


def _scaled(value: Any, factor: float) -> float | None:
    return None if not isinstance(value, int | float) else float(value) * factor
