"""What to expect of a serving engine: the kernels at the share of the roofs that engines reach, and what they add.

    step = sum over kernels of (largest of demand / reached rate + small kernels) + collectives + host
    TPOT = step + share x other requests' prompts read per token x time to read one
    TTFT = fixed + passes x prefill of the prompt

The constants are fitted (catalogue.calibrations), each with a meaning; no figure of a chip is among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rooflens.arrays import Number, larger, smaller
from rooflens.catalogue.calibrations import EngineCosts, Residuals, ServedConstants
from rooflens.dtypes import Dtype, dtype
from rooflens.operators.cost import Cost, Precision
from rooflens.operators.rows import Part
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.predicting import Expected
from rooflens.prediction.record import Constant
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.price import times
from rooflens.workload import Operator, Phase, operators, prefill, suited

Pass = Literal["decode", "one", "mixed"]
TOGETHER = 8192  # tokens of prompts that one pass takes
SMOOTH = 3.0  # how a pass's time on the device and of its launches combine: nearly the larger
ROUNDS = 6  # TPOT and the time others spend writing settle each other
GENERIC = "generic"
OWN_POINTS = 5  # with so many, the residuals of calibrated deployments speak
FAMILIES = ("hbm", "gddr", "cdna", "apple")  # kinds of chips that served rows were fitted on
ANYTHING: Sequence[Part] = ("norm", "elementwise")
NARROW: Sequence[Part] = ("linear", "project", "expert", "shared")
NARROWED = ("fp8", "nvfp4")  # formats whose products narrow their activations on the fly


@record
class Served:
    """The expectation of one engine. engine: a name of the constants; generic when nobody says which.

    chip: the catalogue id that the machine is, where it is known: its residuals are those of chips fitted on. roofs,
    fixed, prompts: factors of a deployment's own points (predict.fitting), and how many `points` those were.
    """

    found: ServedConstants
    engine: str = GENERIC
    chip: str | None = None
    roofs: float = 1.0
    fixed: float = 1.0
    prompts: float = 1.0
    points: int = 0

    @property
    def costs(self) -> EngineCosts:
        """What the engine adds."""
        return self.found.engines[self.engine]

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
        floor_s = float(deployment.floor(phase).floor_s)
        if phase == "prefill":
            time_s = float(self.first_s(deployment))
            return self._expected(time_s, floor_s, self._class(deployment, "ttft"), {"host": self.costs.first_s})
        roofs_s, fixed_s, prompts_s = (float(part) for part in self.parts(deployment))
        parts = {
            "reach": self.roofs * roofs_s, "kernels": self.fixed * fixed_s,
            "host": self.fixed * float(self.host_s(deployment)), "prefill": self.prompts * prompts_s,
        }  # fmt: skip
        added = {**parts, "reach": max(0.0, parts["reach"] - floor_s)}
        return self._expected(sum(parts.values()), floor_s, self._class(deployment, "tpot"), added)

    def tpot_s(self, deployment: Deployment) -> Number:
        """TPOT alone; batch and context may be arrays."""
        roofs_s, fixed_s, prompts_s = self.parts(deployment)
        return self.roofs * roofs_s + self.fixed * (fixed_s + self.host_s(deployment)) + self.prompts * prompts_s

    def parts(self, deployment: Deployment) -> tuple[Number, Number, Number]:
        """Seconds of a token at the reached roofs, in fixed costs of kernels, and while others' prompts are read."""
        roofs_s, fixed_s = self._step(deployment, deployment.operators("decode"), "decode")
        step_s = roofs_s + fixed_s + self.host_s(deployment)
        return roofs_s, fixed_s, self._others_s(deployment, step_s)

    def first_s(self, deployment: Deployment) -> Number:
        """The unloaded first token."""
        one = self._pass_s(deployment, deployment.operators("prefill"), "one")
        spread = self.found.spread_first_s if int(deployment.how.get("dp", 1)) > 1 else 0.0
        return self.costs.first_s + self.costs.first_passes * one + spread

    def _others_s(self, deployment: Deployment, step_s: Number) -> Number:
        """What other requests' prompts add to a token: those that come while this one is being written."""
        if not deployment.output:
            return 0.0
        dp = int(deployment.how.get("dp", 1))
        running = larger(deployment.batch / dp, 1.0)
        many = smaller(larger(1.0, float(round(TOGETHER / float(deployment.prompt)))), running)
        together = prefill(many * dp, deployment.prompt, deployment.prompt, **{**deployment.how, "microbatches": 1})
        found = operators(suited(deployment.model, "prefill"), together, deployment.precision)
        each = self._pass_s(deployment, found, "mixed") / many
        others, output = larger(running - 1.0, 0.0), deployment.output
        first = self.first_s(deployment) + self.costs.first_met * each * others
        tpot = step_s
        for _ in range(ROUNDS):
            writing = output * tpot / (first + output * tpot)
            tpot = step_s + self.costs.others * each * others / output * writing
        return tpot - step_s

    def host_s(self, deployment: Deployment) -> Number:
        """What the host needs for a step and each of its sequences."""
        running = deployment.batch / int(deployment.how.get("dp", 1))
        return self.costs.host_s + self.costs.sequence_s * running

    def _pass_s(self, deployment: Deployment, found: Sequence[Operator], which: Pass) -> Number:
        """A prefill pass: its kernels on the device and their launches by the host, nearly the larger of the two."""
        at_roofs, fixed = self._step(deployment, found, which)
        together: Number = (at_roofs**SMOOTH + fixed**SMOOTH) ** (1 / SMOOTH)
        return together

    def _step(self, deployment: Deployment, found: Sequence[Operator], which: Pass) -> tuple[Number, Number]:
        """Seconds at the reached roofs and of fixed costs, over all kernels of a pass through all stages."""
        at_roofs: Number = 0.0
        fixed: Number = 0.0
        for operator in found:
            one, beside = self._kernel(operator, deployment, which)
            at_roofs, fixed = at_roofs + operator.count * one, fixed + operator.count * beside
        return at_roofs, fixed

    def _kernel(self, operator: Operator, deployment: Deployment, which: Pass) -> tuple[Number, float]:
        """One kernel: seconds at the reached roofs, and its fixed cost."""
        c, machine = self.found, deployment.machine
        if operator.collective is not None:
            sent = replace(operator.cost, link_bytes=operator.cost.link_bytes / c.link)
            return _largest(sent, machine), c.collective_s
        part = _part(operator)
        small = self._small_s(which)
        own = _stored(operator, part, deployment.precision)
        at_roof = _largest(self._asked(operator.cost, own, part, machine, which), machine)
        if part in NARROW and own.name.removesuffix("_e4m3") in NARROWED:
            wide = self._widened(operator.cost, own, deployment.precision)
            as_wide = _largest(self._asked(wide, dtype("bf16"), part, machine, which), machine)
            at_roof = smaller(at_roof + small * c.narrowing, larger(as_wide, at_roof))
        return at_roof, small * (1.0 + self._extra(operator, part, deployment, which))

    def _small_s(self, which: Pass) -> float:
        """A kernel too small to have a rate."""
        c, e = self.found, self.costs
        costs = {"decode": c.kernel_s * e.decode_kernel, "mixed": c.mixed_s * e.mixed_kernel}
        return costs.get(which, c.prefill_s * e.prefill_kernel)

    def _asked(self, cost: Cost, own: Dtype, part: Part, machine: Machine, which: Pass) -> Cost:
        """The demand with what software does not reach of each roof added to it."""
        c = self.found
        expert = part == "expert"
        family = self._family(machine)
        reach = smaller(c.memory[_width(own)] * (c.expert_memory if expert else 1.0), c.most) * family
        computed = (c.expert_compute if expert else 1.0) * c.family_compute.get(machine.family, 1.0)
        moved = (c.activations if which == "decode" else 1.0) / (c.copy * family)
        return replace(
            cost,
            flops={math: flops / (c.compute[_math_bits(math)] * computed) for math, flops in cost.flops.items()},
            vector_flops=0.0,
            weight_bytes=cost.weight_bytes / reach,
            kv_bytes=cost.kv_bytes / (c.cache * family),
            activation_bytes=cost.activation_bytes * moved,
        )

    def _family(self, machine: Machine) -> float:
        """Memory reach of this kind of chip, over NVIDIA's with HBM."""
        known = self.found.family_memory
        if self.engine == "llama.cpp" and machine.family in ("hbm", "cdna"):
            return known.get(machine.family, 1.0) * known["llama.cpp on hbm"]
        return known.get(machine.family, 1.0)

    def _widened(self, cost: Cost, own: Dtype, precision: Precision) -> Cost:
        """The same product with 16-bit weights and arithmetic."""
        wide = precision.activations
        flops = {wide.math: sum(cost.flops.values(), 0.0)}
        return replace(cost, flops=flops, weight_bytes=cost.weight_bytes * wide.bits / own.bits)

    def _extra(self, operator: Operator, part: Part, deployment: Deployment, which: Pass) -> float:
        """Kernels beside the main one, in kernels."""
        c = self.found
        extra = c.rider * (len(operator.rows) - 1)
        if part == "router":
            narrow = deployment.precision.stored("expert")
            fused = _block_scaled(narrow) and bool(deployment.machine.has("fp4"))
            extra += (c.experts_prefill if which == "one" else c.experts) * (
                min(c.fused_experts, 1.0) if fused else 1.0
            )
        if part == "attend" and operator.letters is not None and "R" in operator.letters:
            extra += c.latent
        scans = part == "ssm" and not operator.cost.total_flops
        return extra + (c.scan if scans else 0.0)

    def _class(self, deployment: Deployment, what: str) -> Residuals:
        """The held-out residuals that speak for this estimate."""
        if what == "tpot" and self.points >= OWN_POINTS:
            kind = "experts" if "E" in deployment.model.letters else "dense"
            return self.found.residuals[f"own points, {kind}"]
        return self.found.residuals[residual_class(self.engine, deployment, what, known=self.chip in self.found.chips)]

    def _expected(self, time_s: float, floor_s: float, spread: Residuals, added: dict[str, float]) -> Expected:
        low, high = max(floor_s, time_s * spread.low), max(floor_s, time_s * spread.high)
        kept = {name: value for name, value in added.items() if value}
        return Expected(max(time_s, floor_s), low, high, kept)


