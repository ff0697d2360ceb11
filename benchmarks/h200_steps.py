"""Decode steps and prefills of a plain torch stack on one GPU, as rows to set predictions against.

    python -m benchmarks.h200_steps OUT.json [seconds]

The stack is that of `llama_stack`; decode under a CUDA graph, prefill started one kernel after another. Each figure is
the median of replays. Beside them, what small kernels cost in a chain of their like, in a graph.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import sdpa_kernel

from benchmarks.llama_stack import BACKENDS, MODELS, Stack, clocked, replayed

MEASURED = ("llama-3.2-1b", "llama-3.2-3b", "llama-3.1-8b", "qwen3-14b", "qwen3-32b")
BATCHES = (1, 4, 16, 64, 256)
CONTEXTS = (1024, 4096)
PROMPTS = (512, 2048, 8192)
MOST_CACHE_BYTES = 40e9
CHAIN = 200
bf16 = partial(torch.randn, device="cuda", dtype=torch.bfloat16)


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
    d = MODELS[name][1]
    stack, of = Stack(MODELS[name], fp8=fp8), {"model": name, "dtype": "fp8" if fp8 else "bf16"}
    for context in CONTEXTS:
        for batch in BATCHES:
            if stack.cache_bytes(batch, context) <= MOST_CACHE_BYTES:
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
        for name in MEASURED:
            for fp8 in (False, True):
                for row in rows(name, fp8=fp8):
                    found.append(row)
                    if time.monotonic() > end:
                        break
                torch.cuda.empty_cache()
                out.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
