"""A made-up group of devices on a made-up machine's clock: its latencies and rates must be found again."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.measure.backend import Cannot
from rooflens.measure.backends.fake import FakeBackend
from rooflens.measure.collectives import Hung, Joined, said
from rooflens.operators.collectives import bus_share
from rooflens.records import field, record
from rooflens.roofline.collective import Launcher, Operation
from rooflens.roofline.knee import Line, least_s


@record
class FakeLinks:
    """The truth to be found. protocols: for any operation, each a latency and a rate; the faster one is taken.

    host_s: what a call from the host takes at least. hangs: (operation, bytes) at which nobody answers any more.
    refuses: operations that the library does not know. wrong: one whose result is not what it must be.
    """

    protocols: tuple[Line, ...] = (Line(6e-6, 120e9), Line(19e-6, 330e9))
    host_s: float = 15e-6
    noise: float = 0.003
    level: str | None = "nvlink"
    launchers: tuple[Launcher, ...] = ("eager", "graph")
    hangs: tuple[Operation, float] | None = None
    refuses: Mapping[Operation, str] = field(default_factory=dict)
    wrong: Operation | None = None


class FakeGroup:
    """`devices` devices that share the clock of `backend`."""

    def __init__(self, links: FakeLinks, backend: FakeBackend, devices: int) -> None:
        self.devices, self._links, self._backend = devices, links, backend
        self.joined = Joined("fake 1", links.level, links.launchers, "bf16")
        self.closed = False
        self._told: tuple[Operation, int, Launcher, int] = ("all-reduce", 0, "eager", 1)

    def tell(self, operation: Operation, size_bytes: int, launcher: Launcher, calls: int) -> float:
        """Remembered; see FakeLinks for what goes wrong."""
        if operation in self._links.refuses:
            raise Cannot(f"{operation} skipped: {self._links.refuses[operation]}")
        self._told = (operation, size_bytes, launcher, calls)
        return float(operation == self._links.wrong)

    def elapsed_s(self) -> float:
        """Of all calls together, on the virtual clock."""
        operation, size, launcher, calls = self._told
        if self._links.hangs and self._links.hangs[0] == operation and size >= self._links.hangs[1]:
            raise Hung(f"{self.devices} fakes: {said(operation, size, launcher)} gave no answer within 30 s")
        wire = size * bus_share(operation, self.devices)
        one_s = least_s(self._links.protocols, wire)
        if launcher == "eager":
            one_s = max(one_s, self._links.host_s)
        return self._backend.passed(calls * one_s, self._links.noise)

    def close(self) -> None:
        """Said, so that a test can see it."""
        self.closed = True
