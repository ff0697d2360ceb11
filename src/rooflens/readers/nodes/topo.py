"""nvidia-smi topo: the matrix of -m with cards and affinities, and that of -p2p, wherever in a text they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rooflens.records import record
from rooflens.roofline.node import Gpu, Link, LinkKind, Nic, Node

PEERS_ALONE = "this is topo -p2p, which says what peers may do and not how they are linked: add topo -m"
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_GPU = re.compile(r"GPU(\d{1,3})")
_ANY = r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|N/A|OK|CNS|GNS|TNS|NS|DR|U|\?"
_CELL = re.compile(_ANY)
_CELLS = re.compile(rf"(?:{_ANY})+$")
_NEXT = re.compile(rf"\s*({_ANY})(?=\s|$|X|NV\d|P[IHX]|NODE|SYS|SOC)")
_PEERS = ("OK", "CNS", "GNS", "TNS", "NS", "DR", "U")
_KINDS: dict[str, LinkKind] = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}
_LEGEND = re.compile(r"^[ \t]*(NIC\d+):\s*(\S+)\s*$", re.MULTILINE)
_HIDDEN = re.compile(r"topo\s+-mp\b")
_NO_SUCH = re.compile(
    r"Option -m is missing its value|topo.*not supported|Invalid combination of input arguments.*topo"
)
_COLUMN = re.compile(r"CPU\s+Affinity|GPU\s+NUMA\s+ID|NUMA(?:\s+Affinity)?")
_DISK = re.compile(r"nvme", re.IGNORECASE)
AFFINITIES = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
MOST_ROWS = 64
_WINDOW = 3  # lines below a header in which its first row stands


@record
class Matrix:
    """A header's devices, and each row: its cells, then what stands behind them."""

    devices: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], tuple[str | None, ...]], ...]


def matrices(text: str) -> Node | None:
    """The first matrix of each kind; None where the text holds none."""
    plain = _ESCAPE.sub("", text)
    found = list(_matrices(plain.splitlines()))
    paths = [matrix for matrix in found if not _is_peers(matrix)]
    peers = [matrix for matrix in found if _is_peers(matrix)]
    if not found:
        return None
    said = [warning for matrix in found for warning in _doubts(matrix)]
    if len(paths) > 1 and any(matrix.rows != paths[0].rows for matrix in paths[1:]):
        said.append(f"the text holds {len(paths)} different topology matrices: the first is read")
    names = dict(_LEGEND.findall(plain))
    whole = paths[0] if paths else peers[0]
    held = (*(("nvidia-smi topo -m",) if paths else ()), *(("nvidia-smi topo -p2p",) if peers else ()))
    if peers and not paths:
        said.append(PEERS_ALONE)
    return Node(
        tuple(_gpus(whole)),
        tuple(_links(paths[0] if paths else None, peers[0] if peers else None)),
        tuple(_nics(paths[0], names)) if paths else (),
        hides_nvlink=bool(paths and _HIDDEN.search(plain)),
        held=held,
        warnings=tuple(dict.fromkeys(said)),
    )


def refused(text: str) -> str | None:
    """What a tool said instead of a matrix, as a sentence; None where it said nothing of the kind."""
    if _NO_SUCH.search(text):
        return (
            "nvidia-smi printed no topology, which it has on Linux alone (not on Windows); run it where the engine runs"
        )
    return None


def _matrices(lines: Sequence[str]) -> Iterator[Matrix]:
    taken = 0
    for place, line in enumerate(lines):
        header = _header(line) if place >= taken and len(line) < 20_000 else None
        below = place + 1
        if header is None and place >= taken and len(line) < 20_000:
            header, below = _headless(lines[place : place + MOST_ROWS]), place
        if header is None:
            continue
        devices, columns, before = header
        rows: list[tuple[str, tuple[str, ...], tuple[str | None, ...]]] = []
        while below < len(lines):
            row = _row(lines[below], devices, columns, before)
            if row is None and (rows or below - place > _WINDOW) and lines[below].strip():
                break
            if row is None and not lines[below].strip() and rows and not _more(lines[below + 1 :], devices, before):
                break
            if row is not None:
                rows.append(row)
            below += 1
        if any(_GPU.fullmatch(name) for name, *_ in rows):
            taken = below
            yield Matrix(devices, columns, tuple(rows))


def _headless(lines: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...], int] | None:
    """The header that rows without one must have had: their own devices, then cards without a name."""
    rows: list[list[str]] = []
    for line in lines:
        words = _words(line)
        if not words or words[0] != f"GPU{len(rows)}" or len(words) < 2 or not _CELLS.match(words[1]):
            break
        rows.append([cell for cell in words[1:] if _CELL.fullmatch(cell) and cell != "N/A"])
    widths = {len(row) for row in rows}
    if len(widths) != 1 or any(row[place : place + 1] != ["X"] for place, row in enumerate(rows)):
        return None
    cards = widths.pop() - len(rows)
    devices = (*(f"GPU{index}" for index in range(len(rows))), *(f"card {index}" for index in range(cards)))
    return devices, (*AFFINITIES,), 0


def _more(rest: Sequence[str], devices: Sequence[str], before: int) -> bool:
    """Whether another row follows a blank line."""
    words = next((_words(line) for line in rest[:2] if line.strip()), [])
    return len(words) > before + 1 and words[before] in devices and _CELL.fullmatch(words[before + 1]) is not None


def _words(line: str) -> list[str]:
    return re.sub(r"[|│>`]", " ", line).split()


