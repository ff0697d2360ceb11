"""Files that live in memory: readers take paths, and what a person drops on the page goes to no disk."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from rooflens.errors import RooflensError

SHARED = Path("/dev/shm")  # noqa: S108 - the kernel's file system in memory; a folder of it is made for us alone
NAME = re.compile(r"[^A-Za-z0-9._-]+")
MOST_CONFIGS = 64


@contextmanager
def folder() -> Iterator[Path]:
    """A private folder in memory, gone when it is left. Raises RooflensError on a system that has none."""
    if not (SHARED.is_dir() and os.access(SHARED, os.W_OK)):
        raise RooflensError("this system has no /dev/shm, and files are read in memory alone; use the command line")
    made = Path(tempfile.mkdtemp(prefix="rooflens-", dir=SHARED))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def plain(name: str, otherwise: str = "file") -> str:
    """A name that is a file's name and nothing else."""
    found = NAME.sub("-", name.replace("\\", "/").rpartition("/")[2]).strip(".-")[-80:] or otherwise
    return f"model{found[6:]}" if found.partition(".")[0] == "config" else found  # a config.json is named by its folder


@lru_cache(MOST_CONFIGS)
def faults_of(config: str, name: str) -> None:
    """Raises RooflensError unless the text is the JSON object of a config that is a model's; asked once a text."""
    from rooflens import artefacts, models

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
