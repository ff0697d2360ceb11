"""README.md: links that lead somewhere, a table with every verb, sources that are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rooflens
from rooflens.cli import VERBS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_the_readme_links_to_is_there():
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", README)]
    inside = [link for link in links if not link.startswith(("http://", "https://"))]
    assert [link for link in inside if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_named(verb):
    assert f"docs/verbs/{verb}.md" in README or f"rooflens {verb}" in README


def test_the_python_of_the_readme_answers_as_the_command_line_does(capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    exec(block, {})
    answer = rooflens.place("llama-2-7b", on="a100-sxm4-80gb", phase="decode", batch=16, context=4096)
    assert capsys.readouterr().out.split() == ["memory", str(answer.total.floor_s)]


@pytest.mark.parametrize("source", ["Williams", "Wulf", "Gholami", "Pope", "Dao", "Jouppi"])
def test_the_sources_of_the_method_are_named(source):
    assert source in README
