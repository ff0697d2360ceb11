"""Levers: a change to rows, letters, dtypes or the machine; its speed-up is the ratio of two prices."""

from __future__ import annotations

from rooflens.operators.cost import Cost
from rooflens.operators.letters import Letters
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.points import Point


@record
class Lever:
    """What a change would give: the ratio of two floors. why_not: why it cannot exist, when it cannot."""

    name: str
    gain_floor: float
    before: Point
    after: Point
    why_not: str | None = None


def lever(
    name: str, before: Cost, after: Cost, machine: Machine, other: Machine | None = None, why_not: str | None = None
) -> Lever:
    """The change from one cost to another, on the same machine or on another."""
    first, second = place(name, before, machine), place(name, after, other or machine)
    gain = first.time_s / second.time_s if second.time_s else 1.0
    return Lever(name, gain, first, second, why_not)


def fewer_kv_reads(cost: Cost, machine: Machine, times: float) -> Lever:
    """A kernel that would move a `times` smaller part of the cache for the same FLOPs.

    It cannot exist: a row counts every byte of the cache once, and exact attention reads each at least once. What it
    asks for is a smaller cache: key-value heads shared by a group of query heads, or a narrower format.
    """
    why_not = (
        "every KV byte is already read once, so no kernel of the same model can do this; "
        f"grouped queries ({times:g} query heads a KV head) or a narrower KV format store less to read"
    )
    wanted = replace(cost, kv_bytes=cost.kv_bytes / times)
    return lever(f"{times:g}x fewer KV reads", cost, wanted, machine, why_not=why_not if times > 1 else None)


def regrouped(letters: Letters, heads_per_kv_head: float) -> Letters:
    """The letters of the same attention with this many query heads a key-value head."""
    heads = letters["K"] * letters["G"]
    return {**letters, "K": heads / heads_per_kv_head, "G": heads_per_kv_head}
