"""Memory of one device: weights, cache, activations and the engine's own share, and how much cache that leaves.

An engine gives the cache what is left when everything else has been set aside; how many sequences that holds is found
by trying, since a window, a state or a page makes a sequence's bytes anything but proportional to its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

from rooflens.arrays import Number, is_array, library
from rooflens.catalogue.engines import Engine
from rooflens.errors import RooflensError
from rooflens.models import Block, Model
from rooflens.models.model import ENDS
from rooflens.operators.cost import Precision
from rooflens.operators.rows import Row, Token, product
from rooflens.prediction.edges import edge
from rooflens.records import record, replace
from rooflens.units import show
from rooflens.workload import Step, fixed_letters, moving_letters, prefill

LOGIT_BYTES = 4.0  # engines sample from fp32 logits
HELD_WIDTHS = 3  # of the residual stream, beside the widest pair of outputs: residual, input and output of a layer
MOST_SEQUENCES = 1 << 24
MOST_TOKENS = 1 << 40


@record
class Reserve:
    """What an engine sets aside, and its pages. None: not known, so not counted.

    memory_fraction, fraction_of: see catalogue.engines. batched_tokens: tokens of the largest pass.
    """

    memory_fraction: float = 1.0
    fraction_of: str = "all"
    block_tokens: int = 1
    batched_tokens: int = 8192
    runtime_bytes: float | None = None
    graph_bytes: float | None = None

    @property
    def outside_bytes(self) -> float:
        """The runtime's and the graphs' share, as far as known."""
        return sum(self.known_outside)

    @property
    def known_outside(self) -> tuple[float, ...]:
        """Those of the two that are known."""
        return tuple(size for size in (self.runtime_bytes, self.graph_bytes) if size is not None)


@record
class Memory:
    """One device of a deployment. capacity_bytes: the device's; usable_bytes: what the engine lets itself have of it.

    kv_bytes: cache and states of the batch at its context. max_sequences: as many at that context as fit, over all
    replicas; kv_tokens: cached tokens that the engine will have, over all replicas; max_context: of one sequence alone.
    runtime_bytes: of driver, libraries and CUDA graphs, as far as known; None: of neither.
    """

    weight_bytes: float
    kv_bytes: float
    activation_bytes: float
    runtime_bytes: float | None
    capacity_bytes: float
    usable_bytes: float
    needed_bytes: float
    fits: bool
    max_sequences: int
    kv_tokens: int
    max_context: int
    notes: tuple[str, ...] = ()

    @property
    def short_bytes(self) -> float:
        """What is missing; 0 where all fits."""
        return max(0.0, self.needed_bytes - self.usable_bytes)


@record
class Filled:
    """How full one device is: `needed_bytes`, `fits` and `max_sequences` of Memory, for one load or arrays of them."""

    needed_bytes: Any
    fits: Any
    max_sequences: Any


def reserve(engine: Engine | None, **given: float | None) -> Reserve:
    """The engine's defaults with what a person says instead; without an engine, the whole of memory and no pages.

    Raises RooflensError for a memory fraction that is none.
    """
    names = ("memory_fraction", "fraction_of", "block_tokens", "batched_tokens", "runtime_bytes", "graph_bytes")
    own: dict[str, Any] = {} if engine is None else {name: getattr(engine, name) for name in names}
    made = Reserve(**{**own, **{name: value for name, value in given.items() if value is not None}})
    if not 0 < made.memory_fraction <= 1:
        raise RooflensError(f"a memory fraction lies above 0 and up to 1, not at {made.memory_fraction:g}")
    return made


def memory(model: Model, precision: Precision, step: Step, capacity_bytes: float, kept: Reserve) -> Memory:
    """The memory of the fullest device when `step.batch` sequences of `step.context` positions are served.

    The devices of a replica share weights and cache by their letters, a stage of a pipeline holds its share of the
    layers; a replica more changes nothing. Not counted: fragmentation, buffers of collectives.
    """
    parts = _Parts(model, on_device(model, step), precision, step, kept)
    usable, held = parts.usable_bytes(capacity_bytes), _filled(parts, capacity_bytes)
    sequences = float(parts.sequences)
    longest = _most(lambda n: parts.fixed_bytes(1.0) + parts.sequence_bytes(n) <= usable, MOST_TOKENS)
    found = Memory(
        weight_bytes=parts.weight_bytes,
        kv_bytes=sequences * parts.sequence_bytes(float(step.context)),
        activation_bytes=parts.activation_bytes(sequences),
        runtime_bytes=kept.outside_bytes if kept.known_outside else None,
        capacity_bytes=capacity_bytes,
        usable_bytes=usable,
        needed_bytes=held.needed_bytes,
        fits=held.fits,
        max_sequences=held.max_sequences,
        kv_tokens=parts.kv_tokens(usable) * step.dp,
        max_context=longest,
    )
    return replace(found, notes=tuple(_notes(found, kept, sequences)))


def filled(model: Model, precision: Precision, step: Step, capacity_bytes: float, kept: Reserve) -> Filled:
    """Of `memory`, what says whether a load fits; batch and context of the step may be arrays."""
    return _filled(_Parts(model, on_device(model, step), precision, step, kept), capacity_bytes)


def _filled(parts: _Parts, capacity_bytes: float) -> Filled:
    usable, each = parts.usable_bytes(capacity_bytes), parts.sequence_bytes(parts.step.context)
    needed = parts.fixed_bytes(parts.sequences) + parts.sequences * each
    if is_array(each):
        most = _most_each(lambda n: parts.fixed_bytes(n) + n * each <= usable, each)
    else:
        most = _most(lambda n: bool(parts.fixed_bytes(n) + n * each <= usable))
    return Filled(needed, needed <= usable, most * parts.step.dp)


@record
class _Parts:
    """The parts of one device's memory. whole: the model; held: what of it the device holds."""

    whole: Model
    held: Model
    precision: Precision
    step: Step
    kept: Reserve

    @property
    def sequences(self) -> Number:
        """Those of the fullest replica."""
        return -(-self.step.batch // self.step.dp)

    @cached_property
    def weight_bytes(self) -> float:
        return sum(self.held.stored_bytes(self.precision).values())

    def fixed_bytes(self, sequences: Number) -> Any:
        """All that is not cache, as far as it counts against what is usable."""
        if self.kept.fraction_of == "static":
            return self.weight_bytes
        return self.weight_bytes + self.activation_bytes(sequences) + self.kept.outside_bytes

    def usable_bytes(self, capacity_bytes: float) -> float:
        """What the engine's fraction leaves it of the device."""
        if self.kept.fraction_of != "free":
            return self.kept.memory_fraction * capacity_bytes
        used = float(self.fixed_bytes(1.0))
        return used + self.kept.memory_fraction * max(0.0, capacity_bytes - used)

    def activation_bytes(self, sequences: Number) -> Any:
        """Peak activations of a pass over as many tokens as the engine batches, and fp32 logits."""
        return self.pass_bytes + sequences * self.whole.letters["V"] * LOGIT_BYTES

    @cached_property
    def pass_bytes(self) -> float:
        return pass_bytes(self.whole, self.precision, self.step, self.kept.batched_tokens)

    @cached_property
    def state_bytes(self) -> float:
        """The recurrent state of one sequence."""
        return self.held.state_bytes(self.precision)

    def sequence_bytes(self, context: Number) -> Any:
        """Cache (in whole pages) and state of one sequence at this context."""
        pages = -(-context // self.kept.block_tokens) * self.kept.block_tokens
        return self.held.kv_bytes(pages, self.precision) + self.state_bytes

    def kv_tokens(self, usable_bytes: float) -> int:
        """Tokens of cache: where sequences do not grow evenly, of sequences at the step's context."""
        left, page = usable_bytes - self.fixed_bytes(1.0), self.kept.block_tokens
        evenly = all(block.grows for block in self.held.blocks) and not self.state_bytes
        tokens = float(page) if evenly else float(self.step.context)
        each = self.sequence_bytes(tokens) / tokens
        return max(0, int(left / each // page * page)) if each else 0


def on_device(model: Model, step: Step) -> Model:
    """The model as the fullest device holds it: letters split over the devices, layers over the stages.

    Of a pipeline's ends one device holds the embedding, another the head: the larger counts.
    """
    blocks = [_on_device(model, step, block) for block in model.blocks]
    if step.pp > 1:
        ends = [replace(model, blocks=(block,)) for block in blocks if block.kind in ENDS]
        kept = max(ends, key=lambda end: end.params_total).blocks[0]
        blocks = [block for block in blocks if block.kind not in ENDS or block is kept]
    return replace(model, blocks=tuple(blocks))


def _on_device(model: Model, step: Step, block: Block) -> Block:
    letters = {name: float(size) for name, size in fixed_letters(model, step, block).items()}
    if "E" in letters:
        letters["X"] = letters["E"] / step.ep
    count = block.count if block.kind in ENDS else -(-block.count // step.pp)
    return replace(block, count=count, letters=letters)


def pass_bytes(model: Model, precision: Precision, step: Step, tokens: float) -> float:
    """Peak activations of a pass without its logits: the widest two outputs in a row, and what callers hold meanwhile.

    Within 1 % of what vLLM's profiling found for Llama-3.1-8B at 20,000 tokens (2.07 GiB).
    """
    whole = prefill(1, tokens, tokens, tp=step.tp, ep=step.ep, dp=step.dp)
    widest = max(_pairs(model, whole), default=0.0) + HELD_WIDTHS * tokens * model.letters["D"]
    return widest * precision.activations.bytes


def _pairs(model: Model, step: Step) -> Iterator[float]:
    """Elements of every two outputs in a row that are written out."""
    for block in model.blocks:
        if block.kind not in ENDS:
            letters = {**fixed_letters(model, step, block), **moving_letters(model, step, block)}
            sizes = [float(product(row.operands[2], letters)) for row in block.rows if _written(row)]
            yield from (a + b for a, b in pairwise([*sizes, 0.0]))


def _written(row: Row) -> bool:
    """Whether the output of a row is held: a product's, or what replaces it, never scores that stay on chip."""
    if row.home in ("link", "table"):
        return False
    inside = row.home == "none" and not any(_positional(token) for token in row.operands[2])
    return "y" in row.touches or inside


def _positional(token: Token) -> bool:
    return any(name in ("P", "S", "Pi", "Si", "Pc") for _, name in token.terms)


def _most(fits: Callable[[float], bool], limit: int = MOST_SEQUENCES) -> int:
    """The largest whole number for which `fits` still holds, 0 when not even 1 does; `fits` is monotone."""
    if not fits(1.0):
        return 0
    low, high = 1, 2
    while high < limit and fits(float(high)):
        low, high = high, 2 * high
    return edge(high, low, lambda n: fits(float(n)))


def _most_each(fits: Callable[[Any], Any], like: Any) -> Any:
    """The same for every number of an array of loads."""
    where, down = library().where, library().floor
    holding, breaks = like * 0.0, like * 0.0 + MOST_SEQUENCES
    for _ in range(MOST_SEQUENCES.bit_length() - 1):
        middle = down((holding + breaks) / 2)
        good = fits(middle)
        holding, breaks = where(good, middle, holding), where(good, breaks, middle)
    return holding


def _notes(found: Memory, kept: Reserve, sequences: float) -> Iterator[str]:
    if not found.fits:
        parts = {"weights": found.weight_bytes, "KV": found.kv_bytes, "activations": found.activation_bytes}
        parts |= {} if found.runtime_bytes is None else {"runtime": found.runtime_bytes}
        said = " + ".join(f"{name} {show(size, 'B')}" for name, size in parts.items())
        usable = f"{show(sum(parts.values()), 'B')}, and {show(found.usable_bytes, 'B')} are usable"
        yield f"does not fit: {said} = {usable}, short by {show(found.short_bytes, 'B')}"
        if found.weight_bytes + found.kv_bytes <= found.capacity_bytes:
            yield f"weights and KV alone would fit in the device's {show(found.capacity_bytes, 'B')}, on paper"
    if found.kv_bytes > found.weight_bytes:
        times = found.kv_bytes / found.weight_bytes if found.weight_bytes else 0.0
        yield f"the KV cache of {sequences:g} sequences is {times:.3g} times the weights"
    if kept.runtime_bytes is None:
        yield "what driver and libraries take is not known and not counted; say it with --runtime-bytes"
    if kept.graph_bytes is None:
        yield "what CUDA graphs reserve is not known and not counted; say it with --graph-bytes"
