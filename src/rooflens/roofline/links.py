"""What collectives cost: by algorithm where a step's latency is known, and how that is said.

A floor counts the fewest bytes and no latency. An estimate takes the algorithm that is cheapest for its message, which
for a small one is that of the fewest steps. Where the collectives of a library were measured, only its algorithms are
taken, by the protocol of it (for short messages, for long ones) that is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rooflens.arrays import Number, maximum, minimum
from rooflens.errors import NoPath
from rooflens.operators.collectives import Way
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.exchanges import measured_group, protocols, usual_way
from rooflens.roofline.knee import Line
from rooflens.roofline.price import NETWORK, StepPrice
from rooflens.workload import Operator

PCIE = "pcie"  # measured, it is between host and device; between devices it is "peer"


def by_algorithm_s(operator: Operator, machine: Machine) -> dict[str, Number]:
    """Seconds of the collective of a kernel by each algorithm: largest bytes / rate of its links + steps x latency.

    Empty for a kernel that waits for nobody. Raises NoPath when the latency of a link is not known: it is not 0.
    """
    talk = operator.collective
    if talk is None:
        return {}
    least = talk.least
    counted = (operator.cost.link_bytes, least.link_bytes), (operator.cost.network_bytes, least.network_bytes)
    message_bytes = next(sent / each for sent, each in counted if each)
    measured = protocols(machine, machine.link, talk.name, talk.group.inside)
    found = [
        (usual_way(talk.name, talk.ways, protocol), Line(wait.floor_value, rate.floor_value))
        for protocol, (rate, wait) in measured.items()
    ]
    if all(way is None for way, _ in found):
        return {way.algorithm: _way_s(way, message_bytes, machine, None) for way in talk.ways}
    by_name: dict[str, Number] = {}
    for way, line in found:
        if way is not None:
            name = way.algorithm if way.algorithm not in by_name else f"{way.algorithm}, long messages"
            by_name[name] = _way_s(way, message_bytes, machine, line)
    return by_name


def collective_s(operator: Operator, machine: Machine) -> Number:
    """Seconds of the collective of a kernel by the cheapest algorithm for its message; 0 where there is none.

    Raises NoPath when the latency of a link is not known.
    """
    return minimum(by_algorithm_s(operator, machine).values() or [0.0])


def latency_s(operators: Sequence[Operator], price: StepPrice, machine: Machine) -> Number | None:
    """What the collectives of a step cost beside its floor, by the cheapest algorithms; None: not known, or none there.

    A kernel's collective and what it computes beside it overlap, as in the floor.
    """
    if not any(operator.collective for operator in operators):
        return None
    sums: list[Number] = [0.0, 0.0]
    try:
        for operator, kernel in zip(operators, price.kernels, strict=True):
            more = maximum([collective_s(operator, machine) - kernel.time_s, 0.0])
            sums[operator.at_an_end] = sums[operator.at_an_end] + operator.count * more
    except NoPath:
        return None
    return price.pipeline.step_s(*sums)


def said(operators: Iterable[Operator], machine: Machine, gpus_per_node: int | None) -> str | None:
    """Which links the collectives take, and what of them is not counted; None where there are none."""
    talks = [operator.collective for operator in operators if operator.collective]
    if not talks:
        return None
    steps = {level for talk in talks for level in _levels(talk.least, machine)}
    where = f"{machine.link} inside a node of {gpus_per_node}, {NETWORK} between nodes" if gpus_per_node else None
    known = all(machine.latency_s(level) is not None for level in steps)
    waits = "beside the floor, by the cheapest algorithm" if known else "not known, so left out"
    said = f"{where or f'all on {machine.link}'}; the floor counts the fewest bytes; latency: {waits}"
    return "; ".join([said, *doubts(operators, machine)])


def doubts(operators: Iterable[Operator], machine: Machine) -> Iterator[str]:
    """What was measured is not what is asked of it: another link, or other devices."""
    talks = [operator.collective for operator in operators if operator.collective]
    if any(way.link_steps for talk in talks for way in talk.ways) and _of_the_host(machine):
        yield f"no link between devices was measured: what {machine.link} carries from the host stands for it"
    for name, count in dict.fromkeys((talk.name, talk.group.inside) for talk in talks):
        group = measured_group(machine, machine.link, name, count)
        if count > 1 and group not in (None, count):
            yield (
                f"{name} over {count} devices was not measured: "
                f"it is worked out from {group}, by the steps and bytes of its algorithm"
            )


def _of_the_host(machine: Machine) -> bool:
    """Whether its link was measured between host and device alone."""
    return any(c.origin == "measured" for c in machine.find("link", level=PCIE)) and machine.link == PCIE


def _levels(way: Way, machine: Machine) -> list[str | None]:
    return [*([machine.link] if way.link_steps else []), *([NETWORK] if way.network_steps else [])]


def _way_s(way: Way, message_bytes: Number, machine: Machine, inside: Line | None) -> Number:
    """inside: what its own link was measured to cost, or None for its rate and its one latency."""
    sent: list[Number] = [0.0]
    waited: Number = 0.0
    for level, each, steps in (
        (machine.link, way.link_bytes, way.link_steps),
        (NETWORK, way.network_bytes, way.network_steps),
    ):
        if steps:
            own = inside if level == machine.link else None
            rate = own.bytes_per_s if own else machine.the_link(level).floor_value
            sent.append(message_bytes * each / rate)
            waited = waited + steps * (own.latency_s if own else _latency_s(machine, level))
    return maximum(sent) + waited


def _latency_s(machine: Machine, level: str | None) -> float:
    found = machine.latency_s(level)
    if found is None:
        name = level or "nvlink"
        raise NoPath(
            f"{machine.name}: the latency of {name} is not known; give it as --on {machine.on},{name}_latency=TIME"
        )
    return found
