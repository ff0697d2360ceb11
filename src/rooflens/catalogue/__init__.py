"""Facts about accelerators, each with its source: dense peaks, memories, links, power, and what others measured."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rooflens.catalogue.names import Ambiguous, accelerator, built_alike
from rooflens.catalogue.record import NETWORK_BYTES_PER_S, Accelerator, one_device
from rooflens.catalogue.store import accelerator_from_toml, accelerators

if TYPE_CHECKING:
    from rooflens.catalogue.derive import derive_peak, derived_peaks
    from rooflens.catalogue.ladder import Rung, ladder
    from rooflens.catalogue.tables import (
        Achieved,
        ArchRate,
        IsaRate,
        Said,
        Source,
        achievable,
        arch_rates,
        cpu_isa_rates,
        once_said,
        source,
        sources,
    )

__all__ = [
    "NETWORK_BYTES_PER_S",
    "Accelerator",
    "Achieved",
    "Ambiguous",
    "ArchRate",
    "IsaRate",
    "Rung",
    "Said",
    "Source",
    "accelerator",
    "accelerator_from_toml",
    "accelerators",
    "achievable",
    "arch_rates",
    "built_alike",
    "cpu_isa_rates",
    "derive_peak",
    "derived_peaks",
    "ladder",
    "once_said",
    "one_device",
    "source",
    "sources",
]


def __getattr__(name: str) -> Any:
    """The smaller tables and what is derived from them, loaded when first asked for: naming a chip needs neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = {"derive_peak": "derive", "derived_peaks": "derive", "Rung": "ladder", "ladder": "ladder"}.get(
        name, "tables"
    )
    module = import_module(f"{__name__}.{home}")
    if home == "ladder":  # a module and a function of it: the function is what is asked for
        globals()[home] = module.ladder
    found = getattr(module, name)
    globals()[name] = found
    return found
