"""One round: nodes asked together, held until all are there, then heard one by one as they answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rooflens.errors import Newer, RooflensError
from rooflens.fleet.cluster import on_node
from rooflens.fleet.landing import Landing, garbage
from rooflens.fleet.measuring import fakes, worker
from rooflens.fleet.measuring.deaths import death
from rooflens.fleet.measuring.places import Place
from rooflens.fleet.measuring.record import Asking, Outcome, State
from rooflens.records import record, replace

POLL_S = 0.5
FETCH_S = 60.0
GRACE_S, GRACE_SHARE = 10.0, 0.05  # beyond a limit that the node itself keeps
MOST_WAITING = 100  # calls to the barrier beside those of the nodes
COMPARES = ("auto", "cuda", fakes.FAKE)


@record
class Asked:
    """A node that was asked. since_s: when, on our clock."""

    place: Place
    since_s: float


class Round:
    """Nodes that measure at the same time. began_within_s: first to last start, once it is over."""

    def __init__(self, ray: Any, landing: Landing, asking: Asking, attempt: int, places: Sequence[Place]) -> None:
        self._ray, self._landing, self._asking, self._attempt = ray, landing, asking, attempt
        ray.cloudpickle.register_pickle_by_value(worker)  # so a node needs no rooflens of its own to take it
        self._barrier = self._made_barrier([place.name for place in places])
        self._running = {self._task(place): Asked(place, time.monotonic()) for place in places}
        self.began_within_s: float | None = None

    def outcomes(self) -> Iterator[Outcome]:
        """Every node's, as they come. What is a profile has landed by then."""
        while self._running:
            ready, _ = self._ray.wait(list(self._running), num_returns=len(self._running), timeout=POLL_S)
            for ref in ready:
                yield self._heard(ref)
            ages_s = self._ages_s()
            for ref, one in list(self._running.items()):
                if why := self._late(one, ages_s):
                    self._ray.cancel(ref, force=True)
                    yield self._ended(ref, Outcome(one.place.name, "hung", why, self._attempt))
        with suppress(self._ray.exceptions.RayError):
            self.began_within_s = self._ray.get(self._barrier.spread_s.remote(), timeout=FETCH_S)
        self._ray.kill(self._barrier)

    def _made_barrier(self, nodes: list[str]) -> Any:
        """On the driver's own node, whose death ends everything anyway."""
        actor = self._ray.remote(worker.Barrier).options(
            num_cpus=0,
            max_concurrency=len(nodes) + MOST_WAITING,
            scheduling_strategy=on_node(self._ray.get_runtime_context().get_node_id()),
        )
        return actor.remote(nodes, self._asking.start_s)

    def _task(self, place: Place) -> Any:
        """One task that takes the whole node, there and nowhere else. Ray itself does not repeat it."""
        job = {
            "node": place.name,
            "arguments": arguments(place, self._asking),
            "python": self._asking.python,
            "limit_s": self._asking.limit_s,
            "cpus": place.cpus,
        }
        task = self._ray.remote(max_calls=1, max_retries=0)(worker.work).options(
            name=f"rooflens measure {place.name}",
            num_cpus=place.cpus,
            num_gpus=place.gpus,
            resources=dict(place.taken),
            scheduling_strategy=on_node(place.id),
        )
        return task.remote(job, self._barrier)

    def _heard(self, ref: Any) -> Outcome:
        place = self._running[ref].place
        try:
            answer = self._ray.get(ref, timeout=FETCH_S)
        except self._ray.exceptions.RayError as error:
            found = death(self._ray, place.id, error)
            return self._ended(ref, Outcome(place.name, found.state, found.why, self._attempt))
        return self._ended(ref, judged(answer, place, self._landing, self._asking, self._attempt))

    def _ended(self, ref: Any, outcome: Outcome) -> Outcome:
        del self._running[ref]
        self._barrier.leave.remote(outcome.node)
        return outcome

    def _ages_s(self) -> Mapping[str, float]:
        """How long ago each node was let go; nothing where the barrier does not say."""
        with suppress(self._ray.exceptions.RayError):
            ages_s: dict[str, float] = self._ray.get(self._barrier.ages_s.remote(), timeout=FETCH_S)
            return ages_s
        return {}

    def _late(self, one: Asked, ages_s: Mapping[str, float]) -> str:
        """Why a node is given up: its own watch over the measurement has had its time, and more; "" before that."""
        limit_s, start_s = self._asking.limit_s, self._asking.start_s
        if one.place.name in ages_s:
            over = ages_s[one.place.name] > limit_s + grace_s(limit_s)
            return f"no answer within {limit_s:g} s, nor a word from Ray's worker there" if over else ""
        over = time.monotonic() - one.since_s > start_s + grace_s(start_s)
        why = "other work holds its processors or accelerators, or it does not answer"
        return f"it did not begin within {start_s:g} s: {why}" if over else ""


def grace_s(limit_s: float) -> float:
    """How much longer we wait than a node itself does."""
    return GRACE_S + GRACE_SHARE * limit_s


def arguments(place: Place, asking: Asking) -> list[str]:
    """Of `rooflens measure` on this node: all of its devices at once where it has several."""
    device, several = asking.device, place.gpus > 1
    if fakes.is_fake(device):
        device, several = fakes.of_node(device, place.name), True
    asked = ["--device", device, "--wait-s", f"{asking.limit_s:g}", *asking.arguments]
    return [*asked, "--all-devices"] if several and device.partition(":")[0] in COMPARES else asked


def judged(answer: worker.Answer, place: Place, landing: Landing, asking: Asking, attempt: int) -> Outcome:
    """A node's answer, written when it is a profile of what was asked for."""
    node, version = place.name, answer["version"] or None
    if answer["state"] != "answered":
        return Outcome(node, answer["state"], answer["why"], attempt, version=version)
    outcome = Outcome(node, "measured", None, attempt, landing.file(node).name, version)
    try:
        profile = landing.read(node, answer["text"])
    except RooflensError as error:
        state: State = "refused" if isinstance(error, Newer) else "garbage"
        return replace(outcome, state=state, why=garbage(error), file=None)
    if asking.device == "auto" and place.gpus and profile.device.kind == "cpu":
        why = f"Ray gives it {place.gpus:g} GPUs and none of them could be measured; the last it said: {answer['said']}"
        return replace(outcome, state="refused", why=why, file=None)
    landing.land(node, answer["text"])
    return outcome
