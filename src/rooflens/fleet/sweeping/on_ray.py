"""Shards as tasks of Ray. They return their bytes and this process lands them: workers need no shared disk.

A task that dies with its node is run again elsewhere: it writes nothing, so that running it twice does no harm.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from rooflens.errors import RooflensError
from rooflens.fleet.cluster import LOCAL, Joining, first_line, joined, ours
from rooflens.fleet.sweeping.folder import Folder
from rooflens.fleet.sweeping.shard import Work, shard

WITHOUT_RAY = "leave --ray out: processes of this computer do the work"
RETRIES = 5  # of one task whose worker or node dies
AHEAD = 2  # tasks a processor that wait or run: what is in memory at once stays bounded
LOOK_S = 1.0  # how often nodes that came or went are counted


def tasks(
    work: Work, folder: Folder, missing: Sequence[int], address: str, workers: int, env: Mapping[str, Any] | None
) -> Generator[int]:
    """Each shard as it lands, priced by the cluster at this address; `local`: a new one of so many processors here.

    env: a runtime environment of Ray's, over ours, which brings this rooflens. A Ray that the caller has joined is used
    and stays. Raises RooflensError for an address where nobody answers, and for a task whose workers die too often.
    """
    brings = {"env_vars": {"OMP_NUM_THREADS": "1"}, **({} if address == LOCAL else ours())}
    with joined(Joining(address, WITHOUT_RAY, brings, env or {}, "--ray-env", workers)) as ray:
        try:
            yield from _landed(ray, work, folder, missing)
        except ray.exceptions.RayError as error:
            raise RooflensError(
                f"Ray gave up: {first_line(str(error))}; what landed is whole, run the same again to go on"
            ) from None


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
