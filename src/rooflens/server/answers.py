"""From a state to everything the page shows at once: the records that the command line prints, and how they are drawn.

No number is computed here or in the browser: records come from the functions behind the verbs, texts from `units.show`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflens.api import Answer
from rooflens.errors import RooflensError
from rooflens.prediction.record import Prediction
from rooflens.present.retold import retold
from rooflens.present.roofs import Roof, Slope
from rooflens.present.scene import Scene, Spot, compose
from rooflens.present.words import say
from rooflens.records import encode, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.points import Point
from rooflens.server import asking, memory, operators, predicted
from rooflens.server.sources import sources
from rooflens.server.state import SCHEMA, State, command

LEFT, RIGHT = 1e-6, 1e9  # FLOP/byte: lines are drawn from far beyond any plot, which cuts them
SOLID = ("measured", "sustained")
VERBS = ("place", "predict", "advise", "ceilings")


def answer(asked: State) -> dict[str, Any]:
    """Roofs, points, operators and the prediction of one state, as JSON.

    place, predict: what the verbs of these names print. Raises RooflensError where the first machine has no answer.
    """
    with memory.model(asked.model, asked.config) as model:
        first = asking.placed(model, asked, asked.machines[0])
        others = [_beside(model, asked, name) for name in asked.machines[1:]]
        found = asking.predict(model, asked)
    named = asked.model if asked.config is None else f"{asked.model}.json"
    placement = replace(first.placement, model=named)
    placed = [first, *(one for one in others if isinstance(one, Answer))]
    scene = _scene(asked, placed, [one for one in others if not isinstance(one, Answer)])
    return {
        "schema": SCHEMA,
        "state": encode(asked),
        "place": encode(placement),
        "predict": encode(found),
        "plot": drawn(scene, placed, asked.lang),
        "operators": operators.table(replace(first, placement=placement), asked.lang),
        "predicted": predicted.panel(found, asked.lang),
        "notes": _notes(first, found, others, asked),
        "sources": sources([one.machine for one in placed]),
        "commands": {verb: command(asked, verb) for verb in VERBS},
    }


def _beside(model: str, asked: State, machine: str) -> Answer | tuple[Machine, str]:
    """The answer of a machine that is compared, or the machine with why it has none."""
    there = asking.machine(machine)
    try:
        return asking.placed(model, asked, machine)
    except RooflensError as why:
        return there, str(why)


def _scene(asked: State, placed: list[Answer], without: list[tuple[Machine, str]]) -> Scene:
    machines = [one.machine for one in placed] + [there for there, _ in without]
    points = {one.machine.name: [point for point in one.points if point.flops] for one in placed}
    if len({m.name for m in machines}) < len(machines):
        raise RooflensError("two of these machines have one name, with figures of their own: look at one at a time")
    return compose(machines, points, lang=asked.lang)


def drawn(scene: Scene, placed: list[Answer], lang: str) -> dict[str, Any]:
    """A scene as the page draws it: lines by their ends, points with what they say when they are pointed at."""
    owners = {id(p): (one, at) for one in placed for at, p in enumerate(one.points)}
    return {
        "title": scene.title,
        "subtitle": scene.subtitle,
        "machines": [{"name": m.name, "title": m.title} for m in scene.machines],
        "roofs": [_roof(roof) for roof in scene.roofs],
        "slopes": [_slope(slope, scene.roofs) for slope in scene.slopes],
        "spots": [_spot(spot, *owners[id(spot.point)], lang) for spot in scene.spots],
        "x": list(scene.intensities),
        "y": list(scene.rates),
        "notes": list(scene.notes),
    }


def _roof(roof: Roof) -> dict[str, Any]:
    ends = [[roof.ridge or LEFT, roof.value], [RIGHT, roof.value]]
    said = {"machine": roof.machine, "label": roof.label, "dtypes": list(roof.dtypes), "style": roof.style}
    return {**said, "solid": roof.style in SOLID, "ends": ends}


def _slope(slope: Slope, lines: tuple[Roof, ...]) -> dict[str, Any]:
    """A slope ends where the highest roof of its machine begins."""
    top = max((roof.value for roof in lines if roof.machine == slope.machine), default=slope.value * RIGHT)
    ends = [[LEFT, slope.value * LEFT], [top / slope.value, top]]
    said = {"machine": slope.machine, "label": slope.label, "level": slope.level, "style": slope.style}
    return {**said, "solid": slope.style in SOLID, "weight": slope.weight, "ends": ends}


def _spot(spot: Spot, owner: Answer, at: int, lang: str) -> dict[str, Any]:
    point: Point = spot.point
    said = {
        "machine": spot.machine,
        "name": point.name,
        "label": spot.label,
        "dtype": point.dtype,
        "bound": point.bound,
    }
    place = {"x": spot.intensity, "y": spot.rate, "finding": spot.finding, "row": operators.said(owner, at, lang)}
    return {**said, **place, "at": at, **({} if spot.cap is None else {"cap": spot.cap})}


def _notes(first: Answer, found: Prediction, others: list[Any], asked: State) -> list[str]:
    """What must be known of these answers, each said once, in the language."""
    verdict = () if found.verdict is None else found.verdict.sentences
    said = [*verdict, *first.placement.notes, *found.notes, *(f"{name} {text}" for name, text in _assumed(first))]
    told = [retold(note, asked.lang) for note in said]
    told += [say("predict.not_modelled", asked.lang, text=retold(text, asked.lang)) for text in found.not_modelled]
    told += [f"{there.title}: {why}" for there, why in (one for one in others if isinstance(one, tuple))]
    return list(dict.fromkeys(told))


def _assumed(first: Answer) -> list[tuple[str, str]]:
    conventions: Mapping[str, str] = first.placement.conventions
    return [(key, text) for key, text in conventions.items() if key.startswith("assumed ")]
