"""Many steps of one model on one machine: constants folded once, so that pricing a step is a few multiplications.

The rows are counted with letters that are not numbers yet, and divided by the machine's rates, by the same code that
prices a single step. What is left of a kernel is the largest of a few sums of coefficient x letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rooflens.arrays import Number, larger, maximum
from rooflens.errors import RooflensError
from rooflens.models import Block, Model
from rooflens.operators.cost import Precision
from rooflens.operators.unknowns import Monomial, Polynomial, Terms, terms
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.price import times
from rooflens.workload import Step, decode, fixed_letters, moving_letters, operators

Sum = tuple[tuple[int, float], ...]  # monomials by index, each with its coefficient; the constant is first


@record
class Bound:
    """`price_step` for any step of one model, precision, machine and layout. The letters of a step may be arrays.

    sites: blocks whose letters differ in a step. base: the first resource of every kernel, together; rivals: of each
    kernel, how much more each other resource needs that may bind it; resources: each over the whole step.
    """

    model: Model
    layout: str
    sites: tuple[Block, ...]
    monomials: tuple[Monomial, ...]
    base: Sum
    rivals: tuple[tuple[Sum, ...], ...]
    resources: tuple[Sum, ...]
    launch_s: float
    unpriced: tuple[str, ...]

    def floor_s(self, step: Step) -> Number:
        """Sum over kernels of the largest demand over rate."""
        values = self._values(step)
        floor = _value(self.base, values)
        for kernel in self.rivals:
            more: Number = 0.0
            for rival in kernel:
                more = larger(more, _value(rival, values))
            floor = floor + more
        return floor

    def floor_overlapped_s(self, step: Step) -> Number:
        """Largest over resources of the sums over kernels."""
        values = self._values(step)
        return maximum([_value(resource, values) for resource in self.resources])

    def _values(self, step: Step) -> list[Number]:
        if step.layout != self.layout:
            raise RooflensError(f"these prices were bound for {self.layout}; bind again for {step.layout}")
        letters = [moving_letters(self.model, step, site) for site in self.sites]
        return [_product(monomial, letters) for monomial in self.monomials]


@dataclass
class _Binding:
    """What gathers while binding."""

    sites: list[Block] = field(default_factory=list)
    monomials: dict[Monomial, int] = field(default_factory=lambda: {(): 0})

    def letters(self, model: Model, step: Step, block: Block) -> dict[str, Any]:
        """The letters of a block, those that steps set being unknown."""
        like = [i for i, b in enumerate(self.sites) if _moves(b) == _moves(block)]
        site = like[0] if like else len(self.sites)
        self.sites += [] if like else [block]
        unknown = {name: Polynomial.of((site, name)) for name in moving_letters(model, step, block)}
        return {**fixed_letters(model, step, block), **unknown}

    def sum(self, of: Terms) -> Sum:
        """Terms with their monomials numbered, the constant first."""
        return tuple(sorted((self.monomials.setdefault(m, len(self.monomials)), c) for m, c in of.items()))


def bind(
    model: Model, precision: Precision, machine: Machine, like: Step | None = None, *, activations: bool = True
) -> Bound:
    """The price of every step on as many devices as `like` (one). Raises NoPath as `price_step` does."""
    binding, like = _Binding(), like or decode()
    found = operators(model, like, precision, binding.letters)
    priced = [times(operator.cost, machine, activations=activations) for operator in found]
    demands = [
        {resource: terms(seconds * operator.count) for resource, seconds in by_resource.items()}
        for operator, (by_resource, _) in zip(found, priced, strict=True)
    ]
    able = [_able(demand.values()) for demand in demands]
    base = binding.sum(_total(first for first, *_ in able))
    rivals = tuple(tuple(binding.sum(_less(one, first)) for one in others) for first, *others in able if others)
    names = dict.fromkeys(name for demand in demands for name in demand)
    resources = tuple(binding.sum(_total(demand.get(name, {}) for demand in demands)) for name in names)
    launch_s = sum(operator.count * operator.cost.launches for operator in found) * machine.launch_s()
    unpriced = tuple(dict.fromkeys(sentence for _, sentences in priced for sentence in sentences))
    sites, monomials = tuple(binding.sites), tuple(binding.monomials)
    return Bound(model, like.layout, sites, monomials, base, rivals, resources or ((),), launch_s, unpriced)


def _moves(block: Block) -> object:
    """What the letters of a step depend on in a block."""
    return block.window, block.local, block.letters


def _able(resources: Iterable[Terms]) -> list[Terms]:
    """The resources that can be the largest of a kernel: no other needs as much or more, term by term."""
    kept: list[Terms] = [{}]
    for one in resources:
        if not any(_covers(other, one) for other in kept):
            kept = [other for other in kept if not _covers(one, other)] + [one]
    return kept


def _covers(more: Terms, less: Terms) -> bool:
    return all(more.get(monomial, 0.0) >= c for monomial, c in less.items())


def _total(several: Iterable[Terms]) -> Terms:
    return sum(map(Polynomial, several), Polynomial({})).terms


def _less(more: Terms, less: Terms) -> Terms:
    return (Polynomial(more) + Polynomial(less) * -1.0).terms


def _product(monomial: Monomial, letters: list[dict[str, Number]]) -> Number:
    value: Number | None = None  # not 1.0: a product saved is a tenth of the time of an array
    for site, letter in monomial:
        value = letters[site][letter] if value is None else value * letters[site][letter]
    return 1.0 if value is None else value


def _value(of: Sum, values: list[Number]) -> Number:
    total: Number = 0.0
    for index, coefficient in of:
        total = total + coefficient * values[index]
    return total
