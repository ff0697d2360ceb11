"""A sweep from its start, or from where it was left, to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rooflens import __version__
from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.folder import Folder, begun
from rooflens.fleet.sweeping.local import here, processes
from rooflens.fleet.sweeping.parquet import account_of, arrow
from rooflens.fleet.sweeping.shard import Work, shard
from rooflens.records import encode, record
from rooflens.sweep.record import Account, Identity, Manifest
from rooflens.sweep.shards import points_of, shards

Told = Callable[[int, int, float], None]
"""Points done in all, points of the grid, seconds since this run began."""
Noted = Callable[[str], None]
"""A sentence of what a sweep on Ray waits for, or tries again."""
SAMPLES = 3  # shards that a dry run prices


@record
class How:
    """Who prices: `workers` processes, or the Ray at this address. env: a runtime environment for Ray.

    shard_limit_s: how long one of Ray's workers may take for a shard; none: as the slowest that landed says.
    """

    workers: int = 1
    ray: str | None = None
    env: Mapping[str, Any] | None = None
    shard_limit_s: float | None = None


@record
class Forecast:
    """What a sweep would be, from pricing a few of its shards here and now."""

    points: int
    shards: int
    sampled: Account
    parquet_bytes: float
    processor_s: float
    workers: int

    @property
    def wall_s(self) -> float:
        """Were the work shared evenly."""
        return self.processor_s / self.workers


def sweep(work: Work, path: Path, digests: Mapping[str, str], how: How, told: Told, noted: Noted) -> Manifest:
    """Prices what has not landed yet, and says what became of every point.

    Raises RooflensError where it is stopped or cannot write; what landed stays, and the manifest says how far it came.
    """
    arrow()
    identity = identity_of(work, digests)
    with begun(path, identity) as folder:
        missing = folder.missing()
        done, began = identity.points - sum(points_of(work.axes, index) for index in missing), time.monotonic()
        told(done, identity.points, 0.0)
        try:
            with closing(
                _shards(work, folder, missing, how, noted)
            ) as landing:  # workers end before the shards are counted
                for index in landing:
                    done += points_of(work.axes, index)
                    told(done, identity.points, time.monotonic() - began)
        except KeyboardInterrupt:
            folder.manifest(work.axes)
            raise RooflensError(_stopped(folder)) from None
        found = folder.manifest(work.axes)
    if not found.account.whole or found.account.points != found.points:
        raise RooflensError(f"{path}: not every point is accounted for, which is a fault of rooflens; please report it")
    return found


def forecast(work: Work, workers: int) -> Forecast:
    """Points, shards, bytes and seconds, the last two from a few shards spread over the grid."""
    count = shards(work.axes)
    tried = sorted({round(i * (count - 1) / (SAMPLES - 1)) for i in range(SAMPLES)})
    began = time.process_time()
    made = [shard(work, index) for index in tried]
    spent = time.process_time() - began
    sampled = sum((account_of(one) for one in made), Account(0, 0))
    times = work.axes.points / sampled.points
    return Forecast(
        points=work.axes.points,
        shards=count,
        sampled=sampled,
        parquet_bytes=sum(len(one) for one in made) * times,
        processor_s=spent * times,
        workers=workers,
    )


def identity_of(work: Work, digests: Mapping[str, str]) -> Identity:
    """What a resumption must find again."""
    return Identity(__version__, work.axes.points, shards(work.axes), encode(work.axes), dict(digests))


def _shards(work: Work, folder: Folder, missing: Sequence[int], how: How, noted: Noted) -> Generator[int]:
    if how.ray is not None and missing:
        from rooflens.fleet.sweeping.crew import Patience
        from rooflens.fleet.sweeping.on_ray import Asking, tasks

        asking = Asking(how.ray, how.workers, how.env, Patience(how.shard_limit_s))
        return tasks(work, folder, missing, asking, noted)
    return processes(work, folder, missing, how.workers) if how.workers > 1 else here(work, folder, missing)


def _stopped(folder: Folder) -> str:
    landed, of = len(folder.parts()), folder.identity.shards
    return f"stopped: {landed} of {of} shards are in {folder.path}, each whole; run the same again to go on from there"
