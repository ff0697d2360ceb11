"""Columns of a trace as records: kernels with what launched them, copies, timelines, the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rooflens.arrays import library
from rooflens.errors import BadFile
from rooflens.readers.figures import shown
from rooflens.readers.profiles.columns import Columns, Kind
from rooflens.readers.profiles.grouped import Alike, groups
from rooflens.readers.profiles.kernel_of import kernel_of
from rooflens.readers.profiles.linking import Linked, Ops, linked
from rooflens.readers.profiles.timeline import MICRO, Ran, timeline
from rooflens.roofline.observed import Copy, Device, HostOp, Kernel, Observed, Span, Timeline

MOST_KERNELS = 100_000
MOST_HOST_OPS = 2000
TORCH = "torch-trace"
_NO_HOST = "no operators were recorded; profile the host too (activities CPU and CUDA), with record_shapes=True"
_NO_SHAPES = "no shapes were recorded; profile with record_shapes=True"
_TIMES_ALONE = "it holds times alone; collect counters, or take a PyTorch trace with shapes"
COPIES = ("HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset", "copy")


def observed(
    columns: Columns,
    where: str,
    form: str,
    *,
    devices: tuple[Device, ...] = (),
    rank: int | None = None,
    world: int | None = None,
    lost: int = 0,
    faults: Sequence[str] = (),
) -> Observed:
    """All that was gathered. Raises BadFile when nothing was: no kernel, no copy, no operator."""
    if not len(columns.ran) and not len(columns.ops) and not len(columns.launches):
        why = f" ({'; '.join(faults)})" if faults else ""
        raise BadFile(where, [f"no kernel and no operator is in it{why}; was the profiler running?"])
    ops = Ops(columns)
    link = linked(columns, ops)
    kinds: list[Kind] = columns.kinds.values()
    graph = _graph(columns, kinds, link)
    found = groups(columns, kinds, ops, link, graph)
    training = any(around.phase == "backward" for around in ops.arounds) if len(ops.start) else None
    kernels = _kernels(found.groups, kinds, ops)
    return Observed(
        where,
        form,
        kernels,
        copies=tuple(_copies(columns, kinds)),
        timelines=tuple(_timelines(columns, kinds, link, found.of_row, graph, [k.name for k in kernels])),
        host_ops=_host_ops(ops),
        host_calls=_host_calls(columns),
        spans=_spans(ops),
        devices=devices,
        rank=rank,
        world=world,
        host_s=_host_s(columns),
        training=training,
        lost=lost,
        warnings=(*faults, *_warnings(form, columns, kernels, ops, graph)),
    )


def _graph(columns: Columns, kinds: Sequence[Kind], link: Linked) -> Any:
    """Of each activity, whether it was replayed from a recorded graph: by its own word, or by the call."""
    np = library()
    kind = columns.ran.arrays()[2]
    own = np.array([k.graph for k in kinds] or [False], dtype=bool)
    calls = np.array([*("graphlaunch" in str(c).lower() for c in columns.calls.values()), False], dtype=bool)
    return (own[kind] if len(kind) else np.zeros(0, dtype=bool)) | calls[link.call]


def _kernels(found: Sequence[Alike], kinds: Sequence[Kind], ops: Ops) -> tuple[Kernel, ...]:
    """The kernels of these groups; past the first MOST_KERNELS, the shortest ones together."""
    listed = [kernel_of(group, kinds[group.kind], ops) for group in found[:MOST_KERNELS]]
    rest = found[MOST_KERNELS:]
    if rest:
        calls, time = sum(group.calls for group in rest), sum(group.time for group in rest)
        why = f"{len(rest)} kinds of launches together; past {MOST_KERNELS} they are not told apart"
        gone = dict.fromkeys(("bytes", "flops", "vector_flops"), why)
        listed.append(Kernel(f"(others: {len(rest)} kinds)", calls, time * MICRO, missing=gone))
    return tuple(listed)


def _copies(columns: Columns, kinds: Sequence[Kind]) -> Iterator[Copy]:
    np = library()
    _, times, kind, _, _ = columns.ran.arrays()
    time = np.bincount(kind, weights=times, minlength=len(kinds))
    calls = np.bincount(kind, minlength=len(kinds))
    for number, one in enumerate(kinds):
        if one.what in COPIES and calls[number]:
            moved = columns.copied.get(number)
            yield Copy(one.what, int(calls[number]), float(time[number]) * MICRO, moved, one.device, one.stream)


def _timelines(
    columns: Columns, kinds: Sequence[Kind], link: Linked, of_row: Any, graph: Any, names: Sequence[str]
) -> Iterator[Timeline]:
    np = library()
    if not len(columns.ran):
        return
    start, time, kind, _, _ = columns.ran.arrays()
    end = start + time
    sorts = np.array([2 if k.what in COPIES else int(k.what == "collective") for k in kinds])[kind]
    places = {device: i for i, device in enumerate(dict.fromkeys(k.device for k in kinds))}
    on = np.array([places[k.device] for k in kinds])[kind]
    streams = {key: i for i, key in enumerate(dict.fromkeys((k.device, k.stream) for k in kinds))}
    stream = np.array([streams[k.device, k.stream] for k in kinds])[kind]
    kernel = np.minimum(of_row, len(names) - 1)
    for device, place in sorted(places.items(), key=lambda one: (one[0] is None, one[0] or 0)):
        rows = np.nonzero(on == place)[0]
        if not rows.size:
            continue  # all that it did was left out
        ran = Ran(*(column[rows] for column in (start, end, link.launched, sorts, kernel, stream, graph)))
        yield timeline(device, ran, names, float(start.min()))


def _host_ops(ops: Ops) -> tuple[HostOp, ...]:
    """Operators by name, the most time of their own first."""
    np = library()
    rows = np.nonzero(ops.is_op)[0]
    if not len(rows):
        return ()
    parent = ops.operators(ops.parent)[rows]
    inside = np.bincount(parent[parent >= 0], weights=ops.time[rows][parent >= 0], minlength=len(ops.time))[rows]
    numbers: dict[str, int] = {}
    of = np.array([numbers.setdefault(str(d.name), len(numbers)) if d.what == "op" else -1 for d in ops.doings])
    name = of[ops.doing[rows]]
    calls = np.bincount(name, minlength=len(numbers))
    time = np.bincount(name, weights=ops.time[rows], minlength=len(numbers)) * MICRO
    own = np.bincount(name, weights=np.maximum(ops.time[rows] - inside, 0.0), minlength=len(numbers)) * MICRO
    listed = [HostOp(shown(n), int(calls[i]), float(time[i]), float(own[i])) for n, i in numbers.items()]
    return tuple(sorted(listed, key=lambda op: -op.self_s)[:MOST_HOST_OPS])


def _host_calls(columns: Columns) -> tuple[HostOp, ...]:
    """Calls of the driver by name, the most time first."""
    np = library()
    names = columns.calls.values()
    _, _, times, _, call = columns.launches.arrays()
    count = np.bincount(call, minlength=len(names))
    time = np.bincount(call, weights=times, minlength=len(names)) * MICRO
    listed = [HostOp(shown(n), int(count[i]), float(time[i]), float(time[i])) for i, n in enumerate(names) if count[i]]
    return tuple(sorted(listed, key=lambda call: -call.time_s)[:MOST_HOST_OPS])


def _spans(ops: Ops) -> tuple[Span, ...]:
    np = library()
    if not len(ops.start):
        return ()
    calls = np.bincount(ops.doing, minlength=len(ops.doings))
    time = np.bincount(ops.doing, weights=ops.time, minlength=len(ops.doings)) * MICRO
    listed = [
        Span(shown(doing.name), int(calls[number]), float(time[number]))
        for number, doing in enumerate(ops.doings)
        if doing.what == "span"
    ]
    return tuple(sorted(listed, key=lambda span: -span.time_s)[:MOST_HOST_OPS])


def _host_s(columns: Columns) -> float | None:
    """From the first operator or launch to the end of the last."""
    starts, times, *_ = columns.ops.arrays()
    _, launches, lasted, *_ = columns.launches.arrays()
    if not len(starts) and not len(launches):
        return None
    first = min(float(x.min()) for x in (starts, launches) if len(x))
    return (max(float(x.max()) for x in (starts + times, launches + lasted) if len(x)) - first) * MICRO


def _warnings(form: str, columns: Columns, kernels: Sequence[Kernel], ops: Ops, graph: Any) -> Iterator[str]:
    if not kernels:
        why = "only copies" if len(columns.ran) else "only the host was profiled"
        yield f"no kernels are in it: {why}, so nothing can be placed on a device's roofline"
        return
    if not any(doing.shapes for doing in ops.doings):
        why = _TIMES_ALONE if form != TORCH else _NO_SHAPES if len(ops.start) else _NO_HOST
        yield f"FLOPs and bytes are unknown: {why}"
    replayed = int(graph.sum())
    if replayed:
        yield f"{replayed} kernels were replayed from graphs: the trace does not say their shapes"
    if columns.folded or len(kernels) > MOST_KERNELS:
        yield "there are too many distinct kernels, sizes or shapes to tell all apart; totals are right, detail is not"
