"""The fields of every artefact as tables: from the records that write and read them, and what their docstrings say.

A docstring of a record explains fields as `name: meaning` or `name, name: meaning`; what it leaves to the name is
said by the name. Units come from the field (`quantity("B/s")`) or from the end of its name, as everywhere here.
"""

from __future__ import annotations

import importlib
import re
import types
import typing
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any, Literal, Union, get_args, get_origin

from rooflens.records import _fields as typed  # the annotations as the decoder reads them
from rooflens.records import fields, is_record

from schema_kinds import KINDS, Kind  # isort: skip
from schema_words import COMMON  # isort: skip

UNITS = (  # of names that end so, the longest first
    ("flops_per_byte", "FLOP/B"),
    ("flops_per_s", "FLOP/s"), ("bytes_per_s_per_direction", "B/s"), ("bytes_per_s_bidirectional", "B/s"),
    ("bytes_per_s", "B/s"), ("bytes_per_token", "B"), ("bytes_per_sequence", "B"), ("bytes_per_token_growing", "B"),
    ("bytes_per_token_allocated", "B"), ("bits_per_s", "bit/s"), ("usd_per_hour", "USD/h"),
    ("usd_per_million_tokens", "USD"), ("joules_per_token", "J"), ("tokens_per_s", "tokens/s"),
    ("tokens_per_s_per_user", "tokens/s"), ("tokens_per_s_per_device", "tokens/s"),
    ("tokens_per_s_ceiling", "tokens/s"), ("tokens_per_s_whole_file", "tokens/s"), ("steps_per_s", "1/s"),
    ("prompts_per_s", "1/s"), ("requests_per_s", "1/s"), ("preemptions_per_s", "1/s"), ("cycles", "cycles"),
    ("bytes", "B"), ("flops", "FLOP"), ("_hz", "Hz"), ("_w", "W"), ("_s", "s"), ("_usd", "USD"), ("_years", "years"),
    ("_tokens", "tokens"), ("_bits", "bit"),
)  # fmt: skip
SAID = re.compile(r"(?:^|(?<=[.;:)] ))((?:[\w*`]+(?:, | and )?)+): ")
RATIOS = re.compile(r"(^|_)(share|mfu|mbu|ratio|acceptance|fraction)(_|$)")


def found(name: str) -> Any:
    """The record that module:Class names."""
    module, _, cls = name.partition(":")
    return getattr(importlib.import_module(module), cls)


def tables(kind: str) -> None:
    """Prints the page's tables: of the whole, then of every record in it."""
    about, seen = KINDS[kind], []
    if about.record:
        _whole(found(about.record), seen)
    if about.keys:
        if about.record:
            _heading("Beside these")
        _table([(name, *_key(said, name, seen)) for name, said in about.keys.items()])
    for part, keys in (about.also or {}).items():
        _heading(f"Keys of {part}")
        _table([(name, *_key(said, name, seen)) for name, said in keys.items()])
    for part, name in (about.instead or {}).items():
        _heading(part)
        _section(found(name), seen)
    done = {found(name) for name in wholes(about)}
    for cls in seen:  # grows as records are found in records
        if cls not in done:
            done.add(cls)
            _heading(cls.__name__)
            _section(cls, seen)


def wholes(about: Kind) -> list[str]:
    """The records that may be a whole artefact of this kind."""
    return [name for name in (about.record, *(about.instead or {}).values()) if name]


def names(kind: str) -> set[str]:
    """Every top-level key that an artefact of this kind may have."""
    about = KINDS[kind]
    return {"schema", *(about.keys or {}), *(f.name for one in wholes(about) for f in fields(found(one)))}


def _heading(text: str) -> None:
    print(f"\n## {text[0].upper()}{text[1:]}\n")


def _whole(cls: Any, seen: list[Any]) -> None:
    """Under the page's own title; a record that holds others of its kind has a heading that these lead to."""
    within: list[Any] = []
    for _, kind in typed(cls):
        _type(kind, within)
    if cls in within:
        _heading(cls.__name__)
    _section(cls, seen)


def _section(cls: Any, seen: list[Any]) -> None:
    meanings = explained(cls)
    print(f"{_opening(cls)}\n")
    seconds = "s" if _opening(cls).startswith("Seconds") else ""
    _table(
        [
            (
                f.name,
                said := _type(kind, seen),
                unit(f) or seconds * said.startswith("number"),
                _meaning(cls, f.name, meanings),
            )
            for f, kind in typed(cls)
        ]
    )


