"""L2 and shared memory are read whole and never beyond a set's end, whatever its size; what cannot be is a sentence."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from contextlib import nullcontext
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.measure.backend import AttentionShape, Cannot
from rooflens.measure.backends import cuda_prefill
from rooflens.measure.backends.cuda_attention import DecodeAttention
from rooflens.measure.backends.cuda_prefill import prefill
from rooflens.measure.backends.cuda_streams import Streams

UNITS, MOST_SHARED = 3, 227 * 1024
# bytes; a step is 16 B for each thread: 3 or 4 x 3 x 512 of them for L2 (73,728 or 98,304), 1024 for shared memory
SETS = [16, 40, 1024, 8192, 24576, 65536, 98320, 147456]

# a kernel's own text as C++: thread by thread on one core, `seen` counts how often each vector was read
SHIM = """
#include <stddef.h>
struct uint4 { unsigned x, y, z, w; };
struct { unsigned x; } blockIdx, threadIdx, gridDim, blockDim;
static const uint4* first; static unsigned long vectors, outside; static unsigned sum, *seen;
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static unsigned total(uint4 v) { return v.x + v.y + v.z + v.w; }
static unsigned block_sum(unsigned mine) { sum += mine; return mine; }
static uint4 read(unsigned long at, uint4 value) {
    if (at < vectors) seen[at]++; else outside++;
    return value;
}
static uint4 global(const uint4* p) {
    const unsigned long at = p - first;
    return read(at, at < vectors ? *p : uint4{});
}
static uint4 shared(unsigned at) { return read(at / 16, make_uint4(at / 16, at / 16, at / 16, at / 16)); }
"""
CALL = """
extern "C" unsigned long run(
    int near, const uint4* a, unsigned long n, int passes, unsigned grid, unsigned block, unsigned* counts,
    unsigned* out
) {
    first = a, vectors = n, outside = 0, sum = 0, seen = counts, gridDim.x = grid, blockDim.x = block;
    unsigned sums[64];
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < block; threadIdx.x++)
            if (near) near_read(a, n, passes, sums); else shared_read(n, passes, sums);
    *out = sum;
    return outside;
}
"""


def as_cpp():
    """The two kernels out of stream.cu, their loads and their shared memory in C++."""
    text = (files("rooflens.measure.backends") / "cu" / "stream.cu").read_text(encoding="utf-8")
    text = text[text.index('extern "C" __global__ void near_read') : text.index('extern "C" __global__ void empty')]
    for pattern, instead in (
        (r"asm volatile\(\"ld\.global.*?\(a \+ at\)\);", "v[u] = global(a + at);"),
        (r"asm volatile\(\"ld\.shared.*?\(base \+ 16 \* at\)\);", "v[u] = shared(base + 16 * at);"),
        (r"extern __shared__ uint4 tile\[\];|for \([^;]*; i < n;[^;]*tile\[i\][^;]*;|__syncthreads\(\);", ""),
        (r"unsigned\(__cvta_generic_to_shared\(tile\)\)", "0u"),
        (r'extern "C" __global__', "static"),
    ):
        text, count = re.subn(pattern, instead, text, flags=re.DOTALL)
        assert count, pattern
    return SHIM + text + CALL


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The kernels as a library of this processor."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "k.cpp").write_text(as_cpp(), encoding="utf-8")
    made = folder / "k.so"
    subprocess.run([compiler, "-w", "-O1", "-shared", "-fPIC", "-o", made, folder / "k.cpp"], check=True)
    run = ctypes.CDLL(made).run
    run.restype = ctypes.c_ulong
    return run


def read_by(run, name, values, n, passes, grid, block):
    """(sum, reads of each vector, reads outside) of one launch."""
    seen, out = np.zeros(n, np.uint32), ctypes.c_uint()
    sizes = (ctypes.c_ulong(n), passes, grid, block)
    where = (ctypes.c_void_p(x.ctypes.data) for x in (values, seen))
    outside = run(int(name == "near_read"), next(where), *sizes, next(where), ctypes.byref(out))
    return out.value, seen, outside


@given(st.sampled_from(("near_read", "shared_read")), st.integers(1, 3000), st.integers(1, 5), st.integers(1, 4))
def test_each_vector_is_read_once_a_pass_and_nothing_beyond_the_last(kernels, name, n, passes, grid):
    values = np.repeat(np.arange(n, dtype=np.uint32), 4)  # what shared memory is filled with
    total, seen, outside = read_by(kernels, name, values, n, passes, grid, 1024)
    assert outside == 0
    times = passes * (1 if name == "near_read" else grid)  # every block has shared memory of its own
    assert set(seen) == {times}
    assert total == 4 * (n * (n - 1) // 2) * times % 2**32  # 4 x (0 + 1 + ... + n - 1)


class Launched:
    """A kernel of stream.cu; what it is launched with runs on this processor."""

    def __init__(self, name, run):
        self.name, self.run, self.most = name, run, 49152

    @property
    def max_dynamic_shared_size_bytes(self):
        return self.most

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size):
        if size > MOST_SHARED:
            raise CUDADriverError
        self.most = size

    def __call__(self, grid, block, arguments, shared_mem=0):
        if self.name == "empty":
            return
        *values, n, passes, sums = arguments
        assert shared_mem <= self.most
        assert not values or values[0].size == 4 * n
        read = values[0] if values else np.zeros(4, np.uint32)
        sums[...] = 0
        sums[0], seen, outside = read_by(self.run, self.name, read, int(n), int(passes), *grid, *block)
        assert outside == 0
        assert seen.min() == seen.max() > 0


class CUDADriverError(RuntimeError):
    """As CuPy raises it."""


class Card:
    """A card of three multiprocessors whose arrays are numpy's."""

    cp = SimpleNamespace(
        **{name: getattr(np, name) for name in ("empty", "zeros", "uint32", "uint64", "int32", "float32", "random")},
        cuda=SimpleNamespace(driver=SimpleNamespace(CUDADriverError=CUDADriverError)),
    )
    units = UNITS

    def __init__(self, run=None):
        self.run, self.made = run, {}

    def here(self):
        return nullcontext()

    def elapsed_s(self, run):
        run()
        return 1e-6

    def kernel(self, file, name):
        return self.made.setdefault(name, Launched(name, self.run))


