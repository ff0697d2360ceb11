"""What DCGM's exporter tells of devices: by the names of metrics, never their HELP, which versions word differently.

Blank values (9223372036854775794 and its like) are absent. Rates are already rates; percentages become ratios.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rooflens.roofline.scraped import Gpu, Labels, Page
from rooflens.units import percent

PREFIX = "DCGM_FI_"
MOST_GPUS = 1024
# DCGM's blanks: of 64 and 32 bit integers and of doubles, each with the few numbers after it that say why
_BLANKS = ((2**63 - 16, 2**63), (2**31 - 16, 2**31 - 1), (2**47, 2**47 + 8))
_MIB = 2.0**20
FIELDS: dict[str, tuple[str, float]] = {
    "DCGM_FI_DEV_GPU_UTIL": ("utilisation", 0.01),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("engine_active", 1.0),
    "DCGM_FI_PROF_SM_ACTIVE": ("sm_active", 1.0),
    "DCGM_FI_PROF_SM_OCCUPANCY": ("sm_occupancy", 1.0),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": ("tensor_active", 1.0),
    "DCGM_FI_PROF_DRAM_ACTIVE": ("dram_active", 1.0),
    "DCGM_FI_PROF_PCIE_TX_BYTES": ("pcie_sent_bytes_per_s", 1.0),
    "DCGM_FI_PROF_PCIE_RX_BYTES": ("pcie_received_bytes_per_s", 1.0),
    "DCGM_FI_PROF_NVLINK_TX_BYTES": ("nvlink_sent_bytes_per_s", 1.0),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": ("nvlink_received_bytes_per_s", 1.0),
    "DCGM_FI_DEV_SM_CLOCK": ("clock_hz", 1e6),
    "DCGM_FI_DEV_MEM_CLOCK": ("memory_clock_hz", 1e6),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", 1.0),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("energy_j", 1e-3),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c", 1.0),
    "DCGM_FI_DEV_MEMORY_TEMP": ("memory_temperature_c", 1.0),
    "DCGM_FI_DEV_FB_USED": ("memory_used_bytes", _MIB),
    "DCGM_FI_DEV_FB_FREE": ("memory_free_bytes", _MIB),
}
THROTTLES = {
    f"DCGM_FI_DEV_{why.upper()}_VIOLATION": why
    for why in ("power", "thermal", "sync_boost", "board_limit", "low_util", "reliability")
}  # nanoseconds
ERRORS = {
    "DCGM_FI_DEV_XID_ERRORS": "last_xid",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": "pcie_replays",
    **{
        f"DCGM_FI_DEV_NVLINK_{kind}_ERROR_COUNT_TOTAL": f"nvlink_{kind.lower()}"
        for kind in ("CRC_FLIT", "CRC_DATA", "REPLAY", "RECOVERY")
    },
}
SAMPLES = frozenset({*FIELDS, *THROTTLES, *ERRORS})


def gpus(page: Page) -> tuple[Gpu, ...]:
    """The devices of a page, in its order; slices of a device (MIG) each by itself."""
    said: dict[str, dict[str, float]] = {}
    about: dict[str, Mapping[str, str]] = {}
    for metric in sorted(SAMPLES & page.series.keys()):
        for labels, value in page.series[metric].items():
            key = _key(labels)
            if not blank(value) and (key in said or len(said) < MOST_GPUS):
                said.setdefault(key, {})[metric] = value
                about.setdefault(key, dict(labels))
    return tuple(_gpu(key, about[key], values) for key, values in sorted(said.items(), key=lambda one: _order(one[0])))


def blank(value: float) -> bool:
    """Whether DCGM means that it does not know."""
    return not math.isfinite(value) or any(low <= value <= high for low, high in _BLANKS)


def _key(labels: Labels) -> str:
    said = dict(labels)
    parts = (said.get(name) for name in ("Hostname", "gpu", "GPU_I_ID"))
    return "/".join(part for part in parts if part) or said.get("UUID", "")


def _order(key: str) -> tuple[object, ...]:
    *front, last = key.split("/")
    return (*front, f"{int(last):09d}" if last.isascii() and last.isdigit() and len(last) < 9 else last)


def _gpu(key: str, about: Mapping[str, str], values: Mapping[str, float]) -> Gpu:
    figures = {name: values[metric] * times for metric, (name, times) in FIELDS.items() if metric in values}
    return Gpu(
        key,
        about.get("modelName"),
        about.get("Hostname"),
        throttled_s={why: values[metric] * 1e-9 for metric, why in THROTTLES.items() if metric in values},
        errors={what: values[metric] for metric, what in ERRORS.items() if metric in values},
        **figures,
    )


def explained(gpu: Gpu) -> Iterator[str]:
    """Sentences about figures that are taken for what they are not."""
    if gpu.utilisation is None or gpu.utilisation < 0.5:
        return
    parts = {"tensor pipe": gpu.tensor_active, "DRAM": gpu.dram_active}
    known = [f"{name} {percent(share)}" for name, share in parts.items() if share is not None]
    if known and max(share for share in parts.values() if share is not None) < 0.5 * gpu.utilisation:
        yield (
            f"GPU {gpu.id}: busy, not efficient: a kernel was there {percent(gpu.utilisation, 2)} of the time, "
            f"{' and '.join(known)} active"
        )
