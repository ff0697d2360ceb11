"""One measurement at a time on a machine: its process holds a lock, and the system takes it back when that ends.

The lock lies in a folder of the machine itself, never beside the results, which may be on a file system that many
machines share. Nobody needs to be root for it, and whoever holds it can be asked who it is. Containers that do not
share /tmp do not see each other; a folder that they do share is named with ROOFLENS_LOCKS.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from rooflens.errors import RooflensError
from rooflens.held import is_free
from rooflens.records import record

FOLDER = "ROOFLENS_LOCKS"
COMMON = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - the same for all users and jobs, which TMPDIR is not
AGAIN_S = 0.1
LONGEST = 120  # characters of a command line
MOST_BYTES = 4096
EVERYBODY = 0o666  # another user's measurement must be able to take the lock after ours


@record
class Holder:
    """Who measures now, as it wrote into the lock: absent where it could not, or has not yet."""

    pid: int | None = None
    command: str = ""
    since: str = ""

    def __str__(self) -> str:
        who = "another process" if self.pid is None else f"process {self.pid}"
        what = ", ".join(filter(None, [self.command, self.since and f"since {self.since}"]))
        return f"{who} ({what})" if what else who


@contextmanager
def alone(
    wait_s: float, waiting: Callable[[Holder], None] = lambda _: None, machine: str = ""
) -> Iterator[Holder | None]:
    """Holds this machine while it is measured; yields who had to be waited for, None when nobody measured.

    waiting: told once who is waited for. machine: the name of a made-up one, which is no other's.
    Raises RooflensError when somebody still measures after `wait_s`. Where no folder takes a lock, or on a system
    without such locks, nobody is kept out.
    """
    handle, before = _taken(wait_s, waiting, f"rooflens-measure{machine and '-' + _plain(machine)}.lock")
    try:
        _sign(handle)
        yield before
    finally:
        if handle is not None:
            with suppress(OSError):
                os.ftruncate(handle, 0)
            os.close(handle)


def _taken(wait_s: float, waiting: Callable[[Holder], None], name: str) -> tuple[int | None, Holder | None]:
    """The open file whose lock is ours, and who held it before."""
    end, before = time.monotonic() + wait_s, None
    if find_spec("fcntl") is None:  # Windows
        return None, None
    while True:
        path, handle = _opened(name)
        if path is None or handle is None or _locked(handle, path):
            return handle, before
        holder = _holder(handle)
        os.close(handle)
        if time.monotonic() >= end:
            raise RooflensError(
                f"{holder} is measuring this machine, and two at once would spoil both; wait for its end "
                "(--wait-s SECONDS), or stop it"
            )
        if before is None and holder.pid is None:  # who has just taken it may not have signed yet
            time.sleep(AGAIN_S)
            holder = _holder_of(path)
        if before is None:
            waiting(holder)
        before = holder
        time.sleep(AGAIN_S)


def _folders() -> list[Path]:
    own = os.environ.get(FOLDER)
    if own:
        return [Path(own)]
    with suppress(OSError):  # no folder at all that can be written
        return [Path(common) for common in (*COMMON, tempfile.gettempdir())]
    return [Path(common) for common in COMMON]


def _opened(name: str) -> tuple[Path | None, int | None]:
    """The file of the lock in the first folder that can hold it. Raises RooflensError where a named one cannot."""
    for folder in _folders():
        path = folder / name
        for flags in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY):
            with suppress(OSError):
                handle = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, EVERYBODY)
                if flags & os.O_CREAT:
                    os.fchmod(handle, EVERYBODY)
                return path, handle
    if own := os.environ.get(FOLDER):
        raise RooflensError(f"{FOLDER}={own}: no lock can be kept there; name a folder that can be written, or none")
    return None, None


def _locked(handle: int, path: Path) -> bool:
    """Whether the lock is ours now, of the file that others find by that name too."""
    try:
        if not is_free(handle):
            return False
    except OSError:  # a file system without locks
        return True
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _sign(handle: int | None) -> None:
    """Says who holds the lock, for whoever waits; a file that only others may write stays without a name."""
    if handle is None:
        return
    command = shlex.join(["rooflens" if "rooflens" in sys.argv[0] else sys.argv[0], *sys.argv[1:]])[:LONGEST]
    said = {"pid": os.getpid(), "command": command, "since": datetime.now(UTC).isoformat(timespec="seconds")}
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(said).encode(errors="replace"), 0)


def _holder_of(path: Path) -> Holder:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return _holder(handle)
        finally:
            os.close(handle)
    return Holder()


def _holder(handle: int) -> Holder:
    with suppress(OSError, ValueError, LookupError, TypeError):
        said = json.loads(os.pread(handle, MOST_BYTES, 0))
        return Holder(int(said["pid"]), str(said["command"])[:LONGEST], str(said["since"])[:LONGEST])
    return Holder()


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
