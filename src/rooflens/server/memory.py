"""Files that live in memory: readers take paths, and what a person drops on the page goes to no disk."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from rooflens import artefacts, held
from rooflens.errors import RooflensError

SHARED = Path("/dev/shm")  # noqa: S108 - the kernel's file system in memory; a folder of it is made for us alone
NAME = re.compile(r"[^A-Za-z0-9._-]+")
OURS = "rooflens-held-"
MOST_CONFIGS = 64


@contextmanager
def folder() -> Iterator[Path]:
    """A private folder in memory, gone when it is left. Raises RooflensError on a system that has none.

    Held as long as this process lives, so that `sweep` knows what nobody holds any more.
    """
    if not (SHARED.is_dir() and os.access(SHARED, os.W_OK)):
        raise RooflensError("this system has no /dev/shm, and files are read in memory alone; use the command line")
    made = held.held(SHARED, OURS)
    try:
        yield made.path
    finally:
        made.drop()


def sweep() -> None:
    """Takes away what processes of this user left behind that were killed."""
    held.sweep(SHARED, OURS)


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
