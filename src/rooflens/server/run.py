"""Listening: uvicorn on the loopback address, unless another was asked for."""

from __future__ import annotations

import ipaddress
import signal
import socket
from functools import partial
from typing import NoReturn

from rooflens.errors import RooflensError
from rooflens.records import replace
from rooflens.server import memory
from rooflens.server.hiding import Given
from rooflens.server.state import State

BACKLOG = 512
QUICK_S, LEVERS_S = 20.0, 60.0  # the most that one question may take


def ready() -> None:
    """Raises RooflensError where what serves is not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise RooflensError(
            f"serving needs {' and '.join(missing)}: pip install 'rooflens[serve]'; rooflens page -o FILE needs none"
        )


def address(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises RooflensError where that cannot be."""
    if not host.strip():
        raise RooflensError(
            "--host names no address; leave it out for this machine alone, or say 0.0.0.0 for every one"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # said, so that asyncio sends small parts at once
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(BACKLOG)  # from now on who comes early waits
    except (OSError, OverflowError) as error:
        made.close()
        why = getattr(error, "strerror", None) or str(error)
        raise RooflensError(
            f"cannot listen on {host} port {port}: {why.lower()}; take another --port, or 0 for any"
        ) from None
    return made


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(first: State, given: Given, made: socket.socket, names: frozenset[str]) -> None:
    """Answers until it is interrupted. names: those that it may be called by, beside addresses in numbers."""
    import logging

    import uvicorn

    from rooflens.server.app import app
    from rooflens.server.guard import LOOPBACK
    from rooflens.server.wire import Connection
    from rooflens.server.workers import NICE, Processes, processes

    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of children that ended before they were killed
    many, few = processes()
    signal.signal(signal.SIGTERM, _ended)  # uvicorn sends it again when it is done, and copies would be left behind
    who = partial(Processes, many, QUICK_S), partial(Processes, few, LEVERS_S, nice=NICE)
    memory.sweep()
    with memory.as_they_are(given) as copies:
        page = app(moved(first, given, copies), copies, LOOPBACK | names, *who)
        config = uvicorn.Config(
            page, backlog=BACKLOG, log_level="error", access_log=False, server_header=False, http=Connection, ws="none"
        )
        uvicorn.Server(config).run(sockets=[made])


def _ended(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def moved(first: State, given: Given, copies: Given) -> State:
    """The state with its machines read from the copies of their files."""
    there = {path: copies[name] for name, path in given.items()}
    named = (name.partition(",") for name in first.machines)
    return replace(first, machines=tuple(there.get(path, path) + comma + own for path, comma, own in named))
