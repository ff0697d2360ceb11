"""The host: lscpu, numactl --hardware, and the memory modules of dmidecode at the speed that is configured."""

from __future__ import annotations

import re

from rooflens.readers.nodes.cells import amount
from rooflens.roofline.node import Host, Module, Node

_LSCPU = re.compile(r"^[ \t]*(?:CPU\(s\)|Architecture|Model name):\s", re.MULTILINE)
_NUMACTL = re.compile(r"^[ \t]*available: (\d+) nodes? \(", re.MULTILINE)
_EMPTY_NODE = re.compile(r"^[ \t]*node (\d+) size: 0 MB", re.MULTILINE)
_DEVICE = re.compile(r"^[ \t]*Memory Device\s*$(?P<body>(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_SPEED = re.compile(r"(\d+)\s*(?:MT/s|MHz)")
_SIZES = {"KiB": 2.0**10, "K": 2.0**10, "MiB": 2.0**20, "M": 2.0**20, "MB": 2.0**20, "GiB": 2.0**30}


def lscpu(text: str) -> Node | None:
    """Processors, caches, what is virtual; None where the text holds no lscpu."""
    if len(_LSCPU.findall(text)) < 2:
        return None

    def said(name: str) -> str | None:
        found = re.search(rf"^[ \t]*{name}:[ \t]*(\S[^\n]*)$", text, re.MULTILINE)
        return found[1].strip() if found else None

    sockets, each = _whole(said(r"Socket\(s\)")), _whole(said(r"Core\(s\) per socket"))
    host = Host(
        said("Model name"),
        sockets,
        sockets * each if sockets and each else None,
        _whole(said(r"NUMA node\(s\)")),
        said("Hypervisor vendor"),
        _bytes(said("L3 cache")),
    )
    return Node(host=host, held=("lscpu",))


def numactl(text: str) -> Node | None:
    """How many NUMA nodes there are; None where the text holds no numactl --hardware."""
    found = _NUMACTL.search(text)
    if not found:
        return None
    bare = [f"NUMA node {node} has no memory" for node in _EMPTY_NODE.findall(text)]
    return Node(host=Host(numa_nodes=int(found[1][:6])), held=("numactl --hardware",), warnings=tuple(bare))


def dmidecode(text: str) -> Node | None:
    """The memory modules; None where the text holds no memory device."""
    devices = [dict(_pairs(found["body"])) for found in _DEVICE.finditer(text)]
    if not devices:
        return None
    filled = [one for one in devices if amount(one.get("Size", "").replace("TB", "GB").split(" ")[0]) is not None]
    modules = tuple(
        Module(
            one.get("Locator", "?")[:40],
            _whole(one.get("Data Width")),
            _transfers(one.get("Configured Memory Speed") or one.get("Configured Clock Speed")),
            _transfers(one.get("Speed")),
        )
        for one in filled
    )
    return Node(host=Host(modules=modules, slots=len(devices)), held=("dmidecode --type memory",))


def _pairs(body: str) -> list[tuple[str, str]]:
    return re.findall(r"^[ \t]+([^:\n]+):\s*(.*?)\s*$", body, re.MULTILINE)


def _transfers(cell: str | None) -> float | None:
    found = _SPEED.match(cell or "")
    return float(found[1][:9]) * 1e6 if found else None


def _whole(cell: str | None) -> int | None:
    found = re.match(r"\d{1,9}", cell or "")
    return int(found[0]) if found else None


def _bytes(cell: str | None) -> float | None:
    found = re.match(r"(\d+(?:\.\d+)?)\s*([KMG]i?B?)", cell or "")
    return float(found[1]) * _SIZES[found[2]] if found and found[2] in _SIZES else None
