"""A file of a stranger is read in a process of its own that can be killed.

`python -m rooflens.server.apart` reads one request from standard input and writes to standard output a line with the
verb of the command line that reads such a file, as soon as it knows, and then one answer. Its memory, its time and the
size of what it could write are limited by the system before it looks at anything.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from rooflens.errors import RooflensError
from rooflens.records import decode
from rooflens.server import memory

SECONDS = 5.0  # a file is read by then, or not at all
MEMORY_BYTES = 3 << 30
FILE_BYTES = 256 << 20
MOST_UPLOAD = 32 << 20
TOO_LONG = "it was not read within {seconds:g} s and was stopped; the command line has no such limit"
READ_BY = ": rooflens {verb} FILE"
BROKEN = "it could not be read: the process that read it ended without an answer; try the command line"


async def file(name: str, content: bytes, asked: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
    """What a dropped file says, in so many seconds (None: SECONDS). It lies in memory, in a folder gone after it.

    Raises RooflensError in one sentence for a file that says nothing, or not in time.
    """
    seconds = SECONDS if seconds is None else seconds
    with memory.folder() as made:
        path = made / memory.plain(name)
        path.write_bytes(content)
        try:
            return await _answer({"path": str(path), "asked": asked}, seconds)
        except RooflensError as error:
            raise RooflensError(str(error).replace(f"{made}/", "").replace(str(made), "")) from None


async def _answer(request: dict[str, Any], seconds: float) -> dict[str, Any]:
    command = (sys.executable, "-m", "rooflens.server.apart")
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    verb = ""
    try:
        async with asyncio.timeout(seconds):
            verb = await _asked(child, json.dumps({**request, "seconds": seconds}).encode())
            out = b"" if child.stdout is None else await child.stdout.read()
    except TimeoutError:
        raise RooflensError(TOO_LONG.format(seconds=seconds) + (verb and READ_BY.format(verb=verb))) from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    try:
        found: dict[str, Any] = json.loads(out)
    except ValueError:
        raise RooflensError(BROKEN) from None
    if "error" in found:
        raise RooflensError(found["error"])
    return found


async def _asked(child: asyncio.subprocess.Process, request: bytes) -> str:
    """The verb that reads the file, where the child knows one; it is asked, and works on the answer."""
    if child.stdin is None or child.stdout is None:
        return ""
    with suppress(ConnectionError):  # it ended, and what it said is read
        child.stdin.write(request)
        await child.stdin.drain()
    child.stdin.close()
    return (await child.stdout.readline()).decode().strip()


def _limited(seconds: float) -> None:
    """The system's own limits, where it has them: what passes one of them ends this process."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_FSIZE, FILE_BYTES), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(kind, (most, most))


def _done(request: dict[str, Any]) -> dict[str, Any]:
    from rooflens.server.uploads import Asked, read, verb

    path = Path(request["path"])
    sys.stdout.write(f"{verb(path) or ''}\n")
    sys.stdout.flush()
    return read(path, decode(Asked, request["asked"], "file"))


def main() -> None:
    """One request, one answer: the answer, or a sentence."""
    request = json.loads(sys.stdin.buffer.read())
    _limited(float(request["seconds"]))
    try:
        found = _done(request)
    except RooflensError as error:
        found = {"error": str(error)}
    except (MemoryError, RecursionError):
        found = {"error": "it needs more memory than the page gives a file; try the command line"}
    sys.stdout.write(json.dumps(found, allow_nan=False))


if __name__ == "__main__":
    main()
