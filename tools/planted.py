"""Inside pytest: shows planted faults to tests that were collected once, each in a fork, and tells which one fails.

A fault inside a function is put into the functions that were imported; one of what importing runs, and one that nobody
noticed of what importing calls, is shown to a pytest of its own, which builds anew what files of tests build.
`tools/mutants.py` starts this as a plugin of pytest.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from noting import forget

FIRST, LIMIT_S = 25, 180
TOLD, TASKS = "MUTANTS_TOLD", "tasks.json"
PASSED = "passed"
BROKEN = "some tests cannot be collected, so none is shown a fault: see pytest --collect-only"


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """In place of running all tests: those that each task names, with its fault; none where one is not collected."""
    if session.testsfailed:
        raise session.Interrupted(BROKEN)
    shown = Shown(session)
    with os.fdopen(int(os.environ[TOLD]), "w", buffering=1) as told:
        for task in json.loads(Path(TASKS).read_text(encoding="utf-8")):
            told.write(json.dumps(shown.noticing(task)) + "\n")
    return True


class Shown:
    """The tests by name, and the functions of src as they were imported."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        gc.unfreeze()  # what was frozen is not among the objects
        self.functions = [f for f in gc.get_objects() if isinstance(f, FunctionType)]
        gc.freeze()

    def noticing(self, task: Mapping[str, Any]) -> Sequence[str]:
        """The test that fails with the fault and passes without it; several where nothing ran, or ended."""
        tests, collecting = ([test for test in task[of] if test in self.items] for of in ("tests", "collecting"))
        ways = ["here"] * task["inside"] + ["anew"] * (not task["inside"] or task["imported"])
        parts = [(way, part) for way in ways for part in (tests[:FIRST], tests[FIRST:]) if part]
        parts += [("anew", collecting)] * bool(collecting)
        return next((failed for way, part in parts if (failed := self._noticing(task, way, part))), ())

    def _noticing(self, task: Mapping[str, Any], way: str, tests: Sequence[str]) -> Sequence[str]:
        while tests:
            with _written(Path(task["file"]), task["text"]) as whole:
                swaps = self._swaps(task["file"], whole, task["text"]) if way == "here" else None
                failed = _anew(tests) if swaps is None else self._here(tests, swaps)
            anyway = failed and self._here(failed, ())
            if not anyway:
                return failed
            print(f"fails without any fault: {', '.join(anyway)}", file=sys.stderr)
            tests = [test for test in tests if test not in anyway]
        return ()

    def _swaps(self, file: str, whole: str, text: str) -> Sequence[tuple[FunctionType, CodeType]] | None:
        """The functions of a file with their code as the fault has it; None where the two do not match."""
        path = str(Path(file).resolve())
        was, now = (list(_codes(compile(source, path, "exec"))) for source in (whole, text))
        places = [(code.co_qualname, code.co_firstlineno) for code in was]
        if [code.co_qualname for code in was] != [code.co_qualname for code in now] or len(set(places)) < len(places):
            return None  # two lambdas of a line have one name
        by_place = dict(zip(places, now, strict=True))
        own = [f for f in self.functions if f.__code__.co_filename == path]
        if not own and any(getattr(module, "__file__", None) == path for module in sys.modules.values()):
            return None
        found = [(f, by_place.get((f.__code__.co_qualname, f.__code__.co_firstlineno))) for f in own]
        return [(f, code) for f, code in found if code] if all(code for _, code in found) else None

    def _here(self, tests: Sequence[str], swaps: Sequence[tuple[FunctionType, CodeType]]) -> Sequence[str]:
        """The first that fails, in a fork; all of them where it ends early or not at all."""
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            os.setsid()
            with suppress(BaseException):
                for function, code in swaps:
                    function.__code__ = code
                forget()  # what was built without the fault
                os.write(writes, (self._first(tests) or PASSED).encode())
            os._exit(0)
        os.close(writes)
        said = os.read(reads, 1 << 16).decode() if select.select([reads], [], [], LIMIT_S)[0] else ""
        os.close(reads)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # and what its tests started
        os.waitpid(child, 0)
        return () if said == PASSED else [said] if said else tests

    def _first(self, tests: Sequence[str]) -> str | None:
        """The first of these tests that fails."""
        items = [self.items[test] for test in tests]
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.session.testsfailed:
                with suppress(KeyError):  # its own is over; that of its file and session is not
                    item.config.hook.pytest_runtest_teardown(item=item, nextitem=None)
                return item.nodeid
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all functions within it, in their order; comprehensions are parts of theirs."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not constant.co_name.endswith(("comp>", "genexpr>")):
            yield from _codes(constant)


@contextmanager
def _written(file: Path, text: str) -> Iterator[str]:
    """The file of src with the fault, for what reads it anew; what was compiled of it goes."""
    whole = file.read_text(encoding="utf-8")

    def write(text: str) -> None:
        for old in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            old.unlink()
        file.write_text(text, encoding="utf-8")

    write(text)
    try:
        yield whole
    finally:
        write(whole)


def _anew(tests: Sequence[str]) -> Sequence[str]:
    """The first that fails in a pytest of its own; all of them where it breaks before any does, or does not end."""
    Path("tests.txt").write_text("\n".join(tests), encoding="utf-8")
    options = ["-x", "-q", "--tb=no", "-p", "no:randomly", "--basetemp=anew", "@tests.txt"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return tests
    if not done.returncode:
        return ()
    said = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return [test for test in tests if any(one == test or one.startswith(f"{test} - ") for one in said)] or tests
