"""All rows priced at once: kernels that differ only in their sizes are one kernel whose sizes are arrays.

The formula is the product's own (prediction.reached, prediction.served), fed with columns instead of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy import rows as measured
from benchmarks.accuracy.priors import BEGIN, ENGINES, constants, values
from benchmarks.accuracy.rows import Row
from rooflens.catalogue.calibrations import EngineCosts, ServedConstants
from rooflens.operators.cost import Cost, Precision
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.reached import LLAMA, Pass, part_of, reached, scans, stored_in
from rooflens.prediction.served import TOGETHER, prompts_s, small_s, together, unloaded_s
from rooflens.records import fields, record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.workload import Operator, Step, operators, prefill, suited

KINDS = ("tpot", "ttft", "latency", "elapsed", "prefill", "decode")
PASSES: tuple[Pass, ...] = ("decode", "one", "mixed")
MATHS = ("fp8", "fp4", "int8")
HALF = 0.5  # of the first token's fixed cost that a batch which is read together meets
Column = np.ndarray[Any, np.dtype[np.float64]]


@record
class Group:
    """One kernel of many questions. at: which; count: how often in each; uses: the constants that it reads."""

    which: Pass
    operator: Operator
    precision: Precision
    machine: Machine
    engine: str
    at: Column
    count: Column
    uses: frozenset[str]

    def price(self, c: ServedConstants, small: Column) -> tuple[Column, Column]:
        """Seconds at the roofs and of fixed costs, each times its count."""
        found = reached(c, self.operator, self.precision, self.machine, self.which, small[self.at], engine=self.engine)
        return self.count * found.roofs_s, self.count * found.fixed_s


class Table:
    """Rows, each pointing to a question that is priced once."""

    def __init__(self, of: Sequence[Row]) -> None:
        self.rows = list(of)
        questions: dict[tuple[Any, ...], int] = {}
        self.index = np.array([questions.setdefault(_question(row), len(questions)) for row in self.rows])
        first = [int(np.flatnonzero(self.index == i)[0]) for i in range(len(questions))]
        self.asked = [self.rows[i] for i in first]
        self.deployments = [measured.deployment(row) for row in self.asked]
        self.groups = list(_groups(self.asked, self.deployments))
        n = len(questions)
        self.at = np.concatenate([group.at + n * PASSES.index(group.which) for group in self.groups])
        self.engines = np.array([ENGINES.index(row.engine) for row in self.asked])
        self.kinds = np.array([KINDS.index(row.what) for row in self.rows])
        each = list(zip(self.asked, self.deployments, strict=True))
        self.shared = np.array([row.dp > 1 and row.ep > 1 for row in self.asked])
        self.running = np.array([max(float(d.batch) / row.dp, 1.0) for row, d in each])
        self.waiting = np.array([max(row.batch / float(d.batch) - 1.0, 0.0) for row, d in each])
        self.output = np.array([float(d.output) for d in self.deployments])
        self.many = np.array([_many(row, d) for row, d in each])

    def sums(self, c: ServedConstants, costs: EngineCosts, kept: Sums | None = None, changed: str = "") -> Sums:
        """The passes of every question. kept, changed: sums of before, and the one constant that is not as it was."""
        smalls = {which: small_s(c, costs, which) * np.ones(len(self.asked)) for which in PASSES}
        touched = _touched(changed)
        found = Sums([], [])
        for i, group in enumerate(self.groups):
            old = kept is not None and not (touched & group.uses)
            one = (kept.roofs[i], kept.fixed[i]) if kept and old else group.price(c, smalls[group.which])
            found.roofs.append(one[0])
            found.fixed.append(one[1])
        return found

    def passes(self, sums: Sums) -> dict[str, tuple[Column, Column]]:
        """Seconds at the roofs and of fixed costs, by pass, of every question."""
        n, found = len(self.asked), {}
        two = [np.bincount(self.at, np.concatenate(of), n * len(PASSES)) for of in (sums.roofs, sums.fixed)]
        for i, which in enumerate(PASSES):
            found[which] = (two[0][i * n : (i + 1) * n], two[1][i * n : (i + 1) * n])
        return found

    def costs(self, c: ServedConstants) -> EngineCosts:
        """What each question's engine adds, as columns."""
        of = {f.name: [getattr(c.engines[engine], f.name) for engine in ENGINES] for f in fields(EngineCosts)}
        return EngineCosts(**{name: np.array(values)[self.engines] for name, values in of.items()})

    def times(self, c: ServedConstants, costs: EngineCosts, sums: Sums) -> dict[str, Column]:
        """Seconds of each kind of time, of every question."""
        passes = self.passes(sums)
        at_roofs, fixed = passes["decode"]
        step = at_roofs + fixed + costs.host_s + costs.sequence_s * self.running
        one, mixed = together(*passes["one"]), together(*passes["mixed"])
        alone = unloaded_s(costs, one, np.where(self.shared, c.spread_first_s, 0.0))
        each = mixed / self.many
        tpot = step + prompts_s(costs, step, alone, each, self.running, self.output)
        met = costs.first_met * each * np.maximum(self.running - 1.0, 0.0)
        read = mixed + HALF * costs.first_s
        return {
            "tpot": tpot, "elapsed": tpot, "decode": step, "latency": read + self.output * step, "prefill": read,
            "ttft": alone + met + self.waiting * self.output * tpot,
        }  # fmt: skip

    def parts(self, found: Mapping[str, float]) -> Column:
        """Seconds of every row at the roofs, in fixed costs, and while prompts are read."""
        c = constants(found)
        costs = self.costs(c)
        sums = self.sums(c, costs)
        at_roofs, fixed = self.passes(sums)["decode"]
        fixed = fixed + costs.host_s + costs.sequence_s * self.running
        times = self.times(c, costs, sums)
        token = np.stack([at_roofs, fixed, times["tpot"] - at_roofs - fixed])
        whole = np.stack([at_roofs * self.output, fixed * self.output, times["prefill"]])
        static = np.array([row.what == "latency" for row in self.rows])
        return np.where(static[:, None], whole[:, self.index].T, token[:, self.index].T)

    def predicted(self, found: Mapping[str, float], engine: str = "") -> Column:
        """Seconds of every row, by its own engine or by the one that is named."""
        return self.by(constants(found), engine)

    def by(self, c: ServedConstants, engine: str = "") -> Column:
        """The same by constants as the product holds them."""
        costs = c.engines[engine] if engine else self.costs(c)
        return self.chosen(self.times(c, costs, self.sums(c, costs)))

    def chosen(self, times: Mapping[str, Column]) -> Column:
        """Of the times of the questions, those that the rows measured."""
        return np.array([times[kind] for kind in KINDS])[self.kinds, self.index]


