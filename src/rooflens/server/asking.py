"""The questions of the verbs, asked again and again: machines and what estimates on them are read once a process.

What is remembered belongs to names alone: a catalogue, profiles that ship with rooflens, and files that were named when
the page was started, which are taken as they were then.
"""

from __future__ import annotations

from functools import lru_cache

from rooflens import api
from rooflens.api import Answer, Question
from rooflens.api.deployed import deployment, estimator, kept, other, parted
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.memory import Reserve
from rooflens.prediction.predicting import Estimator
from rooflens.prediction.predicting import predict as foretell
from rooflens.prediction.record import Prediction
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine
from rooflens.server.state import State, step

MOST = 256
Found = tuple[Estimator | None, tuple[str, ...]]
_ESTIMATORS: dict[tuple[str, str | None, bool, bool], Found] = {}


@lru_cache(MOST)
def machine(name: str) -> Machine:
    """A machine of a state, as `--on` names it. Raises RooflensError for figures of its own that are none."""
    return api.machine(name)


@lru_cache(MOST)
def _other(name: str) -> Machine | None:
    """The same chip measured, or its datasheet."""
    return other(machine(name))


def placed(model: str, asked: State, name: str) -> Answer:
    """What `place` answers on this machine."""
    return api.answer(Question(model, phase=asked.phase, **step(asked)), machine(name))


def served(model: str, asked: State) -> tuple[Deployment, Reserve, Estimator | None]:
    """What is served on the first machine, what its engine sets aside, and what estimates it."""
    name = asked.machines[0]
    load, question, there = parted(machine(name), model, {**step(asked), "engine": asked.engine})
    now = deployment(question, load, there)
    key = (name, asked.engine, now.devices > 1, asked.pp > 1)  # nothing else of a state chooses what estimates it
    if key not in _ESTIMATORS:
        if len(_ESTIMATORS) >= MOST:
            _ESTIMATORS.clear()
        _ESTIMATORS[key] = estimator(now, load, name)
    expected, more = _ESTIMATORS[key]
    return replace(now, notes=(*now.notes, *more)), kept(load), expected


def predict(model: str, asked: State) -> Prediction:
    """What `predict` answers on the first machine."""
    now, own, expected = served(model, asked)
    return foretell(now, own, expected, None, _other(asked.machines[0]))
