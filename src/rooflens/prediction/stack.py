"""What to expect of a plain stack of kernels on a machine that was measured: its own figures, and one constant.

A step is the ideal list of kernels, each at the rates measured, plus what a kernel costs apart from its work, plus the
small kernels (norms, rotary, activations, sums, cache writes) that ride in the ideal list and that a plain stack runs
one by one. A collective takes what it took when it was measured: nothing else runs beside it. A host that starts each
kernel is a clock of its own beside the device's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rooflens.arrays import Number, is_array, larger, maximum
from rooflens.catalogue.calibrations import StackConstants
from rooflens.catalogue.calibrations import stack as constants
from rooflens.errors import NoPath, RooflensError
from rooflens.operators.cost import Precision
from rooflens.operators.rows import Function, Row
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.predicting import Expected
from rooflens.prediction.record import Constant
from rooflens.records import field, record, replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.links import collective_s
from rooflens.roofline.machines import overridden
from rooflens.roofline.price import Priced, price
from rooflens.roofline.profile import AttentionPoint, GemmPoint, Profile
from rooflens.samples import median
from rooflens.workload import Operator, Phase

SMALL: Mapping[Function, float] = {"rotary": 4, "activation": 2}  # kernels of a row; any other is one
CACHE_WRITES = 2.0  # beside attention, a layer writes its keys and its values
FEW_ROWS = 16  # a product with at most so many rows streams its weights
SHORT = 1024  # positions up to which attention is mostly its fixed cost


@record
class Stack:
    """The figures of one measured machine. machine: its medians, compute at the settled rate.

    product_s, attention_s, small_s: seconds that a kernel of this kind costs apart from its work. attention_share: of
    the read rate, what decode attention reaches over a long cache. host_s: what a launch costs the host, 0 under a
    graph. small: kernels a row becomes, by its function, where a stack differs from SMALL.
    """

    machine: Machine
    product_s: float
    attention_s: float
    small_s: float
    attention_share: float
    host_s: float = 0.0
    origin: str = "measured here"
    small: Mapping[Function, float] = field(default_factory=dict)
    found: StackConstants | None = None

    @property
    def constants(self) -> tuple[Constant, ...]:
        """Its figures with their origin."""
        names = ("product_s", "attention_s", "small_s", "attention_share", "host_s")
        own = tuple(Constant(name, getattr(self, name), self.origin) for name in names)
        found = self.found or constants()
        rows = f"fitted on {found.decode.rows} rows, {found.date}"
        return (*own, Constant("small kernel beside products, over one in a chain", found.small_times, rows))

    @property
    def of_one_machine(self) -> bool:
        """What was measured on one machine says nothing of another."""
        return True

    def without(self, part: str) -> Stack | None:
        """The same kernels under a graph, where a host starts them one by one now."""
        return replace(self, host_s=0.0) if part == "host" and self.host_s else None

    def expect(self, deployment: Deployment, phase: Phase) -> Expected:
        """The time of one step: kernels at measured rates, their fixed costs, and the small kernels between them."""
        here = self._linked(deployment.machine.link)
        there = replace(deployment, machine=here)
        operators = there.operators(phase)
        parts: dict[str, Number] = dict.fromkeys(("work", "fixed", "small", "launches", "latency"), 0.0)
        for operator in operators:
            for name, seconds in self._kernel(operator, there.precision, here):
                parts[name] = parts[name] + operator.count * seconds
        device_s = parts["work"] + parts["fixed"] + parts["small"] + parts["latency"]
        host_s = parts["launches"] * self.host_s
        time_s = operators[0].pipeline.step_s(larger(device_s, host_s))
        floor_s = deployment.floor(phase).floor_s
        added = {
            "reach": larger(0.0, parts["work"] - floor_s), "kernels": parts["fixed"] + parts["small"],
            "latency": parts["latency"], "host": larger(0.0, host_s - device_s),
        }  # fmt: skip
        spread = (self.found or constants()).decode if phase == "decode" else (self.found or constants()).prefill
        low, high = larger(time_s * spread.low, floor_s), larger(time_s * spread.high, floor_s)
        kept = {name: value for name, value in added.items() if is_array(value) or value}
        return Expected(larger(time_s, floor_s), low, high, kept)

    def assuming(self, assignments: Iterable[str]) -> Stack:
        """The same kernels where a person puts these figures in the place of the machine's own, as NAME=VALUE."""
        machine = overridden(self.machine, assignments)
        return replace(self, machine=machine, host_s=machine.launch_s("host") if self.host_s else 0.0)

    def _linked(self, link: str | None) -> Machine:
        """Its machine with collectives on this link."""
        return self.machine if link == self.machine.link else replace(self.machine, link=link)

    def _kernel(self, operator: Operator, precision: Precision, here: Machine) -> Iterator[tuple[str, Number]]:
        """Seconds of one kernel by their reason, and how many launches it is."""
        main = price(operator, here)
        attends = any(row.part == "attend" for row in operator.rows)
        work_s = _work_s(main, self.attention_share if attends else 1.0)
        yield "work", work_s
        if operator.collective is None:
            yield "fixed", self.attention_s if attends else self.product_s
        else:
            yield "latency", larger(0.0, _together_s(operator, here) - work_s)
        launches = 1.0 + (CACHE_WRITES if attends else 0.0)
        yield "small", CACHE_WRITES * self.small_s if attends else 0.0
        for row in operator.rows:
            count = self._small_kernels(row)
            launches += count
            yield "small", count * (self.small_s + _moved_s(row, operator, precision, here))
        yield "launches", launches

    def _small_kernels(self, row: Row) -> float:
        """Kernels that a row which rides becomes."""
        if not is_small(row):
            return 0.0
        return 1.0 if row.function is None else {**SMALL, **self.small}.get(row.function, 1.0)


