"""`rooflens practice`: can I do it by hand? Problems asked, checked and explained."""

from __future__ import annotations

from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.options import json_flag, lang
from rooflens.cli.practice_shown import Score, answered, ask, asked, listen, solution
from rooflens.cli.printing import emit, headed
from rooflens.errors import RooflensError
from rooflens.practice.every import PROBLEMS, draw, problem, several
from rooflens.practice.judging import judge
from rooflens.practice.record import CONVENTIONS, SCHEMA, TOLERANCE, Judged, Question
from rooflens.present.words import known, say

COUNT = 5
MOST_SEED = 2**31 - 1


@click.command("practice", epilog="Example:  rooflens practice --problem mbu --seed 2 --answer '41 %'")
@click.option("--list", "listed", is_flag=True, help="Show every problem and what it is about.")
@click.option("--problem", "name", metavar="ID", help="The problem to ask; without it several are drawn.")
@click.option("--topic", help="Draw from this topic only: operators, chips, models, serving, devices or claims.")
@click.option("--count", type=click.IntRange(1), help=f"How many problems to draw (default {COUNT}, or all there are).")
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    help="Of the numbers: equal seeds give equal problems (default: another each time, which is told).",
)
@click.option("--answer", metavar="TEXT", help="Check this answer to --problem: exit 0 when right, 1 when not.")
@click.option("--explain", is_flag=True, help="Show rows, formula and sources of the answer with the question.")
@lang
@json_flag
def command(
    listed: bool, name: str | None, topic: str | None, count: int | None, seed: int | None, answer: str | None,
    explain: bool, lang: str, as_json: bool,
) -> int:  # fmt: skip
    """Can I do it by hand? Asks problems of the roofline, checks the answers with their units and explains them.

    Answers are right within 2 %. Every right answer is worked out when it is asked for, by what the other verbs print;
    a wrong one is traced to the mistake that gives just that number. Exit 1 when an answer was wrong.
    """
    if listed:
        return _list(topic, lang, as_json)
    questions = _drawn(name, topic, count, _seed(name, seed, answer))
    if answer is not None:
        return _check(questions[0], answer, lang, as_json)
    if as_json:
        whole = [_said(question, explain=explain) for question in questions]
        emit(artefacts.to_json({"conventions": CONVENTIONS, "seed": questions[0].seed, "problems": whole}, SCHEMA))
        return 0
    if explain:
        emit("\n\n".join(f"{asked(one, lang)}\n{solution(one, lang)}" for one in questions))
        return 0
    return _converse(questions, lang)


def _seed(name: str | None, seed: int | None, answer: str | None) -> int:
    if answer is not None and (name is None or seed is None):
        raise RooflensError(
            "an --answer belongs to one question: name its --problem ID and the --seed it was drawn with"
        )
    if seed is not None:
        return seed
    import secrets

    return secrets.randbelow(10_000)


def _drawn(name: str | None, topic: str | None, count: int | None, seed: int) -> list[Question]:
    if name is None:
        fitting = sum(topic in (None, one.topic) for one in PROBLEMS.values())
        return several(seed, min(COUNT, fitting or COUNT) if count is None else count, topic)
    if topic is not None or count is not None:
        raise RooflensError("--problem names one problem; --topic and --count draw among several")
    return [draw(problem(name), seed)]


def _converse(questions: list[Question], lang: str) -> int:
    """Question after question, to the last one, the end of the input or Ctrl-C; then the score."""
    score = Score(len(questions))
    listen(lang)
    try:
        for at, question in enumerate(questions, 1):
            if not ask(question, at, score, lang):
                break
    except (KeyboardInterrupt, click.Abort):
        emit("")
    emit(score.shown(lang))
    return 1 if score.wrong else 0


def _check(question: Question, answer: str, lang: str, as_json: bool) -> int:
    judged = judge(question, answer)
    if as_json:
        found = {"conventions": CONVENTIONS, **_said(question, explain=True), **_verdict(judged)}
        emit(artefacts.to_json(found, SCHEMA))
    else:
        emit(f"{asked(question, lang)}\n{answered(question, judged, lang)}\n{solution(question, lang)}")
    return 0 if judged.right else 1


def _said(question: Question, *, explain: bool) -> dict[str, Any]:
    """A question as JSON; the answer and how to get it only when asked for."""
    one, drawn = question.problem, question.drawn
    found: dict[str, Any] = {
        "id": one.id,
        "topic": one.topic,
        "seed": question.seed,
        "question": say(f"practice.ask.{one.id}", **drawn.says),
        "unit": one.unit,
        "tolerance": TOLERANCE,
    }
    if explain:
        found |= {
            "answer": drawn.answer, "formula": drawn.worked, "why": say(f"practice.why.{one.id}"),
            "command": drawn.command, "rows": list(drawn.rows),
            "sources": [{"machine": chip, "text": what} for chip, what in drawn.sources],
        }  # fmt: skip
        found |= {"key": drawn.key} if drawn.key else {}
    return found


def _verdict(judged: Judged) -> dict[str, Any]:
    mistakes = [{"name": name, "sentence": say(f"practice.missed.{name}")} for name in judged.missed]
    found = {"given": judged.text, "given_value": judged.value, "right": judged.right, "mistakes": mistakes}
    return {**found, "mistakes_together": True} if judged.together else found


def _list(topic: str | None, lang: str, as_json: bool) -> int:
    if topic is not None:
        several(0, 1, topic)  # a topic that is none is said so
    fitting = [one for one in PROBLEMS.values() if topic in (None, one.topic)]
    if as_json:
        every = [
            {"id": one.id, "topic": one.topic, "unit": one.unit, "about": say(f"practice.about.{one.id}")}
            for one in fitting
        ]
        emit(artefacts.to_json({"conventions": CONVENTIONS, "problems": every}, SCHEMA))
        return 0
    rows = [
        [
            one.id, say(f"practice.topic.{one.topic}", lang), known(f"practice.unit.{one.unit}", one.unit, lang),
            say(f"practice.about.{one.id}", lang),
        ]
        for one in fitting
    ]  # fmt: skip
    table = headed("practice", ["problem", "topic", "unit", "about"], rows, lang)
    emit(table + "\n\n" + say("practice.count", lang, problems=len(fitting)))
    return 0
