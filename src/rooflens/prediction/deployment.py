"""A model on so many devices, serving sequences of one prompt and one output: its steps and their floors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rooflens.arrays import Number, letter
from rooflens.models import Model
from rooflens.models.lengths import DEFAULT_TOKENS
from rooflens.operators.cost import Precision
from rooflens.operators.rows import Row
from rooflens.prediction.edges import edge
from rooflens.records import field, record, replace
from rooflens.roofline.bound import Bound, bind
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import ridge
from rooflens.roofline.price import StepPrice, kind_of, price_step
from rooflens.workload import (
    Operator,
    Phase,
    Step,
    accepted,
    decode,
    mean_context,
    operators,
    prefill,
    suited,
)

T = TypeVar("T")
MOST_BATCH = 1 << 20


@record
class Deployment:
    """What is served where. batch: sequences at once over all replicas; they may be arrays, as prompt and output.

    context: positions a decode step attends to; None: workload.mean_context. how: tp, pp,
    ep, dp, microbatches, gpus_per_node, routing_skew, mask of both steps. tokens: new ones a sequence and decode step,
    of which a share of `acceptance` is kept when they are drafts. notes: what must be said about model and formats.
    """

    model: Model
    precision: Precision
    machine: Machine
    batch: Number = 1.0
    prompt: Number = float(DEFAULT_TOKENS)
    output: Number = 0.0
    context: Number | None = None
    tokens: float = 1.0
    acceptance: float = 1.0
    how: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def devices(self) -> int:
        """How many: tp x pp x dp; experts are spread over these, not over more."""
        return int(self.how.get("tp", 1) * self.how.get("pp", 1) * self.how.get("dp", 1))

    @property
    def attended(self) -> Number:
        """Positions of the mean decode step of the output."""
        return letter(mean_context(self.prompt, self.output) if self.context is None else self.context)

    def tokens_per_s(self, step_s: Number) -> Number:
        """Output tokens/s of all sequences: batch x tokens that a decode step keeps / its time.

        Of tokens/s in place of the time it is the time.
        """
        return self.batch * accepted(self.tokens, self.acceptance) / step_s

    def step(self, phase: Phase) -> Step:
        """One decode step of the whole batch, or the prefill of one prompt."""
        if phase == "decode":
            return decode(self.batch, self.attended, self.tokens, **self.how)
        alone = {**self.how, "microbatches": 1}
        return prefill(1, self.prompt, self.prompt, **alone)

    def operators(self, phase: Phase) -> tuple[Operator, ...]:
        """The kernels of that step, as engines pick them for the phase."""
        return self.once(
            f"operators {phase}",
            lambda: tuple(operators(suited(self.model, phase), self.step(phase), self.precision)),
            of_the_batch=phase == "decode",
        )

    def floor(self, phase: Phase) -> StepPrice:
        """That step's floor: weights, KV and state; activations may stay on chip."""
        return self.once(
            f"floor {phase}",
            lambda: price_step(self.operators(phase), self.machine, activations=False),
            of_the_batch=phase == "decode",
        )

    def once(self, what: str, make: Callable[[], T], *, of_the_batch: bool) -> T:
        """What does not change is made once: of this batch, or of all batches of one deployment (see with_batch)."""
        made = self.__dict__.setdefault("_own" if of_the_batch else "_shared", {})
        if what not in made:
            made[what] = make()
        found: T = made[what]
        return found


def bound(deployment: Deployment, *, activations: bool = False) -> Bound:
    """The floors of its decode steps at any batch and context, many of them quickly."""
    model = suited(deployment.model, "decode")
    return bind(model, deployment.precision, deployment.machine, deployment.step("decode"), activations=activations)


def batch_at_ridge(deployment: Deployment) -> int | None:
    """From which batch on compute binds the products with weights; None when not below a million sequences.

    Found by pricing the weights' products alone: the smallest batch at which their compute takes at least as long as
    reading them. Without experts compute grows as the batch and reading stays, so the first guess is nearly always it.
    """
    return deployment.once("ridge", lambda: _batch_at_ridge(deployment), of_the_batch=False)


def _batch_at_ridge(deployment: Deployment) -> int | None:
    def binds(batch: int) -> bool:
        return _compute_over_memory(deployment, batch) >= 1

    first = _compute_over_memory(deployment, 1)
    if first >= 1:
        return 1
    low, high = 1, min(MOST_BATCH, math.ceil(1 / first)) if first else MOST_BATCH
    if binds(high):
        return edge(low, high - 1, binds) if binds(high - 1) else high
    while not binds(high):
        low, high = high, 2 * high
        if high > MOST_BATCH:
            return None
    return edge(low, high, binds)


def _compute_over_memory(deployment: Deployment, batch: int) -> float:
    """Seconds of arithmetic over those of reading, of all products with weights."""
    priced = price_step(weights_only(with_batch(deployment, batch)), deployment.machine, activations=False)

    def spent(kind: str) -> float:
        times = ((kernel.count, kernel.times_s) for kernel in priced.kernels)
        return sum(count * float(of[name]) for count, of in times for name in of if kind_of(name) == kind)

    memory_s = spent("memory")
    return spent("compute") / memory_s if memory_s else math.inf


def with_batch(deployment: Deployment, batch: float) -> Deployment:
    """The same deployment with another batch; what no batch changes is made for one of them."""
    return sharing(replace(deployment, batch=float(batch)), deployment)


def sharing(deployment: Deployment, other: Deployment) -> Deployment:
    """The deployment, with what is made for `other` too, which differs in nothing but its batch and notes."""
    deployment.__dict__["_shared"] = other.__dict__.setdefault("_shared", {})
    return deployment


def weights_only(deployment: Deployment) -> list[Operator]:
    """The kernels of a decode step that multiply by weights."""
    return [o for o in deployment.operators("decode") if any(_weighs(row) for row in o.rows)]


def _weighs(row: Row) -> bool:
    return row.contracts and row.home in ("weight", "tied")


def ridge_of(deployment: Deployment) -> float:
    """The ridge point of the math that the linear products run in, FLOP per byte."""
    return ridge(deployment.machine, deployment.precision.math_of("linear"))
