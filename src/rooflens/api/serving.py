"""The public functions behind `rooflens predict`, `advise`, `plan` and `fit`: names in, records out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rooflens.api import machine
from rooflens.api.deployed import PLAIN, deployment, estimator, formats, kept, located, other, parted, said
from rooflens.api.named import several
from rooflens.catalogue import accelerators
from rooflens.catalogue.calibrations import SERVED
from rooflens.catalogue.engines import engine as engine_named
from rooflens.errors import NoPath, RooflensError
from rooflens.models.lengths import within
from rooflens.operators.alone import is_alone
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.memory import Reserve
from rooflens.prediction.predicting import predict as foretell
from rooflens.prediction.record import Prediction
from rooflens.prediction.served import Served
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.machines import from_accelerator
from rooflens.units import whole

if TYPE_CHECKING:
    from rooflens.levers.advice import Advice, Goal
    from rooflens.prediction.arithmetic import Arithmetic
    from rooflens.prediction.fitting import Calibrated
    from rooflens.prediction.operator import OperatorPrediction
    from rooflens.prediction.planning import Plan

DRAFTED = 0.7  # acceptance of drafts when nobody says another
FASTEST = 3


def predict(what: str, on: str | Machine, **asked: Any) -> Prediction | Arithmetic | OperatorPrediction:
    """How fast `what` could be served on `on`, how fast it will be, and whether it fits.

    what: a model, `params=8e9,weight_bytes=4.6e9` for arithmetic without an architecture, or an operator with its
    sizes, `gemm:M=16,K=4096,N=14336`. The keywords are the fields of Load and of api.Question. Raises RooflensError for
    a context beyond the model's, NoPath for work that the machine cannot do.
    """
    load, question, there = parted(on, what, asked)
    if is_alone(what):
        from rooflens.api.written import predicted

        return predicted(question, load, there)
    asked_of = deployment(question, load, there)
    expected, more = estimator(asked_of, load, on if isinstance(on, str) else "")
    noted = replace(asked_of, notes=(*asked_of.notes, *more))
    return foretell(noted, kept(load), expected, load.measured_tokens_per_s, other(there))


def fit(
    what: str, on: str | Machine, points: Sequence[Mapping[str, float]], **asked: Any
) -> tuple[Calibrated, tuple[str, ...]]:
    """Calibrates on measured points of one deployment: batch, prompt, output and tpot_s (or tokens_per_s) of each.

    Returns what a calibrated file holds, and sentences. Raises RooflensError for points that no engine gives.
    """
    from rooflens.prediction.fitting import Calibrated
    from rooflens.prediction.fitting import fit as fitted

    load, question, there = parted(on, what, asked)
    plain = deployment(question, load, there)
    general, notes = estimator(plain, load, on if isinstance(on, str) else "")
    if not isinstance(general, Served):
        raise RooflensError(notes[0] if notes else "name the engine that was measured with --engine")
    loads = [(_loaded(plain, point), _tpot_s(point)) for point in points]
    how = {name: int(plain.how[name]) for name in ("tp", "ep", "dp", "pp")}
    stored = formats(plain.precision, plain.machine)
    own = Calibrated(SERVED, general.engine, plain.model.name, there.name, how, fitted(general, loads), stored)
    return own, notes


def _loaded(plain: Deployment, point: Mapping[str, float]) -> Deployment:
    for name in ("batch", "prompt", "output"):
        whole(point[name], name)
    within(plain.model, point["prompt"] + point["output"], "a prompt or an output of the points is too long")
    return replace(plain, batch=point["batch"], prompt=point["prompt"], output=point["output"], context=None)


def _tpot_s(point: Mapping[str, float]) -> float:
    """Seconds a token, as said or from the tokens/s of all sequences."""
    return point["tpot_s"] if "tpot_s" in point else point["batch"] / point["tokens_per_s"]


def advise(
    what: str, on: str | Machine, *, goal: Goal = "throughput", to: str | Sequence[str] | None = None, **asked: Any
) -> Advice:
    """What pays most to change about `what` on `on`, and where it stops paying.

    goal: "throughput" (tokens/s a device) or "latency" (tokens/s a user). to: other machines to try; none: the best and
    the cheapest of the catalogue. Raises as `predict` does.
    """
    from rooflens.levers.advice import advise as tried
    from rooflens.levers.changes import Means
    from rooflens.prediction.memory import memory

    load, question, there = parted(on, what, asked)
    if is_alone(what):
        raise RooflensError(f"{what} has no architecture whose levers could be tried; name a model")
    wanted = replace(load, acceptance=None) if question.tokens == 1 else load
    now = deployment(question, wanted, there)
    own = kept(load)
    capacity = there.memory_bytes
    most = (
        None if capacity is None else memory(now.model, now.precision, now.step("decode"), capacity, own).max_sequences
    )
    machines = best_machines(now, own, goal) if to is None else [machine(name) for name in several(to, "machines")]
    means = Means(most, machines, DRAFTED if load.acceptance is None else load.acceptance)
    flags = engine_named(load.engine).flags if load.engine and load.engine not in PLAIN else {}
    return tried(now, own, means, goal, estimator(now, load, on if isinstance(on, str) else "")[0], flags)


def plan(
    what: str, *, ttft_s: float, tpot_s: float, users: int, on: str | Sequence[str] | None = None, **asked: Any
) -> Plan:
    """Which machines, how many and how shared serve `what` to so many users within these times, the cheapest first.

    on: machines to try; none: those of the catalogue that have a price. The keywords are the fields of Load and of
    api.Question. Raises RooflensError for a target that is none.
    """
    from rooflens.prediction.planning import Target
    from rooflens.prediction.planning import plan as planned

    for name, value in (("ttft", ttft_s), ("tpot", tpot_s), ("users", users)):
        if not value > 0:
            raise RooflensError(f"{name} must be above 0, not {value:g}")
    priced = several(on, "machines") if on is not None else [chip.id for chip in accelerators() if chip.price]
    load, question = said(what, asked)
    if load.prompt is None or load.output is None:
        raise RooflensError("a plan needs the --prompt and the --output of a request")
    if max(question.tp, question.pp, question.dp, question.ep) > 1 or question.batch != 1:
        raise RooflensError("batch and devices are what a plan finds: leave --batch, --tp, --pp, --ep and --dp away")
    wanted, left = [], []
    for name in priced:
        try:
            asked_of = deployment(question, load, located(name, question))
            wanted.append((asked_of, estimator(asked_of, load, name)[0]))
        except NoPath as reason:
            left.append((machine(name).title, str(reason)))
    return planned(wanted, Target(ttft_s, tpot_s, users, load.prompt, load.output), kept(load), what, left)


def best_machines(now: Deployment, own: Reserve, goal: Goal) -> list[Machine]:
    """The fastest three and the cheapest a token of the catalogue's shipping accelerators that can do this work.

    Those that the work fits come first; for a goal in costs, those without a price are no answer.
    """
    from rooflens.levers.advice import reached
    from rooflens.levers.changes import moved
    from rooflens.prediction.memory import memory
    from rooflens.prediction.predicting import usd_per_million

    found = []
    for chip in accelerators():
        there = from_accelerator(chip)
        after = None if chip.status not in (None, "shipping") or there.name == now.machine.name else moved(now, there)
        if isinstance(after, Deployment) and (goal != "cost" or there.price_usd_per_hour is not None):
            rate = float(reached(after, "throughput")) * after.devices
            held = memory(after.model, after.precision, after.step("decode"), there.memory_bytes or 0.0, own)
            found.append((not held.fits, -float(reached(after, goal)), usd_per_million(after, rate), there))
    fastest = [there for *_, there in sorted(found, key=lambda one: one[:2])[:FASTEST]]
    priced = sorted((crowded, usd, there.name, there) for crowded, _, usd, there in found if usd is not None)
    return [*fastest, *(there for *_, there in priced[:1] if there not in fastest)]
