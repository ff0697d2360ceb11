"""A step: phase, batch, context and precision applied to a model, as a list of priced operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from rooflens.arrays import Number, added, all_of, letter, maximum, minimum, smaller, up
from rooflens.dtypes import SIXTEEN_BIT, Dtype, dtype
from rooflens.errors import RooflensError
from rooflens.models import Block, Model, Stored, rebuilt
from rooflens.models.model import Local
from rooflens.models.schemes import WIDE_PARTS
from rooflens.operators.collectives import ALONE, Collective
from rooflens.operators.cost import Cost, Precision, cost_of, kernels, total
from rooflens.operators.experts import experts_touched
from rooflens.operators.letters import shard
from rooflens.operators.rows import Part, Row
from rooflens.operators.standard import attended
from rooflens.parallel import BESIDE_LAYERS, Pipeline, check, check_devices, hand_overs, pipeline, talking
from rooflens.records import record, replace

Phase = Literal["decode", "prefill"]
Mask = Literal["causal", "full"]
MOST_SKEW = 16.0  # the second expert then has 1 / 65,536 of the first one's tokens
LettersOf = Callable[[Model, "Step", Block], dict[str, Number]]


@record
class Step:
    """What runs at once. Letters may be arrays.

    batch: sequences, over all replicas. tokens: new tokens each. context: positions in the cache once those tokens are
    in it. logits: logits a sequence, 0 where a part of a prompt needs none. tp: devices that share every layer. dp:
    replicas of such a group, sharing the batch. ep: devices over which experts are spread whole; 1: every replica has
    them all. pp: stages that share the layers, passed by `microbatches` parts of a replica's batch, one after another.
    gpus_per_node: devices that reach each other over the link, others over the network; None: all do.
    routing_skew: how uneven routing is, see operators.experts.
    """

    phase: Phase
    batch: Number
    tokens: Number
    context: Number
    logits: Number = 1.0
    mask: Mask = "causal"
    tp: int = 1
    ep: int = 1
    dp: int = 1
    routing_skew: float = 0.0
    pp: int = 1
    microbatches: int = 1
    gpus_per_node: int | None = None

    @property
    def layout(self) -> str:
        """What may not differ between steps that are priced together: the devices, and whether the head runs."""
        spread = f"tp {self.tp}" + (f", ep {self.ep}, dp {self.dp}" if self.ep * self.dp > 1 else "")
        if self.pp > 1 or self.gpus_per_node:
            spread += f", pp {self.pp}, {self.gpus_per_node or 'all'} a node"
        return spread if self.heads else f"{spread}, no logits"

    @property
    def passes(self) -> Number:
        """Microbatches that have a sequence, on the fullest replica."""
        return 1.0 if self.microbatches == 1 else minimum([float(self.microbatches), -(-self.batch // self.dp)])

    @property
    def heads(self) -> bool:
        """Whether any logits are asked for."""
        return not all_of(self.logits == 0)


@record
class Operator:
    """One kernel of a step: `count` times `cost` in a microbatch's way through all stages, on one device of each.

    Its name is that of its first row. collective: whom it waits for; its cost counts the way with the fewest bytes.
    pipeline: how the step goes on from one microbatch to all.
    """

    name: str
    count: int
    cost: Cost
    rows: tuple[Row, ...]
    kind: str = ""
    letters: Mapping[str, Number] | None = None
    collective: Collective | None = None
    pipeline: Pipeline = Pipeline()

    @property
    def at_an_end(self) -> bool:
        """Whether it stands before, after or between the layers."""
        return self.kind in BESIDE_LAYERS


def decode(batch: Any = 1, context: Any = 1, tokens: Any = 1, **more: Any) -> Step:
    """One decode step: `tokens` new tokens a sequence (1, or more when speculating), each attending to `context`."""
    return _checked(Step("decode", letter(batch), letter(tokens), letter(context), letter(tokens), **more))


def prefill(batch: Any = 1, prompt: Any = 1, context: Any = None, **more: Any) -> Step:
    """One prefill of `prompt` tokens; `context` counts a cached prefix too. Logits of the last token only."""
    context = prompt if context is None else context
    return _checked(Step("prefill", letter(batch), letter(prompt), letter(context), 1.0, **more))


def mean_context(prompt: Number, output: Number) -> Number:
    """Positions that the mean decode step of an output attends to: it is half-way through, prompt + output / 2."""
    return prompt + output / 2


def accepted(tokens: Number, acceptance: float) -> Number:
    """Tokens that a step with `tokens` new ones a sequence yields when all but the first were drafted.

    1 + a + a^2 + ... = (1 - a^T) / (1 - a): a draft counts when it and all before it are accepted, each with chance a.
    Not counted: what drafting costs. Raises RooflensError for a rate that is none.
    """
    if not 0 <= acceptance <= 1:
        raise RooflensError(f"an acceptance rate lies between 0 and 1, not at {acceptance:g}")
    return tokens if acceptance == 1 else (1 - acceptance**tokens) / (1 - acceptance)


def suited(model: Model, phase: Phase) -> Model:
    """The model with the kernels that engines pick in this phase: prefill expands latents and scans in chunks."""
    late = phase == "prefill"
    wanted = {"mla": "expanded" if late else "absorbed", "scan": "chunks" if late else "steps"}
    differs = any(getattr(model.choices, choice) != form for choice, form in wanted.items())
    return rebuilt(model, **wanted) if differs and {"R", "Hs"} & set(model.letters) else model


def operators(
    model: Model, steps: Step | Sequence[Step], precision: Precision, letters_of: LettersOf | None = None
) -> list[Operator]:
    """A step as a list of kernels, each counted on one device, in its letters or those of `letters_of`.

    Several steps (a chunk of a prompt and the decodes beside it, say) run as one pass: every kernel works on the tokens
    of all of them and reads its weights once. A collective of one device is not there.
    """
    together = (steps,) if isinstance(steps, Step) else tuple(steps)
    check(model, together)
    step = together[0]
    through = pipeline(model, step, maximum(one.passes for one in together))
    tokens = added(_routed(step) for step in together)
    made = letters_of or (lambda model, step, block: letters(model, step, block, tokens))
    found = []
    for block in (*model.blocks, *hand_overs(model, step)):
        if block.kind != "head" or any(one.heads for one in together):
            sizes = [made(model, one, block) for one in together]
            rows = [row for row in block.rows if not row.collective or talking(model, step, block, row)]
            for kernel in kernels(rows):
                talk = talking(model, step, block, kernel[0])
                found.append(replace(_operator(kernel, block, sizes, precision, talk), pipeline=through))
    return found


def letters(model: Model, step: Step, block: Block, tokens: Number | None = None) -> dict[str, Number]:
    """The letters of one block in this step, as one device sees them; `tokens`: those of the whole pass."""
    return {**fixed_letters(model, step, block), **moving_letters(model, step, block, tokens)}


def fixed_letters(model: Model, step: Step, block: Block) -> dict[str, Number]:
    """The letters that no batch, prompt or context changes: the architecture's, split over the devices."""
    whole = block.with_letters(model.letters)
    return shard(whole, step.tp, step.ep, step.dp)


