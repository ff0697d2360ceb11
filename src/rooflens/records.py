"""A small strict decoder between records and JSON or TOML.

`decode` lists *every* fault of a file with its path and the nearest known key, and never guesses. `encode`
leaves out what is not known (None): absent means not known, and null never means 0.

A field may carry metadata: `quantity("B/s")` lets a file write `"2.0 TB/s"` (text, parsed) or a plain SI number.
"""

from __future__ import annotations

import math
import re
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from rooflens.errors import BadFile, Newer, RooflensError, near, other_schema
from rooflens.frozen import Field, field, fields, is_record, quantity, record, replace
from rooflens.units import parse as parse_unit

__all__ = [
    "checked", "decode", "encode", "field", "fields", "html", "is_record", "quantity", "record", "replace",
]  # fmt: skip

T = TypeVar("T")
_ABSENT = object()
_PLAIN = (float, str, int, bool)
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 40
_REPR.maxlevel = 3


def decode(cls: type[T], data: object, where: str, schema: str | None = None) -> T:
    """`data` (from JSON or TOML) as a `cls`. With `schema`, data["schema"] must be of that family.

    Raises BadFile with one line a fault: unknown, missing or ill-typed keys, each with its path. A file of another
    kind or of a newer schema has that one fault, since its other keys say nothing.
    """
    faults: list[str] = []
    if schema is not None and isinstance(data, Mapping):
        data = _check_schema(data, schema, where)
    value = _value(cls, data, "", faults, None)
    if faults:
        raise BadFile(where, faults)
    return typing.cast("T", value)


