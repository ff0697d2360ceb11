"""From a deployment to its prediction: floors, expectations, memory and the verdict, put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from rooflens.diagnose import Verdict, verdict
from rooflens.prediction.deployment import Deployment, batch_at_ridge, ridge_of
from rooflens.prediction.memory import Memory, Reserve, memory
from rooflens.prediction.nearest import nearest
from rooflens.prediction.record import Constant, Prediction, Times
from rooflens.prediction.where import where
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.exchanges import protocols
from rooflens.roofline.place import mbu, mfu
from rooflens.roofline.placement import conventions
from rooflens.roofline.price import NETWORK, StepPrice, price_step
from rooflens.workload import Phase, accepted

MILLION = 1e6
SECONDS_AN_HOUR = 3600.0
TIMES = ("floor", "floor_overlapped", "floor_without_collectives", "estimate", "low", "high")
NO_ESTIMATE = (
    "floors only: nothing was calibrated for this, so tokens/s, cost, energy, MFU and MBU are those of the floor, "
    "which nothing beats"
)


@record
class Expected:
    """A time to expect, four cases of five between low and high. parts_s: what it adds to the floor, by its reason.

    Numbers, or arrays of them where the load's letters are arrays.
    """

    time_s: Any
    low_s: Any
    high_s: Any
    parts_s: Mapping[str, Any]


class Estimator(Protocol):
    """What turns a floor into an expectation: fitted constants, or a machine's own measurements."""

    @property
    def constants(self) -> tuple[Constant, ...]:
        """Every number it rests on, with its origin."""

    @property
    def of_one_machine(self) -> bool:
        """Whether its figures are one machine's and say nothing of another."""

    def expect(self, deployment: Deployment, phase: Phase) -> Expected:
        """The time of one step of this phase."""

    def without(self, part: str) -> Estimator | None:
        """The same without the host's launches ("host") or others' prompts ("prompts"); None where it has none."""


# long: fills a record of some thirty fields, one a line
def predict(
    deployment: Deployment,
    kept: Reserve,
    estimator: Estimator | None = None,
    measured_tokens_per_s: float | None = None,
    other: Machine | None = None,
) -> Prediction:
    """The prediction of one deployment at one load (no arrays).

    measured_tokens_per_s: of the whole batch, as somebody's clock said. other: the same chip's datasheet where the
    machine is measured, or its measured profile where the machine is a datasheet.
    Raises NoPath for work that the machine cannot do.
    """
    decode, prefill = deployment.floor("decode"), deployment.floor("prefill")
    tpot, spent = _times(decode, deployment, "decode", estimator)
    ttft, _ = _times(prefill, deployment, "prefill", estimator)
    kept_tokens = float(accepted(deployment.tokens, deployment.acceptance))
    step_s = tpot.expected
    rate = float(deployment.tokens_per_s(step_s))
    held = _memory(deployment, kept)
    machine = deployment.machine
    shares = {**_shares(decode, machine, step_s), **(_shares(decode, other, step_s) if other else {})}
    measured_s = float(deployment.tokens_per_s(measured_tokens_per_s)) if measured_tokens_per_s else None
    return Prediction(
        model=deployment.model.name,
        machine=machine.title,
        devices=deployment.devices,
        step=_step(deployment),
        conventions=_conventions(deployment),
        tpot_s=_scaled(tpot, 1 / kept_tokens),
        ttft_s=ttft,
        tokens_per_s_per_user=kept_tokens / step_s,
        tokens_per_s=rate,
        tokens_per_s_per_device=rate / deployment.devices,
        tokens_per_s_ceiling=float(deployment.tokens_per_s(tpot.floor)),
        bound=decode.bound,
        bubble=float(decode.pipeline.bubble) if decode.pipeline.stages > 1 else None,
        where_time_goes={**where(decode, deployment.operators("decode")), **spent},
        ridge_flops_per_byte=ridge_of(deployment),
        batch_at_ridge=batch_at_ridge(deployment),
        batch_memory_allows=held.max_sequences if held else None,
        constants=tuple(_constants(deployment, estimator)),
        memory=held,
        usd_per_million_tokens=usd_per_million(deployment, rate),
        joules_per_token=None if machine.power_w is None else machine.power_w * deployment.devices / rate,
        measured_tokens_per_s=measured_tokens_per_s,
        mbu=_mbu(decode, machine, measured_s) if measured_s else None,
        mfu=_mfu(decode, machine, measured_s) if measured_s else None,
        verdict=_verdict(decode, machine, measured_s) if measured_s else None,
        notes=tuple(_notes(deployment, decode, held, kept, estimator)),
        not_modelled=deployment.model.not_modelled,
        **shares,
    )


def _times(
    floor: StepPrice, deployment: Deployment, phase: Phase, estimator: Estimator | None
) -> tuple[Times, dict[str, float]]:
    """The times of a step, and what its expectation adds to the floor."""
    unlinked = [operator for operator in deployment.operators(phase) if operator.collective is None]
    alone = price_step(unlinked, deployment.machine, activations=False)
    lowest = (float(floor.floor_s), float(floor.floor_overlapped_s), float(alone.floor_s))
    if estimator is None:
        return Times(*lowest), {}
    found = estimator.expect(deployment, phase)
    return Times(*lowest, found.time_s, found.low_s, found.high_s), dict(found.parts_s)


