"""The row: one operator as a contraction in text, and what its text counts.

`"B T D, D F -> B T F"` reads: input, second operand, output. Tokens are multiplied; a token may be a sum
(`H+2K`), a plain number (`2 F`), or bracketed: `[X]` sizes an operand and does not multiply FLOPs (experts
touched, positions of the cache touched where only P are attended to).

FLOPs = flops_per_point x product of every distinct token without brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Literal

from rooflens.arrays import Number
from rooflens.dtypes import Dtype
from rooflens.errors import RooflensError
from rooflens.operators.letters import Letters, check, value
from rooflens.records import record

Home = Literal["weight", "tied", "table", "kv", "state", "link", "act", "none"]
Part = Literal[
    "linear", "project", "expert", "shared", "attend", "router", "head", "embed", "norm", "conv", "ssm", "elementwise",
    "link",
]  # fmt: skip
Function = Literal["rotary", "activation"]
Collective = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send"]
Apart = tuple[tuple[Dtype | None, float], ...]
"""Formats other than its part's that a matrix has in a share of the layers; None is the activations' own."""
_TERM = re.compile(r"(\d*)([A-Z][a-z]?)?")


@record
class Token:
    """One factor of a size: a sum of (coefficient, letter), a bare number having no letter."""

    text: str
    terms: tuple[tuple[float, str | None], ...]
    sizes_only: bool

    def size(self, letters: Letters) -> Number:
        """Its value with these letters."""
        total: Number = 0.0
        for coefficient, name in self.terms:
            total = total + (coefficient if name is None else coefficient * value(letters, name))
        return total


@record
class Matrix:
    """One matrix of a model's file: what its module is called, and the sizes of its outputs and inputs."""

    module: str
    outputs: tuple[tuple[Token, ...], ...]
    inputs: tuple[Token, ...]

    def sizes(self, letters: Letters) -> tuple[float, float]:
        """Rows and columns. The outputs are a sum of products: what is stored as one may be several here."""
        rows = sum(float(product(part, letters)) for part in self.outputs)
        return rows, float(product(self.inputs, letters))


@record
class Row:
    """One operator.

    name: for reports, never matched by code.
    spec: "input, second operand -> output"; the second operand may be left out.
    home: where the second operand lives: weight; tied (streamed, stored elsewhere); table (stored, only the rows
        looked up move); kv; state (read and written); act; none; link: the input is the message of a `collective`.
    touches: which operands really move to or from memory: x input, w second operand, y output.
    part: picks the stored dtype and the math; `project` is a product around attention (q, k, v, out), which quantised
        files often leave wide, `linear` any other.
    flops_per_point: 2 is a contraction on the matrix unit; 0 a look-up; 1 to 8 work on the vector unit.
    rides: runs inside the kernel of the row before.
    function: what its vector work computes, where a stack that does not fuse it may take several kernels.
    collective: what is done with the message, see operators.collectives.
    stored: the matrices that a file keeps the second operand in: `"down"`, one of that name, its columns what is
        contracted; or `"q: H W, D; k: K W, D"`, several, or of other sizes (`+` adds outputs). A row may be a part of a
        matrix. apart: for each of them, the formats that it has in some layers instead of its part's.
    """

    name: str
    spec: str
    home: Home = "weight"
    part: Part = "linear"
    touches: str = "xwy"
    flops_per_point: float = 2.0
    rides: bool = False
    function: Function | None = None
    collective: Collective | None = None
    stored: str = ""
    apart: tuple[Apart, ...] = ()

    def __post_init__(self) -> None:
        if set(self.touches) - set("xwy"):
            raise RooflensError(f"row {self.name!r}: touches may hold x, w and y, not {self.touches!r}")
        if (self.home == "link") != (self.collective is not None):
            raise RooflensError(f"row {self.name!r}: a collective has home 'link', and a link has a collective")
        _ = self.operands

    @cached_property
    def operands(self) -> tuple[tuple[Token, ...], tuple[Token, ...], tuple[Token, ...]]:
        """The tokens of input, second operand and output. Raises RooflensError for a spec that does not parse."""
        left, arrow, right = self.spec.partition("->")
        inputs = left.split(",")
        if not arrow or len(inputs) > 2:
            raise RooflensError(f"row {self.name!r}: write 'input, operand -> output', not {self.spec!r}")
        second = inputs[1] if len(inputs) == 2 else ""
        return _tokens(inputs[0]), _tokens(second), _tokens(right)

    @cached_property
    def points(self) -> tuple[Token, ...]:
        """The distinct tokens that multiply into FLOPs."""
        every = {t.text: t for side in self.operands for t in side if not t.sizes_only}
        return tuple(every.values())

    @cached_property
    def matrices(self) -> tuple[Matrix, ...]:
        """What a file keeps the second operand in."""
        if ":" in self.stored:
            return tuple(_matrix(text) for text in self.stored.split(";"))
        x, _, y = ({token.text for token in side} for side in self.operands)
        sizes = [token for token in self.operands[1] if not token.sizes_only]
        inputs = [token for token in sizes if token.text in x - y] or sizes[-1:]
        outputs = tuple(token for token in sizes if token not in inputs)
        return (Matrix(self.stored, (outputs,), tuple(inputs)),)

    @property
    def contracts(self) -> bool:
        """Whether this is tensor work (2 FLOP a point) and not vector work."""
        return self.flops_per_point == 2

    def flops(self, letters: Letters) -> Number:
        """FLOPs, a fused multiply-add counted as 2."""
        return self.flops_per_point * product(self.points, letters) if self.flops_per_point else 0.0

    def sizes(self, letters: Letters) -> tuple[Number, Number, Number]:
        """Elements of input, second operand and output; an absent second operand has none."""
        x, w, y = self.operands
        return product(x, letters), product(w, letters) if w else 0.0, product(y, letters)


def product(tokens: Iterable[Token], letters: Letters) -> Number:
    """The product of the sizes of the tokens; 1 for none."""
    total: Number = 1.0
    for token in tokens:
        total = total * token.size(letters)
    return total


def _matrix(text: str) -> Matrix:
    module, _, sizes = text.partition(":")
    outputs, _, inputs = sizes.partition(",")
    return Matrix(module.strip(), tuple(_tokens(part) for part in outputs.split(" + ")), _tokens(inputs))


def _tokens(side: str) -> tuple[Token, ...]:
    return tuple(_token(text) for text in side.split())


@cache
def _token(text: str) -> Token:
    sizes_only = text.startswith("[") and text.endswith("]")
    return Token(text, tuple(_term(t) for t in text.strip("[]").split("+")), sizes_only)


def _term(text: str) -> tuple[float, str | None]:
    match = _TERM.fullmatch(text)
    if not match or not text:
        raise RooflensError(f"{text!r} is not a letter or a number of a row")
    name = check(match[2]) if match[2] else None
    return float(match[1] or 1), name
