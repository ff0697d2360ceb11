"""What torch computes on a device of its own: products, streams, transfers, each checked before it counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from rooflens.measure.backend import Cannot, Kernel
from rooflens.measure.kernels import DECODE_ROWS, STREAMS, checked, cold_copies

DTYPES = {
    "fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8": "int8",
    "fp8": "float8_e4m3fn",
}  # fmt: skip
TOLERANCE = {"fp64": 1e-13, "fp32": 1e-5, "tf32": 2e-3, "bf16": 1e-2, "fp16": 2e-3, "int8": 0.0, "fp8": 2e-2}
VECTOR = ("fp32", "fp64")
REFUSALS = (RuntimeError, NotImplementedError, AttributeError, TypeError, ValueError)
COLD_BYTES = 2**28  # caches and weights take turns through this much, where no cache size is told
MOST_COPIES = 64
EMPTY_CALLS = 1000
CHECKED = 2**20


class TorchDevice:
    """One device of torch with what differs between kinds: waiting, timing, memory."""

    def __init__(self, kind: str, index: int) -> None:
        import torch

        self.torch: Any = torch
        self.kind = kind
        self.device: Any = torch.device(kind) if kind in ("cpu", "mps") else torch.device(kind, index)
        self._module: Any = None if kind == "cpu" else getattr(torch, kind)

    def sync(self) -> None:
        """Wait until everything started is done."""
        if self._module is not None:
            self._module.synchronize()

    def timed_s(self, run: Callable[[], object], calls: int) -> float | None:
        """Seconds between two events around `calls` runs; None for a device without events."""
        if self._module is None:
            return None
        start, end = (self._module.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            run()
        end.record()
        self.sync()
        return float(start.elapsed_time(end)) / 1e3

    def ask(self, function: str) -> Any:
        """torch.KIND.function(), None where there is none or it does not answer."""
        try:
            return getattr(self._module, function)()
        except Exception:  # noqa: BLE001  (each kind lacks others, and raises its own)
            return None

    def properties(self) -> Any:
        """What torch keeps of the device's own description; None for kinds that have none."""
        try:
            return self._module.get_device_properties(self.device)
        except Exception:  # noqa: BLE001  (as above)
            return None

    def memory_bytes(self) -> float | None:
        """Memory that may be used."""
        total = getattr(self.properties(), "total_memory", None) or self.ask("recommended_max_memory")
        if total is None and self.kind == "cpu":
            from rooflens.measure.backends.host import memory_bytes

            return memory_bytes()
        return total and float(total)

    def cold_bytes(self) -> float:
        """How much must be passed through before data has left the caches."""
        return 4.0 * float(getattr(self.properties(), "L2_cache_size", 0) or COLD_BYTES / 4)

    def normal(self, shape: Sequence[int], dtype: str, seed: int) -> Any:
        """Random normal values; int8 with a standard deviation of 32. Raises Cannot where `dtype` does not exist."""
        torch = self.torch
        try:
            generator = torch.Generator(device=self.device).manual_seed(seed)
            drawn = torch.randn(tuple(shape), generator=generator, device=self.device, dtype=torch.float32)
            if dtype == "int8":
                return (32 * drawn).round().clamp(-127, 127).to(torch.int8)
            return drawn.to(getattr(torch, DTYPES[dtype]))
        except REFUSALS as error:
            raise cannot(f"{dtype}", self, error) from error


def product(own: TorchDevice, dtype: str, m: int, n: int, k: int, seed: int) -> list[Kernel]:
    """A B and A B^T. Raises Cannot for what this torch does not multiply on this device."""
    if dtype not in DTYPES or (dtype == "tf32" and own.kind != "cuda"):
        raise Cannot(f"{dtype} skipped: torch does not multiply {dtype} on {own.device}")
    a, b = own.normal((m, k), dtype, seed), own.normal((n, k), dtype, seed + 1)
    copies = cold_copies(own.cold_bytes(), b.numel() * b.element_size(), MOST_COPIES) if m <= DECODE_ROWS else 1
    forms = {"A B^T": [b.t()] + [b.clone().t() for _ in range(copies - 1)]}
    if dtype != "fp8":  # scaled products take the second operand column by column only
        forms["A B"] = [second.contiguous() for second in forms["A B^T"]]
    try:
        found = [_product(own, dtype, form, a, seconds) for form, seconds in forms.items()]
        for kernel in found:
            with kernel.setting():
                kernel.run()
        own.sync()
    except REFUSALS as error:
        raise cannot(dtype, own, error) from error
    return found


def _product(own: TorchDevice, dtype: str, form: str, a: Any, seconds: list[Any]) -> Kernel:
    torch, turns = own.torch, cycle(seconds)
    kind = {"int8": torch.int32, "fp8": torch.bfloat16}.get(dtype, a.dtype)
    out = torch.empty((a.shape[0], seconds[0].shape[1]), dtype=kind, device=own.device)
    one = torch.ones((), device=own.device)

    def multiply(b: Any) -> None:
        if dtype == "int8":
            torch._int_mm(a, b, out=out)  # noqa: SLF001  (the only int8 product torch offers)
        elif dtype == "fp8":
            out.copy_(torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=kind, use_fast_accum=True))  # noqa: SLF001
        else:
            torch.mm(a, b, out=out)

    def error() -> float:
        with _setting(own, dtype):
            out.fill_(-1 if dtype == "int8" else math.nan)
            multiply(seconds[-1])
        rows, columns = (torch.tensor(some, device=own.device) for some in checked(*out.shape))
        expected = double(_taken(own, a, rows)) @ double(_taken(own, seconds[-1].t(), columns)).t()
        off = (double(out[rows][:, columns]) - expected).abs().max() / expected.abs().max()
        return float(off)

    return Kernel(
        run=lambda: multiply(next(turns)),
        unit=f"torch {form}",
        error=error,
        tolerance=TOLERANCE[dtype],
        path="vector" if dtype in VECTOR else "matrix",
        setting=lambda: _setting(own, dtype),
        hosted=True,
        note=f"{len(seconds)} weights take turns" if len(seconds) > 1 else "",
    )


