"""A node, judged: every rule over what was read, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflens.catalogue import Accelerator, accelerator
from rooflens.errors import Unknown
from rooflens.health.devices import LOAD, SAME, device
from rooflens.health.record import SEVERITIES, Finding, Route
from rooflens.health.routes import best, route
from rooflens.health.sentences import finding
from rooflens.health.topology import grouped, topology
from rooflens.roofline.node import Gpu, Host, Node, Sample
from rooflens.units import percent, show, show_binary


def chips_of(node: Node, on: Accelerator | None = None) -> dict[int, Accelerator]:
    """What the catalogue knows of each device, by the name that its driver prints; `on` is what all of them are."""
    found: dict[int, Accelerator] = {}
    for gpu in node.gpus or ():
        try:
            chip = on or (accelerator(gpu.name, gpu.memory_bytes) if gpu.name else None)
        except Unknown:
            continue
        if chip:
            found[gpu.index] = chip
    return found


def judged(node: Node, chips: Mapping[int, Accelerator], tp: int | None) -> tuple[Finding, ...]:
    """All findings, worst first; alike ones of several devices as one."""
    found = grouped([*_whole(node, chips), *topology(node, chips, tp), *_devices(node, chips), *_host(node.host)])
    return tuple(sorted(found, key=lambda one: SEVERITIES.index(one.severity)))


def routes(node: Node, chips: Mapping[int, Accelerator], tp: int | None) -> tuple[Route, ...]:
    """What a group of tp devices takes, by lowest numbers and the best one; of all devices where no tp is meant."""
    every = [gpu.index for gpu in node.gpus or ()]
    size = tp or len(every)
    if size < 2 or len(every) < size or not node.links:
        return ()
    mine, better = route(node, chips, every[:size]), best(node, chips, size)
    return (mine,) if better is None or (better.kind, better.links) == (mine.kind, mine.links) else (mine, better)


def _whole(node: Node, chips: Mapping[int, Accelerator]) -> Iterator[Finding]:
    """About the node as one."""
    if node.gpus == ():
        yield finding("none")
    names = list(dict.fromkeys(gpu.name for gpu in node.gpus or () if gpu.name))
    if len(names) > 1:
        yield finding("mixed", names=", ".join(names[:6]))
    for gpu in node.gpus or ():
        if gpu.name and gpu.index not in chips:
            yield finding("chip_unknown", [gpu.index], name=gpu.name)


def _devices(node: Node, chips: Mapping[int, Accelerator]) -> Iterator[Finding]:
    for gpu in node.gpus or ():
        found = [*device(gpu, chips.get(gpu.index)), *_samples(gpu, node.samples)]
        yield from found
        if (
            gpu.reasons is not None
            and {*gpu.reasons} <= {"idle"}
            and all(one.severity in ("note", "ok") for one in found)
        ):
            yield finding("quiet", [gpu.index])


def _samples(gpu: Gpu, every: tuple[Sample, ...]) -> Iterator[Finding]:
    mine = [sample for sample in every if sample.index == gpu.index]
    if not mine:
        return
    used = [sample for sample in mine if (sample.busy_share or 0) >= LOAD]
    held = [sample for sample in used if sample.held_share]
    hot = [sample for sample in mine if sample.hot]
    errors = max((sample.errors or 0 for sample in mine), default=0)
    if held:
        clocks = [sample.sm_hz for sample in held if sample.sm_hz]
        figures = {"lowest_sm_hz": (min(clocks),)} if clocks else {}
        yield finding("samples_held", [gpu.index], figures, count=len(held), all=len(used))
    if hot:
        yield finding("samples_hot", [gpu.index], count=len(hot), all=len(mine))
    if errors:
        yield finding("samples_ecc", [gpu.index], count=errors)
    if all(sample.busy_share is None for sample in mine) and "busy_share" not in gpu.absent:
        yield finding("no_busy", [gpu.index])
    elif used and gpu.busy_share is None:
        most = max(sample.busy_share or 0.0 for sample in used)
        yield finding("busy", [gpu.index], share=percent(most))


def _host(host: Host) -> Iterator[Finding]:
    slow = [m for m in host.modules if m.transfers_per_s and m.rated_transfers_per_s]
    lost = [m for m in slow if (m.transfers_per_s or 0) < SAME * (m.rated_transfers_per_s or 0)]
    if lost:
        now, rated = lost[0].transfers_per_s or 0.0, lost[0].rated_transfers_per_s or 1.0
        yield finding("memory_speed", speed=_speed(now), all=_speed(rated), share=percent(now / rated))
    kinds = {(m.transfers_per_s, m.data_bits) for m in host.modules}
    if len(kinds) == 1:
        speed, bits = kinds.pop()
        if speed and bits:
            rate = show(len(host.modules) * speed * bits / 8, "B/s")
            yield finding("memory_roof", count=len(host.modules), speed=_speed(speed), bits=bits, rate=rate)
    if host.slots and host.modules and host.slots > len(host.modules):
        yield finding("memory_slots", count=host.slots - len(host.modules), all=host.slots)
    if host.hypervisor and host.cpu and not any(c.isdigit() for c in host.cpu.replace("(R)", "")):
        yield finding("cpu_hidden", cpu=host.cpu)
    if host.hypervisor and host.l3_bytes:
        yield finding("cpu_cache", bytes=show_binary(host.l3_bytes))
    if host.numa_nodes and host.numa_nodes > 1:
        yield finding("numa", count=host.numa_nodes)


def _speed(transfers_per_s: float) -> str:
    return f"{transfers_per_s / 1e6:g} MT/s"
