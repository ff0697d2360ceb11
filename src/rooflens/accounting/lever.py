"""What would help one kernel: a table of (regime, kind of kernel), first match wins.

ANY: in every regime, and where none is known.
"""

from __future__ import annotations

from collections.abc import Callable

from rooflens.accounting.record import Judged
from rooflens.records import replace

Fits = Callable[[Judged], bool]
ANY = "any"
UNPACKING = "fuse it into the product that reads its result"


def _gemm(kernel: Judged) -> bool:
    return kernel.family == "gemm"


def _attention(kernel: Judged) -> bool:
    return kernel.family == "attention"


def _vector_product(kernel: Judged) -> bool:
    return kernel.family == "gemm" and kernel.unit == "vector" and kernel.dtype == "fp32"


def _unpacking(kernel: Judged) -> bool:
    return "dequant" in kernel.name.lower()


def _collective(kernel: Judged) -> bool:
    return kernel.family == "collective"


def _replayed(kernel: Judged) -> bool:
    return kernel.graph


def _any(_: Judged) -> bool:
    return True


LEVERS: tuple[tuple[str, Fits, str], ...] = (
    (ANY, _unpacking, UNPACKING),
    ("launch", _collective, "larger messages and fewer of them, or overlap it with compute"),
    ("below-roof", _collective, "larger messages and fewer of them, or overlap it with compute"),
    ("launch", _replayed, "fuse it with its neighbours: a graph starts it already"),
    ("launch", _any, "replay it from a graph, or fuse it with its neighbours"),
    ("link", _any, "overlap it with compute, send fewer bits, or a faster link"),
    ("below-roof", _vector_product, "let it run on matrix units: tf32 or 16 bit"),
    ("compute", _vector_product, "let it run on matrix units: tf32 or 16 bit"),
    ("memory", _gemm, "a larger batch, or fewer bits of weights"),
    ("memory", _attention, "fewer bits of the KV cache, or a kernel that reads it once a group of heads"),
    ("memory", _any, "fuse it with its neighbours: it moves activations"),
    ("compute", _attention, "fewer bits of arithmetic, or attend to less (window, sparse)"),
    ("compute", _any, "fewer bits of arithmetic, or a faster chip"),
    ("below-roof", _gemm, "a library kernel tuned for this shape (other tile, split-K), or a larger batch"),
    ("below-roof", _attention, "a flash or split-KV kernel for this shape"),
    ("below-roof", _any, "fuse it, or rewrite it: it is far from its roof"),
)


def lever(kernel: Judged) -> Judged:
    """The kernel with the lever that its regime and kind ask for; without one where neither says what would help."""
    found = next((said for regime, fits, said in LEVERS if regime in (ANY, kernel.regime) and fits(kernel)), None)
    return replace(kernel, lever=found)
