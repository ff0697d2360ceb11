"""Facts about accelerators, each with its source: dense peaks, memories, links, power, and what others measured."""

from __future__ import annotations

from rooflens.catalogue.names import Ambiguous, accelerator
from rooflens.catalogue.record import Accelerator, one_device
from rooflens.catalogue.store import (
    accelerator_from_toml,
    accelerators,
    achievable,
    arch_rates,
    cpu_isa_rates,
    source,
    sources,
)
from rooflens.catalogue.tables import Achieved, ArchRate, IsaRate, Source

__all__ = [
    "Accelerator",
    "Achieved",
    "Ambiguous",
    "ArchRate",
    "IsaRate",
    "Source",
    "accelerator",
    "accelerator_from_toml",
    "accelerators",
    "achievable",
    "arch_rates",
    "cpu_isa_rates",
    "one_device",
    "source",
    "sources",
]
