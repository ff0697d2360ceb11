"""How well the report of a fleet finds planted faults, and how long it takes.

    python benchmarks/fleet.py [--seeds 10] [--nodes 1000] [--devices 1]

Simulated fleets: devices differ by 0.6 %, samples scatter by 0.6 % and one in twenty has a heavy tail. 1 % of the
devices has a fault, all kinds in turn, each a loss of 5 % where a loss can be any size (half of the lanes is 50 %, one
NVLink of 18 is 5.6 %). Found: planted devices that are out. False alarms: others that are. Right: whose first reason is
the planted one, with the node's tools, and without them (silent). The time is of reading all files and judging them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rooflens import artefacts
from rooflens.fleet.faults import Fault, Plan, chosen
from rooflens.fleet.gathered import NodeFile, gathered, measured
from rooflens.fleet.planted import named, node_names, wanted
from rooflens.fleet.report import Report, report
from rooflens.fleet.simulated import node_profile
from rooflens.records import fields, record, replace
from rooflens.roofline.profile import SCHEMA, Profile

LOOK_ALIKE = {("heat", "power"), ("power", "clock"), ("heat", "clock")}  # without tools: only the settled rate is low


@record
class Score:
    """One fleet: how many were planted, found, and named right; devices that are out without a fault."""

    devices: int
    planted: int
    found: int
    right: int
    alike: int
    false_alarms: int
    slow_links: int


def score(found: Report, truth: dict[str, Fault]) -> Score:
    """A report beside the plan."""
    out = {one.of: one.reasons[0].cause if one.reasons else "unknown" for one in found.out}
    hits = {of: (truth[of].kind, cause) for of, cause in out.items() if of in truth}
    right = sum(kind == cause for kind, cause in hits.values())
    alike = sum(pair in LOOK_ALIKE for pair in hits.values())
    return Score(len(found.devices), len(truth), len(hits), right, alike, len(out) - len(hits), len(found.slow_links))


def fleet(seed: int, nodes: int, devices: int, change: Callable[[Profile], Profile]) -> tuple[list[NodeFile], Plan]:
    """One simulated fleet and who has which fault."""
    names = node_names(nodes)
    plan = chosen(names, devices, wanted("1%", devices, nodes * devices), 0.05, seed)
    return [measured(n, change(node_profile(n, seed, plan.get(n), devices=devices))) for n in names], plan


def silent(profile: Profile) -> Profile:
    """The same without what the node's tools said."""
    return replace(profile, node=None)


def summed(scores: list[Score]) -> str:
    """All fleets in one line."""
    total = Counter[str]()
    for one in scores:
        total.update({f.name: getattr(one, f.name) for f in fields(Score)})
    recall = total["found"] / max(total["planted"], 1)
    alarms = 1000 * total["false_alarms"] / total["devices"]
    return (
        f"found {total['found']} of {total['planted']} ({recall:.4f}); false alarms {total['false_alarms']} in "
        f"{total['devices']} devices ({alarms:.3f} in 1,000); reason right {total['right']} of {total['found']} "
        f"(look alike {total['alike']}); links {total['slow_links']}"
    )


def timed(nodes: int, devices: int, seed: int, workers: int) -> str:
    """Files of one fleet, read and judged."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for node in node_names(nodes):
            artefacts.write_json(folder / f"{node}.json", node_profile(node, seed, devices=devices), SCHEMA)
        size = sum(path.stat().st_size for path in folder.iterdir())
        began, busy = time.perf_counter(), time.process_time()
        files = gathered(folder, workers)
        read = time.perf_counter()
        report(files)
        done, spent = time.perf_counter(), time.process_time()
    return (
        f"{nodes} files, {size / 1e6:.0f} MB, {nodes * devices} devices, {workers} process(es): read in "
        f"{read - began:.1f} s, judged in {done - read:.1f} s; CPU of this process {spent - busy:.1f} s"
    )


def main() -> None:
    """Prints a line a fleet and the sums."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--nodes", type=int, default=1000)
    options.add_argument("--devices", type=int, default=1)
    options.add_argument("--workers", type=int, default=1)
    asked = options.parse_args()
    print(timed(asked.nodes, asked.devices, 0, asked.workers), flush=True)
    for title, change in (("with tools", lambda profile: profile), ("silent", silent)):
        scores = []
        for seed in range(asked.seeds):
            files, plan = fleet(seed, asked.nodes, asked.devices, change)
            scores.append(score(report(files), named(plan, asked.devices)))
            print(f"  {title}, seed {seed}: {scores[-1]}", flush=True)
        print(f"{title}: {summed(scores)}", flush=True)


if __name__ == "__main__":
    main()
