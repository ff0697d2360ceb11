"""The operator part of the table, as `operator_scores` prints it: all rows of a kind, and by source."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

from benchmarks.accuracy.operator_scores import operator_scores


def operator_table() -> Iterator[str]:
    """Its lines, in a block of text of their own."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        operator_scores()
    yield "### Single kernels: errors in %, whole families of shapes and whole chips left out\n"
    yield "```"
    yield from (line.rstrip() for line in text.getvalue().strip("\n").splitlines())
    yield "```\n"
