"""Prints the table of accuracy: what was held out, what was wanted, what came out.

python -m benchmarks.accuracy                  # everything; about five minutes, most of it the peer's
python -m benchmarks.accuracy --without-peer   # the public sample without what its own package says of it
python -m benchmarks.accuracy --docs           # writes the table into docs/accuracy.md too

The constants that rows are scored with were fitted without them (rows/heldout.json.gz, written by fit_served).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.accuracy import other_scores, residuals, served_scores
from benchmarks.accuracy.fit_served import held_out
from benchmarks.accuracy.operator_table import operator_table
from benchmarks.accuracy.rows import priced
from benchmarks.accuracy.served_scores import Line
from benchmarks.accuracy.table import Table
from rooflens.errors import RooflensError

DOCS = Path(__file__).parents[2] / "docs" / "accuracy.md"
BEGIN, END = "<!-- the table, written by `make accuracy` -->\n", "<!-- end of the table -->"


def main(arguments: list[str]) -> int:
    """Prints, and writes the page when asked to."""
    try:
        text = "\n".join(_parts(ask="--without-peer" not in arguments))
    except RooflensError as reason:
        print(reason, file=sys.stderr)
        return 1
    print(text)
    if "--docs" in arguments:
        head, _, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
        _, end, tail = rest.partition(END)
        DOCS.write_text(f"{head}{BEGIN}\n{text}\n{end}{tail}", encoding="utf-8")
    return 0


def _parts(*, ask: bool) -> Iterator[str]:
    of = residuals.held(Table(priced()), held_out())
    yield from _table("Serving engines: errors in %, on rows left out whole", served_scores.errors(of))
    yield from _table("Intervals: four of five should lie inside", served_scores.intervals(of))
    yield from _table("Floors of the served rows", served_scores.floors(of))
    yield from operator_table()
    yield from _table("One H200 from its own profile: errors in %", other_scores.h200())
    sample = other_scores.sample(ask)
    yield from _table("The public sample, none of its points fitted: errors of TPOT in %", other_scores.public(sample))
    yield f"{sample.unpriced} more points are not priced: mostly decode workers whose batch is not said.\n"
    yield from _table("The same by chip, engine and model", other_scores.by_model(sample))


def _table(title: str, lines: Iterable[Line]) -> Iterator[str]:
    """A Markdown table under its title."""
    every = list(lines)
    names = list(dict.fromkeys(name for line in every for name in line.columns))
    yield f"### {title}\n"
    yield f"| | rows | {' | '.join(names)} |"
    yield f"| --- | ---: |{' --- |' * len(names)}"
    for line in every:
        yield f"| {line.what} | {line.rows:,} | {' | '.join(line.columns.get(name, '') for name in names)} |"
    yield ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
