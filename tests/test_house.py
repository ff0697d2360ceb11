"""The habits of the house that a machine can hold: see CONTRIBUTING.md."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rooflens"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Who may import which package of other people, also inside a function. A package that is not here is a new
# dependency: it needs a page in decisions/ and a contract in pyproject.toml.
DOORS = {
    "click": ("cli",),
    "cupy": ("measure/backends",),
    "cupyx": ("measure/backends",),
    "matplotlib": ("present",),
    "ncu_report": ("readers/profiles/ncu_rep.py",),
    "numpy": ("arrays.py", "measure/backends"),
    "nvmath": ("measure/backends",),
    "orjson": ("readers/profiles/events.py",),
    "psutil": ("measure",),
    "pyarrow": ("fleet",),
    "pynvml": ("measure",),
    "ray": ("fleet/cluster.py", "fleet/measuring/worker.py"),
    "rich": ("present",),
    "starlette": ("server",),
    "threadpoolctl": ("measure",),
    "yaml": ("readers/plain_yaml.py",),
    "torch": ("measure/backends",),
    "uvicorn": ("server",),
}


def named(path):
    return path.relative_to(PACKAGE).as_posix()


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_import_rooflens_loads_nothing_heavy():
    done = run(sys.executable, "-c", "import sys, rooflens; print(*{m.partition('.')[0] for m in sys.modules})")
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & set(DOORS) == set()


# Modules of Python that take long to load, and parts of ours that answer other questions.
SLOW = {
    "asyncio", "csv", "dataclasses", "decimal", "difflib", "email", "fractions", "http", "importlib.metadata",
    "importlib.resources", "logging", "multiprocessing", "random", "shutil", "socket", "statistics", "subprocess",
    "tempfile", "tomllib", "unittest", "xml", "zipfile",
}  # fmt: skip
ELSEWHERE = {
    *(f"rooflens.{floor}" for floor in ("lab", "measure", "readers", "present.canvas", "compare")),
    *(f"rooflens.models.{family}" for family in ("gemma", "hybrids", "mla", "moe", "searched", "zamba")),
    "rooflens.models.ignored", "rooflens.catalogue.ladder", "rooflens.catalogue.tables",
}  # fmt: skip
LOADED = """
import sys
sys.argv = ["rooflens", *sys.argv[1:]]
from rooflens.__main__ import main
try:
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("--help", {"click", "shutil"}),  # click asks for the width of the terminal
        ("place {} --json", {"click"}),
        ("predict {} --json", {"click"}),
    ],
)
def test_a_short_command_loads_nothing_that_it_does_not_need(line, needed):
    asked = line.format("llama-2-7b --on a100-sxm4-80gb").split()
    done = run(sys.executable, "-c", LOADED, *asked)
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.split()) & {*DOORS, *SLOW, *ELSEWHERE} == needed


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_records_take_field_and_replace_from_records_so_that_dataclasses_stays_away(path):
    taken = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.ImportFrom) and n.module == "dataclasses"]
    names = {alias.name for node in taken for alias in node.names}
    assert path.name == "frozen.py" or not names or "dataclass" in names


