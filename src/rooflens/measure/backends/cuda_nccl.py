"""One NVIDIA GPU of a group that works through NCCL, by CuPy's own binding: a process a GPU, as engines have it.

Every result is checked element by element before it is timed; see `parts` for what the devices hold.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from rooflens.measure.backend import Cannot
from rooflens.measure.backends.cuda_card import Card
from rooflens.measure.backends.cuda_data import encode, poison
from rooflens.measure.backends.cuda_nvml import Nvml
from rooflens.measure.backends.parts import PERIOD, patterns, result_bytes
from rooflens.measure.collectives import LARGEST, Joined
from rooflens.roofline.collective import Launcher, Operation

BYTES = 2  # of bf16
HOLD_S = 150e-6  # the queue is filled behind this, then behind a meeting of all devices
INSTALL = "pip install nvidia-nccl-cu13 (cu12 beside CuPy for CUDA 12)"
SETTINGS = ("NCCL_NVLS_ENABLE", "NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_MAX_NCHANNELS")


class NcclMember:
    """GPU `rank` of `devices`."""

    def __init__(self, rank: int, devices: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that NCCL is missing is said below, once
            from cupy.cuda import nccl

        self._nccl: Any = nccl
        if not hasattr(nccl, "NcclCommunicator"):
            raise Cannot(f"collectives skipped: NCCL is not installed or does not load; {INSTALL}")
        self._rank, self._devices = rank, devices
        self._card = Card(rank)
        self._comm: Any = None
        self._run: Callable[[], object] = lambda: None
        self._calls, self._held = 1, True

    def ticket(self) -> Any:
        """NCCL's unique id."""
        return self._nccl.get_unique_id()

    def join(self, ticket: Any) -> Joined:
        """Meet the others, and take memory for the largest size."""
        cp = self._card.cp
        with self._card.here():
            self._comm = self._nccl.NcclCommunicator(self._devices, ticket, self._rank)
            if self._card.free_bytes() < 2.2 * LARGEST:
                raise Cannot(f"collectives skipped: cuda:{self._rank} has under 2.2 GiB of free memory")
            counted = (cp.arange(LARGEST // BYTES, dtype=cp.int32) + self._rank) % PERIOD
            self._sent = encode(cp, counted.astype(cp.float32), "bf16")
            del counted
            self._got = cp.empty_like(self._sent)
            self._flag = cp.zeros(1, cp.float32)
            self._begun, self._ended = cp.cuda.Event(), cp.cuda.Event()
            self._meet()
            self._card.sync()
        return Joined(self._library(), self._link(), ("eager", "graph"), "bf16")

    def tell(self, operation: Operation, size_bytes: int, launcher: Launcher, calls: int) -> float:
        """See Members.tell: captures the graph, runs it once and compares every element."""
        act = self._act(operation, size_bytes)
        self._calls, self._held = calls, launcher == "graph"

        def often() -> None:
            for _ in range(calls):
                act()

        self._run = self._card.graph(act, calls) if self._held else often
        cp = self._card.cp
        with self._card.here():
            poison(self._got)
            self._run()
            self._card.sync()
            told = cp.asarray(patterns(operation, self._devices), dtype=cp.float32)
            found = self._got[: result_bytes(operation, size_bytes, self._devices) // BYTES]
            right = found.reshape(len(told), -1, PERIOD) == encode(cp, told, "bf16")[:, None, :]
            return float(not right.all())

    def elapsed_s(self) -> float:
        """Between two events, behind a meeting of all; what was captured is in the queue before the meeting ends."""
        card = self._card
        with card.here():
            if self._held:
                card.kernel("stream.cu", "hold")((1,), (1,), (card.cp.uint64(HOLD_S * 1e9),))
            self._meet()
            self._begun.record(card.stream)
            self._run()
            self._ended.record(card.stream)
            self._ended.synchronize()
        return float(card.cp.cuda.get_elapsed_time(self._begun, self._ended)) / 1e3

    def leave(self) -> None:
        """Graphs first: they hold the communicator."""
        self._run = lambda: None
        self._card.sync()
        if self._comm is not None:
            self._comm.destroy()

    def _act(self, operation: Operation, size: int) -> Callable[[], None]:
        comm, nccl, stream = self._comm, self._nccl, self._card.stream.ptr
        send, got, kind, add = self._sent.data.ptr, self._got.data.ptr, nccl.NCCL_BFLOAT16, nccl.NCCL_SUM
        count, part = size // BYTES, size // BYTES // self._devices

        def all_to_all() -> None:
            nccl.groupStart()
            for other in range(self._devices):
                comm.send(send + other * part * BYTES, part, kind, other, stream)
                comm.recv(got + other * part * BYTES, part, kind, other, stream)
            nccl.groupEnd()

        return {
            "all-reduce": lambda: comm.allReduce(send, got, count, kind, add, stream),
            "all-gather": lambda: comm.allGather(send, got, part, kind, stream),
            "reduce-scatter": lambda: comm.reduceScatter(send, got, part, kind, add, stream),
            "all-to-all": all_to_all,
        }[operation]

    def _meet(self) -> None:
        """No device goes on before all are here."""
        flag = self._flag.data.ptr
        self._comm.allReduce(flag, flag, 1, self._nccl.NCCL_FLOAT32, self._nccl.NCCL_SUM, self._card.stream.ptr)

    def _library(self) -> str:
        number = int(self._nccl.get_version())
        version = f"{number // 10000}.{number % 10000 // 100}.{number % 100}"
        settings = [f"{name}={os.environ[name]}" for name in SETTINGS if name in os.environ]
        return " ".join([f"NCCL {version}", *settings])

    def _link(self) -> str:
        runtime = self._card.cp.cuda.runtime
        own = Nvml(runtime.deviceGetPCIBusId(self._rank))
        others = [i for i in range(self._devices) if i != self._rank]
        return "nvlink" if all(own.linked(runtime.deviceGetPCIBusId(i)) for i in others) else "peer"
