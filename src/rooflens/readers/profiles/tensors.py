"""The arguments of an operator as PyTorch's profiler writes them: shapes, types, and values of what is no tensor."""

from __future__ import annotations

import math
import re
from typing import Any

from rooflens.dtypes import DTYPES, Dtype
from rooflens.records import record
from rooflens.units import MOST

# The profiler's words for types, and the bytes of a value; the first ones have a format of ours.
TYPES: dict[str, tuple[str | None, int]] = {
    "double": ("fp64", 8), "float": ("fp32", 4), "c10::BFloat16": ("bf16", 2), "c10::Half": ("fp16", 2),
    "c10::Float8_e4m3fn": ("fp8_e4m3", 1), "c10::Float8_e5m2": ("fp8_e5m2", 1), "c10::Float8_e4m3fnuz": ("fp8_e4m3", 1),
    "c10::Float8_e5m2fnuz": ("fp8_e5m2", 1), "signed char": ("int8", 1), "c10::Float4_e2m1fn_x2": ("fp4", 1),
    "unsigned char": (None, 1), "bool": (None, 1), "short int": (None, 2), "short": (None, 2), "int": (None, 4),
    "long int": (None, 8), "long": (None, 8), "long long": (None, 8), "unsigned int": (None, 4),
    "c10::complex<float>": (None, 8), "c10::complex<double>": (None, 16), "c10::Float8_e8m0fnu": (None, 1),
}  # fmt: skip
_RANK = ("bool", "unsigned char", "signed char", "short int", "short", "int", "long int", "long", "long long",
         "c10::Half", "c10::BFloat16", "float", "double", "c10::complex<float>", "c10::complex<double>")  # fmt: skip


@record
class Work:
    """What one call asks for. dtype: the math of its operands. flops: None where only the bytes are known."""

    dtype: str | None
    flops: float | None
    vector_flops: float | None
    bytes: float
    note: str | None = None


@record
class Tensors:
    """Arguments by their place. Raises ValueError or TypeError where one is not what is asked for."""

    shapes: tuple[Any, ...]
    types: tuple[Any, ...]
    values: tuple[Any, ...]
    item_bytes: int | None = None

    def shape(self, at: int) -> list[int]:
        """The sizes of a tensor."""
        return _sizes(self.shapes[at])

    def numel(self, at: int) -> int:
        """Values of a tensor."""
        return math.prod(self.shape(at))

    def has(self, at: int) -> bool:
        """Whether a tensor of some type stands there."""
        return at < len(self.types) and self.types[at] in TYPES

    def is_full(self, at: int) -> bool:
        """Whether a tensor with at least one dimension stands there."""
        return self.has(at) and bool(self.shapes[at]) and _is_sizes(self.shapes[at])

    def item(self, at: int) -> int:
        """Bytes of a value of this tensor."""
        return TYPES[self.types[at]][1]

    def bytes(self, at: int) -> float:
        """Bytes of a tensor."""
        return float(self.numel(at) * self.item(at))

    def dtype(self, at: int) -> Dtype:
        """The format of a tensor. Raises ValueError where it is none that a product is made in."""
        name = TYPES[self.types[at]][0] if self.has(at) else None
        if name is None:
            raise ValueError("no format of a product")
        return DTYPES[name]

    def value(self, at: int) -> str | None:
        """The text of an argument that is no tensor."""
        found = self.values[at] if at < len(self.values) else ""
        return found if isinstance(found, str) and found else None

    def flag(self, at: int) -> bool | None:
        """A yes or no, written as such or as a number."""
        return {"True": True, "False": False, "0": False, "1": True, "2": True}.get(self.value(at) or "")

    def sizes(self, at: int) -> list[int]:
        """A list of whole numbers that is written as text; empty where it is none."""
        return [int(n) for n in re.findall(r"-?\d{1,9}", self.value(at) or "")]

    def full(self) -> list[int]:
        """The places of the tensors with at least one dimension."""
        return [at for at in range(min(len(self.shapes), len(self.types))) if self.is_full(at)]

    def widest(self) -> int:
        """The place of the tensor whose type the result of mixed operands has."""
        places = self.full() or [at for at in range(len(self.types)) if self.has(at)]
        return max(places, key=lambda at: _RANK.index(self.types[at]) if self.types[at] in _RANK else -1)

    def broadcast(self) -> int:
        """Values of the result of an element-wise operator."""
        shapes = [self.shape(at) for at in self.full()]
        longest = max((len(shape) for shape in shapes), default=0)
        padded = [[1] * (longest - len(shape)) + shape for shape in shapes]
        return math.prod(0 if 0 in sizes else max(sizes) for sizes in zip(*padded, strict=True))


def _is_sizes(found: Any) -> bool:
    return isinstance(found, (list, tuple)) and all(type(n) is int and 0 <= n <= MOST for n in found)


def _sizes(found: Any) -> list[int]:
    if not _is_sizes(found):
        raise ValueError("no sizes")
    return list(found)
