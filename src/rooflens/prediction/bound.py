"""Many loads of one deployment: an engine's constants and the machine's rates folded once, as roofline.bound does.

An estimate is the price of inflated demands plus constants, so that it folds as a floor does: what is left of a kernel
is the largest of a few sums of coefficient x letters, and of one that narrows its activations also the smaller of two.
"""

from __future__ import annotations

from typing import Any

from rooflens.arrays import Number, larger, smaller
from rooflens.models import Block, Model
from rooflens.operators.unknowns import Monomial, Terms, terms
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.reached import Pass
from rooflens.prediction.served import Served, Two
from rooflens.records import record, replace
from rooflens.roofline.bound import Binding, Sum, contenders, less, total, value, values_of
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
class Kernels:
    """The kernels of one pass. base: the first resource of every kernel, together. fixed_s: of all."""

    model: Model
    layout: str
    sites: tuple[Block, ...]
    monomials: tuple[Monomial, ...]
    base: Sum
    rivals: tuple[tuple[Sum, ...], ...]
    narrow: tuple[Narrow, ...]
    fixed_s: float

    def at_roofs_s(self, step: Step) -> Number:
        """Seconds of all kernels at the reached roofs."""
        values = values_of(self, step)
        found = value(self.base, values)
        for rivals in self.rivals:
            found = found + _most(0.0, rivals, values)
        for kernel in self.narrow:
            more = _most(0.0, kernel.own, values)
            found = found + smaller(more + kernel.narrowing_s, _most(more, kernel.wide, values))
        return found


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
        kernels = self.passes[which]
        return kernels.at_roofs_s(step), kernels.fixed_s


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
    each = [(operator.count, served.asked(operator, deployment, which)) for operator in found]
    firsts, rivals, narrow = [], [], []
    for count, one in each:
        first, *others = contenders(_times(one.own, count)) or [{}]
        firsts.append(first)
        if one.wide is not None:
            wide = contenders(_times(one.wide, count))
            narrow.append(Narrow(_over(binding, others, first), _over(binding, wide, first), count * one.narrowing_s))
        elif others:
            rivals.append(_over(binding, others, first))
    base, fixed_s = binding.sum(total(firsts)), sum(count * float(one.fixed_s) for count, one in each)
    sites, monomials = tuple(binding.sites), tuple(binding.monomials)
    return Kernels(model, like.layout, sites, monomials, base, tuple(rivals), tuple(narrow), fixed_s)


def _times(by_resource: Any, count: int) -> list[Terms]:
    return [terms(seconds * count) for seconds in by_resource.values()]


def _over(binding: Binding, several: list[Terms], first: Terms) -> tuple[Sum, ...]:
    return tuple(binding.sum(less(one, first)) for one in several)


def _most(least: Number, several: tuple[Sum, ...], values: list[Number]) -> Number:
    for one in several:
        least = larger(least, value(one, values))
    return least
