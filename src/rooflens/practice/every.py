"""The table of problems: add a row to one of the lists that it is made of, and its phrases to the book."""

from __future__ import annotations

from random import Random

from rooflens.errors import RooflensError, Unknown
from rooflens.practice.judging import apart
from rooflens.practice.on_chips import PROBLEMS as ON_CHIPS
from rooflens.practice.on_claims import PROBLEMS as ON_CLAIMS
from rooflens.practice.on_devices import PROBLEMS as ON_DEVICES
from rooflens.practice.on_models import PROBLEMS as ON_MODELS
from rooflens.practice.on_operators import PROBLEMS as ON_OPERATORS
from rooflens.practice.on_serving import PROBLEMS as ON_SERVING
from rooflens.practice.record import Pick, Problem, Question
from rooflens.records import replace

EVERY = (*ON_OPERATORS, *ON_CHIPS, *ON_MODELS, *ON_SERVING, *ON_DEVICES, *ON_CLAIMS)
PROBLEMS: dict[str, Problem] = {problem.id: problem for problem in EVERY}
TOPICS = tuple(dict.fromkeys(problem.topic for problem in PROBLEMS.values()))


def problem(id: str) -> Problem:
    """The problem of this name. Raises Unknown with near matches."""
    if id not in PROBLEMS:
        raise Unknown("problem", id, PROBLEMS, "rooflens practice --list")
    return PROBLEMS[id]


def draw(one: Problem, seed: int) -> Question:
    """A problem with the numbers of this seed; mistakes that happen to give the right number are no mistakes."""
    drawn = one.draw(Pick(f"{one.id} {seed}"))
    return Question(one, seed, replace(drawn, missed=apart(drawn.missed, drawn.answer)))


def several(seed: int, count: int, topic: str | None = None) -> list[Question]:
    """So many different problems of a topic, or of all, in an order that the seed decides.

    Raises Unknown for a topic, RooflensError for more problems than there are.
    """
    if topic is not None and topic not in TOPICS:
        raise Unknown("topic", topic, TOPICS)
    fitting = [one for one in PROBLEMS.values() if topic in (None, one.topic)]
    if count > len(fitting):
        where = f"topic {topic}" if topic else "the table"
        raise RooflensError(f"{where} has {len(fitting)} problems, not {count}; another --seed draws them anew")
    return [draw(one, seed) for one in Random(f"order {seed}").sample(fitting, count)]
