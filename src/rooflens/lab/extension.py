"""A student's own addition: four sentences, validated, kept apart from everything that was measured."""

from __future__ import annotations

from typing import Any

from rooflens.records import decode, fields, record

SCHEMA = "rooflens/extension/1"
LONGEST = 4000


@record
class Extension:
    """What was assumed, what was measured, what follows, and what limits it."""

    assumption: str
    measurement: str
    conclusion: str
    limitation: str

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if not text.strip():
                raise ValueError(f"{field.name} is empty; say it in a sentence")
            if len(text) > LONGEST:
                raise ValueError(f"{field.name} has {len(text)} characters; at most {LONGEST} are kept")


def extension(data: Any, where: str) -> Extension:
    """The extension of a JSON object, with or without its schema. Raises BadFile with every fault."""
    marked = isinstance(data, dict) and "schema" in data
    return decode(Extension, data, where, SCHEMA if marked else None)
