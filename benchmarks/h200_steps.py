"""Decode steps and prefills of a plain torch stack on one GPU, as rows to set predictions against.

    python benchmarks/h200_steps.py OUT.json [seconds]

Llama-shaped models with random weights: RMS norm, one product for q, k and v, rotary embedding, cache write, torch's
scaled dot-product attention, output product, gate and up, SiLU, down, and the head; decode under a CUDA graph, prefill
started one kernel after another. fp8: weights and inputs of every product but the head, one scale each. Each figure is
the median of replays. Beside them, what small kernels cost in a chain of their like, in a graph.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

MODELS = {  # layers, width, query heads, KV heads, head width, feed-forward width, vocabulary
    "llama-3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256),
    "llama-3.2-3b": (28, 3072, 24, 8, 128, 8192, 128256),
    "llama-3.1-8b": (32, 4096, 32, 8, 128, 14336, 128256),
    "qwen3-14b": (40, 5120, 40, 8, 128, 17408, 151936),
    "qwen3-32b": (64, 5120, 64, 8, 128, 25600, 151936),
}
BATCHES = (1, 4, 16, 64, 256)
CONTEXTS = (1024, 4096)
PROMPTS = (512, 2048, 8192)
MOST_CACHE_BYTES = 40e9
CHAIN = 200
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
bf16 = partial(torch.randn, device="cuda", dtype=torch.bfloat16)


class Stack:
    """One model's weights, and its step."""

    def __init__(self, sizes: tuple[int, ...], *, fp8: bool) -> None:
        layers, d, h, k, w, f, v = self.sizes = sizes
        self.fp8 = fp8
        shapes = {"qkv": ((h + 2 * k) * w, d), "out": (d, h * w), "up": (2 * f, d), "down": (d, f)}
        self.layers = [{name: self._matrix(*shape) for name, shape in shapes.items()} for _ in range(layers)]
        self.head, self.norm = bf16(v, d) * 0.02, torch.ones(d, device="cuda", dtype=torch.bfloat16)
        turns = 10000.0 ** (-torch.arange(0, w, 2, device="cuda").float() / w)
        angle = torch.outer(torch.arange(65536, device="cuda").float(), turns)
        self.cos, self.sin = angle.cos().bfloat16(), angle.sin().bfloat16()
        self.one, self.cache, self.at = torch.ones((), device="cuda"), torch.empty(0), torch.empty(0)

    def fill(self, batch: int, context: int) -> None:
        """A cache of random keys and values; the step writes its last position."""
        layers, _, _, k, w, _, _ = self.sizes
        self.cache = bf16(layers, 2, batch, k, context, w)
        self.at = torch.tensor([context - 1], device="cuda")

    def step(self, x: torch.Tensor, first: int, *, cached: bool) -> torch.Tensor:
        """Logits of the last of these tokens."""
        _, d, h, k, w, _, _ = self.sizes
        b, t = x.shape[:2]
        for i, m in enumerate(self.layers):
            made = self._times(functional.rms_norm(x, (d,), self.norm), m["qkv"])
            q, key, value = made.split([h * w, k * w, k * w], -1)
            q, key = self._rotated(q.view(b, t, h, w), first), self._rotated(key.view(b, t, k, w), first)
            key, value = key.transpose(1, 2), value.view(b, t, k, w).transpose(1, 2)
            if cached:
                self.cache[i, 0].index_copy_(2, self.at, key)
                self.cache[i, 1].index_copy_(2, self.at, value)
                key, value = self.cache[i, 0], self.cache[i, 1]
            q = q.transpose(1, 2)
            y = functional.scaled_dot_product_attention(q, key, value, is_causal=not cached, enable_gqa=True)
            x = x + self._times(y.transpose(1, 2).reshape(b, t, h * w), m["out"])
            gate, up = self._times(functional.rms_norm(x, (d,), self.norm), m["up"]).chunk(2, -1)
            x = x + self._times(functional.silu(gate) * up, m["down"])
        return functional.linear(functional.rms_norm(x[:, -1:], (d,), self.norm), self.head)

    def _matrix(self, n: int, k: int) -> torch.Tensor:
        made = bf16(n, k) * 0.02
        return made.to(torch.float8_e4m3fn) if self.fp8 else made

    def _times(self, x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        if not self.fp8:
            return functional.linear(x, m)
        flat = x.reshape(-1, x.shape[-1]).to(torch.float8_e4m3fn)
        rows = flat.shape[0]
        if rows % 16:
            padded = functional.pad(flat.view(torch.uint8), (0, 0, 0, 16 - rows % 16))
            flat = padded.view(torch.float8_e4m3fn)
        how: dict[str, Any] = {"out_dtype": torch.bfloat16, "use_fast_accum": True}
        y = torch._scaled_mm(flat, m.t(), self.one, self.one, **how)  # noqa: SLF001 (torch has no public fp8 product)
        return y[:rows].view(*x.shape[:-1], -1)

    def _rotated(self, x: torch.Tensor, first: int) -> torch.Tensor:
        tokens = x.shape[1]
        cos, sin = (t[first : first + tokens].view(1, tokens, 1, -1) for t in (self.cos, self.sin))
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def replayed(run: Callable[[], object], seconds: float = 0.4) -> float:
    """Median device seconds of one replay of `run`, captured in a graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return clocked(graph.replay, seconds)


def clocked(run: Callable[[], object], seconds: float = 0.3, least: int = 5, most: int = 200) -> float:
    """Median seconds between two events around a run."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    took: list[float] = []
    end = time.monotonic() + seconds
    while len(took) < least or (time.monotonic() < end and len(took) < most):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        run()
        last.record()
        last.synchronize()
        took.append(first.elapsed_time(last) / 1e3)
    return median(took)


def smallest() -> dict[str, float]:
    """Seconds of one kernel out of a chain in a graph, each waiting for the one before."""
    x, norm = bf16(4096), bf16(4096)
    wide, tiny, m = bf16(64, 14336), bf16(64, 64), bf16(4096, 4096)
    chains: dict[str, Callable[[], object]] = {
        "add 4096": partial(x.add_, 1.0),
        "add 64x14336": partial(wide.add_, 1.0),
        "silu 64x14336": partial(functional.silu, wide, inplace=True),
        "rms norm 4096": partial(functional.rms_norm, x.view(1, -1), (4096,), norm),
        "product 64x64x64": partial(torch.mm, tiny, tiny),
        "product 1x4096x4096, one matrix again and again": partial(torch.mm, x.view(1, -1), m),
    }
    return {name: replayed(partial(_often, one)) / CHAIN for name, one in chains.items()}


def _often(run: Callable[[], object]) -> None:
    for _ in range(CHAIN):
        run()


def rows(name: str, *, fp8: bool) -> Iterator[dict[str, Any]]:
    """Decode under a graph at every batch and context that fits, then prefill, by both attention backends."""
    layers, d, _, k, w, _, _ = sizes = MODELS[name]
    stack, of = Stack(sizes, fp8=fp8), {"model": name, "dtype": "fp8" if fp8 else "bf16"}
    for context in CONTEXTS:
        for batch in BATCHES:
            if layers * 4 * batch * k * context * w <= MOST_CACHE_BYTES:
                stack.fill(batch, context)
                run = partial(stack.step, bf16(batch, 1, d), context - 1, cached=True)
                step = {**of, "phase": "decode", "batch": batch, "context": context}
                yield from _timed(step, partial(replayed, run))
    stack.cache = torch.empty(0)
    for prompt in PROMPTS:
        run = partial(stack.step, bf16(1, prompt, d), 0, cached=False)
        yield from _timed({**of, "phase": "prefill", "prompt": prompt}, partial(clocked, run))


def _timed(row: dict[str, Any], clock: Callable[[], float]) -> Iterator[dict[str, Any]]:
    for attention, kind in BACKENDS.items():
        try:
            with sdpa_kernel(kind):
                yield {**row, "attention": attention, "time_s": clock()}
        except RuntimeError as error:
            yield {**row, "attention": attention, "error": str(error)[:200]}


def main() -> None:
    """Measures until all is done or time is up, and writes what there is."""
    out, end = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 400)
    torch.manual_seed(0)
    found: list[dict[str, Any]] = []
    report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": found}
    with torch.inference_mode():
        report["smallest_s"] = smallest()
        for name in MODELS:
            for fp8 in (False, True):
                for row in rows(name, fp8=fp8):
                    found.append(row)
                    if time.monotonic() > end:
                        break
                torch.cuda.empty_cache()
                out.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
