"""Plain floats and arrays through one door: the core calls these and never imports numpy itself.

A letter is a float or a float64 array. With floats only, numpy is never loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Number = float | np.ndarray[Any, np.dtype[np.float64]]
else:
    Number = float

_SCALARS = (float, int)


def letter(value: Any) -> Number:
    """A number or a sequence as float or float64 array: the one entrance, since integer arrays wrap silently.

    Raises TypeError for None, which numpy would turn into NaN: not known is not a number.
    """
    if isinstance(value, _SCALARS):
        return float(value)
    if value is None:
        raise TypeError("a letter must be a number; None means not known")
    import numpy as np

    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def maximum(values: Iterable[Number]) -> Number:
    """Element-wise largest; `max` when all are scalars. Raises ValueError when there is none."""
    first, *rest = list(values) or _nothing()
    for value in rest:
        first = larger(first, value)
    return first


def larger(a: Number, b: Number) -> Number:
    """Element-wise larger of two."""
    if isinstance(a, _SCALARS) and isinstance(b, _SCALARS):
        return max(a, b)
    import numpy as np

    return np.maximum(a, b)


def smaller(a: Number, b: Number) -> Number:
    """Element-wise smaller of two."""
    if isinstance(a, _SCALARS) and isinstance(b, _SCALARS):
        return min(a, b)
    import numpy as np

    return np.minimum(a, b)


def minimum(values: Iterable[Number]) -> Number:
    """Element-wise smallest; `min` when all are scalars. Raises ValueError when there is none."""
    first, *rest = list(values) or _nothing()
    for value in rest:
        first = smaller(first, value)
    return first


def added(values: Iterable[Number]) -> Number:
    """The sum in their order, of an array with the digits that each point has alone.

    Python's own sum compensates plain floats since 3.12, and cannot compensate arrays.
    """
    found: Number = 0.0
    for value in values:
        found = found + value
    return found


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """The sum of products of two sequences of plain numbers, equally long."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def up(value: Number) -> Number:
    """The next whole number up; of arrays some ten times as quick as -(-value // 1)."""
    if isinstance(value, _SCALARS):
        return float(math.ceil(value))
    import numpy as np

    return np.ceil(value)


def down(value: Number) -> Number:
    """The next whole number down."""
    return -up(-value)


def power(base: Number, exponent: Number) -> Number:
    """Base to the exponent; of arrays, each with the digits that it has alone.

    numpy's own power differs from Python's in the last digit on some processors: there it is taken number by number.
    """
    if isinstance(base, _SCALARS) and isinstance(exponent, _SCALARS):
        found: float = base**exponent
        return found
    import numpy as np

    return np.power(base, exponent) if _powers_agree() else _one_by_one(base, exponent)


def _one_by_one(base: Number, exponent: Number) -> Number:
    import numpy as np

    bases, exponents = np.broadcast_arrays(base, exponent)
    each = map(pow, bases.ravel().tolist(), exponents.ravel().tolist())
    return np.fromiter(each, np.float64, bases.size).reshape(bases.shape)


@cache
def _powers_agree() -> bool:
    """Whether numpy's powers are Python's on this processor, tried on some thousand."""
    import numpy as np

    bases, exponents = np.geomspace(1e-8, 1e8, 1201), np.array([1 / 3, 0.7, 37.0, 1.0 / 7])[:, None]
    return bool((np.power(bases, exponents) == _one_by_one(bases, exponents)).all())


def root(value: Number) -> Number:
    """The square root, which is the nearest float of an array as of a number."""
    if isinstance(value, _SCALARS):
        return math.sqrt(value)
    import numpy as np

    return np.sqrt(value)


def is_array(value: object) -> bool:
    """Whether `value` has one entry per point of a sweep."""
    return not isinstance(value, _SCALARS)


def all_of(condition: Any) -> bool:
    """True when a comparison holds everywhere, of a bool or of an array of them."""
    return bool(condition) if isinstance(condition, bool) else bool(condition.all())


def library() -> Any:
    """numpy, for whoever works on whole columns of what was measured; loaded when it is first asked for."""
    import numpy as np

    return np


def _nothing() -> list[Number]:
    raise ValueError("the largest or smallest of nothing")
