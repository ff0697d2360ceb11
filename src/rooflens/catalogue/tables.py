"""The smaller tables of the catalogue: rates of architectures and instruction sets, measurements, sources."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeVar

from rooflens.catalogue.store import DATA, toml
from rooflens.errors import Unknown
from rooflens.records import decode, field, quantity, record

T = TypeVar("T")


@record
class ArchRate:
    """Dense operations a clock and unit (SM, CU, Xe-core) of one architecture variant, by dtype; 0: no such path."""

    key: str
    unit: str
    compute_capability: str | None = None
    smem_per_unit_bytes: float | None = quantity("B", default=None)
    registers_per_unit_bytes: float | None = quantity("B", default=None)
    vector: dict[str, float] = field(default_factory=dict)
    matrix: dict[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    note: str | None = None


@record
class IsaRate:
    """Operations a cycle and core of one CPU instruction set, by dtype."""

    key: str
    description: str
    rates: dict[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    note: str | None = None


@record
class Achieved:
    """What somebody measured. `value` and `peak_used` are in `unit`; the peak is the catalogue's, if it has one."""

    id: str
    metric: str
    value: float
    unit: Literal["FLOP/s", "op/s", "B/s"]
    method: str
    date: str
    source: str
    peak_used: float | None = None
    shape: str | None = None
    software: str | None = None
    note: str | None = None

    @property
    def efficiency(self) -> float | None:
        """`value` / `peak_used`. Above 1 is a finding (a clock above the quoted one, a sparse or cached figure)."""
        return self.value / self.peak_used if self.peak_used else None


@record
class Said:
    """A figure that was said of an accelerator and is not its own: announced and never shipped, disputed, another's.

    roof: a dtype, memory, nvlink ... as claims name them; value in SI.
    """

    id: str
    roof: str
    value: float
    why: str
    source: str


@record
class Source:
    """Where a fact comes from."""

    key: str
    what: str
    where: str | None = None
    read: str | None = None


@cache
def arch_rates() -> Mapping[str, ArchRate]:
    """Operations a clock and unit by architecture variant."""
    return {rate.key: rate for rate in _rows(ArchRate, "arch_rates.toml", "arch")}


@cache
def cpu_isa_rates() -> Mapping[str, IsaRate]:
    """Operations a cycle and core by CPU instruction set."""
    return {rate.key: rate for rate in _rows(IsaRate, "cpu_isa_rates.toml", "isa")}


@cache
def sources() -> Mapping[str, Source]:
    """Every place that a fact of the catalogue comes from."""
    return {source.key: source for source in _rows(Source, "sources.toml", "source")}


def source(key: str) -> Source:
    """The source called `key`. Raises Unknown with near matches."""
    if key not in sources():
        raise Unknown("source", key, sources())
    return sources()[key]


def achievable(id: str | None = None) -> tuple[Achieved, ...]:
    """What was measured on the accelerator `id` (on all of them: None); empty when nobody's figure is known."""
    return tuple(row for row in _achieved() if id in (None, row.id))


def once_said(id: str) -> tuple[Said, ...]:
    """Figures said of the accelerator `id` that are not its own."""
    return tuple(said for said in _said() if said.id == id)


@cache
def _said() -> tuple[Said, ...]:
    return _rows(Said, "once_said.toml", "said")


@cache
def _achieved() -> tuple[Achieved, ...]:
    import csv

    rows: list[Achieved] = []
    with (DATA / "achievable.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            given = {k: float(v) if k in ("value", "peak_used") else v for k, v in row.items() if v}
            rows.append(decode(Achieved, given, f"achievable.csv, line {number}"))
    return tuple(rows)


def _rows(kind: type[T], name: str, table: str) -> tuple[T, ...]:
    rows = toml((DATA / name).read_text(encoding="utf-8"), name)[table]
    return decode(tuple[kind, ...], rows, name)  # type: ignore[valid-type]
