"""The questions of the verbs, asked again and again: machines and what estimates on them are read once a process.

What is remembered belongs to names alone: a catalogue, profiles that ship with rooflens, and files that were named when
the page was started, which are taken as they were then.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache

from rooflens import api
from rooflens.api import Answer, Question
from rooflens.api.deployed import deployment, estimator, kept, other, parted
from rooflens.prediction.deployment import Deployment, sharing
from rooflens.prediction.memory import Reserve
from rooflens.prediction.predicting import Estimator, Expected
from rooflens.prediction.predicting import predict as foretell
from rooflens.prediction.record import Constant, Prediction
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.server.state import State, step
from rooflens.server.state import served as said
from rooflens.workload import Phase

MOST = 256
Found = tuple[Estimator | None, tuple[str, ...]]
_ESTIMATORS: dict[tuple[str, str | None, bool, bool], Found] = {}
_LINES: OrderedDict[State, Deployment] = OrderedDict()


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
    load, question, there = parted(machine(name), model, said(asked))
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
    now = sharing(now, _of_its_line(now, asked))
    return foretell(
        now, own, None if expected is None else _Once(expected), asked.measured_tokens_per_s, _other(asked.machines[0])
    )


def _of_its_line(now: Deployment, asked: State) -> Deployment:
    """The first deployment that was asked about with these fields but the batch: dragging changes nothing else."""
    line = replace(asked, batch=1, lang="en", phase="decode", machines=asked.machines[:1])
    first = _LINES.setdefault(line, now)
    _LINES.move_to_end(line)
    while len(_LINES) > MOST:
        _LINES.popitem(last=False)
    return first


@record
class _Once:
    """What estimates, asked once for all batches what to expect of the prefill of one prompt."""

    of: Estimator

    @property
    def constants(self) -> tuple[Constant, ...]:
        """Its numbers."""
        return self.of.constants

    @property
    def of_one_machine(self) -> bool:
        """Whether its figures are one machine's."""
        return self.of.of_one_machine

    def expect(self, deployment: Deployment, phase: Phase) -> Expected:
        """The time of one step."""
        return deployment.once(
            f"expected {phase}", lambda: self.of.expect(deployment, phase), of_the_batch=phase == "decode"
        )

    def without(self, part: str) -> Estimator | None:
        """The same without a part."""
        return self.of.without(part)
