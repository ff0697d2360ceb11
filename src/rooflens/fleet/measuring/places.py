"""The nodes of a Ray cluster by name, and what each offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rooflens.records import field, record

ACCELERATORS = ("TPU", "HPU", "NPU", "neuron_cores", "RBLN")  # beside GPU, as Ray counts them
NO_WORK = "it offers neither processors nor accelerators to Ray's tasks"


@record
class Place:
    """A node as Ray sees it. taken: what else of it a measurement takes whole, by Ray's names."""

    name: str
    id: str
    cpus: float = 0.0
    gpus: float = 0.0
    taken: Mapping[str, float] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        """Whether it takes work at all: the head of many a cluster does not."""
        return bool(self.cpus or self.gpus or self.taken)


def places(ray: Any) -> tuple[Place, ...]:
    """All nodes that are alive, by name: that of Ray where one was given, else of the host, made unlike where equal."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    names = [_name(node) for node in alive]
    count = Counter(names)
    unlike = (name if count[name] == 1 else f"{name}-{n['NodeID'][:8]}" for name, n in zip(names, alive, strict=True))
    found = [_place(name, node) for name, node in zip(unlike, alive, strict=True)]
    return tuple(sorted(found, key=lambda place: place.name))


def _name(node: Mapping[str, Any]) -> str:
    given = str(node.get("NodeName") or "")
    return given if given and given != node["NodeManagerAddress"] else str(node["NodeManagerHostname"])


def _place(name: str, node: Mapping[str, Any]) -> Place:
    has = node["Resources"]
    others = {kind: has[kind] for kind in ACCELERATORS if has.get(kind)}
    return Place(name, node["NodeID"], has.get("CPU", 0.0), has.get("GPU", 0.0), others)
