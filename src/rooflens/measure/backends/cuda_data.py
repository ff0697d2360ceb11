"""Random data in the formats a GPU stores, made and read with the array library given: CuPy there, numpy in tests.

bf16 and fp8 are kept as their bits (uint16, uint8), so that no further package is needed for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}
STORED = {
    "fp64": "float64",
    "fp32": "float32",
    "tf32": "float32",
    "fp16": "float16",
    "bf16": "uint16",
    "fp8": "uint8",
    "int8": "int8",
}
CTYPES = {"fp32": "float", "fp16": "__half", "bf16": "__nv_bfloat16", "int8": "signed char"}
BLOCK = 2**24 + 1  # values drawn; longer arrays repeat them, shifted against their rows
INT8_SIGMA = 32.0  # int8 data: a normal distribution with four sigma inside


def encode(xp: Any, values: Any, dtype: str) -> Any:
    """float32 or float64 values, rounded to the nearest of `dtype`."""
    if dtype == "bf16":
        bits = values.astype(xp.float32).view(xp.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(xp.uint16)
    if dtype == "fp8":
        grid = xp.asarray(e4m3_grid(), dtype=xp.float32)
        nearest = xp.searchsorted((grid[1:] + grid[:-1]) / 2, xp.abs(values).astype(xp.float32)).astype(xp.uint8)
        return nearest | (xp.signbit(values).astype(xp.uint8) << 7)
    if dtype == "int8":
        return xp.clip(xp.rint(INT8_SIGMA * values), -127, 127).astype(xp.int8)
    return values.astype(STORED[dtype])


def decode(xp: Any, stored: Any, dtype: str) -> Any:
    """Stored values as float64; int8 as the integers they are."""
    if dtype == "bf16":
        return (stored.astype(xp.uint32) << 16).view(xp.float32).astype(xp.float64)
    if dtype == "fp8":
        grid = xp.asarray(e4m3_grid(), dtype=xp.float64)
        return grid[stored & 0x7F] * xp.where(stored >> 7, -1.0, 1.0)
    return stored.astype(xp.float64)


@cache
def e4m3_grid() -> tuple[float, ...]:
    """The 127 finite magnitudes of fp8 e4m3 by their code: 4 bits of exponent (bias 7), 3 of mantissa, up to 448."""
    small = [code / 8 * 2.0**-6 for code in range(8)]
    return (*small, *((1 + code % 8 / 8) * 2.0 ** (code // 8 - 7) for code in range(8, 127)))


def normal(xp: Any, shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Random normal values, stored as `dtype`: one block drawn, then repeated."""
    size = 1
    for n in shape:
        size *= n
    block = encode(xp, draw(xp, min(size, BLOCK), seed), dtype)
    out = xp.empty(size, block.dtype)
    for start, count in runs(0, size, BLOCK):
        out[start : start + count] = block[:count]
    return out.reshape(shape)


def draw(xp: Any, count: int, seed: int) -> Any:
    """`count` standard normal float32 values."""
    return xp.random.default_rng(seed).standard_normal(count, dtype=xp.float32)


def runs(start: int, size: int, length: int) -> Iterator[tuple[int, int]]:
    """(start, count) of consecutive runs of at most `length` that cover `size` places."""
    for first in range(start, start + size, length):
        yield first, min(length, start + size - first)


def poison(out: Any) -> None:
    """Fill with all ones, which is NaN in every floating format, so that what was not written shows."""
    out.view("uint8")[...] = 0xFF
