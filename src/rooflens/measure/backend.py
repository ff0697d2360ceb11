"""What a measured thing must offer. A backend makes callables; it never times, repeats, judges or prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from rooflens.errors import RooflensError
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Device


class Cannot(RooflensError):
    """Something that this machine or installation cannot measure: a sentence for the list of skipped things."""


@record
class Kernel:
    """One way to do a piece of work, ready to run.

    run: does the work `inner` times; may return before it is done. unit: what computes, by name. error: relative error
    of a run against a float64 reference, run before timing; above `tolerance` the figure is refused.
    setting: entered around all timed runs (thread counts, pinning). calls: library calls in one piece of work.
    overhead_s: what a run costs apart from its work, where the backend knows. why_not: why this way is never a roof.
    fills: whether all `threads` are busy from beginning to end; else waiting for one another is no contention.
    kv_dtype: how an attention's cache is stored, where that is not its dtype.
    way: what reports call it, where several kernels are variants of one; the fastest then stands for all.
    hosted: whether launches from the host belong to what is timed on a device; else they happen before it starts.
    """

    run: Callable[[], object]
    unit: str
    error: Callable[[], float]
    tolerance: float
    threads: int = 1
    path: str | None = None
    inner: int = 1
    calls: int = 1
    setting: Callable[[], AbstractContextManager[object]] = nullcontext
    overhead_s: float | None = None
    why_not: str = ""
    note: str = ""
    hosted: bool = False
    fills: bool = True
    kv_dtype: str | None = None
    way: str = ""


@record
class Usage:
    """Counters since some fixed moment; absent where the system does not tell. `pressure` covers the last ten seconds.

    waited_s: how long this process's threads stood in line for a CPU. others: sentences about who else is on the
    device now.
    """

    wall_s: float
    cpu_s: float | None = None
    involuntary_switches: int | None = None
    steal_s: float | None = None
    pressure: float | None = None
    waited_s: float | None = None
    others: tuple[str, ...] = ()


@record
class State:
    """What the device runs at now. throttle: reasons that the device itself gives."""

    clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] = ()


@record
class AttentionShape:
    """The decoder whose attention is measured: width = heads x head width.

    checkpoint: a .safetensors file with the query weights; "" makes them from the seed.
    kv_heads: key-value heads, each shared by heads / kv_heads query heads; 0 is one a query head. batch: sequences.
    name: what reports call it. tokens: new ones of each sequence; more than one is a causal prefill.
    """

    layers: int = 6
    width: int = 384
    heads: int = 6
    kv_heads: int = 0
    batch: int = 1
    checkpoint: str = ""
    name: str = "MiniGPT"
    tokens: int = 1

    def __post_init__(self) -> None:
        if not self.kv_heads:
            object.__setattr__(self, "kv_heads", self.heads)
        if min(self.layers, self.width, self.heads, self.kv_heads, self.batch) < 1 or self.width % self.heads:
            raise RooflensError(f"attention of width {self.width} cannot be split into {self.heads} equal heads")
        if self.heads % self.kv_heads:
            raise RooflensError(f"{self.heads} query heads cannot share {self.kv_heads} key-value heads evenly")

    @property
    def head_width(self) -> int:
        """Width of one head."""
        return self.width // self.heads


def waited_s(backend: Backend, kernel: Kernel, calls: int) -> float:
    """`elapsed_s` of a backend without a clock of its own: on the host's, around the runs and the wait for them."""
    run = kernel.run
    start = backend.clock()
    for _ in range(calls):
        run()
    backend.sync()
    return backend.clock() - start


class Backend(Protocol):
    """A machine, real or made up. Kernel factories return contenders (the loop keeps the fastest) or raise Cannot."""

    name: str
    turn_s: float
    """How long a contender runs at a time when several are compared, so that it does not feel the one before."""

    def why_not(self) -> str:
        """Why this backend cannot be used here; "" when it can."""

    def device(self) -> Device:
        """What this is and what limits trust in what it shows."""

    def versions(self) -> dict[str, str]:
        """Libraries, drivers and their versions."""

    def clock(self) -> float:
        """Seconds, monotonic."""

    def elapsed_s(self, kernel: Kernel, calls: int) -> float:
        """Seconds that `calls` runs took, waited for together, on the clock that knows best."""

    def rest(self, seconds: float) -> None:
        """Do nothing for that long."""

    def sync(self) -> None:
        """Return when everything started is done."""

    def usage(self) -> Usage:
        """Counters for the gate."""

    def state(self) -> State:
        """Clock, power and throttle reasons now; may take a few milliseconds."""

    def peaks(self) -> tuple[Ceiling, ...]:
        """Peaks that follow from clock and instruction set (origin "derived"), never measured with a product."""

    def gemm(self, dtype: str, m: int, n: int, k: int, seed: int) -> Sequence[Kernel]:
        """(M x K) by (K x N) of random normal data into an output that each run overwrites."""

    def stream(self, access: str, level: str, working_set_bytes: float, seed: int) -> Sequence[Kernel]:
        """One pass of `access` (read, write, copy, triad) over all arrays together `working_set_bytes` long."""

    def launch(self, level: str = "device") -> Sequence[Kernel]:
        """The smallest call that does nearly nothing; "host" is what starting one from the host costs."""

    def transfer(self, way: str, size_bytes: int) -> Kernel:
        """One copy over the host link; `way` is a name of rooflens.measure.links."""

    def peers(self) -> Sequence[tuple[int, int]]:
        """(this device, other) for each other device of the machine that copies can go to."""

    def peer(self, other: int, way: str, size_bytes: int) -> Kernel:
        """One copy to another device, from it, or both at once; the kernel's `path` names the link between the two."""

    def attention(self, dtype: str, context: int, shape: AttentionShape, seed: int) -> Sequence[Kernel]:
        """One token's attention over `context` cached ones in all layers; queries given, cache not written."""

    def close(self) -> None:
        """Give back threads and memory."""
