"""Questions to a sweep: one pass over its shards that keeps what is best so far, so that memory stays small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rooflens.arrays import library
from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.folder import opened
from rooflens.fleet.sweeping.parquet import damaged, read
from rooflens.records import record
from rooflens.sweep.grid import NAMED
from rooflens.sweep.question import MOST_IS_BEST, Found, Wanted

Columns = dict[str, Any]


@record
class Names:
    """Every name that was met, numbered, so that names of different files compare as numbers."""

    known: dict[str, dict[str, int]]

    def numbers(self, column: str, coded: Any) -> Any:
        """The numbers of a dictionary column."""
        np, known = library(), self.known.setdefault(column, {})
        places = [known.setdefault(name, len(known)) for name in coded.dictionary.to_pylist()]
        return np.array(places or [0])[coded.indices.to_numpy(zero_copy_only=False)]

    def number(self, column: str, value: object) -> int:
        """That of one name; -1 for one that no file has had."""
        return self.known.get(column, {}).get(str(value), -1)


def found(folder: Path, wanted: Wanted) -> Found:
    """The points that answer the question. Raises RooflensError for a folder without a sweep, or a column not kept."""
    home = opened(folder)
    parts = home.parts()
    if not parts:
        raise RooflensError(f"{folder}: no shard has landed yet; run the sweep first")
    names, matching = Names({}), 0
    kept: Columns = {}
    for number, part in enumerate(parts):
        met = _matching(part, wanted, names)
        matching += len(met["row"])
        if len(met["row"]):
            met["part"] = met["row"] * 0 + number
            kept = _best(_joined(kept, _best(met, wanted)), wanted)
    points = _rows(parts, _shown(kept, wanted))
    front = len(kept["row"]) if kept and wanted.pareto else None
    return Found(wanted, matching, points, len(parts), home.identity.shards, front)


def _matching(part: Path, wanted: Wanted, names: Names) -> Columns:
    """The deciding columns of the rows of a shard that meet the question, and where they stand."""
    np = library()
    file = read(part)
    _kept(file, part, wanted)
    said = [name for name in dict.fromkeys((*wanted.where, *wanted.groups)) if name not in wanted.needed]
    held = {name: _values(name, file, names) for name in said}
    good = np.ones(file.metadata.num_rows, bool)
    for name, values in wanted.where.items():
        if name in held:
            good &= np.isin(held[name], [names.number(name, v) if _named(name) else v for v in values])
    if not good.any():
        return {"row": np.zeros(0, np.int64)}
    held |= {name: _values(name, file, names) for name in wanted.needed}
    for name, values in wanted.where.items():
        if name not in said:
            good &= np.isin(held[name], [names.number(name, value) for value in values])
    with np.errstate(invalid="ignore"):
        for name, most in wanted.limits.items():
            good &= held[name] <= most
        good &= ~np.isnan(held[wanted.order].astype(float))
    if "fits" in wanted.needed:
        good &= held["fits"] != 0
    return {"row": np.nonzero(good)[0], **{name: values[good] for name, values in held.items()}}


def _best(met: Columns, wanted: Wanted) -> Columns:
    """Of these rows, those that can still be among the answers."""
    np = library()
    code = _code([met[name] for name in wanted.groups], len(met["row"]))
    sign = -1.0 if wanted.best in MOST_IS_BEST else 1.0
    value = sign * met[wanted.order].astype(float)
    if wanted.pareto:
        return _taken(met, _front(code, met[wanted.latency], value))
    if not wanted.groups:
        order = np.argsort(value, kind="stable")[: wanted.top]
        return _taken(met, order)
    order = np.lexsort((value, code))
    first = np.r_[True, np.diff(code[order]) != 0]
    winners = order[first]
    return _taken(met, winners[np.argsort(value[winners], kind="stable")])


def _front(code: Any, latency: Any, cost: Any) -> Any:
    """Places of the rows that no other of their group beats in both, by latency."""
    np = library()
    order = np.lexsort((cost, latency, code))
    found = []
    for group in np.split(order, np.nonzero(np.diff(code[order]))[0] + 1):
        least = np.minimum.accumulate(cost[group])
        found.append(group[np.r_[True, least[1:] < least[:-1]]])
    return np.concatenate(found)


def _code(columns: Sequence[Any], rows: int) -> Any:
    """One number for each combination of these columns."""
    np = library()
    code = np.zeros(rows, np.int64)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        _, code = np.unique(code * len(values) + place.reshape(-1), return_inverse=True)
        code = code.reshape(-1)
    return code


def _taken(met: Columns, places: Any) -> Columns:
    return {name: values[places] for name, values in met.items()}


def _joined(one: Columns, other: Columns) -> Columns:
    np = library()
    return {name: np.concatenate([one[name], other[name]]) for name in other} if one else other


def _shown(kept: Columns, wanted: Wanted) -> Columns:
    """The first of them, or of a front a spread from its first to its last."""
    rows = len(kept["row"]) if kept else 0
    if rows <= wanted.top:
        return kept
    np = library()
    places = np.linspace(0, rows - 1, wanted.top).round().astype(int) if wanted.pareto else np.arange(wanted.top)
    return _taken(kept, places)


def _rows(parts: Sequence[Path], kept: Columns) -> tuple[Mapping[str, Any], ...]:
    """The whole rows of the answers, in their order; each file is read once."""
    if not kept:
        return ()
    asked = list(zip(kept["part"].tolist(), kept["row"].tolist(), strict=True))
    rows: dict[tuple[int, int], Mapping[str, Any]] = {}
    for number in dict.fromkeys(part for part, _ in asked):
        mine = [row for part, row in asked if part == number]
        table = read(parts[number]).read().take(mine)
        if any(name not in table.column_names or table.column(name).null_count for name in NAMED):
            raise damaged(parts[number])
        said = ({k: v for k, v in row.items() if v is not None} for row in table.to_pylist())
        rows |= dict(zip([(number, row) for row in mine], said, strict=True))
    return tuple(rows[at] for at in asked)


def _kept(file: Any, part: Path, wanted: Wanted) -> None:
    """Raises RooflensError for a column that this sweep does not have."""
    there = file.schema_arrow.names
    for name in (*wanted.needed, *wanted.where, *wanted.groups):
        if name not in there:
            raise RooflensError(
                f"{part.parent.parent} keeps no column {name}; sweep into a new folder with it among `columns`"
            )


def _values(name: str, file: Any, names: Names) -> Any:
    """A whole column of a shard as numbers; null is nan, or false."""
    np = library()
    column = file.read(columns=[name]).column(0).combine_chunks()
    if _named(name):
        return names.numbers(name, column)
    found = column.to_numpy(zero_copy_only=False)
    return np.array([value is True for value in found.tolist()]) if found.dtype == object else found


def _named(column: str) -> bool:
    return column == "bound" or NAMED[column].kind == "name" if column in NAMED or column == "bound" else False
