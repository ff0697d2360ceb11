"""The public Python API: the same names as the command line, returning the records that it prints.

>>> import rooflens
>>> answer = rooflens.place("llama-2-7b", on="a100-sxm4-80gb", phase="decode", batch=16, context=4096)
>>> answer.total.bound
'memory'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rooflens import artefacts, catalogue, models, parallel, workload
from rooflens.catalogue import Accelerator
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError, Unknown
from rooflens.models import Choices, Model
from rooflens.models.lengths import step_within, usual_tokens
from rooflens.operators.alone import alone, is_alone
from rooflens.operators.cost import Precision
from rooflens.operators.standard import AttentionForm
from rooflens.records import checked, record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.links import said as links_said
from rooflens.roofline.machines import from_accelerator, overridden
from rooflens.roofline.math import resolve
from rooflens.roofline.placement import Placement, conventions, placement
from rooflens.roofline.points import Point
from rooflens.roofline.price import NETWORK
from rooflens.units import LARGEST, whole
from rooflens.workload import Mask, Operator, Phase, Step

DEVICES = ("tp", "ep", "dp", "pp", "microbatches", "gpus_per_node")
SIZED = "one operator with its sizes written into it"
OF_ATTENTION = ("attention", "kv")  # of such operators, these say something about attention only
MOST_MODELS = 128  # built ones that are remembered
BY_MICROBATCH = "figures are of one kernel and one microbatch, which runs `count` of them on its way; totals: a device"
BUBBLE = "the pipeline is empty before and after the step; (p - 1) / (m + p - 1) of it a stage waits"


@record
class Question:
    """What `place` is asked: a model or an operator, its step and formats. None: the default that `step` states.

    output: tokens generated behind `prompt`; the decode step is then the mean one, at a context of prompt + output / 2.
    Raises RooflensError for a value of another kind, a size that is no whole number, a time that is not above 0.
    """

    what: str
    phase: Phase = "decode"
    batch: float = 1
    context: float | None = None
    prompt: float | None = None
    output: float | None = None
    weights: str | None = None
    kv: str | None = None
    math: str | None = None
    attention: AttentionForm = "flash"
    fused: bool = True
    mask: Mask = "causal"
    tp: int = 1
    ep: int = 1
    dp: int = 1
    pp: int = 1
    microbatches: int = 1
    gpus_per_node: int | None = None
    routing_skew: float = 0.0
    tokens: float = 1
    link: str | None = None
    measured_s: float | None = None

    def __post_init__(self) -> None:
        checked(self)
        for name in ("batch", "context", "prompt", "output", "tokens", *DEVICES):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name)
        for name in ("what", "weights", "kv", "math", "link"):
            if getattr(self, name) == "":
                which, out = ("the model", "") if name == "what" else (name, " or leave it out")
                raise RooflensError(f"{which} is empty; name one{out}")
        if self.measured_s is not None and not 1 / LARGEST <= self.measured_s <= LARGEST:
            raise RooflensError(
                f"a measured time must be above 0 seconds and below {LARGEST:g}, not {self.measured_s:g}"
            )


@record
class Answer:
    """A placement with what it was made of, for --explain and --plot."""

    placement: Placement
    points: tuple[Point, ...]
    machine: Machine
    operators: tuple[Operator, ...]
    precision: Precision


def accelerator(name: str) -> Accelerator:
    """A catalogue row by id, unambiguous short name, or the name a driver prints. Raises Unknown with near matches."""
    return catalogue.accelerator(name)


def machine(on: str) -> Machine:
    """The machine that `on` names, with `,NAME=VALUE` overrides behind it.

    on: a catalogue id, the name a driver prints, profile.json or a lab's folder, machine.toml, `measured:ID`, `here`.
    Raises Unknown for a name that nothing matches, BadFile for a file that is not one of these.
    """
    name, *assignments = on.split(",")
    found = overridden(_machine(name.strip()), assignments)
    given = ",".join([name.strip(), *("".join(one.split()) for one in assignments)])
    return found if found.name == given else replace(found, given=given)


def model(name: str, attention: AttentionForm = "flash", *, fused: bool = True, links: bool = False) -> Model:
    """The model that `name` says: a catalogue name, config.json, a model folder, .safetensors, an index or .gguf.

    Where tensors are there, they say what is stored. Raises Unknown for a name, RooflensError for any other file.
    """
    choices = Choices(attention, fused, links)
    if name in models.known():
        return _known(name, choices)
    from rooflens import readers

    return readers.model(Path(name), choices) if readers.is_path(name) else models.named(name, choices)


@lru_cache(MOST_MODELS)
def _known(name: str, choices: Choices) -> Model:
    """A model that ships with rooflens, built once: no value of it changes."""
    return models.named(name, choices)


def place(what: str, on: str | Machine, **asked: Any) -> Placement:
    """Where each operator of `what` lands under the roofs of `on`; the keywords are the fields of Question."""
    return answer(Question(what, **asked), on).placement


def answer(question: Question, on: str | Machine) -> Answer:
    """`place` with its ingredients."""
    there = machine(on) if isinstance(on, str) else on
    there = there.linked(question.link) if question.link else there
    return _answer_alone(question, there) if is_alone(question.what) else _answer_model(question, there)


def _answer_alone(question: Question, there: Machine) -> Answer:
    found = alone(question.what, question.attention)
    _no_step(question, found.name)
    precision, notes = resolve(workload.precision(dtype("bf16"), question.weights, question.kv), there, question.math)
    cost = found.cost(precision)
    operators = (Operator(found.name, 1, cost, found.rows, letters=found.letters),)
    return _answer(question, there, operators, precision, {"operator": question.what}, notes)


def _no_step(question: Question, name: str) -> None:
    """An operator alone has its sizes in its text: what would set a step says nothing about it, so it is refused."""
    plain = Question(question.what)
    step = ("phase", "batch", "context", "prompt", "output", "mask", *DEVICES, "link", "routing_skew", "tokens")
    options = (*step, "fused", *(() if name == "attention" else OF_ATTENTION))
    nothing_beside(question.what, SIZED, [name for name in options if getattr(question, name) != getattr(plain, name)])


def nothing_beside(what: str, kind: str, given: Sequence[str]) -> None:
    """Raises RooflensError where something was given that says nothing about what is written out in `what`."""
    if given:
        raise RooflensError(f"{what} is {kind}; leave out {', '.join(given)}")


def _answer_model(question: Question, there: Machine) -> Answer:
    built, precision, notes = prepared(question, there)
    priced, asked = workload.suited(built, question.phase), _step(question, built)
    operators = tuple(workload.operators(priced, asked, precision))
    notes = (*notes, *_noted(question, priced, asked))
    crossing = any(float(operator.cost.network_bytes) for operator in operators)
    there = there.using(NETWORK) if crossing else there
    return _answer(question, there, operators, precision, _said(question, asked), notes)


def prepared(question: Question, there: Machine, made: Model | None = None) -> tuple[Model, Precision, tuple[str, ...]]:
    """The model, the formats it is stored and computed in on this machine, and what must be said about both.

    made: that model, where it is at hand, built for one device.
    """
    several = max(question.tp, question.ep, question.dp, question.pp) > 1
    if made is None:
        built = model(question.what, question.attention, fused=question.fused, links=several)
    else:
        built = models.rebuilt(made, links=True) if several else made
    if "E" not in built.letters and (question.routing_skew or question.ep > 1):
        raise RooflensError(f"{built.name} has no experts, so a routing skew or ep would change nothing")
    own, assumed = workload.own_dtype(built)
    stored = workload.precision(own, question.weights, question.kv, built.stored, built.state_dtype)
    precision, notes = resolve(stored, there, question.math)
    return built, precision, (*built.warnings, *(() if question.weights else assumed), *notes)


def _noted(question: Question, priced: Model, asked: Step) -> Iterator[str]:
    """What a reader must know about this step."""
    if question.output is not None:
        yield f"the mean step of {question.output:g} generated tokens: context = prompt + output / 2"
    yield from parallel.notes(priced, asked)
    if question.link and question.gpus_per_node:
        yield f"all collectives are on {question.link}, as asked, also those between nodes"


def _said(question: Question, asked: Step) -> dict[str, float | str]:
    """The step, as an answer repeats it."""
    names = ("batch", "tokens", "context", "tp", "ep", "dp", "pp", "microbatches")
    given = ("prompt", "output") if question.output is not None else ()
    nodes = ("gpus_per_node",) if question.gpus_per_node is not None else ()
    return {
        "phase": asked.phase,
        **{name: float(getattr(asked, name)) for name in names},
        **{name: float(getattr(question, name)) for name in (*given, *nodes)},
        "attention": question.attention,
    }


def _answer(
    question: Question,
    there: Machine,
    operators: tuple[Operator, ...],
    precision: Precision,
    step: Mapping[str, float | str],
    notes: Sequence[str],
) -> Answer:
    said = conventions(there, precision, question.mask)
    links = links_said(operators, there, None if question.link else question.gpus_per_node)
    said |= {"links": links} if links else {}
    said |= {"bubble": BUBBLE} if question.pp > 1 else {}
    said |= {"operators": BY_MICROBATCH} if question.pp > 1 or question.microbatches > 1 else {}
    placed, points = placement(
        question.what, operators, there, step, said, notes, question.measured_s, alone=is_alone(question.what)
    )
    return Answer(placed, points, there, operators, precision)


def shared(question: Question) -> dict[str, Any]:
    """How the devices share a step, as Step takes it: what a link for all collectives decides is not asked again."""
    how: dict[str, Any] = {name: getattr(question, name) for name in ("mask", "routing_skew", *DEVICES)}
    return {**how, "gpus_per_node": None if question.link else question.gpus_per_node}


def _step(question: Question, built: Model) -> Step:
    how = shared(question)
    context = usual_tokens(built) if question.context is None else question.context
    step_within(built, question.context, question.prompt, question.output)
    if question.phase == "decode":
        return workload.decode(question.batch, _mean_context(question) or context, question.tokens, **how)
    if question.output is not None:
        raise RooflensError("an output belongs to decode; a prefill has its prompt")
    if question.tokens != 1:
        raise RooflensError(
            "several new tokens a sequence are a decode step that verifies drafts; prefill has its prompt"
        )
    prompt = context if question.prompt is None else question.prompt
    return workload.prefill(question.batch, prompt, prompt if question.context is None else context, **how)


def _mean_context(question: Question) -> float | None:
    """That of a generation; None where a decode step is asked for with its context."""
    if question.output is None:
        if question.prompt is not None:
            raise RooflensError(
                "a prompt belongs to prefill; a decode step is asked for with its context, or with prompt and output"
            )
        return None
    if question.prompt is None or question.context is not None:
        raise RooflensError(
            "an output needs its prompt and no context: the step is the mean one, at context = prompt + output / 2"
        )
    return float(workload.mean_context(question.prompt, question.output))


def _machine(name: str) -> Machine:
    measured, path = artefacts.profile_named(name), Path(name)
    if measured:
        return measured.machine(name)
    if path.suffix == ".toml":
        return from_accelerator(catalogue.accelerator_from_toml(artefacts.read_text(path), name))
    try:
        return from_accelerator(catalogue.accelerator(name))
    except Unknown:
        if name and artefacts.there(path):
            what = "a folder without profile.json" if path.is_dir() else "a file that is neither .json nor .toml"
            instead = "name a profile.json, a machine.toml or a lab's folder"
            raise RooflensError(f"{name}: {what}, so no machine; {instead}") from None
        raise
