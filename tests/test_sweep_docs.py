"""docs/sweep.md: its commands print what it quotes, and its queries in other tools find what ours find.

`python -m tests.test_sweep_docs` writes that output anew: it needs the extra `fleet`, which `make docs-write` has not.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rooflens.api.sweeping import query
from rooflens.cli import _run
from rooflens.sweep.question import Wanted
from tools.applied import follow

PAGE = Path(__file__).resolve().parents[1] / "docs" / "sweep.md"
SESSION = re.compile(r"^```console\n\$ (?P<line>rooflens .*)\n(?P<shown>(?:.*\n)*?)```$", re.MULTILINE)
WITHIN = Wanted(tpot_s=0.05, ttft_s=2.0, by=("model", "machine"), top=100)
FRONT = Wanted(pareto=True, where={"model": ("llama-3.1-70b",)}, top=100_000)

pytest.importorskip("pyarrow", reason="pip install 'rooflens[fleet]'")
pytestmark = pytest.mark.slow


def printed(line: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        _run(shlex.split(line)[1:])
    return "".join(f"{one.rstrip()}\n" for one in out.getvalue().splitlines())


@contextlib.contextmanager
def room():
    """An empty folder with the grid of the page in it."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("grid.yaml").write_text(block("yaml", "models:"))
            yield
        finally:
            os.chdir(here)


def block(kind: str, begins: str) -> str:
    blocks = re.findall(rf"^```{kind}\n(.*?)^```$", text(), re.MULTILINE | re.DOTALL)
    return next(found for found in blocks if found.startswith(begins))


@cache
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def told() -> str:
    """The page with every session as it is today."""
    with room():
        return SESSION.sub(lambda m: f"```console\n$ {m['line']}\n{printed(m['line'])}```", text())


def test_the_page_quotes_what_the_commands_print():
    assert told() == text(), "python -m tests.test_sweep_docs"


@pytest.mark.parametrize("tool", ["duckdb", "polars"])
def test_other_tools_find_the_same(tool: str):
    pytest.importorskip(tool, reason="the page shows it; no extra of ours")
    with room():
        printed("rooflens sweep grid.yaml -o points --workers 1")
        names: dict[str, list[tuple[object, ...]]] = {}
        exec(block("python", f"import {tool}"), names)
        cheapest, front = query(Path("points"), WITHIN).points, query(Path("points"), FRONT).points
    wanted = [tuple(p[n] for n in ("model", "machine", "usd_per_million_tokens", "batch", "tp")) for p in cheapest]
    assert names["cheapest"] == wanted
    wanted = [tuple(p[n] for n in ("batch", "tp", "tpot_estimate_s", "usd_per_million_tokens")) for p in front]
    assert names["front"] == wanted


def test_an_axis_more_is_the_line_that_the_page_says(tmp_path: Path):
    page, said = tmp_path / "page.md", {"models": "llama-3.1-8b", "machines": "h100-sxm5-80gb", "batch": 16, "pp": 2}
    page.write_text(text()[text().index("## An axis more") :])
    assert follow(page, tmp_path / "room").steps == 1
    here, paths = tmp_path / "room" / "here", {**os.environ, "PYTHONPATH": str(tmp_path / "room" / "src")}

    def ran(*arguments: str) -> dict[str, Any]:
        line = [sys.executable, "-m", "rooflens", *arguments, "--json"]
        done = subprocess.run(line, cwd=here, env=paths, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    (here / "grid.json").write_text(json.dumps({**said, "microbatches": "1:4"}))
    assert ran("sweep", "grid.json", "-o", "points", "--workers", "1")["points"] == 3
    (point,) = ran("sweep", "query", "points", "--where", "microbatches=4")["points"]
    how = ("--batch", "16", "--pp", "2", "--microbatches", "4")
    alone = ran("predict", "llama-3.1-8b", "--on", "h100-sxm5-80gb", *how)
    assert point["microbatches"] == alone["step"]["microbatches"] == 4
    assert point["tpot_estimate_s"] == alone["tpot_s"]["estimate"]


if __name__ == "__main__":
    PAGE.write_text(told(), encoding="utf-8")
