"""Follows a page of docs/adding/ to the letter, in a copy of the package, and runs its commands with that copy.

    python tools/applied.py docs/adding/*.md            compares what commands print with what the pages quote
    python tools/applied.py --write docs/adding/*.md    writes it anew

A step is a sentence that ends in a colon, and the block under it:

    New file `PATH`:                                a file that is not there yet
    Append to `PATH`:                               at the end of a file
    In `PATH`, behind the line `TEXT`:              after the only line that begins so
    In `PATH`, instead of the line `TEXT`:          in its place

Paths under `src/rooflens` are of the package, any other is a file of the folder that commands run in. A console block
holds commands (`$ rooflens ...`), each with what it prints.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/rooflens/"
WIDTH = 150
BLOCK = re.compile(r"(?P<said>[^\n]*)\n+```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"(New file|Append to) `([^`]+)`:$|(?:^|\b)In `([^`]+)`, (behind|instead of) the line `([^`]+)`:$")


class Followed(NamedTuple):
    """A page after it was followed: its text with what the commands print now; how many steps and commands it had."""

    text: str
    steps: int
    commands: int


def follow(page: Path, room: Path) -> Followed:
    """Follows `page` in `room`, an empty folder. Raises LookupError for a step that cannot be done as it is written."""
    text = page.read_text(encoding="utf-8")
    compiled = shutil.ignore_patterns("__pycache__")  # its files come and go while others work
    shutil.copytree(ROOT / "src" / "rooflens", room / "src" / "rooflens", ignore=compiled)
    (room / "here").mkdir()
    steps = commands = 0
    pieces, end = [], 0
    for block in BLOCK.finditer(text):
        pieces.append(text[end : block.start("text")])
        end = block.end("text")
        body = block["text"]
        step = STEP.search(block["said"])
        if step:
            _write(room, step, body)
            steps += 1
        elif block["kind"] == "console":
            ran = list(_ran(room, body))
            commands += len(ran)
            body = "".join(ran)
        pieces.append(body)
    return Followed("".join([*pieces, text[end:]]), steps, commands)


def _write(room: Path, step: re.Match[str], body: str) -> None:
    how, name = step[1] or step[4], step[2] or step[3]
    path = room / name if name.startswith(PACKAGE) else room / "here" / name
    if how == "New file":
        if path.exists():
            raise LookupError(f"{name} is there already")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if how == "Append to":
        path.write_text("".join([*lines, body]), encoding="utf-8")
        return
    places = [i for i, line in enumerate(lines) if line.strip().startswith(step[5])]
    if len(places) != 1:
        raise LookupError(f"{len(places)} lines of {name} begin with {step[5]!r}")
    at = places[0]
    lines[at : at + 1] = [lines[at], body] if how == "behind" else [body]
    path.write_text("".join(lines), encoding="utf-8")


def _ran(room: Path, body: str) -> Iterator[str]:
    for line in (line for line in body.splitlines() if line.startswith("$ ")):
        program, *more = shlex.split(line[2:])
        if program != "rooflens":
            raise LookupError(f"{program} is not run here")
        paths = {"PYTHONPATH": str(room / "src")}
        done = subprocess.run(
            [sys.executable, "-m", "rooflens", *more],
            cwd=room / "here", env={**os.environ, **paths}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        out = (done.stdout or done.stderr).rstrip().splitlines()
        yield "\n".join([line, *(one[:WIDTH].rstrip() for one in out)]) + "\n"


def main(arguments: list[str]) -> int:
    """Exit 1 when a page quotes what its commands no longer print."""
    write, wrong = "--write" in arguments, 0
    for page in (Path(one) for one in arguments if one != "--write"):
        before = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as room:
            after = follow(page, Path(room)).text
        if write:
            page.write_text(after, encoding="utf-8")
        elif after != before:
            wrong += 1
            changes = difflib.unified_diff(before.splitlines(), after.splitlines(), str(page), lineterm="")
            print(*changes, sep="\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
