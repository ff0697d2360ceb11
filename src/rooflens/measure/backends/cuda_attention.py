"""Decode attention on a GPU: as any CuPy user writes it, fused into one kernel, and that replayed from a graph.

Caches are [sets, L, sequences x key-value heads, S, W]; sets take turns through more than the L2 holds, as a model that
streams its weights between two steps would find its cache. Layers are launches of their own, in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import cycle
from typing import Any

from rooflens.measure.backend import AttentionShape, Cannot, Kernel
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_data import BLOCK, BYTES, CTYPES, STORED, decode, draw, encode, poison, runs
from rooflens.measure.backends.cuda_lt import Lt
from rooflens.measure.backends.cuda_prefill import prefill, q_scale
from rooflens.measure.kernels import MOST_KV_BYTES, cold_copies, spread
from rooflens.records import record
from rooflens.units import show

MOST_WIDTH = 256
MOST_SETS = 256
COLD_TIMES = 4
THREADS = 256
MOST_GROUP = 8
MOST_PAIRS = 65535  # blocks along y
MOST_HELD = 64  # values of the accumulators that a thread keeps
LEAST_KEYS = 64  # shortest split
BLOCKS_A_UNIT = 2
CHECKED_PAIRS = 4
TOLERANCE = {"fp32": 1e-5, "fp16": 5e-3, "bf16": 5e-3, "int8": 3e-2}
MMA = True
NAIVE_CALLS = 7  # scores, max, subtract, exp, sum, divide, values


@record
class Cache:
    """Keys, values, queries and output; `scales` of an int8 cache, (key, value) a pair. math: dtype of q and out."""

    q: Any
    k: Any
    v: Any
    out: Any
    scales: Any
    math: str
    originals: Callable[[int, int, int, int], Any]

    @property
    def sets(self) -> int:
        """How many caches take turns."""
        return int(self.k.shape[0])


class DecodeAttention:
    """The decode attention of one card."""

    def __init__(self, card: Card) -> None:
        self._card = card

    def kernels(self, dtype: str, context: int, shape: AttentionShape, seed: int) -> list[Kernel]:
        """The ways for one cell; "int8" is an int8 cache under fp16 queries. Raises Cannot for what does not fit."""
        if dtype not in TOLERANCE:
            raise Cannot(f"decode attention {dtype} skipped: the fused kernel has no {dtype}")
        if shape.head_width > MOST_WIDTH:
            raise Cannot(f"decode attention skipped: heads are {shape.head_width} wide, the kernel takes {MOST_WIDTH}")
        size = 2.0 * shape.layers * shape.batch * shape.kv_heads * shape.head_width * context * BYTES[dtype]
        if size > MOST_KV_BYTES:
            raise Cannot(
                f"decode attention {dtype} S={context} batch {shape.batch} skipped: a cache of {show(size, 'B')} "
                f"(at most {show(MOST_KV_BYTES, 'B')} a cell)"
            )
        with self._card.here():
            if shape.tokens > 1:
                return prefill(self._card, lambda: self._lt, dtype, shape, seed)
            cache = self._cache(dtype, context, shape, seed, size)
            fused = self._fused(dtype, context, shape, cache)
            ways = [
                self._kernel("fused", fused, shape.layers, dtype, cache, shape, graph=False),
                self._kernel("fused, graph", fused, shape.layers, dtype, cache, shape, graph=True),
            ]
            if dtype in ("fp32", "fp16"):
                naive = self._naive(cache, shape)
                calls = NAIVE_CALLS * shape.layers
                ways.insert(0, self._kernel("naive", naive, calls, dtype, cache, shape, graph=False))
        return ways

    @cached_property
    def _lt(self) -> Lt:
        return Lt(self._card)

    def _kernel(
        self, unit: str, step: Callable[[int], None], calls: int, dtype: str, cache: Cache, shape: AttentionShape,
        *, graph: bool,
    ) -> Kernel:  # fmt: skip
        turns = cycle(range(cache.sets))

        def run() -> None:
            step(next(turns))

        inner = cache.sets if graph else 1
        return Kernel(
            run=self._card.graph(run, inner) if graph else run,
            unit=unit,
            error=lambda: self._error(step, dtype, cache, shape),
            tolerance=TOLERANCE[dtype],
            inner=inner,
            calls=calls,
            setting=self._card.here,
            hosted=not graph,
            note=f"{cache.sets} caches take turns",
            kv_dtype="int8" if dtype == "int8" else None,
        )

    def _cache(self, dtype: str, context: int, shape: AttentionShape, seed: int, size: float) -> Cache:
        cp = self._card.cp
        math_of = "fp16" if dtype == "int8" else dtype
        pairs, group, W = shape.batch * shape.kv_heads, shape.heads // shape.kv_heads, shape.head_width
        sets = cold_copies(COLD_TIMES * self._card.cache_bytes, size, MOST_SETS)
        x = draw(cp, shape.batch * shape.width, seed).reshape(shape.batch, shape.width)
        q = cp.matmul(x[None], self._query_weights(shape, seed + 1)).reshape(shape.layers, pairs, group, W)
        dims = (sets, shape.layers, pairs, context, W)
        block = draw(cp, min(BLOCK, 2 * math.prod(dims)), seed + 2)
        both, scales = _stored(cp, block, dims, dtype)
        q = encode(cp, q, math_of)
        head = context * W

        def originals(which: int, of_set: int, layer: int, pair: int) -> Any:
            first = ((which * sets + of_set) * shape.layers + layer) * pairs + pair
            places = (cp.arange(head) + first * head) % block.size
            return block[places].reshape(context, W).astype("float64")

        return Cache(q, both[0], both[1], cp.empty_like(q), scales, math_of, originals)

    def _query_weights(self, shape: AttentionShape, seed: int) -> Any:
        """[L, D, D], from the checkpoint or random."""
        if shape.checkpoint:
            from rooflens.measure.backends.checkpoint import query_weights

            return self._card.cp.asarray(query_weights(shape.checkpoint, shape))
        weights = draw(self._card.cp, shape.layers * shape.width**2, seed) / math.sqrt(shape.width)
        return weights.reshape(shape.layers, shape.width, shape.width)

    def _fused(self, dtype: str, context: int, shape: AttentionShape, cache: Cache) -> Callable[[int], None]:
        cp, W = self._card.cp, shape.head_width
        types = f"{CTYPES[dtype]}, {CTYPES[cache.math]}, {W}"
        heads_a_cache = shape.heads // shape.kv_heads
        if on_tensor_cores(W, dtype, int(self._card.device.compute_capability)):
            group = largest_part(heads_a_cache, MOST_GROUP)
            kernel = self._card.kernel("attention_mma.cu", f"decode_attention_mma<{types}, {group}, {mma_blocks(W)}>")
        else:
            group, keys = grouping(heads_a_cache, W, dtype)
            kernel = self._card.kernel("attention.cu", f"decode_attention<{types}, {group}, {keys}>")
        sharing = heads_a_cache // group
        pairs = shape.batch * shape.heads // group
        if pairs > MOST_PAIRS:
            raise Cannot(f"decode attention skipped: {pairs} groups of heads, a launch takes {MOST_PAIRS}")
        chunk, splits = split(context, pairs, self._card.units)
        partial = cp.empty(pairs * splits * group * W, "float32")
        softs, tickets = cp.empty(2 * pairs * splits * group, "float32"), cp.zeros(pairs, "uint32")
        scale = cp.float32(math.log2(math.e) / math.sqrt(W))
        sizes = (cp.int32(context), cp.int32(chunk), cp.int32(sharing), scale)
        none = cp.uint64(0)

        def step(which: int) -> None:
            for layer in range(shape.layers):
                scales = none if cache.scales is None else cache.scales[which, layer]
                arrays = (cache.q[layer], cache.k[which, layer], cache.v[which, layer], scales, cache.out[layer])
                kernel((splits, pairs), (THREADS,), (*arrays, partial, softs, tickets, *sizes))

        return step

    def _naive(self, cache: Cache, shape: AttentionShape) -> Callable[[int], None]:
        cp, scale = self._card.cp, q_scale(self._card.cp, cache.math, shape.head_width)

        def step(which: int) -> None:
            for layer in range(shape.layers):
                scores = cp.matmul(cache.q[layer] * scale, cache.k[which, layer].swapaxes(-1, -2))
                weights = cp.exp(scores - scores.max(axis=-1, keepdims=True))
                weights /= weights.sum(axis=-1, keepdims=True)
                cp.matmul(weights, cache.v[which, layer], out=cache.out[layer])

        return step

    def _error(self, step: Callable[[int], None], dtype: str, cache: Cache, shape: AttentionShape) -> float:
        """Of a sample of heads against float64, relative to the largest value; int8 against what was quantised."""
        cp = self._card.cp
        with self._card.here():
            worst = 0.0
            for which in {0, cache.sets - 1}:
                poison(cache.out)
                step(which)
                found = decode(cp, cache.out, cache.math)
                if bool(cp.isnan(found).any()):
                    return math.nan
                for layer in {0, shape.layers - 1}:
                    for pair in spread(cache.q.shape[1], CHECKED_PAIRS):
                        expected = self._reference(dtype, cache, which, layer, pair, shape.head_width)
                        off = cp.abs(found[layer, pair] - expected).max() / cp.abs(expected).max()
                        worst = max(worst, float(off))
            return worst

    def _reference(self, dtype: str, cache: Cache, which: int, layer: int, pair: int, width: int) -> Any:
        cp = self._card.cp
        if dtype == "int8":
            k, v = (cache.originals(i, which, layer, pair) for i in (0, 1))
        else:
            k, v = (decode(cp, kv[which, layer, pair], dtype) for kv in (cache.k, cache.v))
        scores = decode(cp, cache.q[layer, pair], cache.math) @ k.T / math.sqrt(width)
        weights = cp.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights @ v / weights.sum(axis=-1, keepdims=True)


def on_tensor_cores(width: int, dtype: str, capability: int) -> bool:
    """Whether the tensor-core kernel takes these rows: 16-bit or int8, a whole number of warp-wide pieces."""
    return MMA and capability >= 80 and BYTES[dtype] < 4 and width % (128 // BYTES[dtype]) == 0


def mma_blocks(width: int) -> int:
    """Blocks that share a multiprocessor's registers."""
    return {64: 3, 128: 2}.get(width, 1)


