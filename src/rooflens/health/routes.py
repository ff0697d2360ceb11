"""How a group of devices talks: over NVLink where that joins them, else over the slowest path between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from rooflens.catalogue import Accelerator
from rooflens.health.record import Route
from rooflens.roofline.node import LINK_KINDS, Gpu, LinkKind, Node, NvlinkPort
from rooflens.roofline.wires import link_bytes_per_s, links, pcie_bytes_per_s
from rooflens.samples import median

Chips = Mapping[int, Accelerator]
FABRIC: tuple[LinkKind, ...] = ("NVLink", "XGMI")
MOST_TRIED = 20_000
MOST_LINKS = 18  # of any chip so far: more than these to all peers together are a switch's
_LARGEST_RING = 10


def route(node: Node, chips: Chips, gpus: Sequence[int]) -> Route:
    """The route of this group. NVLink wants a way round over NVLink alone; its links are those to the others.

    Behind a switch each pair shows all links of a device, in a mesh a part of them: no device has more than its chip.
    """
    pairs = list(combinations(sorted(gpus), 2))
    kinds: list[LinkKind] = [found.kind if (found := node.link(*pair)) else "unknown" for pair in pairs]
    worst: LinkKind = max(kinds, key=LINK_KINDS.index) if kinds else "unknown"
    if worst not in FABRIC and "NVLink" in kinds and _ringed(node, gpus):
        worst = "NVLink"
    if worst in FABRIC:
        return _by_links(node, chips, gpus, worst)
    return Route(tuple(gpus), worst, None, _least([_pcie(gpu, chips) for gpu in node.gpus or () if gpu.index in gpus]))


def _by_links(node: Node, chips: Chips, gpus: Sequence[int], kind: LinkKind) -> Route:
    """Links x the rate of one, of the device that has the least."""
    others = len(gpus) - 1
    counts = {g: linked(node, chips, g, gpus) if kind == "NVLink" else _xgmi(chips.get(g), others) for g in gpus}
    ports = {gpu.index: gpu.ports or () for gpu in node.gpus or ()}
    each = {gpu: _link_bytes_per_s(chips.get(gpu), ports.get(gpu, ())) for gpu in gpus}
    rates = [count * rate if count and (rate := each[gpu]) else None for gpu, count in counts.items()]
    return Route(tuple(gpus), kind, min(counts.values()), _least(rates))


def _link_bytes_per_s(chip: Accelerator | None, ports: Sequence[NvlinkPort]) -> float | None:
    """Byte/s of one link: as its maker states it, else as the tools show those that are up."""
    up = [port.bytes_per_s for port in ports if port.bytes_per_s]
    return (link_bytes_per_s(chip) if chip else None) or (median(up) if up else None)


def _least(rates: Sequence[float | None]) -> float | None:
    """The slowest; None where one is not known."""
    known = [rate for rate in rates if rate is not None]
    return min(known) if known and len(known) == len(rates) else None


def linked(node: Node, chips: Chips, gpu: int, gpus: Sequence[int]) -> int:
    """NVLinks of a device to the others of its group."""
    counts = [found.count or 0 for other in gpus if other != gpu and (found := node.link(gpu, other))]
    most = links(chips[gpu]) if gpu in chips else None
    everywhere = sum(link.count or 0 for link in node.links if gpu in (link.a, link.b))
    if everywhere > (most or MOST_LINKS):
        return min(most or MOST_LINKS, max(counts, default=0))
    return sum(counts)


def _xgmi(chip: Accelerator | None, others: int) -> int:
    """XGMI links of a device to the others of its group: one to each, up to what its chip has."""
    most = links(chip) if chip else None
    return others if most is None else min(others, most)


def best(node: Node, chips: Chips, size: int) -> Route | None:
    """The best group of this size: the nearest kind, then the most links, then the lowest numbers; None of too few."""
    every = [gpu.index for gpu in node.gpus or ()]
    if len(every) < size or size < 2 or not node.links:
        return None
    found: Route | None = None
    for tried, group in enumerate(combinations(every, size)):
        if tried > MOST_TRIED:
            break
        new = route(node, chips, group)
        if found is None or _rank(new) < _rank(found):
            found = new
    return found


def islands(node: Node) -> list[tuple[int, ...]]:
    """Groups that NVLink or XGMI joins, by their lowest number."""
    left = [gpu.index for gpu in node.gpus or ()]
    found = []
    while left:
        group, edge = {left[0]}, [left[0]]
        while edge:
            here = edge.pop()
            near = {b for b in left if b not in group and (link := node.link(here, b)) and link.kind in FABRIC}
            group |= near
            edge.extend(near)
        found.append(tuple(sorted(group)))
        left = [index for index in left if index not in group]
    return found


def _rank(one: Route) -> tuple[int, int]:
    return LINK_KINDS.index(one.kind), -(one.links or 0)


def _pcie(gpu: Gpu, chips: Chips) -> float | None:
    """What its PCIe carries: the lanes as they are, the generation at most, since idle links are slow on purpose."""
    link = gpu.pcie
    found = pcie_bytes_per_s(link.max_gen or link.gen, link.width or link.max_width)
    chip = chips.get(gpu.index)
    return found or (chip.pcie.bytes_per_s_per_direction if chip else None)


def _ringed(node: Node, gpus: Sequence[int]) -> bool:
    """Whether NVLink leads round all of them."""
    if not 2 < len(gpus) <= _LARGEST_RING:
        return False
    first = gpus[0]

    def near(a: int, b: int) -> bool:
        found = node.link(a, b)
        return found is not None and found.kind == "NVLink"

    def round_from(here: int, left: frozenset[int]) -> bool:
        if not left:
            return near(here, first)
        return any(round_from(there, left - {there}) for there in left if near(here, there))

    return round_from(first, frozenset(gpus[1:]))
