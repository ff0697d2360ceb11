"""The links of this machine measured again and again: how far copies and collectives of two runs are apart.

    python -m benchmarks.links_repeat OUT.json [runs]

Each run starts its processes anew. Written are all points; printed is how far the medians of each size differ.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rooflens.cli.linking import linked
from rooflens.measure.backends.cuda import CudaBackend
from rooflens.measure.options import gpu
from rooflens.records import encode
from rooflens.roofline.profile import Profile
from rooflens.samples import median


def links() -> dict[str, Any]:
    """Copies and collectives of one run, without what else a profile holds."""
    backend = CudaBackend()
    nothing = Profile(backend.device(), (), 0, "", 0.0, versions=backend.versions())
    backend.close()
    found = linked(nothing, gpu(), lambda *_: None)
    return {"copies": encode(found)["copies"], "collectives": encode(found)["collectives"], "skipped": found.skipped}


def apart(runs: list[dict[str, Any]]) -> dict[str, float]:
    """By size and kind: the largest over the least median of all runs, less 1."""
    times: dict[str, list[float]] = {}
    for run in runs:
        for p in run["copies"]:
            times.setdefault(f"copy {p['pair']} {p['bytes']:.0f}", []).append(p["time_s"])
        for p in run["collectives"]:
            name = f"{p['operation']} {p['launcher']} {p['devices']} {p['bytes']:.0f}"
            times.setdefault(name, []).append(p["time_s"])
    return {name: max(several) / min(several) - 1 for name, several in times.items()}


def main() -> None:
    """Measures, writes, and says what differs most."""
    runs = [links() for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 2)]
    differ = apart(runs)
    Path(sys.argv[1]).write_text(json.dumps({"runs": runs, "apart": differ}), encoding="utf-8")
    for kind in ("copy", "graph", "eager"):
        mine = {name: value for name, value in differ.items() if kind in name}
        if mine:
            worst = max(mine, key=lambda name: mine[name])
            print(f"{kind}: median {median(mine.values()):.2%}, worst {mine[worst]:.2%} ({worst})")


if __name__ == "__main__":
    main()
