"""Causal attention of a whole prompt, as any CuPy user writes it and in blocks.

naive: the scores of all pairs go through memory. blocked: for some caches and a block of queries at a time, the scores
against the keys up to them (one batched product), a softmax in place, and the values (another), so that scores are
still in L2 when they are needed. Queries are kept block by block. Pairs beyond the diagonal are computed only within
the blocks on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from rooflens.measure.backend import AttentionShape, Cannot, Kernel
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_data import BYTES, CTYPES, STORED, decode, normal, poison
from rooflens.measure.backends.cuda_lt import MATHS, Batch, Lt, Plan, why_not
from rooflens.records import record

TOLERANCE = {"fp32": 1e-5, "fp16": 5e-3, "bf16": 2e-2}
CALLS = 8  # of the naive form: scores, mask, max, subtract, exp, sum, divide, values
NAIVE = ("fp32", "fp16")  # what CuPy multiplies
BLOCKED = "blocked, graph"
QUERIES = (256, 512, 1024)  # of a block
CACHES = (2, 4, 64)  # at a time
PIECE_BYTES = 16
THREADS = 256
MOST_PIECES = 16
MOST_BYTES = 8e9


@record
class Prompt:
    """Queries [caches, group, T, W], keys and values [caches, 1, T, W], all random normal."""

    q: Any
    k: Any
    v: Any

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Caches, query heads a cache, tokens, width."""
        caches, group, tokens, width = self.q.shape
        return int(caches), int(group), int(tokens), int(width)


def prefill(card: Card, lt: Callable[[], Lt], dtype: str, shape: AttentionShape, seed: int) -> list[Kernel]:
    """The ways there are. Raises Cannot where there is none, or for a prompt whose naive scores would not fit."""
    if dtype not in TOLERANCE:
        raise Cannot(f"prefill attention {dtype} skipped: no form of it is written for {dtype}")
    scores = float(shape.batch * shape.heads) * shape.tokens**2 * BYTES[dtype]
    if scores > MOST_BYTES:
        raise Cannot(
            f"prefill attention {dtype} of {shape.tokens} tokens skipped: its scores take {scores / 1e9:.3g} GB"
        )
    cp, T, W = card.cp, shape.tokens, shape.head_width
    caches, group = shape.batch * shape.kv_heads, shape.heads // shape.kv_heads
    q = normal(cp, (caches, group, T, W), dtype, seed)
    prompt = Prompt(q, *(normal(cp, (caches, 1, T, W), dtype, seed + i) for i in (1, 2)))
    found = [_naive(card, dtype, prompt)] if dtype in NAIVE else []
    return [*found, *_blocked(card, lt, dtype, prompt)]


def blocks(tokens: int, queries: int) -> list[tuple[int, int]]:
    """(first, end) of each block of queries."""
    return [(first, min(tokens, first + queries)) for first in range(0, tokens, queries)]


def pieces(tokens: int, dtype: str) -> int:
    """Pieces of 16 bytes that a thread holds of a row of scores."""
    return math.ceil(tokens * BYTES[dtype] / PIECE_BYTES / THREADS)


def _naive(card: Card, dtype: str, prompt: Prompt) -> Kernel:
    cp, (_, _, T, W) = card.cp, prompt.sizes
    q, k, v = prompt.q * q_scale(cp, dtype, W), prompt.k, prompt.v
    later = cp.triu(cp.full((T, T), -cp.inf, q.dtype), 1)
    out = cp.empty_like(q)

    def run() -> None:
        scores = cp.matmul(q, k.swapaxes(-1, -2)) + later
        weights = cp.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        cp.matmul(weights, v, out=out)

    def error() -> float:
        return _error(card, dtype, prompt, run, [out], lambda at: out[at])

    return Kernel(run, "naive", error, TOLERANCE[dtype], calls=CALLS, setting=card.here, hosted=True)


def _blocked(card: Card, lt: Callable[[], Lt], dtype: str, prompt: Prompt) -> Iterator[Kernel]:
    """Each size of block with each number of caches at a time.

    None without cuBLASLt, where a row of scores does not fit, or where one (or one of a head) is no whole number of
    pieces: the softmax reads whole ones, and the library wants every matrix of a batch to begin with one.
    """
    caches, _, T, W = prompt.sizes
    whole = all(n * BYTES[dtype] % PIECE_BYTES == 0 for n in (T, W))
    if why_not() or not whole or pieces(T, dtype) > MOST_PIECES:
        return
    sizes = product(sorted({min(n, T) for n in QUERIES}), sorted({min(n, caches) for n in CACHES}))
    for queries, together in sizes:
        yield Blocked(card, lt(), dtype, prompt, queries, together).kernel()


