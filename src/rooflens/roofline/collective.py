"""Links as they were measured: one copy between two devices, one collective over several, of one size."""

from __future__ import annotations

import re
from typing import Literal

from rooflens.operators.collectives import bus_share
from rooflens.records import quantity, record

Operation = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]
Launcher = Literal["eager", "graph"]
OPERATIONS: tuple[Operation, ...] = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
_PAIR = re.compile(r"(?:^|/)(\d+)([-+])(\d+)$")


def pair_of(name: str) -> tuple[int, int] | None:
    """The two devices that a name ends in, as "0-1" or "0+1", the lower number first; None where it names no pair."""
    found = _PAIR.search(name)
    return (min(int(found[1]), int(found[3])), max(int(found[1]), int(found[3]))) if found else None


def both_ways(name: str) -> bool:
    """Whether a name ends in a pair that copies both ways at once, as "0+1"."""
    found = _PAIR.search(name)
    return found is not None and found[2] == "+"


def called(launcher: Launcher) -> str:
    """How a collective is started, in words."""
    return "replayed from a graph" if launcher == "graph" else "called one by one"


@record
class CopyPoint:
    """One copy of `bytes` from one device to another: time_s is the median of samples_s.

    pair: "0-1" is device 0 to device 1, "1-0" the way back, "0+1" both at once, so many bytes each way.
    """

    pair: str
    bytes: float = quantity("B")
    time_s: float = quantity("s")
    best_s: float = quantity("s")
    level: str
    samples_s: tuple[float, ...] = ()
    trusted: bool = True
    why_not: str | None = None

    def __post_init__(self) -> None:
        if self.bytes <= 0 or not 0 < self.best_s <= self.time_s:
            raise ValueError(f"a copy of {self.bytes:g} bytes over {self.pair} is no measurement")

    @property
    def bytes_per_s(self) -> float:
        """The rate of one direction."""
        return self.bytes / self.time_s


@record
class CollectivePoint:
    """One operation over `devices` devices: time_s is the median of samples_s, of the device that ended last.

    bytes: what the whole holds: the buffer that every device reduces, what each has after an all-gather or had before
    a reduce-scatter, what each sends and keeps in an all-to-all. launcher: called one by one from the host, or
    replayed from a graph. library: with its version. level: the link that carries it, where that is known.
    """

    operation: Operation
    devices: int
    bytes: float = quantity("B")
    time_s: float = quantity("s")
    best_s: float = quantity("s")
    dtype: str
    launcher: Launcher
    library: str
    level: str | None = None
    samples_s: tuple[float, ...] = ()
    trusted: bool = True
    why_not: str | None = None

    def __post_init__(self) -> None:
        if self.devices < 2 or self.bytes <= 0 or not 0 < self.best_s <= self.time_s:
            raise ValueError(f"{self.operation} of {self.bytes:g} bytes over {self.devices} devices is no measurement")

    @property
    def wire_bytes(self) -> float:
        """What one device sends at least, in one direction."""
        return self.bytes * bus_share(self.operation, self.devices)

    @property
    def bus_bytes_per_s(self) -> float:
        """The rate of one device's link that this time means, as NCCL's own tests define the bus rate: by the ring."""
        return self.wire_bytes / self.time_s
