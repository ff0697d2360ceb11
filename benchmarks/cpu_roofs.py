"""Are our roofs roofs? Each is set against the best that others reach, turn by turn in one run.

    python benchmarks/cpu_roofs.py [rounds]

Prints ratios: ours / best of the others, medians over the rounds. Wanted: products 0.97 (fp32) and 0.95 (fp64), read
0.92, copy 0.97. The others are written here on purpose, apart from the package: numpy and torch called directly, and
C loops with threads of their own. Install torch beside rooflens to have it among them.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from rooflens.measure import loop
from rooflens.measure.backends.cpu import CpuBackend
from rooflens.measure.bandwidth import working_set_bytes
from rooflens.measure.budget import Budget
from rooflens.measure.options import Options
from rooflens.measure.shapes import best_shapes

Run = Callable[[], object]
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <immintrin.h>
typedef struct { char *to; const char *from; size_t bytes; int cpu; int copy; long long out; } job;
static void *work(void *p) {
    job *j = p;
    cpu_set_t one; CPU_ZERO(&one); CPU_SET(j->cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    if (j->copy) {
        for (size_t i = 0; i < j->bytes; i += 32)
            _mm256_stream_si256((__m256i *)(j->to + i), _mm256_load_si256((const __m256i *)(j->from + i)));
        _mm_sfence();
        return 0;
    }
    size_t half = j->bytes / 2;
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (size_t i = 0; i < half; i += 64) {
        a = _mm256_xor_si256(a, _mm256_load_si256((const __m256i *)(j->from + i)));
        b = _mm256_xor_si256(b, _mm256_load_si256((const __m256i *)(j->from + i + 32)));
        c = _mm256_xor_si256(c, _mm256_load_si256((const __m256i *)(j->from + half + i)));
        d = _mm256_xor_si256(d, _mm256_load_si256((const __m256i *)(j->from + half + i + 32)));
    }
    a = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
    j->out = _mm256_extract_epi64(a, 0) ^ _mm256_extract_epi64(a, 1);
    return 0;
}
void run(char *to, const char *from, size_t bytes, int threads, const int *cpus, int copy) {
    pthread_t *t = malloc(threads * sizeof *t);
    job *j = malloc(threads * sizeof *j);
    size_t each = bytes / threads / 4096 * 4096;
    for (int i = 0; i < threads; i++) {
        j[i] = (job){to + i * each, from + i * each, each, cpus[i], copy, 0};
        pthread_create(t + i, 0, work, j + i);
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    free(t); free(j);
}
"""


def compiled() -> Any:
    """The C contender; None without AVX2 and a compiler."""
    folder = Path(tempfile.mkdtemp())
    (folder / "c.c").write_text(SOURCE)
    command = ["cc", "-O3", "-mavx2", "-shared", "-fPIC", "-pthread", "-o", str(folder / "c.so"), str(folder / "c.c")]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    return ctypes.CDLL(str(folder / "c.so")).run


