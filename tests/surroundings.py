"""A command line of every verb that is quick, what may surround it, and whether a file on disk is whole."""

from __future__ import annotations

import csv
import json
import os
import resource
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, NamedTuple
from xml.etree import ElementTree as ET

import pytest

from rooflens.cli import main
from tests.commands import commands, example

# in place of the example, where that listens, measures for real or takes long
QUICK = {
    "advise": "advise llama-3.1-8b --on l4",
    "export": "export --config rooflens.yaml --check",
    "fleet measure": "fleet measure --ray 127.0.0.1:9 -o nodes",
    "fleet simulate": "fleet simulate --nodes 2 --devices 2 -o nodes",
    "kernels": "kernels trace.json.gz --on h100-sxm5-80gb",
    "lab": "lab --device fake -o my-lab",
    "measure": "measure --device fake -o profile.json",
    "plan": "plan llama-3.1-8b --on l4 --ttft 1s --tpot 50ms --users 2",
    "predict": "predict llama-3.1-8b --on l4 --batch 1,2 --csv curve.csv",
    "serve": "serve llama-3.1-8b --on l4 --host 192.0.2.1",  # an address that no computer has, so it never listens
    "sweep": "sweep grid.yaml -o points --workers 1",
    "trend": "trend --kind asic --plot wall.svg",
    "watch": "watch engine.jsonl --once",
}
REFUSED = {"serve", "fleet measure"}  # by their quick line: no such address, no such cluster
LOCKS = {".lock", ".measuring", "rooflens-measure-fake.lock"}


def quick(name: str) -> list[str]:
    """A command line of this verb that takes little time, and writes where the verb can."""
    line = shlex.split(QUICK.get(name, example(commands()[name])))
    writes = any("--out" in param.opts for param in commands()[name].params)
    return line if "-o" in line or not writes else [*line, "-o", "answer.json"]


class Said(NamedTuple):
    """What one command line left behind on its streams."""

    code: int
    err: str


NO_PYC = {"PYTHONDONTWRITEBYTECODE": "1"}  # Python cuts off what it compiled where files may not grow, and keeps it


@contextmanager
def largest_file(nbytes: int) -> Iterator[None]:
    """No file of this process grows beyond this, as on a disk that is full."""
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # see NO_PYC
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
        sys.dont_write_bytecode = kept


def unread() -> IO[str]:
    """A pipe whose reader went away, as `| head -1` does."""
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "w", encoding="utf-8")


def ran(line: list[str], out: IO[str] | None = None, encoding: str = "utf-8") -> Said:
    """The program in this process, on streams of this encoding."""
    err = TextIOWrapper(BytesIO(), encoding=encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["rooflens", *line])
        patch.setattr(sys, "stdout", out or TextIOWrapper(BytesIO(), encoding=encoding))
        patch.setattr(sys, "stderr", err)
        patch.setattr(tempfile, "tempdir", None)
        with pytest.raises(SystemExit) as ended:
            main(line)
    err.flush()
    said = err.buffer.getvalue().decode()  # click writes UTF-8 where a stream says ASCII
    return Said(int(ended.value.code or 0), said)


def files(folder: Path) -> set[Path]:
    """Every file below, but locks, which are always empty or a line about who holds them."""
    return {path for path in folder.rglob("*") if path.is_file() and path.name not in LOCKS}


def whole(path: Path) -> bool:
    """Whether a file is what its name says, to its end. Raises for one that is not."""
    content = path.read_bytes()
    ends = {".png": b"IEND\xaeB`\x82", ".html": b"</html>", ".md": b"\n", ".parquet": b"PAR1"}
    if path.suffix in ends:
        return content.rstrip(b"\n" if path.suffix == ".html" else b"").endswith(ends[path.suffix])
    if path.suffix == ".svg":
        return ET.fromstring(content).tag.endswith("svg")
    if path.suffix == ".csv":
        rows = list(csv.reader(content.decode().splitlines()))
        return content.endswith(b"\n") and len({len(row) for row in rows}) == 1
    assert path.suffix == ".json", path
    return isinstance(json.loads(content), dict)


def broken(folder: Path, before: set[Path] = frozenset()) -> list[Path]:
    """Files that came meanwhile and are not whole, or are left over from writing."""
    return sorted(path for path in files(folder) - before if path.name.startswith(".") or not whole(path))
