"""Sentences that arrive as data, told in another language: each is found by its English, as gettext finds messages.

The floors below write notes, findings and reasons once, in English, and JSON keeps them so. Here what varies in them is
found again by their template in the book `retold`; a sentence that is not in it stays as it came.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rooflens.present.words import book

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

JOINT = "; "
AGAIN = ("why", "basis", "figure", "second", "formats", "lever")  # sentences themselves
WORDS = ("dtype", "math")


@cache
def retold(sentence: str, lang: str = "en") -> str:
    """The sentence, or several joined with "; ", in `lang`. Raises Unknown for a language we do not have."""
    if lang == "en":
        return sentence
    templates, pieces, told = book("retold", lang), sentence.split(JOINT), []
    while pieces:
        taken, said = _first(pieces, templates, lang)
        told.append(said)
        pieces = pieces[taken:]
    return JOINT.join(told)


def _first(pieces: list[str], templates: dict[str, str], lang: str) -> tuple[int, str]:
    """How many of the pieces make the first sentence, the most that are one, and that sentence retold."""
    for taken in range(len(pieces), 0, -1):
        key, found = fitting(JOINT.join(pieces[:taken]), book("retold", "en"))
        if key:
            values = {name: retold(value, lang) if name in AGAIN else value for name, value in found.items()}
            return taken, templates[key].format(**values)
    return 1, pieces[0]


def fitting(sentence: str, templates: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The key of the first template that the whole sentence fits, and what varies; "" when none fits."""
    for key, template in templates.items():
        if all(literal in sentence for literal, _ in _parts(template)):
            found = _pattern(template).fullmatch(sentence)
            if found:
                return key, found.groupdict()
    return "", {}


@cache
def _pattern(template: str) -> re.Pattern[str]:
    import re

    parts = _parts(template)
    return re.compile("".join(re.escape(literal) + (_hole(name) if name else "") for literal, name in parts))


@cache
def _parts(template: str) -> list[tuple[str, str | None]]:
    """What is fixed in a template, each piece with the name of what follows it."""
    from string import Formatter

    return [(literal, name) for literal, name, *_ in Formatter().parse(template)]


def _hole(name: str) -> str:
    wanted = ".+" if name in AGAIN else r"\S+?" if name in WORDS else f"(?:(?!{JOINT}).)+?"
    return f"(?P<{name}>{wanted})"
