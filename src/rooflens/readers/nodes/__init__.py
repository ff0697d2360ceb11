"""What tools say of a node, from text to records. A text may hold several outputs, as a report does: all are read."""

from __future__ import annotations

from pathlib import Path

from rooflens.errors import RooflensError
from rooflens.records import replace
from rooflens.roofline.merged import merged
from rooflens.roofline.node import Node

LARGEST = 64 << 20
READ = ("nvidia-smi (plain, -q, -q -x, --query-gpu as CSV, -L)", "nvidia-smi topo -m and -p2p", "nvidia-smi nvlink -s",
        "nvidia-smi dmon", "rocm-smi --showtopo", "lscpu", "numactl --hardware", "dmidecode")  # fmt: skip


def node(path: Path) -> Node:
    """What a file says of a node, recognised by its content; gzipped or not.

    Raises RooflensError, saying what is read, for a file that holds nothing of the kind.
    """
    from rooflens.readers.content import content

    with content(path) as opened:
        if not opened.is_text:
            raise RooflensError(f"{path} is a binary file; read are the texts of: {', '.join(READ)}")
        text = opened.whole(LARGEST).decode(opened.encoding, errors="replace")
        faults = tuple(opened.faults)
    found = from_text(text, str(path))
    return replace(found, warnings=(*faults, *found.warnings)) if faults else found


def from_text(text: str, where: str) -> Node:
    """The same of a text that is already here; `where` names it in what is said."""
    from rooflens.readers.nodes import dmon, host, listing, logs, rocm, table, topo

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    readers = (logs.xml, logs.plain, logs.query, table.table, listing.devices, topo.matrices, rocm.topology,
               dmon.samples, host.lscpu, host.numactl, host.dmidecode)  # fmt: skip
    found = [some for read in readers if (some := read(text)) is not None]
    if found:
        return merged(found)
    said = topo.refused(text) or _other(text)
    if said:
        raise RooflensError(f"{where}: {said}")
    raise RooflensError(f"{where} holds nothing about a node that is known here; read are: {', '.join(READ)}")


def _other(text: str) -> str | None:
    """What a tool said instead of an answer."""
    if "couldn't communicate with the NVIDIA driver" in text or "Failed to initialize NVML" in text:
        return (
            "nvidia-smi could not reach the driver, so nothing was looked at; is its module loaded, the same version?"
        )
    if "command not found" in text or "is not recognized as" in text:
        return "the shell found no such program, so nothing was looked at"
    return None
