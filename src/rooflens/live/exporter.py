"""An exporter: every target followed by a thread of its own, what is known of all told to whoever scrapes.

One that is slow, dead, hostile or huge holds up nobody: its page is bounded in time and size, and others never wait.
What a target told more than STALE intervals ago is not told any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rooflens.errors import RooflensError
from rooflens.live.config import Export
from rooflens.live.config import Target as Configured
from rooflens.live.families import AGREEMENT, BASE, FAMILIES, GPU, agreement, disagreement, label, of_target
from rooflens.live.fetch import Access, target
from rooflens.live.following import Asking, Following, Seen
from rooflens.records import record, replace
from rooflens.telemetry.watch import Target

STALE = 3  # intervals
Judged = Callable[[Seen], Target]


@record
class State:
    """A target as it was last seen. known: the last good one; failures: in a row; late: cycles that began late."""

    name: str
    known: Target | None = None
    failed: str | None = None
    seen_s: float | None = None
    took_s: float = 0.0
    failures: int = 0
    restarts: int = 0
    late: int = 0
    disagrees: tuple[str, ...] = ()


class Followed:
    """One target and, where it has one, the exporter of its devices."""

    def __init__(self, configured: Configured, export: Export, judged: Judged) -> None:
        access = _access(configured, export)
        self._asking, self._following = Asking(target(configured.url), access), Following()
        self._devices = Asking(target(configured.dcgm), access) if configured.dcgm else None
        self._gpus, self._judged, self._told = configured.gpus, judged, ""
        self.state = State(configured.label)

    def once(self) -> None:
        """Asks, and keeps what is known now. Never raises: what goes wrong is part of the state."""
        began = time.monotonic()
        try:
            found = self._seen()
            failed = found.failed
        except Exception as error:  # noqa: BLE001 - a thread that dies would tell nobody
            found, failed = None, f"could not be read: {type(error).__name__}"
        took_s, before = time.monotonic() - began, self.state
        if found is None or failed is not None:
            self.state = replace(before, failed=failed, took_s=took_s, failures=before.failures + 1)
            return
        restarts = before.restarts + any(one.rates.restarted for one in found.models)
        disagrees = tuple(said for one in found.models if (said := disagreement(one, found.gpus)))
        self.state = replace(
            before, known=found, failed=None, seen_s=time.monotonic(), took_s=took_s, failures=0, restarts=restarts,
            disagrees=disagrees,
        )  # fmt: skip

    def _seen(self) -> Target:
        seen = self._following.see(self._asking.page())
        engine = seen.scrape.engine if seen.scrape is not None else ""
        if engine and engine != "dcgm" and (self._told != engine or any(one.restarted for one in seen.rates)):
            self._told = engine
            self._following.hear(self._asking.about(engine))
        found = self._judged(seen)
        return found if self._devices is None or found.failed else replace(found, gpus=self._of_devices())

    def _of_devices(self) -> tuple[Any, ...]:
        """The GPUs of this engine, by the exporter beside it; none where that does not answer."""
        scrape = Following().see(self._devices.page()).scrape if self._devices is not None else None
        found = scrape.gpus if scrape is not None else ()
        return tuple(gpu for gpu in found if not self._gpus or gpu.id in {str(number) for number in self._gpus})


class Exporter:
    """All targets of a configuration. judged: sets what is seen of one against its model and roofs."""

    def __init__(self, export: Export, judged: Callable[[Configured], Judged]) -> None:
        self.interval_s = export.interval_s
        self._followed = [Followed(one, export, judged(one)) for one in export.targets]
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(one, i / len(self._followed)), daemon=True, name=one.state.name)
            for i, one in enumerate(self._followed)
        ]

    def start(self) -> None:
        """Begins to follow: starts are spread over an interval."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends it; threads that wait for an answer end with their time limit."""
        self._stop.set()

    def states(self) -> list[State]:
        """Every target as it was last seen."""
        return [one.state for one in self._followed]

    def _follow(self, one: Followed, phase: float) -> None:
        due = time.monotonic() + phase * self.interval_s
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            one.once()
            due += self.interval_s
            behind = time.monotonic() - due
            if behind > 0:  # its own time limit held it up: the cycles that it missed are counted and left out
                missed = int(behind // self.interval_s) + 1
                one.state = replace(one.state, late=one.state.late + missed)
                due += missed * self.interval_s

    # --- as Prometheus reads it

    def collect(self) -> Iterator[Any]:
        """Every family, for prometheus_client."""
        from prometheus_client.core import GaugeMetricFamily

        states = self.states()
        fresh = [state for state in states if self._is_fresh(state)]
        yield from _of_exporter(states, fresh)
        made = {one.name: GaugeMetricFamily(one.name, one.help, labels=[*BASE, *one.labels]) for one in FAMILIES}
        for state in fresh:
            for family, base, (own, value) in of_target(_known(state), state.name):
                made[family.name].add_metric([*base, *own], value)
        yield from made.values()
        yield from _of_devices(fresh)

    def _is_fresh(self, state: State) -> bool:
        return (
            state.known is not None
            and state.seen_s is not None
            and time.monotonic() - state.seen_s <= STALE * self.interval_s + state.took_s
        )


def _known(state: State) -> Target:
    assert state.known is not None  # noqa: S101 - of fresh states
    return state.known


def _access(configured: Configured, export: Export) -> Access:
    return Access(
        configured.timeout_s or export.timeout_s, int(export.most_bytes), configured.token_env, configured.token_file,
        configured.ca_file,
    )  # fmt: skip


def _of_exporter(states: Sequence[State], fresh: Sequence[State]) -> Iterator[Any]:
    """How the exporter itself is doing: blind on which targets, and why."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

    from rooflens import __version__

    yield InfoMetricFamily("rooflens_build", "The version of rooflens.", value={"version": __version__})
    up = GaugeMetricFamily("rooflens_up", "1 when the last page of the target was read.", labels=["target"])
    took = GaugeMetricFamily("rooflens_page_seconds", "Time that its last page took.", labels=["target"])
    late = CounterMetricFamily("rooflens_late_cycles", "Cycles that a target's own slowness cost.", labels=["target"])
    again = CounterMetricFamily("rooflens_engine_restarts", "Restarts seen in its counters.", labels=["target"])
    alive = {id(state) for state in fresh}
    for state in states:
        up.add_metric([state.name], float(state.failed is None and id(state) in alive))
        took.add_metric([state.name], state.took_s)
        late.add_metric([state.name], state.late)
        again.add_metric([state.name], state.restarts)
    yield from (up, took, late, again)


def _of_devices(fresh: Iterable[State]) -> Iterator[Any]:
    """The devices that DCGM tells of, and whether what the model needs agrees with what moved."""
    from prometheus_client.core import GaugeMetricFamily

    families = [GaugeMetricFamily(name, says, labels=["target", "gpu"]) for name, says, _ in GPU]
    slowed = GaugeMetricFamily(
        "rooflens_gpu_throttled_seconds", "Seconds held back since the driver started, by reason (DCGM).",
        labels=["target", "gpu", "reason"],
    )  # fmt: skip
    agree = GaugeMetricFamily(*AGREEMENT, labels=list(BASE))
    for state in fresh:
        known = _known(state)
        for gpu in known.gpus:
            for family, (_, _, value) in zip(families, GPU, strict=True):
                if (found := value(gpu)) is not None:
                    family.add_metric([state.name, label(gpu.id)], float(found))
            for reason, seconds in gpu.throttled_s.items():
                slowed.add_metric([state.name, label(gpu.id), label(reason)], float(seconds))
        for reading in known.models:
            ratio = agreement(reading, known.gpus)
            if ratio is not None:
                agree.add_metric([state.name, label(known.engine), label(reading.rates.model)], ratio)
    yield from (*families, slowed, agree)


def checked(export: Export) -> None:
    """Raises RooflensError for a token or an address that cannot be used, before anything is asked."""
    for one in export.targets:
        target(one.url)
        try:
            _access(one, export).headers()
        except RooflensError as why:
            raise RooflensError(f"target {one.label}: {why}") from None
