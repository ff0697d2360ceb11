"""The operator part of the table: errors of rows left out, intervals, what they cover, floors; pooled and by source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy.kernel_errors import Held, caches, held
from benchmarks.accuracy.kernels import COMMON
from benchmarks.accuracy.rows import machine
from benchmarks.accuracy.shrunk import Array
from rooflens.prediction.operator import floors_s

FEW = 20  # residuals of so many rows speak for a flavour; fewer speak for all flavours together
TENTHS = (0.1, 0.9)


class Class(NamedTuple):
    """Rows whose errors make one interval, and those errors."""

    name: str
    rows: Array
    errors: Array


def _interval_classes(found: Held) -> list[Class]:
    """By flavour and by what was known: the engine, the chip alone, neither."""
    flavours = np.array([row.label["flavour"] for row in found.rows])
    served, every = np.array([row.served for row in found.rows]), np.ones(len(found.rows), bool)
    known = [("engine named", served, found.family), ("no engine", every, found.unnamed)]
    return [
        Class(f"{flavour}, {name}", of & ((flavours == flavour) | (flavour == "any")), errors)
        for name, of, errors in (*known, ("chip unseen", every, found.chip))
        for flavour in ("any", *sorted(set(flavours)))
    ]


def _enough(found: Held, one: Class) -> bool:
    """Whether these rows speak for themselves: a chip that is unseen, by the rows of several others."""
    chips = {row.label["chip"] for row, mine in zip(found.rows, one.rows, strict=True) if mine}
    return int(one.rows.sum()) >= FEW and (len(chips) > 1 or "chip unseen" not in one.name)


def _interval(found: Held, errors: Array, mine: Array) -> tuple[float, float]:
    """What four of five of measured over estimated lie between, each chip counting the same."""
    chips = np.array([row.label["chip"] for row in found.rows])[mine]
    weight = 1.0 / np.array([np.sum(chips == chip) for chip in chips])
    order = np.argsort(errors[mine])
    upto = np.cumsum(weight[order])
    places = (upto - weight[order] / 2) / upto[-1]
    low, high = np.exp(np.interp(TENTHS, places, errors[mine][order]))
    return float(low), float(high)


def residuals(found: Held) -> Iterator[tuple[str, dict[str, float]]]:
    """What four of five of measured over estimated lie between, by class."""
    for one in _interval_classes(found):
        mine = one._replace(rows=one.rows & ~np.isnan(one.errors))
        if _enough(found, mine):
            low, high = _interval(found, mine.errors, mine.rows)
            yield one.name, {"low": float(f"{low:.4g}"), "high": float(f"{high:.4g}"), "rows": int(mine.rows.sum())}


HEADS = ("rows", "fitted", "family", "p90", "in", "width", "chip", "p90", "in", "width", "floor", "beaten", "resident")


def operator_scores() -> None:
    """Prints the operator part of the table: what was left out, how far off, floors; pooled and by source.

    Errors are medians of |estimated / measured - 1| in %; `in` is the share inside an interval made without the row's
    family or chip, `width` its high over low. floor: median of floor over measured; beaten: % of rows under the floor,
    and under that of a kernel whose data is in the last cache already.
    """
    for kind in COMMON:
        found = held(kind)
        known, unseen = _covered(found, "known"), _covered(found, "chip unseen")
        print(f"\n{kind:32s}" + "".join(f"{head:>9s}" for head in HEADS))
        for name, mine in _classes(found):
            print(f"{name:32s}{mine.sum():9d}" + _line(found, mine, known, unseen))


def _classes(found: Held) -> Iterator[tuple[str, Array]]:
    """All, and the same by source, flavour and chip."""
    yield "all", np.ones(len(found.rows), bool)
    for by, of in (
        ("source", [row.source for row in found.rows]), ("flavour", [row.label["flavour"] for row in found.rows]),
        ("chip", [row.label["chip"] for row in found.rows]),
        ("collective", [row.sizes.get("name", "") for row in found.rows]),
    ):  # fmt: skip
        names = np.array(of)
        for name in sorted(set(of)) if len(set(of)) > 1 else []:
            yield f"  {by} {name}", names == name


def _line(found: Held, mine: Array, known: tuple[Array, Array], unseen: tuple[Array, Array]) -> str:
    floors, times = _floors(found), np.array([row.time_s for row in found.rows])
    shown = [f"{_percent(found.fit[mine], 0.5):9.1f}"]
    for errors, (inside, width) in ((found.family, known), (found.chip, unseen)):
        shown.append(f"{_percent(errors[mine], 0.5):9.1f}{_percent(errors[mine], 0.9):9.0f}")
        shown.append(f"{100 * np.mean(inside[mine]):9.0f}{np.median(width[mine]):9.2f}")
    shown.append(f"{np.median(floors[0][mine] / times[mine]):9.2f}")
    shown += [f"{100 * np.mean(floor[mine] > times[mine]):9.2f}" for floor in floors]
    return "".join(shown)


def _percent(errors: Array, share: float) -> float:
    return float(np.quantile(100 * np.abs(np.expm1(-errors)), share))


def _floors(found: Held) -> tuple[Array, Array]:
    pairs = [floors_s(row.cost, machine(row.label["chip"]), _cache_bytes(row.label["chip"])) for row in found.rows]
    both = np.array(pairs, float)
    return both[:, 0], both[:, 1]


def _cache_bytes(chip: str) -> float:
    return machine(chip).cache_bytes or caches().get(chip, 0.0)


def _covered(found: Held, which: str) -> tuple[Array, Array]:
    """Whether each row is inside the interval that other families (or chips) give, and its width, high over low."""
    inside, width = np.zeros(len(found.rows), bool), np.ones(len(found.rows))
    classes = {one.name: one for one in _interval_classes(found)}
    chips = np.array([row.label["chip"] for row in found.rows])
    folds = chips if which == "chip unseen" else found.folds
    for i, row in enumerate(found.rows):
        known = which if which == "chip unseen" else "engine named" if row.served else "no engine"
        for flavour in (row.label["flavour"], "any"):
            one = classes[f"{flavour}, {known}"]
            others = one._replace(rows=one.rows & (folds != folds[i]) & ~np.isnan(one.errors))
            if _enough(found, others):
                break
        low, high = _interval(found, others.errors, others.rows)
        inside[i], width[i] = low <= np.exp(one.errors[i]) <= high, high / low
    return inside, width
