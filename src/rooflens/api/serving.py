"""The public functions behind `rooflens predict`, `advise`, `plan` and `fit`: names in, records out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooflens import artefacts
from rooflens.api import DEFAULT_TOKENS, Question, accelerator, machine, prepared, shared
from rooflens.catalogue import accelerators
from rooflens.catalogue.calibrations import SERVED, served
from rooflens.catalogue.engines import engine as engine_named
from rooflens.errors import NoPath, RooflensError, Unknown
from rooflens.operators.alone import is_alone
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.intervals import GENERIC
from rooflens.prediction.memory import reserve
from rooflens.prediction.predicting import Estimator
from rooflens.prediction.predicting import predict as foretell
from rooflens.prediction.record import Prediction, Scales
from rooflens.prediction.served import FAMILIES, Served
from rooflens.records import checked, decode, fields, record, replace
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
PLAIN = ("graph", "eager")  # stacks without an engine, priced from what was measured


@record
class Load:
    """What is served and by what: sequences at once, a prompt and an output, and what an engine sets aside.

    prompt, output, context: as in deployments; a context alone is a decode step at it, behind a prompt of as many
    tokens. None: an engine's default, or not known. memory_fraction and what follows: see prediction.memory.Reserve.
    flavour: scales of one fp8 product alone.
    """

    prompt: float | None = None
    output: float | None = None
    context: float | None = None
    acceptance: float | None = None
    engine: str | None = None
    memory_fraction: float | None = None
    block_tokens: int | None = None
    batched_tokens: int | None = None
    runtime_bytes: float | None = None
    graph_bytes: float | None = None
    measured_tokens_per_s: float | None = None
    calibration: str | None = None
    flavour: Scales | None = None

    def __post_init__(self) -> None:
        checked(self)
        for name in ("prompt", "output", "context", "block_tokens", "batched_tokens"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name)
        if self.output is not None and self.context is not None:
            raise RooflensError("a context is one decode step's: leave it out, or leave out the output")
        if self.measured_tokens_per_s is not None and self.measured_tokens_per_s <= 0:
            raise RooflensError(f"a measured rate must be above 0 tokens/s, not {self.measured_tokens_per_s:g}")


RESERVE = ("memory_fraction", "block_tokens", "batched_tokens", "runtime_bytes", "graph_bytes")
LOADED = tuple(f.name for f in fields(Load))


def predict(what: str, on: str | Machine, **asked: Any) -> Prediction | Arithmetic | OperatorPrediction:
    """How fast `what` could be served on `on`, how fast it will be, and whether it fits.

    what: a model, `params=8e9,weight_bytes=4.6e9` for arithmetic without an architecture, or an operator with its
    sizes, `gemm:M=16,K=4096,N=14336`. The keywords are the fields of Load and of api.Question. Raises RooflensError for
    a context beyond the model's, NoPath for work that the machine cannot do.
    """
    load = Load(**{name: asked.pop(name) for name in LOADED if name in asked})
    question = Question(what, **asked)
    there = machine(on) if isinstance(on, str) else on
    there = there.linked(question.link) if question.link else there
    if is_alone(what):
        from rooflens.api.written import predicted

        return predicted(question, load, there)
    asked_of = deployment(question, load, there)
    expected, said = estimator(asked_of, load, on if isinstance(on, str) else "")
    noted = replace(asked_of, notes=(*asked_of.notes, *said))
    return foretell(noted, kept(load), expected, load.measured_tokens_per_s, other(there))


def deployment(question: Question, load: Load, there: Machine) -> Deployment:
    """The deployment that is asked about. Raises RooflensError for a context that the model was not made for."""
    if load.flavour is not None:
        raise RooflensError("a flavour is of one fp8 product, as gemm:M=16,K=4096,N=14336 with --weights fp8")
    model, precision, notes = prepared(question, there)
    if load.acceptance is not None and question.tokens == 1:
        raise RooflensError("an acceptance rate is of drafts: say how many new tokens a step verifies with --tokens")
    longest = max(load.context or 0, (load.prompt or 0) + (load.output or 0))
    if model.max_context is not None and longest > model.max_context:
        raise RooflensError(
            f"{model.name} was made for {model.max_context} positions, and {longest:g} are asked for; "
            "shorten the prompt or the output"
        )
    return Deployment(
        model,
        precision,
        there,
        batch=question.batch,
        prompt=load.prompt or load.context or DEFAULT_TOKENS,
        output=load.output or 0.0,
        context=load.context,
        tokens=question.tokens,
        acceptance=1.0 if load.acceptance is None else load.acceptance,
        how=shared(question),
        notes=notes,
    )


def estimator(now: Deployment, load: Load, on: str) -> tuple[Estimator | None, tuple[str, ...]]:
    """What turns floors into expectations here, and a sentence where there is nothing.

    A measured machine has figures of its own (a plain stack under a graph, or `eager`) unless an engine is named; any
    other has the constants of that engine, or of engines in general.
    """
    engine = load.engine
    plain = engine in (None, *PLAIN)
    if now.machine.measured and plain:
        return _stack(on, eager=engine == "eager")
    if engine in PLAIN:
        return None, (f"{engine}: a plain stack is priced from a machine's own measurements; name one with --on",)
    there = other(now.machine) if now.machine.measured else now.machine
    if there is None or there.family not in FAMILIES:
        return None, (f"no engine's times are known on this kind of chip ({now.machine.title}): floors only",)
    general = Served(served(), engine or GENERIC, there.name)
    if load.calibration is None:
        return general, ()
    return _own(general, load.calibration, now)


def _own(general: Served, path: str, now: Deployment) -> tuple[Estimator | None, tuple[str, ...]]:
    """The constants with the factors of somebody's own points, and a word where those were of something else."""
    from rooflens.prediction.fitting import SCHEMA, Calibrated, applied

    own = decode(Calibrated, artefacts.read_json(Path(path)), path, SCHEMA)
    if own.engine != general.engine:
        raise RooflensError(f"{path} was fitted for {own.engine}; ask with --engine {own.engine}")
    here = {"model": now.model.name, "machine": now.machine.name}
    other_than = [f"{name} {getattr(own, name)}" for name, value in here.items() if getattr(own, name) != value]
    said = (f"{path} was fitted on {' and '.join(other_than)}: its factors may not hold here",) if other_than else ()
    return applied(general, own), said


