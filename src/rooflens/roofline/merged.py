"""Several descriptions of one node as one: what any of them says, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rooflens.records import fields, is_record, replace
from rooflens.roofline.node import Gpu, Link, Node

T = TypeVar("T")
_UNLIKE = ("name", "memory_bytes", "mig")  # what does not change between two looks


def merged(nodes: Sequence[Node]) -> Node:
    """One node: fields of the earlier files first, gaps filled from later ones; contradictions become warnings."""
    if len(nodes) == 1:
        return nodes[0]
    seen = [node.gpus for node in nodes if node.gpus is not None]
    gpus = {index: [gpu for some in seen for gpu in some if gpu.index == index] for index in _indices(seen)}
    pairs = {(link.a, link.b): _links(nodes, link) for node in nodes for link in node.links}
    nics = {nic.name: nic for node in reversed(nodes) for nic in node.nics}
    host = nodes[0].host
    for node in nodes[1:]:
        host = filled(host, node.host)
    return Node(
        tuple(_gpu(several) for _, several in sorted(gpus.items())) if seen else None,
        tuple(pairs[pair] for pair in sorted(pairs)),
        tuple(nics[nic.name] for node in nodes for nic in node.nics if nics.get(nic.name) is nic),
        tuple(sample for node in nodes for sample in node.samples),
        host,
        next((node.driver for node in nodes if node.driver), None),
        next((node.attached for node in nodes if node.attached is not None), None),
        any(node.hides_nvlink for node in nodes),
        tuple(dict.fromkeys(kind for node in nodes for kind in node.held)),
        tuple(dict.fromkeys([*(said for node in nodes for said in node.warnings), *_unlike(gpus.values())])),
    )


def filled(first: T, other: T) -> T:
    """The first record, with what it does not say taken from the other; records inside likewise."""
    changes: dict[str, Any] = {}
    for f in fields(first):
        mine, theirs = getattr(first, f.name), getattr(other, f.name)
        if is_record(mine):
            changes[f.name] = filled(mine, theirs)
        elif theirs is not None and (mine is None or (mine in ((), {}) and f.default is not None)):
            changes[f.name] = theirs
    return replace(first, **changes)  # type: ignore[type-var]


def _indices(seen: Iterable[tuple[Gpu, ...]]) -> set[int]:
    return {gpu.index for gpus in seen for gpu in gpus}


def _gpu(several: Sequence[Gpu]) -> Gpu:
    whole = several[0]
    for other in several[1:]:
        whole = filled(whole, other)
    absent = {name: said for gpu in several for name, said in gpu.absent.items()}
    return replace(whole, absent={name: said for name, said in absent.items() if _gap(whole, name)})


def _gap(gpu: Gpu, name: str) -> bool:
    """Whether a field, by its dotted name, is still not known."""
    found: Any = gpu
    for part in name.split("."):
        found = getattr(found, part)
    return found is None


def _links(nodes: Sequence[Node], like: Link) -> Link:
    """All that is said of one pair: a kind that is known wins over one that is not."""
    same = [link for node in nodes for link in node.links if (link.a, link.b) == (like.a, like.b)]
    whole = next((link for link in same if link.kind != "unknown"), same[0])
    for other in same:
        whole = filled(whole, replace(other, kind=whole.kind, count=other.count if other.kind == whole.kind else None))
    return whole


def _unlike(groups: Iterable[Sequence[Gpu]]) -> Iterator[str]:
    for several in groups:
        for name in _UNLIKE:
            said = {getattr(gpu, name) for gpu in several if getattr(gpu, name) is not None}
            if len(said) > 1:
                yield f"the files disagree about {name} of GPU {several[0].index}: are they of one node?"
