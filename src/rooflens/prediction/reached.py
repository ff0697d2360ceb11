"""What a kernel asks of the roofs that engines reach, and what it costs beside its work: demands inflated, no time yet.

A roof that software reaches to a share s is a roof on which the demand is 1 / s times as large, so the price of an
estimate is the price of a floor on inflated demands. The sizes may be numbers, arrays or unknowns (operators.unknowns).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rooflens.arrays import Number, larger, maximum, smaller
from rooflens.catalogue.calibrations import ServedConstants
from rooflens.catalogue.kernels import operators as kernel_constants
from rooflens.dtypes import Dtype, dtype
from rooflens.operators.cost import Cost, Precision
from rooflens.operators.rows import Part
from rooflens.prediction.exchanging import bridged, left
from rooflens.prediction.intervals import LLAMA
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.price import times
from rooflens.workload import Operator

Pass = Literal["decode", "one", "mixed"]  # a step of writers; a prompt alone; prompts read beside writers
ANYTHING: Sequence[Part] = ("norm", "elementwise")
NARROW: Sequence[Part] = ("linear", "project", "expert", "shared")
NARROWED = ("fp8", "nvfp4")  # formats whose products narrow their activations on the fly
MATH_BITS = {"fp8": "8", "int8": "8", "fp6": "8", "fp4": "4", "int4": "4"}


@record
class Reached:
    """One kernel. own: seconds by resource at the reached rates. fixed_s: what it costs beside them.

    wide: of a product that narrows its activations on the fly, for `narrowing_s`, the same by 16-bit weights and
    arithmetic: narrowing never makes a product slower than that. None: it does not narrow.
    """

    own: Mapping[str, Any]
    fixed_s: Any = 0.0
    wide: Mapping[str, Any] | None = None
    narrowing_s: Any = 0.0

    @property
    def roofs_s(self) -> Number:
        """Seconds of its work at the reached rates, numbers or arrays: min(own + narrowing, max(own, wide))."""
        own = maximum(self.own.values()) if self.own else 0.0
        if self.wide is None:
            return own
        return smaller(own + self.narrowing_s, larger(own, maximum(self.wide.values())))


def reached(
    c: ServedConstants, operator: Operator, precision: Precision, machine: Machine, which: Pass, small_s: Any,
    *, engine: str = "",
) -> Reached:  # fmt: skip
    """What one kernel asks. small_s: seconds of a kernel too small to have a rate, in this pass of this engine.

    A collective sends at the reach of links, or of the bridges that devices share, and waits once. Not counted: vector
    work, which hides behind the rest.
    """
    cost = operator.cost
    if operator.collective is not None:
        link = c.link * bridges(machine, operator.collective.group.inside)
        sent = replace(cost, link_bytes=cost.link_bytes / link, network_bytes=cost.network_bytes / c.link)
        return Reached(times(sent, machine)[0], c.collective_s)
    part = part_of(operator)
    own = stored_in(operator, part, precision)
    fixed_s = small_s * (1.0 + _extra(c, operator, part, precision, machine, which))
    asked = times(_asked(c, cost, own, part, machine, which, engine), machine)[0]
    if part not in NARROW or own.name.removesuffix("_e4m3") not in NARROWED:
        return Reached(asked, fixed_s)
    wide = _asked(c, _widened(cost, own, precision), dtype("bf16"), part, machine, which, engine)
    return Reached(asked, fixed_s, times(wide, machine)[0], small_s * c.narrowing)


def bridges(machine: Machine, devices: int) -> float:
    """The share of a link's rate that is left of what devices share, as single collectives showed it of bridges."""
    return left(max(devices, 2), kernel_constants().exchanging.common) if bridged(machine) else 1.0


def _asked(c: ServedConstants, cost: Cost, own: Dtype, part: Part, machine: Machine, which: Pass, engine: str) -> Cost:
    """The demand with what software does not reach of each roof added to it."""
    expert, family = part == "expert", _family(c, machine, engine)
    streamed = min(c.memory[_width(own)] * (c.expert_memory if expert else 1.0) * family, c.most)
    computed = (c.expert_compute if expert else 1.0) * c.family_compute.get(machine.family, 1.0)
    moved = (c.activations if which == "decode" else 1.0) / (c.copy * family)
    return replace(
        cost,
        flops={math: flops / (c.compute[_math_bits(math)] * computed) for math, flops in cost.flops.items()},
        vector_flops=0.0,
        weight_bytes=cost.weight_bytes / streamed,
        kv_bytes=cost.kv_bytes / min(c.cache * family, c.most),
        activation_bytes=cost.activation_bytes * moved,
    )


def _family(c: ServedConstants, machine: Machine, engine: str) -> float:
    """Memory reach of this kind of chip, over NVIDIA's with HBM."""
    known = c.family_memory.get(machine.family, 1.0)
    slow = engine == LLAMA and machine.family in ("hbm", "cdna")
    return known * (c.family_memory["llama.cpp on hbm"] if slow else 1.0)


def _widened(cost: Cost, own: Dtype, precision: Precision) -> Cost:
    """The same product with 16-bit weights and arithmetic."""
    wide = precision.activations
    flops = {wide.math: cost.total_flops}
    return replace(cost, flops=flops, weight_bytes=cost.weight_bytes * (wide.bits / own.bits))


def _extra(
    c: ServedConstants, operator: Operator, part: Part, precision: Precision, machine: Machine, which: Pass
) -> float:
    """Kernels beside the main one, in small kernels."""
    extra = c.rider * (len(operator.rows) - 1)
    if part == "router":
        fused = _block_scaled(precision.stored("expert")) and bool(machine.has("fp4"))
        routed = c.experts_prefill if which == "one" else c.experts
        extra += routed * (min(c.fused_experts, 1.0) if fused else 1.0)
    if part == "attend" and operator.letters is not None and "R" in operator.letters:
        extra += c.latent
    if part == "ssm" and scans(operator):
        extra += c.scan
    return extra


def part_of(operator: Operator) -> Part:
    """What a kernel is, by the first of its rows that is more than a norm or an elementwise one."""
    return next((row.part for row in operator.rows if row.part not in ANYTHING), operator.rows[0].part)


def stored_in(operator: Operator, part: Part, precision: Precision) -> Dtype:
    """The format of its weights; of a kernel without any, the activations'."""
    weighed = any(row.part == part and row.home in ("weight", "tied") for row in operator.rows)
    return precision.stored(part) if weighed else precision.activations


def scans(operator: Operator) -> bool:
    """Whether it moves a recurrent state on, step by step, rather than in products of chunks."""
    return not any(row.contracts for row in operator.rows)


def _width(own: Dtype) -> str:
    """The kind of stored weight, as the constants name it."""
    if own.everywhere:
        return "gguf"
    if own.bits >= 16:
        return "16"
    if own.bits > 5:
        return "8"
    return "4" if _block_scaled(own) else "int4"


def _block_scaled(own: Dtype) -> bool:
    """Whether a 4-bit format has scales in hardware's own blocks (nvfp4, mxfp4), whatever it is computed in here."""
    return "fp4" in own.name


def _math_bits(math: str) -> str:
    return MATH_BITS.get(math.partition("_acc")[0], "16")