def moving_letters(model: Model, step: Step, block: Block, tokens: Number | None = None) -> dict[str, Number]:
    """The letters that the step sets. Costs are sums of products of them: roofline.bound counts on it."""
    touched, reached = positions(step, block.window, block.local)
    found = {"B": _in_a_microbatch(step), "T": step.tokens, "S": touched, "P": reached, "Y": step.logits}
    if block.local == "selection":
        found["Si"], found["Pi"] = positions(step, None)
    whole = block.with_letters(model.letters)
    if "E" in whole:
        seen = _routed(step) if tokens is None else tokens
        everywhere = experts_touched(float(whole["E"]), float(whole["A"]), seen, step.routing_skew)
        found["X"] = maximum([everywhere / step.ep, 1.0])
    return found


def _in_a_microbatch(step: Step) -> Number:
    """Whole sequences: those of the fullest microbatch of the fullest replica."""
    replica = up(step.batch if step.dp == 1 else step.batch / step.dp)
    return replica if step.microbatches == 1 else up(replica / step.microbatches)


def _routed(step: Step) -> Number:
    """Tokens that one copy of the experts serves: those of all replicas where the experts are spread over them."""
    mine = _in_a_microbatch(step)
    return (smaller(step.batch, mine * step.dp) if step.ep > 1 else mine) * step.tokens