def largest_part(whole: int, most: int) -> int:
    """The largest divisor of `whole` up to `most`."""
    return max(part for part in range(1, most + 1) if whole % part == 0)


def grouping(group: int, width: int, dtype: str) -> tuple[int, int]:
    """(heads a block takes, keys in flight) of the vector kernel: as many heads as its registers hold."""
    held = held_values(width, BYTES[dtype])
    heads = largest_part(group, max(1, min(MOST_GROUP, MOST_HELD // held)))
    return heads, 4 if heads * held <= MOST_HELD // 2 else 2


def held_values(width: int, value_bytes: int) -> int:
    """Values of a row in one lane, as the kernel lays it out: pieces of up to 16 bytes over up to 32 lanes."""
    row_bytes = width * value_bytes
    piece_bytes = min(16, row_bytes & -row_bytes)
    pieces = row_bytes // piece_bytes
    lanes = min(32, 1 << (pieces - 1).bit_length())
    return math.ceil(pieces / lanes) * piece_bytes // value_bytes


def split(context: int, pairs: int, units: int) -> tuple[int, int]:
    """(keys of a split, splits): enough blocks to fill the device, no split shorter than it pays."""
    wanted = max(1, round(BLOCKS_A_UNIT * units / pairs))
    splits = max(1, min(wanted, context // LEAST_KEYS))
    chunk = LEAST_KEYS * math.ceil(context / splits / LEAST_KEYS)
    return chunk, math.ceil(context / chunk)


def _stored(cp: Any, block: Any, dims: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """Keys and values [2, *dims] from a repeated block; for int8 each pair's largest value is 127 of its scale."""
    size = 2 * math.prod(dims)
    out = cp.empty(size, STORED[dtype])
    if dtype != "int8":
        stored = encode(cp, block, dtype)
        for start, count in runs(0, size, block.size):
            out[start : start + count] = stored[:count]
        return out.reshape(2, *dims), None
    head = dims[-1] * dims[-2]
    heads, several = size // head, max(1, BLOCK // head)
    scales, rows = cp.empty(heads, "float32"), out.reshape(heads, head)
    for first, count in runs(0, heads, several):
        places = (cp.arange(count)[:, None] + first) * head + cp.arange(head)
        values = block[places % block.size]
        scale = cp.abs(values).max(axis=1) / 127
        scales[first : first + count] = scale
        rows[first : first + count] = cp.rint(values / scale[:, None])
    both = scales.reshape(2, *dims[:3])
    return out.reshape(2, *dims), cp.ascontiguousarray(cp.stack([both[0], both[1]], axis=-1))
