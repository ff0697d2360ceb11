"""Whatever a node's file holds, a report comes of it: the file is read, or is a row with a sentence."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rooflens.cli.fleet_shown import shown
from rooflens.fleet.gathered import measured, node_file
from rooflens.fleet.report import report
from rooflens.fleet.simulated import node_profile
from rooflens.records import encode
from rooflens.roofline.profile import SCHEMA
from tests.damage import ODD, changed

GOOD = {"schema": SCHEMA, **encode(node_profile("bad", 5, devices=2))}
OTHERS = [measured(name, node_profile(name, 5, devices=2)) for name in ("a", "b", "c")]
NAMES = ("0-1", "link/nvlink/9-9", "bad", "fake:1")  # of pairs, ceilings, nodes and devices, where others belong


def broken(seed: int) -> dict[str, Any]:
    """A good file with some of it changed."""
    found: dict[str, Any] = changed(GOOD, random.Random(seed), (*ODD, *NAMES))
    return found


@pytest.mark.parametrize("part", range(8))
def test_a_report_comes_of_any_file(part: int, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    for seed in range(25 * part, 25 * (part + 1)):
        file.write_text(json.dumps(broken(seed)))
        found = node_file(file)
        assert found is not None
        assert found.state == "measured" or (found.why or "").strip(), seed
        whole = report([*OTHERS, found])
        assert encode(whole)["nodes"] == 4, seed
        assert shown(whole, "en", everybody=True), seed
