"""A practice problem on the screen: asked, its answer read, judged and explained."""

from __future__ import annotations

import io
import sys

import click

from rooflens.cli.printing import emit
from rooflens.errors import RooflensError
from rooflens.practice.judging import judge, written
from rooflens.practice.record import TOLERANCE, Judged, Question
from rooflens.present.words import known, say
from rooflens.units import percent


class Score:
    """What became of the questions of one sitting. Those that only were looked up count as not answered."""

    def __init__(self, questions: int) -> None:
        self.questions, self.right, self.wrong = questions, 0, 0

    def shown(self, lang: str) -> str:
        """The score as a line."""
        score = say("practice.score", lang, right=self.right, asked=self.right + self.wrong)
        left = self.questions - self.right - self.wrong
        return f"{score}, {say('practice.unasked', lang, left=left)}" if left else score


def listen(lang: str) -> None:
    """Says how to go on, where somebody types. What is no text in a pipe is read as signs that are no answer."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    if typed():
        emit(say("practice.hint", lang) + "\n")


def typed() -> bool:
    """Whether somebody sits at a terminal."""
    return bool(sys.stdin) and sys.stdin.isatty()


def ask(question: Question, at: int, score: Score, lang: str) -> bool:
    """Asks, reads one answer, judges and explains. False at the end of the input.

    What is no answer is asked for again on a terminal; in a pipe, where the next line answers the next question, it is
    a wrong answer.
    """
    emit(asked(question, lang, at, score.questions))
    while True:
        line = _line()
        if line is None:
            return False
        if not line.strip():
            emit(say("practice.shown", lang, answer=_answer(question)))
            break
        try:
            judged = judge(question, line.strip())
        except RooflensError as error:
            emit(say("practice.unread", lang, text=str(error)))
            if typed():
                continue
            score.wrong += 1
            emit(say("practice.shown", lang, answer=_answer(question)))
            break
        score.right, score.wrong = score.right + judged.right, score.wrong + (not judged.right)
        emit(answered(question, judged, lang))
        break
    emit(solution(question, lang) + "\n")
    return True


def asked(question: Question, lang: str, at: int = 1, of: int = 1) -> str:
    """The question with its seed, and in what it is answered."""
    one = question.problem
    topic = say(f"practice.topic.{one.topic}", lang)
    unit = known(f"practice.unit.{one.unit}", one.unit, lang)
    return "\n".join(
        [
            say("practice.head", lang, at=at, total=of, id=one.id, topic=topic, seed=question.seed),
            say(f"practice.ask.{one.id}", lang, **question.drawn.says),
            say("practice.in", lang, unit=unit, tolerance=percent(TOLERANCE)),
        ]
    )


def answered(question: Question, judged: Judged, lang: str) -> str:
    """Whether it is right, and which mistake gives just this number."""
    if judged.right:
        return say("practice.right", lang, answer=_answer(question))
    texts = [say(f"practice.missed.{name}", lang) for name in judged.missed]
    if judged.together:
        why = [say("practice.both", lang, first=texts[0], second=texts[1])]
    elif texts:
        why = [say("practice.looks", lang, text=text) for text in texts]
    else:
        why = [say("practice.off", lang, times=f"{1 + judged.off:.3g}")]
    return "\n".join([say("practice.wrong", lang, given=judged.text, answer=_answer(question)), *why])


def solution(question: Question, lang: str) -> str:
    """The formula with its numbers, why it is so, what was counted and where figures come from, and the command."""
    one, drawn = question.problem, question.drawn
    return "\n".join(
        [
            say("practice.formula", lang, text=drawn.worked),
            say(f"practice.why.{one.id}", lang),
            *(say("practice.row", lang, text=row) for row in drawn.rows),
            *(say("machines.source", lang, key=chip, text=what) for chip, what in drawn.sources),
            say("practice.same", lang, command=drawn.command),
            say("practice.again", lang, id=one.id, seed=question.seed),
        ]
    )


def _answer(question: Question) -> str:
    return written(question.drawn.answer, question.problem.unit)


def _line() -> str | None:
    """One line of the input, asked for where somebody types; None at its end."""
    if typed():
        click.echo("> ", nl=False)
    line = sys.stdin.readline() if sys.stdin else ""
    if not line and typed():
        emit("")
    return line or None
