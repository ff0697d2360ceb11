"""Whatever a node's file holds, a report comes of it: the file is read, or is a row with a sentence."""

from __future__ import annotations

import copy
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

GOOD = {"schema": SCHEMA, **encode(node_profile("bad", 5, devices=2))}
OTHERS = [measured(name, node_profile(name, 5, devices=2)) for name in ("a", "b", "c")]
ODD: tuple[Any, ...] = (
    None, 0, -1, 1e-300, 1e300, 1e308, 5e-324, -0.0, "", "x", "0-1", "link/nvlink/9-9", True, [], {}, [0.0],
    [1e-12] * 8,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, one in inside for deeper in places(one, (*path, key)))]


PLACES = places(GOOD)


def broken(seed: int) -> dict[str, Any]:
    """A good file with one to four things in it changed, left out or twice there."""
    chance, found = random.Random(seed), copy.deepcopy(GOOD)
    for _ in range(chance.randint(1, 4)):
        *way, last = chance.choice([place for place in PLACES if place])
        try:
            holder: Any = found
            for key in way:
                holder = holder[key]
            if chance.random() < 0.2:
                del holder[last]
            elif chance.random() < 0.2 and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            else:
                holder[last] = chance.choice(ODD)
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            continue
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
