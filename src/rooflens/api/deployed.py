"""What is asked about serving a model, as a deployment: its load, what its engine sets aside, what estimates it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rooflens import artefacts
from rooflens.api import Question, accelerator, machine, prepared, shared
from rooflens.catalogue.calibrations import served
from rooflens.catalogue.engines import engine as engine_named
from rooflens.errors import RooflensError, Unknown
from rooflens.models import Model
from rooflens.models.lengths import step_within, usual_tokens
from rooflens.operators.cost import Precision
from rooflens.parallel import notes as unevenness
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.intervals import GENERIC
from rooflens.prediction.memory import Reserve, reserve
from rooflens.prediction.predicting import Estimator
from rooflens.prediction.record import Scales
from rooflens.prediction.served import FAMILIES, Served
from rooflens.records import checked, decode, fields, record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.links import doubts
from rooflens.roofline.machines import from_accelerator
from rooflens.roofline.placement import conventions
from rooflens.units import whole

PLAIN = ("graph", "eager")  # stacks without an engine, priced from what was measured
NO_COLLECTIVES = "what devices wait for one another was not measured: links are counted by their bytes alone"
NO_PIPELINE = "no engine's pipeline was measured: what its stages cost beside their links is not in the estimate"
ALL_KEPT = "every drafted token is taken as kept; say another share with --acceptance"
USUAL_HOST = 8  # accelerators; more of them on one link are a machine of another kind
ON_ONE_LINK = "all {devices} devices are taken to be on one {link}; say how many a host has with --gpus-per-node"
AT_ANOTHER_CONTEXT = "the first token is of the prompt alone, without a cached prefix; the context is the decode step's"

OF_A_STEP = ("weights", "kv", "math", "tp", "ep", "dp", "pp", "gpus_per_node", "link")  # what a file may leave open


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
        if self.prompt is not None and self.context is not None and self.context < self.prompt:
            raise RooflensError(
                f"a context counts the prompt too: {self.context:g} is under its {self.prompt:g} tokens; leave one out"
            )
        if self.measured_tokens_per_s is not None and self.measured_tokens_per_s <= 0:
            raise RooflensError(f"a measured rate must be above 0 tokens/s, not {self.measured_tokens_per_s:g}")


RESERVE = ("memory_fraction", "block_tokens", "batched_tokens", "runtime_bytes", "graph_bytes")
LOADED = tuple(f.name for f in fields(Load))


def of_a_step(asked: Mapping[str, Any]) -> None:
    """Raises Unknown for what is asked of a step and is none of OF_A_STEP."""
    for name in asked:
        if name not in OF_A_STEP:
            raise Unknown("argument", name, OF_A_STEP)


def parted(on: str | Machine, what: str, asked: Mapping[str, Any]) -> tuple[Load, Question, Machine]:
    """A question about serving on one machine: the load, the rest, and the machine."""
    load, question = said(what, asked)
    return load, question, located(on, question)


def said(what: str, asked: Mapping[str, Any]) -> tuple[Load, Question]:
    """The keywords of a question about serving: the load, and the rest."""
    load = Load(**{name: value for name, value in asked.items() if name in LOADED})
    return load, Question(what, **{name: value for name, value in asked.items() if name not in LOADED})


def located(on: str | Machine, question: Question) -> Machine:
    """The machine with its collectives on the link that was asked for; a measured one costs what its datasheet says."""
    there = machine(on) if isinstance(on, str) else on
    datasheet = other(there) if there.measured else None
    if datasheet is not None and there.price_usd_per_hour is None:
        there = replace(there, price_usd_per_hour=datasheet.price_usd_per_hour)
    return there.linked(question.link) if question.link else there


def deployment(question: Question, load: Load, there: Machine, made: Model | None = None) -> Deployment:
    """The deployment that is asked about. Raises RooflensError for a context that the model was not made for.

    made: the model, where it is at hand, see api.prepared.
    """
    if load.flavour is not None:
        raise RooflensError("a flavour is of one fp8 product, as gemm:M=16,K=4096,N=14336 with --weights fp8")
    model, precision, notes = prepared(question, there, made)
    if load.acceptance is not None and question.tokens == 1:
        raise RooflensError("an acceptance rate is of drafts: say how many new tokens a step verifies with --tokens")
    step_within(model, load.context, load.prompt, load.output)
    found = Deployment(
        model,
        precision,
        there,
        batch=question.batch,
        prompt=load.prompt or load.context or usual_tokens(model),
        output=load.output or 0.0,
        context=load.context,
        tokens=question.tokens,
        acceptance=1.0 if load.acceptance is None else load.acceptance,
        how=shared(question),
        notes=notes,
    )
    return replace(found, notes=(*notes, *_noted(found, question, load)))


def _noted(found: Deployment, question: Question, load: Load) -> Iterator[str]:
    """What a reader must know of this step."""
    yield from unevenness(found.model, found.step("decode"))
    if load.prompt is not None and load.context is not None and load.context > load.prompt:
        yield AT_ANOTHER_CONTEXT
    if found.tokens > 1 and load.acceptance is None:
        yield ALL_KEPT
    if found.devices > USUAL_HOST and found.machine.link and not (question.gpus_per_node or question.link):
        yield ON_ONE_LINK.format(devices=found.devices, link=found.machine.link)


def estimator(now: Deployment, load: Load, on: str) -> tuple[Estimator | None, tuple[str, ...]]:
    """What turns floors into expectations here, and a sentence where there is nothing.

    A measured machine has figures of its own (a plain stack under a graph, or `eager`) unless an engine is named; any
    other has the constants of that engine, or of engines in general.
    """
    engine = load.engine
    plain = engine in (None, *PLAIN)
    if engine is not None and not plain:
        engine_named(engine)
    if now.machine.measured and plain:
        found, why = _stack(on, now.machine, eager=engine == "eager")
        return found, (*why, *(_doubted(now) if found and now.devices > 1 else ()))
    if engine in PLAIN:
        return None, (f"{engine}: a plain stack is priced from a machine's own measurements; name one with --on",)
    there = other(now.machine) if now.machine.measured else now.machine
    if there is None or there.family not in FAMILIES:
        return None, (f"no engine's times are known on this kind of chip ({now.machine.title}): floors only",)
    general = Served(served(), engine or GENERIC, there.name)
    noted = (NO_PIPELINE,) if now.how.get("pp", 1) > 1 else ()
    if general.fitted_as != general.engine:
        noted = (*noted, f"{engine} was not fitted: what it adds to floors is that of engines in general")
    if load.calibration is None:
        return general, noted
    own, more = _own(general, load.calibration, now)
    return own, (*noted, *more)


def _doubted(now: Deployment) -> Iterator[str]:
    """What of its collectives nobody measured."""
    if now.machine.latency_s() is None:
        yield NO_COLLECTIVES
    yield from doubts(now.operators("decode"), now.machine)


def _own(general: Served, path: str, now: Deployment) -> tuple[Estimator, tuple[str, ...]]:
    """The constants with the factors of somebody's own points, and a word where those were of something else."""
    from rooflens.prediction.fitting import SCHEMA, Calibrated, applied

    own = decode(Calibrated, artefacts.read_json(Path(path)), path, SCHEMA)
    if own.engine != general.engine:
        how = "leave --engine away" if own.engine == GENERIC else f"ask with --engine {own.engine}"
        raise RooflensError(f"{path} was fitted for {own.engine}; {how}")
    here = {"model": now.model.name, "machine": now.machine.name, "formats": formats(now.precision, now.machine)}
    then = {name: getattr(own, name) for name in here}
    other_than = [f"{name} {value}" for name, value in then.items() if value not in (None, here[name])]
    other_than += [f"{name} {value}" for name, value in own.how.items() if value != now.how.get(name, 1)]
    doubt = f"{path} was fitted on {' and '.join(other_than)}: its factors may not hold here"
    return applied(general, own), (doubt,) if other_than else ()


def formats(precision: Precision, there: Machine) -> str:
    """The number formats as every answer says them."""
    return conventions(there, precision, "causal")["precision"]


def _stack(on: str, there: Machine, *, eager: bool) -> tuple[Estimator | None, tuple[str, ...]]:
    """The figures of a measured profile, and what a person assumes instead."""
    profile = artefacts.profile_named(on.partition(",")[0].strip()) if on else None
    if profile is None:
        return None, ()
    try:
        from rooflens.prediction.stack import stack

        return stack(profile, eager=eager).assuming(f"{name}={text}" for name, text in there.assumed.items()), ()
    except RooflensError as reason:
        return None, (str(reason),)


def kept(load: Load) -> Reserve:
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
