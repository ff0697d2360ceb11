"""`rooflens diff OLD NEW`: same, faster, slower or ambiguous."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rooflens import artefacts
from rooflens.cli.options import Finite, json_flag
from rooflens.cli.printing import emit, table
from rooflens.compare import SCHEMA, TOLERANCE, Change, Comparison, compare
from rooflens.records import encode
from rooflens.units import show

CONVENTIONS = {"ratio": "new over old in speed, above 1 is faster; 95 % interval of the medians from order statistics"}


@click.command("diff", epilog="Example:  rooflens diff monday/profile.json rooflens-lab/profile.json")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--tolerance",
    type=Finite(0, 0.9),
    default=TOLERANCE,
    show_default=True,
    help="Called the same within this.",
)
@json_flag
def command(old: Path, new: Path, tolerance: float, as_json: bool) -> None:
    """Same, faster, slower or ambiguous? OLD and NEW are profiles or lab folders; exit 1 when anything is slower."""
    found = compare(artefacts.profile(old), artefacts.profile(new), tolerance)
    emit(artefacts.to_json({"conventions": CONVENTIONS, **encode(found)}, SCHEMA) if as_json else _shown(found))
    sys.exit(1 if found.verdict == "slower" else 0)


def _shown(found: Comparison) -> str:
    rows = [[c.id, _value(c.old, c), _value(c.new, c), _ratio(c), c.outcome, c.why or ""] for c in found.changes]
    lines = [table(["measured", "old", "new", "speed ratio", "outcome", "why"], rows)]
    return "\n".join(
        [*lines, f"verdict: {found.verdict} (tolerance {found.tolerance:g})", *(f"note: {n}" for n in found.notes)]
    )


def _value(value: float | None, change: Change) -> str:
    return "-" if value is None else show(value, change.unit)


def _ratio(change: Change) -> str:
    return "-" if change.ratio is None else f"{change.ratio:.3f} ({change.low:.3f} to {change.high:.3f})"
