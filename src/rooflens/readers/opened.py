"""One way to open a model file: a plain file that is really there, and its size."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rooflens.artefacts import reason
from rooflens.errors import RooflensError


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The file, open at its start, and its bytes. Raises RooflensError unless it is a plain file that can be read."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise RooflensError(f"{path} is not a plain file")
        with path.open("rb") as file:
            yield file, found.st_size
    except OSError as error:
        raise RooflensError(f"cannot read {path}: {reason(error)}") from None
