"""The tensors of a model's files: exact bytes, and how they override the arithmetic of config.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rooflens.dtypes import DTYPES, Dtype
from rooflens.errors import RooflensError
from rooflens.models import Model, Stored
from rooflens.models.schemes import WEIGHT_ONLY
from rooflens.operators.rows import Part
from rooflens.readers.names import is_learned, layer_of, part_of
from rooflens.records import record, replace
from rooflens.units import show

BODY: tuple[Part, ...] = ("linear", "project", "expert", "shared", "ssm")
PACKED = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")  # whole numbers that hold several values each


@record
class Tensor:
    """One tensor as its file states it. dtype: a format of rooflens.dtypes, or the file's own word for the others.

    begins: the byte of its file at which its values begin.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    begins: int = 0

    @property
    def values(self) -> int:
        """Numbers in it; of a packed tensor, the whole numbers that hold them."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def params(self, packed_bits: int | None) -> int:
        """Parameters in it. Raises RooflensError for packed ones when nobody says with how many bits."""
        if not is_learned(self.name):
            return 0
        if self.dtype not in PACKED:
            return self.values
        if not packed_bits:
            raise RooflensError(f"{self.name} holds packed values ({self.dtype}); no quantization_config says which")
        return 8 * self.bytes // packed_bits


@record
class Checkpoint:
    """Every tensor of a model. total_bytes is what an index states when the files it lists are not there."""

    where: str
    tensors: tuple[Tensor, ...]
    total_bytes: int | None = None

    @property
    def bytes(self) -> int:
        """Bytes of all tensors."""
        return self.total_bytes or sum(t.bytes for t in self.tensors)

    @property
    def embedding_bytes(self) -> int:
        """Bytes of the embedding tables."""
        return sum(t.bytes for t in self.tensors if part_of(t.name) == "embed")

    @property
    def streamed_bytes(self) -> int:
        """Bytes that a decode step reads when no expert is left out: all but a few rows of the embedding tables.

        A table that is tied is read whole: it is the head too.
        """
        tied = not any(part_of(t.name) == "head" for t in self.tensors)
        return self.bytes - (0 if tied else self.embedding_bytes)

    def params(self, packed_bits: int | None = None) -> int:
        """Parameters in all tensors."""
        return sum(t.params(packed_bits) for t in self.tensors)


def fitted(model: Model, checkpoint: Checkpoint) -> Model:
    """The model with what its files really store, and warnings where they disagree with its config."""
    if not checkpoint.tensors:
        stated = show(float(checkpoint.bytes), "B")
        return replace(model, warnings=(*model.warnings, f"only the index is here: its tensors take {stated}"))
    packed_bits = _value_bits(model.stored.weights) if model.stored else None
    own, beside = _sorted(checkpoint.tensors, int(model.letters["L"]))
    math = model.stored.weights.math if model.stored else None
    parts: dict[Part, Dtype | None] = {part: _mean(tensors, packed_bits, math) for part, tensors in own.items()}
    if "embed" in parts:
        parts.setdefault("head", parts["embed"])
    body = _mean([t for part in BODY for t in own.get(part, [])], packed_bits, math)
    kv, before = (model.stored.kv, model.stored.warnings) if model.stored else (None, ())
    said = (*_left_out(beside), *_disagreements(model, [t for part in own.values() for t in part], packed_bits))
    kept = tuple(warning for warning in model.warnings if warning not in before)  # what was estimated is now exact
    held = float(sum(t.bytes for tensors in own.values() for t in tensors))
    return replace(model, stored=Stored(body, parts, kv, file_bytes=held), warnings=(*kept, *said))


def _value_bits(stored: Dtype) -> int:
    """Bits of a value, without what is beside it."""
    return int(stored.layout.value_bits if stored.layout else stored.bits)


def _sorted(tensors: Iterable[Tensor], layers: int) -> tuple[dict[Part, list[Tensor]], list[Tensor]]:
    """The tensors of each part, and those beside the language model: vision, audio, heads that draft tokens."""
    own: dict[Part, list[Tensor]] = {}
    beside: list[Tensor] = []
    for tensor in tensors:
        part, layer = part_of(tensor.name), layer_of(tensor.name)
        if part is None or (layer is not None and layer >= layers):
            beside.append(tensor)
        else:
            own.setdefault(part, []).append(tensor)
    return own, beside


def _mean(tensors: list[Tensor], packed_bits: int | None, math: str | None) -> Dtype:
    """The format of tensors that share one, or their mean bits a parameter, scales included."""
    params = sum(t.params(packed_bits) for t in tensors)
    if not params:
        return DTYPES["bf16"]
    bits = 8 * sum(t.bytes for t in tensors) / params
    names = {t.dtype for t in tensors}
    own = DTYPES.get(next(iter(names))) if len(names) == 1 else None
    if own and own.bits == bits:
        return replace(own, math=WEIGHT_ONLY) if own.bits > 16 else own
    return Dtype(f"{bits:.4g} bits", bits, (math or WEIGHT_ONLY) if bits < 15 else WEIGHT_ONLY)


def _left_out(beside: list[Tensor]) -> Iterator[str]:
    if beside:
        stored = show(float(sum(t.bytes for t in beside)), "B")
        yield f"{stored} beside the language model is not priced: {len(beside)} tensors ({beside[0].name:.60} ...)"


def _disagreements(model: Model, tensors: list[Tensor], packed_bits: int | None) -> Iterator[str]:
    held = sum(t.params(packed_bits) for t in tensors)
    if held != model.params_total:
        stored = show(float(sum(t.bytes for t in tensors)), "B")
        yield (
            f"the files hold {held:,} parameters, the config says {model.params_total:,}: the files' {stored} give the "
            "bytes of a parameter, the config how many are priced"
        )
