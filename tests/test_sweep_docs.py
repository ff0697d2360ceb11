"""docs/sweep.md: its commands print what it quotes, and its queries in other tools find what ours find.

`python -m tests.test_sweep_docs` writes that output anew: it needs the extra `fleet`, which `make docs-write` has not.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from functools import cache
from pathlib import Path

import pytest

from rooflens.api.sweeping import query
from rooflens.cli import _run
from rooflens.sweep.question import Wanted

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


if __name__ == "__main__":
    PAGE.write_text(told(), encoding="utf-8")
