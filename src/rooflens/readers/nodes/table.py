"""The plain table of nvidia-smi: three lines a device, MIG instances, processes. Names in it may be cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rooflens.readers.nodes.cells import absent, amount, lost, truth
from rooflens.readers.nodes.smi import short
from rooflens.records import replace
from rooflens.roofline.node import Gpu, Node, Power, Process, Slice

HEAD = re.compile(r"NVIDIA-SMI (\S+)\s+(?:Driver Version|KMD Version): ?\s*(\S+)?")
_FIRST = re.compile(
    r"^\|\s*(?P<index>\d{1,3})\s+(?P<name>\S.*?)\s+(?P<mode>On|Off|N/A|WDDM|TCC|MCDM|ERR!?)\s*\|\s*"
    r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d\s+\S+\s*\|\s*(?P<errors>\S+)"
)
_SECOND = re.compile(
    r"^\|\s*(?P<fan>\S+)\s+(?P<temperature>\S+)\s+(?P<state>P\d+|N/A|ERR!?)\s+(?P<draw>[\d.]+W|N/A|ERR!?|Unk\S*)\s*/\s*"
    r"(?P<limit>[\d.]+W|N/A|ERR!?|Unk\S*)\s*\|\s*(?P<used>\d+MiB|N/A|ERR!?|Not Supported)(?:\s*/\s*(?P<total>\d+MiB))?"
    r"\s*\|\s*(?P<busy>\d+%|N/A|ERR!?)?"
)
_THIRD = re.compile(r"^\|[^|]*\|[^|]*\|\s*(?P<mig>Enabled|Disabled|N/A)\*?\s*\|")
_SLICE = re.compile(
    r"^\|\s*(?P<gpu>\d+)\s+(?P<gi>\d+)\s+(?P<ci>\d+)\s+\d+\s*\|\s*\d+MiB\s*/\s*(?P<total>\d+MiB)\s*\|\s*(?P<sms>\d+)"
)
_PROCESS = re.compile(
    r"^\|\s*(?P<gpu>\d+)\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d+)\s+(?P<type>[CGM+]+)\s+(?P<name>\S.*?)\s+"
    r"(?P<used>\d+MiB|N/A)\s*\|"
)
_PROCESSES = re.compile(r"\|\s*(Processes:|No running processes found)")


def table(text: str) -> Node | None:
    """What the table says; None where the text holds none."""
    head = HEAD.search(text)
    lines = [line.strip(" \t#/>") for line in text.splitlines() if len(line) < 200]
    gpus, warnings = list(_devices(lines)), []
    if any((gpu.name or "").endswith("...") for gpu in gpus):
        warnings.append("the table cuts long names off: nvidia-smi -L or -q says them whole")
    if any(gpu.memory_bytes is None and "memory_bytes" not in gpu.absent for gpu in gpus):
        warnings.append("a device's second line is missing: the table is cut off")
    if gpus and not _PROCESSES.search(text):
        warnings.append("the table has no list of processes: who is on the devices is not known")
    gpus = [_peopled(gpu, lines, listed=bool(_PROCESSES.search(text))) for gpu in gpus]
    if not gpus and not (head and "No devices were found" in text):
        return None
    return Node(
        tuple(gpus), driver=(head[2] or head[1]) if head else None, held=("nvidia-smi",), warnings=tuple(warnings)
    )


def _devices(lines: Sequence[str]) -> Iterator[Gpu]:
    gpu: Gpu | None = None
    for line in lines:
        first, second, third = _FIRST.match(line), _SECOND.match(line), _THIRD.match(line)
        if first:
            if gpu:
                yield gpu
            gpu = Gpu(int(first["index"]), " ".join(first["name"].split()))
            gpu = replace(gpu, absent={"errors": first["errors"]}) if lost(first["errors"]) else gpu
        elif second and gpu and gpu.memory_bytes is None:
            gpu = _with(gpu, second)
        elif third and gpu:
            mig = truth(third["mig"])
            gone = {} if mig is not None else {"mig": third["mig"]}
            yield replace(gpu, mig=mig, absent={**gpu.absent, **gone})
            gpu = None
    if gpu:
        yield gpu


def _with(gpu: Gpu, found: re.Match[str]) -> Gpu:
    cells = {
        "memory_bytes": found["total"], "used_bytes": found["used"], "busy_share": found["busy"],
        "temperature_c": found["temperature"], "power.draw_w": found["draw"], "power.limit_w": found["limit"],
    }  # fmt: skip
    values = {name: None if cell is None or absent(cell) else amount(cell) for name, cell in cells.items()}
    gone = {name: cell or "N/A" for name, cell in cells.items() if values[name] is None}
    return replace(
        gpu,
        memory_bytes=values["memory_bytes"],
        used_bytes=values["used_bytes"],
        busy_share=values["busy_share"],
        temperature_c=values["temperature_c"],
        performance_state=None if absent(found["state"]) else found["state"],
        power=Power(values["power.draw_w"], values["power.limit_w"]),
        absent={**gpu.absent, **gone},
    )


def _peopled(gpu: Gpu, lines: Sequence[str], *, listed: bool) -> Gpu:
    found = [m for m in map(_PROCESS.match, lines) if m and int(m["gpu"]) == gpu.index]
    parts = [m for m in map(_SLICE.match, lines) if m and int(m["gpu"]) == gpu.index]
    processes = tuple(Process(short(m["name"]), amount(m["used"])) for m in found)
    slices = tuple(Slice(None, int(m["gi"]), int(m["sms"]), amount(m["total"])) for m in parts)
    none = gpu.mig and any("No MIG devices found" in line for line in lines)
    return replace(gpu, processes=processes if listed else None, slices=slices or (() if none else None))
