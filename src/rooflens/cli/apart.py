"""What an answer may not be written over: the file that was asked about, or another part of the same answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from rooflens.errors import RooflensError

F = TypeVar("F", bound=Callable[..., Any])
WRITTEN = {"out": "--out", "plot": "--plot", "as_csv": "--csv"}  # parameters that name a file to write


def apart(function: F) -> F:
    """A verb that refuses to write over what it reads, and two of its files under one name."""

    @wraps(function)
    def checked(*about: Any, **given: Any) -> Any:
        _check(given)
        return function(*about, **given)

    return checked  # type: ignore[return-value]  # it takes and gives what the function does


def _check(given: Mapping[str, Any]) -> None:
    """Raises RooflensError naming the option. A folder is not written over: files of their own names go into it."""
    written = [(flag, given[parameter]) for parameter, flag in WRITTEN.items() if given.get(parameter) is not None]
    for (flag, path), (other, second) in combinations(written, 2):
        if path == second or _same(path, second):
            raise RooflensError(f"{flag} and {other} both name {path}; name two files")
    for flag, path in written:
        if any(_same(path, read) for read in _read(given)):
            raise RooflensError(f"{flag} {path} is a file that was asked about; name another, or it would be lost")


def _read(given: Mapping[str, Any]) -> Iterator[str]:
    """Everything that may name a file to read: of machines with commas or overrides behind them, each part."""
    for parameter, value in given.items():
        if parameter not in WRITTEN and parameter != "save_baseline":
            for one in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(one, (str, Path)):
                    yield from (str(one), *str(one).split(","))


def _same(written: Path, read: str | Path) -> bool:
    """Whether both are one file that is there already."""
    try:
        return written.is_file() and written.samefile(read)
    except (OSError, ValueError):
        return False