def _table(rows: list[tuple[str, str, str, str]]) -> None:
    print("| field | is | unit | meaning |\n| --- | --- | --- | --- |")
    for name, kind, in_unit, meaning in rows:
        print(f"| `{name}` | {kind} | {in_unit} | {meaning} |")


def _key(said: tuple[str, str], name: str, seen: list[Any]) -> tuple[str, str, str]:
    kind, meaning = said
    match = re.search(r"rooflens[\w.]*:\w+", kind)
    if match:
        cls = found(match[0])
        seen.append(cls)
        kind = kind.replace(match[0], _link(cls))
    return kind, _by_name(name), meaning or COMMON.get(name, _words(name))


def _link(cls: Any) -> str:
    return f"[{cls.__name__}](#{cls.__name__.lower()})"


def _type(kind: Any, seen: list[Any]) -> str:
    """An annotation in words; records that it holds are added to `seen`."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_record(kind):
        if kind not in seen:
            seen.append(kind)
        return _link(kind)
    if origin in (Union, types.UnionType):
        known = [_type(k, seen) for k in inner if k is not type(None)]
        return " or ".join(known) + (", or absent" if type(None) in inner else "")
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin in (tuple, list):
        return "list of " + _several(_type(inner[0], seen)) if inner else "list"
    if origin is dict or (isinstance(origin, type) and issubclass(origin, typing.Mapping)):
        return "object of " + _several(_type(inner[1], seen))
    plain = {float: "number", int: "whole number", str: "text", bool: "true or false"}
    return plain.get(kind, "any" if kind in (Any, object) else getattr(kind, "__name__", str(kind)))


def _several(one: str) -> str:
    return {"number": "numbers", "whole number": "whole numbers", "any": "anything"}.get(one, one)


def unit(f: Any) -> str:
    """The unit of a field: its own, or what its name ends in; 0 to 1 for ratios."""
    return f.unit or _by_name(f.name)


def _by_name(name: str) -> str:
    for end, of in sorted(UNITS, key=lambda pair: -len(pair[0])):
        if name.endswith(end) or name == end.lstrip("_"):
            return of
    return "ratio" if RATIOS.search(name) else ""


def _meaning(cls: Any, name: str, meanings: Mapping[str, str]) -> str:
    found = meanings.get(name) or COMMON.get(f"{cls.__name__}.{name}") or COMMON.get(name) or _words(name)
    return found.replace("|", "\\|")


def _words(name: str) -> str:
    return name.replace("_", " ").strip()


def _opening(cls: Any) -> str:
    """The first sentence of a docstring, without what explains fields."""
    text = " ".join((cls.__doc__ or cls.__name__).split())
    first = re.match(r".+?[.](?= |$)", text)
    return (first[0] if first else text).replace("|", "\\|")


def explained(cls: Any) -> dict[str, str]:
    """What a docstring says of each field: `name: meaning`, `name, name: meaning`; `*_end:` is of names so ending."""
    text = re.sub(r"\s+", " ", cls.__doc__ or "")
    known = [f.name for f in fields(cls)]
    said = [(match, _named(match[1], known)) for match in SAID.finditer(text)]
    ends = [*(match.start() for match, _ in said[1:]), len(text)]
    found: dict[str, str] = {}
    for (match, of), end in zip(said, ends, strict=False):
        meaning = text[match.end() : end].strip().rstrip(";.").strip()
        for name in of:
            found.setdefault(name, meaning)
    return found


def _named(text: str, known: list[str]) -> list[str]:
    """The fields that the words before a colon name; an ending alone (`_growing`) is of those that share it."""
    found: list[str] = []
    for word in re.split(r", | and ", text):
        bare = word.strip("`")
        pattern = f"*{bare}" if bare.startswith("_") else bare
        found += [name for name in known if fnmatch(name, pattern)]
    return found


def unexplained() -> Iterator[tuple[str, str]]:
    """Records and fields whose meaning is only their name."""
    for about in KINDS.values():
        seen = [found(name) for name in wholes(about)]
        for cls in seen:
            meanings = explained(cls)
            for f, kind in typed(cls):
                _type(kind, seen)
                if not {f.name, f"{cls.__name__}.{f.name}"} & {*meanings, *COMMON}:
                    yield cls.__name__, f.name
