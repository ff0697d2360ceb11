"""The fit behind the constants of kernels: known constants are found again; few rows stay near what others share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy.shrunk import Group, Model, fitted

ROOT = Path(__file__).parents[1]


def time_s(_, columns, c):
    return c["fixed"] + columns["bytes"] / c["rate"]


MODEL = Model(
    {"fixed": 1e-5, "rate": 1e12}, {"fixed": 0.5, "rate": 0.5}, [(("chip",), 1.0), (("engine",), 1.0)], time_s
)


def rows(chip, engine, fixed, rate, sizes=(1e5, 1e6, 1e7, 1e8, 1e9, 1e10)):
    columns = {"bytes": np.array(sizes)}
    label = {"chip": chip, "engine": engine}
    return Group(label, columns, time_s(label, columns, {"fixed": fixed, "rate": rate}))


def test_constants_that_made_the_rows_are_found_again():
    groups = [rows("a", "x", 2e-5, 2e12), rows("b", "x", 5e-6, 5e11), rows("a", "y", 1.5e-5, 1.8e12)]
    found = fitted(MODEL, groups)
    assert found.constants(groups[0].label) == pytest.approx({"fixed": 2e-5, "rate": 2e12}, rel=0.05)
    assert np.median(np.abs(found.errors(groups[1]))) < 0.02


def test_a_group_without_rows_has_what_its_chip_and_engine_share():
    groups = [rows("a", "x", 4e-5, 1e12), rows("b", "x", 4e-5, 1e12), rows("b", "y", 1e-5, 1e12)]
    found = fitted(MODEL, groups)
    unseen = found.constants({"chip": "c", "engine": "x"})["fixed"]
    assert found.constants({"chip": "c", "engine": "y"})["fixed"] < unseen < 4e-5
    assert found.constants({"chip": "c", "engine": None})["fixed"] < unseen


def test_one_row_moves_constants_less_than_many():
    many, one = rows("a", "x", 1e-5, 3e12, (1e9, 1e10, 1e11)), rows("a", "x", 1e-5, 3e12, (1e9,))
    moved = [fitted(MODEL, [group]).constants(group.label)["rate"] for group in (one, many)]
    assert 1e12 < moved[0] < moved[1] <= 3e12 * 1.01


def test_one_row_far_off_is_hardly_heard():
    clean, spoilt = rows("a", "x", 1e-5, 1e12), rows("a", "x", 1e-5, 1e12)
    spoilt.measured_s[3] *= 10
    found = [fitted(MODEL, [group]).constants(group.label)["rate"] for group in (clean, spoilt)]
    assert found[1] == pytest.approx(found[0], rel=0.15)


@pytest.mark.slow
def test_the_shipped_constants_are_what_their_rows_give():
    if not (ROOT / "benchmarks" / "accuracy" / "rows" / "operators.csv.gz").exists():
        pytest.skip("the rows are not here")
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.accuracy.fit_operators", "--check"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
