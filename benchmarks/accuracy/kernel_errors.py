"""Two fits of each kind of kernel, and errors of rows by constants that did not know their family, or their chip.

Engines (and libraries) are fitted apart, and all rows of a chip and flavour together, which is what to expect where no
engine is named. A row of an engine is scored by the first, any other by the second, as `rooflens predict` answers. A
chip that was left out takes what the first one shares, an engine that cannot be named being unknown to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.kernels import Row, models, rows
from benchmarks.accuracy.rows import machine
from benchmarks.accuracy.shrunk import Array, Fit, Group, Label, Model, fitted, key_of

FOLDS = 5
SIZES = [size * 2.0**20 for size in (32, 48, 64, 96, 128)]  # last caches that chips have
SHOWN = 0.8  # of the misfit without a cache, under which rows show one


class Held(NamedTuple):
    """Errors of a kind's rows, logarithms of measured over estimated.

    fit: all rows fitted; family: its family left out; unnamed: the same, no engine named; chip: its chip left out.
    """

    rows: Sequence[Row]
    folds: Array
    fit: Array
    family: Array
    unnamed: Array
    chip: Array


@cache
def caches() -> Mapping[str, float]:
    """The last cache of chips whose catalogue row has none, where their rows of decode attention show one of a size."""
    found = {}
    lacking = sorted({str(r.label["chip"]) for r in rows()["decoding"]})
    for name in [name for name in lacking if machine(name).cache_bytes is None]:
        groups = [group for group, _ in grouped([r for r in heard(rows()["decoding"]) if r.label["chip"] == name])]
        misfit = {size: _misfit(models({name: size})["decoding"], groups) for size in (0.0, *SIZES)}
        best = min(misfit, key=lambda size: misfit[size])
        if misfit[best] < SHOWN * misfit[0.0]:
            found[name] = best
    return found


def _misfit(model: Model, groups: Sequence[Group]) -> float:
    found = fitted(model, groups)
    return float(sum(np.sum(np.abs(found.errors(group))) for group in groups))


def grouped(found: Sequence[Row], *, named: bool = True) -> list[tuple[Group, Array]]:
    """Rows by label, with their places; without engines where none is named."""
    places: dict[Any, list[int]] = defaultdict(list)
    for i, row in enumerate(found):
        places[key_of(row.label if named else {**row.label, "engine": None})].append(i)
    return [(_group(found, dict(key), np.array(at)), np.array(at)) for key, at in places.items()]


def _group(found: Sequence[Row], label: Label, at: Array) -> Group:
    mine = [found[i] for i in at]
    columns = {name: np.array([row.sizes[name] for row in mine]) for name in mine[0].sizes}
    return Group(label, columns, np.array([row.time_s for row in mine]))


@cache
def fits(kind: str) -> tuple[Fit, Fit]:
    """Engines apart, and nobody named; own kernels of engines are no library's."""
    model, found = models(caches())[kind], rows()[kind]
    apart = fitted(model, [group for group, _ in grouped(heard(found))])
    together = fitted(model, [group for group, _ in grouped(heard(unnamed(kind, found)), named=False)])
    return apart, together


def heard(found: Sequence[Row]) -> list[Row]:
    """Rows that are fitted."""
    return [row for row in found if row.heard]


def unnamed(kind: str, found: Sequence[Row]) -> list[Row]:
    """Rows that say what to expect where no engine is named: of collectives, those of a library."""
    return [row for row in found if kind != "exchanging" or not row.served]


@cache
def held(kind: str) -> Held:
    """Every row by constants that did not know its family, or its chip."""
    found, (apart, together) = rows()[kind], fits(kind)
    families, chips = _folds([row.family for row in found]), np.array([row.label["chip"] for row in found])
    served = np.array([row.served for row in found])
    fit = np.where(served, _errors(apart, found), _errors(together, found, named=False))
    unnamed = _left_out(kind, together, families, named=False)
    family = np.where(served, _left_out(kind, apart, families), unnamed)
    return Held(found, families, fit, family, unnamed, _left_out(kind, apart, chips))


def _folds(names: Sequence[str]) -> Array:
    every = np.array(sorted(set(names)))
    np.random.default_rng(0).shuffle(every)
    fold = {name: i % FOLDS for i, name in enumerate(every)}
    return np.array([fold[name] for name in names])


def _errors(fit: Fit, found: Sequence[Row], *, named: bool = True) -> Array:
    errors = np.full(len(found), np.nan)
    for group, at in grouped(found, named=named):
        errors[at] = fit.errors(group)
    return errors


def _left_out(kind: str, near: Fit, folds: Array, *, named: bool = True) -> Array:
    """Errors of each fold by what the others give."""
    found, model = rows()[kind], models(caches())[kind]
    errors = np.full(len(found), np.nan)
    for fold in sorted(set(folds)):
        kept = [row for row, its in zip(found, folds, strict=True) if its != fold]
        kept = heard(kept if named else unnamed(kind, kept))
        fit = fitted(model, [group for group, _ in grouped(kept, named=named)], turns=2, near=near)
        left = np.flatnonzero(folds == fold)
        errors[left] = _errors(fit, [_as_asked(found[i], kept) for i in left], named=named)
    return errors


def _as_asked(row: Row, kept: Sequence[Row]) -> Row:
    """A row of a chip that nobody knows, as it can be asked for: its library or source is not an engine."""
    if row.served or any(other.label["chip"] == row.label["chip"] for other in kept):
        return row
    return row._replace(label={**row.label, "engine": None})
