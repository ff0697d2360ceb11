"""Is a node healthy, and what does it cost? Files in, or the tools of this node asked; a diagnosis out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rooflens import api, catalogue, readers
from rooflens.catalogue import Accelerator
from rooflens.errors import AnswerIsNo, RooflensError, Unknown
from rooflens.health.judged import chips_of, judged, routes
from rooflens.health.record import Cost, Diagnosis, Route
from rooflens.health.routes import FABRIC
from rooflens.health.sentences import CONVENTIONS, NO_COST
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.links import latency_s
from rooflens.roofline.machines import overridden
from rooflens.roofline.merged import merged
from rooflens.roofline.node import Node
from rooflens.roofline.price import price_step, times

DEVICE_TOOLS = ("nvidia-smi", "rocm-smi", "amd-smi")


def doctor(
    *files: str | Path, on: str | None = None, model: str | None = None, tp: int | None = None, **asked: Any
) -> Diagnosis:
    """What the tools of a node say, judged: findings with evidence, cost and next step; all-reduces of a token.

    files: what tools printed, of any kind that is known; none: the tools of this node are asked now.
    on: what all devices are, where no file says it. model, tp: what shares each layer how; asked: other fields of
    api.Question, as weights or kv.
    Raises RooflensError for a file that says nothing of a node and where no tool is here, AnswerIsNo where one is and
    the driver does not answer.
    """
    if tp is not None and tp < 1:
        raise RooflensError(f"tp must be at least 1, not {tp}")
    if model and (tp is None or tp < 2):
        raise RooflensError("what all-reduces cost needs the devices that share a layer: --tp 2 or more")
    if asked and not model:
        raise RooflensError(f"{next(iter(asked))} says how a model is served: name the model with --model")
    whole, failed = (merged([readers.node(Path(file)) for file in files]), ()) if files else _asked()
    there = api.machine(on) if on else None
    chips = chips_of(whole, _chip(there) if there else None)
    ways = routes(whole, chips, tp)
    found = judged(whole, chips, tp)
    diagnosis = Diagnosis(
        not any(one.severity == "fault" for one in found),
        found,
        ways,
        replace(whole, samples=(), warnings=()),
        len(whole.samples),
        model,
        tp,
        conventions=CONVENTIONS,
        warnings=(*failed, *whole.warnings),
        held=whole.held,
    )
    return _priced(diagnosis, chips, there, asked) if model and tp else diagnosis


def _asked() -> tuple[Node, tuple[str, ...]]:
    """This node by its own tools, and what of them did not answer."""
    from rooflens.lab.asked import asked

    told = asked()
    tools = [one for one in told.heard if one.command.startswith(DEVICE_TOOLS)]
    if all(one.missing for one in tools):
        raise RooflensError(
            f"none of {', '.join(DEVICE_TOOLS)} is here, so no device was looked for, which is not the same as "
            "finding none; run this on the node, or name files with their output: --topo FILE --smi FILE"
        )
    if all(node.gpus is None for node in told.nodes):
        why = next(one.why or "it printed nothing that is known here" for one in tools if not one.missing)
        raise AnswerIsNo(f"the tools are here and say nothing of a device: {why}; is the driver loaded?")
    return merged(told.nodes), told.failed


def _chip(there: Machine) -> Accelerator | None:
    try:
        return catalogue.accelerator(there.name)
    except Unknown:
        return None


def _priced(
    found: Diagnosis, chips: Mapping[int, Accelerator], there: Machine | None, asked: Mapping[str, Any]
) -> Diagnosis:
    """The same with what all-reduces of one token take by each route, or why that is not known."""
    if not found.routes:
        return replace(found, no_cost=NO_COST["route" if len(found.node.gpus or ()) < (found.tp or 0) else "topology"])
    first = found.routes[0].gpus[0]
    machine = there or (api.machine(chips[first].id) if first in chips else None)
    if machine is None:
        return replace(found, no_cost=NO_COST["chip"])
    question = api.Question(found.model or "", tp=found.tp or 1, **asked)
    costs = tuple(_costs(found.routes, machine, question))
    said = api.answer(question, machine).placement.conventions
    conventions = {**found.conventions, "precision": said["precision"]}
    no_cost = None if len(costs) > 1 else NO_COST["rate"]
    return replace(found, costs=costs, no_cost=no_cost, conventions=conventions)


def _costs(ways: Sequence[Route], machine: Machine, question: api.Question) -> Iterator[Cost]:
    own = machine.the_link()
    sheet = Route(ways[0].gpus, "NVLink" if machine.link == "nvlink" else "PCIe", None, own.floor_value)
    first = _cost(sheet, "datasheet", machine, question)
    yield first
    for way, by in zip(ways, ("found", "best"), strict=False):
        if way.bytes_per_s is not None:
            link = "nvlink" if way.kind in FABRIC else "pcie"
            as_found = overridden(machine, [f"{link}={way.bytes_per_s!r}B/s"]).linked(link)
            cost = _cost(way, "found" if by == "found" else "best", as_found, question)
            yield replace(cost, times=cost.allreduce_s / first.allreduce_s)


def _cost(way: Route, by: Any, machine: Machine, question: api.Question) -> Cost:
    """One decode step at batch 1, which is one token."""
    answer = api.answer(question, machine)
    talking = [operator for operator in answer.operators if operator.collective]
    spent = sum(o.count * float(times(o.cost, answer.machine)[0].get("link", 0.0)) for o in talking)
    price = price_step(answer.operators, answer.machine)
    waits = latency_s(answer.operators, price, answer.machine)
    return Cost(way, by, spent, float(price.floor_s), None if waits is None else float(waits))
