"""Plants small faults in the core, one at a time, and lists those that no fast test notices.

    python -m pytest -m "not slow and not gpu" -p no:randomly --cov=rooflens --cov-context=test --cov-report=
    python tools/mutants.py --count 200 operators roofline prediction

The first line writes which test runs which line; the second plants faults where tests could see them or not (a
comparison, an operator, a number, a minimum for a maximum, ...), each in a copy of src, runs the tests of that line,
and lists the faults that none of them noticed. Exits 1 when fewer than --least of them were noticed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

import coverage

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "rooflens"
FIRST, MOST, LIMIT_S = 25, 600, 240
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any",
         "ceil": "floor"}  # fmt: skip
UNSEEN = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)  # words for people, and what no test of ours decides


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault: where, and the text of the whole file with it."""

    file: Path
    line: int
    was: str
    now: str
    text: str


def faults(file: Path) -> Iterator[Fault]:
    """Every fault that can be planted in this file."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in _expressions(ast.parse(text)):
        for changed in _changes(node):
            was, now = ast.get_source_segment(text, node) or "", f"({ast.unparse(changed)})"
            yield Fault(file, node.lineno, was, now, _put(lines, node, now))


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """All expressions that are computed: not annotations, decorators or the words of an error."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "keywords") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, UNSEEN) or _typing(child):
                continue
            if isinstance(child, ast.expr) and hasattr(child, "lineno"):
                yield child
            yield from _expressions(child)


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
            changed.value = value + 1
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


def tests_of(data: coverage.CoverageData, file: Path, line: int) -> list[str]:
    """The tests that run this line, as pytest names them; of a line that importing runs, those of its file."""
    measured = next((name for name in data.measured_files() if name.endswith(str(file.relative_to(ROOT)))), None)
    by_line = data.contexts_by_lineno(measured) if measured else {}
    own = {name.rsplit("|", 1)[0] for name in by_line.get(line, []) if name}
    imported = "" in by_line.get(line, [])
    every = {name.rsplit("|", 1)[0] for names in by_line.values() for name in names if name} if imported else set()
    return sorted(own or every)


def noticed(fault: Fault, tests: list[str], room: Path, seed: int) -> bool:
    """Whether a test fails, or ends by no end, with the fault in the copy of src that lies in `room`."""
    chosen = random.Random(seed).sample(tests, min(len(tests), MOST))
    target = room / fault.file.relative_to(ROOT)
    whole = target.read_text(encoding="utf-8")
    target.write_text(fault.text, encoding="utf-8")
    try:
        return any(_fails(part, room) for part in (chosen[:FIRST], chosen[FIRST:]) if part)
    finally:
        target.write_text(whole, encoding="utf-8")


def _fails(tests: list[str], room: Path) -> bool:
    names = room / "tests.txt"
    names.write_text("\n".join(tests), encoding="utf-8")
    run = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", f"@{names}"]
    environment = {**os.environ, "PYTHONPATH": str(room / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(run, cwd=room, env=environment, capture_output=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0  # also where the fault already breaks the import


def main() -> None:
    """Plants and tells."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    asked.add_argument("packages", nargs="+", help="rooms or modules under src/rooflens")
    asked.add_argument("--count", type=int, default=200)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked.add_argument("--least", type=float, default=0.85)
    given = asked.parse_args()
    data = coverage.CoverageData(str(ROOT / ".coverage"))
    data.read()
    files = [
        f for p in given.packages for f in ([SOURCE / p] if p.endswith(".py") else sorted((SOURCE / p).rglob("*.py")))
    ]
    every = [fault for file in files for fault in faults(file)]
    sample = random.Random(given.seed).sample(every, min(given.count, len(every)))
    rooms: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.jobs):
            room = _room(Path(folder) / str(number))
            if _fails(["tests/test_units.py"], room):
                raise SystemExit("the tests fail without any fault; mend that first")
            rooms.put(room)

        def one(fault: Fault) -> bool:
            tests, room = tests_of(data, fault.file, fault.line), rooms.get()
            try:
                seen = bool(tests) and noticed(fault, tests, room, given.seed)
            finally:
                rooms.put(room)
            if not seen:
                where = f"{fault.file.relative_to(ROOT)}:{fault.line}"
                print(f"{where} ({len(tests)} tests): {fault.was}  ->  {fault.now}", flush=True)
            return seen

        with ThreadPoolExecutor(given.jobs) as pool:
            found = list(pool.map(one, sample))
    share = sum(found) / len(found)
    print(f"{sum(found)} of {len(found)} faults noticed ({share:.1%}), of {len(every)} that could be planted")
    sys.exit(share < given.least)


def _room(folder: Path) -> Path:
    """A copy of what tests need."""
    skip = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "dist", "site")
    shutil.copytree(ROOT, folder, ignore=skip)
    return folder


if __name__ == "__main__":
    main()
