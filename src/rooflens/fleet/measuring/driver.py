"""All nodes asked at once; what comes is written as it comes, and a node that gives nothing ends nobody else's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from rooflens.errors import RooflensError, Unknown
from rooflens.fleet.cluster import Joining, first_line, joined, ours
from rooflens.fleet.landing import Landing
from rooflens.fleet.measuring.places import NO_WORK, Place, places
from rooflens.fleet.measuring.record import Asking, Gathered, Outcome
from rooflens.fleet.measuring.together import Round
from rooflens.roofline.absent import Absent, State

MENDED = ("died", "garbage")  # what a second attempt may mend
WITHOUT_RAY = "let each node run rooflens measure -o FOLDER/$HOSTNAME.json (docs/fleet-measure.md)"


Told = Callable[[Outcome, int, int], None]


def fleet_measure(address: str, landing: Landing, asking: Asking, told: Told = lambda *_: None) -> Gathered:
    """Every node of the cluster at `address` measured, one file a node in the folder of `landing`.

    told: each outcome as it comes, with how many there are and how many there will be.
    Raises RooflensError when there is no such cluster, no node in it that works, or another one fills the same folder.
    """
    with landing.alone(), connected(address, asking) as ray:
        try:
            return _gathered(ray, landing, asking, told)
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise RooflensError(
                f"the Ray cluster at {address} went away: {first_line(str(error))}; what has landed stays, and the "
                "same line goes on from it"
            ) from None


@contextmanager
def connected(address: str, asking: Asking) -> Iterator[Any]:
    """Ray, joined to the cluster, which brings our code to the nodes, and packages where some are named.

    Meanwhile nothing reaches standard output: Ray prints there what nodes log as they die, between our own lines.
    """
    brings, packages = ours() if asking.ships else {}, {"pip": list(asking.pip)} if asking.pip else {}
    how = Joining(address, WITHOUT_RAY, brings, packages, "--pip")
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), joined(how) as ray:
        yield ray


def _gathered(ray: Any, landing: Landing, asking: Asking, told: Told) -> Gathered:
    began_s, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    everybody = places(ray)
    wanted, left_out = _wanted(everybody, asking)
    driver = Driver(ray, landing, asking, started, len(wanted), told)
    driver.run(wanted)
    if not asking.nodes:
        driver.remember({place.name for place in everybody})
    ordered = tuple(driver.found[node] for node in sorted(driver.found))
    duration_s = time.monotonic() - began_s
    return Gathered(str(landing.folder), started, duration_s, ordered, driver.began_within_s, left_out)


def _wanted(everybody: Sequence[Place], asking: Asking) -> tuple[list[Place], dict[str, str]]:
    """The nodes to measure, and those that take no work."""
    known = [place.name for place in everybody]
    for node in asking.nodes:
        if node not in known:
            raise Unknown("node of this cluster", node, known)
    named = [place for place in everybody if not asking.nodes or place.name in asking.nodes]
    working = [place for place in named if place.works]
    if not working:
        raise RooflensError(
            "no node of this cluster offers processors or accelerators to Ray's tasks: none is measured"
        )
    return working, {place.name: NO_WORK for place in named if not place.works}


class Driver:
    """One run over one cluster: rounds of asking, and what was found."""

    def __init__(self, ray: Any, landing: Landing, asking: Asking, started: str, count: int, told: Told) -> None:
        self._ray, self._landing, self._asking, self._told = ray, landing, asking, told
        self._started, self._count = started, count
        self.found: dict[str, Outcome] = {}
        self.began_within_s: float | None = None

    def run(self, wanted: Sequence[Place]) -> None:
        """All at once but those that landed before; then again what an attempt may mend and is still there."""
        for place in wanted:
            if self._landing.landed(place.name):
                self._keep(Outcome(place.name, "landed before", file=self._landing.file(place.name).name))
        left = [place for place in wanted if place.name not in self.found]
        for attempt in range(1, self._asking.attempts + 1):
            left = self._round(left, attempt) if left else []

    def remember(self, known: set[str]) -> None:
        """Nodes of an earlier run that are not in the cluster any more."""
        for gone in self._landing.lost(known):
            self._keep(Outcome(gone.node, gone.state, gone.why, gone.attempts))

    def _round(self, places_: Sequence[Place], attempt: int) -> list[Place]:
        """Asks these together; returns those to be asked again."""
        for place in places_:
            self._landing.wait(place.name, self._started, attempt)
        again = []
        asked = Round(self._ray, self._landing, self._asking, attempt, places_)
        for outcome in asked.outcomes():
            if outcome.state in MENDED and attempt < self._asking.attempts:
                again.append(outcome)
            else:
                self._settle(outcome)
        if attempt == 1:
            self.began_within_s = asked.began_within_s
        alive = {place.name: place for place in places(self._ray)} if again else {}
        for outcome in again:
            if outcome.node not in alive:
                self._settle(outcome)
        return [alive[outcome.node] for outcome in again if outcome.node in alive]

    def _settle(self, outcome: Outcome) -> None:
        if not outcome.answered:
            state, why = cast("State", outcome.state), outcome.why or "no reason is known"
            self._landing.miss(Absent(outcome.node, state, why, outcome.attempts))
        self._keep(outcome)

    def _keep(self, outcome: Outcome) -> None:
        self.found[outcome.node] = outcome
        self._told(outcome, len(self.found), max(self._count, len(self.found)))
