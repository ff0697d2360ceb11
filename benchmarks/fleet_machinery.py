"""A fleet whose faults are known, measured and reported by the real machinery: `python -m benchmarks.fleet_machinery`.

Eight nodes of a Ray cluster on this computer, each a raylet of its own, with made-up devices behind real processes,
tasks and files. In mid-run one node's raylet is killed and another's processes are stopped; one device is 10 % slow in
its clock, one has half of its PCIe lanes. Prints what was measured, what was reported, and whether that is true.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.fleet_cluster import cluster, fleet, measuring, wait_for

COUNT = 8
KILLED, HUNG = "node-1", "node-2"
SLOW, NARROW = "node-3", "node-5"
TAKES_S, LIMIT_S = 15, 45
FAULTS = {SLOW: "clock=0.1@6", NARROW: "pcie@2"}
OUT = {f"{SLOW}/fake:6": "clock", f"{NARROW}/fake:2": "pcie"}
SILENT = {KILLED: "died", HUNG: "hung"}
ENDS_S = 600


def run(folder: Path) -> dict[str, Any]:
    """The whole of it: the answer of `fleet measure`, that of `fleet report`, and seconds."""
    nodes = folder / "nodes"
    stopped: list[psutil.Process] = []
    began_s = time.monotonic()
    with cluster(COUNT) as there:
        up_s = time.monotonic()
        asked = [*_asked(there.address, nodes), "--json"]
        driver = fleet(*asked)
        try:
            victim = wait_for(lambda: measuring(HUNG))
            stopped += [victim, *victim.parents()[:1]]  # the measurement and the Ray worker that watches over it
            for process in reversed(stopped):
                process.suspend()
            wait_for(lambda: measuring(KILLED))
            os.kill(there.raylets[KILLED], signal.SIGKILL)
            out, err = driver.communicate(timeout=ENDS_S)
        finally:
            driver.kill()
            for process in stopped:
                with suppress(psutil.NoSuchProcess):  # Ray ends a worker that it gave up
                    process.kill()
        measured_s = time.monotonic()
    if not out.startswith("{"):
        sys.exit(f"fleet measure ended with exit code {driver.returncode}: {err}")
    report = _report(nodes)
    return {
        "code": driver.returncode, "said": err, "measured": json.loads(out), "report": report,
        "start_s": up_s - began_s, "measure_s": measured_s - up_s,
    }  # fmt: skip


def _asked(address: str, nodes: Path) -> list[str]:
    faults = {f"node-{i}": FAULTS.get(f"node-{i}", "") for i in range(COUNT)}
    said = (f"{node}:{'+'.join(filter(None, [fault, f'takes={TAKES_S}']))}" for node, fault in faults.items())
    device = f"fake:{','.join(said)}"
    return ["--ray", address, "-o", str(nodes), "--device", device, "--quick", "--limit-s", str(LIMIT_S)]


def _report(nodes: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "rooflens", "fleet", "report", str(nodes), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {"code": done.returncode, **json.loads(done.stdout)}


def states(measured: dict[str, Any]) -> dict[str, str]:
    """What came of each node."""
    return {one["node"]: one["state"] for one in measured["nodes"]}


def named(report: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Who is out with its cause, and who gave no figures with its state."""
    out = {one["of"]: one["reasons"][0]["cause"] for one in report["devices"] if one["state"] == "out"}
    return out, {one["node"]: one["state"] for one in report["silent"]}


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The outcome, for a person."""
    measured, (out, silent) = found["measured"], named(found["report"])
    yield f"cluster of {COUNT} nodes up in {found['start_s']:.0f} s; measured in {found['measure_s']:.0f} s"
    yield f"first to last start: {measured['began_within_s']:.3f} s"
    for one in measured["nodes"]:
        yield f"  {one['node']}: {one['state']}" + (f": {one['why']}" if "why" in one else "")
    yield f"report: out {out}, silent {silent}"
    yield "all four named, nobody else" if (out, silent) == (OUT, SILENT) else f"WANTED: out {OUT}, silent {SILENT}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print("\n".join(lines(run(Path(place)))))