def is_small(row: Row) -> bool:
    """Whether a plain stack runs this row as kernels of its own: vector work beside a product, scores apart."""
    scores = any(name == "P" for token in row.operands[2] for _, name in token.terms)
    return row.rides and row.part in ("norm", "elementwise") and not row.contracts and not scores


def stack(profile: Profile, *, eager: bool = False) -> Stack:
    """The stack of a measured profile, its kernels under a graph, or started one by one by a host (`eager`).

    Raises RooflensError for a profile without decode products, decode attention or launches.
    """
    machine = expected_machine(profile)
    read = machine.memory("read").value
    products = [_fixed_s(point, read) for point in profile.gemms if _streams(point)]
    attention = [point for point in profile.attention if _fused(point)]
    chained = machine.find("launch", level="kernel") or machine.find("launch", level="device")
    if not products or not attention or not chained:
        raise RooflensError(
            f"the profile of {profile.device.title} has no decode products, no fused decode attention or no launch of "
            "kernels; measure it with `rooflens lab`"
        )
    long, short = max(attention, key=lambda p: p.context * p.batch), [p for p in attention if p.context <= SHORT]
    share = min(1.0, _kv_bytes(long) / read / (long.time_s / long.layers))
    found = constants()
    return Stack(
        machine=machine,
        product_s=max(0.0, median(products)),
        attention_s=median(max(0.0, p.time_s / p.layers - _kv_bytes(p) / read) for p in short or [long]),
        small_s=found.small_times * chained[0].value,
        attention_share=share,
        host_s=machine.launch_s("host") if eager else 0.0,
        found=found,
    )


def expected_machine(profile: Profile) -> Machine:
    """The profile's machine at its medians, with the settled rate of each dtype, or burst scaled as others settled."""
    machine = profile.machine(profile.device.title)
    settled = {c.dtype: c.value for c in machine.ceilings if c.mode == "sustained"}
    fresh = {c.dtype: c.value for c in machine.ceilings if c.mode == "burst"}
    falls = [settled[d] / fresh[d] for d in settled if d in fresh]
    fall = median(falls) if falls else 1.0

    def usual(ceiling: Ceiling) -> Ceiling:
        value = ceiling.value
        if ceiling.kind == "compute":
            value = settled.get(ceiling.dtype, fall * fresh.get(ceiling.dtype, value))
        return replace(ceiling, value=value, best=None)

    return replace(machine, ceilings=tuple(usual(c) for c in machine.ceilings))


def _work_s(priced: Priced, share: float) -> Number:
    """The kernel's work at measured rates: memory at this share of the read rate."""
    times = {name: seconds / (share if name == "memory" else 1.0) for name, seconds in priced.times_s.items()}
    return maximum(times.values()) if times else 0.0


def _together_s(operator: Operator, machine: Machine) -> Number:
    """Seconds of a collective; where nobody measured its latency, those of its bytes alone."""
    try:
        return collective_s(operator, machine)
    except NoPath:
        return 0.0


def _moved_s(row: Row, operator: Operator, precision: Precision, machine: Machine) -> Number:
    """Seconds that a row's operands take through memory when it does not ride."""
    if operator.letters is None:
        return 0.0
    x, _, y = row.sizes(operator.letters)
    return (x + y) * precision.activations.bytes / machine.memory("copy").value


def _streams(point: GemmPoint) -> bool:
    return point.trusted and point.m <= FEW_ROWS and point.dtype in ("bf16", "fp16")


def _fixed_s(point: GemmPoint, read: float) -> float:
    return point.time_s - 2.0 * point.n * point.k / read


def _fused(point: AttentionPoint) -> bool:
    graphed = (point.implementation or "").endswith("graph")
    return (
        point.trusted and graphed and point.kv_dtype is None and point.tokens == 1 and point.dtype in ("bf16", "fp16")
    )


def _kv_bytes(point: AttentionPoint) -> float:
    heads = point.heads if point.kv_heads is None else point.kv_heads
    return 2.0 * 2.0 * point.batch * point.context * heads * point.width / point.heads
