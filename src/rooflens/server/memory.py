"""Files that live in memory: readers take paths, and what a person drops on the page goes to no disk."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from rooflens import artefacts
from rooflens.errors import RooflensError

SHARED = Path("/dev/shm")  # noqa: S108 - the kernel's file system in memory; a folder of it is made for us alone
NAME = re.compile(r"[^A-Za-z0-9._-]+")
OURS = "rooflens-held-"  # of folders that whoever made them holds a lock on as long as he lives
MOST_CONFIGS = 64


@contextmanager
def folder() -> Iterator[Path]:
    """A private folder in memory, gone when it is left. Raises RooflensError on a system that has none.

    Its lock ends with this process however that ends, so that `sweep` knows what nobody holds any more.
    """
    if not (SHARED.is_dir() and os.access(SHARED, os.W_OK)):
        raise RooflensError("this system has no /dev/shm, and files are read in memory alone; use the command line")
    made, lock = _held()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def _held() -> tuple[Path, int]:
    """A new folder and its lock; another one, where somebody swept it away before it was locked."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=OURS, dir=SHARED))
        with suppress(FileNotFoundError):
            lock = _open(made)
            try:
                free = _is_free(lock) and os.fstat(lock).st_nlink
            except OSError:  # no locks here: nobody sweeps either
                free = True
            if free:
                return made, lock
            os.close(lock)


def _open(folder: Path) -> int:
    """A folder itself, opened: no link to one."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _is_free(folder: int) -> bool:
    """Whether nobody held this open folder; we do from now on. Raises OSError where nothing can be locked."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(folder, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sweep() -> None:
    """Takes away what processes of this user left behind that were killed. A folder that somebody holds stays."""
    for left in SHARED.glob(f"{OURS}*"):
        with suppress(OSError):
            there = _open(left)
            try:
                if os.fstat(there).st_uid == os.getuid() and _is_free(there):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(there)


@contextmanager
def as_they_are(given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Given files as copies in memory: those who answer read them at different times, and a file may change meanwhile.

    A lab's folder is its profile. What cannot be copied (there is no such file, no such memory) stays where it is.
    """
    with ExitStack() as kept:
        found = dict(given)
        with suppress(RooflensError, OSError):
            home = kept.enter_context(folder()) if given else None
            for at, (name, path) in enumerate(given.items()):
                found[name] = path if home is None else _copy(Path(path), home / str(at))
        yield found


def _copy(source: Path, home: Path) -> str:
    there = source / "profile.json" if source.is_dir() else source
    if not there.is_file() or there.stat().st_size > artefacts.LARGEST_BYTES:
        return str(source)
    made = home / plain(source.name)
    copy = made / "profile.json" if source.is_dir() else made
    copy.parent.mkdir(parents=True)
    shutil.copyfile(there, copy)
    return str(made)


def plain(name: str, otherwise: str = "file") -> str:
    """A name that is a file's name and nothing else."""
    found = NAME.sub("-", name.replace("\\", "/").rpartition("/")[2]).strip(".-")[-80:] or otherwise
    return f"model{found[6:]}" if found.partition(".")[0] == "config" else found  # a config.json is named by its folder


@lru_cache(MOST_CONFIGS)
def faults_of(config: str, name: str) -> None:
    """Raises RooflensError unless the text is the JSON object of a config that is a model's; asked once a text."""
    from rooflens import models

    found = artefacts.parse_json(config, f"{name}.json")
    if not isinstance(found, dict):
        raise RooflensError(f"{name}.json: expected the JSON object of a config.json")
    models.from_config(found, name, where=f"{name}.json")


@contextmanager
def model(name: str, config: str | None) -> Iterator[str]:
    """How to name this model to the functions that take names: itself, or its config.json in memory.

    Raises RooflensError for a config that is no model's.
    """
    if config is None:
        yield name
        return
    faults_of(config, plain(name))
    with folder() as made:
        path = made / f"{plain(name)}.json"
        path.write_text(config, encoding="utf-8")
        try:
            yield str(path)
        except RooflensError as error:
            raise RooflensError(str(error).replace(f"{made}/", "")) from None
