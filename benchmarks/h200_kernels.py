"""Every GPU kernel once: is it right, how fast is each contender, and which geometry wins.

Run on a GPU box: python benchmarks/h200_kernels.py [SECTION ...] [--out FILE]; without sections all of them run.
Each section is tried alone, so that one failure leaves the others. Rates are medians; nothing is cached between them.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from rooflens.measure.backend import AttentionShape, Cannot, Kernel
from rooflens.measure.backends import cuda_attention
from rooflens.measure.backends.cuda import CudaBackend

GB = 1e9
found: dict[str, Any] = {}


def say(*words: object) -> None:
    print(*words, flush=True)


def samples(gpu: CudaBackend, kernel: Kernel, count: int = 10, calls: int = 1) -> list[float]:
    """Seconds of one piece of work, `count` times after one run to warm up."""
    with kernel.setting():
        gpu.elapsed_s(kernel, 1)
        return [gpu.elapsed_s(kernel, calls) / (calls * kernel.inner) for _ in range(count)]


def query(gpu: CudaBackend) -> Any:
    device = gpu.device()
    say(
        device.name,
        device.compute_capability,
        device.driver,
        device.runtime,
        device.power_limit_w,
        device.clock_limit_hz,
    )
    say(device.caches, device.distrust, {k: v for k, v in device.details.items() if k != "topology"})
    say(gpu.versions(), gpu.state(), len(gpu.peaks()))
    return {**asdict(device), "versions": gpu.versions()}


def streams(gpu: CudaBackend) -> Any:
    rows = []
    for access in ("read", "write", "copy", "triad"):
        for size in (4 * 2**30, 8 * 2**30):
            for kernel in gpu.stream(access, "main", size, 0):
                rate, error = size / median(samples(gpu, kernel)) / GB, kernel.error()
                rows.append([access, size, kernel.unit, rate, error])
                say(f"{access:6} {size / 2**30:.0f} GiB {rate:8.0f} GB/s  error {error:.1e}  {kernel.unit}")
    return rows


def near(gpu: CudaBackend) -> Any:
    rows = []
    sets = [("L2", mb * 1e6) for mb in (10, 15, 20, 25, 30)] + [("shared", kb * 1024 * 132) for kb in (64, 128, 192)]
    for level, size in sets:
        for kernel in gpu.stream("read", level, size, 0):
            rate = size / median(samples(gpu, kernel)) / GB
            rows.append([level, size, kernel.unit, rate, kernel.error(), kernel.overhead_s])
            say(
                f"{level} {size / 1e6:.1f} MB {rate:8.0f} GB/s error {kernel.error()} inner {kernel.inner} {kernel.unit}"
            )
    return rows


def launches(gpu: CudaBackend) -> Any:
    rows = []
    for level in ("device", "host"):
        for kernel in gpu.launch(level):
            took = median(samples(gpu, kernel))
            rows.append([level, kernel.unit, took])
            say(f"{level} {took * 1e6:.2f} us {kernel.unit}")
    return rows


def transfers(gpu: CudaBackend) -> Any:
    rows = []
    for way in ("h2d", "d2h", "both", "h2d pageable", "d2h pageable"):
        kernel = gpu.transfer(way, 2**28)
        rate = 2**28 / median(samples(gpu, kernel, 5)) / GB
        rows.append([way, rate, kernel.error()])
        say(f"{way} {rate:.1f} GB/s a direction, error {rows[-1][-1]}")
    return rows


RIGHT = [
    ("fp16", 1, AttentionShape(6, 384, 6)),
    ("fp32", 7, AttentionShape(6, 384, 6)),
    ("bf16", 1000, AttentionShape(2, 384, 6)),
    ("fp32", 1024, AttentionShape(1, 4096, 32, 8, 3)),
    ("bf16", 4096, AttentionShape(1, 4096, 32, 8, 2)),
    ("int8", 1000, AttentionShape(1, 4096, 32, 8, 2)),
    ("fp16", 777, AttentionShape(1, 640, 8, 1)),
    ("fp16", 300, AttentionShape(1, 2048, 16, 1)),
    ("fp16", 300, AttentionShape(1, 2048, 32, 2)),
    ("fp16", 129, AttentionShape(1, 400, 4)),
    ("fp16", 129, AttentionShape(1, 388, 4)),
    ("fp32", 129, AttentionShape(1, 97, 1)),
    ("int8", 129, AttentionShape(1, 396, 4)),
    ("fp32", 2049, AttentionShape(1, 1024, 4, 2)),
    ("bf16", 2049, AttentionShape(1, 1024, 4, 1, 5)),
]


def right(gpu: CudaBackend) -> Any:
    rows = []
    for dtype, context, shape in RIGHT:
        start = time.time()
        for kernel in gpu.attention(dtype, context, shape, 0):
            error = kernel.error()
            rows.append([dtype, context, str(shape), kernel.unit, error])
            mark = "" if error <= kernel.tolerance else "  WRONG"
            say(
                f"{dtype} S={context} {shape.heads}/{shape.kv_heads}x{shape.head_width} {kernel.unit}: {error:.1e}{mark}"
            )
        say(f"   {time.time() - start:.1f} s")
    return rows


def cell(gpu: CudaBackend, dtype: str, heads: int, context: int, kv: int = 0, batch: int = 1, layers: int = 1) -> Any:
    shape = AttentionShape(layers, heads * 128, heads, kv, batch)
    moved = 2.0 * layers * batch * shape.kv_heads * 128 * context * cuda_attention.BYTES[dtype]
    rows = []
    for kernel in gpu.attention(dtype, context, shape, 0):
        took = median(samples(gpu, kernel, 10))
        rows.append([dtype, heads, shape.kv_heads, batch, context, kernel.unit, took, moved / took / GB])
    say(f"{dtype} {heads}/{shape.kv_heads} B={batch} S={context}: "
        + ", ".join(f"{r[5]} {r[6] * 1e6:.1f} us {r[7]:.0f} GB/s" for r in rows))  # fmt: skip
    return rows


CELLS = [(32, 4096, 0, 64), (32, 16384, 0, 16), (32, 65536, 0, 1), (32, 16384, 0, 1), (32, 4096, 0, 1), (32, 1024, 0, 1),
         (32, 128, 0, 1), (32, 16384, 8, 1), (32, 16384, 8, 16), (32, 4096, 8, 64), (32, 16384, 8, 64)]  # fmt: skip


def attention(gpu: CudaBackend) -> Any:
    rows = []
    for dtype in ("fp16", "int8", "fp32", "bf16"):
        for heads, context, kv, batch in CELLS:
            if dtype == "bf16" and batch != 16:
                continue
            with suppress(Cannot):
                rows += cell(gpu, dtype, heads, context, kv, batch)
    return rows


def geometry(gpu: CudaBackend) -> Any:
    """Tensor-core or vector kernel, and blocks an SM, for the shapes that must reach the slope."""
    rows = []
    original = cuda_attention.split.__defaults__
    for mma in (True, False):
        cuda_attention.MMA = mma
        for blocks in (2, 4, 8, 16) if mma else (4,):
            say(f"tensor cores {mma}, {blocks} blocks an SM")
            cuda_attention.split.__defaults__ = (blocks,)
            for dtype, choice in (("fp16", CELLS), ("bf16", CELLS[1:2]), ("int8", (*CELLS[1:3], CELLS[9]))):
                for heads, context, kv, batch in choice:
                    rows.append([mma, blocks, cell(gpu, dtype, heads, context, kv, batch)])
    cuda_attention.MMA, cuda_attention.split.__defaults__ = True, original
    return rows


def sustained(gpu: CudaBackend) -> Any:
    """Ten seconds of products, after two of rest: the rate second by second, with what the card says."""
    rows = []
    for dtype, seconds in (("bf16", 10.0), ("fp8", 8.0)):
        way = gpu.gemm(dtype, 8192, 8192, 8192, 0)[0]
        gpu.rest(2.0)
        gpu.state()
        began, second, took = time.time(), time.time(), []
        with way.setting():
            while time.time() < began + seconds:
                took.append(gpu.elapsed_s(way, 1))
                if time.time() > second + 1:
                    rates = [2 * 8192.0**3 / t / 1e12 for t in took]
                    rows.append([dtype, median(rates), str(gpu.state())])
                    say(dtype, f"{median(rates):.1f} TFLOP/s of {len(took)}", rows[-1][2])
                    second, took = time.time(), []
    return rows


def naive_bf16(gpu: CudaBackend) -> Any:
    """Whether CuPy's own matmul takes bf16 arrays."""
    import cupy
    import ml_dtypes

    x = cupy.ones((2, 64, 64), dtype=ml_dtypes.bfloat16)
    y = cupy.matmul(x, x)
    e = cupy.exp(y - y.max(axis=-1, keepdims=True))
    say(y.dtype, float(y[0, 0, 0]), e.dtype)
    return str(y.dtype)