def fit(
    what: str, on: str | Machine, points: Sequence[Mapping[str, float]], **asked: Any
) -> tuple[Calibrated, tuple[str, ...]]:
    """Calibrates on measured points of one deployment: batch, prompt, output and tpot_s (or tokens_per_s) of each.

    Returns what a calibrated file holds, and sentences. Raises RooflensError for points that no engine gives.
    """
    from rooflens.prediction.fitting import Calibrated
    from rooflens.prediction.fitting import fit as fitted

    load = Load(**{name: asked.pop(name) for name in LOADED if name in asked})
    question = Question(what, **asked)
    there = machine(on) if isinstance(on, str) else on
    there = there.linked(question.link) if question.link else there
    plain = deployment(question, load, there)
    general, said = estimator(plain, load, on if isinstance(on, str) else "")
    if not isinstance(general, Served):
        raise RooflensError(said[0] if said else "name the engine that was measured with --engine")
    loads = [(_loaded(plain, point), _tpot_s(point)) for point in points]
    how = {name: int(plain.how[name]) for name in ("tp", "ep", "dp", "pp")}
    own = Calibrated(SERVED, general.engine, plain.model.name, there.name, how, fitted(general, loads))
    return own, said


def _loaded(plain: Deployment, point: Mapping[str, float]) -> Deployment:
    for name in ("batch", "prompt", "output"):
        whole(point[name], name)
    return replace(plain, batch=point["batch"], prompt=point["prompt"], output=point["output"], context=None)


def _tpot_s(point: Mapping[str, float]) -> float:
    """Seconds a token, as said or from the tokens/s of all sequences."""
    return point["tpot_s"] if "tpot_s" in point else point["batch"] / point["tokens_per_s"]


def _stack(on: str, *, eager: bool) -> tuple[Estimator | None, tuple[str, ...]]:
    """The figures of a measured profile."""
    profile = artefacts.profile_named(on.partition(",")[0].strip()) if on else None
    if profile is None:
        return None, ()
    try:
        from rooflens.prediction.stack import stack

        return stack(profile, eager=eager), ()
    except RooflensError as reason:
        return None, (str(reason),)


def kept(load: Load) -> Any:
    """What the engine sets aside, with what a person says instead."""
    engine = None if load.engine in (None, *PLAIN) else engine_named(load.engine)
    return reserve(engine, **{name: getattr(load, name) for name in RESERVE})


