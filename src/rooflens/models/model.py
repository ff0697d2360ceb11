"""A model: letters and a few blocks of rows. Everything else about it is counted from those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rooflens.arrays import Number
from rooflens.models.schemes import Stored
from rooflens.operators.cost import Precision
from rooflens.operators.letters import Letters
from rooflens.operators.rows import Row, product
from rooflens.operators.standard import AttentionForm
from rooflens.records import html


@dataclass(frozen=True, slots=True)
class Choices:
    """What the builder of the kernels decides, and a lever can flip.

    attention: see operators.standard.attention. fused: one product for q, k, v and one for gate and up.
    links: whether collectives stand in the rows (there are several devices).
    """

    attention: AttentionForm = "flash"
    fused: bool = True
    links: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """`count` times the same rows. `letters` are those that differ from the model's; `window` bounds S and P."""

    kind: str
    count: int
    rows: tuple[Row, ...]
    letters: Mapping[str, float] = field(default_factory=dict)
    window: float | None = None

    def with_letters(self, letters: Letters) -> dict[str, Number]:
        """The model's letters with this block's own."""
        return {**letters, **self.letters}


@dataclass(frozen=True)
class Model:
    """An architecture, priced from its rows alone.

    letters: sizes that no step changes. dtype: the format its file names. config: the facts it was read from.
    stored: what is really stored, where the model is quantised or its tensors were read.
    """

    _repr_html_ = html

    name: str
    family: str
    letters: Mapping[str, float]
    blocks: tuple[Block, ...]
    dtype: str
    config: Mapping[str, Any]
    choices: Choices = Choices()
    max_context: int | None = None
    warnings: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    stored: Stored | None = None

    @property
    def params_total(self) -> int:
        """Parameters stored, all experts counted, a tied embedding once."""
        return self._params(self.letters.get("E", 0.0))

    @property
    def params_active(self) -> int:
        """Parameters that one token uses, the input embedding included."""
        return self._params(self.letters.get("A", 0.0))

    def kv_elements_per_token(self, *, growing: bool = False) -> float:
        """Cache elements one more token of context adds, over all layers or only those without a window."""
        blocks = (b for b in self.blocks if not (growing and b.window is not None))
        one_token = {"B": 1.0, "S": 1.0}
        return sum(self._second(b, r, one_token) for b in blocks for r in b.rows if r.home == "kv")

    def stored_bytes(self, precision: Precision) -> dict[str, float]:
        """Bytes of the weights in each stored format, scales counted, all experts, a tied embedding once."""
        out: dict[str, float] = {}
        for block, row in self._stored_rows():
            kind = precision.stored(row.part)
            values = self._second(block, row, {"X": self.letters.get("E", 0.0)})
            out[kind.name] = out.get(kind.name, 0.0) + values * kind.bytes
        return out

    def _params(self, experts: float) -> int:
        return round(sum(self._second(block, row, {"X": experts}) for block, row in self._stored_rows()))

    def _stored_rows(self) -> Iterator[tuple[Block, Row]]:
        return ((b, r) for b in self.blocks for r in b.rows if r.home in ("weight", "table"))

    def _second(self, block: Block, row: Row, more: Letters) -> float:
        """Elements of the second operand of a row, over all its layers."""
        return block.count * float(product(row.operands[1], {**block.with_letters(self.letters), **more}))
