"""The whole measurement: one stage after another, each kept as soon as it is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from rooflens.measure.again import confirmed
from rooflens.measure.backend import Backend, Cannot
from rooflens.measure.bandwidth import stand_out
from rooflens.measure.budget import Budget
from rooflens.measure.gate import remark
from rooflens.measure.gemm import Roofs
from rooflens.measure.memory import fits
from rooflens.measure.options import Options, Progress, silent
from rooflens.measure.stages import Stage, plan
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Gate, GemmPoint, Profile
from rooflens.samples import median
from rooflens.units import percent

SLOWER = 0.9


@dataclass(slots=True)
class Findings:
    """What is complete so far."""

    ceilings: list[Ceiling] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    points: list[GemmPoint] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    complete: bool = True

    def add(self, found: Roofs) -> None:
        """Keep what a stage found."""
        self.ceilings += found.ceilings
        self.gates += found.gates
        self.points += found.points


def measure(
    backend: Backend,
    options: Options | None = None,
    progress: Progress = silent,
    on_result: Callable[[Profile], None] | None = None,
) -> Profile:
    """Measure every ceiling this backend can show. Raises Cannot when it cannot be used here at all.

    progress(name, fraction) before each stage. on_result(profile so far) after each, so that whoever interrupts keeps
    what is complete; KeyboardInterrupt passes through. A budget shortens every stage, and what no time is left for
    is skipped with that reason.
    """
    options = options or Options()
    if reason := backend.why_not():
        raise Cannot(reason)
    began = datetime.now(UTC).isoformat(timespec="seconds")
    found = Findings()
    stages = plan(backend, _possible(backend, options, found))
    total_s = sum(s.seconds for s in stages)
    budget = Budget(backend.clock, options.budget_s, min(1.0, (options.budget_s or total_s) / total_s))
    done_s = 0.0
    for stage in stages:
        progress(stage.name, done_s / total_s)
        _do(stage, found, budget)
        done_s += stage.seconds
        if on_result:
            on_result(_profile(backend, options, found, began, budget))
    found.ceilings = confirmed(backend, options, found.ceilings, budget, lambda name: progress(name, 1.0))
    progress("measured", 1.0)
    return _profile(backend, options, found, began, budget)


def _possible(backend: Backend, options: Options, found: Findings) -> Options:
    """The options with only the dtypes that this backend multiplies; a sentence in `found` for each other."""
    possible = []
    for dtype in options.dtypes:
        try:
            with fits(dtype):
                backend.gemm(dtype, 64, 64, 64, options.seed)
            possible.append(dtype)
        except Cannot as reason:
            found.skipped.append(str(reason))
    return replace(options, dtypes=tuple(possible))


def _do(stage: Stage, found: Findings, budget: Budget) -> None:
    if budget.over():
        found.skipped.append(f"{stage.name} skipped: the time budget was used up")
        found.complete = False
        return
    try:
        with fits(stage.name):
            found.add(stage.run(budget))
    except Cannot as reason:
        found.skipped.append(str(reason))


def _profile(backend: Backend, options: Options, found: Findings, began: str, budget: Budget) -> Profile:
    ceilings = _checked(found.ceilings)
    return Profile(
        device=replace(backend.device(), clock_hz=_clock_hz(ceilings) or backend.device().clock_hz),
        ceilings=(*ceilings, *backend.peaks()),
        seed=options.seed,
        started=began,
        duration_s=budget.spent(),
        versions=backend.versions(),
        budget_s=options.budget_s,
        quick=options.quick,
        complete=found.complete,
        contention=contention(found.gates),
        throttle="; ".join(dict.fromkeys(f"{c.id}: {c.throttle}" for c in ceilings if c.throttle)) or None,
        gates=tuple(found.gates),
        gemms=tuple(found.points),
        notes=tuple(_notes(ceilings, found.gates, options)),
        skipped=tuple(found.skipped),
    )


def _checked(ceilings: Sequence[Ceiling]) -> list[Ceiling]:
    """All ceilings, cache levels set against the level below."""
    main = next((c for c in ceilings if c.id == "memory/main/read" and c.trusted), None)
    caches = [c for c in ceilings if c.kind == "memory" and c.level != "main"]
    checked = {c.id: c for c in stand_out(caches, main)}
    return [checked.get(c.id, c) for c in ceilings]


def contention(gates: Sequence[Gate]) -> str | None:
    """One sentence about who else ran, None when nobody did."""
    disturbed = [g for g in gates if g.reasons]
    if not disturbed:
        return None
    count = f"{len(disturbed)} of {len(gates)} measurements were disturbed and are not used"
    worst = min(disturbed, key=lambda g: 1.0 if g.cpu_share is None else g.cpu_share)
    return f"{count}; the worst, {worst.id}: {'; '.join(worst.reasons)}"


def _clock_hz(ceilings: Sequence[Ceiling]) -> float | None:
    clocks = [c.clock_hz for c in ceilings if c.kind == "compute" and c.clock_hz]
    return median(clocks) if clocks else None


def _notes(ceilings: Sequence[Ceiling], gates: Sequence[Gate], options: Options) -> list[str]:
    notes = ["bytes are read + written as the program asked; a line read before an ordinary store is not counted"]
    if options.quick:
        notes.append("quick: short rests and runs, no second try; sustained rates may not have settled")
    taken = remark(gates)
    return [*notes, *([taken] if taken else []), *slower_than_fp32(ceilings)]


def slower_than_fp32(ceilings: Sequence[Ceiling]) -> list[str]:
    """A sentence for every narrower dtype that this machine computes more slowly than fp32."""
    roofs = {c.dtype: c for c in ceilings if c.kind == "compute" and c.mode == "burst"}
    base = roofs.get("fp32")
    slow = [c for d, c in roofs.items() if d in ("bf16", "fp16", "int8") and base and c.value < SLOWER * base.value]
    return [
        f"{c.dtype} is slower than fp32 here ({percent(c.value / base.value, 2)} of its rate): "
        f"no matrix unit and no {c.dtype} instruction carries it; store in {c.dtype}, compute in fp32"
        for c in slow
        if base
    ]
