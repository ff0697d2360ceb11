"""Decode steps of a plain torch stack shared over the GPUs of one host, beside the same step on one of them.

    python -m benchmarks.h200_tp OUT.json [seconds]

One process a GPU, each with its part of `llama_stack`; sums go through NCCL on the stream of the step, so that a whole
step is one CUDA graph on every GPU. Of each step also: the same without its sums (`silent_s`: what they cost is the
rest), what every GPU does in full (`everybodys_s`: norms and residuals), the step of the whole stack on one GPU where
it fits (`alone_s`), and of one model the sums through torch.distributed (`torch_s`). A figure is the median of replays,
of the GPU that took longest. Whatever hangs is ended after `seconds`, and what was measured until then is written.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.multiprocessing as mp
from torch.nn.attention import sdpa_kernel

from benchmarks.llama_stack import BACKENDS, MODELS, Stack, captured, once, share

MEASURED = (("llama-3.1-8b", False), ("llama-3.1-8b", True), ("llama-3.1-70b", False), ("llama-3.1-70b", True))
BATCHES = (1, 16, 64)
CONTEXTS = (1024, 4096)
REPLAYS = 20  # the same on every GPU: they wait for each other
SPARE_BYTES = 6e9  # for logits, workspaces and graphs
TINY = (2, 512, 8, 4, 64, 1024, 1024)
PORT = "29517"
Run = Callable[[], object]


class Together:
    """This process's GPU among the others."""

    def __init__(self, rank: int, devices: int, ticket: Any) -> None:
        import cupy
        from cupy.cuda import nccl

        torch.cuda.set_device(rank)
        cupy.cuda.Device(rank).use()
        self.rank, self.devices, self._nccl = rank, devices, nccl
        self._comm = nccl.NcclCommunicator(devices, ticket, rank)
        self._flag = torch.zeros(8, device="cuda", dtype=torch.bfloat16)

    def added(self, x: torch.Tensor) -> torch.Tensor:
        """The sum over all, in place, on the stream of the step."""
        stream, kind = torch.cuda.current_stream().cuda_stream, self._nccl.NCCL_BFLOAT16
        self._comm.allReduce(x.data_ptr(), x.data_ptr(), x.numel(), kind, self._nccl.NCCL_SUM, stream)
        return x

    def clocked(self, run: Run) -> float:
        """Median seconds of a replay of `run`, of the GPU that took longest; all begin together."""
        graph = captured(run)
        took = []
        for i in range(REPLAYS + 3):
            self.added(self._flag)
            took.append(once(graph.replay) if i > 2 else (graph.replay(), 0.0)[1])
        torch.cuda.synchronize()
        mine = torch.tensor([median(took[3:])], device="cuda")
        stream = torch.cuda.current_stream().cuda_stream
        self._comm.allReduce(mine.data_ptr(), mine.data_ptr(), 1, self._nccl.NCCL_FLOAT32, self._nccl.NCCL_MAX, stream)
        torch.cuda.synchronize()
        return float(mine)


def weight_bytes(sizes: tuple[int, ...], *, fp8: bool) -> float:
    """Of the whole stack: products in their format, the head in 16 bit."""
    layers, d, h, k, w, f, v = sizes
    return layers * (2 * h * w * d + 2 * k * w * d + 3 * d * f) * (1.0 if fp8 else 2.0) + 2.0 * v * d


def right(group: Together) -> float:
    """How far the logits of a shared tiny stack are from those of the whole one, relative to the largest."""
    torch.manual_seed(7)
    whole = Stack(TINY)
    mine = share(whole, group.rank, group.devices, group.added)
    x = whole.normal(3, 4, TINY[1])
    wanted = whole.step(x, 0, cached=False).chunk(group.devices, -1)[group.rank]
    found = mine.step(x, 0, cached=False)
    return float((found - wanted).abs().max() / wanted.abs().max())


