"""A whole run attributed: what the roofs ask, what kernels took beyond it, and what ran no kernel at all.

span = kernels + collectives + copies + gaps (Timeline); kernels = floor + inefficiency + unknown. Kernels that overlap
share the time they ran together in proportion to their durations; their floor is no less than what they ask of one
resource together, which no overlap makes less of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rooflens.accounting.kernels import judged, known
from rooflens.accounting.lever import UNPACKING
from rooflens.accounting.record import CONVENTIONS, Account, Attribution, Judged, OnDevice, Remedy
from rooflens.arrays import maximum
from rooflens.errors import NoPath
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.observed import Observed, Timeline
from rooflens.units import percent, show

HOST, IDLE = "host", "idle"
MOST_OF_SPAN = 0.5  # of the span in gaps: the run is bound by what the device waits for


def account(seen: Observed, machine: Machine, launch_s: float = 0.0, notes: Sequence[str] = ()) -> Account:
    """Where the time of this file went, against the roofs of `machine`.

    launch_s: what the device takes to start one kernel; 0 where nobody knows it.
    """
    whole_s = seen.time_s
    kernels = tuple(judged(kernel, machine, whole_s, launch_s) for kernel in seen.kernels)
    moving = {i for i, kernel in enumerate(seen.kernels) if kernel.collective is not None}
    devices = tuple(_devices(seen, kernels, moving, machine))
    attribution = _total([one.attribution_s for one in devices]) if devices else _alone(kernels, moving)
    known_s = sum(k.time_s or 0.0 for i, k in enumerate(seen.kernels) if i not in moving and known(k))
    counted_s = sum(k.spent_s for i, k in enumerate(kernels) if i not in moving)
    math = _main_math(kernels)
    replayed = 2 * sum(one.graph_launches for one in devices) > sum(one.launches for one in devices)
    span_s = sum(one.span_s for one in devices) or whole_s
    return Account(
        where=seen.where,
        format=seen.format,
        machine=machine.title,
        kernels=tuple(sorted(kernels, key=lambda k: -k.spent_s)),
        attribution_s=attribution,
        time_s=whole_s,
        bound=_bound(attribution, kernels),
        known_share=known_s / counted_s if counted_s else None,
        conventions={**CONVENTIONS, "peaks": machine.peak_basis},
        devices=devices,
        remedies=tuple(sorted(_remedies(attribution, kernels, replayed=replayed), key=lambda r: -r.saves_s)),
        mfu=_mfu(kernels, span_s),
        mbu=_mbu(kernels, machine, span_s),
        main_math=math,
        rank=seen.rank,
        world=seen.world,
        training=seen.training,
        notes=(*machine.assumptions, *notes, *_notes(seen, kernels, attribution)),
        warnings=seen.warnings,
    )


def _devices(seen: Observed, kernels: Sequence[Judged], moving: set[int], machine: Machine) -> Iterator[OnDevice]:
    for line in seen.timelines:
        own = [i for i, kernel in enumerate(seen.kernels) if kernel.device == line.device]
        computing = [kernels[i] for i in own if i not in moving]
        yield OnDevice(
            line.device,
            line.span_s,
            _on_line(line, computing, machine),
            line.launches,
            line.graph_launches,
            line.streams,
        )


def _on_line(line: Timeline, computing: Sequence[Judged], machine: Machine) -> Attribution:
    floor, beyond, unknown = _split(computing)
    summed = floor + beyond + unknown
    share = line.kernels_s / summed if summed else 0.0
    known_s = (floor + beyond) * share
    floor_s = min(max(floor * share, _asked_s(computing, machine)), known_s)
    return Attribution(
        floor=floor_s,
        inefficiency=known_s - floor_s,
        unknown=unknown * share if summed else line.kernels_s,
        collectives=line.collectives_s,
        launch=line.launch_s,
        host_idle=line.host_s,
        unseen_idle=line.unseen_s,
        copies=line.copies_s,
    )


def _asked_s(computing: Iterable[Judged], machine: Machine) -> float:
    """The most seconds that these kernels ask of one resource together, none for longer than it ran."""
    rate = _read_bytes_per_s(machine)
    asked: dict[str, float] = {}
    for kernel in computing:
        if kernel.floor_s is not None and kernel.bytes is not None and rate:
            asked["memory"] = asked.get("memory", 0.0) + min(kernel.bytes / rate, kernel.floor_s, kernel.spent_s)
        if kernel.floor_s is not None and kernel.mfu is not None:
            unit = kernel.unit or "matrix"
            asked[unit] = asked.get(unit, 0.0) + min(kernel.mfu * kernel.spent_s, kernel.floor_s, kernel.spent_s)
    return max(asked.values(), default=0.0)


def _read_bytes_per_s(machine: Machine) -> float | None:
    try:
        return machine.memory("read").floor_value
    except NoPath:
        return None


def _alone(kernels: Sequence[Judged], moving: set[int]) -> Attribution:
    """Of a file without a timeline: what its kernels took, and nothing of what was between them."""
    floor, beyond, unknown = _split([k for i, k in enumerate(kernels) if i not in moving])
    return Attribution(floor, beyond, unknown, sum(kernels[i].spent_s for i in moving))


def _split(kernels: Iterable[Judged]) -> tuple[float, float, float]:
    """Seconds of the floor, beyond it, and of kernels that have none. A kernel above its roof is all floor."""
    floor = beyond = unknown = 0.0
    for kernel in kernels:
        asked = _floor_s(kernel)
        if asked is None:
            unknown += kernel.spent_s
        else:
            floor += asked
            beyond += kernel.spent_s - asked
    return floor, beyond, unknown


def _floor_s(kernel: Judged) -> float | None:
    """What the roof asks of it, at most the time it took."""
    return None if kernel.floor_s is None else min(kernel.floor_s, kernel.spent_s)


def _total(parts: Sequence[Attribution]) -> Attribution:
    """Of several devices added up; a part that one of them does not know is not known."""

    def added(name: str) -> float | None:
        each = [getattr(one, name) for one in parts]
        return None if any(value is None for value in each) else sum(each)

    floor, beyond, unknown, talking = (
        sum(getattr(one, name) for one in parts) for name in ("floor", "inefficiency", "unknown", "collectives")
    )
    waiting = (added(name) for name in ("launch", "host_idle", "unseen_idle", "copies"))
    return Attribution(floor, beyond, unknown, talking, *waiting)


def _bound(attribution: Attribution, kernels: Sequence[Judged]) -> str | None:
    """The host, or idle, where most of the time is gaps, else the regime that holds most; None: nobody knows that."""
    if _waiting_s(attribution) > MOST_OF_SPAN * attribution.whole_s:
        return HOST
    if (attribution.unseen_idle or 0.0) > MOST_OF_SPAN * attribution.whole_s:
        return IDLE
    held: dict[str | None, float] = {}
    for kernel in kernels:
        held[kernel.regime] = held.get(kernel.regime, 0.0) + kernel.spent_s
    return max(held, key=lambda name: held[name], default=None)


def _waiting_s(attribution: Attribution) -> float:
    """Seconds in which the device had nothing to do because the host had not launched it yet, or was launching."""
    return (attribution.host_idle or 0.0) + (attribution.launch or 0.0)


def _main_math(kernels: Sequence[Judged]) -> str | None:
    """The math that most FLOPs are done in."""
    by: dict[str, float] = {}
    for kernel in kernels:
        if kernel.dtype is not None and kernel.flops and kernel.mfu is not None:
            by[kernel.dtype] = by.get(kernel.dtype, 0.0) + kernel.flops
    return max(by, key=lambda math: by[math], default=None)


def _mfu(kernels: Sequence[Judged], span_s: float) -> float | None:
    """FLOPs that are known, each math over its own dense peak, over the span."""
    at_peak_s = [kernel.mfu * kernel.spent_s for kernel in kernels if kernel.mfu is not None]
    return sum(at_peak_s) / span_s if at_peak_s and span_s else None


def _mbu(kernels: Sequence[Judged], machine: Machine, span_s: float) -> float | None:
    """Bytes that are known over the span, of the read bandwidth of main memory."""
    moved = [kernel.bytes for kernel in kernels if kernel.bytes is not None]
    rate = _read_bytes_per_s(machine)
    return sum(moved) / span_s / rate if moved and span_s and rate else None


def _remedies(attribution: Attribution, kernels: Sequence[Judged], *, replayed: bool) -> Iterator[Remedy]:
    """Changes to the run as a whole, each with the most that it can save."""
    whole = attribution.whole_s

    def remedy(name: str, saves_s: float, why: str) -> Iterator[Remedy]:
        if saves_s > 0.01 * whole:
            left = float(maximum([whole - saves_s, whole * 1e-6]))
            yield Remedy(name, saves_s, whole / left, why)

    waiting = _waiting_s(attribution)
    waits = f"{show(waiting, 's', 3)} ({percent(waiting / whole) if whole else '-'})"
    if replayed:
        yield from remedy(
            "fusion", waiting, f"the device waits {waits} between kernels of graphs: fewer, fused kernels"
        )
    else:
        said = "record the step once and replay it as a CUDA graph, or compile it"
        yield from remedy("graphs", waiting, f"the device waits {waits} for the host and its launches: {said}")
    together = _together(attribution, kernels)
    for said, seconds in _beyond(kernels).items():
        yield from remedy("kernels", seconds * together, f"{said}: what those kernels took beyond their floors")
    yield from remedy(
        "collectives", attribution.collectives, "collectives that nothing overlaps: overlap, or fewer devices a layer"
    )
    yield from remedy(
        "copies", attribution.copies or 0.0, "copies that nothing overlaps: keep it on the device, or pin"
    )


def _together(attribution: Attribution, kernels: Sequence[Judged]) -> float:
    """The time in which kernels ran over their times added up: 1 where no streams overlap."""
    summed = sum(kernel.spent_s for kernel in kernels if kernel.family != "collective")
    ran = attribution.floor + attribution.inefficiency + attribution.unknown
    return min(ran / summed, 1.0) if summed else 1.0


def _beyond(kernels: Sequence[Judged]) -> dict[str, float]:
    """Seconds beyond the floor by lever; all of a kernel that unpacks weights. Collectives have a part of their own."""
    beyond: dict[str, float] = {}
    for kernel in kernels:
        floor = 0.0 if kernel.lever == UNPACKING else _floor_s(kernel)
        if kernel.lever is not None and floor is not None and kernel.family != "collective":
            beyond[kernel.lever] = beyond.get(kernel.lever, 0.0) + kernel.spent_s - floor
    return beyond


def _notes(seen: Observed, kernels: Sequence[Judged], attribution: Attribution) -> Iterator[str]:
    if not seen.timelines and seen.kernels:
        yield "the file has no timeline: what was between the kernels is not known"
    if len(seen.timelines) > 1:
        yield f"{len(seen.timelines)} devices: seconds are theirs added up; each alone is under devices"
    if _waiting_s(attribution) > MOST_OF_SPAN * attribution.whole_s:
        yield "a profiler slows the host itself: without it the device waits less than here"
    if seen.rank is not None:
        yield f"rank {seen.rank}" + (f" of {seen.world}" if seen.world is not None else "") + " of a job, alone"
    if seen.training:
        yield "a training step: backward kernels are told apart by their operators (phase)"
    timeless = sum(1 for kernel in kernels if kernel.time_s is None)
    if timeless:
        yield f"{timeless} kernels have no time in the file: sums and shares are of the others"
    above = sum(1 for kernel in kernels if kernel.findings)
    if above:
        yield f"{above} kernels are above their roof; each says what to suspect, and counts as all floor here"
