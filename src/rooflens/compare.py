"""Two profiles, figure by figure: same, faster, slower or ambiguous, decided from the samples, never from bare means.

The ratio new / old of two medians gets an interval from the intervals of the medians (order statistics, 95 %):
same when the whole interval lies within the tolerance of 1; faster or slower when the ratio leaves the tolerance
and the interval does not reach back to 1; ambiguous otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rooflens.records import html, record
from rooflens.roofline.profile import AttentionPoint, Profile
from rooflens.samples import median, median_interval, speed_ratio

SCHEMA = "rooflens/diff/1"
TOLERANCE = 0.05  # as much as two looks of one run may differ: decisions/0011
MOST_NAMES = 12  # in a note; the changes hold all of them
UNSAID = "its profile does not say why"

Outcome = Literal["same", "faster", "slower", "ambiguous", "only in old", "only in new"]
ALONE: tuple[Outcome, ...] = ("only in old", "only in new")


@record
class Change:
    """One figure of two profiles. ratio: new over old in speed (above 1 is faster), with its interval."""

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
    """Every measured figure of two profiles. verdict: the worst that was found; ambiguous and alone before faster."""

    _repr_html_ = html

    verdict: Outcome
    tolerance: float
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


@record
class Figure:
    """One measured figure of a profile: a rate, or seconds (less is faster)."""

    id: str
    unit: str
    value: float
    samples: tuple[float, ...]
    why_not: str | None


def compare(old: Profile, new: Profile, tolerance: float = TOLERANCE) -> Comparison:
    """Compares ceilings and attention cells of two profiles; derived ceilings are left out, as nothing measured them.

    What one of them lacks cannot be judged, so the verdict is then ambiguous at best.
    """
    first, second = ({f.id: f for f in _figures(p)} for p in (old, new))
    ids = list(dict.fromkeys([*first, *second]))
    why = None if old.method == new.method else f"measured by methods {old.method} and {new.method}"
    found = (_change(first.get(id), second.get(id), tolerance, why) for id in ids)
    changes = tuple(change for change in found if change)
    notes = (*_notes(old, new), *_alone(changes))
    return Comparison(_verdict([c.outcome for c in changes]), tolerance, changes, notes)


def _figures(profile: Profile) -> Iterator[Figure]:
    for c in profile.ceilings:
        if c.origin == "measured":
            yield Figure(c.id, c.unit, c.value, c.samples or (c.value,), None if c.trusted else c.why_not or UNSAID)
    for cell in profile.attention:
        why_not = None if cell.trusted else cell.why_not or UNSAID
        id = _cell_id(cell, ways=profile.device.kind == "gpu")
        yield Figure(id, "s", cell.time_s, cell.samples_s or (cell.time_s,), why_not)


def _cell_id(cell: AttentionPoint, *, ways: bool) -> str:
    """attention/DTYPE/CONTEXT, then what sets the cell apart where it is not the usual. ways: each its own figure."""
    parts = ["attention", cell.dtype, str(cell.context)]
    parts += [cell.model] if cell.model not in (None, "MiniGPT") else []
    parts += [f"{cell.kv_dtype} cache"] if cell.kv_dtype else []
    parts += [f"batch {cell.batch}"] if cell.batch > 1 else []
    parts += [f"prefill {cell.tokens}"] if cell.tokens > 1 else []
    parts += [cell.implementation] if ways and cell.implementation else []
    return "/".join(parts)


def _change(old: Figure | None, new: Figure | None, tolerance: float, why: str | None) -> Change | None:
    if old is None:
        return Change(new.id, "only in new", new.unit, new=new.value) if new else None
    if new is None:
        return Change(old.id, "only in old", old.unit, old=old.value)
    if min(*old.samples, *new.samples) <= 0:
        return Change(old.id, "ambiguous", old.unit, old.value, new.value, why="a sample is not above 0")
    ratio, low, high = _ratio(old, new)
    distrust = why or next((f"not trusted: {f.why_not}" for f in (old, new) if f.why_not), None)
    outcome: Outcome = "ambiguous" if distrust else _outcome(ratio, low, high, tolerance)
    return Change(old.id, outcome, old.unit, old.value, new.value, ratio, low, high, distrust)


def _ratio(old: Figure, new: Figure) -> tuple[float, float, float]:
    ratio = speed_ratio(median(new.samples), median(old.samples), old.unit)
    (old_low, old_high), (new_low, new_high) = median_interval(old.samples), median_interval(new.samples)
    if old.unit == "s":  # less is faster
        return ratio, old_low / new_high, old_high / new_low
    return ratio, new_low / old_high, new_high / old_low


def _outcome(ratio: float, low: float, high: float, tolerance: float) -> Outcome:
    if low >= 1 - tolerance and high <= 1 + tolerance:
        return "same"
    if ratio > 1 + tolerance and low > 1:
        return "faster"
    if ratio < 1 - tolerance and high < 1:
        return "slower"
    return "ambiguous"


def _verdict(outcomes: Sequence[Outcome]) -> Outcome:
    judged: list[Outcome] = ["ambiguous" if o in ALONE else o for o in outcomes]
    order: tuple[Outcome, ...] = ("slower", "ambiguous", "faster", "same")
    return next((o for o in order if o in judged), "ambiguous")


def _alone(changes: Sequence[Change]) -> Iterator[str]:
    for where in ALONE:
        ids = [c.id for c in changes if c.outcome == where]
        if ids:
            more = f", ... ({len(ids)})" if len(ids) > MOST_NAMES else ""
            yield f"{where}, so not judged: {', '.join(ids[:MOST_NAMES])}{more}"


def _notes(old: Profile, new: Profile) -> Iterator[str]:
    if old.device.name != new.device.name:
        yield f"two different devices: {old.device.name} and {new.device.name}"
    for what in ("blas_kernel", "blas_version", "threads", "driver"):
        before, after = getattr(old.device, what), getattr(new.device, what)
        if before != after and None not in (before, after):
            yield f"{what.replace('_', ' ')} changed from {before} to {after}"
