"""Many steps of one model on one machine: constants folded once, so that pricing a step is a few multiplications.

The rows are counted with letters that are not numbers yet, and divided by the machine's rates, by the same code that
prices a single step. What is left of a kernel is the largest of a few sums of coefficient x letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from rooflens.arrays import Number, larger, maximum
from rooflens.errors import RooflensError
from rooflens.models import Block, Model
from rooflens.operators.cost import Precision
from rooflens.operators.unknowns import Monomial, Polynomial, Terms, terms
from rooflens.parallel import pipeline
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.price import times
from rooflens.workload import Step, decode, fixed_letters, moving_letters, operators

Sum = tuple[tuple[int, float], ...]  # monomials by index, each with its coefficient; the constant is first


@record
class Sums:
    """Kernels of a pass. base: the first resource of every kernel, together; resources: each over all these kernels.

    rivals: of each kernel, how much more each other resource needs that may bind it.
    """

    base: Sum = ()
    rivals: tuple[tuple[Sum, ...], ...] = ()
    resources: tuple[Sum, ...] = ()
    launch_s: float = 0.0

    def floor_s(self, values: list[Number]) -> Number:
        """Sum over kernels of the largest demand over rate."""
        floor = value(self.base, values)
        for kernel in self.rivals:
            more: Number = 0.0
            for rival in kernel:
                more = larger(more, value(rival, values))
            floor = floor + more
        return floor


class Folded(Protocol):
    """What was bound: a model in a layout, the blocks whose letters differ in a step, and the products of letters."""

    @property
    def model(self) -> Model:
        """Its rows."""

    @property
    def layout(self) -> str:
        """What may not differ between steps."""

    @property
    def sites(self) -> tuple[Block, ...]:
        """Blocks whose letters differ in a step."""

    @property
    def monomials(self) -> tuple[Monomial, ...]:
        """Products of letters."""


@record
class Bound:
    """`price_step` for any step of one model, precision, machine and layout. The letters of a step may be arrays.

    sites: blocks whose letters differ in a step. kernels: all of them, or those of the layers where a pipeline has
    several stages, and `ends` the others.
    """

    model: Model
    layout: str
    sites: tuple[Block, ...]
    monomials: tuple[Monomial, ...]
    kernels: Sums
    ends: Sums
    unpriced: tuple[str, ...]

    def floor_s(self, step: Step) -> Number:
        """Sum over kernels of the largest demand over rate, for all microbatches."""
        values = values_of(self, step)
        floor = self.kernels.floor_s(values)
        return floor if plain(step) else _through(self.model, step, floor, self.ends.floor_s(values))

    def floor_overlapped_s(self, step: Step) -> Number:
        """Largest over resources of the sums over kernels."""
        values = values_of(self, step)
        sums = [value(resource, values) for resource in self.kernels.resources]
        if not plain(step):
            ends = [value(resource, values) for resource in self.ends.resources]
            sums = [_through(self.model, step, one, end) for one, end in zip(sums, ends, strict=True)]
        return maximum(sums or [0.0])

    def launch_s(self, step: Step) -> Number:
        """What starting the kernels costs, on the device."""
        launch_s = self.kernels.launch_s
        return launch_s if plain(step) else _through(self.model, step, launch_s, self.ends.launch_s)


class Binding:
    """What gathers while binding: the places whose letters a step sets, and the products of letters, numbered."""

    def __init__(self) -> None:
        self.sites: list[Block] = []
        self.monomials: dict[Monomial, int] = {(): 0}

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

    def sums(self, demands: list[dict[str, Terms]], names: tuple[str, ...], launch_s: float) -> Sums:
        """What each kernel demands of each resource, folded."""
        able = [contenders(demand.values()) for demand in demands]
        return Sums(
            self.sum(total(first for first, *_ in able)),
            tuple(tuple(self.sum(less(one, first)) for one in others) for first, *others in able if others),
            tuple(self.sum(total(demand.get(name, {}) for demand in demands)) for name in names),
            launch_s,
        )


def bind(
    model: Model, precision: Precision, machine: Machine, like: Step | None = None, *, activations: bool = True
) -> Bound:
    """The price of every step on as many devices as `like` (one). Raises NoPath as `price_step` does."""
    binding, like = Binding(), like or decode()
    found = operators(model, like, precision, binding.letters)
    priced = [times(operator.cost, machine, activations=activations) for operator in found]
    demands = [
        {resource: terms(seconds * operator.count) for resource, seconds in by_resource.items()}
        for operator, (by_resource, _) in zip(found, priced, strict=True)
    ]
    names = tuple(dict.fromkeys(name for demand in demands for name in demand))
    launches = [float(operator.count * operator.cost.launches) * machine.launch_s() for operator in found]
    apart = [like.pp > 1 and operator.at_an_end for operator in found]
    kernels, ends = (
        binding.sums(
            [demand for demand, end in zip(demands, apart, strict=True) if end is wanted],
            names,
            sum(launch_s for launch_s, end in zip(launches, apart, strict=True) if end is wanted),
        )
        for wanted in (False, True)
    )
    unpriced = tuple(dict.fromkeys(sentence for _, sentences in priced for sentence in sentences))
    sites, monomials = tuple(binding.sites), tuple(binding.monomials)
    return Bound(model, like.layout, sites, monomials, kernels, ends, unpriced)


def plain(step: Step) -> bool:
    """Whether a step is one pass on one stage, so that its kernels simply add up."""
    return step.pp == step.microbatches == 1


def _through(model: Model, step: Step, kernels_s: Number, ends_s: Number) -> Number:
    return pipeline(model, step, step.passes).step_s(kernels_s, ends_s)


def _moves(block: Block) -> object:
    """What the letters of a step depend on in a block."""
    return block.window, block.local, block.letters


def values_of(bound: Folded, step: Step) -> list[Number]:
    """The products of letters in this step. Raises RooflensError for a layout that was not bound."""
    if step.layout != bound.layout:
        raise RooflensError(f"these prices were bound for {bound.layout}; bind again for {step.layout}")
    letters = [moving_letters(bound.model, step, site) for site in bound.sites]
    return [_product(monomial, letters) for monomial in bound.monomials]


def contenders(resources: Iterable[Terms]) -> list[Terms]:
    """The resources that can be the largest of a kernel: no other needs as much or more, term by term."""
    kept: list[Terms] = [{}]
    for one in resources:
        if not any(_covers(other, one) for other in kept):
            kept = [other for other in kept if not _covers(one, other)] + [one]
    return kept


def _covers(more: Terms, less: Terms) -> bool:
    return all(more.get(monomial, 0.0) >= c for monomial, c in less.items())


def total(several: Iterable[Terms]) -> Terms:
    """Their sum."""
    return sum(map(Polynomial, several), Polynomial({})).terms


def less(more: Terms, taken: Terms) -> Terms:
    """The first without the second."""
    return (Polynomial(more) + Polynomial(taken) * -1.0).terms


def _product(monomial: Monomial, letters: list[dict[str, Number]]) -> Number:
    value: Number | None = None  # not 1.0: a product saved is a tenth of the time of an array
    for site, letter in reversed(monomial):  # the batch last: what it multiplies has fewer points than a grid
        value = letters[site][letter] if value is None else value * letters[site][letter]
    return 1.0 if value is None else value


def value(of: Sum, values: list[Number]) -> Number:
    """A folded sum at these products of letters."""
    total: Number = 0.0
    for index, coefficient in of:
        total = total + coefficient * values[index]
    return total
