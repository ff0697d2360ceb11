"""The compute roof of a dtype: the best product, fresh from rest (burst) and settled (sustained)."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.measure.backend import Backend, Kernel
from rooflens.measure.budget import Budget
from rooflens.measure.judge import above_peak, ceiling, own_faults, unsettled, wrong_result
from rooflens.measure.loop import LEAST_SAMPLES, Rule, Run, fastest, first, repeat, settle, window
from rooflens.measure.options import Options, may_retry
from rooflens.measure.shapes import Best, Shape, Shapes, best_shapes
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Ceiling, Mode
from rooflens.roofline.place import BELOW_ROOF_SHARE
from rooflens.roofline.profile import Device, Gate, GemmPoint
from rooflens.samples import median
from rooflens.units import percent, show

THROTTLED = 0.95


@record
class Roofs:
    """What measuring one dtype gave; a point for every shape tried."""

    ceilings: tuple[Ceiling, ...] = ()
    gates: tuple[Gate, ...] = ()
    points: tuple[GemmPoint, ...] = ()


def measure_gemm(backend: Backend, dtype: str, options: Options, budget: Budget) -> Roofs:
    """Burst and, where it is asked for, sustained roof of `dtype`, each at its best shape.

    Raises Cannot when no library here multiplies it.
    """
    best = best_shapes(backend, dtype, options, budget)
    kernels = {chosen.shape: chosen.kernel for chosen in (best.fresh, best.lasting)}
    wrong = {shape: _wrong(kernel) for shape, kernel in kernels.items()}
    burst, sustained = _both(backend, dtype, best, options, budget)
    fresh = _ceiling("burst", dtype, best.fresh, burst, burst.samples_s, wrong, backend)
    points = _measured_best(best, burst, fresh)
    if sustained is None:
        return Roofs((fresh,), (replace(burst.gate, id=fresh.id),), points)
    settled = _ceiling("sustained", dtype, best.lasting, sustained, _settled(sustained), wrong, backend)
    settled = replace(settled, throttle=throttled(fresh, burst, settled, sustained))
    gates = tuple(replace(run.gate, id=roof.id) for run, roof in ((burst, fresh), (sustained, settled)))
    return Roofs((fresh, settled), gates, points)


def measure_point(
    backend: Backend, dtype: str, m: int, n: int, k: int, options: Options, budget: Budget, name: str = ""
) -> GemmPoint:
    """One product as an operator point: the median over at least ten runs in the fastest way."""
    kernel, _ = fastest(backend, backend.gemm(dtype, m, n, k, options.seed), budget, options.cell_s / 4)
    faults = _wrong(kernel)
    rule = Rule(limit_s=options.cell_s, sample_s=20e-6, warm_s=0.05)
    run = repeat(backend, kernel, rule, budget)
    reasons = [*faults, *own_faults(run)]
    return GemmPoint(
        name=name or f"gemm {dtype} {m}x{n}x{k}",
        dtype=dtype,
        m=m,
        n=n,
        k=k,
        time_s=run.median_s,
        best_s=run.best_s,
        samples_s=run.samples_s[:1000],
        path=kernel.path,
        trusted=not reasons,
        why_not="; ".join(reasons) or None,
    )


def _wrong(kernel: Kernel) -> list[str]:
    return wrong_result(kernel.error(), kernel.tolerance)


def throttled(burst: Ceiling, burst_run: Run, sustained: Ceiling, run: Run) -> str | None:
    """Why the settled rate is lower than the fresh one, when it is by over 5 %, or what the device says."""
    said = ", ".join(dict.fromkeys((*run.before.throttle, *run.after.throttle)))
    if sustained.value >= THROTTLED * burst.value or not sustained.trusted:
        return said or None
    fell = f"rate fell {percent(1 - sustained.value / burst.value, 2)} from burst to sustained"
    first, last = burst_run.before.clock_hz, run.after.clock_hz
    clocks = f", clock {show(first, 'Hz', 3)} to {show(last, 'Hz', 3)}" if first and last else ""
    return fell + clocks + (f" ({said})" if said else "")


def _both(backend: Backend, dtype: str, best: Shapes, options: Options, budget: Budget) -> tuple[Run, Run | None]:
    settles = options.sustained is None or dtype in options.sustained

    def attempt() -> tuple[Run, Run | None]:
        backend.rest(budget.limit(options.rest_s))
        burst = first(backend, best.fresh.kernel, LEAST_SAMPLES, budget)
        least_s = budget.limit(options.sustained_least_s)
        settled = settle(backend, best.lasting.kernel, least_s, options.sustained_s, budget) if settles else None
        return burst, settled

    runs = attempt()
    needed_s = options.rest_s + options.burst_s / 2 + options.sustained_s
    if not any(r.gate.reasons for r in runs if r) or not may_retry(options, budget, needed_s):
        return runs
    second = attempt()
    return _cleaner(runs[0], second[0]), runs[1] and second[1] and _cleaner(runs[1], second[1])


def _cleaner(a: Run, b: Run) -> Run:
    """The run with fewer reasons against it; of equals the faster."""
    return min(a, b, key=lambda r: (len(r.gate.reasons), r.median_s))


def _settled(run: Run) -> tuple[float, ...]:
    return run.samples_s[-window(run.samples_s) :]


def _ceiling(
    mode: Mode,
    dtype: str,
    best: Best,
    run: Run,
    speaking: tuple[float, ...],
    wrong: Mapping[Shape, list[str]],
    backend: Backend,
) -> Ceiling:
    rate = best.flops / median(speaking)
    path = best.kernel.path or "vector"
    peak = {p.dtype: p for p in backend.peaks() if p.path == best.kernel.path}.get(dtype)
    made = ceiling(
        f"compute/{path}/{dtype}/{mode}",
        best.flops,
        run,
        rate,
        [*wrong[best.shape], *above_peak(rate, peak)],
        kind="compute",
        dtype=dtype,
        path=path,
        mode=mode,
    )
    return replace(made, note="; ".join(_notes(made, best, run, peak, backend.device())))


def _notes(made: Ceiling, best: Best, run: Run, peak: Ceiling | None, device: Device) -> list[str]:
    notes = [
        f"{' x '.join(map(str, best.shape))} random normal",
        *([best.chosen] if best.chosen else []),
        *([best.kernel.note] if best.kernel.note else []),
    ]
    if unsettled(run):
        notes.append(unsettled(run))
    if peak is not None:
        share = made.value / peak.value
        notes.append(f"{percent(share)} of the {peak.origin} peak of {show(peak.value, peak.unit)}")
        if share < BELOW_ROOF_SHARE:
            notes.append("suspects: " + "; ".join(suspects(run.gate, device)))
    return notes


def suspects(gate: Gate, device: Device) -> list[str]:
    """Who may have taken the other half of a peak, the likeliest first."""
    forced = [s for s in device.distrust if "forces" in s or "limits" in s]
    threads = device.blas_threads
    few = [f"the library uses {threads} of {device.threads} threads"] if threads and threads < device.threads else []
    kernel = device.blas_kernel
    path = [f"{device.blas} runs its {kernel} kernel, perhaps not the one for this processor"] if kernel else []
    return [*gate.reasons, *forced, *few, *path] or ["clock, memory speed or a library without a path for this dtype"]


def _measured_best(best: Shapes, burst: Run, roof: Ceiling) -> tuple[GemmPoint, ...]:
    """The points tried, the best shape's with the samples of its burst."""
    return tuple(
        replace(
            point,
            time_s=burst.median_s,
            best_s=burst.best_s,
            samples_s=burst.samples_s,
            trusted=roof.trusted,
            why_not=roof.why_not,
        )
        if (point.m, point.n, point.k) == best.fresh.shape
        else point
        for point in best.points
    )
