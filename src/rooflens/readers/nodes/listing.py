"""nvidia-smi -L and nvlink -s: a line a device, below it its MIG instances or the rate of each of its NVLinks."""

from __future__ import annotations

import re

from rooflens.records import replace
from rooflens.roofline.node import Gpu, Node, NvlinkPort, Slice

_GPU = re.compile(r"^\s*GPU (?P<index>\d{1,3}): (?P<name>\S.*?)(?: \(UUID:.*)?\s*$")
_PORT = re.compile(
    r"^\s+Link (?P<index>\d{1,3}): (?:(?P<rate>\d+(?:\.\d+)?) GB/s|(?P<off><?inactive>?|N/A))", re.IGNORECASE
)
_SLICE = re.compile(r"^\s+MIG (?P<profile>\d+\S*)\s+Device\s+\d+:")


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
            rate = float(port["rate"]) * 1e9 if port["rate"] else 0.0
            gpus[-1] = replace(gpus[-1], ports=(*(gpus[-1].ports or ()), NvlinkPort(int(port["index"]), rate)))
        elif part and gpus:
            sliced = True
            gpus[-1] = replace(gpus[-1], slices=(*(gpus[-1].slices or ()), Slice(part["profile"])), mig=True)
        elif gpus and re.match(r"^\s+Link \d+:", line):
            odd = True
    if not gpus:
        return None
    said = ("a line of an NVLink has neither a rate nor says that it is inactive: left out",) if odd else ()
    held = (*(("nvidia-smi nvlink -s",) if ported else ()), *(("nvidia-smi -L",) if sliced or not ported else ()))
    return Node(tuple(gpus), held=held, warnings=said)
