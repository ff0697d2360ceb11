"""One H200: steps of a plain torch stack (experiments/h200_steps) against its own measured profile.

The profile gives every rate and cost but one: how much more a small kernel costs between products than in a chain of
its like. That one was fitted on these rows; here it is also left at 1, and found from the other models alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rooflens import artefacts, models, workload
from rooflens.catalogue.calibrations import stack as constants
from rooflens.dtypes import dtype
from rooflens.models import Model
from rooflens.operators.rows import Function
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.stack import Stack, stack
from rooflens.records import record, replace
from rooflens.roofline.math import resolve

STEPS = Path(__file__).parents[2] / "experiments" / "h200_steps" / "steps.json"
PROFILE = "h200-sxm-141gb"
ROTARY: Mapping[Function, float] = {"rotary": 14.0}  # its rotary embedding is fourteen kernels a layer
TIMES = np.exp(np.linspace(0.0, np.log(4.0), 57))  # of the one constant, where it is found anew
EAGER_S = 16e-6  # what a torch operator costs the host there, as the smallest models tell; see host_bound
SIZES = {  # layers, width, query heads, KV heads, head width, feed-forward width, vocabulary: Llama's layers in all
    "llama-3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256), "llama-3.2-3b": (28, 3072, 24, 8, 128, 8192, 128256),
    "llama-3.1-8b": (32, 4096, 32, 8, 128, 14336, 128256), "qwen3-14b": (40, 5120, 40, 8, 128, 17408, 151936),
    "qwen3-32b": (64, 5120, 64, 8, 128, 25600, 151936),
}  # fmt: skip
KEYS = (
    "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
    "vocab_size",
)  # fmt: skip
Phase = Literal["decode", "prefill"]


@record
class Step:
    """One measured step, seconds. launches: kernels that its host starts."""

    model: str
    dtype: str
    phase: Phase
    attention: str
    tokens: float
    batch: float
    time_s: float


def steps() -> list[Step]:
    """The measured steps."""
    return [_step(row) for row in json.loads(STEPS.read_text(encoding="utf-8"))["rows"] if "time_s" in row]


def profiled() -> Stack:
    """The stack of the shipped profile, with the kernels that this stack runs."""
    return replace(stack(artefacts.shipped(PROFILE)), small=ROTARY)


def times(of: Sequence[Step], by: Stack) -> np.ndarray:
    """What the profile says of each."""
    return np.array([by.expect(deployment(one, by), one.phase).time_s for one in of])


def ratios(of: Sequence[Step], by: Stack) -> np.ndarray:
    """Said over measured."""
    return times(of, by) / np.array([one.time_s for one in of])


def unfitted(by: Stack) -> Stack:
    """The same with nothing fitted: a small kernel costs what it costs in a chain."""
    return with_times(by, 1.0)


def with_times(by: Stack, small_times: float) -> Stack:
    """The same with another value of the one constant."""
    return replace(by, small_s=by.small_s / (by.found or constants()).small_times * small_times)


def others(of: Sequence[Step], by: Stack) -> np.ndarray:
    """Said over measured, the constant of each model found from the decode steps of the others."""
    found = np.array([ratios(of, with_times(by, float(one))) for one in TIMES])
    models, out = np.array([one.model for one in of]), np.zeros(len(of))
    for model in sorted(set(models)):
        best = np.abs(found[:, models != model] - 1.0)
        out[models == model] = found[int(np.argmin(np.median(best, axis=1)))][models == model]
    return out


def deployment(one: Step, by: Stack) -> Deployment:
    """The step as rooflens prices it: its cache in 16 bit."""
    built, own = model(one.model), dtype("bf16")
    stored = workload.precision(own, one.dtype, "bf16", None, built.state_dtype)
    precision = resolve(stored, by.machine)[0]
    if one.phase == "prefill":
        return Deployment(built, precision, by.machine, 1.0, one.tokens)
    return Deployment(built, precision, by.machine, one.batch, one.tokens, context=one.tokens)


@cache
def model(name: str) -> Model:
    """One of the measured shapes."""
    sizes = dict(zip(KEYS, SIZES[name], strict=True))
    return models.from_config({"model_type": "llama", "torch_dtype": "bfloat16", **sizes}, name)


def _step(row: dict[str, Any]) -> Step:
    tokens = row["context"] if row["phase"] == "decode" else row["prompt"]
    batch = float(row.get("batch", 1))
    return Step(row["model"], row["dtype"], row["phase"], row["attention"], float(tokens), batch, row["time_s"])


def host_bound(one: Step, by: Stack) -> bool:
    """Whether starting the kernels one by one from torch takes longer than running them: named, and not modelled.

    A profile knows what a raw launch costs the host (7 us there), not what a framework adds to it.
    """
    launches = replace(by, host_s=1.0).expect(deployment(one, by), one.phase).time_s
    return launches * EAGER_S > by.expect(deployment(one, by), one.phase).time_s


def pick(of: Sequence[Step], phase: str, attention: str) -> Iterator[Step]:
    """The steps of one kind."""
    yield from (one for one in of if one.phase == phase and one.attention == attention)
