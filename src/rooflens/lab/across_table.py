"""The table of all devices of a machine in interpretation.md: who is slowest in what."""

from __future__ import annotations

from rooflens.present.words import say
from rooflens.roofline.across import Across
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show


def across_table(profile: Profile, lang: str) -> str:
    """A sentence, then a row a ceiling."""
    head = say("lab.across.head", lang)
    rows = [head, "|" + " --- |" * (head.count("|") - 1), *map(_row, profile.across)]
    return "\n\n".join((say("lab.across.text", lang), "\n".join(rows)))


def _row(across: Across) -> str:
    slowest, unit = across.slowest, across.unit
    figures = (show(across.values[slowest], unit), show(across.median, unit), percent(across.share(slowest)))
    return f"| {' | '.join((across.id, slowest, *figures))} |"
