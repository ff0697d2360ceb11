"""Memory slopes by access, and the cost of the smallest call."""

from __future__ import annotations

from rooflens.measure.backend import Backend, Cannot
from rooflens.measure.budget import Budget
from rooflens.measure.judge import Roof, byte_rate, own_faults, unsettled, wrong_result
from rooflens.measure.kernels import STREAMS
from rooflens.measure.loop import Rule, Run, fastest, interleave, repeat
from rooflens.measure.options import Options, may_retry
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Cache, Device
from rooflens.units import percent, show, show_binary

MOST_APART = 0.03
MOST_PAIRS = 3
MOST_OVERHEAD = 0.02
STANDS_OUT = 1.15
LARGE_CACHE_BYTES = 128 * 2**20
SMALLEST_SET_BYTES = {"cpu": 128 * 2**20, "gpu": 4 * 2**30}  # a GPU's copies under 1 GiB an array read low
WHEN_CACHE_UNKNOWN_BYTES = 512 * 2**20
GRAIN_BYTES = 2**20


def working_set_bytes(device: Device) -> float:
    """The smaller of the two sets: 4 x the largest shown cache, 2 x where that is large (a VM owns only part of it).

    At most an eighth of memory, since the second set is twice as large.
    """
    shown = device.largest_cache_bytes
    factor = 4 if shown is None or shown <= LARGE_CACHE_BYTES else 2
    wanted = WHEN_CACHE_UNKNOWN_BYTES if shown is None else max(SMALLEST_SET_BYTES[device.kind], factor * shown)
    most = device.memory_bytes / 8 if device.memory_bytes else wanted
    return max(GRAIN_BYTES, min(wanted, most) // GRAIN_BYTES * GRAIN_BYTES)


def measure_main(backend: Backend, access: str, options: Options, budget: Budget) -> Roof:
    """The slope of main memory for `access`: two working sets that must agree, doubled while they do not.

    Raises Cannot when there is no way to do this access here.
    """
    device = backend.device()
    small = working_set_bytes(device)
    most = (device.memory_bytes or 16 * small) / 4
    roof = _pair(backend, access, small, options, budget)
    for _ in range(MOST_PAIRS - 1):
        disturbed = bool(roof[1].reasons)
        possible = may_retry(options, budget, options.stream_s) if disturbed else 4 * small <= most
        if roof[0].trusted or not possible or budget.over():
            break
        small *= 1 if disturbed else 2
        roof = min((roof, _pair(backend, access, small, options, budget)), key=_doubts)
    return roof


def _doubts(roof: Roof) -> tuple[int, float]:
    """Fewest reasons against it first; of equals the faster."""
    return (0 if roof[0].trusted else 1 + len(roof[1].reasons)), -roof[0].value


def _pair(backend: Backend, access: str, small: float, options: Options, budget: Budget) -> Roof:
    small_ways = backend.stream(access, "main", small, options.seed)
    large, _ = fastest(backend, backend.stream(access, "main", 2 * small, options.seed), budget, options.stream_s / 4)
    kernel = next(k for k in small_ways if k.unit == large.unit)
    faults = wrong_result(large.error(), large.tolerance)
    rule = Rule(limit_s=0.7 * options.stream_s, sample_s=0.004, warm_s=0.05 * options.stream_s)
    runs = interleave(backend, [kernel, large], rule, budget)
    faults += _apart((small, runs[0]), (2 * small, runs[1]))
    return _roof(f"memory/main/{access}", "main", access, 2 * small, runs[1], faults)


def _apart(*sized: tuple[float, Run]) -> list[str]:
    """A fault when two working sets do not agree."""
    rates = [size / run.median_s for size, run in sized]
    apart = 1 - min(rates) / max(rates)
    if apart <= MOST_APART:
        return []
    sets = " and ".join(show_binary(size) for size, _ in sized)
    return [f"working sets of {sets} differ by {percent(apart, 2)} (at most {percent(MOST_APART)})"]


def measure_cache(backend: Backend, cache: Cache, working_set: float, options: Options, budget: Budget) -> Roof:
    """The read slope of one cache level, looped inside the kernel so that calling costs under 2 % of a sample.

    On a GPU a second set of half the size must agree; a processor's cache has no such plateau.
    """
    id = f"memory/{cache.level}/read"
    kernel, _ = fastest(backend, backend.stream("read", cache.level, working_set, options.seed), budget, 0.1)
    rule = Rule(limit_s=0.8 * options.cache_s, warm_s=0.1 * options.cache_s)
    run = repeat(backend, kernel, rule, budget)
    sample_s = run.median_s * kernel.inner
    if kernel.overhead_s is not None and kernel.overhead_s > MOST_OVERHEAD * sample_s:
        raise Cannot(f"{id} skipped: calling takes {percent(kernel.overhead_s / sample_s)} of a sample (at most 2 %)")
    faults = wrong_result(kernel.error(), kernel.tolerance)
    if backend.device().kind == "gpu":
        half, _ = fastest(backend, backend.stream("read", cache.level, working_set / 2, options.seed), budget, 0.1)
        other = repeat(backend, half, replace(rule, limit_s=rule.limit_s / 2), budget)
        faults += _apart((working_set / 2, other), (working_set, run))
    return _roof(id, cache.level, "read", working_set, run, faults)


def cache_sets(device: Device) -> list[tuple[Cache, float]]:
    """For each level a working set that fits in it and not in the level above.

    Half of the first level; below it a quarter of the level, or twice the cache above where that is more. A level in
    which neither fits (under 3/4 of it) has none. What programs fill themselves catches nothing of the level below.
    """
    sets: list[tuple[Cache, float]] = []
    above = 0.0
    for cache in device.caches:
        total = cache.bytes * cache.instances
        wanted = max(2 * above, total / (4 if sets or above else 2))
        if wanted <= 0.75 * total:
            sets.append((cache, wanted))
        above = above if cache.addressed else total
    return sets


def stand_out(roofs: list[Ceiling], main: Ceiling | None) -> list[Ceiling]:
    """Distrust a cache level that is not clearly faster than the level below it: the set did not stay inside."""
    checked: list[Ceiling] = []
    below = main
    for roof in reversed(roofs):
        checked.append(_above(roof, below))
        below = checked[-1] if checked[-1].trusted else below
    return checked[::-1]


def _above(roof: Ceiling, below: Ceiling | None) -> Ceiling:
    if below is None or not roof.trusted or roof.value >= STANDS_OUT * below.value:
        return roof
    slower = f"not clearly faster than {below.level} ({show(below.value, 'B/s')})"
    return replace(roof, trusted=False, why_not=f"{slower}: the set did not stay in this level")


def measure_launch(backend: Backend, options: Options, budget: Budget, level: str = "device") -> Roof:
    """The fixed cost of the smallest call, seconds; `best` is the smallest sample."""
    kernel, _ = fastest(backend, backend.launch(level), budget, options.launch_s / 4)
    rule = Rule(limit_s=options.launch_s, sample_s=0.0005, warm_s=0.05)
    run = repeat(backend, kernel, rule, budget)
    reasons = own_faults(run)
    roof = Ceiling(
        id=f"launch/{level}",
        kind="launch",
        value=run.median_s,
        origin="measured",
        level=level,
        samples=run.samples_s,
        best=run.best_s,
        trusted=not reasons,
        why_not="; ".join(reasons) or None,
        source=kernel.unit,
        note="; ".join(filter(None, [kernel.note, unsettled(run)])) or None,
    )
    return roof, replace(run.gate, id=roof.id)


def _roof(id: str, level: str, access: str, size: float, run: Run, faults: list[str]) -> Roof:
    stream = STREAMS[access]
    moved = f"{stream.formula}: {stream.reads} read + {stream.writes} written"
    return byte_rate(id, size, run, faults, moved, kind="memory", level=level, access=access)
