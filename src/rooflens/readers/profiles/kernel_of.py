"""A group of launches as a kernel: its FLOPs and bytes from the operator's shapes, or why they are not known."""

from __future__ import annotations

from typing import Any

from rooflens.readers import bus
from rooflens.readers.figures import shown, whole
from rooflens.readers.profiles.columns import Kind
from rooflens.readers.profiles.grouped import Alike
from rooflens.readers.profiles.kernel_names import Said, said
from rooflens.readers.profiles.linking import Around, Ops
from rooflens.readers.profiles.tensors import Work
from rooflens.readers.profiles.timeline import MICRO
from rooflens.roofline.observed import Collective, Kernel, Launch, Operator, Phase, Unit

_ITEM = {"float": 4, "half": 2, "bfloat16": 2, "double": 8, "long": 8, "int": 4, "byte": 1, "char": 1, "bool": 1,
         "short": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}  # fmt: skip


def kernel_of(group: Alike, kind: Kind, ops: Ops) -> Kernel:
    """The kernel that these launches are of."""
    named, work = said(kind.name), group.work if group.main else None
    dtype, unit = _math(named, work)
    flops, vector = _flops(work, dtype, unit, group.calls)
    around = ops.arounds[group.around]
    return Kernel(
        kind.name,
        group.calls,
        group.time * MICRO,
        group.shortest * MICRO,
        group.longest * MICRO,
        flops,
        vector,
        "unknown" if flops is None else "shapes",
        None if work is None else work.bytes * group.calls,
        "unknown" if work is None else "shapes",
        dtype=dtype,
        unit=unit,
        accumulate=named.accumulate if unit == "matrix" else None,
        sparse=named.sparse,
        device=kind.device,
        stream=kind.stream,
        launch=_launch(kind, group),
        operator=_operator(group, around, ops),
        collective=_collective(kind, group.calls) if kind.what == "collective" else None,
        missing=_missing(group, kind, ops),
        notes=(work.note,) if work is not None and work.note else (),
    )


def _math(named: Said, work: Work | None) -> tuple[str | None, Unit | None]:
    """The math and the units: by the kernel's name where it says them, else by the operator's types."""
    if work is None or named.dtype is not None:
        return named.dtype, named.unit
    if work.flops:
        unit: Unit = "vector" if work.dtype == "fp32" else "matrix"  # a tensor unit for fp32 would be said as tf32
        return work.dtype, named.unit or unit
    return work.dtype, "vector" if work.dtype is not None else None


def _flops(
    work: Work | None, dtype: str | None, unit: Unit | None, calls: int
) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    """FLOPs on the matrix and on the vector units."""
    if work is None or work.flops is None:
        return None, None
    vector = {"fp32": (work.vector_flops or 0.0) * calls}
    if unit == "vector" and dtype is not None:
        vector[dtype] = vector.get(dtype, 0.0) + work.flops * calls
        return {}, {k: v for k, v in vector.items() if v}
    return {dtype or "unknown": work.flops * calls} if work.flops else {}, {k: v for k, v in vector.items() if v}


def _launch(kind: Kind, group: Alike) -> Launch | None:
    if not kind.grid and not kind.block and kind.registers is None and not group.graph:
        return None
    return Launch(kind.grid, kind.block, kind.registers, kind.shared_bytes, group.graph)


def _operator(group: Alike, around: Around, ops: Ops) -> Operator | None:
    """The operator, where the trace says one; of a kernel of a graph, what the replay ran inside of."""
    if group.doing < 0:
        if around == Around():
            return None
        name = around.root or around.scope or around.module or ""
        return Operator(name, root=around.root, scope=around.scope, module=around.module, phase=around.phase)
    doing = ops.doings[group.doing]
    phase: Phase = around.phase or "forward"
    types = tuple(shown(t) for t in doing.types or ()) if isinstance(doing.types, (list, tuple)) else ()
    return Operator(
        shown(doing.name),
        _tuples(doing.shapes) if isinstance(doing.shapes, list) else (),
        types,
        around.root,
        around.scope,
        around.module,
        phase,
    )


def _tuples(found: Any) -> Any:
    """Sizes, and lists of them; what is neither is a question mark."""
    if isinstance(found, list):
        return tuple(_tuples(x) for x in found[:1000])
    return found if whole(found) is not None and type(found) is int else "?"


def _missing(group: Alike, kind: Kind, ops: Ops) -> dict[str, str]:
    """Why FLOPs or bytes are not known."""
    if group.main and group.work is not None:
        if group.work.flops is not None:
            return {}
        return dict.fromkeys(
            ("flops", "vector_flops"), "nobody says what a generated kernel computes: collect counters"
        )
    if kind.what == "collective":
        why = "a collective: see what it moved over the link"
    elif group.graph:
        why = "replayed from a graph: the trace does not say its shapes; profile without graphs, or collect counters"
    elif group.doing < 0:
        why = "the trace does not say which operator launched it; collect counters"
    elif group.work is not None:
        why = f"it helps {shown(ops.doings[group.doing].name)}, whose work is counted at another kernel"
    elif not ops.doings[group.doing].shapes:
        why = "no shapes were recorded: profile with record_shapes=True"
    else:
        why = f"what {shown(ops.doings[group.doing].name)} asks for is not known from its shapes; collect counters"
    return dict.fromkeys(("bytes", "flops", "vector_flops"), why[:300])


def _collective(kind: Kind, calls: int) -> Collective:
    """What the trace says of the message; an old trace says nothing of it."""
    name, sent, received, dtype, ranks, group = kind.message or (None,) * 6
    operation = bus.operation(name if isinstance(name, str) and name else kind.name)
    count = received if operation == "all_gather" else sent
    item = _ITEM.get(dtype.lower()) if isinstance(dtype, str) else None
    values, n = whole(count), whole(ranks)
    message = float(values) * item * calls if values is not None and item is not None else None
    said_dtype = shown(dtype) if isinstance(dtype, str) else None
    said_group = shown(group) if group else None
    return Collective(operation, message, n, bus.bus_factor(operation, n), said_dtype, said_group)
