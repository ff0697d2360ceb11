"""A step: phase, batch, context and precision applied to a model, as a list of priced operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rooflens.arrays import Number, all_of, letter, maximum, minimum
from rooflens.dtypes import SIXTEEN_BIT, Dtype, dtype
from rooflens.errors import RooflensError
from rooflens.models import Block, Model, Stored
from rooflens.operators.cost import Cost, Precision, cost_of, kernels, total
from rooflens.operators.letters import shard
from rooflens.operators.rows import Part, Row

Phase = Literal["decode", "prefill"]
Mask = Literal["causal", "full"]
LettersOf = Callable[[Model, "Step", Block], dict[str, Number]]
WIDE_PARTS: tuple[Part, ...] = ("head", "embed", "router", "norm")


@dataclass(frozen=True, slots=True)
class Step:
    """What runs at once. Letters may be arrays.

    batch: sequences. tokens: new tokens each. context: positions in the cache once those tokens are in it.
    logits: logits a sequence. tp: devices that share every layer.
    """

    phase: Phase
    batch: Number
    tokens: Number
    context: Number
    logits: Number = 1.0
    mask: Mask = "causal"
    tp: int = 1


@dataclass(frozen=True, slots=True)
class Operator:
    """One kernel of a step: `count` times `cost`. Its name is that of its first row."""

    name: str
    count: int
    cost: Cost
    rows: tuple[Row, ...]
    kind: str = ""
    letters: Mapping[str, Number] | None = None


def decode(batch: Any = 1, context: Any = 1, tokens: Any = 1, **more: Any) -> Step:
    """One decode step: `tokens` new tokens a sequence (1, or more when speculating), each attending to `context`."""
    return _checked(Step("decode", letter(batch), letter(tokens), letter(context), letter(tokens), **more))


def prefill(batch: Any = 1, prompt: Any = 1, context: Any = None, **more: Any) -> Step:
    """One prefill of `prompt` tokens; `context` counts a cached prefix too. Logits of the last token only."""
    context = prompt if context is None else context
    return _checked(Step("prefill", letter(batch), letter(prompt), letter(context), 1.0, **more))


def operators(model: Model, step: Step, precision: Precision, letters_of: LettersOf | None = None) -> list[Operator]:
    """The step as a list of kernels, each counted on one device, in its letters or those of `letters_of`."""
    if step.tp > 1 and not model.choices.links:
        raise RooflensError("several devices need the model built with links=True, or its collectives are not counted")
    found = []
    for block in model.blocks:
        sizes = (letters_of or letters)(model, step, block)
        found += [_operator(rows, block, sizes, precision) for rows in kernels(block.rows)]
    return found


def letters(model: Model, step: Step, block: Block) -> dict[str, Number]:
    """The letters of one block in this step, as one device sees them."""
    return {**fixed_letters(model, step, block), **moving_letters(step, block)}


def fixed_letters(model: Model, step: Step, block: Block) -> dict[str, Number]:
    """The letters that no batch, prompt or context changes: the architecture's, split over the devices."""
    return {**shard(block.with_letters(model.letters), tp=step.tp), "Z": 2.0 * (step.tp - 1) / step.tp}


def moving_letters(step: Step, block: Block) -> dict[str, Number]:
    """The letters that the step sets. Costs are sums of products of them: roofline.bound counts on it."""
    touched, attended = positions(step, block.window)
    return {"B": step.batch, "T": step.tokens, "S": touched, "P": attended, "Y": step.logits}


def positions(step: Step, window: float | None) -> tuple[Number, Number]:
    """Positions touched, and attended to on average by the new tokens.

    Token i of T sees min(C - T + i, window) positions under a causal mask (C = context), all C under a full one.
    A window of w is read back to the first new token's reach: min(C, T + w - 1).
    """
    context, tokens = step.context, step.tokens
    if step.mask == "full":
        touched = context if window is None else minimum([context, window])
        return touched, touched
    before = context - tokens
    if window is None:
        return context, before + (tokens + 1) / 2
    rising = minimum([maximum([window - before, 0.0]), tokens])
    seen = rising * before + rising * (rising + 1) / 2 + (tokens - rising) * window
    return minimum([context, tokens + window - 1]), seen / tokens


def beyond(model: Model, step: Step) -> tuple[str, ...]:
    """A note when the context is longer than the model was made for."""
    if model.max_context is None or all_of(step.context <= model.max_context):
        return ()
    return (f"the context is beyond the {model.max_context} positions that {model.name} was made for",)


def own_dtype(model: Model) -> tuple[Dtype, tuple[str, ...]]:
    """The format a model is served in when nobody says otherwise, and a note when its file says something else."""
    if not model.dtype:
        return dtype("bf16"), ("the config names no dtype: bf16 assumed",)
    own = dtype(model.dtype)
    if own.name not in SIXTEEN_BIT:
        return dtype("bf16"), (
            f"the config says {model.dtype}; counted in bf16, as it is served, unless --weights is given",
        )
    return own, ()


def precision(own: Dtype, weights: str | None = None, kv: str | None = None, stored: Stored | None = None) -> Precision:
    """The stored formats; those not given are the model's: what a quantised one has `stored`, else `own`.

    `weights` in 8- and 4-bit tensor formats leave embedding, head, router and norms in 16 bit, as engines do; in GGUF
    types and plain bit counts, only norms. The cache is stored as the activations unless `kv` says otherwise.
    """
    if stored and not weights:
        parts: dict[str, Dtype] = {part: of or own for part, of in stored.parts.items()}
        return Precision(stored.weights, dtype(kv) if kv else stored.kv or own, own, parts)
    wanted = dtype(weights) if weights else own
    act = wanted if wanted.bits >= 16 else own
    wide: tuple[Part, ...] = () if wanted.bits >= 16 else ("norm",) if wanted.everywhere else WIDE_PARTS
    return Precision(wanted, dtype(kv) if kv else act, act, dict.fromkeys(wide, act))


def _operator(rows: tuple[Row, ...], block: Block, sizes: dict[str, Number], stored: Precision) -> Operator:
    cost = total(cost_of(row, sizes, stored) for row in rows)
    return Operator(rows[0].name, block.count, cost, rows, block.kind, sizes)


def _checked(step: Step) -> Step:
    for name in ("batch", "tokens", "context"):
        if not all_of(getattr(step, name) >= 1):
            shown = getattr(step, name)
            raise RooflensError(
                f"{name} must be at least 1, not {shown:g}"
                if isinstance(shown, float)
                else f"{name} must be at least 1 everywhere"
            )
    if not all_of(step.context >= step.tokens):
        raise RooflensError(
            "context counts the new tokens too, so it cannot be smaller than the prompt (prefix + prompt)"
        )
    if step.tp < 1:
        raise RooflensError(f"tp must be at least 1, not {step.tp}")
    return step
