"""What to expect of a serving engine: the kernels at the share of the roofs that engines reach, and what they add.

    step = sum over kernels of (largest of demand / reached rate + small kernels) + collectives + host
    TPOT = step + share x other requests' prompts read per token x time to read one
    TTFT = fixed + passes x prefill of the prompt

The constants are fitted (catalogue.calibrations), each with a meaning; no figure of a chip is among them. What a kernel
asks is in `reached`; `bound` folds all of it once for many loads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rooflens.arrays import Number, added, down, is_array, larger, power, root, smaller
from rooflens.catalogue.calibrations import EngineCosts, Residuals, ServedConstants
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.intervals import GENERIC, own_class, residual_class, stack_of
from rooflens.prediction.predicting import Expected
from rooflens.prediction.reached import Pass, Reached, reached
from rooflens.prediction.record import Constant
from rooflens.records import record, replace
from rooflens.workload import Operator, Phase, Step, operators, prefill, suited

TOGETHER = 8192  # tokens of prompts that one pass takes
OWN_POINTS = 5  # with so many, the residuals of calibrated deployments speak
FAMILIES = ("hbm", "gddr", "cdna", "apple")  # kinds of chips that served rows were fitted on

Two = tuple[Number, Number]
Priced = Callable[[Deployment, Pass, Step], Two]
"""Seconds of a pass at the reached roofs, and of its fixed costs."""


@record
class Served:
    """The expectation of one engine. engine: a name of the constants; generic when nobody says which.

    chip: the catalogue id that the machine is, where it is known: its residuals are those of chips fitted on. roofs,
    fixed, prompts: factors of a deployment's own points (prediction.fitting); how many `points` those were, and their
    `spread`.
    """

    found: ServedConstants
    engine: str = GENERIC
    chip: str | None = None
    roofs: float = 1.0
    fixed: float = 1.0
    prompts: float = 1.0
    points: int = 0
    spread: float = 1.0

    @property
    def fitted_as(self) -> str:
        """Whose constants speak: the engine's own, or those of engines in general where nobody fitted it."""
        return self.engine if self.engine in self.found.engines else GENERIC

    @property
    def costs(self) -> EngineCosts:
        """What the engine adds."""
        return self.found.engines[self.fitted_as]

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants that every deployment meets, with where they come from."""
        c, e = self.found, self.costs
        rows = sum(c.rows.values())
        origin = f"fitted on {rows} rows, {c.date}"
        named = {
            "memory reach, 16-bit weights": c.memory["16"], "memory reach, 8-bit weights": c.memory["8"],
            "memory reach, cache": c.cache, "compute reach, 16 bit": c.compute["16"],
            "compute reach, 8 bit": c.compute["8"], "link reach": c.link, "collective_s": c.collective_s,
            "kernel_s": c.kernel_s * e.decode_kernel, "host_s a step": e.host_s, "host_s a sequence": e.sequence_s,
            "share of others' prompts": e.others, "first token_s": e.first_s,
        }  # fmt: skip
        own = {"factor on roofs": self.roofs, "factor on fixed costs": self.fixed, "factor on prompts": self.prompts}
        fitted = tuple(Constant(name, value, origin) for name, value in named.items())
        if not self.points:
            return fitted
        return (*fitted, *(Constant(n, v, f"fitted on {self.points} points of your own") for n, v in own.items()))

    @property
    def of_one_machine(self) -> bool:
        """An engine's costs hold on other chips too, within their intervals."""
        return False

    def without(self, part: str) -> Served | None:
        """The engine when no other request's prompt is read meanwhile; its host cost stays."""
        return replace(self, prompts=0.0) if part == "prompts" else None

    def expect(self, deployment: Deployment, phase: Phase) -> Expected:
        """TPOT of a decode step in serving, or the unloaded TTFT of one prompt, with the interval of its class."""
        floor_s = deployment.floor(phase).floor_s
        if phase == "prefill":
            time_s = self.first_s(deployment)
            return self._expected(time_s, floor_s, self._class(deployment, "ttft"), {"host": self.costs.first_s})
        roofs_s, fixed_s, prompts_s = self.parts(deployment)
        parts = {
            "reach": self.roofs * roofs_s, "kernels": self.fixed * fixed_s,
            "host": self.fixed * self.host_s(deployment), "prefill": self.prompts * prompts_s,
        }  # fmt: skip
        above = {**parts, "reach": larger(0.0, parts["reach"] - floor_s)}
        return self._expected(added(parts.values()), floor_s, self._class(deployment, "tpot"), above)

    def tpot_s(self, deployment: Deployment, priced: Priced | None = None) -> Number:
        """TPOT alone; batch, prompt and output may be arrays. priced: who prices a pass, see `bound`."""
        roofs_s, fixed_s, prompts_s = self.parts(deployment, priced)
        return self.roofs * roofs_s + self.fixed * (fixed_s + self.host_s(deployment)) + self.prompts * prompts_s

    def parts(self, deployment: Deployment, priced: Priced | None = None) -> tuple[Number, Number, Number]:
        """Seconds of a token at the reached roofs, in fixed costs of kernels, and while others' prompts are read."""
        price = priced or self.priced
        roofs_s, fixed_s = price(deployment, "decode", deployment.step("decode"))
        prompts_s = self._prompts_s(deployment, roofs_s + fixed_s + self.host_s(deployment), price)
        return roofs_s, fixed_s, prompts_s

    def first_s(self, deployment: Deployment, priced: Priced | None = None) -> Number:
        """The unloaded first token."""
        one_s = together(*(priced or self.priced)(deployment, "one", deployment.step("prefill")))
        return unloaded_s(self.costs, one_s, self._spread_s(deployment))

    def host_s(self, deployment: Deployment) -> Number:
        """What the host needs for a step and each of its sequences."""
        return self.costs.host_s + self.costs.sequence_s * (deployment.batch / _replicas(deployment))

    def priced(self, deployment: Deployment, which: Pass, step: Step) -> Two:
        """A pass through all stages, kernel by kernel, and as often as there are microbatches."""
        roofs_s: list[Number] = [0.0, 0.0]
        fixed_s: list[Number] = [0.0, 0.0]
        found = operators(suited(deployment.model, step.phase), step, deployment.precision)
        for operator in found:
            one, end = self.asked(operator, deployment, which), operator.at_an_end
            roofs_s[end] = roofs_s[end] + operator.count * one.roofs_s
            fixed_s[end] = fixed_s[end] + operator.count * one.fixed_s
        through = found[0].pipeline
        return through.step_s(*roofs_s), through.step_s(*fixed_s)

    def asked(self, operator: Operator, deployment: Deployment, which: Pass) -> Reached:
        """What one kernel asks of this engine's roofs."""
        engine, machine = self.fitted_as, deployment.machine
        return reached(self.found, operator, deployment.precision, machine, which, self.small_s(which), engine=engine)

    def small_s(self, which: Pass) -> float:
        """A kernel too small to have a rate."""
        return small_s(self.found, self.costs, which)

    def _prompts_s(self, deployment: Deployment, step_s: Number, price: Priced) -> Number:
        """What other requests' prompts add to a token: those that come while this one is being written."""
        output = deployment.output
        if isinstance(output, (int, float)) and not output:
            return 0.0
        dp = _replicas(deployment)
        running = larger(deployment.batch / dp, 1.0)
        many = smaller(larger(1.0, down(TOGETHER / deployment.prompt + 0.5)), running)
        how = {**deployment.how, "microbatches": 1}
        mixed = prefill(many * dp, deployment.prompt, deployment.prompt, **how)
        each_s = together(*price(deployment, "mixed", mixed)) / many
        return prompts_s(self.costs, step_s, self.first_s(deployment, price), each_s, running, output)

    def _spread_s(self, deployment: Deployment) -> float:
        """What replicas that share experts wait for one another; those that share nothing do not."""
        shared = _replicas(deployment) > 1 and deployment.how.get("ep", 1) > 1
        return self.found.spread_first_s if shared else 0.0

    def _class(self, deployment: Deployment, what: str) -> tuple[Residuals, float]:
        """The held-out residuals that speak for this estimate, and how many times as wide they are here."""
        has, model = self.found.residuals, deployment.model
        if what == "tpot" and self.points >= OWN_POINTS:
            return has[own_class(model)], self.spread
        known = self.chip in self.found.chips[stack_of(self.fitted_as)]
        return has[residual_class(self.fitted_as, model, what, has, known=known)], 1.0

    def _expected(
        self, time_s: Number, floor_s: Number, said: tuple[Residuals, float], above: dict[str, Any]
    ) -> Expected:
        residuals, spread = said
        low, high = (larger(floor_s, time_s * share**spread) for share in (residuals.low, residuals.high))
        kept = {name: value for name, value in above.items() if is_array(value) or value}
        return Expected(larger(time_s, floor_s), low, high, kept)


