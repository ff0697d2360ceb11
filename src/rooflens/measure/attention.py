"""Decode attention of one token against a filled cache: times and shapes, no prices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rooflens.measure.backend import AttentionShape, Backend, Cannot, Kernel
from rooflens.measure.budget import Budget
from rooflens.measure.judge import own_faults
from rooflens.measure.loop import Rule, fastest, repeat
from rooflens.measure.memory import fits
from rooflens.measure.options import Options, Progress, silent
from rooflens.records import record, replace
from rooflens.roofline.profile import AttentionPoint, Gate

CONTEXTS = (16, 64, 256, 1024, 4096, 16384)
DTYPES = ("fp32", "bf16", "fp16")
MOST_ERROR = {"fp64": 1e-12, "fp32": 1e-5, "bf16": 5e-3, "fp16": 5e-3, "int8": 3e-2}
MATH_OF_INT8 = "fp16"  # an int8 cache is read by fp16 queries
REPETITIONS = 1000
MOST_KEPT = 100  # samples of a cell, where every way of hundreds of cells is kept


@record
class Attention:
    """All cells of the benchmark; skipped: what was left out, each with its reason."""

    shape: AttentionShape
    points: tuple[AttentionPoint, ...] = ()
    gates: tuple[Gate, ...] = ()
    skipped: tuple[str, ...] = ()
    complete: bool = True


def measure_attention(
    backend: Backend,
    options: Options | None = None,
    shape: AttentionShape | None = None,
    contexts: Sequence[int] = CONTEXTS,
    dtypes: Sequence[str] = DTYPES,
    progress: Progress = silent,
    on_result: Callable[[Attention], None] | None = None,
    budget: Budget | None = None,
) -> Attention:
    """Every (dtype, context) cell that this machine computes in its own arithmetic; the rest is skipped with a reason.

    A cell is the median of 1000 repetitions, or of as many as fit its time, at least 10. `options.budget_s` covers
    this whole call unless a `budget` shared with others is given. on_result gets all that is complete so far.
    "int8" is an int8 cache under fp16 queries.
    """
    options, shape = options or Options(), shape or AttentionShape()
    budget = budget or Budget(backend.clock, options.budget_s)
    possible, skipped = _possible(backend, dtypes, shape, options)
    cells = [(dtype, context) for dtype in possible for context in contexts]
    so_far = Attention(shape, skipped=skipped)
    overheads_s: dict[str, float] | None = {} if options.every_way else None
    for count, (dtype, context) in enumerate(cells):
        progress(f"decode attention {dtype} S={context}", count / len(cells))
        so_far = _add(
            so_far, backend, dtype, context, _shared(options, budget, len(cells) - count), budget, overheads_s
        )
        if on_result:
            on_result(so_far)
    progress("decode attention", 1.0)
    return so_far


def _possible(
    backend: Backend, dtypes: Sequence[str], shape: AttentionShape, options: Options
) -> tuple[list[str], tuple[str, ...]]:
    """The dtypes this backend computes attention in, and a sentence for each other."""
    possible, skipped = [], []
    for dtype in dtypes:
        try:
            with fits(f"decode attention {dtype}"):
                backend.attention(dtype, 1, shape, options.seed)
            possible.append(dtype)
        except Cannot as reason:
            skipped.append(str(reason))
    return possible, tuple(skipped)


def _shared(options: Options, budget: Budget, cells: int) -> Options:
    """The cell's limit, shortened so that the rest of the budget serves all remaining cells."""
    return replace(options, cell_s=max(0.0, min(options.cell_s, 0.7 * budget.left() / cells)))


def measure_cell(
    backend: Backend, dtype: str, context: int, shape: AttentionShape, options: Options, budget: Budget
) -> tuple[AttentionPoint, Gate]:
    """One cell in the fastest way. Raises Cannot when the dtype is not computed natively or the result is wrong."""
    ways = backend.attention(dtype, context, shape, options.seed)
    kernel, error = _fastest_right(backend, ways, dtype, context, options, budget)
    overhead_s = _overhead_s(backend, dtype, kernel, shape, options, budget)
    return _measured(backend, (kernel, error, overhead_s), (dtype, context, shape), options, budget)


def measure_ways(
    backend: Backend,
    dtype: str,
    context: int,
    shape: AttentionShape,
    options: Options,
    budget: Budget,
    overheads_s: dict[str, float],
) -> tuple[list[tuple[AttentionPoint, Gate]], tuple[str, ...]]:
    """One cell in every way that fits and gives the right result, and a sentence for each way that does not fit.

    overheads_s: what is known of them, by way; is filled here. Raises Cannot when no way is left.
    """
    found: list[tuple[AttentionPoint, Gate]] = []
    lost: list[str] = []
    cell = (dtype, context, shape)
    for way, variants in _by_way(backend.attention(dtype, context, shape, options.seed)).items():
        try:
            with fits(f"decode attention {dtype} S={context} batch {shape.batch} ({way})"):
                right = _fastest_variant(backend, variants, dtype, options, budget)
                if right is not None:
                    found.append(_measured_way(backend, right, cell, options, budget, overheads_s))
        except Cannot as reason:
            lost.append(str(reason))
    if not found:
        why = "; ".join(lost) or f"no way comes within {MOST_ERROR[dtype]:.0e}"
        raise Cannot(f"decode attention {dtype} S={context} refused: {why}")
    return found, tuple(lost)


