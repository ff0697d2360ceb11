"""A page for each formula: the function it names exists, and its worked numbers are what that function returns."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

PAGES = sorted(p for p in (Path(__file__).resolve().parents[1] / "docs" / "formulas").glob("*.md") if p.stem != "index")
HELD = re.compile(r"^Held by (.+)\.$", re.MULTILINE)
NAME = re.compile(r"\[`(rooflens\.[\w.]+)`\]\(([\w./-]+)\)")


def stem(path):
    return path.stem


def found(name):
    """What a dotted name stands for: the longest module in it, then its attributes."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = vars(value)[part]
        return value
    raise AssertionError(name)


def code_of(value):
    """The code that runs when this function, method or property is asked for."""
    inner = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__wrapped__", None) or value
    return inner.__code__


def held(page):
    return NAME.findall(HELD.search(page.read_text(encoding="utf-8"))[1])


def examples(page):
    """The page's Python, one session from top to bottom. Fences end where they end, and not in what is answered."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)


def forget(value):
    """So that what was computed by another test is computed again."""
    if hasattr(value, "cache_clear"):
        value.cache_clear()


@pytest.mark.parametrize("page", PAGES, ids=stem)
def test_a_page_names_functions_that_exist_and_where_they_stand(page):
    names = held(page)
    assert names
    for name, path in names:
        source = (page.parent / path).resolve()
        code = code_of(found(name))
        assert Path(code.co_filename) == source
        defined = [n.name for n in ast.walk(ast.parse(source.read_text(encoding="utf-8"))) if hasattr(n, "name")]
        assert name.rpartition(".")[2] in defined


@pytest.mark.parametrize("page", PAGES, ids=stem)
def test_worked_numbers_are_what_the_named_functions_return(page):
    wanted = {code_of(found(name)): name for name, _ in held(page)}
    for name, _ in held(page):
        forget(found(name))
    called = set()
    runner, test = doctest.DocTestRunner(verbose=False), examples(page)
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code) if event == "call" else None)
    try:
        failed, tried = runner.run(test, out=lambda _: None)
    finally:
        sys.setprofile(before)
    assert (failed, tried > 0) == (0, True), f"{page.name}: make docs-write"
    assert sorted(name for code, name in wanted.items() if code not in called) == []


def test_the_index_lists_every_formula_once():
    index = (PAGES[0].parent / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\(([\w-]+)\.md\)", index)) == [page.stem for page in PAGES]