def encode(value: object) -> Any:
    """Plain JSON types: records become objects without their None fields.

    Raises RooflensError for what no JSON file holds: NaN, infinity, and text with half a character.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise RooflensError("a result is not a finite number, so it is not written; what was asked is out of range")
    if isinstance(value, str) and not _whole(value):
        raise RooflensError(f"{value[:40]!a} is not Unicode text, so it is not written")
    if type(value) in _PLAIN:
        return value
    if is_record(value):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {name: encode(v) for name, v in pairs if v is not None}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    if isinstance(value, Mapping):
        return {encode(str(k)): encode(v) for k, v in value.items() if v is not None}
    if hasattr(value, "tolist"):
        return encode(value.tolist())
    return value


def checked(asked: Any) -> None:
    """Raises RooflensError unless every field of a record made in Python is what its annotation says, as in a file."""
    faults: list[str] = []
    kinds: Any = type(asked)
    for f, kind in _fields(kinds):
        _value(kind, getattr(asked, f.name), f.name, faults, f.unit)
    if faults:
        raise RooflensError("; ".join(faults))


def _whole(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _check_schema(data: Mapping[str, Any], schema: str, where: str) -> dict[str, Any]:
    found = data.get("schema", "")
    family, _, newest = schema.rpartition("/")
    match = re.fullmatch(re.escape(family) + r"/([0-9]{1,9})", found) if isinstance(found, str) else None
    if not match:
        raise BadFile(where, [other_schema(schema, _brief(found) if found else "none")])
    if int(match[1]) > int(newest):
        raise Newer(where, [f"schema: {found!r} is newer than this rooflens reads ({schema!r}); upgrade rooflens"])
    return {k: v for k, v in data.items() if k != "schema"}


def _value(kind: Any, data: Any, path: str, faults: list[str], unit: str | None) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return data
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), data, path, faults, unit)
    if origin is Literal:
        return _literal(get_args(kind), data, path, faults)
    if is_record(kind):
        return _record(kind, data, path, faults)
    if origin in (tuple, list):
        return _sequence(kind, data, path, faults, unit)
    if origin in (dict, Mapping) or kind is dict:
        return _mapping(kind, data, path, faults, unit)
    return _scalar(kind, data, path, faults, unit)


def _union(kinds: tuple[Any, ...], data: Any, path: str, faults: list[str], unit: str | None) -> Any:
    if data is None and type(None) in kinds:
        return None
    options = [k for k in kinds if k is not type(None)]
    inside: list[list[str]] = []  # the faults of an object, seen as each of the records it may be
    if len(options) == 1:
        return _value(options[0], data, path, faults, unit)
    for kind in options:
        mine: list[str] = []
        value = _value(kind, data, path, mine, unit)
        if not mine:
            return value
        if isinstance(data, Mapping) and is_record(kind):
            inside.append(mine)
    neither = [f"{path}: expected {' or '.join(_name(k) for k in options)}, found {_brief(data)}"]
    nearest = min(inside, key=len, default=neither)
    faults.extend(nearest)
    return None


def _literal(allowed: tuple[Any, ...], data: Any, path: str, faults: list[str]) -> Any:
    if any(data == a and type(data) is type(a) for a in allowed):  # True is not 1
        return data
    hint = near(_brief(data).strip("'"), [str(a) for a in allowed], 1)
    wanted = f"did you mean {hint[0]!r}?" if hint else f"expected one of {', '.join(map(repr, allowed))}"
    faults.append(f"{path}: {_brief(data)} is not allowed; {wanted}")
    return None


def _record(cls: Any, data: Any, path: str, faults: list[str]) -> Any:
    if not isinstance(data, Mapping):
        faults.append(f"{path or 'file'}: expected an object, found {_brief(data)}")
        return None
    known = [f.name for f in fields(cls)]
    for key in data:
        if key not in known:
            hint = near(_brief(key).strip("'"), known, 1)
            said = f", did you mean {hint[0]!r}?" if hint else ""
            faults.append(f"{_join(path, key)}: unknown key {_brief(key)}{said}")
    before = len(faults)
    values = {f.name: _field(f, kind, data, path, faults) for f, kind in _fields(cls)}
    given = {name: value for name, value in values.items() if value is not _ABSENT}
    if len(faults) > before:
        return None
    try:
        return cls(**given)
    except (ValueError, RooflensError) as error:
        faults.append(f"{path or 'file'}: {error}")
        return None


def _field(f: Field, kind: Any, data: Mapping[str, Any], path: str, faults: list[str]) -> Any:
    if f.name in data:
        return _value(kind, data[f.name], _join(path, f.name), faults, f.unit)
    if f.required:
        faults.append(f"{_join(path, f.name)}: missing")
    return _ABSENT


def _sequence(kind: Any, data: Any, path: str, faults: list[str], unit: str | None) -> Any:
    make: Callable[[list[Any]], Any] = tuple if get_origin(kind) is tuple else list
    if not isinstance(data, (list, tuple)):
        faults.append(f"{path}: expected a list, found {_brief(data)}")
        return make([])
    inner = get_args(kind)
    fixed = get_origin(kind) is tuple and not (len(inner) == 2 and inner[1] is Ellipsis)
    if fixed and len(inner) != len(data):
        faults.append(f"{path}: expected {len(inner)} entries, found {len(data)}")
        return make([])
    if inner[0] is float and not unit and all(type(v) is float for v in data) and math.isfinite(sum(data)):
        return make([*data])  # samples are most of an artefact
    kinds = inner if fixed else (inner[0],) * len(data)
    return make([_value(k, v, f"{path}[{i}]", faults, unit) for i, (k, v) in enumerate(zip(kinds, data, strict=True))])


def _mapping(kind: Any, data: Any, path: str, faults: list[str], unit: str | None) -> Any:
    if not isinstance(data, Mapping):
        faults.append(f"{path}: expected an object, found {_brief(data)}")
        return {}
    inner = get_args(kind)[1] if get_args(kind) else Any
    return {str(k): _value(inner, v, _join(path, k), faults, unit) for k, v in data.items()}


def _scalar(kind: Any, data: Any, path: str, faults: list[str], unit: str | None) -> Any:
    if kind is float and unit and isinstance(data, str):
        try:
            return parse_unit(data, unit)
        except RooflensError as error:
            faults.append(f"{path}: {error}")
            return None
    if kind is float and isinstance(data, (int, float, Real)) and not isinstance(data, bool):
        return _number(data, path, faults, unit)
    if isinstance(data, (int, Integral) if kind is int else kind) and not (kind is int and isinstance(data, bool)):
        return _counted(data, path, faults) if kind is int else data
    faults.append(f"{path}: expected {_name(kind)}, found {_brief(data)}")
    return None


def _counted(data: Any, path: str, faults: list[str]) -> Any:
    """A whole number that fits a float, as every formula takes it."""
    _number(data, path, faults, None)
    return data


def _number(data: Any, path: str, faults: list[str], unit: str | None) -> float:
    try:
        value = float(data)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        faults.append(f"{path}: {_brief(data)} is not a finite number")
    elif unit and value < 0:
        faults.append(f"{path}: {_brief(data)} is negative; an amount or a rate of {unit} is at least 0")
    return value


def _fields(cls: Any) -> list[tuple[Field, Any]]:
    """The fields of a record, each with its kind."""
    return [(f, _kind(f.text, f.home)) for f in fields(cls)]


@cache
def _kind(text: str, module: str) -> Any:
    """What an annotation of this module means: typing.get_type_hints, without its parts that no record needs."""
    return eval(text, vars(sys.modules[module]))  # noqa: S307 - our own annotations, never a file's words


def _join(path: str, key: object) -> str:
    name = key if isinstance(key, str) and len(key) <= 40 else _brief(key)
    return f"{path}.{name}" if path else str(name)


def _name(kind: Any) -> str:
    if is_record(kind) or get_origin(kind) in (dict, Mapping):
        return "an object"
    if get_origin(kind) in (tuple, list):
        return "a list"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    names = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))


def _brief(data: object) -> str:
    """At most 40 characters of any data, however long, deep or large a number it is."""
    try:
        text = _REPR.repr(data)
    except ValueError:  # Python refuses to write out whole numbers of thousands of digits
        text = "a very long number"
    return text if len(text) <= 40 else text[:37] + "..."


def html(record: object) -> str:
    """A record as an HTML table, for notebooks: one line a field, a list of records as a table of its own.

    Classes take it as their `_repr_html_`. What is not known is left out, as in the artefacts.
    """
    from html import escape

    rows = "".join(f"<tr><th>{escape(k)}</th><td>{_cell(v)}</td></tr>" for k, v in encode(record).items())
    return f"<table>{rows}</table>"


def _cells(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return "".join(f"<td>{_cell(row[c]) if c in row else ''}</td>" for c in columns)


def _cell(value: Any) -> str:
    from html import escape

    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        columns = list(dict.fromkeys(key for row in value for key in row))
        head = "".join(f"<th>{escape(c)}</th>" for c in columns)
        body = "".join(f"<tr>{_cells(row, columns)}</tr>" for row in value)
        return f"<table><tr>{head}</tr>{body}</table>"
    if isinstance(value, dict):
        return "<br>".join(f"{escape(str(k))}: {_cell(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(_cell(v) for v in value)
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
