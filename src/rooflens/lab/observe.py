"""Measured operators meet the roof: each is priced from its row and placed on the machine's own ceilings."""

from __future__ import annotations

from collections.abc import Sequence

from rooflens import workload
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.operators.alone import Alone, alone
from rooflens.operators.cost import Cost, Precision, cost_of, kernels, total
from rooflens.operators.standard import AttentionForm
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.points import Point
from rooflens.roofline.profile import AttentionPoint, GemmPoint, Profile
from rooflens.workload import Operator

NAIVE, REPLAYED, BLOCKED = "naive", "fused, graph", "blocked, graph"  # ways of a cell, as the GPU's backend names them


@record
class Observation:
    """One measured operator: what it needed and where it landed, its data coming from main memory.

    placed: absent where no trusted memory slope or no trusted roof of its dtype places it; its counts need none.
    """

    name: str
    cost: Cost
    achieved_bytes_per_s: float
    trusted: bool
    placed: Point | None = None
    attention: AttentionPoint | None = None
    gemm: GemmPoint | None = None
    why_not: str | None = None

    @property
    def point(self) -> Point:
        """Where it landed. Raises RooflensError for one that is not placed (and so not trusted)."""
        if self.placed is None:
            raise RooflensError(f"{self.name} is not placed: {self.why_not}")
        return self.placed

    @property
    def intensity_flops_per_byte(self) -> float:
        """FLOPs over all bytes moved, as counted."""
        return float(self.cost.total_flops) / float(self.cost.bytes)


def observations(profile: Profile) -> tuple[Observation, ...]:
    """The operators of a profile: products that can be placed, then all attention, by dtype and context."""
    machine = profile.machine()
    gemms = (_gemm(g, machine) for g in profile.gemms)
    ways = profile.device.kind == "gpu"
    return (*(g for g in gemms if g), *(_attention(a, machine, ways=ways) for a in profile.attention))


def read_slope(machine: Machine) -> bool:
    """Whether this machine has a slope to set a read from main memory under."""
    return any(c.access in ("read", None) and c.value > 0 for c in machine.find("memory", level="main"))


def attention_cells(seen: Sequence[Observation]) -> list[tuple[Observation, AttentionPoint]]:
    """The decode attention among the observations, in the order of decode_attention.json."""
    return [(o, o.attention) for o in seen if o.attention]


def attention_cost(cell: AttentionPoint) -> Cost:
    """One token's attention over the cache in all layers: 4 S D FLOPs and 2 S D cached values a layer."""
    return _alone(cell, "flash").cost(_precision(cell)) * cell.layers


def attention_kernels(cell: AttentionPoint) -> list[Operator]:
    """The kernels of a cell as it was computed: one a layer where it is fused, else scores, softmax and values."""
    found = _alone(cell, "unfused" if cell.implementation == NAIVE else "flash")
    letters, precision = found.letters or {}, _precision(cell)
    return [
        Operator(rows[0].name, cell.layers, total(cost_of(row, letters, precision) for row in rows), rows)
        for rows in kernels(found.rows)
    ]


def attention_name(cell: AttentionPoint, *, ways: bool) -> str:
    """What sets a cell apart: model and batch where they are not the usual, dtype, context, and (`ways`) its way."""
    named = (cell.model or "MiniGPT").removesuffix(" layer")
    model = "" if named == "MiniGPT" else f"{named} batch {cell.batch} "
    cache = f" with {cell.kv_dtype} cache" if cell.kv_dtype else ""
    way = f" ({cell.implementation})" if ways else ""
    phase = "decode" if cell.tokens == 1 else "prefill"
    return f"{phase} attention {model}{cell.dtype}{cache} S={cell.context}{way}"


def gemm_cost(gemm: GemmPoint) -> Cost:
    """A product of its own: 2 M N K FLOPs, three matrices moved."""
    return alone(f"gemm:M={gemm.m},K={gemm.k},N={gemm.n}").cost(workload.precision(dtype(gemm.dtype)))


def _alone(cell: AttentionPoint, form: AttentionForm) -> Alone:
    heads = f"H={cell.heads},K={cell.kv_heads or cell.heads},W={cell.width // cell.heads}"
    return alone(f"attention:{heads},B={cell.batch},T={cell.tokens},S={cell.context}", form)


def _precision(cell: AttentionPoint) -> Precision:
    return workload.precision(dtype(cell.dtype), kv=cell.kv_dtype)


def _attention(cell: AttentionPoint, machine: Machine, *, ways: bool) -> Observation:
    cost, name = attention_cost(cell), attention_name(cell, ways=ways)
    point = _placed(name, replace(cost, launches=float(cell.calls)), machine, cell.time_s, cell.overhead_s)
    rate = float(cost.kv_bytes) / cell.time_s
    lacking = None if point else f"no trusted memory slope or no trusted {cell.dtype} roof to set it against"
    why_not = "; ".join(filter(None, (cell.why_not, lacking))) or None
    return Observation(name, cost, rate, cell.trusted and point is not None, point, attention=cell, why_not=why_not)


def _gemm(gemm: GemmPoint, machine: Machine) -> Observation | None:
    cost = gemm_cost(gemm)
    name = f"GEMM {gemm.dtype} {gemm.m}x{gemm.n}x{gemm.k}" if gemm.name.startswith("gemm") else gemm.name
    point = _placed(name, cost, machine, gemm.time_s)
    rate = float(cost.bytes) / gemm.time_s
    return Observation(name, cost, rate, gemm.trusted, point, gemm=gemm, why_not=gemm.why_not) if point else None


def _placed(name: str, cost: Cost, machine: Machine, time_s: float, launch_s: float | None = None) -> Point | None:
    """Placed under the roofs of this machine; None when it has no memory slope or no roof of this dtype.

    launch_s: the same calls over one cached token, measured beside it.
    """
    if not read_slope(machine) or not machine.has(next(iter(cost.flops))):
        return None
    return place(name, cost, machine, time_s, launch_s)
