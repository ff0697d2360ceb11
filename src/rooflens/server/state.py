"""What a person asks of the page: one strict record, the same in a link, in a request and in a file."""

from __future__ import annotations

from typing import Any, Literal

from rooflens import artefacts, catalogue, models
from rooflens.catalogue.engines import engines
from rooflens.errors import RooflensError, Unknown
from rooflens.records import checked, decode, record, replace
from rooflens.server.hiding import Given
from rooflens.workload import Phase

NOBODY: Given = {}
SCHEMA = "rooflens/page/1"
Lang = Literal["en", "es", "vi"]
LANGS: tuple[Lang, ...] = ("en", "es", "vi")
MOST_MACHINES = 4
MOST_TEXT = 200
MOST_CONFIG = 64 << 10
LIMITS = {
    "batch": 1 << 20, "context": 1 << 24, "tp": 1024, "pp": 1024, "ep": 4096, "microbatches": 4096,
}  # fmt: skip
PLAIN_ENGINES = ("graph", "eager")
BATCHES = tuple(sorted({n for i in range(13) for n in (1 << i, 3 << i) if n <= 4096}))  # what the slider stops at


@record
class State:
    """A model on one to four machines, at one load and in one precision. The first machine is the one predicted for.

    config: the text of a config.json, for a model that is not of the catalogue; `model` is then its name. context:
    positions attended to; in prefill the prompt. None: the default that an answer states.
    Raises RooflensError for what no answer could be of.
    """

    machines: tuple[str, ...]
    model: str
    config: str | None = None
    phase: Phase = "decode"
    batch: int = 1
    context: int = 4096
    weights: str | None = None
    kv: str | None = None
    math: str | None = None
    tp: int = 1
    pp: int = 1
    ep: int = 1
    microbatches: int = 1
    engine: str | None = None
    lang: Lang = "en"

    def __post_init__(self) -> None:
        checked(self)
        if not 1 <= len(self.machines) <= MOST_MACHINES:
            raise RooflensError(f"name one to {MOST_MACHINES} machines, not {len(self.machines)}")
        for name, most in LIMITS.items():
            if not 1 <= getattr(self, name) <= most:
                raise RooflensError(f"{name} must be a whole number from 1 to {most}, not {getattr(self, name)}")
        for name in ("model", "weights", "kv", "math", "engine"):
            _said(name, getattr(self, name))
        for machine in self.machines:
            _said("machine", machine)
        if self.config is not None and len(self.config.encode("utf-8", "replace")) > MOST_CONFIG:
            raise RooflensError(f"a config.json is read up to {MOST_CONFIG} bytes; this one is longer")


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
    if asked.engine is not None and asked.engine not in (*engines(), *PLAIN_ENGINES):
        raise Unknown("engine", asked.engine, (*engines(), *PLAIN_ENGINES))
    return replace(asked, machines=machines)


def known_machine(text: str, given: Given = NOBODY) -> str:
    """A machine of the catalogue by its id, a measured one, `here` or a given one's file; its figures behind it."""
    name, *own = (part.strip() for part in text.split(","))
    if name in given or name == "here" or name in measured():
        return ",".join([given.get(name, name), *own])
    if name.startswith(artefacts.MEASURED):
        raise Unknown("measured machine", name, measured())
    return ",".join([catalogue.accelerator(name).id, *own])


def measured() -> tuple[str, ...]:
    """The measured machines that ship with rooflens, as `--on` names them."""
    return tuple(sorted(f"{artefacts.MEASURED}{file.stem}" for file in artefacts.PROFILES.glob("*.json")))


def step(asked: State) -> dict[str, Any]:
    """What `place` and `predict` are both asked, beside the phase."""
    said = {name: getattr(asked, name) for name in ("weights", "kv", "math")}
    how = {name: getattr(asked, name) for name in ("tp", "pp", "ep", "microbatches")}
    chosen = {name: value for name, value in said.items() if value is not None}
    return {"batch": float(asked.batch), "context": float(asked.context), **chosen, **how}


def command(asked: State, verb: str) -> str:
    """The command line of this verb that gives the same answer."""
    from shlex import join

    words = ["rooflens", verb, asked.model if asked.config is None else f"{asked.model}.json"]
    if verb == "ceilings":
        words[2] += f":{asked.weights}" if asked.weights else ""
        return join([*words, "--on", ",".join(asked.machines), *(["--math", asked.math] if asked.math else [])])
    words += ["--on", asked.machines[0], "--batch", str(asked.batch), "--context", str(asked.context)]
    words += ["--phase", asked.phase] if verb == "place" and asked.phase != "decode" else []
    for name in ("weights", "kv", "math"):
        words += [f"--{name}", getattr(asked, name)] if getattr(asked, name) else []
    for name in ("tp", "pp", "ep", "microbatches"):
        words += [f"--{name}", str(getattr(asked, name))] if getattr(asked, name) != 1 else []
    words += ["--engine", asked.engine] if asked.engine and verb != "place" else []
    return join([*words, *(["--lang", asked.lang] if asked.lang != "en" else [])])
