"""A plain torch stack of Llama's shape with random weights: whole, or one device's share of it, and how it is clocked.

RMS norm, one product for q, k and v, rotary embedding, cache write, torch's scaled dot-product attention, output
product, gate and up, SiLU, down, and the head. fp8: weights and inputs of every product but the head, one scale each.
Shared over devices, each has its part of the heads, of the feed-forward and of the vocabulary; norms and residuals are
everybody's, and what the output and down products give is added over all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend

MODELS = {  # layers, width, query heads, KV heads, head width, feed-forward width, vocabulary
    "llama-3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256),
    "llama-3.2-3b": (28, 3072, 24, 8, 128, 8192, 128256),
    "llama-3.1-8b": (32, 4096, 32, 8, 128, 14336, 128256),
    "llama-3.1-70b": (80, 8192, 64, 8, 128, 28672, 128256),
    "qwen3-14b": (40, 5120, 40, 8, 128, 17408, 151936),
    "qwen3-32b": (64, 5120, 64, 8, 128, 25600, 151936),
}
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
LONGEST = 65536  # positions that are turned

Sum = Callable[[torch.Tensor], torch.Tensor]


def nobody(x: torch.Tensor) -> torch.Tensor:
    """The sum over one device."""
    return x


class Stack:
    """The weights of one device and its step. added: the sum of a tensor over all devices."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        *,
        fp8: bool = False,
        devices: int = 1,
        added: Sum = nobody,
        place: str = "cuda",
        weights: tuple[list[Mapping[str, torch.Tensor]], torch.Tensor] | None = None,
    ) -> None:
        layers, d, h, k, w, f, v = sizes
        self.sizes = layers, d, h // devices, k // devices, w, f // devices, v // devices
        self.fp8, self.added, self.place = fp8, added, place
        made = weights or ([self._layer() for _ in range(layers)], self.normal(v // devices, d) * 0.02)
        self.layers, self.head = made
        self.norm = torch.ones(d, device=place, dtype=torch.bfloat16)
        turns = 10000.0 ** (-torch.arange(0, w, 2, device=place).float() / w)
        angle = torch.outer(torch.arange(LONGEST, device=place).float(), turns)
        self.cos, self.sin = angle.cos().bfloat16(), angle.sin().bfloat16()
        self.one, self.cache, self.at = torch.ones((), device=place), torch.empty(0), torch.empty(0)

    def normal(self, *shape: int) -> torch.Tensor:
        """Random values where this stack lives."""
        return torch.randn(*shape, device=self.place, dtype=torch.bfloat16)

    def fill(self, batch: int, context: int) -> None:
        """A cache of random keys and values; the step writes its last position."""
        layers, _, _, k, w, _, _ = self.sizes
        self.cache = torch.empty(0)
        self.cache = self.normal(layers, 2, batch, k, context, w)
        self.at = torch.tensor([context - 1], device=self.place)

    def cache_bytes(self, batch: int, context: int) -> float:
        """How large that cache is."""
        layers, _, _, k, w, _, _ = self.sizes
        return 4.0 * layers * batch * k * context * w

    def step(self, x: torch.Tensor, first: int, *, cached: bool) -> torch.Tensor:
        """Logits of the last of these tokens, of this device's part of the vocabulary."""
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
            x = x + self.added(self._times(y.transpose(1, 2).reshape(b, t, h * w), m["out"]))
            gate, up = self._times(functional.rms_norm(x, (d,), self.norm), m["up"]).chunk(2, -1)
            x = x + self.added(self._times(functional.silu(gate) * up, m["down"]))
        return functional.linear(functional.rms_norm(x[:, -1:], (d,), self.norm), self.head)

    def everybodys(self, x: torch.Tensor) -> torch.Tensor:
        """What every device of a group does in full: norms and residuals, without anything between them."""
        d = self.sizes[1]
        for _ in range(2 * len(self.layers)):
            x = x + functional.rms_norm(x, (d,), self.norm)
        return functional.rms_norm(x[:, -1:], (d,), self.norm)

    def _layer(self) -> dict[str, torch.Tensor]:
        _, d, h, k, w, f, _ = self.sizes
        shapes = {"qkv": ((h + 2 * k) * w, d), "out": (d, h * w), "up": (2 * f, d), "down": (d, f)}
        return {name: self._matrix(*shape) for name, shape in shapes.items()}

    def _matrix(self, n: int, k: int) -> torch.Tensor:
        made = self.normal(n, k) * 0.02
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


def share(whole: Stack, device: int, devices: int, added: Sum) -> Stack:
    """Device `device`'s part of a whole stack: rows of the products that spread, columns of those that gather."""
    layers, d, h, k, w, f, v = whole.sizes

    def part(m: torch.Tensor, dim: int = 0) -> torch.Tensor:
        return m.chunk(devices, dim)[device].contiguous()

    made = []
    for m in whole.layers:
        q, key, value = m["qkv"].split([h * w, k * w, k * w])
        gate, up = m["up"].chunk(2)
        made.append(
            {
                "qkv": torch.cat((part(q), part(key), part(value))), "out": part(m["out"], 1),
                "up": torch.cat((part(gate), part(up))), "down": part(m["down"], 1),
            }
        )  # fmt: skip
    sizes = (layers, d, h, k, w, f, v)
    return Stack(sizes, devices=devices, added=added, place=whole.place, weights=(made, part(whole.head)))


def captured(run: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """`run` as a graph, after three runs of it."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # libraries have threads of their own
        run()
    return graph


def replayed(run: Callable[[], object], seconds: float = 0.4) -> float:
    """Median device seconds of one replay of `run`, captured in a graph."""
    return clocked(captured(run).replay, seconds)


def clocked(run: Callable[[], object], seconds: float = 0.3, least: int = 5, most: int = 200) -> float:
    """Median seconds between two events around a run."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    took: list[float] = []
    end = time.monotonic() + seconds
    while len(took) < least or (time.monotonic() < end and len(took) < most):
        took.append(once(run))
    return median(took)


def once(run: Callable[[], object]) -> float:
    """Seconds between two events around one run."""
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    run()
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last)) / 1e3
