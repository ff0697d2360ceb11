"""Plants small faults in the core, one at a time, and lists those that no fast test notices.

    export PYTHONPATH=tools
    python -m pytest -m "not slow and not gpu" -p noting -p no:randomly --cov --cov-context=test --cov-report=
    python tools/mutants.py --count 200 operators roofline prediction

The second line writes which test runs which line; the third plants faults where tests could see them or not (a
comparison, an operator, a number, a minimum for a maximum, ...), each in a copy of src, runs the tests of that line,
and lists the faults that none of them noticed. A test notices a fault when it fails with it and passes without it.
Exits 1 when fewer than --least of them were noticed.

The tests are collected once, and each fault is shown to them in a fork (`planted`): to those that run its line, to
their neighbours of the same files, and to tests of files that run it while they are collected.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import planted
from noting import COLLECTED

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "rooflens"
LARGE = 1000
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any",
         "ceil": "floor"}  # fmt: skip
UNSEEN = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)  # words for people, and what no test of ours decides
GUARDS = ("strict",)  # zip(..., strict=True) speaks only where another fault is


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault: where, and the text of the whole file with it."""

    file: Path
    line: int
    statement: range
    inside: bool
    was: str
    now: str
    text: str


def faults(file: Path) -> Iterator[Fault]:
    """Every fault that can be planted in this file."""
    text = file.read_text(encoding="utf-8")
    lines, tree = text.splitlines(keepends=True), ast.parse(text)
    statements = _statements(tree)
    for node, inside in _expressions(tree):
        for changed in _changes(node):
            was, now = ast.get_source_segment(text, node) or "", f"({ast.unparse(changed)})"
            yield Fault(file, node.lineno, statements[node.lineno], inside, was, now, _put(lines, node, now))


def _statements(tree: ast.AST) -> dict[int, range]:
    """The lines of the innermost statement on each line; of one with a body, those of its head."""
    found: dict[int, range] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            own = range(node.lineno, (body[0].lineno if body else (node.end_lineno or node.lineno) + 1))
            found.update(dict.fromkeys(own, own))
    return found


def _expressions(node: ast.AST, *, inside: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """All expressions that are computed, and whether calls do: not annotations, decorators or the words of an error."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "keywords") and not isinstance(node, ast.Call):
            continue
        called = inside or (name == "body" and isinstance(node, ast.FunctionDef))
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, UNSEEN) or _typing(child) or _guards(child):
                continue
            if isinstance(child, ast.expr) and hasattr(child, "lineno"):
                yield child, called
            yield from _expressions(child, inside=called)


def _guards(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg in GUARDS


def _typing(node: ast.AST) -> bool:
    """Whether it names a type: Literal["a", "b"], dict[str, int]."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id[:1].isupper()


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[op, *_]) if type(op) in SWAPS:
            changed.ops[0] = SWAPS[type(op)]()  # type: ignore[assignment]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS and not _text(changed):
            changed.op = SWAPS[type(op)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not(), operand=operand) | ast.UnaryOp(op=ast.USub(), operand=operand):
            changed = operand
        case ast.IfExp(body=body, orelse=orelse):
            changed.body, changed.orelse = orelse, body
        case ast.Constant(value=bool(value)):
            changed.value = not value
        case ast.Constant(value=int(value) | float(value)):
            changed.value = value + 1 if abs(value) < LARGE else value * 2  # one more of a million is no fault
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            changed.func = ast.Name(NAMES[name])
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            changed.func.attr = NAMES[name]  # type: ignore[attr-defined]
        case _:
            return
    yield changed


def _text(node: ast.expr) -> bool:
    """Whether strings are put together or types are: neither is arithmetic."""
    return any(isinstance(n, ast.JoinedStr) or isinstance(getattr(n, "value", None), str) for n in ast.walk(node))


