"""Events of a PyTorch trace into columns: what is done for each event is little, since there are millions."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from marshal import dumps
from typing import Any

from rooflens.readers.figures import finite, shown, whole
from rooflens.readers.profiles import shapes
from rooflens.readers.profiles.columns import MOST_KINDS, Columns, Kind
from rooflens.readers.profiles.kernel_names import said

MODULE = "nn.Module: "
_COPY = re.compile(r"\b(HtoD|DtoH|DtoD|PtoP|HtoH)\b|(Host|Device)To(Host|Device)")
_STARTS = re.compile(r"launch|memcpy|memset|enqueue", re.IGNORECASE)
_NUMBERED = re.compile(r"#?\d+$")
_Take = Callable[[dict[str, Any]], None]


@contextmanager
def not_collecting() -> Iterator[None]:
    """Events hold no circles: looking for some would take a third of the time of reading them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Intake:
    """Takes events in. refused: how many of ours hold no time or name that can be used."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.refused = 0
        self._kinds: dict[Any, int] = {}
        self._doings: dict[bytes, int] = {}
        self._calls: dict[str, tuple[int, bool]] = {}
        self._threads = self.columns.threads.of
        self._ran: list[tuple[Any, ...]] = []
        self._launches: list[tuple[Any, ...]] = []
        self._ops: list[tuple[Any, ...]] = []
        kernel, host = self._kernel, self._host
        self._by_category: dict[Any, _Take] = {
            "kernel": kernel, "Kernel": kernel, "gpu_memcpy": self._copy, "gpu_memset": self._copy,
            "Memcpy": self._copy, "Memset": self._copy, "cpu_op": self._op, "Operator": self._op,
            "user_annotation": self._span, "python_function": self._module, "cuda_runtime": host, "cuda_driver": host,
            "hip_runtime": host, "hip_driver": host, "xpu_runtime": host, "Runtime": host, None: self._uncategorised,
        }  # fmt: skip

    def take(self, events: Iterable[Any]) -> None:
        """Takes in a batch. What is no event of ours is passed over; what is broken is counted."""
        take_of = self._by_category.get
        for event in events:
            try:
                take = take_of(event.get("cat"))
                if take is not None:
                    take(event)
            except _BROKEN:
                self.refused += 1
        columns = self.columns
        for table, rows in ((columns.ran, self._ran), (columns.launches, self._launches), (columns.ops, self._ops)):
            self.refused += table.extend(rows)
            rows.clear()

    def _kernel(self, event: dict[str, Any]) -> None:
        get = (event.get("args") or _NOTHING).get
        grid, block = get("grid"), get("block")
        key: Any = (event["name"], event.get("pid"), grid and tuple(grid), block and tuple(block), *map(get, _LAUNCH))
        if key[-1] is not None:
            key = (*key, *map(get, _MESSAGE))
        kind = self._kinds.get(key)
        if kind is None:
            kind = self.columns.kind_of(_kind(key))
            if len(self._kinds) < MOST_KINDS:
                self._kinds[key] = kind
        self._ran.append((event["ts"], event["dur"], kind, get("correlation", -1), get("External id", -1)))

    def _uncategorised(self, event: dict[str, Any]) -> None:
        """The profiler of old PyTorch says by the process what an event is."""
        if event.get("ph") == "X" and event.get("pid") == "CUDA functions":
            self._kernel({**event, "pid": None})
        elif event.get("ph") == "X" and event.get("pid") == "CPU functions":
            self._op(event)

    def _copy(self, event: dict[str, Any]) -> None:
        args = event.get("args") or _NOTHING
        name = event["name"]
        found = _COPY.search(name)
        what = "memset" if "set" in name.lower() else "copy"
        if found:
            what = found[1] or f"{found[2][0]}to{found[3][0]}"
        device = whole(args.get("device", event.get("pid")))
        kind = self.columns.kind_of(Kind(what, what, device, whole(args.get("stream"))))
        moved = finite(args.get("bytes"))
        if moved is not None:
            self.columns.copied[kind] = self.columns.copied.get(kind, 0.0) + moved
        self._ran.append((event["ts"], event["dur"], kind, args.get("correlation", -1), args.get("External id", -1)))

    def _host(self, event: dict[str, Any]) -> None:
        name = event["name"]
        call = self._calls.get(name)
        if call is None:
            call = self.columns.call_of(name), bool(_STARTS.search(name))
            if len(self._calls) < MOST_KINDS:
                self._calls[name] = call
        number, starts = call
        correlation = (event.get("args") or _NOTHING).get("correlation", -1) if starts else -1
        key = event.get("pid"), event.get("tid")
        thread = self._threads.get(key)
        if thread is None:
            thread = self.columns.threads(key)
        self._launches.append((correlation, event["ts"], event["dur"], thread, number))

    def _op(self, event: dict[str, Any]) -> None:
        args = event.get("args") or _NOTHING
        name = event["name"]
        sizes = args.get("Input Dims") or args.get("Input dims") or None
        if sizes is None:
            key = dumps(("op", name), 2)
        elif shapes.is_known(name):
            key = dumps(("op", name, sizes, args.get("Input type"), args.get("Concrete Inputs")), 2)
        else:
            key = dumps(("op", name, sizes, args.get("Input type")), 2)
        self._does(event, key, args.get("External id", -1))

    def _span(self, event: dict[str, Any]) -> None:
        name = _NUMBERED.sub("", event["name"]) or event["name"]
        self._does(event, dumps(("span", name), 2), (event.get("args") or _NOTHING).get("External id", -1))

    def _module(self, event: dict[str, Any]) -> None:
        name = event["name"]
        if name.startswith(MODULE):
            self._does(event, dumps(("module", name.removeprefix(MODULE)), 2), -1)

    def _does(self, event: dict[str, Any], doing: bytes, external: Any) -> None:
        number = self._doings.get(doing)
        if number is None:
            number = self.columns.doing_of(doing)
            if len(self._doings) < 2 * MOST_KINDS:
                self._doings[doing] = number
        key = event.get("pid"), event.get("tid")
        thread = self._threads.get(key)
        if thread is None:
            thread = self.columns.threads(key)
        self._ops.append((event["ts"], event["dur"], thread, number, external))


_BROKEN = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_LAUNCH = ("device", "stream", "registers per thread", "shared memory", "graph node id", "graph id", "Collective name")
_MESSAGE = ("In msg nelems", "Out msg nelems", "dtype", "Group size", "Process Group Name")
_NOTHING: dict[str, Any] = {}


def _kind(key: tuple[Any, ...]) -> Kind:
    """A kind of launch from what its event says; what is of another type than it should be is not said."""
    name, pid, grid, block, device, stream, registers, shared, node, graph, *message = key
    said_name = _text(name)
    moves = said(said_name).family == "collective" or message[0] is not None
    return Kind(
        "collective" if moves else "kernel",
        said_name,
        whole(device if device is not None else pid),
        whole(stream),
        _sizes(grid),
        _sizes(block),
        whole(registers),
        whole(shared),
        bool(node or graph),
        tuple(message) if len(message) > 1 else None,
    )


def _sizes(found: Any) -> tuple[int, ...]:
    return tuple(n for n in found if type(n) is int and 0 <= n < 2**40) if isinstance(found, tuple) else ()


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("no name")
    return shown(name, 4000)
