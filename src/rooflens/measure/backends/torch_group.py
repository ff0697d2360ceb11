"""One device of a group that works through torch.distributed: processors through gloo, other GPUs through NCCL or RCCL.

On processors the members are processes of this machine, one thread each, that talk over its loopback interface: what
is measured is the library, not a network.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from rooflens.measure.backend import Cannot
from rooflens.measure.backends.parts import PERIOD, patterns, result_bytes
from rooflens.measure.collectives import Joined
from rooflens.roofline.collective import Launcher, Operation

INSTALL = "pip install 'rooflens[torch]'"
FOUND_S = 60.0
BACKENDS = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl"}  # RCCL answers to the name of NCCL
DTYPE, BYTES = "fp32", 4  # gloo adds no bf16 everywhere


class TorchMember:
    """Process `rank` of `devices`; kind: "cpu" or a GPU of torch's, as "cuda"."""

    def __init__(self, rank: int, devices: int, kind: str = "cpu") -> None:
        try:
            import torch
            from torch import distributed
        except ImportError:
            raise Cannot(f"collectives skipped: torch is not installed; {INSTALL}") from None
        if (
            kind not in BACKENDS
            or not distributed.is_available()
            or (kind == "cpu" and not distributed.is_gloo_available())
        ):
            raise Cannot("collectives skipped: this torch was built without torch.distributed")
        self._torch, self._all = torch, distributed
        self._rank, self._devices, self._kind = rank, devices, kind
        self._place = torch.device("cpu") if kind == "cpu" else torch.device(kind, rank)
        self._run: Callable[[], object] = lambda: None
        torch.set_num_threads(1)

    def ticket(self) -> Any:
        """A free port of this machine."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return int(free.getsockname()[1])

    def join(self, ticket: Any) -> Joined:
        """Meet the others at the first one's port."""
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        backend = BACKENDS[self._kind]
        if self._kind != "cpu":
            getattr(self._torch, self._kind).set_device(self._place)
        self._all.init_process_group(
            backend, init_method=f"tcp://127.0.0.1:{ticket}", rank=self._rank, world_size=self._devices,
            timeout=timedelta(seconds=FOUND_S),
        )  # fmt: skip
        self._all.barrier()
        level = "loopback" if self._kind == "cpu" else None
        return Joined(f"{backend}, torch {self._torch.__version__}", level, ("eager",), DTYPE)

    def tell(self, operation: Operation, size_bytes: int, launcher: Launcher, calls: int) -> float:
        """See Members.tell."""
        torch, count = self._torch, size_bytes // BYTES
        sent = ((torch.arange(count, device=self._place, dtype=torch.int32) + self._rank) % PERIOD).float()
        got = torch.full((result_bytes(operation, size_bytes, self._devices) // BYTES,), -1.0, device=self._place)
        if operation == "all-reduce":
            got.copy_(sent)  # torch adds in place
        act = self._act(operation, sent, got)

        def often() -> None:
            for _ in range(calls):
                act()

        try:
            act()
        except (RuntimeError, ValueError, NotImplementedError) as error:
            raise Cannot(f"{operation} skipped: {str(error).splitlines()[0][:200]}") from None
        self._run = often
        told = torch.tensor(patterns(operation, self._devices), dtype=torch.float32, device=self._place)
        right = bool((got.view(len(told), -1, PERIOD) == told[:, None, :]).all())
        got.zero_()  # what is added to itself again and again stays small
        return float(not right)

    def elapsed_s(self) -> float:
        """On the host's clock, from a meeting of all to the end here."""
        self._all.barrier()
        self._sync()
        start = time.perf_counter()
        self._run()
        self._sync()
        return time.perf_counter() - start

    def leave(self) -> None:
        """Let go of the others."""
        with suppress(Exception):
            self._all.destroy_process_group()

    def _act(self, operation: Operation, sent: Any, got: Any) -> Callable[[], object]:
        part, every = sent.numel() // self._devices, self._all
        gather = getattr(every, "all_gather_single", None) or every.all_gather_into_tensor
        scatter = getattr(every, "reduce_scatter_single", None) or every.reduce_scatter_tensor
        return {
            "all-reduce": lambda: every.all_reduce(got),
            "all-gather": lambda: gather(got, sent[:part]),
            "reduce-scatter": lambda: scatter(got, sent),
            "all-to-all": lambda: every.all_to_all_single(got, sent),
        }[operation]

    def _sync(self) -> None:
        if self._kind != "cpu":
            getattr(self._torch, self._kind).synchronize()
