"""What is nearest to a deployment that does not fit: fewer sequences, a shorter context, or more devices."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.errors import RooflensError
from rooflens.models import rebuilt
from rooflens.parallel import check
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.memory import Memory, Reserve, memory
from rooflens.records import replace

MOST_DEVICES = 256  # that share a layer; more than that nobody does


def nearest(deployment: Deployment, held: Memory, kept: Reserve) -> Iterator[str]:
    """What would fit, of one thing at a time; nothing where not even many devices hold it."""
    if held.max_sequences:
        yield f"batch {held.max_sequences} fits at this context"
    elif held.max_context:
        yield f"one sequence fits up to a context of {held.max_context}"
    tp = int(deployment.how.get("tp", 1))
    while (tp := 2 * tp) <= MOST_DEVICES:
        if _fits(deployment, tp, held.capacity_bytes, kept):
            yield f"tp {tp} fits"
            return


def _fits(deployment: Deployment, tp: int, capacity_bytes: float, kept: Reserve) -> bool:
    """Whether so many devices a layer hold it; not when they cannot share the model."""
    more = replace(deployment, model=rebuilt(deployment.model, links=True), how={**deployment.how, "tp": tp})
    try:
        step = more.step("decode")
        check(more.model, (step,))
    except RooflensError:
        return False
    return memory(more.model, more.precision, step, capacity_bytes, kept).fits