def _header(line: str) -> tuple[tuple[str, ...], tuple[str, ...], int] | None:
    """The devices of a header, the names behind them, and how many words (of a log) stand before."""
    words = _words(line)
    first = next((at for at, word in enumerate(words) if _GPU.fullmatch(word)), None)
    if first is None or first > 6 or (len(words) > first + 1 and _CELL.fullmatch(words[first + 1])):
        return None
    devices: list[str] = []
    for word in words[first:]:
        if word in ("CPU", "NUMA", "GPU") or word in devices:
            break
        devices.append(word)
    rest = [" ".join(found[0].split()) for found in _COLUMN.finditer(line)]
    return tuple(devices), tuple("NUMA Affinity" if name == "NUMA" else name for name in rest), first


def _row(
    line: str, devices: Sequence[str], columns: Sequence[str], before: int
) -> tuple[str, tuple[str, ...], tuple[str | None, ...]] | None:
    """Name, cells and what stands behind them. Cells may touch, where a terminal has swallowed the tab between two."""
    words = _words(line)
    if len(words) < before + 2 or words[before] not in devices or not _CELLS.match(words[before + 1]):
        return None
    name = words[before]
    rest = re.sub(r"[|│>`]", " ", line)
    rest = rest[re.search(rf"(?<!\S){re.escape(name)}(?=\s)", rest).end() :]  # type: ignore[union-attr]
    cells: list[str] = []
    while len(cells) < len(devices) and (found := _NEXT.match(rest)):
        cells.append(found[1])
        rest = rest[found.end() :]
    return name, tuple(cells), _behind(rest, columns)


def _behind(rest: str, columns: Sequence[str]) -> tuple[str | None, ...]:
    """The affinities in the order of their columns; by tabs where they are kept, as one of them may be empty."""
    fields, words = [field.strip() for field in rest.split("\t")][1:], rest.split()
    if len(fields) >= len(columns) > 0:
        fields = [*fields[:2], *([fields[-1]] if len(columns) == 3 else [])]
    elif len(words) < len(columns) and words[:1] == ["N/A"]:
        fields = ["", "", "N/A"][-len(columns) :]
    else:
        fields = words
    return tuple(None if value in ("", "N/A") else value for value in fields[: len(columns)])


def _is_peers(matrix: Matrix) -> bool:
    cells = {cell for _, row, _ in matrix.rows for cell in row} - {"X"}
    return bool(cells) and cells <= {*_PEERS}


def _index(name: str) -> int | None:
    found = _GPU.fullmatch(name)
    return int(found[1]) if found else None


def _gpus(matrix: Matrix) -> Iterator[Gpu]:
    for name, _, behind in matrix.rows:
        index = _index(name)
        if index is not None:
            said = dict(zip(matrix.columns, behind, strict=False))
            yield Gpu(index, cpus=said.get("CPU Affinity"), numa=said.get("NUMA Affinity"))


def _cells(matrix: Matrix | None) -> dict[tuple[int, int], list[str]]:
    """What both rows of a pair of devices say, each cell once."""
    found: dict[tuple[int, int], list[str]] = {}
    for name, cells, _ in matrix.rows if matrix else ():
        a = _index(name)
        for other, cell in zip(matrix.devices if matrix else (), cells, strict=False):
            b = _index(other)
            if a is not None and b is not None and a != b:
                said = found.setdefault((min(a, b), max(a, b)), [])
                said.extend([cell] if cell not in said else [])
    return found


def _links(paths: Matrix | None, peers: Matrix | None) -> Iterator[Link]:
    kinds, may = _cells(paths), _cells(peers)
    for a, b in sorted({*kinds, *may}):
        cell = kinds.get((a, b), ["?"])[0]
        yield Link(
            a,
            b,
            "NVLink" if cell.startswith("NV") else _KINDS.get(cell, "unknown"),
            int(cell[2:]) if cell.startswith("NV") else None,
            next((said for said in may.get((a, b), []) if said != "OK"), "OK") if (a, b) in may else None,
        )


def _nics(matrix: Matrix, names: dict[str, str]) -> Iterator[Nic]:
    """Cards by the rows of the devices, since their own rows may be missing."""
    for place, name in enumerate(matrix.devices):
        if _index(name) is None and not _DISK.match(name):
            rows = ((_index(row), cells) for row, cells, _ in matrix.rows)
            paths = {
                a: _KINDS.get(cells[place], "unknown") for a, cells in rows if a is not None and len(cells) > place
            }
            yield Nic(name, names.get(name), paths)


def _doubts(matrix: Matrix) -> Iterator[str]:
    have = {name for name, *_ in matrix.rows}
    if matrix.columns == AFFINITIES and any(name.startswith("card ") for name in matrix.devices):
        yield "the matrix has no header: its columns are taken for the devices in order, then cards without a name"
    missing = [name for name in matrix.devices if _GPU.fullmatch(name) and name not in have]
    if missing:
        yield f"the matrix has no row of {', '.join(missing)}: it is cut off"
    for name, cells, _ in matrix.rows:
        if len(cells) < len(matrix.devices):
            yield f"the row of {name} has {len(cells)} cells under {len(matrix.devices)} devices: it is cut off"
        elif _GPU.fullmatch(name) and cells[matrix.devices.index(name)] != "X":
            yield f"the row of {name} has no X where it meets itself: its cells are shifted"
    for (a, b), said in _cells(matrix).items():
        if len(said) > 1:
            yield f"GPU {a} and {b} are {said[0]} in one row and {said[1]} in the other: the first is read"
        elif said[0].startswith("?"):
            yield f"GPU {a} and {b} have a path that the tool does not know ({said[0]})"
