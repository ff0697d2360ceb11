"""`rooflens diff OLD NEW`: same, faster, slower or ambiguous."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rooflens import artefacts
from rooflens.cli.options import Finite, Named, json_flag, lang
from rooflens.cli.printing import emit, headed
from rooflens.compare import SCHEMA, TOLERANCE, Change, Comparison, Outcome, compare
from rooflens.present.retold import retold
from rooflens.present.words import say
from rooflens.records import encode
from rooflens.units import show

CONVENTIONS = {"ratio": "new over old in speed, above 1 is faster; 95 % interval of the medians from order statistics"}


@click.command("diff", epilog="Example:  rooflens diff monday/profile.json rooflens-lab/profile.json")
@click.argument("old", type=Named())
@click.argument("new", type=Named())
@click.option(
    "--tolerance",
    type=Finite(0, 0.9),
    default=TOLERANCE,
    show_default=True,
    help="Called the same within this.",
)
@lang
@json_flag
def command(old: Path, new: Path, tolerance: float, lang: str, as_json: bool) -> None:
    """Same, faster, slower or ambiguous? OLD and NEW are profiles or lab folders; exit 1 when anything is slower."""
    found = compare(artefacts.profile(old), artefacts.profile(new), tolerance)
    emit(artefacts.to_json({"conventions": CONVENTIONS, **encode(found)}, SCHEMA) if as_json else _shown(found, lang))
    sys.exit(1 if found.verdict == "slower" else 0)


def _shown(found: Comparison, lang: str) -> str:
    rows = [
        [
            c.id,
            _value(c.old, c),
            _value(c.new, c),
            _ratio(c, lang),
            _outcome(c.outcome, lang),
            retold(c.why or "", lang),
        ]
        for c in found.changes
    ]
    verdict = say("diff.verdict", lang, verdict=_outcome(found.verdict, lang), tolerance=f"{found.tolerance:g}")
    notes = (say("frame.note", lang, text=retold(note, lang)) for note in found.notes)
    table = headed("diff", ["measured", "old", "new", "ratio", "outcome", "why"], rows, lang)
    return "\n".join([table, verdict, *notes])


def _outcome(outcome: Outcome, lang: str) -> str:
    return say(f"diff.outcome.{outcome}", lang)


def _value(value: float | None, change: Change) -> str:
    return "-" if value is None else show(value, change.unit)


def _ratio(change: Change, lang: str) -> str:
    if change.ratio is None:
        return "-"
    low, high = f"{change.low:.3f}", f"{change.high:.3f}"
    return say("diff.interval", lang, ratio=f"{change.ratio:.3f}", low=low, high=high)
