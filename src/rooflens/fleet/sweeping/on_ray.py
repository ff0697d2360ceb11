"""Shards as tasks of Ray. They return their bytes and this process lands them: workers need no shared disk.

A task that dies with its node is run again elsewhere: it writes nothing, so that running it twice does no harm.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import rooflens
from rooflens.errors import RooflensError
from rooflens.fleet.measuring.cluster import why_not
from rooflens.fleet.sweeping.folder import Folder
from rooflens.fleet.sweeping.shard import Work, shard

LOCAL = "local"
RETRIES = 5  # of one task whose worker or node dies
AHEAD = 2  # tasks a processor that wait or run: what is in memory at once stays bounded
CONNECT_S = 10.0
LOOK_S = 1.0  # how often nodes that came or went are counted


def tasks(
    work: Work, folder: Folder, missing: Sequence[int], address: str, workers: int, env: Mapping[str, Any] | None
) -> Generator[int]:
    """Each shard as it lands, priced by the cluster at this address; `local`: a new one of so many processors here.

    env: a runtime environment of Ray's, over ours, which brings this rooflens. A Ray that the caller has joined is used
    and stays. Raises RooflensError for an address where nobody answers, and for a task whose workers die too often.
    """
    ray = _ray()
    joined = ray.is_initialized()
    if not joined:
        _join(ray, address, workers, env)
    try:
        yield from _landed(ray, work, folder, missing)
    except ray.exceptions.RayError as error:
        raise RooflensError(
            f"Ray gave up: {_first(error)}; what landed is whole, run the same again to go on"
        ) from None
    finally:
        if not joined:
            ray.shutdown()


def _landed(ray: Any, work: Work, folder: Folder, missing: Sequence[int]) -> Generator[int]:
    price = ray.remote(shard).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")
    shared, left = ray.put(work), list(reversed(missing))
    running: dict[Any, int] = {}
    while left or running:
        ahead = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        while left and len(running) < ahead:
            index = left.pop()
            running[price.remote(shared, index)] = index
        ready, _ = ray.wait(list(running), num_returns=1, timeout=LOOK_S)
        for task in ready:
            index = running.pop(task)
            folder.land(index, _told(ray, task))
            yield index


def _told(ray: Any, task: Any) -> bytes:
    """The bytes of a task. Raises the sentence that it raised."""
    try:
        found: bytes = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, RooflensError):
            raise error.cause from None
        raise
    return found


def _join(ray: Any, address: str, workers: int, env: Mapping[str, Any] | None) -> None:
    import logging

    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    ours: dict[str, Any] = {"env_vars": {"OMP_NUM_THREADS": "1"}}
    try:
        if address == LOCAL:
            mine = {"num_cpus": workers, "include_dashboard": False}
            ray.init(address=LOCAL, runtime_env={**ours, **(env or {})}, **mine, **quiet)
            return
        _reachable(address)
        ours["py_modules"] = [str(Path(rooflens.__file__).parent)]
        ray.init(address=address, runtime_env={**ours, **(env or {})}, **quiet)
    except RooflensError:
        raise
    except Exception as error:  # noqa: BLE001 - Ray raises of every kind, and each is a sentence
        if env and isinstance(error, (TypeError, ValueError)):
            raise RooflensError(f"--ray-env: Ray does not take it: {_first(error)}") from None
        raise _nobody(address, _first(error)) from None


def _reachable(address: str) -> None:
    """Raises RooflensError where nothing listens, or something that is no Ray: Ray would go on trying for minutes."""
    import socket

    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise RooflensError(f"--ray {address}: write auto, HOST:PORT, ray://HOST:PORT, or local for a Ray of its own")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except OSError as error:
        raise _nobody(address, _first(error)) from None
    if said := why_not(address):
        raise _nobody(address, said.splitlines()[0][:200])


def _nobody(address: str, said: str) -> RooflensError:
    return RooflensError(f"--ray {address}: nobody answers there ({said}); start Ray, or leave it out")


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise RooflensError(
            "--ray needs Ray: pip install 'rooflens[fleet]'; without --ray, processes do the work"
        ) from None
    return ray


def _first(error: BaseException) -> str:
    """The first sentence of what Ray says, which may be pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]
