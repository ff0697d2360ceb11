"""How many steps are priced a second on one core: one by one, bound to a machine, and in arrays; and estimated.

    python benchmarks/pricing.py [MODEL ...]

A step is fully priced: for every kernel the largest of its demands over the machine's rates, summed over the kernels.
Wanted: 50,000 bound steps/s for a dense model of 32 layers, 20,000 for DeepSeek-V3, 10,000,000 points/s in arrays; of
an engine's TPOT, 10,000 loads in 0.05 s and 5,000,000 points/s.
Processor time is counted, so other work on the machine matters little; the best of several rounds is shown.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from datetime import datetime

import numpy as np

from rooflens import api, workload
from rooflens.catalogue.calibrations import served
from rooflens.models import Model
from rooflens.operators.cost import Precision
from rooflens.prediction.bound import bind as estimated
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.served import Served
from rooflens.roofline.bound import Bound, bind
from rooflens.roofline.math import resolve
from rooflens.roofline.price import price_step

MACHINE = api.machine("h200-sxm-141gb")
MODELS = ("llama-2-7b", "deepseek-v3")
BATCHES, CONTEXTS, KV = 2048, 2048, ("bf16", "fp8", "int4")
CHUNK = (64, 128)  # 8192 points: arrays of 64 KiB
ENGINE, SWEEP = "vllm", 10_000
PEERS = """others, on machines of their own: 15,000 to 40,000 steps/s in the fastest one that prices operators,
3.8 us a step (263,000/s) in one without batch or operators"""


def main(names: list[str]) -> None:
    """Prints a line a model, and what others reach."""
    today = datetime.now().astimezone().date()
    print(f"{today}  Python {platform.python_version()}  numpy {np.__version__}  {processor()}")
    for name in names or MODELS:
        print(line(name))
        print(estimates(name))
    print(PEERS)


def line(name: str) -> str:
    """Steps a second of one model, each way, with ratios."""
    model = api.model(name)
    precisions = [stored(model, kv) for kv in KV]
    bound = [bind(model, precision, MACHINE) for precision in precisions]
    plain = 1 / seconds(lambda: price_step(workload.operators(model, step(3), precisions[0]), MACHINE), 50)
    scalar = 1 / seconds(lambda: bound[0].floor_s(step(3)), 5000)
    points = BATCHES * CONTEXTS * len(KV) / grid_s(bound)
    return (
        f"{name}: {plain:,.0f} steps/s one by one, {scalar:,.0f} bound ({scalar / plain:.0f}x), "
        f"{points:,.0f} points/s in arrays of {CHUNK[0] * CHUNK[1]:,} ({points / scalar:.0f}x)"
    )


def estimates(name: str) -> str:
    """Loads a second of one model under an engine: a sweep over the batch, steps alone, and with others' prompts."""
    model = api.model(name)
    load = Deployment(model, stored(model, KV[0]), MACHINE, prompt=2048.0, output=512.0)
    once = seconds(lambda: estimated(Served(served(), ENGINE, MACHINE.name), load), 3)
    many = estimated(Served(served(), ENGINE, MACHINE.name), load)
    sweep_s = seconds(lambda: many.tpot_s(np.linspace(1.0, 512.0, SWEEP), 2048.0, 512.0), 5)
    batches, contexts = np.arange(1.0, 1 + CHUNK[0])[:, None], np.arange(1.0, 1 + CHUNK[1])[None, :] * 32
    alone, with_prompts = (
        CHUNK[0] * CHUNK[1] / seconds(lambda output=output: many.tpot_s(batches, contexts, output), 20)
        for output in (0.0, 512.0)
    )
    return (
        f"  TPOT of {ENGINE}: folded in {1e3 * once:.0f} ms, {SWEEP:,} loads in {1e3 * sweep_s:.1f} ms, {alone:,.0f} "
        f"points/s of steps, {with_prompts:,.0f} with the prompts of others"
    )


def stored(model: Model, kv: str) -> Precision:
    """The model's own formats, with this cache, on the machine."""
    own, _ = workload.own_dtype(model)
    return resolve(workload.precision(own, None, kv, model.stored), MACHINE)[0]


def step(batch: float) -> workload.Step:
    """One decode step; making it is part of what is measured."""
    return workload.decode(batch, 2048)


def grid_s(bound: list[Bound]) -> float:
    """Seconds for a grid of batch x context x KV dtype, a chunk at a time."""
    batches = np.arange(1.0, 1 + BATCHES)[:, None]
    contexts = np.arange(1.0, 1 + CONTEXTS)[None, :] * 32
    began = time.process_time()
    for one in bound:
        for row in range(0, BATCHES, CHUNK[0]):
            for column in range(0, CONTEXTS, CHUNK[1]):
                one.floor_s(workload.decode(batches[row : row + CHUNK[0]], contexts[:, column : column + CHUNK[1]]))
    return time.process_time() - began


def seconds(call: Callable[[], object], times: int, rounds: int = 5) -> float:
    """Processor seconds of a call, the best of several rounds."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(times):
            call()
        spent.append(time.process_time() - began)
    return min(spent) / times


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        with open("/proc/cpuinfo") as file:  # noqa: PTH123
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main(sys.argv[1:])