def other(there: Machine) -> Machine | None:
    """The same chip's other machine: its datasheet where this one is measured, its measured profile where it is not."""
    if there.measured:
        try:
            return from_accelerator(accelerator(there.title))
        except Unknown:
            return None
    if there.assumed or not artefacts.is_shipped(there.name):
        return None
    return artefacts.shipped(there.name).machine(artefacts.MEASURED + there.name)


def advise(what: str, on: str | Machine, *, goal: Goal = "throughput", to: Sequence[str] = (), **asked: Any) -> Advice:
    """What pays most to change about `what` on `on`, and where it stops paying.

    goal: "throughput" (tokens/s a device) or "latency" (tokens/s a user). to: other machines to try; none: the best and
    the cheapest of the catalogue. Raises as `predict` does.
    """
    from rooflens.levers.advice import advise as tried
    from rooflens.levers.changes import Means
    from rooflens.prediction.memory import memory

    load = Load(**{name: asked.pop(name) for name in LOADED if name in asked})
    question = Question(what, **asked)
    there = machine(on) if isinstance(on, str) else on
    there = there.linked(question.link) if question.link else there
    if is_alone(what):
        raise RooflensError(f"{what} has no architecture whose levers could be tried; name a model")
    wanted = replace(load, acceptance=None) if question.tokens == 1 else load
    now = deployment(question, wanted, there)
    own = kept(load)
    capacity = there.memory_bytes
    most = (
        None if capacity is None else memory(now.model, now.precision, now.step("decode"), capacity, own).max_sequences
    )
    machines = [machine(name) for name in to] or best_machines(now, goal)
    means = Means(most, machines, DRAFTED if load.acceptance is None else load.acceptance)
    flags = engine_named(load.engine).flags if load.engine and load.engine not in PLAIN else {}
    return tried(now, own, means, goal, estimator(now, load, on if isinstance(on, str) else "")[0], flags)


def plan(what: str, *, ttft_s: float, tpot_s: float, users: int, on: Sequence[str] = (), **asked: Any) -> Plan:
    """Which machines, how many and how shared serve `what` to so many users within these times, the cheapest first.

    on: machines to try; none: those of the catalogue that have a price. The keywords are the fields of Load and of
    api.Question. Raises RooflensError for a target that is none.
    """
    from rooflens.prediction.planning import Target
    from rooflens.prediction.planning import plan as planned

    for name, value in (("ttft", ttft_s), ("tpot", tpot_s), ("users", users)):
        if not value > 0:
            raise RooflensError(f"{name} must be above 0, not {value:g}")
    load = Load(**{name: asked.pop(name) for name in LOADED if name in asked})
    if load.prompt is None or load.output is None:
        raise RooflensError("a plan needs the --prompt and the --output of a request")
    question = Question(what, **asked)
    if max(question.tp, question.pp, question.dp, question.ep) > 1 or question.batch != 1:
        raise RooflensError("batch and devices are what a plan finds: leave --batch, --tp, --pp, --ep and --dp away")
    priced = on or [chip.id for chip in accelerators() if chip.price]
    wanted, left = [], []
    for name in priced:
        there = machine(name)
        try:
            asked_of = deployment(question, load, there)
            wanted.append((asked_of, estimator(asked_of, load, name)[0]))
        except NoPath as reason:
            left.append((there.title, str(reason)))
    return planned(wanted, Target(ttft_s, tpot_s, users, load.prompt, load.output), kept(load), what, left)


def best_machines(now: Deployment, goal: Goal) -> list[Machine]:
    """The fastest three and the cheapest a token of the catalogue's shipping accelerators that can do this work."""
    from rooflens.levers.advice import reached
    from rooflens.levers.changes import moved
    from rooflens.prediction.predicting import usd_per_million

    found = []
    for chip in accelerators():
        there = from_accelerator(chip)
        after = None if chip.status not in (None, "shipping") or there.name == now.machine.name else moved(now, there)
        if isinstance(after, Deployment):
            rate = float(reached(after, "throughput")) * after.devices
            found.append((float(reached(after, goal)), usd_per_million(after, rate), there))
    fastest = [there for *_, there in sorted(found, key=lambda one: -one[0])[:FASTEST]]
    priced = sorted((usd, there.name, there) for _, usd, there in found if usd is not None)
    return [*fastest, *(there for *_, there in priced[:1] if there not in fastest)]