def test_imports_point_down_and_every_module_stands_on_a_floor():
    done = run(sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr


def imported_packages(path):
    """Top-level packages imported at run time anywhere in a file; imports for type hints alone do not count."""
    tree = parsed(path)
    hints = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    ignored = {id(inner) for hint in hints for statement in hint.body for inner in ast.walk(statement)}
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_other_peoples_packages_come_in_only_through_their_doors(path):
    foreign = set(imported_packages(path)) - sys.stdlib_module_names - {"rooflens"}
    strangers = {p for p in foreign if not named(path).startswith(DOORS.get(p, ("\0",)))}
    assert strangers == set()


LONG = "# long: "  # beside what may be: a file over 300 lines, a function over 40; then comes the reason


def long_ones(path):
    """This file and the functions in it that are longer than most, each with the lines where its reason may stand."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > 300:
        yield named(path), [line for line in lines if line.startswith(LONG)]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= 40:
            yield f"{named(path)} {node.name}", [lines[node.lineno - 2]]


def test_files_have_one_subject_and_functions_one_job_so_both_stay_short_or_say_why_not():
    found = {name: [line for line in near if LONG in line] for path in SOURCES for name, near in long_ones(path)}
    assert [name for name, reasons in found.items() if len(reasons) != 1] == []
    said = sum(path.read_text(encoding="utf-8").count(LONG) for path in SOURCES)
    assert said == len(found), "a reason that nothing needs any more"


# Rooms whose answers follow from what they are given, and the files in them that read data of their own.
IMPURE = {"asyncio", "datetime", "io", "os", "pathlib", "platform", "shutil", "signal", "socket", "subprocess",
          "tempfile", "threading", "time", "urllib"}  # fmt: skip
OWN_DATA = {"catalogue/calibrations.py", "catalogue/store.py", "models/__init__.py", "models/spellings.py"}


def pure_rooms():
    (floors,) = (c for c in PROJECT["tool"]["importlinter"]["contracts"] if c.get("exhaustive"))
    layers = [re.findall(r"\w+", layer) for layer in floors["layers"]]
    think = next(i for i, rooms in enumerate(layers) if "prediction" in rooms)
    roof = layers.index(["roofline"])
    return {room for rooms in [layers[think], *layers[roof:]] for room in rooms}


def test_floors_up_to_the_roof_and_thinking_know_no_clock_no_environment_and_no_files():
    rooms = pure_rooms()
    assert {"claims", "levers", "operators", "roofline", "units"} <= rooms
    assert rooms & {"measure", "readers", "artefacts", "present", "lab", "fleet", "cli"} == set()
    pure = [path for path in SOURCES if named(path).partition("/")[0].removesuffix(".py") in rooms]
    assert {named(path) for path in pure if IMPURE & set(imported_packages(path))} == OWN_DATA
    calls = [n for path in pure for n in ast.walk(parsed(path)) if isinstance(n, ast.Call)]
    assert [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "open"] == []


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_what_is_public_says_what_it_is(path):
    tree = parsed(path)
    assert ast.get_docstring(tree), "a module says what it is for"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = [n for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]
    assert [n.name for n in public if not ast.get_docstring(n)] == []


@pytest.mark.parametrize("path", [p for p in SOURCES if ">>> " in p.read_text(encoding="utf-8")], ids=named)
def test_examples_in_docstrings_are_true(path):
    name = ".".join(("rooflens", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert (failed, tried > 0) == (0, True)


def texts():
    """All that is written by hand in this repository."""
    folders = (".ci", "benchmarks", "changelog.d", "decisions", "docs", "requirements", "src", "tests")
    files = [p for folder in folders for p in sorted((ROOT / folder).rglob("*"))] + sorted(ROOT.glob("*"))
    readable = {".md", ".py", ".toml", ".json", ".txt", ".cfg", ".html", ".css", ".js", ""}
    made = {"__pycache__", ".coverage"}
    return [p for p in files if p.is_file() and p.suffix in readable and not made & {*p.parts}]


def test_nothing_names_the_computer_it_was_written_on():
    folders = "|".join(("ro" + "ot", "wo" + "rk", "Users", "farm"))
    here = re.compile(rf"(?<![\w.])/(?:{folders})/\w")
    said = [str(p.relative_to(ROOT)) for p in texts() if here.search(p.read_text(encoding="utf-8"))]
    assert said == []


def test_what_ci_installs_is_pinned_and_names_no_place_to_get_it_from():
    lines = (ROOT / "requirements" / "ci.txt").read_text(encoding="utf-8").splitlines()
    pinned = {m[1].lower().replace("_", "-") for line in lines if (m := re.fullmatch(r"([\w.-]+)==[\w.]+", line))}
    assert [line for line in lines if not line.startswith("#") and "==" not in line] == []
    project = PROJECT["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert {re.split(r"[<>=!~\[]", need)[0].lower() for need in asked} <= pinned


EXTRA = re.compile(r"(?:rooflens|'\.)\[([a-z0-9,-]+)\]")


def test_every_extra_that_we_tell_people_to_install_is_there():
    extras = set(PROJECT["project"]["optional-dependencies"])
    told = {
        name
        for path in texts()
        for names in EXTRA.findall(path.read_text(encoding="utf-8"))
        for name in names.split(",")
    }
    assert told
    assert told - extras == set()


def test_every_dependency_has_its_row_in_the_decision_about_them():
    page = (ROOT / "decisions" / "0002-dependencies.md").read_text(encoding="utf-8").lower()
    named_there = {"cupy": "cupy", "cupyx": "cupy", "ncu_report": "ncu-report", "nvmath": "nvmath-python",
                   "pynvml": "nvidia-ml-py", "yaml": "pyyaml"}  # fmt: skip
    assert [package for package in DOORS if named_there.get(package, package) not in page] == []


def test_the_changelog_knows_this_version():
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {PROJECT['project']['version']}" in log


def test_a_switched_off_rule_has_its_reason_beside_it():
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if re.match(r'\s+"[A-Z]{1,4}\d*",', line)]
    assert rules
    assert [line for line in rules if "  # " not in line] == []
