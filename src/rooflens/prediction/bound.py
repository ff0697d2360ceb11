"""Many loads of one deployment: an engine's constants and the machine's rates folded once, as roofline.bound does.

An estimate is the price of inflated demands plus constants, so that it folds as a floor does: what is left of a kernel
is the largest of a few sums of coefficient x letters, and of one that narrows its activations also the smaller of two.
"""

from __future__ import annotations

from typing import Any

from rooflens.arrays import Number, larger, smaller
from rooflens.models import Block, Model
from rooflens.operators.unknowns import Monomial, Terms, terms
from rooflens.parallel import pipeline
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.reached import Pass, Reached
from rooflens.prediction.served import Served, Two
from rooflens.records import record, replace
from rooflens.roofline.bound import Binding, Sum, contenders, less, plain, total, value, values_of
from rooflens.workload import Step, operators, prefill, suited


@record
class Narrow:
    """A kernel that narrows its activations: its own other resources, and the wide product's, each over the first own.

    narrowing_s: what that costs; all of it together costs min(largest own + narrowing, largest of all).
    """

    own: tuple[Sum, ...]
    wide: tuple[Sum, ...]
    narrowing_s: float


@record
class Part:
    """Some kernels of a pass. base: the first resource of every kernel, together. fixed_s: of all."""

    base: Sum
    rivals: tuple[tuple[Sum, ...], ...]
    narrow: tuple[Narrow, ...]
    fixed_s: float

    def at_roofs_s(self, values: list[Number]) -> Number:
        """Seconds of all kernels at the reached roofs."""
        found = value(self.base, values)
        for rivals in self.rivals:
            found = found + _most(0.0, rivals, values)
        for kernel in self.narrow:
            more = _most(0.0, kernel.own, values)
            found = found + smaller(more + kernel.narrowing_s, _most(more, kernel.wide, values))
        return found


@record
class Kernels:
    """The kernels of one pass: those of the layers where a pipeline has several stages, and `ends` the others."""

    model: Model
    layout: str
    sites: tuple[Block, ...]
    monomials: tuple[Monomial, ...]
    layers: Part
    ends: Part

    def priced(self, step: Step) -> Two:
        """What Served.priced says of this step."""
        values = values_of(self, step)
        roofs_s, fixed_s = self.layers.at_roofs_s(values), self.layers.fixed_s
        if plain(step):
            return roofs_s, fixed_s
        through = pipeline(self.model, step, step.passes)
        at_ends_s = self.ends.at_roofs_s(values)
        return through.step_s(roofs_s, at_ends_s), through.step_s(fixed_s, self.ends.fixed_s)


@record
class BoundServed:
    """TPOT of one engine for any batch, prompt and output of one deployment; numbers or arrays of them."""

    served: Served
    deployment: Deployment
    passes: dict[Pass, Kernels]

    def tpot_s(self, batch: Number, prompt: Number, output: Number = 0.0, context: Number | None = None) -> Number:
        """As Served.tpot_s. Raises RooflensError for a load that is none, as workload does."""
        load = replace(self.deployment, batch=batch, prompt=prompt, output=output, context=context)
        return self.served.tpot_s(load, self.priced)

    def first_s(self, prompt: Number) -> Number:
        """As Served.first_s."""
        return self.served.first_s(replace(self.deployment, prompt=prompt), self.priced)

    def priced(self, deployment: Deployment, which: Pass, step: Step) -> Two:
        """A pass: what Served.priced says of it."""
        return self.passes[which].priced(step)


def bind(served: Served, deployment: Deployment) -> BoundServed:
    """The estimates of every load of this deployment. Raises NoPath for work that the machine cannot do."""
    steps: dict[Pass, Step] = {"decode": deployment.step("decode"), "one": deployment.step("prefill")}
    steps["mixed"] = prefill(1, 1, 1, **{**deployment.how, "microbatches": 1})
    return BoundServed(
        served, deployment, {which: _kernels(served, deployment, which, steps[which]) for which in steps}
    )


def _kernels(served: Served, deployment: Deployment, which: Pass, like: Step) -> Kernels:
    """A pass's kernels, their letters unknown."""
    model, binding = suited(deployment.model, like.phase), Binding()
    found = operators(model, like, deployment.precision, binding.letters)
    asked = [(operator, served.asked(operator, deployment, which)) for operator in found]
    layers, ends = (
        _part(binding, [(o.count, one) for o, one in asked if (like.pp > 1 and o.at_an_end) is wanted])
        for wanted in (False, True)
    )
    return Kernels(model, like.layout, tuple(binding.sites), tuple(binding.monomials), layers, ends)


def _part(binding: Binding, each: list[tuple[int, Reached]]) -> Part:
    """Kernels with how many of each there are, folded."""
    firsts, rivals, narrow = [], [], []
    for count, one in each:
        first, *others = contenders(_times(one.own, count)) or [{}]
        firsts.append(first)
        if one.wide is not None:
            wide = contenders(_times(one.wide, count))
            narrow.append(Narrow(_over(binding, others, first), _over(binding, wide, first), count * one.narrowing_s))
        elif others:
            rivals.append(_over(binding, others, first))
    fixed_s = sum(count * float(one.fixed_s) for count, one in each)
    return Part(binding.sum(total(firsts)), tuple(rivals), tuple(narrow), fixed_s)


def _times(by_resource: Any, count: int) -> list[Terms]:
    return [terms(seconds * count) for seconds in by_resource.values()]


def _over(binding: Binding, several: list[Terms], first: Terms) -> tuple[Sum, ...]:
    return tuple(binding.sum(less(one, first)) for one in several)


def _most(least: Number, several: tuple[Sum, ...], values: list[Number]) -> Number:
    for one in several:
        least = larger(least, value(one, values))
    return least
