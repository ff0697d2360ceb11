"""The link between host and device: pinned and pageable memory, each direction, and both at once."""

from __future__ import annotations

from rooflens.measure.backend import Backend
from rooflens.measure.budget import Budget
from rooflens.measure.judge import ceiling, unsettled, wrong_result
from rooflens.measure.loop import Rule, repeat
from rooflens.measure.options import Options
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Gate

SIZE_BYTES = 2**28
LEVEL = "pcie"


@record
class Way:
    """One way over the link; the fastest is the roof of PCIe."""

    name: str
    note: str


WAYS = (
    Way("h2d", "host to device, pinned memory"),
    Way("d2h", "device to host, pinned memory"),
    Way("both", "both directions at once, pinned memory; one direction's rate"),
    Way("h2d pageable", "host to device, pageable memory"),
    Way("d2h pageable", "device to host, pageable memory"),
)


def measure_link(backend: Backend, way: Way, options: Options, budget: Budget) -> tuple[Ceiling, Gate]:
    """Byte/s in one direction. Raises Cannot where there is no such link."""
    kernel = backend.transfer(way.name, SIZE_BYTES)
    faults = wrong_result(kernel.error(), kernel.tolerance)
    run = repeat(backend, kernel, Rule(limit_s=options.cache_s, warm_s=0.05 * options.cache_s), budget)
    id = f"link/{LEVEL}/{way.name.replace(' ', '-')}"
    roof = ceiling(
        id,
        SIZE_BYTES,
        run,
        run.samples_s,
        SIZE_BYTES / run.median_s,
        faults,
        kind="link",
        level=LEVEL,
        access=way.name,
        working_set_bytes=float(SIZE_BYTES),
    )
    note = "; ".join(filter(None, [way.note, unsettled(run)]))
    return replace(roof, note=note), replace(run.gate, id=id)
