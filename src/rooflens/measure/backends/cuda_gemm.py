"""Products through cuBLASLt, every dtype on one path: C [M, N] = A [M, K] B, with B kept as [N, K] or [K, N].

The library orders its algorithms for a shape; the first few become contenders, each named by its own numbers. Decode
shapes (few rows) are replayed from a graph over weights that take turns through more than the L2 holds, beside a
kernel of ours for one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import cycle
from typing import Any

from rooflens.measure.backend import Cannot, Kernel
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_data import BYTES, CTYPES, decode, normal, poison
from rooflens.measure.backends.cuda_lt import MATHS, RESULTS, Lt, Math, Plan, why_not
from rooflens.measure.kernels import DECODE_ROWS, checked, cold_copies
from rooflens.records import record

COLD_TIMES = 5  # rotate through this many times the L2
GRAPH_NODES = 64
GEMV_THREADS = 256
GEMV_WAYS = ((4, 2, 4), (4, 1, 8), (8, 1, 8), (8, 4, 2))  # warps of a team, their rows, loads in flight


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
        if reason := why_not():
            raise Cannot(f"{dtype} skipped: {reason}")
        return MATHS[dtype]

    def _library(self, dtype: str, math_of: Math, form: str, shape: tuple[int, int, int], seed: int) -> list[Kernel]:
        data = self._operands(dtype, form, shape, seed)
        plan = Plan(self._lt, math_of, form, shape)

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
        copies = cold_copies(COLD_TIMES * self._card.cache_bytes, b.nbytes, GRAPH_NODES) if m <= DECODE_ROWS else 1
        c = cp.empty((m, n), RESULTS[MATHS[dtype].stored_result])
        return Operands(a, (b, *(b.copy() for _ in range(copies - 1))), c)

    def _error(self, multiply: Callable[[Any], None], math_of: Math, dtype: str, form: str, data: Operands) -> float:
        """Of a sample against float64, relative to the largest entry."""
        cp = self._card.cp
        with self._card.here():
            worst = 0.0
            for b in {id(x): x for x in (data.b[0], data.b[-1])}.values():
                poison(data.c)
                multiply(b)
                rows, columns = map(cp.asarray, checked(*data.c.shape))
                second = b[columns].T if form == "A B^T" else b[:, columns]
                expected = decode(cp, data.a[rows], dtype) @ decode(cp, second, dtype)
                found = decode(cp, data.c[rows][:, columns], math_of.stored_result)
                worst = max(worst, float(cp.abs(found - expected).max() / cp.abs(expected).max()))
                if math.isnan(float(found.sum())):
                    return math.nan
            return worst

    @cached_property
    def _lt(self) -> Lt:
        return Lt(self._card)