CUBES = [(4096, 4096, 4096), (8192, 8192, 8192), (3072, 8192, 8192), (16384, 8192, 8192), (16384, 16384, 16384)]


def products(gpu: CudaBackend) -> Any:
    rows = []
    for dtype in ("bf16", "fp8", "fp16", "tf32", "int8", "fp32", "fp64"):
        best: tuple[float, Any] = (0.0, None)
        for m, n, k in CUBES[: 4 if dtype in ("fp32", "fp64") else 5]:
            start = time.time()
            try:
                ways = gpu.gemm(dtype, m, n, k, 0)
            except Cannot as reason:
                say(reason)
                break
            made = time.time() - start
            timed = sorted(((min(samples(gpu, w, 3)), w) for w in ways), key=lambda x: x[0])
            took, way = timed[0]
            rate = 2.0 * m * n * k / took / 1e12
            slowest = 2.0 * m * n * k / timed[-1][0] / 1e12
            error = way.error()
            rows.append([dtype, m, n, k, rate, slowest, error, way.unit, len(ways)])
            say(
                f"{dtype} {m}x{n}x{k} best {rate:.1f} slowest {slowest:.1f} TFLOP/s error {error:.1e} made in {made:.1f} s; {way.unit}"
            )
            best = max(best, (rate, way), key=lambda x: x[0])
        if best[1] is not None:
            rows.append(burst(gpu, dtype, best[1]))
    return rows


