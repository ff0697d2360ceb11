"""Facts about accelerators, each with its source: dense peaks, memories, links, power, and what others measured."""

from __future__ import annotations

from rooflens.catalogue.derive import derive_peak, derived_peaks
from rooflens.catalogue.ladder import Rung, ladder
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
    "Rung",
    "Source",
    "accelerator",
    "accelerator_from_toml",
    "accelerators",
    "achievable",
    "arch_rates",
    "cpu_isa_rates",
    "derive_peak",
    "derived_peaks",
    "ladder",
    "one_device",
    "source",
    "sources",
]
