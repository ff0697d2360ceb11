"""Errors as the page says them: in the language, and of what a person can do there, not of a terminal.

The code says each error once, in English, for the command line. The book `refused` has its sentences: what is in SAID
is how the code says one, where the page says it otherwise; the rest is what both say.
"""

from __future__ import annotations

import re
from functools import cache

from rooflens.present.lang.refused import SAID
from rooflens.present.retold import fitting, retold
from rooflens.present.words import book, known

LINES = "\n"
_QUESTION = re.compile(r"^(?:state|claim|file|levers|batching|ceilings): (?:file: )?(?=\S)")
_FILE = re.compile(r"([\w.-]{1,100}\.\w{1,12}: )(.+)")


@cache
def _templates() -> dict[str, str]:
    sentences = {key: text for key, text in book("refused", "en").items() if not key.startswith("refused.word.")}
    return {**sentences, **SAID}


def refused(sentence: str, lang: str = "en") -> str:
    """The sentence as the page says it, every line of several; one that is in no book stays as it came.

    That a fault is of the question, which nobody on the page wrote as a file, is left out.
    """
    return LINES.join(_line(_QUESTION.sub("", line, count=1), lang) for line in sentence.split(LINES))


def _line(line: str, lang: str) -> str:
    key, found = fitting(line, _templates())
    if key:
        return book("refused", lang)[key].format(**{name: _word(name, value, lang) for name, value in found.items()})
    of_a_file = _FILE.fullmatch(line)
    return of_a_file[1] + _line(of_a_file[2], lang) if of_a_file else retold(line, lang)


def _word(name: str, value: str, lang: str) -> str:
    """What varies, in the language: kinds of things, and names that are joined."""
    if name == "kind":
        return known(f"refused.word.{value}", value, lang)
    return value.replace(" or ", known("refused.word.or", " or ", lang)) if name == "near" else value
