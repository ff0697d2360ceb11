"""Levers tried on a deployment and ranked by what they give, with where each stops paying."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.arrays import Number
from rooflens.errors import RooflensError
from rooflens.levers.changes import Change, Means, changes
from rooflens.prediction.deployment import Deployment, bound
from rooflens.prediction.memory import Reserve, memory
from rooflens.prediction.predicting import Estimator, usd_per_million
from rooflens.records import html, record, replace
from rooflens.roofline.bound import Bound
from rooflens.roofline.price import price_step
from rooflens.workload import accepted

SCHEMA = "rooflens/advise/1"
Goal = Literal["throughput", "latency", "cost"]
GOALS: dict[Goal, str] = {
    "throughput": "output tokens/s a device", "latency": "output tokens/s a user (1 / TPOT)",
    "cost": "output tokens per USD, at the catalogue's price",
}  # fmt: skip
PAYS = 1.05  # a gain under this is not worth the change
LOADS = tuple(float(1 << i) for i in range(13))  # batches to 4096
CONTEXTS = tuple(float(1 << i) for i in range(7, 18))  # to 131,072


@record
class Lever:
    """One change and what it gives, as a ratio of the goal. why_not: why it cannot help, in place of a gain.

    gain_estimate: of the expected times, where they are estimated. stops_at: the load from which on it gives under 5 %.
    memory_bytes: what it adds to a device's memory (below 0: frees). usd_per_million_tokens: with it, as expected or at
    the floor, where prices are known. fits: whether the batch still fits.
    """

    name: str
    gain_floor: float | None = None
    gain_estimate: float | None = None
    stops_at: str | None = None
    memory_bytes: float | None = None
    fits: bool | None = None
    engine_flag: str | None = None
    usd_per_million_tokens: float | None = None
    note: str | None = None
    why_not: str | None = None

    @property
    def gain(self) -> float | None:
        """Of the expected times where they are known, else of the floors; None where it cannot help."""
        return self.gain_floor if self.gain_estimate is None else self.gain_estimate


@record
class Advice:
    """The levers of one deployment, those that pay first, the best at the top; then those that cost; then the rest.

    notes: what must be known of the deployment itself.
    """

    _repr_html_ = html

    model: str
    machine: str
    goal: Goal
    levers: tuple[Lever, ...]
    conventions: Mapping[str, str]
    now_usd_per_million_tokens: float | None = None
    notes: tuple[str, ...] = ()


def advise(
    now: Deployment, kept: Reserve, means: Means, goal: Goal = "throughput", estimator: Estimator | None = None,
    flags: Mapping[str, str] | None = None,
) -> Advice:  # fmt: skip
    """Every lever tried on `now`. flags: an engine's options by lever.

    Raises NoPath for work `now` cannot do, RooflensError for costs on a machine without a price.
    """
    if goal == "cost" and now.machine.price_usd_per_hour is None:
        raise RooflensError(f"the price of {now.machine.name} is not known, so levers cannot be ranked by cost")
    tried = [_tried(change, now, kept, goal, estimator, flags or {}) for change in changes(now, means)]
    ranked = sorted(tried, key=lambda lever: -_rank(lever))
    return Advice(
        model=now.model.name,
        machine=now.machine.title,
        goal=goal,
        levers=tuple(ranked),
        conventions={
            "goal": GOALS[goal],
            "gain": "goal with the lever over goal without; below 1 it costs",
            "stops_at": "first load of those tried from which on the gain is under 5 %",
            "combined": "gains are of one lever at a time and do not multiply",
        },
        now_usd_per_million_tokens=_usd(now, estimator),
        notes=(*now.notes, *_crowded(now, kept)),
    )


def _crowded(now: Deployment, kept: Reserve) -> tuple[str, ...]:
    """That what is asked about has no room itself."""
    capacity = now.machine.memory_bytes
    held = memory(now.model, now.precision, now.step("decode"), capacity, kept) if capacity is not None else None
    return () if held is None or held.fits else held.notes[:1]


def reached(deployment: Deployment, goal: Goal, *, activations: bool = False) -> Number:
    """The goal at the floor: output tokens/s, a device or a user."""
    step = price_step(deployment.operators("decode"), deployment.machine, activations=activations)
    return _goal(deployment, goal, step.floor_s)


def _expected(deployment: Deployment, goal: Goal, estimator: Estimator) -> float:
    return float(_goal(deployment, goal, estimator.expect(deployment, "decode").time_s))


def _goal(deployment: Deployment, goal: Goal, step_s: Number) -> Number:
    """Output tokens/s of a step of this time."""
    if goal == "latency":
        return accepted(deployment.tokens, deployment.acceptance) / step_s
    price = deployment.machine.price_usd_per_hour if goal == "cost" else 1.0
    if price is None:
        raise RooflensError(f"the price of {deployment.machine.name} is not known")
    return deployment.tokens_per_s(step_s) / deployment.devices / price


def _tried(
    change: Change, now: Deployment, kept: Reserve, goal: Goal, estimator: Estimator | None, flags: Mapping[str, str]
) -> Lever:
    """The lever, or why it cannot be pulled at this load."""
    try:
        return _lever(change, now, kept, goal, estimator, flags)
    except RooflensError as reason:
        return Lever(change.name, why_not=str(reason), engine_flag=flags.get(change.flag))


def _lever(
    change: Change, now: Deployment, kept: Reserve, goal: Goal, estimator: Estimator | None, flags: Mapping[str, str]
) -> Lever:
    flag = flags.get(change.flag)
    if change.after is None:
        return _beside_the_floor(change, now, kept, goal, estimator, flag)
    if change.flag == "batch" and goal == "latency":
        return Lever(change.name, why_not="more sequences never make a user's token come sooner", engine_flag=flag)
    after = change.after
    gain = _gain(change, after, now, goal)
    expected = _gain_expected(after, now, goal, estimator)
    more, fits = _memory(after, now, kept)
    return Lever(
        change.name,
        gain,
        expected,
        None if change.flag == "batch" else _stops(change, after, now, goal),
        more,
        fits,
        flag,
        _usd(after, estimator if expected is not None else None),
        change.note,
    )


def _beside_the_floor(
    change: Change, now: Deployment, kept: Reserve, goal: Goal, estimator: Estimator | None, flag: str | None
) -> Lever:
    """A lever that leaves the floor as it is: what it takes from the expected time, or why it cannot help."""
    lighter = estimator.without(change.without) if estimator and change.without else None
    if estimator is None or lighter is None:
        return Lever(change.name, why_not=change.why_not, engine_flag=flag)
    gain = _expected(now, goal, lighter) / _expected(now, goal, estimator)
    more, fits = _memory(now, now, kept)
    usd = _usd(now, lighter)
    return Lever(change.name, 1.0, gain, None, more, fits, flag, usd, change.why_not)


def _gain_expected(after: Deployment, now: Deployment, goal: Goal, estimator: Estimator | None) -> float | None:
    """The gain in expected times; None where the estimator knows nothing of the machine or formats it changes to."""
    if estimator is None or (estimator.of_one_machine and after.machine.name != now.machine.name):
        return None
    try:
        return _expected(after, goal, estimator) / _expected(now, goal, estimator)
    except RooflensError:
        return None


def _stops(change: Change, after: Deployment, now: Deployment, goal: Goal) -> str | None:
    """The first batch, else the first context, from which on the lever gives under 5 %; None when there is none."""
    try:
        bounds = [bound(d, activations=change.activations) for d in (after, now)]
    except RooflensError:
        return None
    for name, loads in (("batch", LOADS), ("context", CONTEXTS)):
        most = now.model.max_context if name == "context" else None
        tried = [load for load in loads if load >= _load(now, name) and (most is None or load <= most)]
        rates = [
            [_rate(_at(d, name, load), goal, b) for load in tried] for d, b in zip((after, now), bounds, strict=True)
        ]
        gains = [one / other for one, other in zip(*rates, strict=True)]
        if gains and gains[0] >= PAYS > gains[-1]:
            return f"{name} {tried[next(i for i in range(len(gains)) if max(gains[i:]) < PAYS)]:g}"
    return None


def _rate(deployment: Deployment, goal: Goal, bound: Bound) -> float:
    return float(_goal(deployment, goal, bound.floor_s(deployment.step("decode"))))


def _gain(change: Change, after: Deployment, before: Deployment, goal: Goal) -> float:
    first, second = (float(reached(d, goal, activations=change.activations)) for d in (after, before))
    return first / second


def _load(deployment: Deployment, name: str) -> float:
    return float(deployment.batch if name == "batch" else deployment.attended)


def _at(deployment: Deployment, name: str, load: float) -> Deployment:
    return replace(deployment, batch=load) if name == "batch" else replace(deployment, context=load)


def _memory(after: Deployment, now: Deployment, kept: Reserve) -> tuple[float | None, bool | None]:
    """What it adds to a device's need, and whether all still fits."""
    if after.machine.memory_bytes is None:
        return None, None
    one, other = (
        memory(d.model, d.precision, d.step("decode"), d.machine.memory_bytes or 0.0, kept) for d in (after, now)
    )
    return one.needed_bytes - other.needed_bytes, one.fits


def _usd(deployment: Deployment, estimator: Estimator | None) -> float | None:
    rate = reached(deployment, "throughput") if estimator is None else _expected(deployment, "throughput", estimator)
    return usd_per_million(deployment, float(rate) * deployment.devices)


def _rank(lever: Lever) -> float:
    """What pays most first; what cannot help last."""
    gain = lever.gain
    return -1.0 if gain is None else gain if lever.fits is not False else gain / 1e6
