"""What a sweep is asked: axes that are multiplied with each other, and what holds for the whole grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from rooflens.errors import BadFile, near
from rooflens.operators.standard import AttentionForm
from rooflens.records import decode, encode, fields, quantity, record
from rooflens.sweep.axis import Axis, axis
from rooflens.sweep.columns import FIGURES, Column
from rooflens.sweep.sizes import LARGEST, size, sizes

Names = str | tuple[str, ...]
Sizes = int | str | tuple[int | str, ...]
Keep = Literal["all", "fits"]
Check = Callable[[str, str], str | None]
"""What is wrong with a name of this axis, or None."""

OWN = "own"  # of a format: the model's own; of an engine: none named
MOST_VALUES = 1 << 20  # of one axis
MOST_POINTS = 1 << 50
MOST_LOADS = 1 << 20  # prompts x outputs x contexts: all of a case are priced at once
SHARD_POINTS = 1 << 19  # some 15 MB, priced in a second
MOST_SHARD = 1 << 24  # is in memory at once
MOST_DEVICES = 1 << 15  # of one kind of sharing: what the files' columns hold


@record
class Grid:
    """Axes as a file spells them: names as text or lists, sizes also as ranges (`1:512` doubles, `1:512:1` steps).

    An axis is a keyword of `predict`. What follows holds for all points, as the options of `predict` say. columns: the
    figures to keep, all when none is named. keep: `fits` leaves out, and counts, what does not fit. shard_points: of
    one file, about.
    """

    models: Names = axis(Column("name", "MODEL", "as the grid names it"), called="model")
    machines: Names = axis(Column("name", "--on", "as the grid names it"), called="machine")
    engine: Names = axis(Column("name", "--engine", "`own`: none was named"), default=OWN)
    weights: Names = axis(Column("name", "--weights", "format of the weights"), default=OWN)
    kv: Names = axis(Column("name", "--kv", "format of the KV cache"), default=OWN)
    math: Names = axis(Column("name", "--math", "format of the linear products' arithmetic"), default=OWN)
    tp: Sizes = axis(Column("count", "step.tp", "devices that share each layer"), default=1)
    pp: Sizes = axis(Column("count", "step.pp", "stages that share the layers"), default=1)
    ep: Sizes = axis(Column("count", "step.ep", "devices that share the experts"), default=1)
    dp: Sizes = axis(Column("count", "step.dp", "replicas that share the batch"), default=1)
    batch: Sizes = axis(Column("size", "step.batch", "sequences at once, over all replicas"), default=1)
    prompt: Sizes | None = axis(Column("size", "step.prompt", "tokens of a prompt", by_load=True), default=None)
    output: Sizes | None = axis(
        Column("size", "step.output", "tokens of an answer; 0: one decode step", by_load=True), default=None
    )
    context: Sizes | None = axis(
        Column("position", "step.context", "positions that the decode step attends to", by_load=True), default=None
    )
    microbatches: int = 1
    gpus_per_node: int | None = None
    link: Literal["nvlink", "pcie", "network"] | None = None
    attention: AttentionForm = "flash"
    memory_fraction: float | None = None
    block_tokens: int | None = None
    batched_tokens: int | None = None
    runtime_bytes: float | None = quantity("B", default=None)
    graph_bytes: float | None = quantity("B", default=None)
    columns: Names | None = None
    keep: Keep = "all"
    shard_points: int = SHARD_POINTS


AXES: Mapping[str, Axis] = {f.name: f for f in fields(Grid) if isinstance(f, Axis)}
NAMED: Mapping[str, Column] = {one.called or name: one.column for name, one in AXES.items()}
NAMES = tuple(name for name, one in AXES.items() if one.column.kind == "name")
DEVICES = tuple(name for name, one in AXES.items() if one.column.kind == "count")
LOADS = tuple(name for name, one in AXES.items() if one.column.by_load)
SIZES = tuple(name for name in AXES if name not in NAMES)
COUNTED = tuple(f.name for f in fields(Grid) if f.text in ("int", "int | None") and f.name != "shard_points")


@record
class Axes:
    """The same, read: every value of each axis in the order of the file, each once. loads: prompt, output, context."""

    names: Mapping[str, tuple[str, ...]]
    devices: Mapping[str, tuple[int, ...]]
    batch: tuple[int, ...]
    loads: Mapping[str, tuple[int, ...]]
    fixed: Mapping[str, Any]
    columns: tuple[str, ...]
    keep: Keep = "all"
    of_loads: int = 1
    shard_points: int = SHARD_POINTS

    @property
    def cases(self) -> int:
        """Combinations of all but batch and load."""
        return math.prod(len(values) for values in (*self.names.values(), *self.devices.values()))

    @property
    def points(self) -> int:
        """Every combination."""
        return self.cases * len(self.batch) * self.of_loads


def grid(data: object, where: str, check: Check) -> Axes:
    """The axes of a grid's file. check: what is wrong with a name. Raises BadFile with every fault."""
    faults: list[str] = []
    found: Grid | None = None
    try:
        found = decode(Grid, data, where)
    except BadFile as error:
        faults = list(error.faults)
    given = data if isinstance(data, Mapping) else {}
    faults += [fault for name in SIZES for fault in _size_faults(name, given.get(name))]
    faults += [fault for name in NAMES for fault in _name_faults(name, given.get(name), check)]
    faults += [*_column_faults(given.get("columns")), *_load_faults(given), *_fixed_faults(given)]
    if faults or found is None:
        raise BadFile(where, faults)
    axes = _axes(found)
    if axes.points > MOST_POINTS:
        raise BadFile(where, [f"file: {axes.points:.3g} points; {MOST_POINTS:.3g} are the most"])
    if axes.of_loads > MOST_LOADS:
        said = f"{axes.of_loads:,} combinations of prompt, output and context; {MOST_LOADS:,} are the most"
        raise BadFile(where, [f"file: {said}, so take fewer values, or several grids"])
    return axes


