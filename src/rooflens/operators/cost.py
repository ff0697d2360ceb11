"""What an operator needs: a small value, additive, with no time in it; and how a row is counted into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from rooflens.arrays import Number, added
from rooflens.dtypes import DTYPES, Dtype
from rooflens.operators.collectives import ALONE, Way
from rooflens.operators.letters import Letters
from rooflens.operators.rows import Part, Row, product
from rooflens.records import field, record


@record
class Cost:
    """Demand on a machine. `flops` are tensor contractions by math dtype; vector work is `vector_flops`.

    Bytes are read + written: weights and KV (with recurrent state) read, activations both. link_bytes: what one device
    sends over its link, network_bytes: to other nodes; steps: how often that waits for the link, one after another.
    Not counted: cache misses, padding, the instruction stream.
    """

    flops: Mapping[str, Number] = field(default_factory=dict)
    vector_flops: Number = 0.0
    weight_bytes: Number = 0.0
    kv_bytes: Number = 0.0
    activation_bytes: Number = 0.0
    link_bytes: Number = 0.0
    launches: Number = 0.0
    link_steps: Number = 0.0
    network_bytes: Number = 0.0
    network_steps: Number = 0.0

    @property
    def total_flops(self) -> Number:
        """Tensor FLOPs over all math dtypes."""
        return added(self.flops.values())

    @property
    def streamed_bytes(self) -> Number:
        """What must come from main memory whatever the software: weights, KV, recurrent state."""
        return self.weight_bytes + self.kv_bytes

    @property
    def bytes(self) -> Number:
        """Every byte to or from main memory."""
        return self.streamed_bytes + self.activation_bytes

    def __add__(self, other: Cost) -> Cost:
        keys = (*self.flops, *(k for k in other.flops if k not in self.flops))
        return Cost(
            {k: self.flops.get(k, 0.0) + other.flops.get(k, 0.0) for k in keys},
            self.vector_flops + other.vector_flops,
            self.weight_bytes + other.weight_bytes,
            self.kv_bytes + other.kv_bytes,
            self.activation_bytes + other.activation_bytes,
            self.link_bytes + other.link_bytes,
            self.launches + other.launches,
            self.link_steps + other.link_steps,
            self.network_bytes + other.network_bytes,
            self.network_steps + other.network_steps,
        )

    def __mul__(self, times: Number) -> Cost:
        return Cost(
            {k: v * times for k, v in self.flops.items()},
            self.vector_flops * times,
            self.weight_bytes * times,
            self.kv_bytes * times,
            self.activation_bytes * times,
            self.link_bytes * times,
            self.launches * times,
            self.link_steps * times,
            self.network_bytes * times,
            self.network_steps * times,
        )


@record
class Precision:
    """What is stored and what is computed, part by part.

    weights, kv, activations: the stored formats; `stored_parts` holds the parts that differ from `weights` (a head left
    in 16 bit, say). `math`: the format each part is computed in, "" standing for all others. `state`: recurrent states;
    the positions that a short convolution remembers are stored as the activations.
    """

    weights: Dtype
    kv: Dtype
    activations: Dtype
    stored_parts: Mapping[str, Dtype] = field(default_factory=dict)
    math: Mapping[str, str] = field(default_factory=dict)
    state: Dtype = DTYPES["fp32"]

    def stored(self, part: Part) -> Dtype:
        """The format the weights of this part are stored in."""
        return self.stored_parts.get(part, self.weights)

    def math_of(self, part: Part) -> str:
        """The format this part is computed in."""
        return self.math.get(part) or self.math.get("") or self.activations.math


def cost_of(row: Row, letters: Letters, precision: Precision, way: Way = ALONE) -> Cost:
    """A row counted: FLOPs on its unit, bytes by where each operand lives, a collective done this way.

    Letters may be arrays.
    """
    x, w, y = row.sizes(letters)
    act = precision.activations.bytes
    flops = row.flops(letters)
    moved = (x * act if "x" in row.touches else 0.0) + (y * act if "y" in row.touches else 0.0)
    second = _second_bytes(row, w, letters, precision) if "w" in row.touches else 0.0
    weight = second if row.home in ("weight", "tied") else 0.0
    kv = {"kv": second, "state": 2 * second}.get(row.home, 0.0)
    if row.home == "act":
        moved = moved + second
    if row.home == "table" and "w" in row.touches:
        moved = moved + y * precision.stored(row.part).bytes
    return Cost(
        flops={precision.math_of(row.part): flops} if row.contracts else {},
        vector_flops=0.0 if row.contracts else flops,
        weight_bytes=weight,
        kv_bytes=kv,
        activation_bytes=moved,
        launches=0.0 if row.rides else 1.0,
        **(_sent(x * act, way) if row.home == "link" else {}),
    )


def _sent(message_bytes: Number, way: Way) -> dict[str, Number]:
    return {
        "link_bytes": message_bytes * way.link_bytes if way.link_bytes else 0.0,
        "network_bytes": message_bytes * way.network_bytes if way.network_bytes else 0.0,
        "link_steps": way.link_steps,
        "network_steps": way.network_steps,
    }


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of costs."""
    return reduce(Cost.__add__, costs, Cost())


def kernels(rows: Iterable[Row]) -> list[tuple[Row, ...]]:
    """Rows grouped into what is priced and launched: a row and the rows that ride with it."""
    groups: list[list[Row]] = []
    for row in rows:
        if row.rides and groups:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [tuple(group) for group in groups]


def stored_bytes(row: Row, letters: Letters, precision: Precision) -> dict[str, Number]:
    """Bytes of the weights of a row in each format that a file keeps them in, everything beside the values counted.

    Matrix by matrix where the format has a layout; a row that is some of a matrix has that share of its bytes.
    """
    weights, kind = product(row.operands[1], letters), precision.stored(row.part)
    if kind.layout is None:
        return {kind.name: weights * kind.bytes}
    found: dict[str, float] = {}
    values = 0.0
    for i, matrix in enumerate(row.matrices):
        rows, columns = matrix.sizes(letters)
        values += rows * columns
        for of, share in _formats(row, i, kind, precision.activations):
            bits = of.layout.bits(rows, columns, matrix.module) if of.layout else of.bits * rows * columns
            found[of.name] = found.get(of.name, 0.0) + share * bits / 8
    return {name: weights / values * size for name, size in found.items()}


def _formats(row: Row, matrix: int, kind: Dtype, wide: Dtype) -> list[tuple[Dtype, float]]:
    """The formats of one matrix of a row over its layers, each with its share."""
    apart = row.apart[matrix] if row.apart else ()
    rest = 1.0 - sum(share for _, share in apart)
    return [*((of or wide, share) for of, share in apart), *([(kind, rest)] if rest > 0 else [])]


def _second_bytes(row: Row, elements: Number, letters: Letters, precision: Precision) -> Number:
    if row.home == "kv":
        return elements * precision.kv.bytes
    if row.home == "state" and row.part != "conv":
        return elements * precision.state.bytes
    if row.home in ("act", "link", "state"):
        return elements * precision.activations.bytes
    kind = precision.stored(row.part)
    if kind.layout is None:
        return elements * kind.bytes
    return added(stored_bytes(row, letters, precision).values())
