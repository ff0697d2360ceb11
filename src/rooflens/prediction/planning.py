"""Which machines, how many, shared how: every layout that meets a target, the cheapest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rooflens.errors import RooflensError
from rooflens.models import Model, rebuilt
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.edges import edge
from rooflens.prediction.memory import Reserve, memory
from rooflens.prediction.predicting import Estimator, usd_per_million
from rooflens.records import html, record, replace
from rooflens.units import show
from rooflens.workload import Phase, accepted

SCHEMA = "rooflens/plan/1"
SHARED = (1, 2, 4, 8)  # devices of one replica that are tried; more than one node's is not
UNLOADED = (
    "judged as TPOT is; one prompt alone, no queue: percentiles under load need a queueing model and are not given"
)


@record
class Target:
    """What must hold: seconds to the first token (unloaded) and a token, for so many users and such requests."""

    ttft_s: float
    tpot_s: float
    users: int
    prompt: float
    output: float


@record
class Layout:
    """One way to serve it: `replicas` of `tp` devices each, `batch` users on each, in the pages of one engine.

    tpot_s, ttft_s: what decides, the upper end of the interval where there is one, else the floor. usd_per_hour: of all
    devices, where a price is known. estimated: whether it is an interval's end that decided.
    """

    machine: str
    tp: int
    ep: int
    replicas: int
    devices: int
    batch: int
    tpot_s: float
    ttft_s: float
    tokens_per_s: float
    limit: str
    usd_per_hour: float | None = None
    usd_per_million_tokens: float | None = None
    estimated: bool = False


@record
class Miss:
    """A machine on which nothing met the target, and what was nearest to it."""

    machine: str
    why: str


@record
class Plan:
    """Every layout that meets the target, the cheapest first; those without a price by devices behind them.

    notes: what reading the model's files left open.
    """

    _repr_html_ = html

    model: str
    target: Target
    layouts: tuple[Layout, ...]
    misses: tuple[Miss, ...]
    conventions: Mapping[str, str]
    notes: tuple[str, ...] = ()


def plan(
    wanted: Sequence[tuple[Deployment, Estimator | None]],
    target: Target,
    kept: Reserve,
    name: str,
    unable: Sequence[tuple[str, str]] = (),
) -> Plan:
    """Plans for one deployment a machine, each of batch 1 on one device: how they share the model is tried here.

    unable: machines that cannot do this work at all, each with its reason.
    """
    layouts: list[Layout] = []
    misses = [Miss(machine, why) for machine, why in unable]
    for deployment, estimator in wanted:
        found, why = _on(deployment, estimator, target, kept)
        layouts += found
        misses += [] if found else [Miss(deployment.machine.title, why)]
    basis = _basis({estimator is not None for _, estimator in wanted})
    notes = dict.fromkeys(warning for deployment, _ in wanted for warning in deployment.model.warnings)
    return Plan(name, target, tuple(sorted(layouts, key=_cost)), tuple(misses), _conventions(basis), tuple(notes))


def _on(deployment: Deployment, estimator: Estimator | None, target: Target, kept: Reserve) -> tuple[list[Layout], str]:
    """The layouts of one machine, one a number of devices; and why there is none."""
    found: list[Layout] = []
    reasons: list[str] = []
    for tp in SHARED:
        try:
            shared = _shared(deployment, tp)
            layout = _fullest(shared, estimator, target, kept)
        except RooflensError as reason:
            reasons.append(f"tp {tp}: {reason}")
            continue
        if isinstance(layout, Layout):
            found.append(layout)
        else:
            reasons.append(f"tp {tp}: {layout}")
    return found, reasons[-1] if reasons else ""


def _shared(deployment: Deployment, tp: int) -> Deployment:
    """Its layers shared by tp devices, its experts spread whole over them."""
    if tp == 1:
        return deployment
    ep = tp if "E" in deployment.model.letters else 1
    linked: Model = rebuilt(deployment.model, links=True)
    return replace(deployment, model=linked, how={**deployment.how, "tp": tp, "ep": ep})


def _fullest(deployment: Deployment, estimator: Estimator | None, target: Target, kept: Reserve) -> Layout | str:
    """The layout with the most users a replica that still meets the target; or what stands in the way."""
    capacity = deployment.machine.memory_bytes
    if capacity is None:
        machine = deployment.machine
        return f"the memory of {machine.name} is not known; say it as --on {machine.on},capacity=80GB"
    longest = replace(deployment, context=deployment.prompt + deployment.output)
    held = memory(deployment.model, deployment.precision, longest.step("decode"), capacity, kept)
    if not held.max_sequences:
        return held.notes[0] if held.notes else "does not fit"
    ttft_s = _time(deployment, estimator, "prefill")
    if ttft_s > target.ttft_s:
        return f"TTFT {show(ttft_s, 's', 3)} is over {show(target.ttft_s, 's', 3)}"
    if _tpot(deployment, 1, estimator) > target.tpot_s:
        return f"TPOT {show(_tpot(deployment, 1, estimator), 's', 3)} at batch 1 is over {show(target.tpot_s, 's', 3)}"
    most = min(held.max_sequences, target.users)
    batch = _largest(deployment, estimator, target.tpot_s, most)
    limit = "users" if batch == target.users else "memory" if batch == held.max_sequences else "TPOT"
    return _layout(replace(deployment, batch=float(batch)), estimator, target, ttft_s, limit)


def _layout(deployment: Deployment, estimator: Estimator | None, target: Target, ttft_s: float, limit: str) -> Layout:
    batch, tp = int(deployment.batch), int(deployment.how.get("tp", 1))
    replicas = -(-target.users // batch)
    each = -(-target.users // replicas)  # shared out evenly, so that no replica is fuller than it must be
    tpot_s = _tpot(deployment, each, estimator)
    rate = target.users / tpot_s
    fleet = replace(deployment, batch=float(target.users), how={**deployment.how, "dp": replicas})
    price = deployment.machine.price_usd_per_hour
    return Layout(
        machine=deployment.machine.name,
        tp=tp,
        ep=int(deployment.how.get("ep", 1)),
        replicas=replicas,
        devices=fleet.devices,
        batch=each,
        tpot_s=tpot_s,
        ttft_s=ttft_s,
        tokens_per_s=rate,
        limit=limit,
        usd_per_hour=None if price is None else price * fleet.devices,
        usd_per_million_tokens=usd_per_million(fleet, rate),
        estimated=estimator is not None,
    )


def _largest(deployment: Deployment, estimator: Estimator | None, tpot_s: float, most: int) -> int:
    """The largest batch up to `most` with a TPOT within the target; 1 has been tried."""
    return edge(most + 1, 1, lambda batch: _tpot(deployment, batch, estimator) <= tpot_s)


def _tpot(deployment: Deployment, batch: int, estimator: Estimator | None) -> float:
    loaded = replace(deployment, batch=float(batch))
    return _time(loaded, estimator, "decode") / float(accepted(loaded.tokens, loaded.acceptance))


def _time(deployment: Deployment, estimator: Estimator | None, phase: Phase) -> float:
    """The upper end of what is expected, or the floor."""
    return float(deployment.floor(phase).floor_s) if estimator is None else estimator.expect(deployment, phase).high_s


def _cost(layout: Layout) -> tuple[bool, float, int, float]:
    """What costs least first; of equals, fewer devices, then the quicker."""
    return layout.usd_per_hour is None, layout.usd_per_hour or 0.0, layout.devices, layout.tpot_s


def _basis(estimated: set[bool]) -> str:
    """What the times of these layouts are."""
    if estimated == {True}:
        return "the upper end of the 80 % interval"
    floor = "the floor: nothing was calibrated, real engines are slower"
    return f"the upper end of the 80 % interval; behind > {floor}" if True in estimated else floor


def _conventions(basis: str) -> dict[str, str]:
    return {
        "target": "users are sequences in decode at the same time",
        "tpot": f"{basis}, at the mean context of the output",
        "ttft": UNLOADED,
        "memory": "every sequence at its longest, prompt + output",
        "price": "one offer at one date, of the catalogue; no price is no cost known, not free",
        "not_tried": "pipelines, more than 8 devices a replica, prefill on machines of its own",
    }