@record
class Sums:
    """What the groups gave: seconds at the roofs and of fixed costs."""

    roofs: list[Column]
    fixed: list[Column]


class _Seen:
    """Constants that say which of them were read."""

    def __init__(self, of: Any, names: set[str], path: str = "") -> None:
        self._of, self._names, self._path = of, names, path

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        if isinstance(value, dict):
            return _Seen(value, self._names, f"{name}.")
        self._names.add(name)
        return value

    def __getitem__(self, key: str) -> Any:
        self._names.add(self._path + key)
        return self._of[key]

    def get(self, key: str, default: Any) -> Any:
        return self[key] if key in self._of else default


def _question(row: Row) -> tuple[Any, ...]:
    sizes = (row.batch, row.prompt, row.output)
    layout = (row.tp, row.ep, row.dp)
    return row.model, row.chip, row.engine, row.weights, *layout, *sizes, row.static, row.what == "decode"


def _many(row: Row, d: Deployment) -> float:
    """Prompts of a replica in one full pass."""
    if row.static:
        return float(d.batch) / row.dp
    return min(max(1.0, (TOGETHER / float(d.prompt) + 0.5) // 1), max(float(d.batch) / row.dp, 1.0))


def _steps(row: Row, d: Deployment) -> Iterator[tuple[Pass, Step]]:
    """The passes of a question."""
    yield "decode", d.step("decode")
    if row.what != "decode":
        yield "one", d.step("prefill")
        yield "mixed", prefill(_many(row, d) * row.dp, d.prompt, d.prompt, **d.how)


def _groups(asked: Sequence[Row], deployments: Sequence[Deployment]) -> Iterator[Group]:
    found: dict[tuple[Any, ...], list[tuple[int, Operator, Deployment]]] = {}
    for i, (row, d) in enumerate(zip(asked, deployments, strict=True)):
        for which, step in _steps(row, d):
            for operator in operators(suited(d.model, step.phase), step, d.precision):
                found.setdefault(_kind(row, d, which, operator), []).append((i, operator, d))
    for (which, *_, engine), members in found.items():
        yield _group(which, engine, members)


def _kind(row: Row, d: Deployment, which: Pass, operator: Operator) -> tuple[Any, ...]:
    """All that the price of a kernel reads beside its sizes."""
    part, engine = part_of(operator), LLAMA if row.engine == LLAMA else ""
    if operator.collective is not None:
        return (which, d.machine.family, "link", engine)
    own = stored_in(operator, part, d.precision)
    stored = (own.name, d.precision.activations.name, d.precision.stored("expert").name if part == "router" else "")
    has = tuple(bool(getattr(operator.cost, name)) for name in ("weight_bytes", "kv_bytes", "activation_bytes"))
    marks = len(operator.rows), part == "attend" and "R" in (operator.letters or ()), part == "ssm" and scans(operator)
    return which, part, stored, tuple(operator.cost.flops), has, marks, _proportions(d.machine), engine


def _group(which: Pass, engine: str, members: Sequence[tuple[int, Operator, Deployment]]) -> Group:
    """Kernels on chips of the same proportions, all on the first one's: half as fast a chip is twice the demand."""
    _, like, d = members[0]
    made = replace(like, cost=_columns([_scaled(o.cost, each.machine, d.machine) for _, o, each in members]))
    machine = _slim(d.machine, made.cost, d.precision)
    small, names = np.ones(1), set[str]()
    seen: Any = _Seen(constants(values(BEGIN)), names)
    reached(seen, made, d.precision, machine, which, small, engine=engine)
    at = np.array([i for i, _, _ in members])
    count = np.array([float(operator.count) for _, operator, _ in members])
    return Group(which, made, d.precision, machine, engine, at, count, frozenset(names | {f"{which} small"}))


def _proportions(machine: Machine) -> tuple[Any, ...]:
    """What two chips must share for one to be the other, only faster: the kind, its paths, and their ratios."""
    rates = [machine.compute(math).floor_value if machine.has(math) else 0.0 for math in ("bf16", "fp16", *MATHS)]
    return machine.family, *(round(rate / max(rates), 3) for rate in rates)


def _scaled(cost: Cost, own: Machine, other: Machine) -> Cost:
    """The demand that takes `other` as long as this one takes its own machine."""
    if own is other:
        return cost
    read = other.memory("read").floor_value / own.memory("read").floor_value
    link = other.the_link().floor_value / own.the_link().floor_value if float(cost.link_bytes) else 1.0
    return Cost(
        {m: float(f) * other.compute(m).floor_value / own.compute(m).floor_value for m, f in cost.flops.items()},
        **{name: float(getattr(cost, name)) * read for name in ("weight_bytes", "kv_bytes", "activation_bytes")},
        link_bytes=float(cost.link_bytes) * link,
    )


def _slim(machine: Machine, cost: Cost, precision: Precision) -> Machine:
    """The machine with the ceilings that such a kernel asks for."""
    maths, memory = {*cost.flops, precision.activations.math, "fp4"}, ("memory", "main")
    kept = [c for c in machine.ceilings if c.dtype in maths or c.kind == "link" or (c.kind, c.level) == memory]
    return replace(machine, ceilings=tuple(kept))


def _columns(costs: Sequence[Cost]) -> Cost:
    def column(get: Callable[[Cost], Any]) -> Any:
        values = np.array([float(get(cost)) for cost in costs])
        return values if values.any() else 0.0

    names = ("weight_bytes", "kv_bytes", "activation_bytes", "link_bytes", "network_bytes")
    flops = {math: column(lambda cost, math=math: cost.flops[math]) for math in costs[0].flops}
    return Cost(flops, **{name: column(lambda cost, name=name: getattr(cost, name)) for name in names})


_SMALL = {"kernel": "decode small", "mixed": "mixed small", "prefill": "one small", "decode": "decode small"}


def _touched(changed: str) -> set[str]:
    """What a group must use to be priced anew when this constant has changed."""
    last = changed.rpartition(".")[2]
    if last in ("kernel_s", "mixed_s", "prefill_s") or last.endswith("_kernel"):
        return {_SMALL[last.partition("_")[0]]}
    return {changed}
