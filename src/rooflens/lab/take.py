"""The measuring half of a lab: ceilings, then decode attention, as one profile."""

from __future__ import annotations

from collections.abc import Callable

from rooflens.measure.attention import DTYPES, Attention, measure_attention
from rooflens.measure.backend import AttentionShape, Backend
from rooflens.measure.options import Options, Progress
from rooflens.measure.run import measure
from rooflens.records import record, replace
from rooflens.roofline.profile import Device, Profile

FIRST_CONTEXT, MOST_CONTEXT = 128, 1 << 20
CACHE_TIMES = 4  # the largest cache measured is this many times the last-level cache
ROOF_SHARE = 0.65  # of the time goes to the roofs, the rest to attention
LAYERS = (
    AttentionShape(1, 4096, 32, name="Llama-2-7B layer"),
    AttentionShape(1, 4096, 32, 8, name="Llama-3.1-8B layer"),
)
BATCHES = (1, 16, 64)
PREFILL_TOKENS = 4096
GPU_DTYPES = ("fp16", "fp32", "bf16", "int8")


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
    profile = replace(roofs, budget_s=total_s, checkpoint=shape.checkpoint or None)
    rows = grid(roofs.device, shape, options)
    cells = [len(row.contexts) * len(row.dtypes) for row in rows]
    for number, row in enumerate(rows):
        left_s = None if total_s is None else max(total_s - profile.duration_s, 1e-3)
        share = cells[number] / sum(cells[number:])
        base = ROOF_SHARE + (1 - ROOF_SHARE) * sum(cells[:number]) / sum(cells)
        part = (1 - ROOF_SHARE) * cells[number] / sum(cells)
        own = replace(options, budget_s=None if left_s is None else left_s * share)
        profile = _attention(backend, own, profile, row, _part(progress, base, part), on_result)
    return profile


def _attention(
    backend: Backend,
    options: Options,
    before: Profile,
    row: Row,
    progress: Progress,
    on_result: Callable[[Profile], None],
) -> Profile:
    """The profile with the cells of one shape added."""
    began = backend.clock()

    def joined(found: Attention) -> Profile:
        return replace(
            before,
            attention=(*before.attention, *found.points),
            gates=(*before.gates, *found.gates),
            skipped=tuple(dict.fromkeys((*before.skipped, *found.skipped))),
            complete=before.complete and found.complete,
            duration_s=before.duration_s + backend.clock() - began,
        )

    found = measure_attention(
        backend,
        options,
        row.shape,
        row.contexts,
        row.dtypes,
        progress,
        lambda so_far: on_result(joined(so_far)),
    )
    return joined(found)


def _part(progress: Progress, base: float, share: float) -> Progress:
    return lambda name, fraction: progress(name, base + share * fraction)


@record
class Row:
    """One decoder with the contexts and dtypes it is measured at."""

    shape: AttentionShape
    contexts: tuple[int, ...]
    dtypes: tuple[str, ...]


def grid(device: Device, shape: AttentionShape, options: Options) -> list[Row]:
    """The MiniGPT; on a GPU also one layer of two models, for one sequence and for many, and int8 caches."""
    if device.kind == "cpu":
        return [Row(shape, contexts(device, shape, quick=options.quick), DTYPES)]
    if options.quick:
        return [
            Row(shape, (128, 1024, 4096, 16384), ("fp32", "fp16")),
            Row(replace(LAYERS[0], batch=16), (4096,), ("fp16", "int8")),
        ]
    doubling = tuple(128 << i for i in range(10 if options.full else 8))
    wanted = (128, 1024, 4096, 16384, 65536) if options.full else (1024, 4096, 16384)
    dtypes = GPU_DTYPES if options.full else ("fp16", "int8")
    layers = [Row(replace(layer, batch=batch), wanted, dtypes) for layer in LAYERS for batch in BATCHES]
    prefill = Row(replace(LAYERS[1], tokens=PREFILL_TOKENS), (PREFILL_TOKENS,), ("fp16",))
    return [Row(shape, doubling, GPU_DTYPES), prefill, *layers]


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