def shared(group: Together, name: str, *, fp8: bool, room_bytes: float) -> Iterator[dict[str, Any]]:
    """Every step of one model that fits on all GPUs together."""
    sizes = MODELS[name]
    stack = Stack(sizes, fp8=fp8, devices=group.devices, added=group.added)
    through_torch = name == "llama-3.1-8b" and not fp8
    for context in CONTEXTS:
        for batch in BATCHES:
            if weight_bytes(sizes, fp8=fp8) / group.devices + stack.cache_bytes(batch, context) > room_bytes:
                continue
            stack.fill(batch, context)
            run = partial(stack.step, stack.normal(batch, 1, sizes[1]), context - 1, cached=True)
            row: dict[str, Any] = {"batch": batch, "context": context, "time_s": group.clocked(run)}
            if through_torch and context == CONTEXTS[0]:
                stack.added = _by_torch
                row["torch_s"] = group.clocked(run)
            stack.added = lambda x: x
            row["silent_s"] = group.clocked(run)
            row["everybodys_s"] = group.clocked(partial(stack.everybodys, stack.normal(batch, 1, sizes[1])))
            stack.added = group.added
            yield row


def alone(group: Together, name: str, *, fp8: bool, room_bytes: float) -> Iterator[dict[str, Any]]:
    """The same steps of the whole stack on one GPU, on each at once, where it fits."""
    sizes = MODELS[name]
    if weight_bytes(sizes, fp8=fp8) > room_bytes:
        return
    stack = Stack(sizes, fp8=fp8)
    for context in CONTEXTS:
        for batch in BATCHES:
            if weight_bytes(sizes, fp8=fp8) + stack.cache_bytes(batch, context) <= room_bytes:
                stack.fill(batch, context)
                run = partial(stack.step, stack.normal(batch, 1, sizes[1]), context - 1, cached=True)
                yield {"batch": batch, "context": context, "alone_s": group.clocked(run)}


def _by_torch(x: torch.Tensor) -> torch.Tensor:
    torch.distributed.all_reduce(x)
    return x


def work(rank: int, devices: int, ticket: Any, out: Path) -> None:
    """All of it on one GPU of the group; the first one writes after each model."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=PORT)
    group = Together(rank, devices, ticket)
    where = torch.device("cuda", rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=devices, device_id=where)
    room_bytes = torch.cuda.mem_get_info()[0] - SPARE_BYTES
    rows: list[dict[str, Any]] = []
    report = {
        "device": torch.cuda.get_device_name(), "devices": devices, "torch": torch.__version__,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())), "settings": _settings(), "rows": rows,
    }  # fmt: skip
    with torch.inference_mode(), sdpa_kernel(BACKENDS["cudnn"]):
        report["tiny_stack_error"] = right(group)
        for name, fp8 in MEASURED:
            began, found = time.monotonic(), dict[tuple[int, int], dict[str, Any]]()
            for part in (shared, alone):
                for row in part(group, name, fp8=fp8, room_bytes=room_bytes):
                    found.setdefault((row["batch"], row["context"]), {}).update(row)
                torch.cuda.empty_cache()
            rows += [{"model": name, "dtype": "fp8" if fp8 else "bf16", **row} for row in found.values()]
            if rank == 0:
                out.write_text(json.dumps(report, indent=1), encoding="utf-8")
                print(f"{name} {'fp8' if fp8 else 'bf16'}: {time.monotonic() - began:.0f} s", flush=True)


def _settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("NCCL_") and "VERSION" not in name}


def main() -> None:
    """Starts a process a GPU and ends those that are left when time is up."""
    from cupy.cuda import nccl

    out, seconds = Path(sys.argv[1]), float(sys.argv[2] if len(sys.argv) > 2 else 400)
    devices, end = torch.cuda.device_count(), time.monotonic() + seconds
    context, ticket = mp.get_context("spawn"), nccl.get_unique_id()
    workers = [context.Process(target=work, args=(rank, devices, ticket, out)) for rank in range(devices)]
    for worker in workers:
        worker.start()
    while time.monotonic() < end and any(worker.is_alive() for worker in workers):
        if any(worker.exitcode for worker in workers):
            break
        time.sleep(0.5)
    for worker in workers:
        if worker.is_alive():
            worker.kill()
        worker.join()
    print("exit codes:", [worker.exitcode for worker in workers])


if __name__ == "__main__":
    main()
