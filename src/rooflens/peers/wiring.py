"""Pairs that are behind: the fault of a device where most of its pairs are, else of the pair itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rooflens.peers.record import Standing
from rooflens.records import record
from rooflens.roofline.collective import pair_of


@record
class Wiring:
    """One node. devices: its slow ones by number, each with its slow pairs. pairs: slow by themselves."""

    devices: Mapping[int, tuple[Standing, ...]]
    pairs: tuple[Standing, ...]


def ends(of: str) -> tuple[int, int]:
    """The devices of NODE/0-1, the lower number first. Raises ValueError for another name."""
    found = pair_of(of)
    if found is None:
        raise ValueError(f"{of} is no pair of devices")
    return found


def blamed(pairs: Sequence[Standing], suspects: Sequence[int] = ()) -> Wiring:
    """Whose fault the slow pairs of one node are. suspects: devices of whose links its tools name a fault.

    A device is blamed that has at least two slow pairs and more than half of its pairs slow, or any slow pair while
    its tools accuse it. Pairs of a blamed device are explained; the others stand alone.
    """
    every = {ends(one.of) for one in pairs}
    slow = {ends(one.of) for one in pairs if one.state == "out"}
    total: dict[int, int] = defaultdict(int)
    bad: dict[int, int] = defaultdict(int)
    for pair in every:
        for device in pair:
            total[device] += 1
            bad[device] += pair in slow
    guilty = {d for d in total if (bad[d] > 1 and 2 * bad[d] > total[d]) or (bad[d] and d in suspects)}
    out = [one for one in pairs if one.state == "out"]
    devices = {d: tuple(one for one in out if d in ends(one.of)) for d in sorted(guilty)}
    alone = tuple(one for one in out if not guilty & {*ends(one.of)})
    return Wiring(devices, alone)
