"""cuBLASLt in its own words: how each dtype is multiplied, a product described once, its algorithms, and running it."""

from __future__ import annotations

import weakref
from typing import Any

from rooflens.measure.backends.cuda_card import Card
from rooflens.records import record

WORKSPACE_BYTES = 64 * 2**20
ALGORITHMS = 4


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
class Batch:
    """Equal products side by side: how many, and how many elements lie from one A, B and C to the next."""

    count: int
    a: int
    b: int
    c: int


def why_not() -> str:
    """Why there is no cuBLASLt; empty when there is."""
    try:
        from nvmath.bindings import cublasLt  # noqa: F401
    except ImportError:
        return "nvmath-python is not installed; pip install 'rooflens[nvidia]'"
    return ""


class Lt:
    """A handle of the library and its workspace."""

    def __init__(self, card: Card) -> None:
        from nvmath.bindings import cublasLt

        with card.here():
            self.handle = cublasLt.create()
            self.workspace = card.cp.empty(WORKSPACE_BYTES, "uint8")
        weakref.finalize(self, cublasLt.destroy, self.handle)


class Plan:
    """One product described to the library. Its matrices are column-major: ours, seen transposed, so C^T = B^T A^T."""

    def __init__(
        self, lt: Lt, math_of: Math, form: str, shape: tuple[int, int, int], batch: Batch | None = None
    ) -> None:
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
        if batch:
            for layout, stride in ((self._a, batch.a), (self._b, batch.b), (self._c, batch.c)):
                _several(layout, batch.count, stride)
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


def _several(layout: int, count: int, stride: int) -> None:
    """Makes a layout that of `count` matrices, `stride` elements apart."""
    import numpy as np
    from nvmath.bindings import cublasLt

    for name, value in (("BATCH_COUNT", np.int32(count)), ("STRIDED_BATCH_OFFSET", np.int64(stride))):
        held = np.array([value])
        which = cublasLt.MatrixLayoutAttribute[name]
        cublasLt.matrix_layout_set_attribute(layout, which, held.ctypes.data, held.nbytes)


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
