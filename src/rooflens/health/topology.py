"""Rules about how devices are linked: to each other, to network cards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rooflens.health.record import Finding, Route
from rooflens.health.routes import FABRIC, Chips, best, islands, linked, route
from rooflens.health.sentences import finding, numbers
from rooflens.records import replace
from rooflens.roofline.node import LINK_KINDS, ON_THE_HOST, Gpu, LinkKind, Node
from rooflens.roofline.wires import bridged, links
from rooflens.units import show

_SAME = 0.01  # rates of links that differ by less are one
_CROSSING = 3  # hops, as ROCm counts them
_BRIDGED = 2  # devices that a bridge joins, most often
_FIRST_JUDGED = 3  # generation of NVLink from which all links of a device lead to devices of its kind


def topology(node: Node, chips: Chips, tp: int | None) -> Iterator[Finding]:
    """All of them. tp: devices of a tensor-parallel group, None where none is meant."""
    gpus = node.gpus or ()
    for gpu in gpus:
        yield from _ports(gpu, chips)
    if len(gpus) < 2:
        return
    kinds = {link.kind for link in node.links} - {"unknown"}
    yield from _machine(node)
    yield from _peers(node)
    if not kinds:
        yield finding("no_topology", count=len(gpus))
        return
    yield from _fabric(node, chips) if kinds & {*FABRIC} else _no_fabric(node, chips, kinds)
    if tp is not None and tp > 1:
        yield from _group(node, chips, tp)
    yield from _cards(node)


def grouped(found: Iterable[Finding]) -> list[Finding]:
    """Findings that differ only in their device as one, its figures one after another."""
    out: dict[tuple[object, ...], Finding] = {}
    for one in found:
        alike = re.sub(r"^GPU [\d, -]+:", "GPU :", one.what)
        key = (one.rule, one.severity, alike, one.cost, one.next)
        if key not in out or not one.gpus:
            out[(*key, len(out)) if key in out else key] = one
            continue
        old = out[key]
        gpus = (*old.gpus, *one.gpus)
        figures = {name: (*values, *one.figures.get(name, ())) for name, values in old.figures.items()}
        out[key] = replace(old, gpus=gpus, what=f"GPU {numbers(gpus)}:{alike[5:]}", figures=figures)
    return list(out.values())


def _fabric(node: Node, chips: Chips) -> Iterator[Finding]:
    """NVLink or XGMI is there: how much of it."""
    every = islands(node)
    for group in every:
        yield from _joined(node, chips, group) if len(group) > 1 else _alone(node, chips, group[0], every)
    if len(every) > 1 and any(len(group) > 1 for group in every):
        yield finding("islands", islands=" | ".join(numbers(group) for group in every))
    for index in {index for link in node.links if link.kind == "NVLink" for index in (link.a, link.b)}:
        if index in chips and not links(chips[index]):
            yield finding("nvlink_stranger", [index], chip=chips[index].name)


def _joined(node: Node, chips: Chips, group: tuple[int, ...]) -> Iterator[Finding]:
    """One island: each device against its chip, or else against the others."""
    found = route(node, chips, group)
    if found.kind == "XGMI":
        yield finding("xgmi", group, {"links": (found.links or 0,)})
        return
    counts = {gpu: linked(node, chips, gpu, group) for gpu in group}
    short = [gpu for gpu in group if _short(chips, gpu, counts[gpu], max(counts.values()))]
    for gpu in short:
        yield _fewer(node, chips, gpu, counts)
    whole = [gpu for gpu in group if gpu not in short]
    if whole and len(set(counts.values())) == 1 and found.kind == "NVLink":
        values: dict[str, Any] = {"links": found.links}
        figures = {"links": (found.links or 0,)}
        if found.bytes_per_s is None:
            yield finding("nvlink_bare", whole, figures, **values)
        else:
            yield finding("nvlink", whole, figures, rate=show(found.bytes_per_s, "B/s"), **values)


def _alone(node: Node, chips: Chips, gpu: int, every: list[tuple[int, ...]]) -> Iterator[Finding]:
    """A device without NVLink beside others that have it: a fault where its chip's must all lead somewhere.

    Nothing where it may be so: bridges join some devices, MIG takes NVLink away, and another chip may have none.
    """
    largest = max(every, key=len)
    mig = any(one.mig for one in node.gpus or () if one.index == gpu)
    if mig or route(node, chips, largest).kind != "NVLink" or (gpu not in chips and len(largest) <= _BRIDGED):
        return
    if gpu in chips and not _judged(chips, gpu):
        return
    there = route(node, chips, [largest[0], gpu]).bytes_per_s
    whole = chips[gpu].scale_up.bytes_per_s_per_direction if gpu in chips else None
    times = _times(whole, there) if whole and there else None
    most = max(linked(node, chips, other, largest) for other in largest)
    found = finding("nvlink_lost", [gpu], {"links": (0,)}, all=most, times=times)
    yield found if gpu in chips else replace(found, severity="warning")


def _short(chips: Chips, gpu: int, count: int, most: int) -> bool:
    return count < most or (_judged(chips, gpu) and count < (links(chips[gpu]) or 0))


def _judged(chips: Chips, gpu: int) -> bool:
    """Whether all NVLinks of this device must lead somewhere: not by a bridge, not partly to a processor."""
    if gpu not in chips or bridged(chips[gpu]):
        return False
    generation = re.match(r"NVLink(\d)", chips[gpu].scale_up.kind or "")
    return bool(generation) and int(generation[1]) >= _FIRST_JUDGED if generation else False


def _fewer(node: Node, chips: Chips, gpu: int, counts: Mapping[int, int]) -> Finding:
    count, most = counts[gpu], max(counts.values())
    figures = {"links": (count,)}
    if not _judged(chips, gpu):
        return finding("nvlink_uneven", [gpu], figures, links=count, all=most, times=_times(most, count))
    full = links(chips[gpu]) or most
    each = {link.count for link in node.links if gpu in (link.a, link.b) and link.kind == "NVLink"}
    one = each.pop() if len(each) == 1 else None
    part = one is not None and full % one == 0 and len(counts) < full // one + 1
    rule = "nvlink_part" if part else "nvlink_fewer"
    return finding(rule, [gpu], figures, links=count, all=full, chip=chips[gpu].name, times=_times(full, count))


def _no_fabric(node: Node, chips: Chips, kinds: set[LinkKind]) -> Iterator[Finding]:
    """No NVLink is shown: because there is none, a bridge is missing, or something is down."""
    every = [gpu.index for gpu in node.gpus or ()]
    if node.hides_nvlink:
        yield finding("hidden")
        return
    owed = [gpu for gpu in every if gpu in chips and links(chips[gpu]) and "NVLink" in (chips[gpu].scale_up.kind or "")]
    bridge = [gpu for gpu in owed if bridged(chips[gpu])]
    missing = [gpu for gpu in owed if gpu not in bridge]
    for gpu in missing:
        chip, there = chips[gpu], route(node, chips, every).bytes_per_s
        whole = chip.scale_up.bytes_per_s_per_direction
        times = _times(whole, there) if there and whole else None
        yield finding("nvlink_none", [gpu], chip=chip.name, all=links(chip), times=times)
    for gpu in bridge:
        yield finding("no_bridge", [gpu], chip=chips[gpu].name)
    odd = _odd(node) if not missing and any(gpu not in chips for gpu in every) else []
    if odd:
        yield finding("all_sys", odd)
    elif not missing:
        yield finding("pcie_only", every, kind=", ".join(kind for kind in LINK_KINDS if kind in kinds))
    far = [link for link in node.links if (link.hops or 0) >= _CROSSING]
    if far:
        most = max(link.hops or 0 for link in far)
        yield finding("hops", {index for link in far for index in (link.a, link.b)}, hops=most)


def _odd(node: Node) -> list[int]:
    """Devices with a neighbour in the same NUMA node that is SYS to them, although no other path is shown there."""
    numa = {gpu.index: gpu.numa for gpu in node.gpus or () if gpu.numa and gpu.numa.isdigit()}
    if not {gpu.index for gpu in node.gpus or ()} <= {*numa}:
        return []
    same = [link for link in node.links if numa[link.a] == numa[link.b]]
    found = {index for link in same for index in (link.a, link.b)}
    return sorted(found) if same and all(link.kind == "SYS" for link in same) else []


def _group(node: Node, chips: Chips, tp: int) -> Iterator[Finding]:
    """The group that an engine takes, the lowest numbers, against the best one."""
    every = [gpu.index for gpu in node.gpus or ()]
    if len(every) < tp:
        return
    mine, better = route(node, chips, every[:tp]), best(node, chips, tp)
    if better and _nearer(better, mine):
        times = _times(better.bytes_per_s, mine.bytes_per_s) if better.bytes_per_s and mine.bytes_per_s else None
        yield finding("detour", mine.gpus, kind=_way(mine), better=",".join(map(str, better.gpus)), best=_way(better),
                      times=times)  # fmt: skip
    if mine.kind == "SYS":
        most = max(map(len, _sockets(node)))
        yield finding("sockets", mine.gpus, most=most if most > 1 else None)


def _nearer(one: Route, other: Route) -> bool:
    if one.kind != other.kind:
        return LINK_KINDS.index(one.kind) < LINK_KINDS.index(other.kind)
    return (one.links or 0) > (other.links or 0)


def _way(one: Route) -> str:
    return f"{one.links} NVLinks" if one.kind == "NVLink" else one.kind


def _sockets(node: Node) -> list[set[int]]:
    """Devices that reach each other without SYS."""
    groups: list[set[int]] = []
    for gpu in node.gpus or ():
        near = {gpu.index} | {
            b if a == gpu.index else a
            for a, b, kind in ((link.a, link.b, link.kind) for link in node.links)
            if gpu.index in (a, b) and kind != "SYS"
        }
        joined = [group for group in groups if group & near]
        groups = [group for group in groups if not group & near] + [near.union(*joined)]
    return groups


def _cards(node: Node) -> Iterator[Finding]:
    for gpu in node.gpus or ():
        kinds = [card.paths[gpu.index] for card in node.nics if card.paths.get(gpu.index, "unknown") != "unknown"]
        if kinds:
            near = min(kinds, key=LINK_KINDS.index)
            yield finding("nic_far" if near in ON_THE_HOST else "nic_near", [gpu.index], kind=near)


def _machine(node: Node) -> Iterator[Finding]:
    virtual = next((gpu.virtual for gpu in node.gpus or () if gpu.virtual in ("Pass-Through", "VGPU")), None)
    if node.host.hypervisor or virtual:
        yield finding("vm", hypervisor=node.host.hypervisor or virtual)


def _peers(node: Node) -> Iterator[Finding]:
    states = sorted({link.peers for link in node.links if link.peers not in (None, "OK")} - {None}, key=str)
    for state in states:
        gpus = {index for link in node.links if link.peers == state for index in (link.a, link.b)}
        yield finding("peers_off", gpus, state=state)


def _ports(gpu: Gpu, chips: Chips) -> Iterator[Finding]:
    ports = gpu.ports or ()
    off = [port.index for port in ports if port.bytes_per_s == 0]
    rates = sorted({port.bytes_per_s for port in ports if port.bytes_per_s})
    if ports and len(off) == len(ports):
        found = finding("ports_down", [gpu.index], all=len(ports))
        owed = gpu.index in chips and not bridged(chips[gpu.index])
        yield replace(found, severity="fault") if owed else found
    elif off:
        times = _times(len(ports), len(ports) - len(off))
        said = ", ".join(map(str, off))
        yield finding("port_down", [gpu.index], count=len(off), all=len(ports), ports=said, times=times)
    elif len(rates) == 1 and all(port.bytes_per_s for port in ports):
        total = sum(port.bytes_per_s or 0.0 for port in ports)
        yield finding("ports", [gpu.index], {"links": (len(ports),)}, all=len(ports), rate=show(total, "B/s"))
    if rates and rates[-1] > rates[0] * (1 + _SAME):
        yield finding("port_slow", [gpu.index], rates=", ".join(show(rate, "B/s") for rate in rates))
    if gpu.fabric and gpu.fabric not in ("Completed", "Success"):
        yield finding("fabric", [gpu.index], state=gpu.fabric)


def _times(whole: float, part: float) -> str | None:
    return f"{whole / part:.3g}" if part else None
