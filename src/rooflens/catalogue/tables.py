"""The smaller tables of the catalogue: rates of architectures and instruction sets, measurements, sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rooflens.records import quantity


@dataclass(frozen=True, slots=True)
class ArchRate:
    """Dense operations a clock and unit (SM, CU, Xe-core) of one architecture variant, by dtype; 0: no such path."""

    key: str
    unit: str
    compute_capability: str | None = None
    smem_per_unit_bytes: float | None = quantity("B", None)
    registers_per_unit_bytes: float | None = quantity("B", None)
    vector: dict[str, float] = field(default_factory=dict)
    matrix: dict[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class IsaRate:
    """Operations a cycle and core of one CPU instruction set, by dtype."""

    key: str
    description: str
    rates: dict[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact comes from."""

    key: str
    what: str
    where: str | None = None
    read: str | None = None
