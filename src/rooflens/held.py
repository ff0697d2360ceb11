"""Folders that are somebody's as long as he lives: what one who was killed leaves behind, the next takes away."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class Held:
    """A folder of ours, and its lock, which ends with this process however that ends. None: no locks here."""

    path: Path
    lock: int | None

    def drop(self) -> None:
        """Removes the folder with whatever is left in it. Once is enough, and twice does no harm."""
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self.lock = self.lock, None
        if lock is not None:
            with suppress(OSError):
                os.close(lock)


def held(parent: Path, prefix: str) -> Held:
    """A new folder under `parent`; another one, where somebody swept it away before it was locked. Raises OSError."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = _open(made)
        except FileNotFoundError:
            continue
        except (AttributeError, OSError):  # Windows, and file systems that open no folder
            return Held(made, None)
        try:
            free = is_free(lock) and os.fstat(lock).st_nlink
        except (ImportError, OSError):  # nobody sweeps here either
            free = True
        if free:
            return Held(made, lock)
        os.close(lock)


def sweep(parent: Path, prefix: str) -> None:
    """Takes away what processes of this user left behind that were killed. A folder that somebody holds stays."""
    for left in parent.glob(f"{prefix}*"):
        with suppress(AttributeError, ImportError, OSError):
            there = _open(left)
            try:
                if os.fstat(there).st_uid == os.getuid() and is_free(there):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(there)


def _open(folder: Path) -> int:
    """A folder itself, opened: no link to one."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def is_free(handle: int) -> bool:
    """Whether nobody held this open file or folder; we do from now on. Raises OSError where nothing can be locked."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
