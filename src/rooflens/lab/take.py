"""The measuring half of a lab: ceilings, then decode attention, as one profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rooflens.measure.attention import Attention, measure_attention
from rooflens.measure.backend import AttentionShape, Backend
from rooflens.measure.options import Options, Progress
from rooflens.measure.run import measure
from rooflens.roofline.profile import Device, Profile

FIRST_CONTEXT, MOST_CONTEXT = 128, 1 << 20
CACHE_TIMES = 4  # the largest cache measured is this many times the last-level cache
ROOF_SHARE = 0.65  # of the time goes to the roofs, the rest to attention


def take(
    backend: Backend,
    options: Options,
    shape: AttentionShape,
    progress: Progress = lambda name, fraction: None,
    on_result: Callable[[Profile], None] = lambda profile: None,
) -> Profile:
    """Ceilings and decode attention of one machine. on_result gets all that is complete so far, after each stage."""
    total_s = options.budget_s
    first = replace(options, budget_s=None if total_s is None else total_s * ROOF_SHARE)
    roofs = measure(backend, first, lambda n, f: progress(n, ROOF_SHARE * f), on_result)
    left_s = None if total_s is None else max(total_s - roofs.duration_s, 1e-3)
    began = backend.clock()

    def joined(found: Attention) -> Profile:
        return replace(
            roofs,
            attention=found.points,
            gates=(*roofs.gates, *found.gates),
            skipped=(*roofs.skipped, *found.skipped),
            complete=roofs.complete and found.complete,
            budget_s=total_s,
            duration_s=roofs.duration_s + backend.clock() - began,
        )

    found = measure_attention(
        backend,
        replace(options, budget_s=left_s),
        shape,
        contexts(roofs.device, shape, quick=options.quick),
        progress=lambda n, f: progress(n, ROOF_SHARE + (1 - ROOF_SHARE) * f),
        on_result=lambda so_far: on_result(joined(so_far)),
    )
    return joined(found)


def contexts(device: Device, shape: AttentionShape, *, quick: bool = False) -> tuple[int, ...]:
    """128, 256, 512, 1024 and on by doubling until the fp32 cache of all layers is 4 x the last-level cache.

    Not beyond a quarter of main memory. Quick: the first, two between, and the last two.
    """
    per_token = 2.0 * shape.layers * shape.width * 4
    wanted = CACHE_TIMES * (device.largest_cache_bytes or 0.0)
    most = (device.memory_bytes or 4e9) / 4
    found = [FIRST_CONTEXT << i for i in range(4)]
    while found[-1] * per_token < wanted and 2 * found[-1] * per_token < most and found[-1] < MOST_CONTEXT:
        found.append(2 * found[-1])
    if not quick or len(found) <= 5:
        return tuple(found)
    return tuple(dict.fromkeys((found[0], found[2], found[len(found) // 2], *found[-2:])))
