"""How a model lies over devices: who talks to whom, in which nodes they stand, and the stages of a pipeline.

Devices are counted tensor parallelism first: tp devices share a layer, their replicas follow where experts are spread
over them, then the next stage. Nodes are filled in that order; what makes up no whole group of tp is left idle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rooflens.arrays import Number, all_of, larger
from rooflens.errors import RooflensError
from rooflens.models import Block, Model
from rooflens.models.model import ENDS
from rooflens.operators.collectives import Collective, Group, dispatch, ways
from rooflens.operators.letters import LETTERS
from rooflens.operators.rows import Row
from rooflens.operators.standard import link
from rooflens.records import record

if TYPE_CHECKING:
    from rooflens.workload import Step

NEAR, FAR = "hand-over", "hand-over between nodes"
BESIDE_LAYERS = (*ENDS, NEAR, FAR)  # kinds of blocks that are no layers


@record
class Pipeline:
    """A step as microbatches that pass through stages. fullest: the share of the layers that one stage must hold.

    passes: microbatches that have a sequence.
    """

    stages: int = 1
    fullest: float = 1.0
    passes: Number = 1.0

    @property
    def plain(self) -> bool:
        """Whether the step is one pass on one stage."""
        return self.stages == 1 and all_of(self.passes == 1)

    @property
    def bubble(self) -> Number:
        """Share of the step that a stage waits for others: (p - 1) / (m + p - 1)."""
        return (self.stages - 1) / (self.passes + self.stages - 1)

    @property
    def work(self) -> Number:
        """What one device does in the step, of all that one microbatch needs in all stages: m / p on average."""
        return self.passes / self.stages

    def step_s(self, layers_s: Number, ends_s: Number = 0.0) -> Number:
        """Seconds of the step, from those of one microbatch in all layers and in what is no layer.

        The first microbatch passes all stages; the slowest stage lets out the others one by one: t + (m - 1) s, where
        s is the larger of t / p and the layers of the fullest stage. Where p divides the layers: (m + p - 1) / p x t.
        The pipeline is empty before and after; a step that starts while another drains hides the bubble.
        """
        one = layers_s + ends_s
        stage = one if self.stages == 1 else larger(one / self.stages, layers_s * self.fullest)
        return one + (self.passes - 1.0) * stage


def pipeline(model: Model, step: Step, passes: Number) -> Pipeline:
    """The pipeline of a step in which so many microbatches pass."""
    return Pipeline(step.pp, fullest_layers(model, step.pp) / model.letters["L"], passes)


def fullest_layers(model: Model, pp: int) -> int:
    """Layers of the fullest of pp stages."""
    return -(-int(model.letters["L"]) // pp)


def hand_overs(model: Model, step: Step) -> Iterator[Block]:
    """What each stage sends to the next: the residual stream, shared out over its tp devices.

    Not counted: the all-gather with which the next stage makes it whole again, a residual sent beside it.
    """
    width = "U D" if "U" in model.letters else "D"
    far = _crossings(step)
    for name, count in ((NEAR, step.pp - 1 - far), (FAR, far)):
        if count:
            yield Block(name, count, (link(name, "send", f"B T {width}"),))


def notes(model: Model, step: Step) -> Iterator[str]:
    """What is uneven about this step."""
    layers, passes = int(model.letters["L"]), step.passes
    if layers % step.pp:
        fullest = f"the fullest, of {fullest_layers(model, step.pp)}, sets the pace of all microbatches but the first"
        yield f"{step.pp} stages do not share {layers} layers evenly: {fullest}"
    if not all_of(passes == step.microbatches):
        yield f"only {_said(passes)} of {step.microbatches} microbatches have a sequence"
    if not all_of(step.batch >= step.dp):
        yield f"only {_said(step.batch)} of {step.dp} replicas have a sequence"


def _said(count: Number) -> str:
    return f"{float(count):g}" if isinstance(count, (int, float)) else "fewer"


def talking(model: Model, step: Step, block: Block, row: Row) -> Collective | None:
    """The collective of a row among the devices of this step; None where there is none, or one device alone."""
    if row.collective is None:
        return None
    if row.collective == "send":
        group = Group(2, 2 if block.kind == FAR else 1)
        found = [way.shared(step.tp) for way in ways("send", group)]
    elif row.collective == "all-to-all":
        group = _group(step.ep if step.dp > 1 else 1, step)
        found = [way.shared(step.tp) for way in dispatch(group, float(block.with_letters(model.letters)["A"]))]
    else:
        group = _group(step.tp, step)
        found = [*ways(row.collective, group)]
    return Collective(row.collective, group, tuple(found)) if group.ranks > 1 else None


def check(model: Model, steps: Sequence[Step]) -> None:
    """Raises RooflensError for devices that cannot share this model so, or steps that differ in their devices."""
    if not steps:
        raise RooflensError("a pass needs at least one step")
    first, *others = steps
    if any(_where(step) != _where(first) for step in others):
        raise RooflensError("steps of one pass run on the same devices, with the same routing")
    if max(first.tp, first.ep, first.dp) > 1 and not model.choices.links:
        raise RooflensError("several devices need the model built with links=True, or its collectives are not counted")
    if first.pp > model.letters["L"]:
        raise RooflensError(f"pp {first.pp} has more stages than {model.name} has layers ({model.letters['L']:g})")
    _check_heads(model, first.tp)
    _check_experts(model, first)


def check_devices(step: Step) -> None:
    """Raises RooflensError for numbers of devices that do not go together, whatever the model."""
    node = 1 if step.gpus_per_node is None else step.gpus_per_node
    if min(step.tp, step.ep, step.dp, step.pp, step.microbatches, node) < 1:
        for name in ("tp", "ep", "dp", "pp", "microbatches", "gpus_per_node"):
            if getattr(step, name) is not None and getattr(step, name) < 1:
                raise RooflensError(f"{name} must be at least 1, not {getattr(step, name)}")
    if step.tp * step.dp % step.ep:
        raise RooflensError(
            f"ep {step.ep} must divide tp x dp = {step.tp * step.dp}: experts are spread over these devices"
        )
    if step.gpus_per_node is not None:
        _check_nodes(step)


def _check_nodes(step: Step) -> None:
    """Raises RooflensError for groups that do not fill the nodes they reach."""
    for name, ranks in (("tp", step.tp), ("ep", step.ep)):
        if ranks > _used(step) and ranks % _used(step):
            raise RooflensError(
                f"{name} {ranks} does not fill nodes of {_used(step)} devices; choose a multiple of it, or fewer"
            )


def _where(step: Step) -> tuple[object, ...]:
    return step.tp, step.ep, step.dp, step.pp, step.microbatches, step.gpus_per_node, step.routing_skew


def _used(step: Step) -> int:
    """Devices of a node that make up whole groups of tp."""
    node = step.gpus_per_node or 1
    return node if step.tp > node else node // step.tp * step.tp


def _group(ranks: int, step: Step) -> Group:
    spread = step.gpus_per_node is not None and ranks > _used(step)
    return Group(ranks, ranks // _used(step) if spread else 1)


def _crossings(step: Step) -> int:
    """Hand-overs that leave a node."""
    if step.gpus_per_node is None:
        return 0
    stage = step.tp * (step.dp if step.ep > 1 else 1)
    return -(-step.pp // max(1, _used(step) // stage)) - 1


def _check_heads(model: Model, tp: int) -> None:
    """Raises RooflensError when the heads cannot be shared evenly: a device would hold part of one."""
    for block in model.blocks:
        sizes = block.with_letters(model.letters)
        for heads, groups in (("H", "K"), ("Hs", "Gs")):
            count, shared = int(sizes.get(heads, tp)), int(sizes.get(groups, tp))
            if not _shares(count, shared, tp):
                fitting = ", ".join(str(n) for n in range(1, count + 1) if _shares(count, shared, n))
                said = f"the {count} {LETTERS[heads].meaning} and {shared} {LETTERS[groups].meaning} of {model.name}"
                raise RooflensError(f"tp {tp} does not share out {said}; tp may be {fitting}")


def _check_experts(model: Model, step: Step) -> None:
    """Raises RooflensError when there are more ranks than experts: experts are spread whole."""
    most = max(
        (int(sizes["E"]) for block in model.blocks if "E" in (sizes := block.with_letters(model.letters))), default=0
    )
    if most and step.ep > most:
        fitting = ", ".join(str(n) for n in range(1, most + 1) if step.tp * step.dp % n == 0)
        raise RooflensError(f"ep {step.ep} is more than the {most} experts of {model.name}; ep may be {fitting}")


def _shares(heads: int, groups: int, devices: int) -> bool:
    """Whether each device holds whole heads, and whole groups or one of its own."""
    return heads % devices == 0 and (groups % devices == 0 or devices % groups == 0)
