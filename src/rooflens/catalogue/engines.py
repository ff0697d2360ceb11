"""Serving engines: what they reserve and allocate by default, and what their options are called."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from rooflens.catalogue.store import DATA, toml
from rooflens.errors import Unknown
from rooflens.records import decode, field, quantity, record

FILE = "engines.toml"
FractionOf = Literal["all", "static", "free"]


@record
class Engine:
    """One engine's defaults. None: not known.

    memory_fraction, of a device's memory: `all` that the engine uses; `static`, weights and cache, the rest of what it
    uses living outside; `free`, the cache alone, of what weights and activations leave. batched_tokens: the most in one
    pass, which size its activations. runtime_bytes: what the driver's context and libraries take. flags: lever to
    option.
    """

    name: str
    memory_fraction: float
    fraction_of: FractionOf
    block_tokens: int
    batched_tokens: int
    version: str | None = None
    runtime_bytes: float | None = quantity("B", default=None)
    graph_bytes: float | None = quantity("B", default=None)
    flags: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    note: str | None = None


@cache
def engines() -> Mapping[str, Engine]:
    """Every engine by name."""
    rows = toml((DATA / FILE).read_text(encoding="utf-8"), FILE)["engine"]
    return {engine.name: engine for engine in decode(tuple[Engine, ...], rows, FILE)}


def engine(name: str) -> Engine:
    """The engine called `name`. Raises Unknown with near matches."""
    if name not in engines():
        raise Unknown("engine", name, engines())
    return engines()[name]
