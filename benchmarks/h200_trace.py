"""Decode steps of an 8B model as a profiler sees them: eager by a library, eager by a plain stack, and under a graph.

    python -m benchmarks.h200_trace FOLDER            traces (PyTorch profiler, shapes recorded) and unprofiled times
    ncu --profile-from-start off --set roofline --page raw --csv ... python -m benchmarks.h200_trace --counters

Llama-3.1-8B shapes, random weights, bf16, batch 4, context 1024. --counters runs one layer of the plain stack once, for
the hardware's own counts beside what its shapes say.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks.h200_steps import bf16
from benchmarks.llama_stack import MODELS, Stack, captured

NAME, BATCH, CONTEXT, STEPS = "llama-3.1-8b", 4, 1024, 2


def library_step() -> Callable[[], object]:
    """A step of the class that most people start from, eager, with its own cache at this context."""
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    layers, d, h, k, _, f, v = MODELS[NAME]
    config = LlamaConfig(
        hidden_size=d, intermediate_size=f, num_hidden_layers=layers, num_attention_heads=h, num_key_value_heads=k,
        vocab_size=v, max_position_embeddings=8192, rope_theta=500000.0, dtype="bfloat16",
    )  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    cache = DynamicCache()
    model(torch.randint(0, v, (BATCH, CONTEXT), device="cuda"), past_key_values=cache, use_cache=True, logits_to_keep=1)
    token = torch.randint(0, v, (BATCH, 1), device="cuda")

    def step() -> None:
        model(token, past_key_values=cache, use_cache=True)

    return step


def stack_step(layers: int | None = None) -> Callable[[], object]:
    """A step of the plain stack."""
    sizes = MODELS[NAME]
    stack = Stack((layers or sizes[0], *sizes[1:]), fp8=False)
    stack.fill(BATCH, CONTEXT)
    return partial(stack.step, bf16(BATCH, 1, sizes[1]), CONTEXT - 1, cached=True)


def traced(run: Callable[[], object], path: Path) -> dict[str, Any]:
    """Seconds of a step by the wall without a profiler, then STEPS of them into a trace."""
    took = []
    for _ in range(8):
        torch.cuda.synchronize()
        began = time.perf_counter()
        run()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as found:
        for _ in range(STEPS):
            with record_function("step"):
                run()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as room:
        plain = Path(room) / "trace.json"
        found.export_chrome_trace(str(plain))
        with plain.open("rb") as source, gzip.GzipFile(path, "wb", mtime=0) as packed:
            shutil.copyfileobj(source, packed)
    return {"trace": path.name, "step_s": median(took[2:]), "steps": STEPS, "batch": BATCH, "context": CONTEXT}


def main() -> None:
    """Traces into a folder, or one layer for the counters of another profiler."""
    torch.manual_seed(0)
    with torch.inference_mode():
        if sys.argv[1] == "--counters":
            run = stack_step(layers=1)
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            run()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            return
        out, found = Path(sys.argv[1]), []
        out.mkdir(parents=True, exist_ok=True)
        plain = stack_step()
        found.append(traced(captured(plain).replay, out / "graph.json.gz"))
        found.append(traced(plain, out / "eager.json.gz"))
        del plain
        torch.cuda.empty_cache()
        found.append(traced(library_step(), out / "library.json.gz"))
    report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "model": NAME, "runs": found}
    (out / "steps.json").write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
