"""Products through cuBLASLt, every dtype on one path: C [M, N] = A [M, K] B, with B kept as [N, K] or [K, N].

The library orders its algorithms for a shape; the first few become contenders, each named by its own numbers. Decode
shapes (few rows) are replayed from a graph over weights that take turns through more than the L2 holds, beside a
kernel of ours for one row.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import cycle
from typing import Any

from rooflens.measure.backend import Cannot, Kernel
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_data import BYTES, CTYPES, decode, normal, poison
from rooflens.records import record

WORKSPACE_BYTES = 64 * 2**20
ALGORITHMS = 4
DECODE_ROWS = 256  # up to so many rows a product is a decode step's: weights stream, a graph replays it
COLD_TIMES = 5  # rotate through this many times the L2
GRAPH_NODES = 64
GEMV_THREADS = 256
GEMV_WAYS = ((4, 2, 4), (4, 1, 8), (8, 1, 8), (8, 4, 2))  # warps of a team, their rows, loads in flight


@record
class Math:
    """How cuBLASLt multiplies a dtype, in its own names. capability: the least compute capability, times ten."""

    operand: str
    result: str
    compute: str
    scale: str
    stored_result: str
    tolerance: float
    path: str = "matrix"
    capability: int = 0
    forms: tuple[str, ...] = ("A B^T", "A B")
    fast: bool = False


MATHS = {
    "fp64": Math("CUDA_R_64F", "CUDA_R_64F", "COMPUTE_64F", "CUDA_R_64F", "fp64", 1e-13),
    "fp32": Math("CUDA_R_32F", "CUDA_R_32F", "COMPUTE_32F", "CUDA_R_32F", "fp32", 1e-5, path="vector"),
    "tf32": Math("CUDA_R_32F", "CUDA_R_32F", "COMPUTE_32F_FAST_TF32", "CUDA_R_32F", "fp32", 2e-3, capability=80),
    "fp16": Math("CUDA_R_16F", "CUDA_R_16F", "COMPUTE_32F", "CUDA_R_32F", "fp16", 2e-3, capability=70),
    "bf16": Math("CUDA_R_16BF", "CUDA_R_16BF", "COMPUTE_32F", "CUDA_R_32F", "bf16", 1e-2, capability=80),
    "fp8": Math(
        "CUDA_R_8F_E4M3", "CUDA_R_16BF", "COMPUTE_32F", "CUDA_R_32F", "bf16", 2e-2,
        capability=89, forms=("A B^T",), fast=True,
    ),
    "int8": Math(
        "CUDA_R_8I", "CUDA_R_32I", "COMPUTE_32I", "CUDA_R_32I", "int32", 0.0, capability=75, forms=("A B^T",)
    ),
}  # fmt: skip
CONFIGURED = {
    "algorithm": "ID",
    "tile": "TILE_ID",
    "stages": "STAGES_ID",
    "splits": "SPLITK_NUM",
    "swizzle": "CTA_SWIZZLING",
    "cluster": "CLUSTER_SHAPE_ID",
    "custom": "CUSTOM_OPTION",
}
RESULTS = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "uint16", "int32": "int32"}
SCALES = {"CUDA_R_64F": "float64", "CUDA_R_32F": "float32", "CUDA_R_32I": "int32"}


@record
class Operands:
    """A [M, K], as many copies of B as take turns, and C [M, N]."""

    a: Any
    b: tuple[Any, ...]
    c: Any


class Products:
    """The products of one card."""

    def __init__(self, card: Card, capability: int) -> None:
        self._card = card
        self._capability = capability

    def why_not(self) -> str:
        """Why there is no cuBLASLt; empty when there is."""
        try:
            from nvmath.bindings import cublasLt  # noqa: F401
        except ImportError:
            return "nvmath-python is not installed; pip install 'rooflens[nvidia]'"
        return ""

    def kernels(self, dtype: str, m: int, n: int, k: int, seed: int) -> Sequence[Kernel]:
        """The contenders for one shape. Raises Cannot for a dtype this device or installation does not multiply."""
        math_of = self._math(dtype)
        with self._card.here():
            ways = [way for form in math_of.forms for way in self._library(dtype, math_of, form, (m, n, k), seed)]
            if m == 1 and dtype in CTYPES and dtype != "int8" and k % (16 // BYTES[dtype]) == 0:
                ways += self._own(dtype, n, k, seed)
        if not ways:
            raise Cannot(f"{dtype} {m}x{n}x{k} skipped: cuBLASLt has no algorithm for it")
        return ways

    def _math(self, dtype: str) -> Math:
        if dtype not in MATHS:
            raise Cannot(f"{dtype} skipped: no product of it through cuBLASLt is known here")
        if self._capability < MATHS[dtype].capability:
            least, have = MATHS[dtype].capability, self._capability
            raise Cannot(f"{dtype} skipped: needs compute capability {least / 10:.1f}, this device has {have / 10:.1f}")
        if reason := self.why_not():
            raise Cannot(f"{dtype} skipped: {reason}")
        return MATHS[dtype]

    def _library(self, dtype: str, math_of: Math, form: str, shape: tuple[int, int, int], seed: int) -> list[Kernel]:
        data = self._operands(dtype, form, shape, seed)
        plan = _Plan(self._lt, math_of, form, shape)

        def way(name: str, algorithm: Any) -> Kernel:
            def multiply(b: Any) -> None:
                plan.run(algorithm, data.a, b, data.c, self._card.stream.ptr)

            return self._kernel(f"cuBLASLt {form}, {name}", math_of, dtype, form, data, multiply)

        return [way(*found) for found in plan.algorithms()]

    def _own(self, dtype: str, n: int, k: int, seed: int) -> list[Kernel]:
        data = self._operands(dtype, "A B^T", (1, n, k), seed)
        return [self._gemv(dtype, n, k, data, way) for way in GEMV_WAYS]

    def _gemv(self, dtype: str, n: int, k: int, data: Operands, way: tuple[int, int, int]) -> Kernel:
        cp, (team, rows, deep) = self._card.cp, way
        kernel = self._card.kernel("gemv.cu", f"gemv<{CTYPES[dtype]}, {team}, {rows}, {deep}>")
        grid = (math.ceil(n / rows / (GEMV_THREADS // 32 // team)),)

        def multiply(b: Any) -> None:
            kernel(grid, (GEMV_THREADS,), (b, data.a, data.c, cp.int32(n), cp.int32(k)))

        name = f"gemv kernel, {rows} rows for {team} warps, {deep} loads deep"
        return self._kernel(name, MATHS[dtype], dtype, "A B^T", data, multiply)

    def _kernel(
        self, unit: str, math_of: Math, dtype: str, form: str, data: Operands, multiply: Callable[[Any], None]
    ) -> Kernel:
        turns = cycle(data.b)

        def run() -> None:
            multiply(next(turns))

        decode_step = data.a.shape[0] <= DECODE_ROWS
        inner = max(len(data.b), GRAPH_NODES) if decode_step else 1
        return Kernel(
            run=self._card.graph(run, inner) if decode_step else run,
            unit=unit,
            error=lambda: self._error(multiply, math_of, dtype, form, data),
            tolerance=math_of.tolerance,
            path=math_of.path,
            inner=inner,
            setting=self._card.here,
            note="replayed from a graph, weights take turns" if decode_step else "",
        )

    def _operands(self, dtype: str, form: str, shape: tuple[int, int, int], seed: int) -> Operands:
        cp, (m, n, k) = self._card.cp, shape
        a = normal(cp, (m, k), dtype, seed)
        b = normal(cp, (n, k) if form == "A B^T" else (k, n), dtype, seed + 1)
        cold = COLD_TIMES * self._card.cache_bytes
        copies = max(1, min(GRAPH_NODES, math.ceil(cold / b.nbytes))) if m <= DECODE_ROWS else 1
        c = cp.empty((m, n), RESULTS[MATHS[dtype].stored_result])
        return Operands(a, (b, *(b.copy() for _ in range(copies - 1))), c)

    def _error(self, multiply: Callable[[Any], None], math_of: Math, dtype: str, form: str, data: Operands) -> float:
        """Of at most 16 rows x 64 columns against float64, relative to the largest entry."""
        cp = self._card.cp
        with self._card.here():
            worst = 0.0
            for b in {id(x): x for x in (data.b[0], data.b[-1])}.values():
                poison(data.c)
                multiply(b)
                rows, columns = _spread(cp, data.c.shape[0], 16), _spread(cp, data.c.shape[1], 64)
                second = b[columns].T if form == "A B^T" else b[:, columns]
                expected = decode(cp, data.a[rows], dtype) @ decode(cp, second, dtype)
                found = decode(cp, data.c[rows][:, columns], math_of.stored_result)
                worst = max(worst, float(cp.abs(found - expected).max() / cp.abs(expected).max()))
                if math.isnan(float(found.sum())):
                    return math.nan
            return worst

    @cached_property
    def _lt(self) -> _Lt:
        return _Lt(self._card)


class _Lt:
    """A handle of the library and its workspace."""

    def __init__(self, card: Card) -> None:
        from nvmath.bindings import cublasLt

        with card.here():
            self.handle = cublasLt.create()
            self.workspace = card.cp.empty(WORKSPACE_BYTES, "uint8")
        weakref.finalize(self, cublasLt.destroy, self.handle)


class _Plan:
    """One product described to the library. Its matrices are column-major: ours, seen transposed, so C^T = B^T A^T."""

    def __init__(self, lt: _Lt, math_of: Math, form: str, shape: tuple[int, int, int]) -> None:
        import numpy as np
        from nvmath import CudaDataType
        from nvmath.bindings import cublas, cublasLt

        m, n, k = shape
        self._lt = lt
        operand, result = (int(CudaDataType[name]) for name in (math_of.operand, math_of.result))
        compute = int(cublas.ComputeType[math_of.compute])
        self._product = cublasLt.matmul_desc_create(compute, int(CudaDataType[math_of.scale]))
        transposed = form == "A B^T"
        self._set("TRANSA", np.int32(cublas.Operation.T if transposed else cublas.Operation.N))
        if math_of.fast:
            self._set("FAST_ACCUM", np.int8(1))
        self._b = cublasLt.matrix_layout_create(operand, *((k, n, k) if transposed else (n, k, n)))
        self._a = cublasLt.matrix_layout_create(operand, k, m, k)
        self._c = cublasLt.matrix_layout_create(result, n, m, n)
        self._one = np.ones(1, SCALES[math_of.scale])
        self._zero = np.zeros(1, SCALES[math_of.scale])
        weakref.finalize(self, _destroy, self._product, (self._a, self._b, self._c))

    def _set(self, attribute: str, value: Any) -> None:
        import numpy as np
        from nvmath.bindings import cublasLt

        held = np.array([value])
        which = cublasLt.MatmulDescAttribute[attribute]
        cublasLt.matmul_desc_set_attribute(self._product, which, held.ctypes.data, held.nbytes)

    def algorithms(self) -> list[tuple[str, Any]]:
        """The library's first choices, each with a name; empty when it has none."""
        import numpy as np
        from nvmath.bindings import cublasLt

        preference = cublasLt.matmul_preference_create()
        most = np.array([self._lt.workspace.nbytes], np.uint64)
        which = cublasLt.MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES
        cublasLt.matmul_preference_set_attribute(preference, which, most.ctypes.data, most.nbytes)
        found, count = np.zeros(ALGORITHMS, cublasLt.matmul_heuristic_result_dtype), np.zeros(1, np.int32)
        layouts = (self._b, self._a, self._c, self._c)
        try:
            cublasLt.matmul_algo_get_heuristic(
                self._lt.handle, self._product, *layouts, preference, ALGORITHMS, found.ctypes.data, count.ctypes.data
            )
        except cublasLt.cuBLASLtError:
            return []
        finally:
            cublasLt.matmul_preference_destroy(preference)
        kept = [found[i : i + 1]["algo"].copy() for i in range(int(count[0])) if not found[i]["state"]]
        return [(_name(algorithm), algorithm) for algorithm in kept]

    def run(self, algorithm: Any, a: Any, b: Any, c: Any, stream: int) -> None:
        """Enqueue the product."""
        from nvmath.bindings import cublasLt

        cublasLt.matmul(
            self._lt.handle, self._product, self._one.ctypes.data, b.data.ptr, self._b, a.data.ptr, self._a,
            self._zero.ctypes.data, c.data.ptr, self._c, c.data.ptr, self._c, algorithm.ctypes.data,
            self._lt.workspace.data.ptr, self._lt.workspace.nbytes, stream,
        )  # fmt: skip


def _destroy(product: int, layouts: tuple[int, ...]) -> None:
    from nvmath.bindings import cublasLt

    cublasLt.matmul_desc_destroy(product)
    for layout in layouts:
        cublasLt.matrix_layout_destroy(layout)


def _name(algorithm: Any) -> str:
    """The algorithm's number, tile and stages, as the library configures it."""
    import numpy as np
    from nvmath.bindings import cublasLt

    said = []
    for short, attribute in CONFIGURED.items():
        which = cublasLt.MatmulAlgoConfigAttribute[attribute]
        value = np.zeros(1, cublasLt.get_matmul_algo_config_attribute_dtype(which))
        written = np.zeros(1, np.uint64)
        cublasLt.matmul_algo_config_get_attribute(
            algorithm.ctypes.data, which, value.ctypes.data, value.nbytes, written.ctypes.data
        )
        said.append(f"{short} {int(value[0])}")
    return " ".join(said)


def _spread(xp: Any, size: int, most: int) -> Any:
    """At most `most` places, evenly spread, the first and the last among them."""
    return xp.linspace(0, size - 1, min(most, size)).astype(xp.int64)
