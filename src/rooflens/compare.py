"""Two profiles, ceiling by ceiling: same, faster, slower or ambiguous, decided from the samples, never from bare means.

The ratio new / old of two medians gets an interval from the intervals of the medians (order statistics, 95 %):
same when the whole interval lies within the tolerance of 1; faster or slower when the ratio leaves the tolerance
and the interval does not reach back to 1; ambiguous otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal

from rooflens.records import html, record
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Profile
from rooflens.samples import median_interval

SCHEMA = "rooflens/diff/1"
TOLERANCE = 0.05

Outcome = Literal["same", "faster", "slower", "ambiguous", "only in old", "only in new"]


@record
class Change:
    """One ceiling in two profiles. ratio: new over old in speed (above 1 is faster), with its interval."""

    id: str
    outcome: Outcome
    unit: str
    old: float | None = None
    new: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    why: str | None = None


@record
class Comparison:
    """Every ceiling of two profiles. verdict: the worst that was found, ambiguous counting above same."""

    _repr_html_ = html

    verdict: Outcome
    tolerance: float
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


def compare(old: Profile, new: Profile, tolerance: float = TOLERANCE) -> Comparison:
    """Compares two profiles; derived ceilings are left out, since nothing measured them."""
    first, second = (_measured(p) for p in (old, new))
    ids = list(dict.fromkeys([*first, *second]))
    why = None if old.method == new.method else f"measured by methods {old.method} and {new.method}"
    found = (_change(first.get(id), second.get(id), tolerance, why) for id in ids)
    changes = tuple(change for change in found if change)
    return Comparison(_verdict([c.outcome for c in changes]), tolerance, changes, tuple(_notes(old, new)))


def _measured(profile: Profile) -> dict[str, Ceiling]:
    return {c.id: c for c in profile.ceilings if c.origin == "measured"}


def _change(old: Ceiling | None, new: Ceiling | None, tolerance: float, why: str | None) -> Change | None:
    if old is None:
        return Change(new.id, "only in new", new.unit, new=new.value) if new else None
    if new is None:
        return Change(old.id, "only in old", old.unit, old=old.value)
    ratio, low, high = _ratio(old, new)
    distrust = why or next((f"not trusted: {c.why_not}" for c in (old, new) if not c.trusted), None)
    outcome: Outcome = "ambiguous" if distrust else _outcome(ratio, low, high, tolerance)
    return Change(old.id, outcome, old.unit, old.value, new.value, ratio, low, high, distrust)


def _ratio(old: Ceiling, new: Ceiling) -> tuple[float, float, float]:
    samples = (old.samples or (old.value,), new.samples or (new.value,))
    medians = [median(s) for s in samples]
    (old_low, old_high), (new_low, new_high) = (median_interval(s) for s in samples)
    if old.kind == "launch":  # seconds: less is faster
        return medians[0] / medians[1], old_low / new_high, old_high / new_low
    return medians[1] / medians[0], new_low / old_high, new_high / old_low


def _outcome(ratio: float, low: float, high: float, tolerance: float) -> Outcome:
    if low >= 1 - tolerance and high <= 1 + tolerance:
        return "same"
    if ratio > 1 + tolerance and low > 1:
        return "faster"
    if ratio < 1 - tolerance and high < 1:
        return "slower"
    return "ambiguous"


def _verdict(outcomes: Sequence[Outcome]) -> Outcome:
    order: tuple[Outcome, ...] = ("slower", "ambiguous", "faster", "same")
    return next((o for o in order if o in outcomes), "ambiguous")


def _notes(old: Profile, new: Profile) -> Iterator[str]:
    if old.device.name != new.device.name:
        yield f"two different devices: {old.device.name} and {new.device.name}"
    for what in ("blas_kernel", "blas_version", "threads", "driver"):
        before, after = getattr(old.device, what), getattr(new.device, what)
        if before != after:
            yield f"{what.replace('_', ' ')} changed from {before} to {after}"
