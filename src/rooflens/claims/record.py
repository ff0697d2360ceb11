"""The answer to `claim`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.records import html, record

SCHEMA = "rooflens/claim/1"
TOLERANCE = 0.03  # sheets round to two digits

Verdict = Literal["true", "false", "true only for"]
CONVENTIONS = {
    "verdict": "'true only for' needs the conditions of true_for, so as it was said the answer is no",
    "ratios": "first over second: compute = dense peaks in one format, precision = with the formats that differ, "
    "sparsity = with structured sparsity on the first alone, memory = bandwidths, link = one direction each; of one "
    "figure, claimed over right, and what sparsity multiplies",
    "peaks": "dense, fp32 accumulation, as the catalogue has them",
    "links": "one direction",
    "figures": "compared both ways within the tolerance",
    "speed-ups": "at least the claimed one, within the tolerance; floors of priced operators, every operand counted",
    "not_counted": "launches, caches, what software reaches of a floor",
}


@record
class Case:
    """What the claim was tried on: an operator priced on both (ratio), or a reading of a figure (value, unit).

    formats: what is computed in, first against second. bound: what binds on the first and on the second.
    """

    name: str
    ratio: float | None = None
    value: float | None = None
    unit: str | None = None
    formats: str | None = None
    batch: float | None = None
    bound: str | None = None


@record
class Reach:
    """Batches at which a decode FFN keeps the claim; last is absent when no larger batch was found to break it."""

    formats: str
    first_batch: float
    last_batch: float | None = None


@record
class Claim:
    """A claim judged. claimed and right: the number said and the number that stands in its place, in `unit`.

    right is absent where one number cannot be right, as for a speed-up that depends on the operator. condition: what
    it is true for in few words, where it is true only for something.
    """

    _repr_html_ = html

    claim: str
    verdict: Verdict
    claimed: float
    unit: str
    ratios: Mapping[str, float]
    true_for: tuple[Case, ...]
    false_for: tuple[Case, ...]
    why: tuple[str, ...]
    tolerance: float
    right: float | None = None
    condition: str | None = None
    batches: tuple[Reach, ...] = ()
    notes: tuple[str, ...] = ()


def near(value: float, other: float, tolerance: float) -> bool:
    """Whether the two differ by no more than this part of `other`; two zeros are near."""
    return abs(value - other) <= tolerance * other
