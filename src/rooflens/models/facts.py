"""What is known about a model, as one record: parameters, bytes, layers by kind, cache, state, what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflens.models.model import ENDS, Block, Model
from rooflens.operators.cost import Precision
from rooflens.records import record

IN_FILES = "in its files"


@record
class ModelFacts:
    """A model in the keys of its JSON.

    params_active: what one token uses, the input embedding included; params_streamed: what a step of one token reads.
    kv_bytes_per_token: over all layers; _growing: of those that keep every position; _allocated: by an engine with
    uniform pages, which gives every caching layer as much as the largest and frees nothing behind a window.
    state_bytes_per_sequence: recurrent states and the positions that short convolutions remember.
    """

    name: str
    family: str
    params_total: int
    params_active: int
    params_streamed: int
    weight_bytes: float
    weight_bytes_by_format: Mapping[str, float]
    layers: int
    layers_by_kind: Mapping[str, int]
    kv_format: str
    kv_bytes_per_token: float
    kv_bytes_per_token_growing: float
    kv_bytes_per_token_allocated: float
    state_bytes_per_sequence: float
    max_context: int | None = None
    special: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()


def facts(model: Model, precision: Precision) -> ModelFacts:
    """The facts of a model stored in these formats."""
    stored, kv = _stored(model, precision), precision.kv.bytes
    return ModelFacts(
        name=model.name,
        family=model.family,
        params_total=model.params_total,
        params_active=model.params_active,
        params_streamed=model.params_streamed,
        weight_bytes=sum(stored.values()),
        weight_bytes_by_format=stored,
        layers=int(model.letters["L"]),
        layers_by_kind=_by_kind(model),
        kv_format=precision.kv.name,
        kv_bytes_per_token=kv * model.kv_elements_per_token(),
        kv_bytes_per_token_growing=kv * model.kv_elements_per_token(growing=True),
        kv_bytes_per_token_allocated=kv * model.kv_elements_allocated(),
        state_bytes_per_sequence=model.state_bytes(precision),
        max_context=model.max_context,
        special=tuple(_special(model)),
        warnings=model.warnings,
        not_modelled=model.not_modelled,
    )


def _stored(model: Model, precision: Precision) -> dict[str, float]:
    """Bytes by format; those of the files where they were read and the config's arithmetic gives others."""
    counted = model.stored_bytes(precision)
    held = model.stored.file_bytes if model.stored and precision.weights == model.stored.weights else None
    return counted if held is None or round(held) == round(sum(counted.values())) else {IN_FILES: held}


def _by_kind(model: Model) -> dict[str, int]:
    found: dict[str, int] = {}
    for block in model.blocks:
        if block.kind not in ENDS:
            found[block.kind] = found.get(block.kind, 0) + block.count
    return found


def _special(model: Model) -> Iterator[str]:
    """What a reader should know before comparing with a plain decoder."""
    letters = model.letters
    for block in model.blocks:
        yield from _reach(block)
        if not block.caches:
            yield f"{block.count} layers read the keys and values that an earlier layer cached"
    if "R" in letters:
        yield f"one latent of {letters['R'] + letters['Wr']:g} values a position stands for all keys and values"
    if "E" in letters:
        shared = ", and shared ones" if "Fs" in letters else ""
        yield f"{letters['A']:g} of {letters['E']:g} experts a token{shared}"
    if not any(row.home == "kv" for block in model.blocks for row in block.rows):
        yield "no KV cache: the state of a sequence does not grow"
    if any(row.home == "tied" and row.part == "head" for block in model.blocks for row in block.rows):
        yield "the embedding is also the head: stored once, streamed once"


def _reach(block: Block) -> Iterator[str]:
    how = {
        "window": "reach back over a window of",
        "chunk": "attend inside chunks of",
        "selection": "select at most",
    }[block.local]
    if block.window is not None:
        yield f"{block.count} layers {how} {block.window:g} positions"
