"""What the doctor answers: findings, the paths that collectives take, what they cost a token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.records import field, quantity, record
from rooflens.roofline.node import LinkKind, Node

SCHEMA = "rooflens/doctor/1"
Severity = Literal["ok", "note", "warning", "fault"]
SEVERITIES: tuple[Severity, ...] = ("fault", "warning", "note", "ok")  # worst first
Figure = float | int | str


@record
class Finding:
    """One thing that was judged. figures: the evidence by name, one value a device in the order of `gpus`, or one.

    what, cost and next are sentences; cost is absent where it costs nothing, or nothing that can be said.
    """

    rule: str
    severity: Severity
    what: str
    gpus: tuple[int, ...] = ()
    cost: str | None = None
    next: str | None = None
    figures: Mapping[str, tuple[Figure, ...]] = field(default_factory=dict)


@record
class Route:
    """How a group of devices talks. links: NVLinks or XGMI links of one device to the others of the group.

    bytes_per_s: of one device in one direction; None where the rate of the wire is not known.
    """

    gpus: tuple[int, ...]
    kind: LinkKind
    links: int | None = None
    bytes_per_s: float | None = quantity("B/s", default=None)


@record
class Cost:
    """All-reduces of one token by one route. times: against the first of the list.

    allreduce_s: the fewest bytes over the rate; latency_s: what they wait beside it, None where nobody measured it;
    step_floor_s: the decode step they are part of.
    """

    route: Route
    by: Literal["datasheet", "found", "best"]
    allreduce_s: float = quantity("s")
    step_floor_s: float = quantity("s")
    latency_s: float | None = quantity("s", default=None)
    times: float = 1.0


@record
class Diagnosis:
    """A node, judged. node: what was read, without the samples of a monitor, which are only counted."""

    healthy: bool
    findings: tuple[Finding, ...]
    routes: tuple[Route, ...]
    node: Node
    samples: int = 0
    model: str | None = None
    tp: int | None = None
    costs: tuple[Cost, ...] = ()
    no_cost: str | None = None
    conventions: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
