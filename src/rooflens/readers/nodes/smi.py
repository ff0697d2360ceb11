"""One device from what nvidia-smi says of it, whichever way it was asked: leaves of the XML, of the text, or columns.

Blocks repeat names (three power readings, three memories called total): a field is found by its whole path alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from rooflens.readers.nodes.cells import absent, amount, count, lost, truth
from rooflens.readers.nodes.tree import Leaf
from rooflens.roofline.node import Clocks, Errors, Gpu, HostLink, Power, Process, Reason, Slice

Value = float | int | bool | str | None
_POWER = ("gpu_power_readings", "power_readings")
_LINK, _PCIE = "pci/pci_gpu_link_info", "pci/gpu_link_info"


def _word(cell: str) -> str | None:
    return cell.strip()[:120] or None


_FIELDS: tuple[tuple[str, Callable[[str], Value], tuple[str, ...]], ...] = (
    ("name", _word, ("product_name", "name", "gpu_name")),
    ("memory_bytes", amount, ("fb_memory_usage/total", "memory.total")),
    ("used_bytes", amount, ("fb_memory_usage/used", "memory.used")),
    ("performance_state", _word, ("performance_state", "pstate")),
    ("busy_share", amount, ("utilization/gpu_util", "utilization/gpu", "utilization.gpu")),
    ("memory_busy_share", amount, ("utilization/memory_util", "utilization/memory", "utilization.memory")),
    ("temperature_c", amount, ("temperature/gpu_temp", "temperature/gpu_current_temp", "temperature.gpu")),
    ("mig", truth, ("mig_mode/current_mig", "mig_mode/current", "mig.mode.current")),
    ("fabric", _word, ("fabric/state", "fabric.state")),
    ("recovery", _word, ("gpu_recovery_action",)),
    ("virtual", _word, ("gpu_virtualization_mode/virtualization_mode",)),
    ("clocks.sm_hz", amount, ("clocks/sm_clock", "clocks/sm", "clocks.current.sm", "clocks.sm")),
    ("clocks.memory_hz", amount, ("clocks/mem_clock", "clocks/memory", "clocks.current.memory", "clocks.mem")),
    ("clocks.max_sm_hz", amount, ("max_clocks/sm_clock", "max_clocks/sm", "clocks.max.sm")),
    ("clocks.max_memory_hz", amount, ("max_clocks/mem_clock", "max_clocks/memory", "clocks.max.memory",
                                      "clocks.max.mem")),
    ("clocks.application_sm_hz", amount, ("applications_clocks/graphics_clock", "applications_clocks/graphics",
                                          "clocks.applications.graphics", "clocks.applications.gr")),
    ("clocks.default_application_sm_hz", amount, (
        "default_applications_clocks/graphics_clock", "default_applications_clocks/graphics",
        "clocks.default_applications.graphics", "clocks.default_applications.gr")),
    ("power.draw_w", amount, (*(f"{block}/{name}" for block in _POWER for name in (
        "average_power_draw", "power_draw", "instant_power_draw", "instantaneous_power_draw")), "power.draw",
        "power.draw.average", "power.draw.instant")),
    ("power.limit_w", amount, (*(f"{block}/{name}" for block in _POWER for name in (
        "current_power_limit", "power_limit", "enforced_power_limit")), "power.limit", "enforced.power.limit")),
    ("power.default_limit_w", amount, (*(f"{block}/default_power_limit" for block in _POWER), "power.default_limit")),
    ("power.max_limit_w", amount, (*(f"{block}/max_power_limit" for block in _POWER), "power.max_limit")),
    ("pcie.gen", count, (f"{_LINK}/pcie_gen/current_link_gen", f"{_PCIE}/pcie_generation/current",
                         "pcie.link.gen.current", "pcie.link.gen.gpucurrent")),
    ("pcie.max_gen", count, (f"{_LINK}/pcie_gen/max_link_gen", f"{_PCIE}/pcie_generation/max", "pcie.link.gen.max")),
    ("pcie.width", count, (f"{_LINK}/link_widths/current_link_width", f"{_PCIE}/link_width/current",
                           "pcie.link.width.current")),
    ("pcie.max_width", count, (f"{_LINK}/link_widths/max_link_width", f"{_PCIE}/link_width/max",
                               "pcie.link.width.max")),
    ("errors.ecc", truth, ("ecc_mode/current_ecc", "ecc_mode/current", "ecc.mode.current")),
    ("errors.replaced", count, ("remapped_rows/remapped_row_unc", "remapped_rows/uncorrectable_error",
                                "remapped_rows.uncorrectable", "retired_pages/double_bit_retirement/retired_count",
                                "retired_pages/double_bit_ecc", "retired_pages.double_bit.count")),
    ("errors.pending", truth, ("remapped_rows/remapped_row_pending", "remapped_rows/pending", "remapped_rows.pending",
                               "retired_pages/pending_retirement", "retired_pages/pending_page_blacklist",
                               "retired_pages.pending")),
    ("errors.failed", truth, ("remapped_rows/remapped_row_failure", "remapped_rows/remapping_failure_occurred",
                              "remapped_rows.failure")),
)  # fmt: skip
REASONS: dict[str, Reason] = {
    "gpu_idle": "idle", "idle": "idle", "applications_clocks_setting": "applications_clocks",
    "sw_power_cap": "sw_power_cap", "hw_slowdown": "hw_slowdown", "sync_boost": "sync_boost",
    "sw_thermal_slowdown": "sw_thermal", "hw_thermal_slowdown": "hw_thermal",
    "user_defined_clocks": "applications_clocks",
    "hw_power_brake_slowdown": "hw_power_brake", "display_clocks_setting": "display",
    "display_clock_setting": "display",
}  # fmt: skip
_COUNTED = {"sw_power_cap": "sw_power_cap", "sw_power_capping": "sw_power_cap", "sync_boost": "sync_boost",
            "sw_therm_slowdown": "sw_thermal", "sw_thermal_slowdown": "sw_thermal", "hw_therm_slowdown": "hw_thermal",
            "hw_thermal_slowdown": "hw_thermal", "hw_power_brake": "hw_power_brake",
            "hw_power_braking": "hw_power_brake"}  # fmt: skip
_REASON = re.compile(r"clocks_(?:event|throttle)_reasons?[/.](?:clocks_(?:event|throttle)_reason_)?"
                     r"(?:hw_slowdown/)?(?P<name>\w+)")  # fmt: skip
_COUNTER = re.compile(r"clocks_(?:event|throttle)_reasons_counters/(?:clocks_event_reasons_counters_)?(?P<name>\w+)")
_BITS: tuple[Reason, ...] = get_args(Reason)
_ECC = re.compile(r"ecc_errors/(?P<when>volatile|aggregate)/(?P<what>\w+?)(?:/(?P<part>\w+))?|"
                  r"ecc\.errors\.(?P<kind>un)?corrected\.(?P<span>volatile|aggregate)\.total")  # fmt: skip
_INSTANCE = re.compile(r"(?:mig_devices/)?mig_device#(\d+)/(.+)")
_PROCESS = re.compile(r"(?:processes/)?process_info#(\d+)/(.+)")


def gpu(index: int, leaves: Sequence[Leaf]) -> Gpu:
    """The device that these leaves (paths inside of it) are of."""
    said = dict(leaves)
    found: dict[str, Value] = {}
    gone: dict[str, str] = {}
    for name, read, places in _FIELDS:
        cells = [said[place] for place in places if place in said]
        value = next((value for cell in cells if not absent(cell) and (value := read(cell)) is not None), None)
        if value is not None:
            found[name] = value
        elif cells:
            gone[name] = next((cell for cell in cells if lost(cell)), cells[0]).strip()[:80]
    errors = {f"errors.{name}": value for name, value in _errors(leaves).items()}
    parts = _parts({**found, **errors})
    return Gpu(
        index,
        clocks=Clocks(**parts["clocks"]),
        power=Power(**parts["power"]),
        pcie=HostLink(**parts["pcie"]),
        errors=Errors(**parts["errors"]),
        reasons=_reasons(leaves),
        throttled_s=_throttled(leaves),
        slices=_slices(leaves),
        processes=_processes(leaves),
        absent=gone,
        **parts[""],
    )


def _parts(found: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    parts: dict[str, dict[str, Any]] = {name: {} for name in ("", "clocks", "power", "pcie", "errors")}
    for name, value in found.items():
        part, _, last = name.rpartition(".")
        parts[part][last] = value
    return parts


def _reasons(leaves: Sequence[Leaf]) -> tuple[Reason, ...] | None:
    """Those that are active; None where no leaf speaks of any."""
    known: dict[Reason, bool] = {}
    for path, cell in leaves:
        found = _REASON.fullmatch(path)
        if found and found["name"] == "active" and re.fullmatch(r"0x[0-9A-Fa-f]{1,16}", cell):
            mask = int(cell, 16)
            known |= {reason: bool(mask >> bit & 1) for bit, reason in enumerate(_BITS)}
        elif found and found["name"] in REASONS and (active := truth(cell)) is not None:
            known[REASONS[found["name"]]] = active
    return tuple(reason for reason in _BITS if known.get(reason)) if known else None


def _throttled(leaves: Sequence[Leaf]) -> dict[str, float]:
    found = ((_COUNTER.fullmatch(path), cell) for path, cell in leaves)
    times = {_COUNTED[m["name"]]: amount(cell) for m, cell in found if m and m["name"] in _COUNTED}
    return {name: value for name, value in times.items() if value is not None}


def _errors(leaves: Sequence[Leaf]) -> dict[str, int]:
    """Sums over all memories of a device; a total stands for its parts where the file has one."""
    sums: dict[str, dict[bool, int]] = {}
    for path, cell in leaves:
        found = _ECC.fullmatch(path)
        value = count(cell) if found else None
        if found is None or value is None:
            continue
        what = (found["what"] or "").lower()
        wrong = bool(found["kind"]) or "uncorrect" in what or "double_bit" in what
        span = found["when"] or found["span"]
        total = found["part"] == "total" or found["span"] is not None
        name = f"{'un' if wrong else ''}corrected_{span}"
        if name != "corrected_aggregate":
            both = sums.setdefault(name, {})
            both[total] = both.get(total, 0) + value
    return {name: both.get(True, both.get(False, 0)) for name, both in sums.items()}


def _grouped(leaves: Sequence[Leaf], pattern: re.Pattern[str]) -> list[dict[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    for path, cell in leaves:
        found = pattern.fullmatch(path)
        if found:
            groups.setdefault(found[1], {})[found[2]] = cell
    return list(groups.values())


def _slices(leaves: Sequence[Leaf]) -> tuple[Slice, ...] | None:
    groups = _grouped(leaves, _INSTANCE)
    if not groups:
        return () if any(path == "mig_devices" and cell == "None" for path, cell in leaves) else None
    return tuple(
        Slice(
            None,
            count(one.get("gpu_instance_id", "")),
            count(one.get("device_attributes/shared/multiprocessor_count", "")),
            amount(one.get("fb_memory_usage/total", "")),
        )
        for one in groups
    )


def _processes(leaves: Sequence[Leaf]) -> tuple[Process, ...] | None:
    found = tuple(_named(_grouped(leaves, _PROCESS)))
    if found:
        return found
    said = [cell for path, cell in leaves if path == "processes"]
    return () if any(cell in ("", "None") for cell in said) else None


def _named(groups: Sequence[Mapping[str, str]]) -> Iterator[Process]:
    for one in groups:
        name = one.get("process_name") or one.get("name") or ""
        used = one.get("used_memory") or one.get("used_gpu_memory") or ""
        yield Process(short(name), amount(used))


def short(program: str) -> str:
    """A program's name without its folder and arguments."""
    words = program.strip().split()
    return words[0].replace("\\", "/").rpartition("/")[2][:40] if words else "?"
