"""What a person asks of the page: one strict record, the same in a link, in a request and in a file."""

from __future__ import annotations

from typing import Any, Literal, get_args

from rooflens import artefacts, catalogue, models
from rooflens.api.deployed import PLAIN
from rooflens.catalogue.engines import engines
from rooflens.errors import RooflensError, Unknown
from rooflens.models.lengths import DEFAULT_TOKENS
from rooflens.operators.standard import AttentionForm
from rooflens.present.words import Lang
from rooflens.records import checked, decode, fields, record, replace
from rooflens.server.hiding import HERE, Given
from rooflens.server.option import Asked, Option, amount, share, text, whole
from rooflens.workload import MOST_SKEW, Mask, Phase

NOBODY: Given = {}
NO_RUN = "`here`: no trusted run of this machine was kept when this started; make one with rooflens lab and start anew"
SCHEMA = "rooflens/page/1"
MOST_MACHINES = 4
MOST_TEXT = 200
MOST_CONFIG = 64 << 10
BATCHES = tuple(sorted({n for i in range(13) for n in (1 << i, 3 << i) if n <= 4096}))  # what the slider stops at
Link = Literal["nvlink", "pcie", "network"]


@record
class State:
    """A model on one to four machines, at one load and in one precision. The first machine is the one predicted for.

    config: the text of a config.json, for a model that is not of the catalogue; `model` is then its name. context:
    positions attended to, in prefill the prompt; where an output is said with its prompt, those two say it and the
    decode step is the mean one. tokens, acceptance: drafts that a step verifies. The other fields are the options of
    the same names. None: the default that an answer states.
    Raises RooflensError for what no answer could be of.
    """

    machines: tuple[str, ...]
    model: str
    config: str | None = None
    phase: Phase = text(default="decode")
    batch: int = whole(1 << 20, default=1)
    context: int = whole(1 << 24, default=DEFAULT_TOKENS)
    weights: str | None = text("step")
    kv: str | None = text("step")
    math: str | None = text("step")
    tp: int = whole(1024, "step", default=1)
    pp: int = whole(1024, "step", default=1)
    ep: int = whole(4096, "step", default=1)
    microbatches: int = whole(4096, "step", default=1)
    engine: str | None = text("server")
    lang: Lang = "en"
    dp: int = whole(4096, "step", further=3, default=1)
    tokens: int = whole(64, "step", further=7, default=1)
    acceptance: float | None = share("server", further=8)
    prompt: int | None = whole(1 << 24, further=1)
    output: int | None = whole(1 << 24, further=2)
    attention: AttentionForm = text("step", choices=get_args(AttentionForm), further=9, default="flash")
    mask: Mask = text("step", choices=get_args(Mask), further=10, default="causal")
    link: Link | None = text("step", choices=get_args(Link), further=5)
    gpus_per_node: int | None = whole(4096, "step", further=4)
    routing_skew: float = amount(MOST_SKEW, "step", further=6, default=0.0)
    memory_fraction: float | None = share("server", further=13)
    block_tokens: int | None = whole(1 << 16, "server", further=11)
    batched_tokens: int | None = whole(1 << 24, "server", further=12)
    runtime_bytes: float | None = amount(1e15, "server", further=14)
    graph_bytes: float | None = amount(1e15, "server", further=15)
    measured_tokens_per_s: float | None = amount(1e12, further=16)

    def __post_init__(self) -> None:
        checked(self)
        if not 1 <= len(self.machines) <= MOST_MACHINES:
            raise RooflensError(f"name one to {MOST_MACHINES} machines, not {len(self.machines)}")
        _within(self)
        if (self.prompt is None) != (self.output is None):
            raise RooflensError("prompt and output come together: say both, or the context alone")
        for name in ("model", *(name for name, one in OPTIONS.items() if one.kind == "text")):
            _said(name, getattr(self, name))
        for machine in self.machines:
            _said("machine", machine)
        if self.config is not None and len(self.config.encode("utf-8", "replace")) > MOST_CONFIG:
            raise RooflensError(f"a config.json is read up to {MOST_CONFIG} bytes; this one is longer")


OPTIONS: dict[str, Option] = {f.name: f for f in fields(State) if isinstance(f, Option)}


