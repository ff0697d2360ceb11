"""Measured operators meet the roof: each is priced from its row and placed on the machine's own ceilings."""

from __future__ import annotations

from collections.abc import Sequence

from rooflens import workload
from rooflens.dtypes import dtype
from rooflens.operators.alone import alone
from rooflens.operators.cost import Cost
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.points import Point
from rooflens.roofline.profile import AttentionPoint, GemmPoint, Profile


@record
class Observation:
    """One measured operator: what it needed and where it landed, its data coming from main memory."""

    point: Point
    cost: Cost
    achieved_bytes_per_s: float
    trusted: bool
    attention: AttentionPoint | None = None
    gemm: GemmPoint | None = None
    why_not: str | None = None


def observations(profile: Profile) -> tuple[Observation, ...]:
    """The operators of a profile, products first, then decode attention by dtype and context."""
    machine = profile.machine()
    gemms = (_gemm(g, machine) for g in profile.gemms)
    ways = profile.device.kind == "gpu"
    cells = (_attention(a, machine, ways=ways) for a in profile.attention)
    return (*(g for g in gemms if g), *(a for a in cells if a))


def attention_cells(seen: Sequence[Observation]) -> list[tuple[Observation, AttentionPoint]]:
    """The decode attention among the observations, in the order of decode_attention.json."""
    return [(o, o.attention) for o in seen if o.attention]


def attention_cost(cell: AttentionPoint) -> Cost:
    """One token's attention over the cache in all layers: 4 S D FLOPs and 2 S D cached values a layer."""
    heads = f"H={cell.heads},K={cell.kv_heads or cell.heads},W={cell.width // cell.heads}"
    precision = workload.precision(dtype(cell.dtype), kv=cell.kv_dtype)
    return alone(f"attention:{heads},B={cell.batch},T={cell.tokens},S={cell.context}").cost(precision) * cell.layers


def attention_name(cell: AttentionPoint, *, ways: bool) -> str:
    """What sets a cell apart: model and batch where they are not the usual, dtype, context, and (`ways`) its way."""
    model = "" if cell.model in (None, "MiniGPT") else f"{cell.model} batch {cell.batch} "
    cache = f" with {cell.kv_dtype} cache" if cell.kv_dtype else ""
    way = f" ({cell.implementation})" if ways else ""
    phase = "decode" if cell.tokens == 1 else "prefill"
    return f"{phase} attention {model}{cell.dtype}{cache} S={cell.context}{way}"


def gemm_cost(gemm: GemmPoint) -> Cost:
    """A product of its own: 2 M N K FLOPs, three matrices moved."""
    return alone(f"gemm:M={gemm.m},K={gemm.k},N={gemm.n}").cost(workload.precision(dtype(gemm.dtype)))


def _attention(cell: AttentionPoint, machine: Machine, *, ways: bool) -> Observation | None:
    cost = attention_cost(cell)
    point = _placed(attention_name(cell, ways=ways), cost, machine, cell.time_s, cell.overhead_s)
    rate = float(cost.kv_bytes) / cell.time_s
    return Observation(point, cost, rate, cell.trusted, attention=cell, why_not=cell.why_not) if point else None


def _gemm(gemm: GemmPoint, machine: Machine) -> Observation | None:
    cost = gemm_cost(gemm)
    name = f"GEMM {gemm.dtype} {gemm.m}x{gemm.n}x{gemm.k}" if gemm.name.startswith("gemm") else gemm.name
    point = _placed(name, cost, machine, gemm.time_s)
    rate = float(cost.bytes) / gemm.time_s
    return Observation(point, cost, rate, gemm.trusted, gemm=gemm, why_not=gemm.why_not) if point else None


def _placed(name: str, cost: Cost, machine: Machine, time_s: float, launch_s: float | None = None) -> Point | None:
    """Placed under the roofs of this machine; None when it has no memory slope or no roof of this dtype.

    launch_s: the same calls over one cached token, measured beside it.
    """
    if not machine.find("memory", level="main") or not machine.has(next(iter(cost.flops))):
        return None
    return place(name, cost, machine, time_s, launch_s)