def residual_class(engine: str, deployment: Deployment, what: str, *, known: bool) -> str:
    """The name of the class of held-out residuals: what kind of model, engine and chip this is."""
    letters = deployment.model.letters
    unseen = "" if known else ", chip unseen"
    if what == "ttft":
        return f"ttft unloaded{unseen}"
    kind = "experts" if "E" in letters else "dense"
    if engine == "llama.cpp":
        return f"llama.cpp{unseen}"
    if engine.endswith("2024") or engine == "deepspeed":
        return f"2024{unseen}"
    if engine == GENERIC and known:
        return f"engine not named, {kind}"
    latent = kind == "experts" and "R" in letters and engine == "trtllm"
    return f"{kind}{', latent, trtllm' if latent else ''}{unseen}"


def _largest(cost: Cost, machine: Machine) -> Number:
    by_resource, _ = times(cost, machine)
    found: Number = 0.0
    for seconds in by_resource.values():
        found = larger(found, seconds)
    return found


def _part(operator: Operator) -> Part:
    return next((row.part for row in operator.rows if row.part not in ANYTHING), operator.rows[0].part)


def _stored(operator: Operator, part: Part, precision: Precision) -> Dtype:
    weighed = [row for row in operator.rows if row.part == part and row.home in ("weight", "tied")]
    return precision.stored(part) if weighed else precision.activations


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
    return {"fp8": "8", "int8": "8", "fp6": "8", "fp4": "4", "int4": "4"}.get(math.partition("_acc")[0], "16")
