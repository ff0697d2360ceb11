"""Measured operators meet the roof: each is priced from its row and placed on the machine's own ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rooflens import workload
from rooflens.dtypes import dtype
from rooflens.operators.alone import alone
from rooflens.operators.cost import Cost
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.points import Point
from rooflens.roofline.profile import AttentionPoint, GemmPoint, Profile


@dataclass(frozen=True, slots=True)
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
    cells = (_attention(a, machine) for a in profile.attention)
    return (*(g for g in gemms if g), *(a for a in cells if a))


def attention_cells(seen: Sequence[Observation]) -> list[tuple[Observation, AttentionPoint]]:
    """The decode attention among the observations, in the order of decode_attention.json."""
    return [(o, o.attention) for o in seen if o.attention]


def attention_cost(cell: AttentionPoint) -> Cost:
    """One token's attention over the cache in all layers: 4 S D FLOPs and 2 S D cached values a layer."""
    text = f"attention:H={cell.heads},K={cell.heads},W={cell.width // cell.heads},S={cell.context}"
    return alone(text).cost(workload.precision(dtype(cell.dtype))) * cell.layers


def gemm_cost(gemm: GemmPoint) -> Cost:
    """A product of its own: 2 M N K FLOPs, three matrices moved."""
    return alone(f"gemm:M={gemm.m},K={gemm.k},N={gemm.n}").cost(workload.precision(dtype(gemm.dtype)))


def _attention(cell: AttentionPoint, machine: Machine) -> Observation | None:
    cost = attention_cost(cell)
    name = f"decode attention {cell.dtype} S={cell.context}"
    point = _placed(name, cost, machine, cell.time_s, cell.overhead_s)
    rate = float(cost.kv_bytes) / cell.time_s
    return Observation(point, cost, rate, cell.trusted, attention=cell, why_not=cell.why_not) if point else None


def _gemm(gemm: GemmPoint, machine: Machine) -> Observation | None:
    cost = gemm_cost(gemm)
    point = _placed(f"GEMM {gemm.dtype} {gemm.m}x{gemm.n}x{gemm.k}", cost, machine, gemm.time_s)
    rate = float(cost.bytes) / gemm.time_s
    return Observation(point, cost, rate, gemm.trusted, gemm=gemm, why_not=gemm.why_not) if point else None


def _placed(name: str, cost: Cost, machine: Machine, time_s: float, launch_s: float | None = None) -> Point | None:
    """Placed under the roofs of this machine; None when it has no memory slope or no roof of this dtype.

    launch_s: the same calls over one cached token, measured beside it.
    """
    if not machine.find("memory", level="main") or not machine.has(next(iter(cost.flops))):
        return None
    return place(name, cost, machine, time_s, launch_s)
