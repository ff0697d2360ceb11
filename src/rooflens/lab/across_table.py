"""The table of all devices of a machine in interpretation.md: who is slowest in what."""

from __future__ import annotations

from rooflens.present.words import say
from rooflens.roofline.across import Across
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show


def across_table(profile: Profile, lang: str) -> str:
    """A sentence, then a row a ceiling."""
    head = say("lab.across.head", lang)
    rows = [head, "|" + " --- |" * (head.count("|") - 1), *(f"| {' | '.join(row(a))} |" for a in profile.across)]
    return "\n\n".join((say("lab.across.text", lang), "\n".join(rows)))


def row(across: Across) -> list[str]:
    """Ceiling, slowest device, its figure, the median of all devices, and the figure as a share of it."""
    slowest, unit = across.slowest, across.unit
    figures = (show(across.values[slowest], unit), show(across.median, unit), percent(across.share(slowest)))
    return [across.id, slowest, *figures]
