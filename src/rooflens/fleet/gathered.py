"""A folder of a fleet, read: one file a node, each a profile, a node that did not answer, or a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from rooflens import artefacts
from rooflens.catalogue import Accelerator
from rooflens.errors import BadFile, Newer, RooflensError
from rooflens.health.judged import chips_of, judged
from rooflens.health.record import Finding, Route
from rooflens.health.routes import route
from rooflens.measure.loop import window
from rooflens.peers.record import Figure, Key
from rooflens.peers.sentences import NOTES
from rooflens.records import decode, field, record, replace
from rooflens.roofline.absent import SCHEMA as ABSENT
from rooflens.roofline.absent import Absent
from rooflens.roofline.ceilings import UNITS, Ceiling
from rooflens.roofline.collective import CopyPoint, pair_of
from rooflens.roofline.node import Gpu, Node
from rooflens.roofline.profile import METHOD, SCHEMA, Profile

OURS = "rooflens/fleet"  # reports, baselines and plans may lie in the same folder
UNUSED = ("gemms", "attention", "across")  # a report sets ceilings side by side, and these are most of a file
WORTH_ONE_MORE = 4 << 20  # bytes that a process more is worth


@record
class NodeFile:
    """One node. state: "measured", or why there is nothing of it, with `why` as a sentence.

    findings: what its own tools say, judged. distrust, limits_w: what the driver said of each, by NODE/DEVICE;
    numbers: the device's number in the tools' words. paths: what the tools promise of each pair ("0-1"). buses: byte/s
    of a device's link that the largest operation over so many devices means ("all-reduce x8"). marks: of each device's
    measurement, equal only in copies of it.
    """

    node: str
    state: str
    why: str | None = None
    attempts: int | None = None
    file: str = ""
    started: str | None = None
    keys: Mapping[str, Key] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    findings: tuple[Finding, ...] = ()
    distrust: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits_w: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    paths: Mapping[str, Route] = field(default_factory=dict)
    buses: Mapping[str, float] = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def gathered(folder: Path, workers: int = 1) -> tuple[NodeFile, ...]:
    """Every node of the folder by name. workers: processes that may read, each started anew.

    Raises RooflensError where there is no folder, or nothing of a node in it.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise RooflensError(f"{folder} {what}; name the folder that holds one JSON file a node")
    paths = sorted(path for path in folder.glob("*.json") if not path.name.startswith("."))
    found = [one for one in _read(paths, workers) if one is not None]
    answered = {one.node for one in found if one.state == "measured"}
    kept = [one for one in found if one.state == "measured" or one.node not in answered]
    if not kept:
        raise RooflensError(f"{folder} holds no file of a node; write them with rooflens measure -o {folder}/NODE.json")
    return tuple(_once(list({one.node: one for one in kept}.values())))


def _once(files: Sequence[NodeFile]) -> Iterator[NodeFile]:
    """Each measurement once, under the first of its names, which says the others; of a part of a node, the node."""
    owners: dict[str, str] = {}
    copies: dict[str, list[str]] = {}
    for one in sorted(files, key=lambda one: -len(one.marks)):
        of = {owners.setdefault(mark, one.node) for mark in one.marks}
        if len(of) == 1 and (owner := next(iter(of))) != one.node:
            copies.setdefault(owner, []).append(one.node)
    left_out = {node for nodes in copies.values() for node in nodes}
    for one in files:
        if one.node not in left_out:
            said = (NOTES["twice"].format(node=one.node, other=other) for other in copies.get(one.node, ()))
            yield replace(one, notes=(*one.notes, *said))


def mark(profile: Profile) -> str:
    """Of a measurement: when it began, and every figure to its last digit. "" where there is no figure."""
    figures = [(c.id, c.value) for c in profile.ceilings if c.origin == "measured" and _own_kind(c)]
    return sha256(repr((profile.started, figures)).encode()).hexdigest() if figures else ""


