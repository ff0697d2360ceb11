"""What an answer may not be written over: the file that was asked about, or another part of the same answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from rooflens.errors import RooflensError

F = TypeVar("F", bound=Callable[..., Any])
WRITTEN = {  # parameters that name a file to write
    "out": "--out", "plot": "--plot", "as_csv": "--csv", "save_baseline": "--save-baseline", "recording": "--record",
}  # fmt: skip
RENEWED = {"save_baseline": "baseline"}  # what is written may be a newer edition of what was read
OF_FOLDERS = ("profile.json", "config.json", "sweep.json", "manifest.json")  # read where a folder is named
OF_NODES, HEAD_BYTES = b'"rooflens/profile/', 200  # read there too under any name, and where that stands


def keeping(function: F) -> F:
    """A verb that refuses to write over what it reads, and two of its files under one name."""

    @wraps(function)
    def checked(*about: Any, **given: Any) -> Any:
        _check(given)
        return function(*about, **given)

    return checked  # type: ignore[return-value]  # it takes and gives what the function does


def _check(given: Mapping[str, Any]) -> None:
    """Raises RooflensError naming the option. A folder is not written over: files of their own names go into it."""
    written = {parameter: given[parameter] for parameter in WRITTEN if given.get(parameter) is not None}
    for (one, path), (other, second) in combinations(written.items(), 2):
        if path == second or _same(path, second):
            raise RooflensError(f"{WRITTEN[one]} and {WRITTEN[other]} both name {path}; name two files")
    for one, path in written.items():
        read = {name: value for name, value in given.items() if name not in (*WRITTEN, RENEWED.get(one))}
        if any(_same(path, name) or _is_of(path, name) for name in _named(read)):
            raise RooflensError(
                f"{WRITTEN[one]} {path} is a file that was asked about; name another, or it would be lost"
            )


def _named(read: Mapping[str, Any]) -> Iterator[str]:
    """Everything that may name a file: with others behind a comma, or figures or a format behind it."""
    for value in read.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(one, (str, Path)):
                parts = str(one).split(",")
                yield from (str(one), *parts, *(part.rpartition(":")[0] for part in parts if ":" in part))


def _same(written: Path, read: str | Path) -> bool:
    """Whether both are one file that is there already."""
    try:
        return written.is_file() and written.samefile(read)
    except (OSError, ValueError):
        return False


def _is_of(written: Path, folder: str) -> bool:
    """Whether it is a file that is read where this folder is named."""
    try:
        if not (written.is_file() and Path(folder).is_dir() and written.resolve().parent.samefile(folder)):
            return False
        with written.open("rb") as file:
            return written.name in OF_FOLDERS or OF_NODES in file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return False
