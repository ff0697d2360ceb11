"""What the tools of this machine say of it now, as one node: asked, read, and joined."""

from __future__ import annotations

from rooflens.errors import RooflensError
from rooflens.measure.node import Heard, ask
from rooflens.readers.nodes import from_text
from rooflens.readers.nodes.topo import PEERS_ALONE
from rooflens.records import record, replace
from rooflens.roofline.merged import merged
from rooflens.roofline.node import Node
from rooflens.roofline.profile import Profile

LINKS = "nvidia-smi topo -m"


@record
class Asked:
    """heard: every answer. nodes: what of them is known here. failed: a sentence for each tool that is here in vain."""

    heard: tuple[Heard, ...]
    nodes: tuple[Node, ...] = ()
    failed: tuple[str, ...] = ()


def asked() -> Asked:
    """All tools that are known, one after another: seconds where there are GPUs."""
    found, failed = [], []
    heard = ask()
    for one in heard:
        try:
            found.append(from_text(one.text, one.command))
        except RooflensError:
            if not one.missing and (one.why or one.text.strip()):  # one device alone has no links to tell of
                failed.append(f"{one.command}: {one.why or 'it printed nothing that is known here'}")
    linked = any(LINKS in node.held for node in found)
    return Asked(heard, tuple(_without_moot(node) if linked else node for node in found), tuple(failed))


def _without_moot(node: Node) -> Node:
    """Without the advice to ask for what was asked too."""
    return replace(node, warnings=tuple(said for said in node.warnings if said != PEERS_ALONE))


def with_node(profile: Profile) -> Profile:
    """The profile with what the tools of its machine say now; absent where none of them is known here."""
    told = asked()
    if not told.nodes:
        return replace(profile, skipped=(*profile.skipped, *told.failed))
    return replace(profile, node=merged(told.nodes), skipped=(*profile.skipped, *told.failed))
