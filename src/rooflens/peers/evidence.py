"""What a device may be slow by: a row a cause, with all that speaks for it.

The rows stand by precedence: a sentence with words of two causes is of the upper one.
"""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.records import record

ON_CHIP = frozenset({"fresh", "settled", "cache", "launch"})
EVERYTHING = ON_CHIP | {"memory", "pcie", "link"}


@record
class Evidence:
    """What speaks for a cause.

    slows: the parts of a device (`part`) that it can slow. rules: findings of the doctor. words: in what a driver or a
    gate says. alone: the part that looks like this where nothing else is behind and nobody says why.
    """

    slows: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    alone: str | None = None


EVIDENCE: Mapping[str, Evidence] = {
    "heat": Evidence(ON_CHIP | {"memory"}, ("hot", "slowed", "was_slowed", "samples_hot"), ("thermal",)),
    "power": Evidence(
        ON_CHIP | {"memory"},
        ("power_low", "power_held", "brake", "samples_held"),
        ("power limit is", "power cap", "power brake"),
        "settled",
    ),
    "clock": Evidence(ON_CHIP, ("app_clocks", "clock_low", "sync_boost"), ("application clocks",), "fresh"),
    "memory": Evidence(
        frozenset({"memory"}),
        ("ecc_now", "samples_ecc", "ecc_fixed", "replaced", "repair", "no_repair", "memory_clock"),
        alone="memory",
    ),
    "pcie": Evidence(
        frozenset({"pcie"}), ("pcie_narrow", "pcie_narrow_idle", "pcie_slow", "pcie_slot"), ("PCIe",), "pcie"
    ),
    "nvlink": Evidence(
        frozenset({"link"}),
        ("port_down", "ports_down", "port_slow", "fabric", "nvlink_fewer", "nvlink_uneven", "nvlink_lost",
         "nvlink_none"),
        ("NVLinks are up",),
        "link",
    ),
    "contention": Evidence(EVERYTHING, ("processes", "hidden_process"), ("process", "contention")),
    "wrong": Evidence(),
    "unknown": Evidence(alone="cache"),
}  # fmt: skip


def part(id: str) -> str:
    """What of a device a figure is about."""
    head, _, rest = id.partition("/")
    if head == "compute":
        return "settled" if rest.endswith("sustained") else "fresh"
    if head == "memory":
        return "memory" if rest.startswith("main") else "cache"
    if head == "launch":
        return "launch"
    return "pcie" if rest.startswith("pcie") else "link"


def cause_of(rule: str) -> str:
    """The cause that a rule of the doctor speaks of."""
    return next((cause for cause, row in EVIDENCE.items() if rule in row.rules), "unknown")


def worded(text: str | None) -> str | None:
    """The cause that a sentence speaks of, if any."""
    return next((cause for cause, row in EVIDENCE.items() if text and any(word in text for word in row.words)), None)


def looks_like(name: str) -> str:
    """The cause that is meant where this part alone is behind."""
    return next((cause for cause, row in EVIDENCE.items() if row.alone == name), "unknown")