def _read(paths: Sequence[Path], workers: int) -> Iterator[NodeFile | None]:
    """By as many processes as there is work for."""
    size = sum(path.stat().st_size for path in paths if path.is_file())
    workers = min(workers, size // WORTH_ONE_MORE)
    if workers < 2:
        yield from map(node_file, paths)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(node_file, paths, chunksize=max(1, len(paths) // (8 * workers)))


def node_file(path: Path) -> NodeFile | None:
    """One file as a node; what cannot be read is a node with a sentence. None: another file of a fleet."""
    node = path.name.removesuffix(".json").removesuffix(".absent")
    try:
        data = artefacts.read_json(path)
        said = str(data.get("schema", "")) if isinstance(data, dict) else ""
        if said.startswith(OURS):
            return None
        if said.startswith(ABSENT.rpartition("/")[0]):
            absent = decode(Absent, data, path.name, ABSENT)
            return NodeFile(absent.node, absent.state, absent.why, absent.attempts)
        return replace(measured(node, decode(Profile, _slim(data), path.name, SCHEMA)), file=str(path))
    except Newer as error:
        return NodeFile(node, "newer", str(error))
    except RooflensError as error:
        return NodeFile(node, "unreadable", str(error))


def _slim(data: Any) -> Any:
    """The same without what no report looks at."""
    if not isinstance(data, dict):
        return data
    kept = {name: value for name, value in data.items() if name not in UNUSED}
    if isinstance(kept.get("together"), dict):
        kept["together"] = {name: _slim(one) for name, one in kept["together"].items()}
    return kept


def measured(node: str, profile: Profile) -> NodeFile:
    """A node's figures and what its tools say. Raises BadFile for a ceiling in another unit than its kind has."""
    if profile.method != METHOD:
        why = f"it was measured by method {profile.method} and this rooflens compares method {METHOD}; measure it again"
        return NodeFile(node, "other method", why, started=profile.started)
    devices = {f"{node}/{name}": one for name, one in profile.together.items()} or {node: profile}
    keys = {of: key_of(one) for of, one in devices.items()}
    own = (_own(c, of, node, keys[of].text) for of, one in devices.items() for c in one.ceilings if _own_kind(c))
    whole = next(iter(keys.values())).text
    pairs = _pairs(profile, node, whole)
    found = profile.node or Node()
    chips = _chips(found)
    return NodeFile(
        node,
        "measured",
        started=profile.started,
        keys=keys,
        figures=(*(one for one in own if one), *pairs, *_collectives(profile, node, whole)),
        findings=judged(found, chips, None) if profile.node else (),
        distrust={of: one.device.distrust for of, one in devices.items() if one.device.distrust},
        limits_w={of: limit for of, one in devices.items() if (limit := one.device.power_limit_w)},
        numbers={of: _number(of) for of in devices},
        paths={f"{link.a}-{link.b}": route(found, chips, (link.a, link.b)) for link in found.links},
        buses=_buses(profile),
        marks=frozenset(filter(None, map(mark, devices.values()))),
        notes=tuple(_notes(node, profile)),
    )


def key_of(profile: Profile) -> Key:
    """What a device must share with those that it is set beside."""
    device = profile.device
    library = (device.blas, device.blas_version, device.blas_kernel, device.runtime)
    return Key(device.title, device.driver or "", " ".join(filter(None, library)), profile.quick)


def _notes(node: str, profile: Profile) -> Iterator[str]:
    if not profile.complete:
        yield NOTES["budget"].format(node=node)
    if NOTES["simulated"] in profile.notes:
        yield NOTES["simulated"]


def _chips(node: Node) -> dict[int, Accelerator]:
    """What the catalogue knows of each device, each name looked up once."""
    found = {gpu.index: _chip(gpu.name, gpu.memory_bytes) for gpu in node.gpus or () if gpu.name}
    return {index: chip for index, chip in found.items() if chip}


@lru_cache(256)
def _chip(name: str, memory_bytes: float | None) -> Accelerator | None:
    return chips_of(Node(gpus=(Gpu(0, name, memory_bytes),))).get(0)


def _number(of: str) -> int:
    last = of.rpartition(":")[2]
    return int(last) if last.isdigit() else 0


def _own_kind(ceiling: Ceiling) -> bool:
    """Whether it is of a device alone, not of a pair."""
    return ceiling.kind != "link" or pair_of(ceiling.id) is None


def _own(c: Ceiling, of: str, node: str, key: str) -> Figure | None:
    if c.origin != "measured" or c.kind == "power" or c.value <= 0:
        return None
    if c.unit != UNITS[c.kind]:
        raise BadFile(node, [f"{c.id} is in {c.unit[:20]!r}, and a {c.kind} ceiling is in {UNITS[c.kind]}"])
    samples = c.samples[-window(c.samples) :] if c.mode == "sustained" else c.samples
    return Figure(c.id, of, node, key, c.value, c.unit, "device", samples, c.trusted, c.why_not, c.clock_hz, c.power_w,
                  c.throttle)  # fmt: skip


def _pairs(profile: Profile, node: str, key: str) -> Iterator[Figure]:
    """Copies between two devices, equal to those of the same two in other nodes, whatever link carries them.

    The roof of a pair, or its largest copy where copies were measured by size alone.
    """
    roofs = {c.id.rpartition("/")[2]: c for c in profile.ceilings if not _own_kind(c) and c.origin == "measured"}

    def figure(between: str, value: float, samples: tuple[float, ...], of: Ceiling | CopyPoint) -> Figure:
        return Figure(f"link/{between}", f"{node}/{between}", node, key, value, "B/s", "pair", samples, of.trusted,
                      of.why_not, level=of.level)  # fmt: skip

    for between, c in roofs.items():
        if c.value > 0:
            yield figure(between, c.value, c.samples, c)
    largest = {one.pair: one for one in sorted(profile.copies, key=lambda one: one.bytes)}
    for between, one in largest.items():
        if between not in roofs:
            yield figure(between, one.bytes_per_s, tuple(one.bytes / time_s for time_s in one.samples_s), one)


def _buses(profile: Profile) -> dict[str, float]:
    ordered = sorted((one for one in profile.collectives if one.trusted), key=lambda one: (one.devices, one.bytes))
    return {f"{one.operation} x{one.devices}": one.bus_bytes_per_s for one in ordered}


def _collectives(profile: Profile, node: str, key: str) -> Iterator[Figure]:
    for one in profile.collectives:
        id = f"{one.operation}/{one.devices}/{one.bytes:g}B/{one.dtype}/{one.launcher}"
        yield Figure(id, f"{node}/{one.operation}", node, key, one.time_s, "s", "node", one.samples_s, one.trusted,
                     one.why_not)  # fmt: skip
