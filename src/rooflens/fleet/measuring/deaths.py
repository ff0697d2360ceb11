"""What became of a task that gave no answer, in words: Ray says it with the class of an error."""

from __future__ import annotations

from typing import Any

from rooflens.fleet.cluster import first_line, last_line
from rooflens.records import record
from rooflens.roofline.absent import State

BY_NAME: dict[str, tuple[State, str]] = {
    "OutOfMemoryError": ("died", "Ray ended its worker because the node ran out of memory"),
    "WorkerCrashedError": ("died", "its worker ended without a word: killed, or crashed"),
    "RuntimeEnvSetupError": ("refused", "what was to be brought to the node could not be installed there: {said}"),
    "GetTimeoutError": ("hung", "its answer was ready and could not be fetched"),
    "TaskCancelledError": ("died", "its task was cancelled by somebody else"),
    "ObjectLostError": ("died", "the node went away with its answer"),
    "ObjectFetchTimedOutError": ("hung", "its answer was ready and could not be fetched"),
    "OwnerDiedError": ("died", "the node went away with its answer"),
}
OTHERWISE: tuple[State, str] = ("died", "its task ended: {said}")
GONE = "the node left the cluster: {said}"


@record
class Death:
    """A state of an absent node, and why."""

    state: State
    why: str


def death(ray: Any, id: str, error: BaseException) -> Death:
    """What an error of Ray means for the node `id`: that it is gone explains everything else."""
    node = next((node for node in ray.nodes() if node["NodeID"] == id), None)
    if node is None or not node["Alive"]:
        said = str((node or {}).get("DeathReasonMessage") or "Ray does not hear from it any more")
        return Death("died", GONE.format(said=first_line(said)))
    return named(type(error).__name__, str(error))


def named(name: str, text: str) -> Death:
    """The same for an error of this name, where the node is still there."""
    state, why = BY_NAME.get(name, OTHERWISE)
    return Death(state, why.format(said=last_line(text) if name.startswith("RayTaskError") else first_line(text)))