def _scaled(times: Times, factor: float) -> Times:
    """Per token of a step that yields several."""
    said = {name: getattr(times, name) for name in TIMES}
    return Times(**{name: value * factor for name, value in said.items() if value is not None})


def _shares(floor: StepPrice, machine: Machine, step_s: float) -> dict[str, float]:
    roof = "measured" if machine.measured else "datasheet"
    return {f"mfu_of_{roof}": _mfu(floor, machine, step_s), f"mbu_of_{roof}": _mbu(floor, machine, step_s)}


def _mfu(floor: StepPrice, machine: Machine, step_s: float) -> float:
    return mfu(floor.cost, machine, step_s)


def _mbu(floor: StepPrice, machine: Machine, step_s: float) -> float:
    return mbu(float(floor.moved_bytes), machine, step_s)


def _verdict(floor: StepPrice, machine: Machine, measured_s: float) -> Verdict:
    floor_s = float(floor.floor_s)
    if floor.bound == "link":
        return verdict(floor_s, measured_s, floor.bound, floor_s / measured_s, "floor over measured")
    share, name = (_mfu, "MFU") if floor.bound == "compute" else (_mbu, "MBU")
    return verdict(floor_s, measured_s, floor.bound, share(floor, machine, measured_s), name)


def _memory(deployment: Deployment, kept: Reserve) -> Memory | None:
    capacity = deployment.machine.memory_bytes
    if capacity is None:
        return None
    return memory(deployment.model, deployment.precision, deployment.step("decode"), capacity, kept)


def usd_per_million(deployment: Deployment, tokens_per_s: float) -> float | None:
    """USD per million tokens at the machine's price and this rate of all devices; None where no price is known."""
    price = deployment.machine.price_usd_per_hour
    return None if price is None else price * deployment.devices / SECONDS_AN_HOUR / tokens_per_s * MILLION


def _step(deployment: Deployment) -> dict[str, float | str]:
    sizes = {
        "batch": deployment.batch, "prompt": deployment.prompt, "output": deployment.output,
        "context": deployment.attended, "tokens": deployment.tokens,
    }  # fmt: skip
    how = {name: value for name, value in deployment.how.items() if value not in (None, 0, 1)}
    return {**{name: float(value) for name, value in sizes.items()}, **how}


def _conventions(deployment: Deployment) -> dict[str, str]:
    return {
        **conventions(deployment.machine, deployment.precision, str(deployment.how.get("mask", "causal"))),
        "total": "weights, KV cache and state: activations may stay on chip",
        "tpot": "one decode step at the mean context of the output",
        "ttft": "unloaded: one prompt alone, from its first token to its first answer; no queue",
        "tokens_per_s": "output tokens of all sequences",
        "memory": "of the fullest device",
        "not_counted": "embedding look-up, sampling, tokenising, network to the user; see not_modelled and notes",
    }


def _constants(deployment: Deployment, estimator: Estimator | None) -> Iterator[Constant]:
    """The rates that the floor rests on, each with its unit in its name, and what the expectation rests on."""
    machine, operators = deployment.machine, deployment.operators("decode")
    maths = dict.fromkeys(math for o in operators for math in o.cost.flops)
    links = [machine.the_link()] if deployment.devices > 1 and machine.link else []
    if machine.link != NETWORK and any(float(o.cost.network_bytes) for o in operators):
        links.append(machine.the_link(NETWORK))
    roofs = [machine.memory("read"), *(machine.compute(math) for math in maths), *_launches(deployment), *links]
    for ceiling in roofs:
        yield Constant(f"{ceiling.id}, {ceiling.unit}", ceiling.floor_value, ceiling.origin)
    if estimator is not None:
        yield from estimator.constants


def _launches(deployment: Deployment) -> Iterator[Ceiling]:
    """What launches cost, and what this step's collectives wait and reach: those of others say nothing here."""
    machine = deployment.machine
    yield from (c for c in machine.find("launch") if c.access is None)
    talks = [operator.collective for operator in deployment.operators("decode") if operator.collective]
    for name, devices in dict.fromkeys((talk.name, talk.group.inside) for talk in talks):
        for rate, wait in protocols(machine, machine.link, name, devices).values():
            yield from (wait, *([rate] if rate.access else []))


def _notes(
    deployment: Deployment, floor: StepPrice, held: Memory | None, kept: Reserve, estimator: Estimator | None
) -> Iterator[str]:
    yield from deployment.notes
    yield from floor.unpriced
    if held is None:
        yield f"the memory of {deployment.machine.name} is not known, so whether it fits is not said"
    else:
        yield from held.notes
        if not held.fits:
            yield from nearest(deployment, held, kept)
    if estimator is None:
        yield NO_ESTIMATE
