"""What would help one kernel: a table of (regime, kind of kernel), first match wins.

ANY: in every regime, and where none is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Subject(NamedTuple):
    """What a lever is chosen by. regime: None where nobody knows it. graph: replayed from a recorded graph."""

    name: str
    family: str | None
    unit: str | None
    dtype: str | None
    regime: str | None
    graph: bool


Fits = Callable[[Subject], bool]
ANY = "any"
UNPACKING = "fuse it into the product that reads its result"


def _gemm(kernel: Subject) -> bool:
    return kernel.family == "gemm"


def _attention(kernel: Subject) -> bool:
    return kernel.family == "attention"


def _vector_product(kernel: Subject) -> bool:
    return kernel.family == "gemm" and kernel.unit == "vector" and kernel.dtype == "fp32"


def _unpacking(kernel: Subject) -> bool:
    return "dequant" in kernel.name.lower()


def _collective(kernel: Subject) -> bool:
    return kernel.family == "collective"


def _replayed(kernel: Subject) -> bool:
    return kernel.graph


def _any(_: Subject) -> bool:
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


def lever(kernel: Subject) -> str | None:
    """What its regime and kind ask for; None where neither says what would help."""
    return next((said for regime, fits, said in LEVERS if regime in (ANY, kernel.regime) and fits(kernel)), None)
