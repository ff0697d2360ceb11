"""Speed-ups of a GPU run: what two prices on its own roofs promise, what the clock said, and why the two differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rooflens.lab.observe import BLOCKED, NAIVE, REPLAYED, Observation, attention_kernels
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import BELOW_ROOF_SHARE
from rooflens.roofline.price import price_step, started_s
from rooflens.roofline.profile import AttentionPoint, Device, GemmPoint, Profile
from rooflens.workload import Operator

WRONG = 0.1  # a prediction that is further off has its reason said
NEAR_BEST = 0.9  # a cell that reaches this share of what its code reaches anywhere is not too small for it
Change = Literal["fused", "fp16", "int8", "batch", "blocked"]
Why = Literal["launch", "resident", "above", "size", "code"]
Fields = dict[str, object]

_FP16: Fields = {"dtype": "fp16", "kv_dtype": None}
CHANGES: tuple[tuple[Change, Fields, Fields], ...] = (
    ("fused", {**_FP16, "implementation": NAIVE}, {"implementation": REPLAYED}),
    ("fp16", {"dtype": "fp32", "kv_dtype": None, "implementation": REPLAYED}, {"dtype": "fp16"}),
    ("int8", {**_FP16, "implementation": REPLAYED}, {"kv_dtype": "int8"}),
    ("batch", {**_FP16, "implementation": REPLAYED, "batch": 1}, {"batch": 16}),
    ("batch", {**_FP16, "implementation": REPLAYED, "batch": 1}, {"batch": 64}),
    ("blocked", {**_FP16, "implementation": NAIVE}, {"implementation": BLOCKED}),
)
SEVERAL_ROWS = (16, 64)
_TELLING = (
    "model", "layers", "width", "heads", "kv_heads", "dtype", "kv_dtype", "implementation", "batch", "context",
    "tokens",
)  # fmt: skip


@record
class End:
    """One side of a speed-up. price_s: its floor and its launches, `hosted` where Python starts each of them."""

    seen: Observation
    price_s: float
    launches: float
    hosted: bool

    @property
    def time_s(self) -> float:
        """What the clock said."""
        return self.seen.point.time_s

    @property
    def miss(self) -> float:
        """How many times its price it takes."""
        return self.time_s / self.price_s


@record
class Gain:
    """A change and what it brings. work: how many times as many sequences the changed one serves in a step."""

    change: Change
    before: End
    after: End
    work: float = 1.0

    @property
    def predicted(self) -> float:
        """The ratio of the two prices, counted in sequences served."""
        return self.work * self.before.price_s / self.after.price_s

    @property
    def measured(self) -> float:
        """The ratio of the two times, likewise."""
        return self.work * self.before.time_s / self.after.time_s

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1

    @property
    def culprit(self) -> End:
        """The end that misses its price by more."""
        return self.before if self.error < 0 else self.after


@record
class Reason:
    """Why an end misses its price. best: the share of attainable that the same code reaches at best, and where."""

    why: Why
    end: End
    best: Observation | None = None


def gains(profile: Profile, seen: Sequence[Observation]) -> tuple[Gain, ...]:
    """Each change of CHANGES at its smallest and its largest pair of cells, then the products of one row and of many.

    Small and large by what a launch moves. Empty where nothing was measured twice in one way, as on a processor.
    """
    machine = profile.machine()
    return (*_of_attention(seen, machine), *_of_products(seen, machine))


def reason(gain: Gain, seen: Sequence[Observation], device: Device) -> Reason | None:
    """Why a prediction is off by more than WRONG; None for one that is not.

    launch: the same calls over one cached token take over half of the time. resident, above: faster than its price, its
    data in the last cache or not. code: the same kernel reaches no more in any cell of the run. size: in one it does.
    """
    if abs(gain.error) <= WRONG:
        return None
    end = gain.culprit
    if end.miss < 1:
        held = float(end.seen.cost.bytes) <= (device.largest_fed_cache_bytes or 0.0)
        return Reason("resident" if held else "above", end)
    if end.seen.point.regime == "launch":
        return Reason("launch", end)
    best = max((o for o in seen if _same_code(o, end.seen)), key=lambda o: o.point.share_of_attainable)
    reached, most = end.seen.point.share_of_attainable, best.point.share_of_attainable
    poor = most < BELOW_ROOF_SHARE or reached > NEAR_BEST * most
    return Reason("code" if poor else "size", end, best)


def bytes_a_launch(seen: Observation) -> float:
    """What one layer of an attention, or one product, moves."""
    return float(seen.cost.bytes) / (seen.attention.layers if seen.attention else 1)


def _of_attention(seen: Sequence[Observation], machine: Machine) -> Iterator[Gain]:
    cells = [(o, o.attention) for o in seen if o.attention and o.trusted]
    by_fields = {_told(cell): o for o, cell in cells}
    for change, fields, changed in CHANGES:
        before = [(o, c) for o, c in cells if all(getattr(c, k) == v for k, v in fields.items())]
        pairs = [(o, by_fields[key]) for o, c in before if (key := _told(c, changed)) in by_fields]
        pairs.sort(key=lambda pair: bytes_a_launch(pair[0]))
        for one, other in (*pairs[:1], *pairs[1:][-1:]):
            yield _gain(change, one, other, machine, _sequences(other) / _sequences(one))


def _of_products(seen: Sequence[Observation], machine: Machine) -> Iterator[Gain]:
    found = {(g.dtype, g.n, g.k, g.m): o for o in seen if (g := o.gemm) and o.trusted}
    single = [(o, key) for key, o in found.items() if key[3] == 1]
    for one, (dtype, n, k, _) in single:
        for rows in SEVERAL_ROWS:
            if (dtype, n, k, rows) in found:
                yield _gain("batch", one, found[dtype, n, k, rows], machine, rows)


def _gain(change: Change, before: Observation, after: Observation, machine: Machine, work: float) -> Gain:
    return Gain(change, _end(before, machine), _end(after, machine), work)


def _end(seen: Observation, machine: Machine) -> End:
    cell = seen.attention
    kernels = attention_kernels(cell) if cell else [Operator(seen.name, 1, seen.cost, ())]
    launches = float(cell.calls if cell else seen.cost.launches)
    hosted = cell is not None and cell.implementation not in (REPLAYED, BLOCKED)
    priced = price_step(kernels, machine)
    return End(seen, float(started_s(priced, machine, launches, hosted=hosted)), launches, hosted)


def _told(cell: AttentionPoint, changed: Fields | None = None) -> tuple[object, ...]:
    """All that tells a cell from others, with some fields changed."""
    changed = changed or {}
    return tuple(changed.get(name, getattr(cell, name)) for name in _TELLING)


def _sequences(seen: Observation) -> int:
    return seen.attention.batch if seen.attention else 1


def _same_code(a: Observation, b: Observation) -> bool:
    return a.trusted and _code(a.attention, a.gemm) == _code(b.attention, b.gemm)


def _code(cell: AttentionPoint | None, gemm: GemmPoint | None) -> tuple[object, ...]:
    if cell:
        shared = cell.heads // (cell.kv_heads or cell.heads)
        return cell.implementation, cell.dtype, cell.kv_dtype, cell.tokens > 1, shared, cell.width // cell.heads
    return (gemm.dtype, gemm.path, gemm.m <= max(SEVERAL_ROWS)) if gemm else ()
