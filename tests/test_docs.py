"""The pages of docs/: complete, made from what they tell of, and readable where nothing builds them."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest

from rooflens.cli import VERBS, group
from rooflens.dtypes import DTYPES
from rooflens.operators.letters import LETTERS

ROOT = Path(__file__).resolve().parents[1]
DOCS, PACKAGE = ROOT / "docs", ROOT / "src" / "rooflens"
PAGES = sorted(DOCS.rglob("*.md"))
sys.path.insert(0, str(ROOT / "tools"))  # the pages' own helpers know each other by name, as cog runs them

import quoted  # noqa: E402
import rooms  # noqa: E402
import schemas  # noqa: E402

SCHEMA = re.compile(r'"(rooflens/[a-z_-]+/\d+)"')
LINK = re.compile(r"\]\(([^)\s]+)\)")
HOUSE = (  # the words that everything here is told in
    "accelerator", "profile", "machine", "row", "kernel", "cost", "step", "floor", "estimate", "measured", "verdict",
    "ceiling", "lever", "regime", "origin", "ridge point",
)  # fmt: skip


def text(path):
    return path.read_text(encoding="utf-8")


def told(path):
    """What a reader sees of a page: without what makes it, and without quoted blocks."""
    seen = re.sub(r"<!--.*?-->", "", text(path), flags=re.DOTALL)
    return re.sub(r"^```[a-z]*\n.*?^```$", "", seen, flags=re.MULTILINE | re.DOTALL)


def named(path):
    return path.relative_to(DOCS).as_posix()


def conf():
    spec = importlib.util.spec_from_file_location("docs_conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- every page ------------------------------------------------------------------------------------------------------


def test_every_page_is_in_the_navigation_once():
    indices = [page for page in PAGES if page.name == "index.md"]
    listed = [(page.parent / f"{entry}.md").resolve() for page in indices for entry in conf().ENTRY.findall(text(page))]
    assert sorted(listed) == sorted({*PAGES} - {DOCS / "index.md"})


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_links_to_is_there(page):
    links = [link.partition("#")[0] for link in LINK.findall(told(page))]
    inside = [link for link in links if link and not link.startswith(("http://", "https://"))]
    assert [link for link in inside if not (page.parent / link).exists()] == []


def test_a_link_within_a_page_of_a_schema_leads_to_a_heading():
    for page in (DOCS / "schemas").glob("*.md"):
        heads = {head.lower().replace(" ", "-") for head in re.findall(r"^#+ (.*)$", text(page), re.MULTILINE)}
        assert {link[1:] for link in LINK.findall(told(page)) if link.startswith("#")} - heads == set(), page.name


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_is_plain_markdown_without_the_builders_own_words(page):
    assert re.findall(r"^(?:```|:::)\{.*$|\{\w+\}`", told(page), re.MULTILINE) == []


LONG = (DOCS / "tutorial.md",)
SESSIONS = [pytest.param(p, id=named(p), marks=[pytest.mark.slow] * (p in LONG)) for p in PAGES if "\n>>> " in text(p)]


@pytest.mark.parametrize("page", SESSIONS)
def test_python_on_a_page_answers_what_the_page_says(page):
    blocks = re.findall(r"^```python\n(>>> .*?)^```$", text(page), re.MULTILINE | re.DOTALL)
    runner = doctest.DocTestRunner(verbose=False)
    failed, tried = runner.run(doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0))
    assert (failed, tried > 0) == (0, True), "make docs-write"


def test_links_out_of_the_docs_become_downloads_or_names_and_lists_become_navigation():
    outward, folder = conf().outward, DOCS / "verbs"
    link = conf().OUTSIDE
    assert link.sub(lambda m: outward(m, folder), "[a](../../LICENSE)") == "{download}`a <../../LICENSE>`"
    assert link.sub(lambda m: outward(m, folder), "[a](../../deploy)") == "a (`deploy/`)"
    assert link.sub(lambda m: outward(m, folder), "[a](../cli.md)") == "[a](../cli.md)"
    assert (
        link.sub(lambda m: outward(m, folder), "[a](../../gone.md)") == "[a](../../gone.md)"
    )  # the builder's to refuse
    made = conf().navigation("# T\n\n## One\n\n- [x](a/b.md): c\n\n## Two\n\nplain [y](z.md)\n")
    assert "```{toctree}\n:hidden:\n:caption: One\n\na/b\n```\n\n## Two\n" in made


# --- a page for each thing -------------------------------------------------------------------------------------------


def commands(verb):
    """A verb, or the verbs under it."""
    context = click.Context(group)
    command = group.get_command(context, verb)
    under = [command.get_command(context, name) for name in getattr(command, "list_commands", lambda _: [])(context)]
    return under or [command]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_a_page_with_its_question_an_example_and_every_option(verb):
    page = text(DOCS / "verbs" / f"{verb}.md")
    assert page.startswith(f"# `rooflens {verb}`\n\n{VERBS[verb][1]}\n")
    assert re.search(rf"^```console\n\$ rooflens {verb}\b.*\n.+", page, re.MULTILINE)
    assert re.search(r"^Its JSON: \[", page, re.MULTILINE)
    options = {name for command in commands(verb) for p in command.params for name in p.opts if name.startswith("--")}
    assert {name for name in options if not re.search(rf"`[^`]*{name}\b[^`]*`", page)} == set()


@cache
def schemas_in_the_code():
    return sorted({found for path in PACKAGE.rglob("*.py") for found in SCHEMA.findall(text(path))})


@cache
def tables(kind):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        schemas.tables(kind)
    return out.getvalue().strip()


@pytest.mark.parametrize("schema", schemas_in_the_code())
def test_a_schema_has_its_page_made_from_its_records(schema):
    kind = schema.split("/")[1]
    page = text(DOCS / "schemas" / f"{kind}.md")
    assert page.startswith(f"# `{schema}`\n\n{schemas.KINDS[kind].what}\n")
    assert tables(kind) in page, "make docs-write"


def test_every_page_of_a_schema_is_of_one_in_the_code():
    pages = {page.stem for page in (DOCS / "schemas").glob("*.md")} - {"index"}
    assert pages == set(schemas.KINDS) == {schema.split("/")[1] for schema in schemas_in_the_code()}


def test_nine_fields_in_ten_are_explained_by_more_than_their_name():
    said = sum(line.startswith("| `") for kind in schemas.KINDS for line in tables(kind).splitlines())
    assert len(set(schemas.unexplained())) < said / 10


def scrape(at_s):
    page = f"vllm:num_requests_running 1\nvllm:generation_tokens_total {10 * at_s}\n"
    return json.dumps({"schema": "rooflens/scrape/1", "at_s": at_s, "url": "http://x/metrics", "text": page}) + "\n"


ROOM = {
    "profile.json": "experiments/cpu-example/profile.json",
    "rooflens.yaml": "targets:\n  - url: http://127.0.0.1:8000\n",
    "run.jsonl": scrape(1.0) + scrape(2.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind, about in schemas.KINDS.items() if about.example])
def test_every_key_of_a_real_answer_is_on_its_page(kind, monkeypatch):
    monkeypatch.chdir(ROOT)
    example = schemas.KINDS[kind].example
    room = ROOM if re.search(r"profile\.json|rooflens\.yaml|run\.jsonl| -o ", example) else None
    found = json.loads(text(ROOT / example) if example.endswith(".json") else quoted.printed(example, room))
    assert found["schema"].split("/")[1] == kind
    assert set(found) <= schemas.names(kind)


# --- words, rooms, the course ----------------------------------------------------------------------------------------


def test_the_glossary_has_each_word_once_in_order_and_every_letter_and_format():
    page = text(DOCS / "glossary.md")
    words = re.findall(r"^- \*\*(.+?)\*\*: \S", page, re.MULTILINE)
    assert [word.lower() for word in words] == sorted({word.lower() for word in words})
    assert set(HOUSE) <= set(words)
    assert set(re.findall(r"^\| (\w+) \|", page, re.MULTILINE)) - {"letter", "format"} == {*LETTERS, *DTYPES}


def test_the_drawing_of_the_floors_is_the_contracts():
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.drawing(), "python tools/rooms.py"


def test_every_room_is_named_with_what_it_is_for():
    page = text(DOCS / "architecture.md")
    built = {p.parent.name for p in PACKAGE.glob("*/__init__.py")} | {p.stem for p in PACKAGE.glob("*.py")} - {
        "__init__"
    }
    assert {room for room in built if not re.search(rf"^\| `{room}` \| \w+ \| \w.+ \|$", page, re.MULTILINE)} == set()


GOLDEN = (  # of the course, each printed by the code on the page
    "20.0 us of bytes, 0.25 us of arithmetic", "837.5 GFLOP/s", "bf16 295.3 FLOP/B, fp8 590.7", "ridge 156.00",
    "ridge   9.75", "1365.3", " 1.00 FLOP/B", "15.92 FLOP/B", "62.74 FLOP/B", "'fp8 weights, bf16 math': 148",
    "'softmax': 1.25, 'layernorm': 2.0", "2.0 GiB a sequence; a batch at the ridge (156) would hold 312 GiB",
    "13.21 GB of weights and 2.15 GB of cache a step: 7.68 ms", "2048:    60.2", "2048:   113.8",
    "2.71e+08 = 6 D F = 2.71e+08; all products 4.05e+08", "1.00 -> 2.00 FLOP/B, 2.00x", "fp16 storage: 1.00x",
    "tensor math: 4.10x, memory-bound", "3.17x", "6.34x", "1.64x", "like for like 8x", "728.3 tokens/s",
    "3.478 FLOP/B, 84.9 times below", "11.65 TFLOP/s, 1.18 %", "MBU 65.9 %", "725.6 tok/s; 682 if", " 4.56 ms",
    " 5.76 ms", " 9.61 ms", "24.99 ms", "1.25 ms on links", "19.29 ms on links", "int4: 4.00x, memory-bound",
    "\n83.8\n",
)  # fmt: skip


@pytest.mark.parametrize("number", GOLDEN)
def test_the_course_reaches_its_numbers(number):
    made = "".join(re.findall(r"\]\]\] -->\n(.*?)<!-- \[\[\[end", text(DOCS / "tutorial.md"), re.DOTALL))
    assert number in made


def test_what_builds_the_site_is_pinned_for_ci():
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    pinned = {line.partition("==")[0].lower() for line in text(ROOT / "requirements" / "ci.txt").splitlines()}
    needed = {re.split(r"[<>=]", need)[0].lower() for need in project["optional-dependencies"]["docs"]}
    assert needed <= pinned


def test_ci_builds_the_site_and_compares_what_pages_quote():
    stage = re.search(r"^check\(\) \{\n(.*?)^\}", text(ROOT / ".ci" / "run"), re.MULTILINE | re.DOTALL)[1]
    assert {"docs", "docs-check"} <= set(stage.split())
    assert "sphinx -q -W" in text(ROOT / "Makefile")