def _put(lines: list[str], node: ast.expr, now: str) -> str:
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    return "".join([*lines[:first], before, now, after, *lines[last + 1 :]])


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who runs the line of a fault. imported: whether some file of tests does so while it is collected: those files."""

    tests: list[str]
    imported: bool
    files: frozenset[str]


class Noted:
    """What was noted of all tests: which lines they run."""

    def __init__(self, path: Path) -> None:
        self.data = coverage.CoverageData(str(path))
        self.data.read()
        self.breadths: Counter[str] = Counter()
        for file in self.data.measured_files():
            for names in self.data.contexts_by_lineno(file).values():
                self.breadths.update(_tests(names))
        self.by_file: dict[str, list[str]] = {}
        for test in sorted(self.breadths):
            self.by_file.setdefault(test.partition("::")[0], []).append(test)

    def witnesses(self, fault: Fault) -> Witnesses:
        """The tests that run its line, else its statement; of what is no part of a call, its file, and who names it."""
        by_line = self.data.contexts_by_lineno(str(fault.file))
        lines = [[fault.line], fault.statement] if fault.inside else [by_line]
        said: set[str] = next((found for some in lines if (found := _said(by_line, some) - {""})), set())
        collecting = {name.removesuffix(COLLECTED) for name in said if name.endswith(COLLECTED)}
        imported = bool(collecting) or "" in _said(by_line, fault.statement)
        if fault.inside:
            return Witnesses(sorted(_tests(said)), imported, frozenset(collecting))
        naming = {test for file in self.by_file if _names(ROOT / file, fault.file) for test in self.by_file[file]}
        return Witnesses(sorted(_tests(said) | naming), imported, frozenset())

    def some(self, tests: Sequence[str], most: int, chance: random.Random) -> list[str]:
        """So many of these: half of them those that run the fewest lines, the others by chance; else neighbours too."""
        narrow = sorted(tests, key=self.breadths.__getitem__)
        first, others = narrow[: most // 2], narrow[most // 2 :]
        if len(tests) <= most:
            own, files = set(tests), dict.fromkeys(test.partition("::")[0] for test in narrow)
            near = [one for file in files for one in self.by_file[file] if one not in own]
            return [*narrow, *chance.sample(near, min(len(near), most - len(tests)))]
        return [*first, *chance.sample(others, most - len(first))]

    def of_files(self, files: Iterable[str], most: int, chance: random.Random) -> list[str]:
        """So many tests of these files, by chance."""
        tests = [test for file in sorted(files) for test in self.by_file.get(file, [])]
        return chance.sample(tests, min(len(tests), most))


def _names(test: Path, file: Path) -> bool:
    """Whether a file of tests imports from this one."""
    return f"from {'.'.join(file.relative_to(SOURCE.parent).with_suffix('').parts)} import" in test.read_text("utf-8")


def _said(by_line: Mapping[int, Sequence[str]], lines: Iterable[int]) -> set[str]:
    return {name for line in lines for name in by_line.get(line, [])}


def _tests(names: Iterable[str]) -> set[str]:
    """Tests as pytest names them, without which part of theirs it was."""
    return {name.rsplit("|", 1)[0] for name in names if name and not name.endswith(COLLECTED)}


@dataclass
class Room:
    """A copy of what tests need, and a pytest in it that shows faults to them."""

    folder: Path

    def __post_init__(self) -> None:
        skip = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "dist", "site")
        shutil.copytree(ROOT, self.folder, ignore=skip)

    def noticing(self, shown: Sequence[tuple[Fault, Mapping[str, Any]]]) -> Iterator[tuple[Fault, Sequence[str]]]:
        """Each fault with the test that noticed it, several where it left nothing that runs, none where none did."""
        (self.folder / planted.TASKS).write_text(json.dumps([task for _, task in shown]), encoding="utf-8")
        tests = (test for _, task in shown for test in (*task["tests"], *task["collecting"]))
        files = sorted({test.partition("::")[0] for test in tests})
        reads, writes = os.pipe()
        of = {**os.environ, "PYTHONPATH": f"{self.folder / 'src'}{os.pathsep}{self.folder / 'tools'}"}
        options = ["-q", "-p", "planted", "-p", "no:randomly", "-p", "no:cacheprovider", "--basetemp=here", *files]
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", *options], cwd=self.folder, env={**of, planted.TOLD: str(writes)},
            stdout=subprocess.DEVNULL, pass_fds=[writes],
        ):  # fmt: skip
            os.close(writes)
            with os.fdopen(reads) as told:
                for fault, _ in shown:
                    line = told.readline()
                    if not line:
                        raise SystemExit(planted.BROKEN)
                    yield fault, json.loads(line)


def main() -> None:
    """Plants and tells."""
    given = _asked().parse_args()
    noted, chance = Noted(ROOT / ".coverage"), random.Random(given.seed)
    files = [
        f for p in given.packages for f in ([SOURCE / p] if p.endswith(".py") else sorted((SOURCE / p).rglob("*.py")))
    ]
    every = [fault for file in files for fault in faults(file)]
    sample = random.Random(given.seed).sample(every, min(given.count, len(every)))
    shown: list[tuple[Fault, Mapping[str, Any]]] = []
    for fault in sample:
        found = noted.witnesses(fault)
        some, built = noted.some(found.tests, given.most, chance), noted.of_files(found.files, given.most, chance)
        file = str(fault.file.relative_to(ROOT))
        task = {"inside": fault.inside, "imported": found.imported, "tests": some, "collecting": built}
        shown.append((fault, {"file": file, "text": fault.text, **task}))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        rooms = [(Room(Path(folder) / str(n)), shown[n :: given.jobs]) for n in range(given.jobs)]
        ends = [one for part in pool.map(lambda room: _told(*room, all_of_them=given.all), rooms) for one in part]
    seen, broken = sum(map(bool, ends)), sum(len(tests) > 1 for tests in ends)
    print(f"{seen} of {len(ends)} faults noticed ({seen / len(ends):.1%}), of {len(every)} that could be planted")
    print(f"{broken} of those noticed left nothing that runs, or that ends")
    sys.exit(seen < given.least * len(ends))


def _told(room: Room, shown: Sequence[tuple[Fault, Mapping[str, Any]]], *, all_of_them: bool) -> list[Sequence[str]]:
    """Says each fault that was not noticed; of all, which test noticed it."""
    found = []
    for (fault, tests), (_, task) in zip(room.noticing(shown), shown, strict=True):
        found.append(tests)
        if all_of_them or not tests:
            count = len(task["tests"]) + len(task["collecting"])
            said = f"{task['file']}:{fault.line} ({count} tests): {fault.was}  ->  {fault.now}"
            print(said, *(f"noticed by {test}" for test in tests[:1]), flush=True)
    return found


def _asked() -> argparse.ArgumentParser:
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    asked.add_argument("packages", nargs="+", help="rooms or modules under src/rooflens")
    asked.add_argument("--count", type=int, default=200)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked.add_argument("--most", type=int, default=600, help="tests that a fault is shown to, half by chance")
    asked.add_argument("--all", action="store_true", help="says those that were noticed too, and by which test")
    asked.add_argument("--least", type=float, default=0.85)
    return asked


if __name__ == "__main__":
    main()
