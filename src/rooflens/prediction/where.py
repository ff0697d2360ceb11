"""Where a step's time goes: its floor shared out over what asked for it."""

from __future__ import annotations

from collections.abc import Sequence

from rooflens.roofline.price import Priced, StepPrice, kind_of
from rooflens.workload import Operator

EXPERTS = ("expert", "shared", "router")
KINDS = ("weights", "kv", "attention", "experts", "linear", "head", "vector", "collectives")


def where(price: StepPrice, operators: Sequence[Operator]) -> dict[str, float]:
    """Seconds of the floor by what binds each kernel; together they are the floor.

    A memory-bound kernel's time is shared between weights and KV by their bytes; a compute-bound one's is its own:
    attention, experts, head, other linear products or vector work.
    """
    found = dict.fromkeys(KINDS, 0.0)
    for operator, priced in zip(operators, price.kernels, strict=True):
        seconds = operator.count * float(priced.time_s)
        for name, share in _shares(operator, priced).items():
            found[name] += share * seconds
    passes = float(price.floor_s) / (sum(found.values()) or 1.0)
    return {name: seconds * passes for name, seconds in found.items() if seconds}


def _shares(operator: Operator, priced: Priced) -> dict[str, float]:
    if not priced.times_s:
        return {}
    resource = max(priced.times_s, key=lambda name: float(priced.times_s[name]))
    if kind_of(resource) == "link":
        return {"collectives": 1.0}
    if kind_of(resource) == "memory":
        return _bytes(priced)
    return {"vector" if resource == "vector" else _kind(operator): 1.0}


def _bytes(priced: Priced) -> dict[str, float]:
    cost = priced.cost
    moved = {"weights": float(cost.weight_bytes), "kv": float(cost.kv_bytes)}
    return {name: size / sum(moved.values()) for name, size in moved.items() if size}


def _kind(operator: Operator) -> str:
    parts = {row.part for row in operator.rows if row.contracts}
    if "attend" in parts:
        return "attention"
    if "head" in parts:
        return "head"
    return "experts" if parts & set(EXPERTS) else "linear"
