"""The memory ladder: what a byte costs on each rung from the registers to the network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rooflens.catalogue.record import GPU_UNITS, NETWORK_BYTES_PER_S, Accelerator, Origin
from rooflens.records import record, replace

SMEM_BYTES_PER_CLOCK = 128  # an NVIDIA SM reads 32 banks of 4 bytes a clock


@record
class Rung:
    """One kind of memory or link. `cost_of_a_byte`: how many times the time of a byte on the rung above.

    Bandwidth counts one direction for links. None is not known: no typical value stands in for it.
    """

    name: str
    capacity_bytes: float | None
    bandwidth_bytes_per_s: float | None
    origin: Origin | None
    note: str
    cost_of_a_byte: float | None = None


def ladder(known: Accelerator) -> tuple[Rung, ...]:
    """The rungs of one accelerator, fastest first, each with its cost against the rung above."""
    return tuple(_costed(_rungs(known)))


def _rungs(known: Accelerator) -> Iterable[Rung]:
    chip, stated = known.on_chip, known.origin
    yield Rung("registers", chip.registers_bytes, None, None, "bandwidth not known until measured")
    if known.unit_kind in GPU_UNITS:
        yield _shared_memory(known)
    yield Rung("L2", chip.l2_bytes, None, None, "bandwidth not known until measured")
    if chip.llc_bytes is not None:
        yield Rung("last-level cache", chip.llc_bytes, None, None, "bandwidth not known until measured")
    memory = known.memory
    kind = memory.kind or "kind not known"
    yield _stated("main memory", memory.capacity_bytes, memory.bandwidth_bytes_per_s, stated, kind)
    link = known.scale_up
    yield _stated("scale-up link", None, link.bytes_per_s_per_direction, stated, _way(link.kind))
    pcie = known.pcie
    lanes = f"PCIe {pcie.gen} x{pcie.lanes}" if pcie.gen is not None and pcie.lanes is not None else None
    yield _stated("PCIe", None, pcie.bytes_per_s_per_direction, stated, _way(lanes))
    note = "assumed: one 400 Gb/s port, one direction; the catalogue does not know the network"
    yield Rung("network", None, NETWORK_BYTES_PER_S, "assumed", note)


def _shared_memory(known: Accelerator) -> Rung:
    each, units, clock = known.on_chip.smem_per_unit_bytes, known.unit_count, known.boost_clock_hz
    capacity = each * units if each is not None and units is not None else None
    if known.unit_kind != "SM" or units is None or clock is None:
        return Rung("shared memory", capacity, None, None, "bandwidth not known until measured")
    note = f"{SMEM_BYTES_PER_CLOCK} B a clock and SM x {units} SMs x {clock / 1e6:g} MHz boost"
    return Rung("shared memory", capacity, SMEM_BYTES_PER_CLOCK * units * clock, "derived", note)


def _stated(
    name: str, capacity: float | None, bandwidth: float | None, origin: Literal["spec", "derived", "assumed"], note: str
) -> Rung:
    if bandwidth is None:
        return Rung(name, capacity, None, None, f"{note}; bandwidth not known")
    if bandwidth == 0:
        return Rung(name, capacity, bandwidth, origin, f"{note}; no such path")
    return Rung(name, capacity, bandwidth, origin, note)


def _way(kind: str | None) -> str:
    return "none stated" if kind is None else f"{kind}, one direction"


def _costed(rungs: Iterable[Rung]) -> Iterable[Rung]:
    above: float | None = None
    for rung in rungs:
        mine = rung.bandwidth_bytes_per_s
        yield replace(rung, cost_of_a_byte=above / mine) if above is not None and mine else rung
        above = mine
