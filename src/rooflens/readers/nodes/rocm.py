"""rocm-smi --showtopo: weights, hops and kinds of links as three matrices; NUMA nodes below. amd-smi's tables likewise.

A weight of 15 and one hop is XGMI without a processor on the way; 3 hops cross two sockets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rooflens.readers.nodes.cells import count
from rooflens.roofline.node import Gpu, Link, LinkKind, Node

_TITLE = re.compile(
    r"^\W*(?P<what>Weight|Hops|Link Type|Link accessibility|Access)\b.*?(?:two GPUs|TABLE)\W*$", re.IGNORECASE
)
_NUMA = re.compile(r"^[ \t]*GPU *\[?(\d{1,3})\]?\s*:\s*\(Topology\) Numa Node:\s*(-?\d+)", re.MULTILINE)
_NAME = re.compile(r"GPU\d{1,3}|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d")
_KINDS: dict[str, LinkKind] = {"XGMI": "XGMI", "PCIE": "PCIe"}
ROW = 2


def topology(text: str) -> Node | None:
    """What these tables say; None where the text holds none of them."""
    tables, devices = _tables(text)
    if not devices:
        return None
    numa = dict(_NUMA.findall(text))
    pairs = sorted({pair for table in tables.values() for pair in table})
    indices = sorted({*range(devices)} | {int(index) for index in numa})
    links = tuple(_link(pair, tables) for pair in pairs)
    gpus = tuple(Gpu(index, numa=_known(numa.get(str(index)))) for index in indices)
    said = []
    if "Link Type" not in tables:
        said.append("the table of link types is missing: it is cut off, or was not asked for")
    elif any(link.kind == "unknown" for link in links):
        said.append("some kinds of links are not known")
    if any(len(table) != len(indices) * (len(indices) - 1) // 2 for table in tables.values()):
        said.append("a table does not have all pairs of devices: it is cut off")
    return Node(gpus, links, held=("rocm-smi --showtopo",), warnings=tuple(said))


def _known(numa: str | None) -> str | None:
    return None if numa is None or numa.startswith("-") else numa


def _link(pair: tuple[int, int], tables: Mapping[str, Mapping[tuple[int, int], str]]) -> Link:
    said = {what: table.get(pair, "") for what, table in tables.items()}
    peers = {"TRUE": "OK", "ENABLED": "OK", "FALSE": "NS", "DISABLED": "NS"}.get(said.get("Access", "").upper())
    kind = _KINDS.get(said.get("Link Type", "").upper(), "unknown")
    return Link(*pair, kind, None, peers, count(said.get("Hops", "")), count(said.get("Weight", "")))


def _tables(text: str) -> tuple[dict[str, dict[tuple[int, int], str]], int]:
    """Cells by table and pair of devices, and how many devices the widest table has."""
    devices = 0
    tables: dict[str, dict[tuple[int, int], str]] = {}
    what, names = "", list[str]()
    for line in text.splitlines():
        title = _TITLE.match(line.strip()) if len(line) < 300 else None
        words = line.split() if len(line) < 4000 else []
        if title:
            said = title["what"].title()
            what, names = "Access" if said.startswith(("Link A", "Access")) else said, []
        elif what and words and all(_NAME.fullmatch(word) for word in words):
            names, devices = words, max(devices, len(words))
        elif what and len(words) >= ROW and words[0] in names:
            tables.setdefault(what, {}).update(_row(names.index(words[0]), words[1:], len(names)))
        elif words and names:
            what, names = "", []
    return tables, devices


def _row(a: int, cells: list[str], devices: int) -> dict[tuple[int, int], str]:
    return {(min(a, b), max(a, b)): cell for b, cell in enumerate(cells[:devices]) if a != b}
