"""Collectives: what one device sends and how many times it waits, by algorithm. No link and no time stands here.

With n devices, each byte of the message costs a device, in bytes sent and in steps that each wait once for the link:

| collective                    | ring                   | tree                      | one-shot     | two-shot        |
| ----------------------------- | ---------------------- | ------------------------- | ------------ | --------------- |
| all-reduce                    | 2 (n-1)/n, 2 (n-1)     | 2, 2 ceil(log2 n)         | n - 1, 1     | 2 (n-1)/n, 2    |
| all-gather and reduce-scatter | (n-1)/n, n - 1         | (n-1)/n, ceil(log2 n)     | (n-1)/n, 1   |                 |
| all-to-all                    | (n-1)/n, n - 1         | ceil(log2 n)/2, ceil(log2 n) | (n-1)/n, 1 |                |
| send                          |                        |                           | 1, 1         |                 |

One-shot: every device reads all others at once; two-shot: the same for each half of an all-reduce. The message is what
is reduced, what each holds when all is gathered or before it is scattered, and what one device has for all.
Not counted: sums made inside the switches (which need half the bytes), protocols that send flags beside the data.
Sources: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005);
Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan" (2009).
"""

from __future__ import annotations

import math

from rooflens.operators.experts import ranks_touched
from rooflens.operators.rows import Collective as Name
from rooflens.records import record


@record
class Group:
    """Devices that talk to each other, spread evenly over nodes."""

    ranks: int = 1
    nodes: int = 1

    @property
    def inside(self) -> int:
        """Those of one node."""
        return self.ranks // self.nodes


@record
class Way:
    """An algorithm: bytes that one device sends for each byte of the message, and steps, inside and between nodes."""

    algorithm: str
    link_bytes: float = 0.0
    link_steps: float = 0.0
    network_bytes: float = 0.0
    network_steps: float = 0.0

    def shared(self, by: float) -> Way:
        """The same when so many devices hold the same message and send a part of it each."""
        return Way(self.algorithm, self.link_bytes / by, self.link_steps, self.network_bytes / by, self.network_steps)


@record
class Collective:
    """One that a kernel waits for, among these devices, by any of these algorithms."""

    name: Name
    group: Group
    ways: tuple[Way, ...]

    @property
    def least(self) -> Way:
        """The way with the fewest bytes over the network, then inside; the first of equals."""
        return min(self.ways, key=lambda way: (way.network_bytes, way.link_bytes))


ALONE = Way("nobody to talk to")


def ways(name: Name, group: Group) -> tuple[Way, ...]:
    """Every algorithm of a collective over these devices; over several nodes, every pair of inside and between.

    Over N nodes of g devices an all-reduce is a reduce-scatter inside, an all-reduce of 1/g of the message between
    the nodes and an all-gather inside; a gather or scatter brings 1/g over the network and the rest inside. What goes
    to all goes there directly. A send crosses to another node when its two devices are two nodes.
    """
    inside, nodes = group.inside, group.nodes
    if group.ranks == 1:
        return (ALONE,)
    if nodes == 1:
        return tuple(Way(*one) for one in _flat(name, inside))
    if name == "all-to-all":
        far, near = (nodes - 1) / nodes, (inside - 1) / group.ranks
        return (
            Way("one-shot", near, float(inside > 1), far, 1.0),
            Way("ring", near, inside - 1.0, far, float(group.ranks - inside)),
        )
    if name == "send":
        return (Way("one-shot", network_bytes=1.0, network_steps=1.0),)
    between = _flat(name, nodes)
    if inside == 1:
        return tuple(Way(how, 0.0, 0.0, sent, steps) for how, sent, steps in between)
    halves = [one for one in _flat(name, inside) if name != "all-reduce" or one[0] in ("ring", "two-shot")]
    return tuple(
        Way(f"{how} inside, {far} between nodes", sent, steps, far_sent / inside, far_steps)
        for how, sent, steps in halves
        for far, far_sent, far_steps in between
    )


def bus_share(name: Name, devices: int) -> float:
    """Bytes over a device's link for each byte of the message, as NCCL's tests count their bus rate: by the ring."""
    return min(way.link_bytes for way in ways(name, Group(devices)))


def dispatch(group: Group, active: float) -> tuple[Way, ...]:
    """Tokens to the devices that hold their experts, or back: an all-to-all in which each goes only where it must.

    A token's `active` experts lie evenly; over the network it goes once to each node that has one of them, and is
    handed on inside.
    """
    if group.ranks == 1:
        return (ALONE,)
    far = ranks_touched(float(group.nodes), active)
    near = ranks_touched(float(group.ranks), active) - far
    inside, elsewhere = group.inside - 1.0, float(group.ranks - group.inside)
    one_shot = Way("one-shot", near, float(inside > 0), far, float(elsewhere > 0))
    return one_shot, Way("ring", near, inside, far, elsewhere)


def _flat(name: Name, n: int) -> tuple[tuple[str, float, float], ...]:
    """The table above for n devices that all reach each other: algorithm, bytes, steps."""
    share, rounds = (n - 1) / n, float(math.ceil(math.log2(n)))
    if name == "all-reduce":
        return (
            ("ring", 2 * share, 2.0 * (n - 1)),
            ("tree", 2.0, 2 * rounds),
            ("one-shot", n - 1.0, 1.0),
            ("two-shot", 2 * share, 2.0),
        )
    if name == "all-to-all":
        return (("one-shot", share, 1.0), ("ring", share, n - 1.0), ("tree", rounds / 2, rounds))
    if name == "send":
        return (("one-shot", 1.0, 1.0),)
    return (("ring", share, n - 1.0), ("tree", share, rounds), ("one-shot", share, 1.0))
