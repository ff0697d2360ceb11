"""A whole made-up fleet as files, and the plan of who has which fault beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rooflens import artefacts
from rooflens.errors import RooflensError
from rooflens.fleet.faults import KINDS, LOSS, Fault, FaultKind, Plan, chosen
from rooflens.fleet.simulated import Weather, node_profile
from rooflens.records import field, record
from rooflens.roofline.profile import SCHEMA as PROFILE

SCHEMA = "rooflens/fleet-truth/1"
FILE = "truth.json"
MOST_NODES, MOST_DEVICES = 100_000, 64
MOST_RUNS = 36_500  # days, a hundred years of them


@record
class Truth:
    """Who has which fault, by NODE/DEVICE as a report names them."""

    nodes: int
    devices: int
    seed: int
    run: int
    weather: Weather
    faults: Mapping[str, Fault] = field(default_factory=dict)


def plant(
    folder: Path,
    nodes: int,
    devices: int,
    wanted: Mapping[FaultKind, int],
    *,
    loss: float = LOSS,
    seed: int = 0,
    run: int = 0,
    progress: Callable[[str, float], None] = lambda name, fraction: None,
) -> Truth:
    """Writes truth.json and NODE.json of every node.

    Raises RooflensError for what no fleet has, and for a folder with files of another fleet.
    """
    names = node_names(nodes)
    plan = chosen(names, devices, wanted, loss, seed)
    _ours(folder, names)
    truth = Truth(nodes, devices, seed, run, Weather(), named(plan, devices))
    artefacts.write_json(folder / FILE, truth, SCHEMA)
    for place, name in enumerate(names):
        progress("nodes", place / nodes)
        profile = node_profile(name, seed, plan.get(name), devices=devices, run=run)
        artefacts.write_json(folder / f"{name}.json", profile, PROFILE)
    progress("nodes", 1.0)
    return truth


def _ours(folder: Path, names: Sequence[str]) -> None:
    """Raises RooflensError unless all nodes in the folder, if any, are of a made-up fleet and are written anew."""
    there = sorted(path.name for path in folder.glob("*.json"))
    mine = {FILE, *(f"{name}.json" for name in names)} if FILE in there else set()
    if other := [name for name in there if name not in mine]:
        raise RooflensError(f"{folder} holds {artefacts.shown(other[0])}, which is of another fleet; name a new folder")


def node_names(nodes: int) -> list[str]:
    """Names that sort as they count."""
    digits = max(3, len(str(nodes - 1)))
    return [f"node{place:0{digits}d}" for place in range(nodes)]


def named(plan: Plan, devices: int) -> dict[str, Fault]:
    """The plan by the names that a report uses."""
    return {
        f"{node}/fake:{device}" if devices > 1 else node: fault
        for node, own in sorted(plan.items())
        for device, fault in sorted(own.items())
    }


def wanted(text: str, devices: int, total: int) -> dict[FaultKind, int]:
    """`1%` of all devices over all kinds in turn, or `clock=2,pcie=1`. Raises RooflensError in one sentence."""
    possible = [kind for kind in KINDS if devices > 1 or not Fault(kind).slows_links]
    found: dict[FaultKind, int] = {}
    if "=" not in text:
        for place in range(_count(text, total)):
            kind = possible[place % len(possible)]
            found[kind] = found.get(kind, 0) + 1
        return found
    for part in text.split(","):
        name, _, count = part.partition("=")
        kind = Fault(name.strip()).kind
        if kind not in possible:
            raise RooflensError(f"--faults {part}: a node of one device has no {kind}; give it more with --devices")
        if not count.strip().isdigit():
            raise RooflensError(f"--faults {part}: write how many, as {kind}=2")
        found[kind] = found.get(kind, 0) + int(count)
    return found


def _count(text: str, total: int) -> int:
    share = text.strip().endswith("%")
    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not 0 <= value <= (100 if share else total) or (not share and value != int(value)):
        raise RooflensError(f"--faults {text}: write a share of all devices (1%), a count, or KIND=COUNT,KIND=COUNT")
    return round(value * total / 100) if share else int(value)
