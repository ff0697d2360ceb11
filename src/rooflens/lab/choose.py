"""Which observations a picture shows: all of a processor; of a GPU's hundreds of cells those that tell its story."""

from __future__ import annotations

from collections.abc import Sequence

from rooflens.lab.observe import NAIVE, REPLAYED, Observation
from rooflens.records import replace
from rooflens.roofline.points import Point
from rooflens.roofline.profile import AttentionPoint, GemmPoint

MOST_CELLS = 16
CONTEXTS = (128, 1024, 4096, 16384)
WAYS = (NAIVE, REPLAYED)
LAYER, LAYER_BATCH = "Llama-2-7B layer", 16
DTYPE = "fp16"
PRODUCTS = ("fp16", "bf16", "fp32", "fp8")


def to_draw(seen: Sequence[Observation]) -> tuple[Observation, ...]:
    """The trusted observations to be drawn, each product once.

    With more than a few attention cells: the naive and the replayed fused way of the MiniGPT at four contexts, one
    model's layer where the slope binds, all in one dtype, and every prefill; of the products the best of four dtypes
    and the first kind of feed-forward.
    """
    trusted = [o for o in seen if o.trusted]
    cells = [o.attention for o in trusted if o.attention]
    if not _many(trusted):
        return tuple(trusted)
    layer = max((c.context for c in cells if _is_layer(c)), default=0)
    single = next((_sides(o.gemm) for o in trusted if o.gemm and o.gemm.m == 1), None)
    return tuple(o for o in trusted if _shown(o, layer, single))


def points(seen: Sequence[Observation]) -> tuple[Point, ...]:
    """What is drawn, with names as short as a picture of many points needs: shapes and sides stand in the artefacts."""
    chosen = to_draw(seen)
    if not _many([o for o in seen if o.trusted]):
        return tuple(o.point for o in chosen)
    return tuple(replace(o.point, name=_brief(o)) for o in chosen)


def _many(trusted: Sequence[Observation]) -> bool:
    return sum(1 for o in trusted if o.attention) > MOST_CELLS


def _brief(seen: Observation) -> str:
    cell, gemm = seen.attention, seen.gemm
    if gemm:
        sides = f" {gemm.m}x{gemm.n}x{gemm.k}"
        return seen.name.removesuffix(sides).replace(" gate and up,", "")
    if cell and cell.tokens > 1:
        return f"prefill attention ({(cell.implementation or '').removesuffix(', graph')})"
    return seen.name


def _shown(seen: Observation, layer: int, single: tuple[str, int, int] | None) -> bool:
    cell, gemm = seen.attention, seen.gemm
    if cell:
        return cell.context == layer if _is_layer(cell) else _tells(cell)
    return gemm is not None and (_sides(gemm) == single or (gemm.name.startswith("gemm") and gemm.dtype in PRODUCTS))


def _sides(gemm: GemmPoint) -> tuple[str, int, int]:
    return gemm.dtype, gemm.n, gemm.k


def _is_layer(cell: AttentionPoint) -> bool:
    return (cell.model, cell.batch, cell.implementation) == (LAYER, LAYER_BATCH, REPLAYED) and _is_plain(cell)


def _is_plain(cell: AttentionPoint) -> bool:
    return cell.dtype == DTYPE and not cell.kv_dtype and cell.tokens == 1


def _tells(cell: AttentionPoint) -> bool:
    if cell.tokens > 1:
        return True
    own = cell.model == "MiniGPT" and cell.kv_heads is None and cell.batch == 1
    return own and _is_plain(cell) and cell.implementation in WAYS and cell.context in CONTEXTS