@pytest.fixture
def few_passes(monkeypatch):
    rates = {"L2": 2e8, "shared": 2e8}  # byte/s, so that a processor reads as often
    monkeypatch.setattr("rooflens.measure.backends.cuda_streams.NEAR_BYTES_PER_S", rates)


@pytest.mark.parametrize("level", ["L2", "shared"])
@pytest.mark.parametrize("size", SETS)
def test_sets_smaller_than_a_step_are_read_whole(kernels, few_passes, level, size):
    try:
        found = Streams(Card(kernels)).kernels("read", level, size, 1)
    except Cannot as reason:
        assert (level, size < 16 * UNITS) == ("shared", True)
        assert "leave no 16 B for each of its 3 parts; choose a larger set" in str(reason)
        return
    for kernel in found:
        kernel.run()
        assert kernel.error() == 0


def test_a_smaller_set_leaves_a_larger_one_its_shared_memory(kernels, few_passes):
    streams = Streams(Card(kernels))
    (large,), (small,) = (streams.kernels("read", "shared", UNITS * size, 1) for size in (200_000, 60_000))
    assert (small.error(), large.error()) == (0, 0)


def test_a_set_without_a_vector_for_each_part_or_beyond_a_block_is_refused():
    streams = Streams(Card())
    for access, level, size in (("triad", "main", 47), ("read", "L2", 0), ("read", "shared", 16 * UNITS - 1)):
        with pytest.raises(Cannot, match=f"memory/{level}/{access} skipped: .* leave no 16 B"):
            streams.kernels(access, level, size, 1)
    with pytest.raises(Cannot, match="memory/shared/read skipped: 228 KiB is more than one block may have"):
        streams.kernels("read", "shared", UNITS * 228 * 1024, 1)


def test_prompts_and_heads_that_are_no_whole_pieces_are_left_to_the_naive_form(monkeypatch):
    monkeypatch.setattr(cuda_prefill, "why_not", lambda: "")
    monkeypatch.setattr(cuda_prefill, "Plan", None)  # nothing may be planned
    card = SimpleNamespace(cp=np, here=nullcontext)
    for width, tokens in ((66, 32), (64, 33)):  # 2 heads of 33 x 4 B, then rows of 33 x 4 B
        shape = AttentionShape(1, width, 2, tokens=tokens)
        (only,) = prefill(card, lambda: None, "fp32", shape, 0)
        assert only.unit == "naive"
        assert only.error() <= only.tolerance


def test_more_groups_of_heads_than_a_launch_takes_are_refused():
    device = SimpleNamespace(compute_capability="90")
    card = SimpleNamespace(cp=np, device=device, units=132, cache_bytes=1, kernel=lambda *_: None)
    cache = SimpleNamespace(math="fp32")
    with pytest.raises(Cannot, match="decode attention skipped: 65536 groups of heads, a launch takes 65535"):
        DecodeAttention(card)._fused("fp32", 8, AttentionShape(1, 4, 1, batch=65536), cache)
