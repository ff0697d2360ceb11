"""Our roofs against torch on the same card in the same minute: products, and decode attention through cuDNN or flash.

Run on a GPU box: python benchmarks/h200_against_torch.py. Each figure is the median of ten after a warm-up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from rooflens.measure.backend import AttentionShape
from rooflens.measure.backends.cuda import CudaBackend

SHAPES = {
    "bf16": ((8192, 8192, 8192), (3072, 8192, 8192)),
    "int8": ((8192, 8192, 8192), (4096, 28672, 4096), (16384, 8192, 8192)),
}
CELLS = ((16, 32, 32, 16384), (64, 32, 32, 4096), (1, 32, 32, 65536), (64, 32, 8, 16384))


def timed(run: Callable[[], object], count: int = 10) -> float:
    """Seconds on the device, median."""
    took = []
    for _ in range(count + 2):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        took.append(start.elapsed_time(end) / 1e3)
    return median(took[2:])


def ours(gpu: CudaBackend, kernels: list) -> float:
    """The fastest of the contenders, seconds."""
    best = []
    for kernel in kernels:
        with kernel.setting():
            gpu.elapsed_s(kernel, 1)
            best.append(median(gpu.elapsed_s(kernel, 1) / kernel.inner for _ in range(10)))
    return min(best)


def products(gpu: CudaBackend) -> None:
    """torch.mm and torch._int_mm against cuBLASLt's best algorithm."""
    for dtype, shapes in SHAPES.items():
        for m, n, k in shapes:
            if dtype == "int8":
                a = torch.randint(-127, 128, (m, k), dtype=torch.int8, device="cuda")
                b = torch.randint(-127, 128, (n, k), dtype=torch.int8, device="cuda").t()
                theirs = timed(partial(torch._int_mm, a, b))  # noqa: SLF001 (torch has no public int8 product)
            else:
                a, b = torch.randn(m, k, device="cuda").bfloat16(), torch.randn(n, k, device="cuda").bfloat16().t()
                theirs = timed(partial(torch.mm, a, b))
            mine, flops = ours(gpu, list(gpu.gemm(dtype, m, n, k, 0))), 2e-12 * m * n * k
            print(f"{dtype} {m}x{n}x{k}: ours {flops / mine:.0f}, torch {flops / theirs:.0f} TFLOP/s", flush=True)


def attention(gpu: CudaBackend) -> None:
    """The fused kernel against torch's decode attention."""
    for batch, heads, kv, context in CELLS:
        shape = AttentionShape(1, heads * 128, heads, kv, batch)
        ways = [k for k in gpu.attention("bf16", context, shape, 0) if k.unit == "fused, graph"]
        moved = 4e-9 * batch * kv * 128 * context
        said = [f"ours {moved / ours(gpu, ways):.0f}"]
        q = torch.randn(batch, heads, 1, 128, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, kv, context, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        fused = torch.nn.functional.scaled_dot_product_attention
        for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
            try:
                with sdpa_kernel(backend):
                    took = timed(partial(fused, q, k, v, enable_gqa=kv != heads))
                said.append(f"{name} {moved / took:.0f}")
            except RuntimeError as error:
                said.append(f"{name} refused ({str(error).splitlines()[0][:60]})")
        print(
            f"decode attention bf16 batch {batch}, {heads}/{kv} heads, S={context}: {', '.join(said)} GB/s", flush=True
        )
        q = k = v = None
        torch.cuda.empty_cache()


if __name__ == "__main__":
    card = CudaBackend(0)
    if card.why_not():
        sys.exit(card.why_not())
    products(card)
    attention(card)
    card.close()
