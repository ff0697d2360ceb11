"""The device query of a GPU: what the driver prints, and every reason to doubt it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

from rooflens.catalogue import accelerator
from rooflens.errors import RooflensError
from rooflens.measure.backends import host
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_nvml import MEGA, Nvml, topology
from rooflens.measure.backends.cuda_peers import Peers
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Cache, Device

MOST_NVLINKS = 18


def query(card: Card, nvml: Nvml, peers: Peers) -> Device:
    """Everything about the card that a figure may depend on."""
    cp = card.cp
    properties = cp.cuda.runtime.getDeviceProperties(card.index)
    limit = nvml.ask("DeviceGetEnforcedPowerLimit")
    clock = nvml.ask("DeviceGetMaxClockInfo", nvml.constant("CLOCK_SM"))
    ecc = nvml.ask("DeviceGetEccMode")
    virtual = host.virtualised()
    return Device(
        name=_text(properties["name"]),
        kind="gpu",
        cores=card.units,
        memory_bytes=float(properties["totalGlobalMem"]),
        clock_limit_hz=clock and clock * MEGA,
        caches=(
            Cache("shared", card.shared_bytes, card.units, addressed=True),
            Cache("L2", float(card.cache_bytes)),
        ),
        virtualised=virtual,
        hypervisor=host.hypervisor() if virtual else None,
        blas="cuBLASLt",
        system=platform.platform(),
        driver=_text(nvml.general("SystemGetDriverVersion")),
        runtime=_cuda_version(cp.cuda.runtime.runtimeGetVersion()),
        compute_capability=f"{properties['major']}.{properties['minor']}",
        power_limit_w=limit and limit / 1e3,
        ecc=bool(ecc[0]) if ecc else None,
        details=dict((*_details(card, nvml), *_links(nvml, peers))),
        distrust=tuple(_distrust(nvml, virtual=virtual)),
    )


def spec_peaks(device: Device) -> tuple[Ceiling, ...]:
    """The datasheet's dense peaks and bandwidth of this device; none for a device the catalogue does not know."""
    try:
        known = accelerator(device.name, device.memory_bytes)
    except RooflensError:
        return ()
    compute = [
        Ceiling(f"compute/{path}/{dtype}/datasheet", "compute", rate, "spec", dtype=dtype, path=path, source=known.id)
        for path, rates in known.peaks.items()
        for dtype, rate in rates.items()
        if rate
    ]
    bandwidth = known.memory.bandwidth_bytes_per_s
    main = Ceiling("memory/main/datasheet", "memory", bandwidth or 0.0, "spec", level="main", source=known.id)
    return (*compute, *([main] if bandwidth else []))


def _details(card: Card, nvml: Nvml) -> Iterator[tuple[str, str]]:
    """Facts as the driver gives them, by name."""
    yield "multiprocessors", str(card.units)
    for name, clock in (("sm", "CLOCK_SM"), ("memory", "CLOCK_MEM")):
        now, most = (
            nvml.ask(f"DeviceGet{which}ClockInfo" if which else "DeviceGetClockInfo", nvml.constant(clock))
            for which in ("", "Max")
        )
        yield f"{name}_clock_mhz", f"{now} now, {most} at most"
    pcie = {
        "generation": (nvml.ask("DeviceGetCurrPcieLinkGeneration"), nvml.ask("DeviceGetMaxPcieLinkGeneration")),
        "width": (nvml.ask("DeviceGetCurrPcieLinkWidth"), nvml.ask("DeviceGetMaxPcieLinkWidth")),
    }
    for name, (now, most) in pcie.items():
        yield f"pcie_{name}", f"{now} now, {most} at most"
    default = nvml.ask("DeviceGetPowerManagementDefaultLimit")
    yield "default_power_limit_w", str(default and default / 1e3)
    mig = nvml.ask("DeviceGetMigMode")
    yield "mig", "on" if mig and mig[0] else "off"
    mode = nvml.ask("DeviceGetVirtualizationMode")
    yield "virtualisation_mode", {0: "none", 1: "pass-through", 2: "vGPU"}.get(mode, str(mode))
    yield "other_processes", "; ".join(nvml.others()) or "none"
    yield "topology", topology()


def _links(nvml: Nvml, peers: Peers) -> Iterator[tuple[str, str]]:
    """NVLinks of this card, what each carries, and how each other card is reached."""
    up, known = _nvlinks(nvml)
    yield "nvlinks", f"{up} of {known} up"
    speed = nvml.field("FI_DEV_NVLINK_SPEED_MBPS_COMMON")
    if up and speed:
        yield "nvlink_bytes_per_s", f"{speed * MEGA:g} each way a link"
    for other in peers.others():
        yield f"to_cuda:{other}", peers.level(other)


def _nvlinks(nvml: Nvml) -> tuple[int, int]:
    """(up, known to the driver)."""
    states = [nvml.ask("DeviceGetNvLinkState", i) for i in range(MOST_NVLINKS)]
    return sum(1 for s in states if s), sum(1 for s in states if s is not None)


def _distrust(nvml: Nvml, *, virtual: bool | None) -> Iterator[str]:
    if nvml.why_not:
        yield nvml.why_not
    mig = nvml.ask("DeviceGetMigMode")
    if mig and mig[0]:
        yield "MIG is on: this is a slice of the card, and the datasheet is that of the whole"
    held = nvml.look().held()
    if held:
        yield f"throttled before anything ran: {', '.join(held)}"
    limit, default = nvml.ask("DeviceGetEnforcedPowerLimit"), nvml.ask("DeviceGetPowerManagementDefaultLimit")
    if limit and default and limit < default:
        yield f"the power limit is {limit / 1e3:.0f} W, not the default {default / 1e3:.0f} W"
    for what in ("Generation", "Width"):
        now, most = nvml.ask(f"DeviceGetCurrPcieLink{what}"), nvml.ask(f"DeviceGetMaxPcieLink{what}")
        if now and most and now < most:
            yield f"PCIe {what.lower()} {now} of {most}: transfers from the host may be slow (or the link sleeps)"
    up, known = _nvlinks(nvml)
    if up < known:
        yield f"{up} of {known} NVLinks are up"
    if virtual:
        yield "virtual machine: other cards of this host may share its power, cooling and PCIe"
    yield from nvml.others()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _cuda_version(number: int) -> str:
    return f"CUDA {number // 1000}.{number % 1000 // 10}"