def burst(gpu: CudaBackend, dtype: str, way: Kernel) -> Any:
    """First ten after two seconds of rest, relative to the first sample."""
    gpu.rest(2.0)
    gpu.state()
    with way.setting():
        took = [gpu.elapsed_s(way, 1) for _ in range(10)]
    say(
        f"{dtype} burst: median/first {median(took) / took[0]:.3f}, best {min(took) * 1e3:.3f} ms median {median(took) * 1e3:.3f} ms, {gpu.state()}"
    )
    return [dtype, "burst", took, way.unit]


def feed_forward(gpu: CudaBackend) -> Any:
    rows = []
    for n, k in ((28672, 4096), (4096, 14336)):
        for m in (1, 16, 64, 256):
            timed = sorted(((median(samples(gpu, w, 5)), w) for w in gpu.gemm("bf16", m, n, k, 0)), key=lambda x: x[0])
            for took, way in timed[:6] if m == 1 else timed[:2]:
                rate = 2.0 * (n * k + m * n + m * k) / took / GB
                rows.append([m, n, k, took, rate, way.error(), way.unit])
                say(f"bf16 M={m} {k}->{n}: {took * 1e6:.1f} us {rate:.0f} GB/s error {rows[-1][5]:.1e} {way.unit}")
    return rows


SECTIONS: dict[str, Callable[[CudaBackend], Any]] = {
    f.__name__: f
    for f in (
        query,
        streams,
        near,
        launches,
        transfers,
        right,
        attention,
        products,
        feed_forward,
        geometry,
        sustained,
        naive_bf16,
    )
}


def main(arguments: Sequence[str]) -> None:
    out = Path(arguments[arguments.index("--out") + 1]) if "--out" in arguments else None
    wanted = [a for a in arguments if a in SECTIONS] or list(SECTIONS)
    gpu = CudaBackend(0)
    if reason := gpu.why_not():
        sys.exit(reason)
    for name in wanted:
        start = time.time()
        say(f"== {name}")
        try:
            found[name] = SECTIONS[name](gpu)
        except Exception:  # noqa: BLE001
            found[name] = traceback.format_exc()
            say(found[name])
        say(f"   {name} took {time.time() - start:.1f} s")
        if out:
            out.write_text(json.dumps(found, indent=1, default=str))
    gpu.close()


if __name__ == "__main__":
    main(sys.argv[1:])