@contextmanager
def _setting(own: TorchDevice, dtype: str) -> Iterator[None]:
    """Without gradients, and with TF32 only where it is asked for."""
    torch = own.torch
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def stream(own: TorchDevice, access: str, level: str, working_set_bytes: float, seed: int) -> list[Kernel]:
    """The contenders for one pass over float32 arrays together `working_set_bytes` long."""
    if level != "main" or access not in STREAMS:
        raise Cannot(f"memory/{level}/{access} skipped: torch has no kernel that stays in a cache")
    torch, count = own.torch, STREAMS[access].arrays
    n = int(working_set_bytes) // count // 4
    arrays = [own.normal((n,), "fp32", seed + i) for i in range(count)]
    total = torch.empty((), device=own.device)
    a = arrays[0]
    ways: dict[str, Callable[[], object]] = {
        "read": {"torch sum": lambda: torch.sum(a, 0, out=total), "torch amax": lambda: torch.amax(a, 0, out=total)},
        "write": {"torch fill": lambda: a.fill_(0.5)},
        "copy": {"torch copy": lambda: a.copy_(arrays[-1])},
        "triad": {"torch add": lambda: torch.add(arrays[-2], arrays[-1], alpha=0.5, out=a)},
    }[access]

    def kernel(unit: str, run: Callable[[], object]) -> Kernel:
        def error() -> float:
            with torch.inference_mode():
                run()
                return _stream_error(unit, arrays, total)

        tolerance = 1e-5 if access in ("read", "triad") else 0.0
        return Kernel(run, unit, error, tolerance, setting=torch.inference_mode, hosted=True)

    return [kernel(unit, run) for unit, run in ways.items()]


def _stream_error(unit: str, arrays: Sequence[Any], total: Any) -> float:
    """How far a pass is off: sums against parts, beside what n random numbers add up to; else the first million."""
    a = arrays[0]
    if unit == "torch sum":
        parts = sum(float(part.sum()) for part in a.split(CHECKED))
        return float(abs(float(total) - parts) / a.numel() ** 0.5 / 100)
    if unit == "torch amax":
        return abs(float(total) - max(float(part.max()) for part in a.split(CHECKED)))
    head, *others = (double(x[:CHECKED]) for x in arrays)
    expected = 0.5 if not others else others[-1] if len(others) == 1 else others[0] + 0.5 * others[1]
    return float((head - expected).abs().max())


def transfer(own: TorchDevice, way: str, size_bytes: int) -> Kernel:
    """One copy in one direction, of pinned or pageable memory."""
    torch, pinned = own.torch, not way.endswith("pageable")
    if own.kind not in ("cuda", "xpu") or way == "both":
        raise Cannot(f"{way} skipped: through torch only one-way copies of discrete GPUs are measured")
    there = torch.full((size_bytes,), 1, dtype=torch.uint8, device=own.device)
    here = torch.full((size_bytes,), 2, dtype=torch.uint8, pin_memory=pinned)
    to, source = (there, here) if way.startswith("h2d") else (here, there)
    value = int(source[-1])

    def run() -> None:
        to.copy_(source, non_blocking=pinned)

    def error() -> float:
        run()
        own.sync()
        return float(int(to[-1]) != value)

    return Kernel(run, f"torch copy, {'pinned' if pinned else 'pageable'}", error, 0.0, hosted=not pinned)


def empties(own: TorchDevice, level: str) -> Kernel:
    """A thousand additions to one number, launched from Python."""
    number = own.torch.zeros((), device=own.device)

    def run() -> None:
        for _ in range(EMPTY_CALLS):
            number.add_(1.0)

    note = "no graph is replayed here: the host's cost is in it" if level == "device" else ""
    return Kernel(
        run, "torch add to one number, launched from Python", lambda: 0.0, 0.0, inner=EMPTY_CALLS,
        setting=own.torch.inference_mode, hosted=True, note=note,
    )  # fmt: skip


def double(x: Any) -> Any:
    """As float64 on the processor: not every device has it."""
    return x.detach().to("cpu").float().double() if x.element_size() < 4 else x.detach().to("cpu").double()


def _taken(own: TorchDevice, x: Any, rows: Any) -> Any:
    """Some rows; of 8-bit floats through their bits, since not every device picks those."""
    narrow = x.element_size() == 1 and x.is_floating_point()
    return x.view(own.torch.uint8)[rows].view(x.dtype) if narrow else x[rows]


def cannot(what: str, own: TorchDevice, error: Exception) -> Cannot:
    """What torch refused, in its own words."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return Cannot(f"{what} skipped: torch {own.torch.__version__} does not do it on {own.device} ({said})")
