"""A model: letters and a few blocks of rows. Everything else about it is counted from those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from rooflens.arrays import Number, smaller
from rooflens.models.schemes import Stored
from rooflens.operators.cost import Precision, stored_bytes
from rooflens.operators.letters import Letters
from rooflens.operators.rows import Home, Row, product
from rooflens.operators.standard import AttentionForm
from rooflens.records import field, html, record

Local = Literal["window", "chunk", "selection"]
ENDS = ("embedding", "head")  # kinds of blocks before and behind all layers


@record
class Choices:
    """What the builder of the kernels decides, and a lever can flip. No choice changes a parameter or a cached byte.

    attention: see operators.standard.attention. fused: one product for q, k, v and one for gate and up.
    links: whether collectives stand in the rows (there are several devices).
    mla: latent attention in the latent space, or with keys and values made from it. scan: recurrent states token by
    token, or in chunks. workload.suited picks both by phase, as engines do.
    """

    attention: AttentionForm = "flash"
    fused: bool = True
    links: bool = False
    mla: Literal["absorbed", "expanded"] = "absorbed"
    scan: Literal["steps", "chunks"] = "steps"


@record
class Block:
    """`count` times the same rows: half a layer (a mixer, a feed-forward), or what stands before and after all layers.

    letters: those that differ from the model's. window: positions that local attention reaches, bounding S and P;
    local: a window that slides, a chunk that does not, or a selection out of all positions. caches: False where the
    keys and values that the rows read are those that an earlier layer cached. layers: which these are, where known.
    """

    kind: str
    count: int
    rows: tuple[Row, ...]
    letters: Mapping[str, float] = field(default_factory=dict)
    window: float | None = None
    local: Local = "window"
    caches: bool = True
    layers: tuple[int, ...] = ()

    @property
    def grows(self) -> bool:
        """Whether its cache keeps every position."""
        return self.window is None or self.local == "selection"

    def with_letters(self, letters: Letters) -> dict[str, Number]:
        """The model's letters with this block's own."""
        return {**letters, **self.letters}


@record
class Model:
    """An architecture, priced from its rows alone.

    letters: sizes that no step changes. dtype: the format its file names. config: the facts it was read from.
    stored: what is really stored, where the model is quantised or its tensors were read. state_dtype: of the states of
    recurrent layers.
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
    state_dtype: str = "float32"

    @property
    def params_total(self) -> int:
        """Parameters stored, all experts counted, a tied embedding once."""
        return self._params("E", ("weight", "table"))

    @property
    def params_active(self) -> int:
        """Parameters that one token uses, the input embedding included."""
        return self._params("A", ("weight", "table"))

    @property
    def params_streamed(self) -> int:
        """Parameters that a step of one token reads whole: not the embedding's rows, but the head, tied or not."""
        return self._params("A", ("weight", "tied"))

    def kv_elements_per_token(self, *, growing: bool = False) -> float:
        """Cache elements one more token of context adds, over all layers or only those that keep every position."""
        return sum(b.count * self._cached(b) for b in self.blocks if b.grows or not growing)

    def kv_elements(self, context: Number) -> Number:
        """Cache elements that a sequence holds at this context: no more than a window where there is one."""
        held: Number = 0.0
        for block in self.blocks:
            reached = context if block.grows or block.window is None else smaller(context, block.window)
            held = held + block.count * self._cached(block) * reached
        return held

    def kv_bytes(self, context: Number, precision: Precision) -> Number:
        """Bytes of those elements in the format of the cache."""
        return self.kv_elements(context) * precision.kv.bytes

    def kv_elements_allocated(self) -> float:
        """The same for an engine with uniform pages: every caching layer has the largest one's, and frees none."""
        cached = [(b.count, self._cached(b)) for b in self.blocks if self._cached(b)]
        return sum(count for count, _ in cached) * max((each for _, each in cached), default=0.0)

    def state_elements(self) -> tuple[float, float]:
        """Elements of a sequence's recurrent states and of the short convolutions beside them."""
        states, taps = (
            sum(
                self._second(b, r, {"B": 1.0})
                for b in self.blocks
                for r in b.rows
                if r.home == "state" and r.part == part
            )
            for part in ("ssm", "conv")
        )
        return states, taps

    def state_bytes(self, precision: Precision) -> float:
        """Bytes of those elements: states in their own format, what convolutions remember as the activations."""
        states, taps = self.state_elements()
        return states * precision.state.bytes + taps * precision.activations.bytes

    def stored_bytes(self, precision: Precision) -> dict[str, float]:
        """Bytes of the weights in each stored format, scales counted, all experts, a tied embedding once."""
        out: dict[str, float] = {}
        for block, row in self._rows(("weight", "table")):
            letters = {**block.with_letters(self.letters), **self._touching(block, "E")}
            for name, size in stored_bytes(row, letters, precision).items():
                out[name] = out.get(name, 0.0) + block.count * float(size)
        return out

    def _params(self, experts: str, homes: tuple[Home, ...]) -> int:
        return round(sum(self._second(b, r, self._touching(b, experts)) for b, r in self._rows(homes)))

    def _rows(self, homes: tuple[Home, ...]) -> Iterator[tuple[Block, Row]]:
        return ((b, r) for b in self.blocks for r in b.rows if r.home in homes)

    def _touching(self, block: Block, experts: str) -> dict[str, Number]:
        """As many experts as asked for, or those that the block says are there: one device's share."""
        letters = block.with_letters(self.letters)
        return {"X": letters.get("X", letters.get(experts, 0.0))}

    def _cached(self, block: Block) -> float:
        """Elements that one layer of a block caches a position, each read or not by more than one row."""
        rows = (row for row in block.rows if row.home == "kv" and "w" in row.touches and block.caches)
        letters = {**block.with_letters(self.letters), "B": 1.0, "S": 1.0, "Si": 1.0}
        return sum(float(product(row.operands[1], letters)) for row in rows)

    def _second(self, block: Block, row: Row, more: Letters) -> float:
        """Elements of the second operand of a row, over all its layers."""
        return block.count * float(product(row.operands[1], {**block.with_letters(self.letters), **more}))
