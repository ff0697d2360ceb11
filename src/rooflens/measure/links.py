"""Links: between host and device (pinned and pageable memory, each direction, both at once), and between devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rooflens.errors import told
from rooflens.measure.backend import Backend, Cannot, Kernel
from rooflens.measure.budget import Budget
from rooflens.measure.judge import byte_rate, own_faults, wrong_result
from rooflens.measure.loop import Rule, repeat
from rooflens.measure.options import Options, Progress, silent
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.collective import CopyPoint
from rooflens.roofline.profile import Gate

SIZE_BYTES = 2**28
PEER_BYTES = 2**30  # copies under 256 MiB between devices read low
SMALLEST_COPY = 4096
MOST_COPIES = 200  # of one size
LEVEL = "pcie"
OVER = "copies of some pairs skipped: the time budget was used up"


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
    id = f"link/{level}/{name}"
    return byte_rate(id, float(size), run, faults, note, kind="link", level=level, access=access)


@record
class Copies:
    """Copies between devices by size. notes: how some of them went; skipped: a sentence for each that is missing."""

    points: tuple[CopyPoint, ...] = ()
    gates: tuple[Gate, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    took_s: float = 0.0


def copy_sizes(options: Options) -> tuple[int, ...]:
    """4 KiB to 1 GiB, each four times the one before (sixteen times where it must be quick)."""
    every = (SMALLEST_COPY << i for i in range(0, 19, 4 if options.quick else 2))
    return (*(size for size in every if size < PEER_BYTES), PEER_BYTES)


def measure_copies(
    make: Callable[[int], Backend],
    numbers: Sequence[int],
    options: Options,
    budget_s: float | None = None,
    progress: Progress = silent,
) -> Copies:
    """Between every two devices, in each direction and in both at once, by size; one pair at a time.

    make: a backend from its number. budget_s: seconds for all of them.
    """
    found, done, pairs = Copies(), 0, len(numbers) * (len(numbers) - 1) / 2
    for number in numbers:
        backend = make(number)
        budget = Budget(backend.clock, None if budget_s is None else budget_s - found.took_s)
        try:
            for pair in backend.peers():
                if pair[0] < pair[1]:
                    progress(f"copies between {pair[0]} and {pair[1]}", min(1.0, done / pairs))
                    done += 1
                    for way in PEER_WAYS:
                        found = _more(found, backend, pair, way, options, budget)
            found = replace(found, took_s=found.took_s + budget.spent())
        finally:
            backend.close()
    if done:
        return found
    return replace(found, skipped=(f"copies between devices skipped: not measured through {backend.name}",))


def _more(found: Copies, backend: Backend, pair: tuple[int, int], way: Way, options: Options, budget: Budget) -> Copies:
    """With one way of one pair by size."""
    name, points, gates = peer_name(pair, way), [*found.points], [*found.gates]
    notes, skipped = found.notes, found.skipped
    try:
        for size in copy_sizes(options):
            if budget.over():
                skipped = tuple(dict.fromkeys((*skipped, OVER)))
                break
            kernel = backend.peer(pair[1], way.name, size)
            point, gate = _copy(backend, kernel, name, size, options.cache_s / 4)
            points.append(point)
            gates.append(gate)
            notes = tuple(dict.fromkeys((*notes, *([f"{name}: {kernel.note}"] if kernel.note else []))))
    except Cannot as reason:
        skipped = tuple(dict.fromkeys((*skipped, str(reason))))
    except Exception as error:  # noqa: BLE001  (whatever a driver raises for one pair must not cost the others)
        skipped = (*skipped, f"copies {name} skipped: {told(error)}")
    return replace(found, points=tuple(points), gates=tuple(gates), notes=notes, skipped=skipped)


def _copy(backend: Backend, kernel: Kernel, name: str, size: int, limit_s: float) -> tuple[CopyPoint, Gate]:
    wrong = wrong_result(kernel.error(), kernel.tolerance)
    run = repeat(backend, kernel, Rule(limit_s=limit_s, most=MOST_COPIES, warm_s=0.1 * limit_s), Budget(backend.clock))
    level, reasons = kernel.path or "peer", [*wrong, *own_faults(run)]
    point = CopyPoint(
        name, float(size), run.median_s, run.best_s, level, run.samples_s, not reasons, "; ".join(reasons) or None
    )
    return point, replace(run.gate, id=f"copy/{level}/{name}/{size}")
