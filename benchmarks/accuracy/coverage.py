"""Whether intervals hold what they promise: each tried on rows whose deployment, or whose chip, did not make it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.accuracy import residuals as left
from benchmarks.accuracy.residuals import FEW, Held, chip_sd, shared, tenth_of, tenths
from benchmarks.accuracy.table import Column
from rooflens.prediction.intervals import UNSEEN
from rooflens.records import record

SPECIAL = ("experts, vllm", "experts, sglang", "experts, latent, trtllm", "dense", "experts", "2024", "llama.cpp")


@record
class Covered:
    """Rows by class: whether each lies inside, and high over low."""

    name: list[str]
    row: list[int]
    inside: Column
    width: Column

    def of(self, names: Sequence[str]) -> Covered:
        """Those of some classes."""
        kept = [i for i, name in enumerate(self.name) if name in names]
        return Covered([self.name[i] for i in kept], [self.row[i] for i in kept], self.inside[kept], self.width[kept])


def known(of: Held) -> Covered:
    """Intervals from other deployments, tried on a tenth of them at a time."""
    return _tried(of, of.left(of.fold), lambda i: str(tenth_of(of.rows[i].group)), lambda _: 0.0)


def unseen(of: Held) -> Covered:
    """Intervals from other chips, with what chips are off as those say, tried on each chip of today's engines."""
    off = shared(of)
    errors = of.left(of.chip) - np.array([off.get(row.chip, 0.0) for row in of.rows])
    found = _tried(of, errors, lambda i: of.rows[i].chip, lambda chip: chip_sd(off, chip), of.left(of.chip))
    today = [i for i, row in enumerate(found.row) if of.rows[row].what == "tpot"]
    names = [f"{found.name[i]}{UNSEEN}" for i in today]
    return Covered(names, [found.row[i] for i in today], found.inside[today], found.width[today])


def _tried(
    of: Held, errors: Column, part: Callable[[int], str], sd: Callable[[str], float], measured: Column | None = None
) -> Covered:
    """Each part of each class in the interval of its other parts, or of all of its kind where those are few."""
    members, seen, found = left.members(of), set[int](), Covered([], [], np.zeros(0), np.zeros(0))
    measured = errors if measured is None else measured
    for name in SPECIAL:
        chosen = [i for i in members[name] if i not in seen]
        seen |= set(chosen)
        wide = members["experts" if name.startswith("experts") else name]
        for own in sorted({part(i) for i in chosen}):
            test = [i for i in chosen if part(i) == own]
            other = [i for i in (wide if name == "experts" else chosen) if part(i) != own]
            other = other if len(other) >= FEW else [i for i in wide if part(i) != own]
            if len(other) >= FEW:
                found = _more(found, name, test, measured[test], tenths(errors[other], sd(own)))
    return found


def _more(of: Covered, name: str, rows: list[int], errors: Column, ends: tuple[float, float]) -> Covered:
    inside = (errors >= ends[0]) & (errors <= ends[1])
    width = np.full(len(rows), np.exp(ends[1] - ends[0]))
    return Covered(
        [*of.name, *[name] * len(rows)], [*of.row, *rows], np.append(of.inside, inside), np.append(of.width, width)
    )
