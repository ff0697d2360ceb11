"""Decode attention in numpy, as fast as it goes: one matrix-vector product a head, both layouts, one or all threads.

Every layer is a group of calls of its own, in order; layers are never merged into one call. With several threads each
takes a run of (layer, head) pairs, which the given queries allow. Sets rotate through more memory than the caches
hold, as a model that streams its weights between two attentions would find its KV cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from typing import Any

from rooflens.measure.backend import AttentionShape, Kernel
from rooflens.measure.backends.pool import Pool
from rooflens.measure.kernels import cold_copies
from rooflens.records import record

CALLS_A_LAYER = 7  # scores, max, subtract, exp, sum, values, divide
COLD_TIMES = 2  # rotate through this many times the largest cache
MOST_SETS = 512
TOLERANCE = 1e-5


@record
class Data:
    """Queries [L, H, W], scaled by 1/sqrt(W), and `sets` caches [sets, L, H, W, S] as float32."""

    q: Any
    k: Any
    v: Any

    @property
    def sets(self) -> int:
        """How many caches take turns."""
        return int(self.k.shape[0])


def random_data(shape: AttentionShape, context: int, seed: int, cold_bytes: float, value_bytes: int = 4) -> Data:
    """Queries x Wq of a random token, Wq from the checkpoint or random; keys and values random, one block repeated."""
    import numpy as np

    rng = np.random.default_rng(seed)
    L, D, H, W = shape.layers, shape.width, shape.heads, shape.head_width
    x = rng.standard_normal(D, dtype=np.float32)
    q = (x @ _query_weights(shape, rng)).reshape(L, H, W) / np.float32(math.sqrt(W))
    one = L * D * context
    sets = cold_copies(COLD_TIMES * cold_bytes, 2 * one * value_bytes, MOST_SETS)
    block = rng.standard_normal(min(2**22 + 1, 2 * sets * one), dtype=np.float32)
    both = np.resize(block, 2 * sets * one).reshape(2, sets, L, H, W, context)
    return Data(q, both[0], both[1])


def _query_weights(shape: AttentionShape, rng: Any) -> Any:
    import numpy as np

    if shape.checkpoint:
        from rooflens.measure.backends.checkpoint import query_weights

        return query_weights(shape.checkpoint, shape)
    L, D = shape.layers, shape.width
    return rng.standard_normal((L, D, D), dtype=np.float32) / np.float32(math.sqrt(D))


def reference(data: Data, which: int) -> Any:
    """The output [L, H, W] of one set in float64."""
    import numpy as np

    q, k, v = (a.astype(np.float64) for a in (data.q, data.k[which], data.v[which]))
    scores = np.einsum("lhw,lhws->lhs", q, k)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("lhs,lhws->lhw", p / p.sum(axis=-1, keepdims=True), v)


def relative_error(output: Any, expected: Any) -> float:
    """Largest difference, relative to the largest expected value."""
    import numpy as np

    return float(np.abs(np.asarray(output, dtype=np.float64) - expected).max() / np.abs(expected).max())


@dataclass(slots=True)
class Numpy:
    """The numpy ways for one context."""

    pool: Pool
    blas_threads: Callable[[int], AbstractContextManager[object]]
    data: Data = field(init=False)

    def kernels(self, shape: AttentionShape, context: int, seed: int, cold_bytes: float) -> Sequence[Kernel]:
        """Two layouts, each with one thread and with all."""
        self.data = random_data(shape, context, seed, cold_bytes)
        threads = sorted({1, min(len(self.pool), shape.layers * shape.heads)})
        layouts = {"columns [H, W, S]": self._columns, "rows [H, S, W]": self._rows}
        kernels = []
        for name, layout in layouts.items():
            k, v = layout()
            kernels += [self._kernel(f"numpy, {name}", name[0] == "r", k, v, n) for n in threads]
        return kernels

    def _columns(self) -> tuple[Any, Any]:
        return self.data.k, self.data.v

    def _rows(self) -> tuple[Any, Any]:
        import numpy as np

        k, v = (np.ascontiguousarray(a.swapaxes(-1, -2)) for a in (self.data.k, self.data.v))
        return k, v

    def _kernel(self, name: str, rows: bool, k: Any, v: Any, threads: int) -> Kernel:  # noqa: FBT001
        out = self.data.q * 0
        plans = [_plan(self.data.q, k, v, out, part, rows) for part in _shares(self.data.q.shape[:2], threads)]
        turn = _Turn(self.data.sets)

        def run() -> None:
            which = next(turn)
            if threads == 1:
                _attend(plans[0][which])
            else:
                self.pool.run(lambda w: _attend(plans[w][which]) if w < threads else None)

        return Kernel(
            run=run,
            unit=f"{name}, {threads} thread{'' if threads == 1 else 's'}",
            error=lambda: self._error(run, turn, out),
            tolerance=TOLERANCE,
            threads=threads,
            fills=threads == 1,
            calls=CALLS_A_LAYER * self.data.q.shape[0],
            setting=self._setting,
            note=f"{self.data.sets} caches take turns",
        )

    def _error(self, run: Callable[[], None], turn: _Turn, out: Any) -> float:
        worst = 0.0
        for which in {0, self.data.sets - 1}:
            turn.jump(which)
            run()
            worst = max(worst, relative_error(out, reference(self.data, which)))
        return worst

    def _setting(self) -> AbstractContextManager[object]:
        stack = ExitStack()
        stack.enter_context(self.pool.pinned())
        stack.enter_context(self.blas_threads(1))
        return stack


class _Turn:
    """0, 1, ... n-1, 0, ...; `jump` sets what comes next."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._cycle: Iterator[int] = cycle(range(n))

    def jump(self, which: int) -> None:
        self._cycle = cycle([*range(which, self.n), *range(which)])

    def __next__(self) -> int:
        return next(self._cycle)


