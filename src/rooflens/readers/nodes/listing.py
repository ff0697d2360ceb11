"""nvidia-smi -L and nvlink -s: a line a device, below it its MIG instances or the rate of each of its NVLinks."""

from __future__ import annotations

import re

from rooflens.records import replace
from rooflens.roofline.node import Gpu, Node, NvlinkPort, Slice

_GPU = re.compile(r"^[ \t]*GPU (?P<index>\d{1,3}): (?P<name>\S.*?)(?: \(UUID:.*)?\s*$")
_PORT = re.compile(
    r"^[ \t]*Link (?P<index>\d{1,3}): (?:(?P<rate>\d+(?:\.\d+)?) GB/s|(?P<off><?inactive>?)|(?P<on>active))\s*$",
    re.IGNORECASE,
)
_ALL_OFF = re.compile(r"^[ \t]*GPU (\d{1,3}): .*all links are inactive", re.IGNORECASE | re.MULTILINE)
_SLICE = re.compile(r"^[ \t]+MIG (?P<profile>\d+\S*)\s+Device\s+\d+:")


def devices(text: str) -> Node | None:
    """The devices, each with what stands below it; None where no line is of one."""
    gpus: list[Gpu] = []
    odd = ported = sliced = False
    for line in text.splitlines():
        found, port, part = _GPU.match(line), _PORT.match(line), _SLICE.match(line)
        if found:
            if any(gpu.index == int(found["index"]) for gpu in gpus):
                continue
            gpus.append(Gpu(int(found["index"]), found["name"]))
        elif port and gpus:
            ported = True
            rate = float(port["rate"]) * 1e9 if port["rate"] else 0.0 if port["off"] else None
            gpus[-1] = replace(gpus[-1], ports=(*(gpus[-1].ports or ()), NvlinkPort(int(port["index"]), rate)))
        elif part and gpus:
            sliced = True
            gpus[-1] = replace(gpus[-1], slices=(*(gpus[-1].slices or ()), Slice(part["profile"])), mig=True)
        elif gpus and re.match(r"^[ \t]*Link \d+:", line):
            odd = True
    if not gpus:
        return None
    said = [f"GPU {index}: the tool says that all of its NVLinks are inactive" for index in _ALL_OFF.findall(text)]
    if odd:
        said.append("a line of an NVLink has neither a rate nor says that it is inactive: left out")
    held = (*(("nvidia-smi nvlink -s",) if ported else ()), *(("nvidia-smi -L",) if sliced or not ported else ()))
    return Node(tuple(gpus), held=held, warnings=tuple(said))
