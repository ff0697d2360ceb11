"""From timed runs to ceilings: every reason to refuse one, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rooflens.measure.loop import LEAST_SAMPLES, Run
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Kind
from rooflens.roofline.profile import Gate
from rooflens.units import percent, show

MOST_OF_PEAK = 1.05

Roof = tuple[Ceiling, Gate]


def ceiling(id: str, work: float, run: Run, value: float, faults: Iterable[str], **more: Any) -> Ceiling:
    """A measured rate: `work` per second of each sample. `faults` and the run's own make it untrusted."""
    rates = tuple(work / s for s in run.samples_s)
    reasons = [*faults, *own_faults(run)]
    return Ceiling(
        id=id,
        value=value,
        origin="measured",
        trusted=not reasons,
        why_not="; ".join(reasons) or None,
        samples=rates,
        best=max(rates),
        clock_hz=run.after.clock_hz,
        power_w=run.after.power_w,
        source=run.kernel.unit,
        **more,
    )


def byte_rate(
    id: str, size_bytes: float, run: Run, faults: Iterable[str], says: str, *, kind: Kind, level: str, access: str
) -> Roof:
    """Bytes over the median of a run. says: what its note begins with."""
    made = ceiling(
        id, size_bytes, run, size_bytes / run.median_s, faults, kind=kind, level=level, access=access,
        working_set_bytes=size_bytes,
    )  # fmt: skip
    note = "; ".join(filter(None, [says, run.kernel.note, unsettled(run)]))
    return replace(made, note=note), replace(run.gate, id=id)


def own_faults(run: Run) -> list[str]:
    """What speaks against a run by itself: the way it was computed, too few samples, others meanwhile."""
    few = f"only {len(run.samples_s)} samples before time ran out (at least {LEAST_SAMPLES})"
    return [
        *([run.kernel.why_not] if run.kernel.why_not else []),
        *([few] if len(run.samples_s) < LEAST_SAMPLES else []),
        *run.gate.reasons,
    ]


def wrong_result(error: float, tolerance: float) -> list[str]:
    """A fault when the checked result is off by more than `tolerance` (NaN included)."""
    if error <= tolerance:
        return []
    return [f"wrong result: relative error {error:.1e} against float64 (at most {tolerance:.0e})"]


def above_peak(value: float, peak: Ceiling | None) -> list[str]:
    """A fault when a rate exceeds its peak by more than 5 %: a wrong dtype, dead code, or the wrong peak."""
    if peak is None or value <= MOST_OF_PEAK * peak.value:
        return []
    share = percent(value / peak.value)
    return [f"{share} of the {peak.origin} peak of {show(peak.value, peak.unit)}: a mistake in one of the two"]


def unsettled(run: Run) -> str:
    """The sentence for a run that time ended, else ""."""
    return "" if run.converged else f"not converged after {len(run.samples_s)} samples"
