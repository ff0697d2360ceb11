"""The figures of many loads of one deployment at once: what `predict` says of each, by the code that says it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rooflens.arrays import library
from rooflens.models import Model
from rooflens.models.lengths import holds
from rooflens.operators.cost import Precision
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.memory import Reserve, filled
from rooflens.prediction.predicting import Estimator, Expected, usd_per_million
from rooflens.records import record
from rooflens.roofline.price import StepPrice, kind_of
from rooflens.sweep.columns import BOUNDS
from rooflens.sweep.shards import Lengths
from rooflens.workload import Phase

UNDER_PROMPT = "a context counts the prompt too, and is under its tokens here"
NOT_FITTING = "does not fit"
EXPECTED = {"tpot_estimate_s", "tpot_low_s", "tpot_high_s", "tokens_per_s", "usd_per_million_tokens"}
ENDS = {"ttft_estimate_s", "ttft_low_s", "ttft_high_s"}


@record
class Asked:
    """One case, ready to be priced at any load."""

    deployment: Deployment
    by: Estimator | None
    kept: Reserve


def figures(asked: Asked, wanted: Collection[str]) -> dict[str, Any]:
    """The wanted columns; numbers or arrays that broadcast over the loads of the deployment; None: not known.

    Raises RooflensError, as `predict` does, for a model that cannot be shared so, NoPath for a path that is not there.
    """
    load = asked.deployment
    found = _times(asked, "decode", "tpot", expected=bool(EXPECTED & set(wanted)))
    if any(name.startswith("ttft") for name in wanted):
        found |= _times(asked, "prefill", "ttft", expected=bool(ENDS & set(wanted)))
    step_s = found["tpot_floor_s"] if found["tpot_estimate_s"] is None else found["tpot_estimate_s"]
    rate: Any = load.tokens_per_s(step_s)
    found |= {"tokens_per_s": rate, "usd_per_million_tokens": usd_per_million(load, rate)}
    found |= _memory(asked) if {"needed_bytes", "fits", "batch_memory_allows"} & set(wanted) else {}
    if "bound" in wanted:
        found["bound"] = bounds(load.floor("decode"))
    return {name: found[name] for name in wanted}


def names(precision: Precision) -> dict[str, str]:
    """The formats that a case came out with, where the grid left them to the model."""
    return {"weights": precision.weights.name, "kv": precision.kv.name, "math": precision.math_of("linear")}


def refusals(model: Model, loads: Sequence[Lengths]) -> list[str]:
    """Why each load cannot be asked of this model; empty where it can."""
    return [_refused(model, load) for load in loads]


def bounds(floor: StepPrice) -> Any:
    """StepPrice.bound of every load, as places in BOUNDS."""
    np = library()
    shares: dict[str, Any] = {}
    for kernel in floor.kernels:
        left: Any = True  # the first of equals binds
        for resource, seconds in kernel.times_s.items():
            here = left & (seconds == kernel.time_s)
            left = left & (seconds != kernel.time_s)
            kind = kind_of(resource)
            shares[kind] = shares.get(kind, 0.0) + np.where(here, kernel.count * kernel.time_s, 0.0)
    if not shares:
        return BOUNDS.index("none")
    places = np.array([BOUNDS.index(kind) for kind in shares])
    return places[np.argmax(np.stack(np.broadcast_arrays(*shares.values())), axis=0)]


def _times(asked: Asked, phase: Phase, name: str, *, expected: bool) -> dict[str, Any]:
    by = asked.by if expected else None
    found: Expected | None = None if by is None else by.expect(asked.deployment, phase)
    return {
        f"{name}_floor_s": asked.deployment.floor(phase).floor_s,
        f"{name}_estimate_s": found and found.time_s,
        f"{name}_low_s": found and found.low_s,
        f"{name}_high_s": found and found.high_s,
    }


def _memory(asked: Asked) -> dict[str, Any]:
    load, capacity = asked.deployment, asked.deployment.machine.memory_bytes
    if capacity is None:
        return dict.fromkeys(("needed_bytes", "fits", "batch_memory_allows"))
    held = filled(load.model, load.precision, load.step("decode"), capacity, asked.kept)
    return {"needed_bytes": held.needed_bytes, "fits": held.fits, "batch_memory_allows": held.max_sequences}


def _refused(model: Model, load: Lengths) -> str:
    if not holds(model, max(load.context or 0, (load.prompt or 0) + (load.output or 0))):
        return f"{model.name} was made for {model.max_context} positions, and more are asked for"
    return UNDER_PROMPT if load.context is not None and (load.prompt or 0) > load.context else ""
