"""One roof against another, both by name: whether `A:tf32` is 16 times `A:fp32`."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.catalogue import Accelerator
from rooflens.claims.figures import DENSE, Figure, figures, right
from rooflens.claims.record import TOLERANCE, Case, Claim, near
from rooflens.claims.suspects import CLOSE
from rooflens.errors import NoPath, RooflensError
from rooflens.records import record

_MOST = 3


@record
class Named:
    """A roof of a chip as it is to be read; way None: as it should be."""

    chip: Accelerator
    roof: str
    way: str | None = None


def compare(first: Named, second: Named, times: float, tolerance: float = TOLERANCE) -> Claim:
    """The claim that the first roof is `times` the second, like for like: dense, one direction, fp32 accumulation.

    A ratio of two figures is right or wrong on both sides: 8 is not 6. Raises NoPath when either is not known or the
    second does not exist, RooflensError for two that are not of one unit.
    """
    one, other = (right(named.chip, named.roof, named.way) for named in (first, second))
    if one.unit != other.unit:
        raise RooflensError(f"{one.name} is in {one.unit} and {other.name} in {other.unit}: their ratio says nothing")
    if not other.value:
        raise NoPath(f"{other.chip} has no {other.roof} path, so nothing is a number of times that")
    ratio = one.value / other.value
    holds = near(times, ratio, tolerance)
    case = Case(f"{_said(one, other)}", ratio=ratio)
    return Claim(
        claim=f"{first.chip.id} {one.roof} is {times:g}x {second.chip.id} {other.roof}",
        verdict="true" if holds else "false",
        claimed=times,
        unit="times",
        ratios=_ratios(first.chip, second.chip, one, other),
        true_for=(case,) if holds else (),
        false_for=() if holds else (case,),
        why=(_shown(one, other), *(() if holds else _why(first.chip, second.chip, one, other, times, tolerance))),
        tolerance=tolerance,
        right=ratio,
    )


def _said(one: Figure, other: Figure) -> str:
    return f"{one.name} against {other.name}"


def _shown(one: Figure, other: Figure) -> str:
    value = one.shown if one.value else "no such path"
    return f"like for like {one.value / other.value:.3g}x: {value} ({one.name}) against {other.shown} ({other.name})"


def _why(
    first: Accelerator, second: Accelerator, one: Figure, other: Figure, times: float, tolerance: float
) -> tuple[str, ...]:
    found = list(dict.fromkeys(_mixed(first, second, one, other, times, tolerance)))[:_MOST]
    return tuple(found) or ("no other reading of the two gives the claimed ratio",)


def _mixed(
    first: Accelerator, second: Accelerator, one: Figure, other: Figure, times: float, tolerance: float
) -> Iterator[str]:
    """Pairs of readings that give the claimed ratio: the same roofs read otherwise first, then other roofs."""
    ones, others = (_readings(chip, figure) for chip, figure in ((first, one), (second, other)))
    pairs = [(a, other) for a in ones] + [(one, b) for b in others]
    for a, b in sorted(pairs, key=lambda pair: _far(pair, one, other)):
        close = tolerance if (a.roof, b.roof) == (one.roof, other.roof) else CLOSE
        if b.value and (a, b) != (one, other) and near(times, a.value / b.value, close):
            yield f"{times:g}x sets {a.shown} ({a.name}) against {b.shown} ({b.name})"


def _readings(chip: Accelerator, of: Figure) -> list[Figure]:
    return [f for f in figures(chip) if f.unit == of.unit and "clock" not in f.way]


def _far(pair: tuple[Figure, Figure], one: Figure, other: Figure) -> int:
    """How far a pair is from the roofs that were named."""
    return sum((f.roof != named.roof) * 2 + (f.way != named.way) for f, named in zip(pair, (one, other), strict=True))


def _ratios(first: Accelerator, second: Accelerator, one: Figure, other: Figure) -> dict[str, float]:
    """The ratios that mean something here: compute in the second's format, precision as named, and so on."""
    if one.unit != "FLOP/s":
        name = {"memory": "memory", "capacity": "capacity"}.get(one.roof, "link")
        return {name: one.value / other.value}
    found: dict[str, float] = {}
    alike = next((f for f in figures(first) if (f.roof, f.way) == (other.roof, other.way)), None)
    if first.id != second.id:
        found |= {"compute": alike.value / other.value} if alike else {}
        found |= _bandwidths(first, second)
    if one.roof != other.roof:
        found["precision"] = one.value / other.value
    sparse = first.sparse(one.roof)
    if sparse and one.way == DENSE:
        found["sparsity"] = sparse * one.value / other.value
    return found or {"compute": one.value / other.value}


def _bandwidths(first: Accelerator, second: Accelerator) -> dict[str, float]:
    ours, theirs = (chip.memory.bandwidth_bytes_per_s for chip in (first, second))
    return {"memory": ours / theirs} if ours and theirs else {}
