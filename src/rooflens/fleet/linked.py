"""Links of a fleet: which pair is slow and why, and what all of them reach beside what the nodes' tools promise."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from rooflens.fleet.gathered import NodeFile
from rooflens.health.record import Finding, Route
from rooflens.peers.evidence import cause_of
from rooflens.peers.record import Figure, Loss, Reason, Standing
from rooflens.peers.sentences import NOTES
from rooflens.peers.wiring import ends
from rooflens.records import record
from rooflens.roofline.collective import both_ways
from rooflens.samples import median


@record
class SlowLink:
    """A pair of devices, or operations over several, behind their equals. promised: byte/s by links and their rate."""

    of: str
    node: str
    loss: Loss
    path: str | None = None
    promised: float | None = None
    reasons: tuple[Reason, ...] = ()


@record
class Links:
    """Copies between devices of one kind over one kind of path, one direction; or operations over several.

    pairs: how many, of operations how many nodes. promised: of an operation what the worst path of its node promises.
    of_promise: median over promised.
    """

    key: str
    path: str
    pairs: int
    slowest: float
    median: float
    promised: float | None = None
    of_promise: float | None = None


def accused(findings: Sequence[Finding]) -> list[int]:
    """Devices of whose links the tools name a fault."""
    mine = [f for f in findings if cause_of(f.rule) == "nvlink" and f.severity in ("fault", "warning")]
    return sorted({gpu for finding in mine for gpu in finding.gpus})


def usual_paths(files: Sequence[NodeFile]) -> dict[str, str]:
    """By place ("0-1"): the path that most nodes have there."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        for place, path in file.paths.items():
            seen[place][path_text(path)] += 1
    return {place: counts.most_common(1)[0][0] for place, counts in seen.items()}


def path_text(path: Route) -> str:
    """Kind and links of a path, as "NVLink x18"."""
    return f"{path.kind} x{path.links}" if path.links else path.kind


def slow_link(one: Standing, file: NodeFile, usual: Mapping[str, str]) -> SlowLink:
    """A pair that is slow by itself, its path, and whether that is another than most nodes have in its place."""
    a, b = ends(one.of)
    path = file.paths.get(f"{a}-{b}")
    kind = path_text(path) if path else None
    other = usual.get(f"{a}-{b}")
    what = NOTES["alone"] if kind == other or other is None else NOTES["wiring"].format(kind=kind, usual=other)
    source: Literal["tools", "figures"] = "figures" if kind == other else "tools"
    reason = Reason("nvlink", source, what)
    return SlowLink(one.of, one.node, one.losses[0], kind, path.bytes_per_s if path else None, (reason,))


def links_of(files: Sequence[NodeFile], figures: Sequence[Figure]) -> Iterator[Links]:
    """Pairs of one kind of device by the path between them, then operations over several by how many."""
    paths = {file.node: file.paths for file in files}
    groups: dict[tuple[str, str], list[tuple[float, float | None]]] = defaultdict(list)
    for figure in figures:
        if figure.whose == "pair" and not both_ways(figure.of):
            a, b = ends(figure.of)
            path = paths[figure.node].get(f"{a}-{b}")
            known = path_text(path) if path else figure.level or ""
            groups[figure.key, known].append((figure.value, path.bytes_per_s if path else None))
    for file in files:
        whole = [path.bytes_per_s for path in file.paths.values()]
        least = min((rate for rate in whole if rate), default=None) if all(whole) else None
        for name, rate in file.buses.items():
            groups[next(iter(file.keys.values())).text, name].append((rate, least))
    for (key, path_kind), rows in groups.items():
        rates, promised = [rate for rate, _ in rows], [rate for _, rate in rows if rate]
        all_of, middle = median(promised) if promised else None, median(rates)
        yield Links(key, path_kind, len(rows), min(rates), middle, all_of, middle / all_of if all_of else None)
