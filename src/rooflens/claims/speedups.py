"""One chip against another: a speed-up claimed for all is tried on the operators of a real model, priced on both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from rooflens.claims.record import TOLERANCE, Case, Claim, Reach, Verdict
from rooflens.dtypes import SIXTEEN_BIT, dtype
from rooflens.errors import NoPath
from rooflens.models import Model
from rooflens.models.lengths import usual_tokens
from rooflens.operators.alone import alone
from rooflens.operators.cost import Precision
from rooflens.operators.rows import Part
from rooflens.prediction.edges import edge
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.math import resolve
from rooflens.roofline.price import price_step
from rooflens.units import show
from rooflens.workload import Operator, Step, decode, operators, precision, prefill, suited

BATCHES = (1, 16, 64, 256)
CUBE = 8192
MOST_BATCH = 1 << 16
_NARROW = {"fp8": "fp8", "fp4": "nvfp4", "int8": "int8"}  # arithmetic -> how it is stored; int8 where no float is
_FASTER = 1.2  # a narrow format that gains less than this is not what a claim speaks of
_ATTENDING: tuple[Part, ...] = ("attend",)
_FFN: tuple[Part, ...] = ("linear", "expert", "shared")


@record
class Formats:
    """What the first and the second machine compute in. alike: the same width on both, so only the chips differ."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """ "fp8 against bf16"."""
        return f"{self.first} against {self.second}"

    @property
    def alike(self) -> bool:
        """Whether both are of one width."""
        return self.first == self.second or {self.first, self.second} <= set(SIXTEEN_BIT)


@record
class Trial:
    """One operator to be tried: its name, batch, and its kernels in a precision."""

    name: str
    batch: float | None
    kernels: Callable[[Precision], list[Operator]]


def compare(
    first: Machine,
    second: Machine,
    times: float,
    model: Model,
    context: int | None = None,
    tolerance: float = TOLERANCE,
) -> Claim:
    """The claim that `first` is at least `times` as fast as `second`, for operators of `model`.

    True when every operator gains that much in the same 16-bit format; true only for those that do, or that do with
    the formats changed; else false. context: the usual one when nobody says. Raises NoPath when a rate that this
    takes is not known.
    """
    wanted, context = times * (1 - tolerance), context or usual_tokens(model)
    pairs = list(_pairs(first, second))
    trials = list(_trials(model, context))
    tried = [_case(trial, pair, first, second) for pair in pairs for trial in trials]
    true = tuple(case for case in tried if (case.ratio or 0.0) >= wanted)
    plain = [case for case in tried if case.formats == pairs[0].name]
    verdict: Verdict = "true" if all(c in true for c in plain) else "true only for" if true else "false"
    return Claim(
        claim=f"{first.name} is {times:g}x {second.name}",
        verdict=verdict,
        claimed=times,
        unit="times",
        ratios=_ratios(first, second, pairs),
        true_for=true,
        false_for=tuple(case for case in tried if case not in true),
        why=tuple(_why(first, second, pairs)),
        tolerance=tolerance,
        condition=_condition(true, pairs) if verdict == "true only for" else None,
        batches=tuple(_reaches(model, context, pairs, first, second, wanted)),
        notes=tuple(_notes(first, second, pairs)),
    )


def _pairs(first: Machine, second: Machine) -> Iterator[Formats]:
    """16 bit on both; then each narrow format of the first that is faster, against 16 bit and, where it can, itself."""
    wide = Formats(*_sixteen(first, second))
    yield wide
    base = first.compute(wide.first).floor_value
    faster = [math for math in _NARROW if first.has(math) and first.compute(math).floor_value >= _FASTER * base]
    for math in [m for m in faster if m != "int8"] or faster:
        yield Formats(math, wide.second)
        if second.has(math):
            yield Formats(math, math)


def _sixteen(first: Machine, second: Machine) -> tuple[str, str]:
    """bf16 or fp16 on both where they share it, else what each has. Raises NoPath for a machine with neither."""
    shared = next((d for d in SIXTEEN_BIT if first.has(d) and second.has(d)), None)
    return (shared, shared) if shared else (_own(first), _own(second))


def _own(machine: Machine) -> str:
    found = [d for d in SIXTEEN_BIT if machine.has(d)]
    if not found:
        have = [c.dtype for c in machine.find("compute") if c.dtype and c.value > 0]
        instead = f"compare one format, as {machine.name}:{have[0]}" if have else "nor of any other"
        raise NoPath(f"nothing is known of 16-bit arithmetic on {machine.name}; {instead}")
    return max(found, key=lambda d: machine.compute(d).floor_value)


def _trials(model: Model, context: int) -> Iterator[Trial]:
    early, late, prompt = suited(model, "decode"), suited(model, "prefill"), usual_tokens(model)
    yield from _some("decode attention", None, early, decode(1, context), _ATTENDING)
    for batch in BATCHES:
        yield from _some("decode FFN", batch, early, decode(batch, context), _FFN)
    for batch in BATCHES:
        yield Trial("decode step", batch, partial(operators, early, decode(batch, context)))
    yield from _some("prefill attention", None, late, prefill(1, prompt), _ATTENDING)
    yield from _some("prefill FFN", None, late, prefill(1, prompt), _FFN)
    yield Trial(f"GEMM of {CUBE} cubed", None, _cube)


def _some(name: str, batch: int | None, model: Model, step: Step, parts: Sequence[Part]) -> Iterator[Trial]:
    """The kernels of a step that hold rows of these parts, if the model has any; a scan in chunks is no attention."""
    only = "attention" if parts == _ATTENDING else ""
    blocks = tuple(b for b in model.blocks if only in b.kind and any(row.part in parts for row in b.rows))
    if blocks:
        partly = replace(model, blocks=blocks)
        yield Trial(name, batch, lambda stored: [o for o in operators(partly, step, stored) if _holds(o, parts)])


def _holds(operator: Operator, parts: Sequence[Part]) -> bool:
    return any(row.part in parts for row in operator.rows)


def _cube(stored: Precision) -> list[Operator]:
    found = alone(f"gemm:M={CUBE},K={CUBE},N={CUBE}")
    return [Operator(found.name, 1, found.cost(stored), found.rows)]


def _case(trial: Trial, pair: Formats, first: Machine, second: Machine) -> Case:
    ours, our_bound = _priced(trial, first, pair.first)
    theirs, their_bound = _priced(trial, second, pair.second)
    bound = our_bound if our_bound == their_bound else f"{our_bound} / {their_bound}"
    return Case(trial.name, ratio=theirs / ours, formats=pair.name, batch=trial.batch, bound=bound)


def _priced(trial: Trial, machine: Machine, math: str) -> tuple[float, str]:
    own = dtype(math if math in SIXTEEN_BIT else _sixteen(machine, machine)[0])
    stored = _NARROW.get(math)
    formats, _ = resolve(precision(own, stored, "fp8" if stored else None), machine)
    found = price_step(trial.kernels(formats), machine)
    return float(found.floor_s), found.bound


def _reaches(
    model: Model, context: int, pairs: Iterable[Formats], first: Machine, second: Machine, wanted: float
) -> Iterator[Reach]:
    """For each pair of formats, the batches at which the decode FFN gains what is claimed."""
    early = suited(model, "decode")

    def holds(pair: Formats, batch: int) -> bool:
        found = list(_some("decode FFN", batch, early, decode(batch, context), _FFN))
        return bool(found) and (_case(found[0], pair, first, second).ratio or 0.0) >= wanted

    for pair in pairs:
        reach = _span(partial(holds, pair))
        if reach:
            yield Reach(pair.name, reach[0], reach[1])


def _span(holds: Callable[[int], bool]) -> tuple[int, int | None] | None:
    """The first and last batch that hold; the last is None when no larger one breaks it.

    A kernel's gain rises or falls once as it turns from memory to compute on either chip, so doubling finds the edges.
    """
    doubled = [1 << n for n in range(MOST_BATCH.bit_length())]
    held = [batch for batch in doubled if holds(batch)]
    if not held:
        return None
    lowest = held[0] if held[0] == 1 else edge(held[0] // 2, held[0], holds)
    highest = None if held[-1] == doubled[-1] else edge(2 * held[-1], held[-1], holds)
    return lowest, highest


def _ratios(first: Machine, second: Machine, pairs: list[Formats]) -> dict[str, float]:
    wide = pairs[0]
    theirs = second.compute(wide.second).floor_value
    found = {
        "compute": first.compute(wide.first).floor_value / theirs,
        "memory": first.memory().floor_value / second.memory().floor_value,
    }
    changed = [first.compute(p.first).floor_value / theirs for p in pairs if not p.alike]
    found |= {"precision": max(changed)} if changed else {}
    sparse = first.sparse_multipliers.get(wide.first)
    return found | ({"sparsity": sparse * found["compute"]} if sparse and sparse > 1 else {})


def _why(first: Machine, second: Machine, pairs: list[Formats]) -> Iterator[str]:
    for pair in pairs:
        ours, theirs = first.compute(pair.first).floor_value, second.compute(pair.second).floor_value
        yield f"{pair.name}, dense: {show(ours, 'FLOP/s')} against {show(theirs, 'FLOP/s')} = {ours / theirs:.3g}x"
    ours, theirs = first.memory().floor_value, second.memory().floor_value
    yield f"memory: {show(ours, 'B/s')} against {show(theirs, 'B/s')} = {ours / theirs:.3g}x"
    wide = pairs[0]
    sparse = first.sparse_multipliers.get(wide.first)
    if sparse and sparse > 1:
        ours, theirs = sparse * first.compute(wide.first).floor_value, second.compute(wide.second).floor_value
        yield f"{wide.first} 2:4 sparse against {wide.second} dense: {ours / theirs:.3g}x, which is not like for like"


def _condition(true: tuple[Case, ...], pairs: list[Formats]) -> str:
    """What the operators that gain what is claimed have in common, those in formats alike before the others."""
    alike = [case for case in true if case.formats in [p.name for p in pairs if p.alike]]
    bounds = {case.bound for case in alike or true}
    work = f"{bounds.pop()}-bound work" if len(bounds) == 1 else "the operators listed"
    return work if alike else f"{work} with the precision changed"


def _notes(first: Machine, second: Machine, pairs: list[Formats]) -> Iterator[str]:
    if any(not p.alike for p in pairs):
        yield (
            f"what memory-bound work gains from the narrower format is not {first.name}'s: "
            f"{second.name} may store fewer bytes too"
        )
    yield from (*first.assumptions, *second.assumptions)
