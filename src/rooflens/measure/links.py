"""Links: between host and device (pinned and pageable memory, each direction, both at once), and between devices."""

from __future__ import annotations

from rooflens.measure.backend import Backend, Kernel
from rooflens.measure.budget import Budget
from rooflens.measure.judge import ceiling, unsettled, wrong_result
from rooflens.measure.loop import Rule, repeat
from rooflens.measure.options import Options
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Gate

SIZE_BYTES = 2**28
PEER_BYTES = 2**30  # copies under 256 MiB between devices read low
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
PEER_WAYS = (
    Way("to", "copy to the other device"),
    Way("from", "copy from the other device"),
    Way("both", "both directions at once; one direction's rate"),
)


def measure_link(backend: Backend, way: Way, options: Options, budget: Budget) -> tuple[Ceiling, Gate]:
    """Byte/s in one direction. Raises Cannot where there is no such link."""
    kernel = backend.transfer(way.name, SIZE_BYTES)
    name = way.name.replace(" ", "-")
    return _measured(backend, kernel, SIZE_BYTES, (LEVEL, name, way.name), way.note, options, budget)


def measure_peer(
    backend: Backend, pair: tuple[int, int], way: Way, options: Options, budget: Budget
) -> tuple[Ceiling, Gate]:
    """Byte/s in one direction between two devices, (own, other). Raises Cannot where no copy is possible."""
    kernel = backend.peer(pair[1], way.name, PEER_BYTES)
    name = peer_name(pair, way)
    return _measured(backend, kernel, PEER_BYTES, (kernel.path or "peer", name, name), way.note, options, budget)


def peer_name(pair: tuple[int, int], way: Way) -> str:
    """ "0-1" is device 0 to device 1, "1-0" the way back, "0+1" both at once."""
    own, other = pair
    return {"to": f"{own}-{other}", "from": f"{other}-{own}"}.get(way.name, f"{min(pair)}+{max(pair)}")


def _measured(
    backend: Backend,
    kernel: Kernel,
    size: int,
    named: tuple[str, str, str],
    note: str,
    options: Options,
    budget: Budget,
) -> tuple[Ceiling, Gate]:
    """named: level, last part of the id, access."""
    level, name, access = named
    faults = wrong_result(kernel.error(), kernel.tolerance)
    run = repeat(backend, kernel, Rule(limit_s=options.cache_s, warm_s=0.05 * options.cache_s), budget)
    roof = ceiling(
        f"link/{level}/{name}",
        size,
        run,
        run.samples_s,
        size / run.median_s,
        faults,
        kind="link",
        level=level,
        access=access,
        working_set_bytes=float(size),
    )
    said = "; ".join(filter(None, [note, kernel.note, unsettled(run)]))
    return replace(roof, note=said), replace(run.gate, id=roof.id)
