"""The one attention cell that this machine and another have in common, for the comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rooflens.lab.observe import Observation, attention_cells, observations, read_slope
from rooflens.present.words import say
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.profile import AttentionPoint, Profile

Cells = list[tuple[Observation, AttentionPoint]]


@record
class Other:
    """The machine to compare with: a datasheet (attainable), or a measured profile (achieved with achieved)."""

    machine: Machine
    profile: Profile | None = None


@record
class Pair:
    """A cell of ours and the rate of the same work there: achieved where `theirs` was measured, else attainable."""

    mine: Observation
    cell: AttentionPoint
    theirs_flops_per_s: float
    theirs: Observation | None = None


def pairing(seen: Sequence[Observation], other: Other, lang: str) -> Pair | str:
    """The largest context that both have (of equals the fastest cell), or a sentence saying why there is none."""
    mine, there = _decode(seen), other.machine
    if not mine:
        return say("lab.comparison.no_cells", lang)
    if not read_slope(there):
        return say("lab.comparison.no_slope", lang, other=there.title)
    pairs = _achieved(mine, _decode(observations(other.profile))) if other.profile else _attainable(mine, there)
    best = max(pairs, key=lambda p: (p.cell.context, p.mine.point.flops_per_s), default=None)
    if best is not None:
        return best
    if other.profile:
        return say("lab.comparison.no_pair", lang, other=there.title, cells=_named(cell for _, cell in mine))
    dtypes = "/".join(dict.fromkeys(o.point.dtype for o, _ in mine))
    return say("lab.comparison.no_dtype", lang, other=there.name, dtypes=dtypes)


def _decode(seen: Sequence[Observation]) -> Cells:
    return [(o, cell) for o, cell in attention_cells(seen) if o.trusted and cell.tokens == 1]


def _achieved(mine: Cells, theirs: Cells) -> list[Pair]:
    """Equal work, whatever the way it was computed: the fastest of theirs."""
    fastest: dict[tuple[object, ...], Observation] = {}
    for o, cell in sorted(theirs, key=lambda pair: pair[0].point.flops_per_s):
        fastest[_work(cell)] = o
    pairs = [(o, cell, fastest[_work(cell)]) for o, cell in mine if _work(cell) in fastest]
    return [Pair(o, cell, there.point.flops_per_s, there) for o, cell, there in pairs]


def _attainable(mine: Cells, there: Machine) -> list[Pair]:
    cells = [(o, cell) for o, cell in mine if there.has(o.point.dtype)]
    return [Pair(o, cell, place(o.name, o.cost, there).attainable_flops_per_s) for o, cell in cells]


def _work(cell: AttentionPoint) -> tuple[object, ...]:
    heads = cell.heads, cell.kv_heads or cell.heads
    return cell.dtype, cell.kv_dtype, cell.context, cell.layers, cell.width, *heads, cell.batch


def _named(cells: Iterable[AttentionPoint]) -> str:
    found: dict[str, list[int]] = {}
    for cell in cells:
        found.setdefault(cell.dtype, []).append(cell.context)
    return ", ".join(f"{dtype} S = {min(s)} .. {max(s)}" for dtype, s in found.items())
