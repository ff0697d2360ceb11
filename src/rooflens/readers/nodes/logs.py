"""nvidia-smi's whole log, XML or text, and its --query-gpu tables: every device with all that is said of it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping

from rooflens.readers.nodes import smi, tree
from rooflens.readers.nodes.cells import count
from rooflens.records import replace
from rooflens.roofline.node import Node

_UNIT = re.compile(r"\s*\[([^\]]*)\]\s*$")
_NAME = re.compile(r"\"?[a-z_]+[\w.]*(?: \[[^\],]*\])?\"?")
_ASKED = re.compile(
    r"\"?(utilization\.|memory\.(total|used|free)|power\.|clocks|pcie\.|temperature\.|ecc\.|mig\.|pstate|driver_version"
    r"|compute_cap|fabric\.|(gpu_)?(uuid|serial)$)"
)
_LONGEST = 4000  # characters of a header


def xml(text: str) -> Node | None:
    """The log in XML; None where the text holds none."""
    if not tree.XML.search(text):
        return None
    found = _logged(list(tree.from_xml(text)), "nvidia-smi -q -x")
    if tree.whole_xml(text):
        return found
    said = "the XML of nvidia-smi is cut off; what comes after is not known"
    return replace(found, gpus=found.gpus or None, warnings=(said, *found.warnings))


def plain(text: str) -> Node | None:
    """The log as text; None where the text holds none. One that ends inside of a device is said to be cut off."""
    if not tree.TEXT.search(text):
        return None
    found = _logged(list(tree.from_text(text)), "nvidia-smi -q")
    if not found.gpus:
        return found if found.attached == 0 else replace(found, gpus=None)
    if found.gpus[-1].processes is not None or "Processes" in text:
        return found
    said = "the log ends before the processes of its last device: it is cut off, or was asked for in part (-d)"
    return replace(found, warnings=(said, *found.warnings))


def query(text: str) -> Node | None:
    """The first table of --query-gpu with its header; None where the text holds none."""
    lines = [line.strip(" \t#>") for line in text.splitlines()]
    first = next((place for place, line in enumerate(lines) if _is_header(line)), None)
    if first is None:
        return None
    rows = [[cell.strip() for cell in row] for row in _table(lines[first:])]
    columns = [_UNIT.sub("", name).lower() for name in rows[0]]
    units = [found[1] if (found := _UNIT.search(name)) else "" for name in rows[0]]
    gpus, warnings, whose = [], [], list[str]()
    for cells in rows[1:]:
        if len(cells) != len(columns):
            warnings.append(f"a line of the query table has {len(cells)} cells under {len(columns)} names: left out")
            continue
        leaves = [(name, _whole(cell, unit)) for name, cell, unit in zip(columns, cells, units, strict=True)]
        gpus.append(smi.gpu(_index(dict(leaves), whose), leaves))
    driver = next((row[columns.index("driver_version")] for row in rows[1:2] if "driver_version" in columns), None)
    last = {gpu.index: gpu for gpu in gpus}
    if not gpus:
        warnings.append("the query table has a header and no line of a device: it is cut off")
    if len(last) < len(gpus):
        warnings.append("the query table looks at a device several times: the last look counts")
    return Node(tuple(last.values()) or None, driver=driver, held=("nvidia-smi --query-gpu",), warnings=(*warnings,))


def _logged(leaves: list[tree.Leaf], kind: str) -> Node:
    top = {path: cell for path, cell in leaves if "/" not in path}
    devices: dict[str, list[tree.Leaf]] = {}
    for path, cell in leaves:
        head, _, rest = path.partition("/")
        if head.startswith("gpu#"):
            devices.setdefault(head, []).append((rest, cell))
    gpus = tuple(smi.gpu(index, inside) for index, inside in enumerate(devices.values()))
    attached = count(top.get("attached_gpus", ""))
    less = attached is not None and attached != len(gpus)
    said = (f"the log lists {len(gpus)} of {attached} attached devices: they are numbered as listed",) if less else ()
    return Node(gpus, driver=top.get("driver_version"), attached=attached, held=(kind,), warnings=said)


def _index(said: Mapping[str, str], whose: list[str]) -> int:
    """The device of a line: its index, else by what tells devices apart, else by lines of the same second.

    whose: what has told them apart so far, in order; lines of several seconds are several looks at one device.
    """
    index = count(said.get("index", ""))
    if index is not None:
        return index
    own = said.get("uuid") or said.get("gpu_uuid") or said.get("pci.bus_id")
    if own is None and "timestamp" in said:
        second = said["timestamp"].partition(".")[0]
        if whose and whose[-1].partition("#")[0] != second:
            whose.clear()
        own = f"{second}#{len(whose)}"
    own = own or f"#{len(whose)}"
    if own not in whose:
        whose.append(own)
    return whose.index(own)


def _is_header(line: str) -> bool:
    cells = line.split(",") if "," in line and len(line) < _LONGEST else []
    return all(_NAME.fullmatch(cell.strip()) for cell in cells) and any(_ASKED.match(cell.strip()) for cell in cells)


def _table(text: Iterable[str]) -> Iterable[list[str]]:
    """The rows up to the first line that is none."""
    lines: list[str] = []
    for line in text:
        if not line.strip() or len(line) > 20_000:
            break
        if lines and "," not in line and "," in lines[0]:
            break
        lines.append(line)
    return [next(csv.reader([line], skipinitialspace=True), []) for line in lines]  # a quote ends with its line


def _whole(cell: str, unit: str) -> str:
    """A cell with the unit of its column, as --format=nounits leaves it out."""
    return f"{cell} {unit}" if unit and re.fullmatch(r"[-+]?\d+(\.\d+)?", cell) else cell
