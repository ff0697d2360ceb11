"""Copies from one card to another of the same machine: there, back, and both at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rooflens.measure.backend import Cannot, Kernel
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_nvml import Nvml

ALREADY_ENABLED = 704  # cudaErrorPeerAccessAlreadyEnabled
# the last bytes of both arrays of ours, then of theirs, after a copy in this way
EXPECTED = {"to": (1, 2, 1, 1), "from": (2, 2, 1, 2), "both": (1, 1, 1, 1)}


class Peers:
    """The other cards, as one card sees them."""

    def __init__(self, card: Card, nvml: Nvml) -> None:
        self._card, self._nvml = card, nvml

    def others(self) -> tuple[int, ...]:
        """Indices of all other cards."""
        count = int(self._card.cp.cuda.runtime.getDeviceCount())
        return tuple(i for i in range(count) if i != self._card.index)

    def level(self, other: int) -> str:
        """What joins the two: nvlink where the driver says so, else peer (over PCIe, or staged through the host)."""
        return "nvlink" if self._nvml.linked(self._bus_id(other)) else "peer"

    def kernel(self, other: int, way: str, size_bytes: int) -> Kernel:
        """One copy of `size_bytes` in each direction of `way` (to, from, both). Raises Cannot for no such card."""
        if other not in self.others():
            raise Cannot(f"cuda:{self._card.index} to cuda:{other} skipped: there is no cuda:{other}")
        direct = self._opened(other)
        act, error = self._copies(other, way, size_bytes)
        return Kernel(
            run=act,
            unit="cudaMemcpyPeerAsync",
            error=error,
            tolerance=0.0,
            path=self.level(other),
            setting=self._card.here,
            note="" if direct else "no direct access: staged through the host",
        )

    def _opened(self, other: int) -> bool:
        """Lets each of the two reach the other's memory; False where the system does not allow it."""
        runtime = self._card.cp.cuda.runtime
        pair = (self._card.index, other)
        if not all(runtime.deviceCanAccessPeer(a, b) for a, b in (pair, pair[::-1])):
            return False
        for here, there in (pair, pair[::-1]):
            with self._card.cp.cuda.Device(here):
                try:
                    runtime.deviceEnablePeerAccess(there)
                except runtime.CUDARuntimeError as error:
                    if error.status != ALREADY_ENABLED:
                        return False
        return True

    def _copies(self, other: int, way: str, size: int) -> tuple[Callable[[], None], Callable[[], float]]:
        """The copies, and a check of them: our first array to their second, and back, or their first to our second."""
        cp, card = self._card.cp, self._card
        own, theirs = (_pair(cp, index, size) for index in (card.index, other))
        with cp.cuda.Device(other):
            side, arrived = cp.cuda.Stream(non_blocking=True), cp.cuda.Event(disable_timing=True)
        with card.here():
            begun = cp.cuda.Event(disable_timing=True)
        copy, stream = cp.cuda.runtime.memcpyPeerAsync, card.stream

        def to() -> None:
            copy(theirs[1].data.ptr, other, own[0].data.ptr, card.index, size, stream.ptr)

        def back() -> None:
            copy(own[0].data.ptr, card.index, theirs[1].data.ptr, other, size, stream.ptr)

        def both() -> None:
            begun.record(stream)
            side.wait_event(begun)
            copy(own[1].data.ptr, card.index, theirs[0].data.ptr, other, size, side.ptr)
            to()
            arrived.record(side)
            stream.wait_event(arrived)

        act = {"to": to, "from": back, "both": both}[way]

        def error() -> float:
            for index, arrays in ((card.index, own), (other, theirs)):
                _refill(cp, index, arrays)
            with card.here():
                act()
                stream.synchronize()
            found = (*_last(cp, card.index, own), *_last(cp, other, theirs))
            return float(found != EXPECTED[way])

        return act, error

    def _bus_id(self, index: int) -> str:
        return str(self._card.cp.cuda.runtime.deviceGetPCIBusId(index))


def _pair(cp: Any, index: int, size: int) -> list[Any]:
    with cp.cuda.Device(index):
        arrays = [cp.empty(size, "uint8") for _ in (1, 2)]
    _refill(cp, index, arrays)
    return arrays


def _refill(cp: Any, index: int, arrays: list[Any]) -> None:
    """1 everywhere in the first, 2 in the second."""
    with cp.cuda.Device(index):
        for value, array in enumerate(arrays, start=1):
            array.fill(value)
        cp.cuda.runtime.deviceSynchronize()


def _last(cp: Any, index: int, arrays: list[Any]) -> list[int]:
    with cp.cuda.Device(index):
        return [int(array[-1]) for array in arrays]
