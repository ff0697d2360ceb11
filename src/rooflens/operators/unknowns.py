"""Letters that are not numbers yet: a row counted with them gives its cost as a polynomial, by the row's own text.

>>> batch, context = Polynomial.of((0, "B")), Polynomial.of((0, "S"))
>>> (2.0 * batch * (context + 1.0)).terms
{((0, 'B'), (0, 'S')): 2.0, ((0, 'B'),): 2.0}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

Unknown = tuple[int, str]  # a letter, and which of several places it belongs to
Monomial = tuple[Unknown, ...]  # a product; () is 1
Terms = dict[Monomial, float]


class Polynomial:
    """A sum of coefficients times products of unknowns. It can be added to, multiplied, and divided by a float.

    Whatever else a formula may do to a letter (compare, raise to a power, take the largest) raises TypeError: such a
    formula cannot be folded and belongs where the letters of a step are made.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, float]) -> None:
        self.terms: Terms = {monomial: c for monomial, c in terms.items() if c}

    @classmethod
    def of(cls, unknown: Unknown) -> Polynomial:
        """The unknown itself."""
        return cls({(unknown,): 1.0})

    def __add__(self, other: Any) -> Polynomial:
        out = dict(self.terms)
        for monomial, coefficient in terms(other).items():
            out[monomial] = out.get(monomial, 0.0) + coefficient
        return Polynomial(out)

    def __mul__(self, other: Any) -> Polynomial:
        out: Terms = {}
        for left, a in self.terms.items():
            for right, b in terms(other).items():
                monomial = tuple(sorted(left + right))
                out[monomial] = out.get(monomial, 0.0) + a * b
        return Polynomial(out)

    def __truediv__(self, other: float) -> Polynomial:
        return self * (1.0 / other)

    __radd__, __rmul__ = __add__, __mul__

    def __bool__(self) -> NoReturn:
        raise TypeError("an unknown is neither zero nor not")


def terms(value: Any) -> Terms:
    """The terms of a polynomial, or of a plain number. Raises TypeError for anything else."""
    if isinstance(value, Polynomial):
        return value.terms
    if isinstance(value, (int, float)):
        return {(): float(value)} if value else {}
    raise TypeError(f"a {type(value).__name__} has no place in a polynomial")
