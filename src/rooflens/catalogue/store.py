"""The catalogue's own data files, read once. Facts live in data/; this module only finds and decodes them.

An accelerator file is a run of `[[accelerator]]` tables. One table is decoded without parsing the others: files are
cut at the table headers (which our data never has inside a text). In a table of ours every line is KEY = VALUE or
PART.KEY = VALUE, each value being JSON as well as TOML, so that naming one chip costs one small parse of JSON.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from rooflens.catalogue.record import Accelerator
from rooflens.errors import BadFile
from rooflens.records import decode, record

DATA = Path(__file__).with_name("data")
_HEADER = "[[accelerator]]\n"
_NAMES = ("id = ", "name = ", "aliases = ", "shared_names = ")


@record
class Entry:
    """One accelerator table, not yet decoded, and the names that it answers to."""

    id: str
    name: str
    aliases: tuple[str, ...]
    shared_names: tuple[str, ...]


def accelerators() -> tuple[Accelerator, ...]:
    """Every accelerator of the catalogue, file by file in the order of the files."""
    return tuple(by_id(id) for id in _tables())


def ids() -> tuple[str, ...]:
    """Every id, in the order of `accelerators`."""
    return tuple(_tables())


def has(id: str) -> bool:
    """Whether some accelerator has exactly this id."""
    return id in _tables()


@cache
def by_id(id: str) -> Accelerator:
    """The accelerator with exactly this id. Raises KeyError."""
    where, table = _tables()[id]
    return decode(Accelerator, plain(table), where)


@cache
def entries() -> tuple[Entry, ...]:
    """The names of every accelerator, without decoding its facts."""
    named = (plain(table, _NAMES) for _, table in _tables().values())
    return tuple(
        Entry(n["id"], n["name"], tuple(n.get("aliases", ())), tuple(n.get("shared_names", ()))) for n in named
    )


def accelerator_from_toml(text: str, where: str) -> Accelerator:
    """A person's own machine: one `[accelerator]` or `[[accelerator]]` table, as in the catalogue's files.

    Only `id` is required. Without `sources` its numbers are assumed, and say so. Raises BadFile with every fault.
    """
    found = _accelerators(text, where)
    if len(found) != 1:
        raise BadFile(where, [f"expected one [accelerator] table, found {len(found)}"])
    return found[0]


def plain(table: str, begins: str | tuple[str, ...] = "") -> dict[str, Any]:
    """The lines of one of our own tables that begin like this, read as TOML reads them."""
    lines = [line for line in table.splitlines() if line.startswith(begins) and line[:1] not in ("", "#")]
    pairs = [line.partition(" = ") for line in lines]
    found: dict[str, Any] = {}
    for (name, _, _), value in zip(pairs, json.loads(f"[{','.join(text for _, _, text in pairs)}]"), strict=True):
        part, dot, key = name.partition(".")
        if dot:
            found.setdefault(part, {})[key] = value
        else:
            found[name] = value
    return found


@cache
def _tables() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for path in sorted((DATA / "accelerators").glob("*.toml")):
        for table in path.read_text(encoding="utf-8").split(_HEADER)[1:]:
            id = table[table.index('"') + 1 : table.index('"\n')]
            if id in found:
                raise BadFile(path.name, [f"the id {id!r} is also in {found[id][0]}"])
            found[id] = (path.name, table)
    return found


def _accelerators(text: str, where: str) -> tuple[Accelerator, ...]:
    data = toml(text, where)
    if isinstance(data.get("accelerator"), dict):
        data["accelerator"] = [data["accelerator"]]
    return decode(_File, data, where).accelerator


@record
class _File:
    accelerator: tuple[Accelerator, ...] = ()


def toml(text: str, where: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises BadFile."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadFile(where, [f"not TOML: {error}"]) from None
