"""Single wires: what one NVLink and one lane of PCIe carry in one direction, and how many a chip has."""

from __future__ import annotations

import re

from rooflens.catalogue import Accelerator

_NVLINK = {1: 20e9, 2: 25e9, 3: 25e9, 4: 25e9, 5: 50e9, 6: 100e9}  # B/s by generation, as NVIDIA states them
_GA102 = "8.6", 14.0625e9  # its NVLinks are of the third generation and slower
_LANE = {1: 0.25e9, 2: 0.5e9, 3: 8e9 * 128 / 130 / 8, 4: 16e9 * 128 / 130 / 8, 5: 32e9 * 128 / 130 / 8, 6: 121e9 / 16}


def link_bytes_per_s(chip: Accelerator) -> float | None:
    """Byte/s of one of its scale-up links in one direction; None where that is not known."""
    total, kind = chip.scale_up.bytes_per_s_per_direction, chip.scale_up.kind or ""
    nvlink, xgmi = re.match(r"NVLink(\d)", kind), re.match(r"xGMI \((\d+)", kind)
    if nvlink:
        return _GA102[1] if chip.compute_capability == _GA102[0] else _NVLINK.get(int(nvlink[1]))
    return total / int(xgmi[1]) if xgmi and total else None


def links(chip: Accelerator) -> int | None:
    """How many scale-up links it has: its rate over that of one; None where that is not known."""
    total, each = chip.scale_up.bytes_per_s_per_direction, link_bytes_per_s(chip)
    return round(total / each) if total and each else None


def bridged(chip: Accelerator) -> bool:
    """Whether its links need a bridge that may not be there."""
    return "bridge" in (chip.scale_up.kind or "")


def pcie_bytes_per_s(gen: int | None, lanes: int | None) -> float | None:
    """Byte/s in one direction: lanes x GT/s x encoding / 8; None where either is not known."""
    return lanes * _LANE[gen] if gen in _LANE and lanes else None
