"""The pages that say how to add something are followed to the letter, in a copy of the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.applied import follow

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs" / "adding").glob("*.md"))
ON = ("--on", "h100-sxm5-80gb", "--json")
ADDED = {  # a command that shows the new thing, where its answer stands, and the truth
    "accelerator": (("machines", "acme-one-64gb", "--json"), ("ridge_flops_per_byte", "matrix/bf16"), 400e12 / 2e12),
    "cause": (
        ("fleet", "report", "nodes", "--fail-below", "ok=0.5", "--json"),
        ("devices", 0, "reasons", 0, "cause"),
        "recovery",
    ),
    "engine": (
        ("watch", "run.jsonl", "--once", "--json"),
        ("targets", 0, "models", 0, "rates", "steps_per_s"),
        1000 / 10,
    ),
    "model-family": (("models", "config.json", "--json"), ("params_total",), None),  # the page counts it by hand
    "operator": (("place", "gelu:n=1000", *ON), ("total", "flops"), 8 * 1000),
    "reader": (("bench", "acme.txt", *ON), ("points", 0, "value"), 3105.4e9),
}


def counted(page):
    """What the page of a family counts by hand."""
    names = {}
    exec(re.search(r"```python\n(D, F.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1], names)
    return names["total"]


def asked(room, arguments):
    """The JSON that the copy in `room` prints."""
    paths = {**os.environ, "PYTHONPATH": str(room / "src")}
    command = [sys.executable, "-m", "rooflens", *arguments]
    done = subprocess.run(command, cwd=room / "here", env=paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ADDED))
def test_a_page_followed_to_the_letter_adds_the_thing_and_quotes_what_is_printed(name, tmp_path):
    page = next(p for p in PAGES if p.stem == name)
    followed = follow(page, tmp_path)
    assert (followed.steps >= 1, followed.commands >= 1) == (True, True)
    assert followed.text == page.read_text(encoding="utf-8"), f"python tools/applied.py --write {page}"
    arguments, where, truth = ADDED[name]
    found = asked(tmp_path, arguments)
    for key in where:
        found = found[key]
    assert found == (counted(page) if truth is None else truth)


def test_every_page_is_followed():
    assert sorted(p.stem for p in PAGES) == sorted([*ADDED, "index"])


def test_a_step_that_names_no_line_or_two_is_refused(tmp_path):
    said = tmp_path / "page.md"
    said.write_text("In `src/rooflens/units.py`, behind the line `no such line`:\n\n```python\nx = 1\n```\n")
    with pytest.raises(LookupError, match="0 lines of src/rooflens/units"):
        follow(said, tmp_path / "room")


def test_what_is_there_already_is_no_new_file(tmp_path):
    said = tmp_path / "page.md"
    said.write_text("New file `src/rooflens/units.py`:\n\n```python\nx = 1\n```\n")
    with pytest.raises(LookupError, match="is there already"):
        follow(said, tmp_path / "room")