def positions(step: Step, window: float | None, local: Local = "window") -> tuple[Number, Number]:
    """Positions touched, and attended to on average by the new tokens.

    Token i of T sees C - T + i positions under a causal mask (C = context), all C under a full one, and no more than a
    window or selection of w. A window is read back to the first new token's reach: min(C, T + w - 1); of a selection
    each token makes its own: min(C, T w); a chunk starts anew at every multiple of w.
    """
    context, tokens = step.context, step.tokens
    before = context - tokens
    if window is None:
        return context, attended(tokens, context, causal=step.mask != "full")
    if local == "chunk":
        start = window * (before // window)
        return context - start, (_in_chunks(context, window) - _in_chunks(before, window)) / tokens
    if step.mask == "full":
        return minimum([context, tokens + window - 1]), minimum([context, window])
    rising = minimum([maximum([window - before, 0.0]), tokens])
    seen = rising * before + rising * (rising + 1) / 2 + (tokens - rising) * window
    reached = tokens * window if local == "selection" else tokens + window - 1
    return minimum([context, reached]), seen / tokens


def _in_chunks(position: Number, chunk: float) -> Number:
    """Positions attended to by all tokens up to this one: 1 + 2 + ... + w in every whole chunk."""
    whole = position // chunk
    rest = position - whole * chunk
    return whole * chunk * (chunk + 1) / 2 + rest * (rest + 1) / 2


def own_dtype(model: Model) -> tuple[Dtype, tuple[str, ...]]:
    """The format a model is served in when nobody says otherwise, and a note when its file says something else.

    Raises RooflensError for a name of a format that nobody knows.
    """
    if not model.dtype:
        return dtype("bf16"), ("the config names no dtype: bf16 assumed",)
    try:
        own = dtype(model.dtype)
    except RooflensError as error:
        raise RooflensError(f"the config of {model.name}: {error}") from None
    if own.name not in SIXTEEN_BIT:
        return dtype("bf16"), (
            f"the config says {model.dtype}; counted in bf16, as it is served, unless --weights is given",
        )
    return own, ()


def precision(
    own: Dtype, weights: str | None = None, kv: str | None = None, stored: Stored | None = None, state: str = "fp32"
) -> Precision:
    """The stored formats; those not given are the model's: what a quantised one has `stored`, else `own`.

    `weights` in 8- and 4-bit tensor formats leave embedding, head, router and norms in 16 bit, as engines do; in GGUF
    types and plain bit counts, only norms; mixtures say which parts they store otherwise. The cache is stored as `kv`
    says, else as the model's own file says, else as the activations.
    `state`: the format of recurrent states, Model.state_dtype.
    """
    if stored and not weights:
        parts: dict[str, Dtype] = {part: of or own for part, of in stored.parts.items()}
        return Precision(stored.weights, dtype(kv) if kv else stored.kv or own, own, parts, state=dtype(state))
    wanted = dtype(weights) if weights else own
    act = wanted if wanted.bits >= 16 and not wanted.everywhere else own
    wide: tuple[Part, ...] = () if wanted.bits >= 16 else ("norm",) if wanted.everywhere else WIDE_PARTS
    own_kv = stored.kv if stored and stored.kv else act
    mixed: dict[str, Dtype] = {part: dtype(name) for part, name in wanted.parts}
    return Precision(wanted, dtype(kv) if kv else own_kv, act, dict.fromkeys(wide, act) | mixed, state=dtype(state))


def _operator(
    rows: tuple[Row, ...], block: Block, sizes: list[dict[str, Number]], stored: Precision, talk: Collective | None
) -> Operator:
    """A kernel of a pass: its tokens' work added up, its weights, launches and steps counted once."""
    way = talk.least if talk else ALONE
    costs = [total(cost_of(row, one, stored, way) for row in rows) for one in sizes]
    cost = costs[0]
    if len(costs) > 1:
        once = {name: getattr(cost, name) for name in ("weight_bytes", "launches", "link_steps", "network_steps")}
        cost = replace(total(costs), **once)
    return Operator(rows[0].name, block.count, cost, rows, block.kind, sizes[0], talk)


def _checked(step: Step) -> Step:
    for name in ("batch", "tokens", "context"):
        if not all_of(getattr(step, name) >= 1):
            shown = getattr(step, name)
            where = f", not {shown:g}" if isinstance(shown, float) else " everywhere"
            raise RooflensError(f"{name} must be at least 1{where}")
    if not all_of(step.context >= step.tokens):
        raise RooflensError(
            "context counts the new tokens too, so it cannot be smaller than the prompt (prefix + prompt)"
        )
    check_devices(step)
    if step.routing_skew < 0:
        raise RooflensError(f"routing_skew must be at least 0 (even routing), not {step.routing_skew:g}")
    if not step.routing_skew <= MOST_SKEW:
        raise RooflensError(
            f"routing_skew {step.routing_skew:g} is out of range: at {MOST_SKEW:g} one expert has it all"
        )
    return step
