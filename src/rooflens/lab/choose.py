"""Which observations a picture shows: all of a processor; of a GPU's hundreds of cells those that tell its story."""

from __future__ import annotations

from collections.abc import Sequence

from rooflens.lab.observe import Observation
from rooflens.roofline.profile import AttentionPoint

MOST_CELLS = 16
CONTEXTS = (128, 1024, 4096, 16384)
WAYS = ("naive", "fused, graph")
LAYER, LAYER_BATCH, LAYER_CONTEXT = "Llama-2-7B layer", 16, (4096, 16384)
DTYPE = "fp16"


def to_draw(seen: Sequence[Observation]) -> tuple[Observation, ...]:
    """The trusted observations to be drawn, each product once.

    With more than a few attention cells: the naive and the replayed fused way of the MiniGPT at four contexts, one
    model's layer where the slope binds, all in one dtype, and every prefill.
    """
    trusted = [o for o in seen if o.trusted]
    cells = [o.attention for o in trusted if o.attention]
    if len(cells) <= MOST_CELLS:
        return tuple(trusted)
    return tuple(o for o in trusted if o.attention is None or _tells(o.attention))


def _tells(cell: AttentionPoint) -> bool:
    if cell.tokens > 1:
        return True
    if cell.dtype != DTYPE or cell.kv_dtype or cell.implementation not in WAYS:
        return False
    if cell.model == LAYER:
        return cell.batch == LAYER_BATCH and cell.context in LAYER_CONTEXT and cell.implementation != "naive"
    return cell.batch == 1 and cell.kv_heads is None and cell.model == "MiniGPT" and cell.context in CONTEXTS
