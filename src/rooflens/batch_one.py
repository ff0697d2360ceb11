"""Tokens a second that nobody can beat at batch 1: what a decode step must stream, over the bandwidth, as a table.

There is no column of FLOP/s: one token multiplies each weight once, far left of every ridge point, so more arithmetic
would change nothing. Where it would, `bound` says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rooflens.models import Model
from rooflens.operators.alone import Alone
from rooflens.operators.cost import Precision
from rooflens.prediction.arithmetic import Arithmetic
from rooflens.records import html, record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.price import price_step
from rooflens.workload import decode, operators, suited

SCHEMA = "rooflens/ceilings/1"
CONTEXT = 1  # a step that attends to one position streams the least that any step does
CONVENTIONS = {
    "tokens_per_s_ceiling": "1 / floor of one decode step at batch 1: weights, KV and state, the head counted and the "
    "looked-up embedding row left out",
    "tokens_per_s_whole_file": "were every stored byte streamed, the looked-up embedding table too",
    "fits": "whether the stored weights alone are within the memory; cache and engine come on top",
    "peaks": "dense, or as measured where the machine is a profile",
    "not_counted": "launches, activations, sampling, host",
}


@record
class Top:
    """One model in one format on one machine. devices_needed: so many hold the stored weights, cache apart.

    why_not: why there is no figure; absent fields are not known.
    """

    model: str
    weights: str
    machine: str
    weight_bytes: float | None = None
    tokens_per_s_ceiling: float | None = None
    tokens_per_s_whole_file: float | None = None
    floor_s: float | None = None
    streamed_bytes: float | None = None
    bound: str | None = None
    memory_bytes: float | None = None
    fits: bool | None = None
    devices_needed: int | None = None
    why_not: str | None = None


@record
class Ceilings:
    """Models by machines, in the order they were asked for."""

    _repr_html_ = html

    context: int
    models: tuple[str, ...]
    machines: tuple[str, ...]
    ceilings: tuple[Top, ...]
    notes: tuple[str, ...] = ()


def of_model(model: Model, precision: Precision, machine: Machine, name: str, context: int = CONTEXT) -> Top:
    """The ceiling of a model that is stored and computed so. Raises NoPath for work that the machine cannot do."""
    early = suited(model, "decode")
    price = price_step(operators(early, decode(1, context), precision), machine, activations=False)
    stored = sum(model.stored_bytes(precision).values())
    floor_s, streamed = float(price.floor_s), float(price.moved_bytes)
    whole = machine.memory("read").floor_value / (stored + float(price.cost.kv_bytes))
    return Top(
        model=name,
        weights=precision.weights.name,
        machine=machine.name,
        weight_bytes=stored,
        tokens_per_s_ceiling=1 / floor_s,
        tokens_per_s_whole_file=whole if stored > float(price.cost.weight_bytes) and "E" not in model.letters else None,
        floor_s=floor_s,
        streamed_bytes=streamed,
        bound=price.bound,
        **_fit(stored, machine),
    )


def of_step(step: Alone, found: Arithmetic, machine: Machine) -> Top:
    """The ceiling of `params=...,weight_bytes=...`: no architecture, so no cache and no context."""
    stored = step.weight_bytes + step.table_bytes
    return Top(
        model=found.model,
        weights=f"{16 * step.weight_bytes / step.flops:.3g} bits",
        machine=machine.name,
        weight_bytes=stored,
        tokens_per_s_ceiling=found.tokens_per_s_ceiling,
        tokens_per_s_whole_file=found.tokens_per_s_whole_file,
        floor_s=1 / found.tokens_per_s_ceiling,
        streamed_bytes=step.weight_bytes,
        bound=found.bound,
        **_fit(stored, machine),
    )


def notes(tops: Sequence[Top], machines: Sequence[Machine]) -> Iterator[str]:
    """What a reader of the table must know."""
    for machine in machines:
        yield from machine.assumptions
    for top in tops:
        if top.why_not:
            yield f"{top.model} on {top.machine}: {top.why_not}"
        if top.bound == "compute":
            yield f"{top.model} on {top.machine} is compute-bound even at batch 1"


def _fit(stored: float, machine: Machine) -> dict[str, Any]:
    capacity = machine.memory_bytes
    if not capacity:
        return {}
    fits = stored <= capacity
    return {"memory_bytes": capacity, "fits": fits, "devices_needed": math.ceil(stored / capacity)}