def _within(asked: State) -> None:
    """Raises RooflensError for a number that is none of its kind."""
    for name, one in OPTIONS.items():
        if getattr(asked, name) is not None:
            one.within(getattr(asked, name))
    if asked.measured_tokens_per_s == 0:
        raise RooflensError("a measured rate must be above 0 tokens/s, not 0")


def _said(name: str, text: str | None) -> None:
    if text is not None and not 1 <= len(text) <= MOST_TEXT:
        raise RooflensError(f"{name} must have 1 to {MOST_TEXT} characters; name one, or leave it out")


def state(data: object, given: Given = NOBODY) -> State:
    """A request as a state whose names are known. given: machines that the person who started the page named by files.

    Raises RooflensError, listing every fault of its shape, or the nearest names.
    """
    return settled(decode(State, data, "state"), given)


def settled(asked: State, given: Given = NOBODY) -> State:
    """The same with names as the catalogue writes them; no name of a state opens a file that nobody gave."""
    machines = tuple(known_machine(name, given) for name in asked.machines)
    twice = next((name for name in machines if machines.count(name) > 1), None)
    if twice:
        raise RooflensError(f"{twice} is named twice; compare it with another machine")
    if asked.config is None and asked.model not in models.known():
        raise Unknown("model", asked.model, models.known())
    if asked.engine is not None and asked.engine not in (*engines(), *PLAIN):
        raise Unknown("engine", asked.engine, (*engines(), *PLAIN))
    return replace(asked, machines=machines)


def known_machine(text: str, given: Given = NOBODY) -> str:
    """A machine of the catalogue by its id, a measured one, `here` or a given one's file; its figures behind it."""
    name, *own = (part.strip() for part in text.split(","))
    if name in given or name in measured():
        return ",".join([given.get(name, name), *own])
    if name == HERE:
        raise RooflensError(NO_RUN)
    if name.startswith(artefacts.MEASURED):
        raise Unknown("measured machine", name, measured())
    return ",".join([catalogue.accelerator(name).id, *own])


def measured() -> tuple[str, ...]:
    """The measured machines that ship with rooflens, as `--on` names them."""
    return tuple(sorted(f"{artefacts.MEASURED}{file.stem}" for file in artefacts.PROFILES.glob("*.json")))


def step(asked: State) -> dict[str, Any]:
    """What `place` and `predict` are both asked, beside the phase: what differs from their own defaults."""
    return {**_sizes(asked), **_chosen(asked, _asked("step"))}


def served(asked: State) -> dict[str, Any]:
    """What `predict` and `advise` are asked."""
    return {**step(asked), **_chosen(asked, _asked("server"))}


def _sizes(asked: State) -> dict[str, float]:
    if asked.prompt is None or asked.output is None:
        return {"batch": float(asked.batch), "context": float(asked.context)}
    return {"batch": float(asked.batch), "prompt": float(asked.prompt), "output": float(asked.output)}


def _asked(who: Asked) -> tuple[str, ...]:
    return tuple(name for name, one in OPTIONS.items() if one.asked == who)


def _chosen(asked: State, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in names if getattr(asked, name) != OPTIONS[name].default}


def command(asked: State, verb: str) -> str:
    """The command line of this verb that gives the same answer."""
    from shlex import join

    words = ["rooflens", verb, asked.model if asked.config is None else f"{asked.model}.json"]
    if verb == "ceilings":
        words[2] += f":{asked.weights}" if asked.weights else ""
        return join([*words, "--on", ",".join(asked.machines), *(["--math", asked.math] if asked.math else [])])
    said = step(asked) if verb == "place" else served(asked)
    said |= {"phase": asked.phase} if verb == "place" and asked.phase != "decode" else {}
    said |= _chosen(asked, ("measured_tokens_per_s",)) if verb == "predict" else {}
    words += ["--on", asked.machines[0]]
    for name, value in said.items():
        words += [f"--{name.replace('_', '-')}", _written(name, value)]
    return join([*words, *(["--lang", asked.lang] if asked.lang != "en" else [])])


def _written(name: str, value: object) -> str:
    """A value as its option takes it."""
    text = str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
    return f"{text} B" if name.endswith("_bytes") else text
