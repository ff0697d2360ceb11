"""Where a step's time goes: its floor shared out over what asked for it."""

from __future__ import annotations

from collections.abc import Iterable

from rooflens.roofline.price import Priced, kind_of
from rooflens.workload import Operator

ATTEND = ("attend",)
EXPERTS = ("expert", "shared", "router")
KINDS = ("weights", "kv", "activations", "attention", "experts", "linear", "head", "vector", "collectives")


def where(kernels: Iterable[tuple[Operator, Priced]]) -> dict[str, float]:
    """Seconds of the floor by what binds each kernel.

    A memory-bound kernel's time is shared between weights, KV and activations by their bytes; a compute-bound one's is
    its own: attention, experts, head, other linear products or vector work.
    """
    found = dict.fromkeys(KINDS, 0.0)
    for operator, priced in kernels:
        seconds = operator.count * float(priced.time_s)
        for name, share in _shares(operator, priced).items():
            found[name] += share * seconds
    return {name: seconds for name, seconds in found.items() if seconds}


def _shares(operator: Operator, priced: Priced) -> dict[str, float]:
    if not priced.times_s:
        return {}
    resource = max(priced.times_s, key=lambda name: float(priced.times_s[name]))
    if resource == "link":
        return {"collectives": 1.0}
    if kind_of(resource) == "memory":
        return _bytes(priced)
    return {"vector" if resource == "vector" else _kind(operator): 1.0}


def _bytes(priced: Priced) -> dict[str, float]:
    cost = priced.cost
    moved = {"weights": float(cost.weight_bytes), "kv": float(cost.kv_bytes), "activations": 0.0}
    if not sum(moved.values()):
        moved["activations"] = 1.0
    return {name: size / sum(moved.values()) for name, size in moved.items() if size}


def _kind(operator: Operator) -> str:
    parts = {row.part for row in operator.rows if row.contracts}
    if "attend" in parts:
        return "attention"
    if "head" in parts:
        return "head"
    return "experts" if parts & set(EXPERTS) else "linear"
