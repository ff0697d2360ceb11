"""The stored baseline: what each kind of device gives, and what each device gave before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rooflens import artefacts
from rooflens.fleet.gathered import NodeFile
from rooflens.fleet.report import placed_figures
from rooflens.peers.history import SCHEMA, Baseline, updated
from rooflens.peers.judging import judge
from rooflens.peers.record import Rules


def stored(path: Path) -> Baseline:
    """What a file holds. Raises BadFile or RooflensError in one sentence."""
    return artefacts.load(path, Baseline, SCHEMA)


def usable(path: Path) -> None:
    """Raises RooflensError now, before the work, where `path` holds something else or could not be written."""
    artefacts.writable(path)
    if path.exists():
        stored(path)


def save(path: Path, files: Sequence[NodeFile], rules: Rules | None = None) -> Baseline:
    """Puts this run into the baseline of `path`, or begins one. Who is out today does not say what is usual."""
    rules = rules or Rules()
    before = stored(path) if path.exists() else Baseline()
    figures, keys = placed_figures(files), {key.text: key for one in files for key in one.keys.values()}
    found = judge(figures, rules, before)
    times = sorted(one.started for one in files if one.started)
    at = times[len(times) // 2] if times else ""  # a clock that is wrong does not date them all
    after = updated(before, figures, found, keys, at, rules.least)
    artefacts.write_json(path, after, SCHEMA)
    return after