class Blocked:
    """One way to cut a prompt: `queries` a block, `together` caches at a time."""

    def __init__(self, card: Card, lt: Lt, dtype: str, prompt: Prompt, queries: int, together: int) -> None:
        cp, (_, group, T, W) = card.cp, prompt.sizes
        self._card, self._lt, self._dtype, self._prompt = card, lt, dtype, prompt
        self._queries, self._together = queries, together
        self._blocks = blocks(T, queries)
        # T is a multiple of a piece, and so is every block but the last whatever its size
        self._q = [self._rows(prompt.q[:, :, first:end]) for first, end in self._blocks]
        self._out = [cp.empty_like(q) for q in self._q]
        self._scores = cp.empty(together * group * queries * T, STORED[dtype])
        self._softmax = card.kernel("prefill.cu", f"causal_softmax<{CTYPES[dtype]}, {pieces(T, dtype)}>")
        self._factor = cp.float32(math.log2(math.e) / math.sqrt(W))
        self._plans = {key: self._planned(*key) for key in self._cuts()}

    def kernel(self) -> Kernel:
        """The whole prompt, replayed from a graph."""
        caches = self._prompt.sizes[0]
        calls = 3 * len(self._blocks) * math.ceil(caches / self._together)
        return Kernel(
            run=self._card.graph(self._step),
            unit=f"blocked, {self._queries} queries of {self._together} caches",
            error=lambda: _error(self._card, self._dtype, self._prompt, self._step, self._out, self._at),
            tolerance=TOLERANCE[self._dtype],
            calls=calls,
            setting=self._card.here,
            note=f"{self._queries} queries of {self._together} caches at a time",
            way=BLOCKED,
        )

    def _rows(self, q: Any) -> Any:
        """[caches, group, rows, W] as [caches, group x rows, W]."""
        caches, group, rows, width = q.shape
        return self._card.cp.ascontiguousarray(q).reshape(caches, group * rows, width)

    def _cuts(self) -> list[tuple[int, int]]:
        """(block, caches at a time) of all products: the last caches may be fewer."""
        caches = self._prompt.sizes[0]
        counts = sorted({min(self._together, caches - first) for first in range(0, caches, self._together)})
        return list(product(range(len(self._blocks)), counts))

    def _planned(self, block: int, count: int) -> tuple[Callable[..., None], Callable[..., None]]:
        """The products of scores and of values for one block."""
        (first, end), (_, group, T, W) = self._blocks[block], self._prompt.sizes
        rows, lt, math_of = group * (end - first), self._lt, MATHS[self._dtype]
        scores = Plan(lt, math_of, "A B^T", (rows, end, W), Batch(count, rows * W, T * W, rows * end))
        values = Plan(lt, math_of, "A B", (rows, W, end), Batch(count, rows * end, T * W, rows * W))
        return _runner(scores, self._card), _runner(values, self._card)

    def _step(self) -> None:
        caches, group, _, _ = self._prompt.sizes
        cp = self._card.cp
        for first_cache in range(0, caches, self._together):
            some = slice(first_cache, min(caches, first_cache + self._together))
            count = some.stop - some.start
            for block, (first, end) in enumerate(self._blocks):
                scores, values = self._plans[block, count]
                rows = end - first
                scores(self._q[block][some], self._prompt.k[some], self._scores)
                sizes = (cp.int32(end), cp.int32(first), cp.int32(rows), self._factor)
                self._softmax((count * group * rows,), (THREADS,), (self._scores, *sizes))
                values(self._scores, self._prompt.v[some], self._out[block][some])

    def _at(self, place: tuple[int, int, int]) -> Any:
        """The output of (cache, head, token)."""
        cache, head, token = place
        block = token // self._queries
        first, end = self._blocks[block]
        return self._out[block][cache, head * (end - first) + token - first]


def _runner(plan: Plan, card: Card) -> Callable[..., None]:
    found = plan.algorithms()
    if not found:
        raise Cannot("prefill attention in blocks skipped: cuBLASLt has no algorithm for a batch of these products")
    _, algorithm = found[0]
    return lambda a, b, c: plan.run(algorithm, a, b, c, card.stream.ptr)


def _error(
    card: Card, dtype: str, prompt: Prompt, run: Callable[[], None], outs: list[Any], at: Callable[..., Any]
) -> float:
    """Of three tokens' outputs against float64; infinite when one was not written."""
    caches, group, T, _ = prompt.sizes
    with card.here():
        for out in outs:
            poison(out)
        run()
        places = ((0, 0, 0), (0, 0, T // 2), (caches - 1, group - 1, T - 1))
        return max(_row_error(card.cp, dtype, prompt, at(place), place) for place in places)


def _row_error(cp: Any, dtype: str, prompt: Prompt, found: Any, place: tuple[int, int, int]) -> float:
    cache, _, row = place
    q, k, v = (
        decode(cp, x, dtype) for x in (prompt.q[place], prompt.k[cache, 0, : row + 1], prompt.v[cache, 0, : row + 1])
    )
    scores = k @ q / math.sqrt(q.shape[-1])
    weights = cp.exp(scores - scores.max())
    expected = weights @ v / weights.sum()
    off = float(cp.abs(decode(cp, found, dtype) - expected).max() / cp.abs(expected).max())
    return math.inf if math.isnan(off) else off


def q_scale(cp: Any, dtype: str, width: int) -> Any:
    """1 / sqrt(width) in the dtype of the queries."""
    return cp.dtype(STORED[dtype]).type(1 / math.sqrt(width))
