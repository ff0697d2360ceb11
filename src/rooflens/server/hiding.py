"""What an answer keeps to itself: where files of this machine lie. Names stand in for the paths that were given."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from rooflens import artefacts, catalogue
from rooflens.errors import RooflensError, Unknown

HERE = "here"
Given = Mapping[str, str]
"""Machines that the person who started the page named by a file: what the page calls each -> its path."""


def given(paths: Iterable[str]) -> dict[str, str]:
    """Names for these files: as much of the end of each path as tells it from the others and from the catalogue."""
    found: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        parts = [part for part in Path(path).parts if part not in ("/", ".", "..")] or ["machine"]
        names = ["/".join(parts[-many:]) for many in range(1, len(parts) + 1)]
        free = (name for name in (*names, *(f"{names[0]}-{n}" for n in range(2, 100))) if not _taken(name, found))
        found[next(free)] = path
    return found


def _taken(name: str, found: Given) -> bool:
    try:
        catalogue.accelerator(name)
    except Unknown:
        return name in found or name == HERE or name.startswith(artefacts.MEASURED)
    return True


def kept_run() -> dict[str, str]:
    """`here` as a file: the run that is kept of this machine, where there is one."""
    with suppress(RooflensError):  # no home, no run
        path = artefacts.here()
        return {HERE: str(path)} if path.is_file() else {}
    return {}


def named(answer: bytes, given: Given) -> bytes:
    """An answer in JSON with the names of given files in place of their paths."""
    for name, path in sorted(given.items(), key=lambda item: -len(item[1])):
        if name != path:
            answer = answer.replace(_within(path), _within(name))
    return answer


def _within(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def placeless(sentence: str) -> str:
    """A sentence with the folders of this machine taken out of it; names of files stay."""
    return _places().sub("", sentence)


@cache
def _places() -> re.Pattern[str]:
    """Folders that a sentence may name: home, where it was started, where files lie in memory, rooflens itself."""
    package = Path(__file__).parents[1]
    known = {os.environ.get("HOME", ""), os.environ.get("XDG_DATA_HOME", ""), str(package)}
    with suppress(OSError):  # no folder that can be written
        known.add(tempfile.gettempdir())
    known |= {str(Path.cwd()), "/dev/shm"}  # noqa: S108 - looked for in sentences, not opened
    long = sorted((place.rstrip("/") for place in known if len(place.rstrip("/")) > 1), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(map(re.escape, long))})(?:(?:/[^\s/'\"]+)*/|(?=[\s'\":;,]|$))")