def _axes(found: Grid) -> Axes:
    names = {name: _once(_listed(getattr(found, name))) for name in NAMES}
    devices = {name: _once(_spelled(getattr(found, name))) for name in DEVICES}
    loads = {name: _once(_spelled(value)) for name in LOADS if (value := getattr(found, name)) is not None}
    several = {*AXES, "columns", "keep", "shard_points"}
    fixed = {
        f.name: value for f in fields(Grid) if f.name not in several and (value := getattr(found, f.name)) is not None
    }
    chosen = _listed(found.columns) if found.columns is not None else tuple(FIGURES)
    columns = tuple(name for name in FIGURES if name in chosen)
    each = math.prod(len(values) for values in loads.values())
    batch = _once(_spelled(found.batch))
    return Axes(names, devices, batch, loads, encode(fixed), columns, found.keep, each, found.shard_points)


def _listed(value: Names) -> tuple[str, ...]:
    """Names: a list, or a text with commas between. A machine's overrides have commas of their own: NAME=VALUE."""
    if not isinstance(value, str):
        return tuple(value)
    found: list[str] = []
    for part in value.split(","):
        if "=" in part and found:
            found[-1] += f",{part.strip()}"
        else:
            found.append(part.strip())
    return tuple(found)


def _spelled(value: Sizes) -> tuple[int, ...]:
    """Raises ValueError for what is no size."""
    if isinstance(value, (list, tuple)):
        return tuple(one for each in value for one in _spelled(each))
    return tuple(sizes(value, MOST_VALUES)) if isinstance(value, str) else (size(str(value)),)


def _once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _size_faults(name: str, value: Any) -> Iterator[str]:
    several = value if isinstance(value, (list, tuple)) else [value]
    if isinstance(value, (list, tuple)) and not value:
        yield f"{name}: the list is empty; leave it out, or name a size"
    for i, one in enumerate(several):
        if isinstance(one, (int, str)) and not isinstance(one, bool):
            where = f"{name}[{i}]" if several is value else name
            try:
                most = max(_spelled(one))
                if name in DEVICES and most > MOST_DEVICES:
                    yield f"{where}: {most} devices; {MOST_DEVICES} are the most"
            except ValueError as error:
                yield f"{where}: {error}"


def _name_faults(name: str, value: Any, check: Check) -> Iterator[str]:
    several = value if isinstance(value, (list, tuple)) else _listed(value) if isinstance(value, str) else ()
    if isinstance(value, (list, tuple)) and not value:
        yield f"{name}: the list is empty; name one"
    for i, one in enumerate(several):
        if isinstance(one, str) and (one != OWN or name in ("models", "machines")) and (said := check(name, one)):
            yield f"{name}[{i}]: {said}" if several is value else f"{name}: {said}"


def _column_faults(value: Any) -> Iterator[str]:
    several = _listed(value) if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
    if value is not None and not several:
        yield "columns: the list is empty; leave it out for all of them"
    for one in several:
        if isinstance(one, str) and one not in FIGURES:
            close = near(one, FIGURES, 1)
            yield f"columns: unknown column {one!r}{f', did you mean {close[0]!r}?' if close else ''}"


def _load_faults(given: Mapping[str, Any]) -> Iterator[str]:
    if given.get("output") is not None and given.get("context") is not None:
        yield "context: a context is one decode step's: leave it out, or leave out the output"


def _fixed_faults(given: Mapping[str, Any]) -> Iterator[str]:
    for name in COUNTED:
        value = given.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and not 1 <= value <= LARGEST:
            bound = "at least 1" if value < 1 else f"at most {LARGEST}"
            yield f"{name}: must be {bound}, not {value}"
    at_once = given.get("shard_points")
    if isinstance(at_once, int) and not 1 <= at_once <= MOST_SHARD:
        yield f"shard_points: from 1 to {MOST_SHARD}, not {at_once}"
    share = given.get("memory_fraction")
    if isinstance(share, (int, float)) and not 0 < share <= 1:
        yield f"memory_fraction: lies above 0 and up to 1, not at {share:g}"
