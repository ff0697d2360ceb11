"""Measured operators meet the roof: each is priced from its row and placed on the machine's own ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rooflens import workload
from rooflens.dtypes import dtype
from rooflens.operators.alone import alone
from rooflens.operators.cost import Cost
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.points import Point
from rooflens.roofline.profile import AttentionPoint, Cache, GemmPoint, Profile


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured operator: what it needed, where it landed, and the memory level that its data lives in."""

    point: Point
    cost: Cost
    level: str
    achieved_bytes_per_s: float
    trusted: bool
    attention: AttentionPoint | None = None
    gemm: GemmPoint | None = None
    why_not: str | None = None


def observations(profile: Profile) -> tuple[Observation, ...]:
    """The operators of a profile, products first, then decode attention by dtype and context."""
    machine = profile.machine()
    gemms = (_gemm(g, machine) for g in profile.gemms)
    cells = (_attention(a, machine, profile) for a in profile.attention)
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


def level_of(working_set_bytes: float, caches: tuple[Cache, ...], threads: int) -> str:
    """The smallest cache level that holds the working set, all of its instances together; else main memory.

    A quarter is left to everything else that lives there.
    """
    held = [c for c in caches if 0.75 * c.bytes * min(c.instances, threads) >= working_set_bytes]
    return min(held, key=lambda c: c.bytes * c.instances).level if held else "main"


def _attention(cell: AttentionPoint, machine: Machine, profile: Profile) -> Observation | None:
    cost = attention_cost(cell)
    level = level_of(float(cost.kv_bytes), profile.device.caches, profile.device.threads)
    name = f"decode attention {cell.dtype} S={cell.context}"
    placed = _placed(name, cost, machine, level, cell.time_s, cell.overhead_s)
    if placed is None:
        return None
    rate = float(cost.kv_bytes) / cell.time_s
    return Observation(placed[0], cost, placed[1], rate, cell.trusted, attention=cell, why_not=cell.why_not)


def _gemm(gemm: GemmPoint, machine: Machine) -> Observation | None:
    cost = gemm_cost(gemm)
    placed = _placed(f"GEMM {gemm.dtype} {gemm.m}x{gemm.n}x{gemm.k}", cost, machine, "main", gemm.time_s)
    if placed is None:
        return None
    rate = float(cost.bytes) / gemm.time_s
    return Observation(placed[0], cost, placed[1], rate, gemm.trusted, gemm=gemm, why_not=gemm.why_not)


def _placed(
    name: str, cost: Cost, machine: Machine, level: str, time_s: float, launch_s: float | None = None
) -> tuple[Point, str] | None:
    """Placed under the roof of the level its data lives in, or of main memory where that level was not measured.

    launch_s: the same calls over one cached token, measured beside it. None when this machine has no such roof.
    """
    if not machine.find("memory", level="main") or not machine.has(next(iter(cost.flops))):
        return None
    known = level if level == "main" or machine.find("memory", level=level) else "main"
    there = machine if known == "main" else machine.resident(known)
    point = place(name, cost, there, time_s, launch_s)
    note = f"cache-resident ({level})" if level != "main" else None
    return replace(point, note=note), known