def _by_way(kernels: Sequence[Kernel]) -> dict[str, list[Kernel]]:
    """The variants of each way."""
    found: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        found.setdefault(kernel.way or kernel.unit, []).append(kernel)
    return found


def _fastest_variant(
    backend: Backend, variants: Sequence[Kernel], dtype: str, options: Options, budget: Budget
) -> tuple[Kernel, float] | None:
    """The fastest of those that are right, with how far it is off; None when none is."""
    errors = {kernel.unit: kernel.error() for kernel in variants}
    right = [kernel for kernel in variants if errors[kernel.unit] <= MOST_ERROR[dtype]]
    if not right:
        return None
    best = right[0]
    if len(right) > 1:
        best, _ = fastest(backend, right, budget, options.cell_s, rounds=3)
    return best, errors[best.unit]


def _measured_way(
    backend: Backend,
    right: tuple[Kernel, float],
    cell: tuple[str, int, AttentionShape],
    options: Options,
    budget: Budget,
    overheads_s: dict[str, float],
) -> tuple[AttentionPoint, Gate]:
    (kernel, error), (dtype, _, shape) = right, cell
    key = f"{dtype} {kernel.unit}"
    if key not in overheads_s and shape.tokens == 1:
        overheads_s[key] = _overhead_s(backend, dtype, kernel, shape, options, budget)
    point, gate = _measured(backend, (kernel, error, overheads_s.get(key)), cell, options, budget)
    return replace(point, samples_s=thinned(point.samples_s)), gate


def _measured(
    backend: Backend,
    way: tuple[Kernel, float, float | None],
    cell: tuple[str, int, AttentionShape],
    options: Options,
    budget: Budget,
) -> tuple[AttentionPoint, Gate]:
    (kernel, error, overhead_s), (dtype, context, shape) = way, cell
    rule = Rule(options.cell_s, most=REPETITIONS, interval=0.0, warm_s=options.cell_s / 20)
    run = repeat(backend, kernel, rule, budget, f"attention/{dtype}/{context}")
    reasons = own_faults(run)
    point = AttentionPoint(
        dtype=dtype if kernel.kv_dtype is None else MATH_OF_INT8,
        context=context,
        layers=shape.layers,
        width=shape.width,
        heads=shape.heads,
        time_s=run.median_s,
        best_s=run.best_s,
        count=len(run.samples_s) * kernel.inner,
        calls=kernel.calls,
        overhead_s=overhead_s,
        relative_error=error,
        samples_s=run.samples_s,
        implementation=kernel.way or kernel.unit,
        trusted=not reasons,
        why_not="; ".join(reasons) or None,
        model=shape.name,
        kv_heads=shape.kv_heads if shape.kv_heads != shape.heads else None,
        batch=shape.batch,
        kv_dtype=kernel.kv_dtype,
        tokens=shape.tokens,
    )
    return point, run.gate


def thinned(samples: Sequence[float]) -> tuple[float, ...]:
    """At most MOST_KEPT samples, evenly spread over the run."""
    step = max(1, math.ceil(len(samples) / MOST_KEPT))
    return tuple(samples[::step])


def _fastest_right(
    backend: Backend, ways: Sequence[Kernel], dtype: str, context: int, options: Options, budget: Budget
) -> tuple[Kernel, float]:
    """The fastest way whose result is right, and how far it is off."""
    _, seconds = fastest(backend, ways, budget, options.cell_s / 8, rounds=9)
    errors = []
    for kernel in sorted(ways, key=lambda k: seconds[k.unit]):
        errors.append(kernel.error())
        if errors[-1] <= MOST_ERROR[dtype]:
            return kernel, errors[-1]
    allowed = f"(at most {MOST_ERROR[dtype]:.0e})"
    raise Cannot(f"decode attention {dtype} S={context} refused: off float64 by {min(errors):.1e} {allowed}")


def _overhead_s(
    backend: Backend, dtype: str, like: Kernel, shape: AttentionShape, options: Options, budget: Budget
) -> float:
    """The same calls over one cached token: what the step costs apart from its data."""
    kernel = next(k for k in backend.attention(dtype, 1, shape, options.seed) if k.unit == like.unit)
    return repeat(backend, kernel, Rule(options.cell_s / 10, most=100), budget).median_s


def _add(
    so_far: Attention,
    backend: Backend,
    dtype: str,
    context: int,
    options: Options,
    budget: Budget,
    overheads_s: dict[str, float] | None,
) -> Attention:
    if budget.over():
        why = f"decode attention {dtype} S={context} skipped: the time budget was used up"
        return replace(so_far, skipped=(*so_far.skipped, why), complete=False)
    cell = (backend, dtype, context, so_far.shape, options, budget)
    try:
        with fits(f"decode attention {dtype} S={context}"):
            found, lost = ([measure_cell(*cell)], ()) if overheads_s is None else measure_ways(*cell, overheads_s)
    except Cannot as reason:
        skipped = tuple(dict.fromkeys((*so_far.skipped, str(reason))))
        return replace(so_far, skipped=skipped)
    points, gates = zip(*found, strict=True)
    return replace(
        so_far,
        points=(*so_far.points, *points),
        gates=(*so_far.gates, *gates),
        skipped=tuple(dict.fromkeys((*so_far.skipped, *lost))),
    )
