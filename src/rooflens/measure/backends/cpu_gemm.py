"""Products on a processor, through the BLAS that numpy has: A B with B as it lies, and transposed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from rooflens.measure.backend import Kernel
from rooflens.measure.kernels import checked
from rooflens.roofline.profile import Device

TOLERANCE = {"fp64": 1e-13, "fp32": 1e-5}
NAMES = {"fp64": "float64", "fp32": "float32"}
Setting = Callable[[], AbstractContextManager[object]]


def products(device: Device, setting: Setting, dtype: str, shape: tuple[int, int, int], seed: int) -> list[Kernel]:
    """Both ways to multiply (M x K) by (K x N), on all threads of the device, which `setting` gives to the BLAS."""
    import numpy as np

    kind, (m, n, k) = np.dtype(NAMES[dtype]), shape
    rng = np.random.default_rng(seed)
    a, b = _normal(rng, (m, k), kind), _normal(rng, (k, n), kind)
    out = np.empty((m, n), kind)
    forms = {"A B": b, "A B^T": np.ascontiguousarray(b.T).T}
    return [_product(device, setting, dtype, (a, second, out), form) for form, second in forms.items()]


def _product(device: Device, setting: Setting, dtype: str, operands: tuple[Any, Any, Any], form: str) -> Kernel:
    import numpy as np

    a, b, out = operands

    def run() -> None:
        np.matmul(a, b, out=out)

    def error() -> float:
        run()
        return product_error(a, b, out)

    return Kernel(
        run=run,
        unit=f"numpy {device.blas} {device.blas_kernel}, {form}",
        error=error,
        tolerance=TOLERANCE[dtype],
        threads=device.threads,
        path="vector",
        setting=setting,
    )


def product_error(a: Any, b: Any, out: Any) -> float:
    """Error of a sample of A B against float64, relative to the largest entry."""
    import numpy as np

    rows, columns = checked(a.shape[0], b.shape[1])
    expected = a[rows].astype(np.float64) @ b[:, columns].astype(np.float64)
    found = out[np.ix_(rows, columns)].astype(np.float64)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _normal(rng: Any, shape: tuple[int, int], kind: Any) -> Any:
    """Random normal, at most 4 Mi values drawn and then repeated with a shift."""
    import numpy as np

    block = rng.standard_normal(min(2**22 + 1, shape[0] * shape[1]), dtype=kind)
    return np.resize(block, shape)