def together(roofs_s: Number, fixed_s: Number) -> Number:
    """A prefill pass: its kernels on the device and their launches by the host, nearly the larger of the two."""
    return power(roofs_s * roofs_s * roofs_s + fixed_s * fixed_s * fixed_s, 1 / 3)


def small_s(c: ServedConstants, costs: EngineCosts, which: Pass) -> float:
    """A kernel too small to have a rate: in a decode graph, in a mixed pass, in a prefill pass."""
    if which == "decode":
        return c.kernel_s * costs.decode_kernel
    return c.mixed_s * costs.mixed_kernel if which == "mixed" else c.prefill_s * costs.prefill_kernel


def unloaded_s(costs: EngineCosts, one_s: Number, spread_s: Number) -> Number:
    """The first token when nobody else is there. one_s: a pass over the prompt alone."""
    return costs.first_s + costs.first_passes * one_s + spread_s


def prompts_s(
    costs: EngineCosts, step_s: Number, alone_s: Number, each_s: Number, running: Number, output: Number
) -> Number:
    """What the prompts of others add to a token of a sequence: they are read only while those others do not write.

    extra = share x each x others / output x (output TPOT / (TTFT + output TPOT)) with TPOT = step + extra: the positive
    root of a quadratic, in the form that divides by no output. alone_s: the unloaded first token; each_s: one prompt in
    a full pass; running: sequences of a replica.
    """
    others = larger(running - 1.0, 0.0)
    read_s = costs.others * each_s * others * (output > 0)
    half = (alone_s + costs.first_met * each_s * others + output * step_s - read_s) / 2
    pull = read_s * step_s
    square: Any = half * half + output * pull
    below: Any = half + root(square)
    extra: Number = pull / below
    return extra


def _replicas(deployment: Deployment) -> int:
    return int(deployment.how.get("dp", 1))