def aligned(size: int) -> Any:
    """Bytes on a page border, touched."""
    whole = np.empty(size + 4096, np.uint8)
    part = whole[-whole.ctypes.data % 4096 :][:size]
    part.view(np.float32)[:] = np.resize(np.random.default_rng(1).standard_normal(2**20, dtype=np.float32), size // 4)
    return part


def duel(
    title: str, wanted: float, work: float, ours: Run, others: dict[str, Run], rounds: int, backend: CpuBackend
) -> None:
    """Medians of all over `rounds` turns; the ratio of ours to the best other."""
    ways = {"ours": ours, **others}
    took = {name: [] for name in ways}
    cpu_s = wall_s = 0.0
    for turn in range(rounds + 1):
        for name, run in ways.items():
            time.sleep(0.06)  # until the other library's threads have stopped spinning
            start, start_cpu = time.perf_counter(), time.process_time()
            run()
            cpu_s += time.process_time() - start_cpu
            wall_s += time.perf_counter() - start
            if turn:
                took[name].append(time.perf_counter() - start)
    share = cpu_s / wall_s / backend.device().threads
    middle = {name: work / median(s) / 1e9 for name, s in took.items()}
    top = {name: work / min(s) / 1e9 for name, s in took.items()}
    best, best_top = max(others, key=middle.__getitem__), max(top[n] for n in others)
    ratio = middle["ours"] / middle[best]
    print(f"{title:6} {ratio:5.3f} (wanted {wanted}; of best samples {top['ours'] / best_top:.3f})  ", end="")
    print("  ".join(f"{name} {middle[name]:.1f}" for name in ways), f"G/s, {100 * share:.0f} % of the CPU time")


def products(backend: CpuBackend, options: Options, rounds: int) -> None:
    """Fp32 and fp64 against numpy and torch called directly, at the size we chose."""
    for dtype, wanted in (("fp32", 0.97), ("fp64", 0.95)):
        best = best_shapes(backend, dtype, options, Budget(backend.clock)).fresh
        (m, n, k), kind = best.shape, {"fp32": np.float32, "fp64": np.float64}[dtype]
        a, b = (np.random.default_rng(s).standard_normal(size).astype(kind) for s, size in ((1, (m, k)), (2, (k, n))))
        out = np.empty((m, n), kind)
        others = {"numpy": lambda a=a, b=b, out=out: np.matmul(a, b, out=out)}
        if find_spec("torch"):
            import torch

            t = [torch.from_numpy(x) for x in (a, b, out)]
            others["torch"] = lambda t=t: torch.mm(t[0], t[1], out=t[2])
        with best.kernel.setting():
            duel(dtype, wanted, best.flops, best.kernel.run, others, rounds, backend)
        print(f"       {m} x {n} x {k}, {best.kernel.unit}")


def streams(backend: CpuBackend, options: Options, rounds: int) -> None:
    """Read and copy against C loops and numpy."""
    size = int(2 * working_set_bytes(backend.device()))
    cpus = backend._cpus  # noqa: SLF001
    a, numbers = aligned(size), (ctypes.c_int * len(cpus))(*cpus)
    c = compiled()
    half = size // 2 // 4096 * 4096

    def by_c(copy: int, length: int) -> Run:
        to = ctypes.c_void_p(a.ctypes.data + half)
        return lambda: c(to, ctypes.c_void_p(a.ctypes.data), ctypes.c_size_t(length), len(cpus), numbers, copy)

    read: dict[str, Run] = {"C read": by_c(0, size)} if c else {"numpy sum": lambda: a.view(np.float32).sum()}
    copy: dict[str, Run] = {"numpy copyto": slices(backend, a, half)}
    if c:
        copy["C non-temporal copy"] = by_c(1, half)
    for access, wanted, others in (("read", 0.92, read), ("copy", 0.97, copy)):
        ways = backend.stream(access, "main", size, 0)
        kernel, _ = loop.fastest(backend, ways, Budget(backend.clock), options.stream_s)
        with kernel.setting():
            duel(access, wanted, size, kernel.run, others, rounds, backend)
        print(f"       {size >> 20} MiB, {kernel.unit}")


def slices(backend: CpuBackend, a: Any, half: int) -> Run:
    """Numpy's copyto over one slice a worker."""
    workers = backend._pool  # noqa: SLF001
    each = half // len(workers)
    to, source = a[half:], a[:half]
    return lambda: workers.run(lambda w: np.copyto(to[w * each : (w + 1) * each], source[w * each : (w + 1) * each]))


def main() -> None:
    """Run all duels."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    backend, options = CpuBackend(), Options(shapes_s=6.0)
    device = backend.device()
    print(f"{device.title}, {device.blas} {device.blas_kernel}, load {os.getloadavg()[0]:.1f}, {rounds} rounds")
    products(backend, options, rounds)
    streams(backend, options, rounds)
    backend.close()


if __name__ == "__main__":
    main()
