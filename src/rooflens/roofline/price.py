"""The one idea, once: time is at least the largest of demand over rate. Everything that names a time calls this.

A kernel's price is the largest of its resources' times; a step's is the sum over its kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rooflens.arrays import Number, is_array, maximum
from rooflens.errors import NoPath
from rooflens.operators.cost import Cost, total
from rooflens.parallel import Pipeline
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.workload import Operator

NETWORK = "network"  # the link between nodes
VECTOR_MATH = "fp32"  # softmax, norms and scans are computed in fp32 on the vector unit


@record
class Priced:
    """One operator priced, `count` times. times_s: seconds by resource (compute:bf16, vector, memory, link, network).

    time_s is one kernel's floor; launch_s, beside it, is what starting it costs. unpriced: demands whose rate is not
    known, each a sentence; they are said, never free in silence.
    """

    name: str
    count: int
    cost: Cost
    times_s: Mapping[str, Number]
    time_s: Number
    launch_s: Number
    unpriced: tuple[str, ...]

    @property
    def bound(self) -> str:
        """compute, memory or link: the resource that gives the largest time, of one point (not of arrays)."""
        return kind_of(max(self.times_s, key=lambda r: float(self.times_s[r]))) if self.times_s else "none"


@record
class StepPrice:
    """A step priced. moved_bytes: those that were charged. floor_s: sum over kernels of the largest demand over rate.

    floor_overlapped_s: largest over resources of the sums, what perfect overlap between kernels would give. `pipeline`
    makes a step of one microbatch's way through the kernels; cost and bytes are those of one device in the whole step.
    """

    kernels: tuple[Priced, ...]
    cost: Cost
    moved_bytes: Number
    floor_s: Number
    floor_overlapped_s: Number
    launch_s: Number
    pipeline: Pipeline = Pipeline()

    @property
    def shares_s(self) -> dict[str, float]:
        """Seconds of the step by what binds each kernel."""
        shares: dict[str, float] = {}
        for kernel in self.kernels:
            shares[kernel.bound] = shares.get(kernel.bound, 0.0) + kernel.count * float(kernel.time_s)
        if self.pipeline.plain:
            return shares
        whole = sum(shares.values()) or 1.0
        return {kind: share * float(self.floor_s) / whole for kind, share in shares.items()}

    @property
    def bound(self) -> str:
        """The resource that binds the largest share of the time."""
        shares = self.shares_s
        return max(shares, key=lambda kind: shares[kind]) if shares else "none"

    @property
    def unpriced(self) -> tuple[str, ...]:
        """What was left out for want of a rate, each once."""
        return tuple(dict.fromkeys(sentence for kernel in self.kernels for sentence in kernel.unpriced))


def kind_of(resource: str) -> str:
    """`compute:bf16` and `vector` are compute, `network` is a link; memory and link are themselves."""
    return "compute" if resource.startswith(("compute", "vector")) else "link" if resource == NETWORK else resource


def times(cost: Cost, machine: Machine, *, activations: bool = True) -> tuple[dict[str, Number], tuple[str, ...]]:
    """Seconds each resource needs for `cost`, and what could not be priced.

    Weights and KV are charged at the read rate, activations (unless left out) at the copy rate. Rates are the best
    that is trusted (Ceiling.floor_value), since nothing may beat a floor.
    Raises NoPath for contractions or links that the machine cannot do, or whose rate is not known.
    """
    out: dict[str, Number] = {}
    for math, flops in cost.flops.items():
        if _some(flops):
            out[f"compute:{math}"] = flops / machine.compute(math).floor_value
    vector, unpriced = _vector(cost, machine)
    if vector is not None:
        out["vector"] = vector
    memory = cost.streamed_bytes / machine.memory("read").floor_value if _some(cost.streamed_bytes) else 0.0
    if activations and _some(cost.activation_bytes):
        copied, said = _copied(cost, machine)
        memory, unpriced = memory + copied, (*unpriced, *said)
    if _some(memory):
        out["memory"] = memory
    if _some(cost.link_bytes):
        out["link"] = cost.link_bytes / machine.the_link().floor_value
    if _some(cost.network_bytes):
        out["network"] = cost.network_bytes / machine.the_link(NETWORK).floor_value
    return out, unpriced


def price(operator: Operator, machine: Machine, *, activations: bool = True) -> Priced:
    """One kernel on one machine."""
    by_resource, unpriced = times(operator.cost, machine, activations=activations)
    time = maximum(by_resource.values()) if by_resource else 0.0
    launch = operator.cost.launches * machine.launch_s()
    return Priced(operator.name, operator.count, operator.cost, by_resource, time, launch, unpriced)


def price_step(operators: Iterable[Operator], machine: Machine, *, activations: bool = True) -> StepPrice:
    """A step on one machine. Without activations: the floor of predict (weights, KV, state), which may stay on chip."""
    made = tuple(operators)
    kernels = tuple(price(o, machine, activations=activations) for o in made)
    through = made[0].pipeline if made else Pipeline()
    cost = total(k.cost * k.count for k in kernels)
    cost = cost if through.plain else cost * through.work

    def step_s(seconds: Iterable[Number]) -> Number:
        sums: list[Number] = [0.0, 0.0]
        for operator, one in zip(made, seconds, strict=True):
            sums[operator.at_an_end] = sums[operator.at_an_end] + operator.count * one
        return through.step_s(*sums)

    resources = dict.fromkeys(resource for kernel in kernels for resource in kernel.times_s)
    return StepPrice(
        kernels,
        cost,
        cost.bytes if activations else cost.streamed_bytes,
        step_s(k.time_s for k in kernels),
        maximum([step_s(k.times_s.get(resource, 0.0) for k in kernels) for resource in resources] or [0.0]),
        step_s(k.launch_s for k in kernels),
        through,
    )


def started_s(price: StepPrice, machine: Machine, launches: float, *, hosted: bool) -> Number:
    """Seconds of a step with its launches: floor + launches x device cost.

    hosted: the host starts each, so it takes no less than launches x host cost, a clock of its own beside the device's.
    """
    on_device = price.floor_s + launches * machine.launch_s("device")
    return maximum([on_device, launches * machine.launch_s("host")]) if hosted else on_device


def _vector(cost: Cost, machine: Machine) -> tuple[Number | None, tuple[str, ...]]:
    if not _some(cost.vector_flops):
        return None, ()
    try:
        return cost.vector_flops / machine.compute(VECTOR_MATH, "vector").floor_value, ()
    except NoPath:
        what = f"the vector {VECTOR_MATH} rate of {machine.name} is not known"
        return None, (f"vector work (norms, softmax, rotary) is left out: {what}",)


def _copied(cost: Cost, machine: Machine) -> tuple[Number, tuple[str, ...]]:
    if machine.find("memory", level="main", access="copy") or not machine.find("memory", access="read", level="main"):
        return cost.activation_bytes / machine.memory("copy").floor_value, ()
    said = f"activations are charged at the read rate: the copy rate of {machine.name} is not known"
    return cost.activation_bytes / machine.memory("read").floor_value, (said,)


def _some(demand: Number) -> bool:
    return is_array(demand) or bool(demand > 0)