def _shares(layers_heads: tuple[int, int], threads: int) -> list[list[tuple[int, int, int]]]:
    """For each thread its (layer, first head, past the last head), consecutive and of nearly equal number."""
    L, H = layers_heads
    bounds = [round(L * H * i / threads) for i in range(threads + 1)]
    return [
        [(layer, max(a - layer * H, 0), min(b - layer * H, H)) for layer in range(a // H, -(-b // H))]
        for a, b in pairwise(bounds)
    ]


def _plan(q: Any, k: Any, v: Any, out: Any, part: list[tuple[int, int, int]], rows: bool) -> list[list[Any]]:  # noqa: FBT001
    """For every set the operands of each layer's calls, sliced beforehand."""
    import numpy as np

    sets, context = k.shape[0], k.shape[-2] if rows else k.shape[-1]
    plan: list[list[Any]] = [[] for _ in range(sets)]
    for layer, a, b in part:
        scores = np.empty((b - a, 1, context), np.float32)
        largest, total = np.empty((b - a, 1, 1), np.float32), np.empty((b - a, 1, 1), np.float32)
        query, result = q[layer, a:b], out[layer, a:b]
        for which in range(sets):
            keys, values = k[which, layer, a:b], v[which, layer, a:b]
            if rows:
                product = (keys, query[:, :, None], scores.reshape(b - a, context, 1))
                weighted = (scores, values, result[:, None, :])
            else:
                product = (query[:, None, :], keys, scores)
                weighted = (values, scores.reshape(b - a, context, 1), result[:, :, None])
            plan[which].append((product, weighted, scores, largest, total, result, total[:, 0]))
    return plan


def _attend(layers: list[Any]) -> None:
    """Softmax over scores, then the weighted values; normalised once at the end, W instead of S divisions a head."""
    import numpy as np

    matmul, subtract, exp, divide = np.matmul, np.subtract, np.exp, np.divide
    largest_of, sum_of = np.maximum.reduce, np.add.reduce
    for product, weighted, scores, largest, total, result, total_column in layers:
        matmul(product[0], product[1], out=product[2])
        largest_of(scores, axis=2, keepdims=True, out=largest)
        subtract(scores, largest, out=scores)
        exp(scores, out=scores)
        sum_of(scores, axis=2, keepdims=True, out=total)
        matmul(weighted[0], weighted[1], out=weighted[2])
        divide(result, total_column, out=result)
