"""An exporter: every target followed by a thread of its own, what is known of all told to whoever scrapes.

One that is slow, dead, hostile or huge holds up nobody: its page is bounded in time and size, and others never wait.
What a target told more than STALE intervals ago is not told any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping

from rooflens import __version__
from rooflens.errors import RooflensError
from rooflens.live.config import Export
from rooflens.live.config import Target as Configured
from rooflens.live.families import TARGET, Family, Labelled, disagreement
from rooflens.live.fetch import Access, target
from rooflens.live.following import Asking, Following, Seen
from rooflens.live.telling import own, page, told
from rooflens.records import field, record, replace
from rooflens.roofline.scraped import Gpu
from rooflens.telemetry.watch import Target

STALE = 3  # intervals
Judged = Callable[[Seen], Target]


@record
class State:
    """A target as it was last seen. known: the last good one, `written` as series; late: cycles that were left out.

    devices: why nothing is known of its devices, "" when it is; None: nobody is asked. seen_s: of `known`.
    """

    name: str
    known: Target | None = None
    written: Mapping[str, str] = field(default_factory=dict)
    failed: str | None = None
    devices: str | None = None
    seen_s: float | None = None
    took_s: float = 0.0
    asked: int = 0
    restarts: int = 0
    late: int = 0
    disagrees: tuple[str, ...] = ()


class Followed:
    """One target and, where it has one, the exporter of its devices. That one is never shown the engine's token."""

    def __init__(self, configured: Configured, export: Export, judged: Judged) -> None:
        access = _access(configured, export)
        without = replace(access, token_env=None, token_file=None)
        self._asking, self._following = Asking(target(configured.url), access), Following()
        self._devices = Asking(target(configured.dcgm), without) if configured.dcgm else None
        self._gpus, self._judged = configured.gpus, judged
        self.state = State(configured.label)

    def once(self) -> None:
        """Asks, and keeps what is known now. Never raises: what goes wrong is part of the state."""
        began, before = time.monotonic(), self.state
        before = replace(before, asked=before.asked + 1)
        try:
            found = self._known(before)
        except Exception as error:  # noqa: BLE001 - a thread that dies would tell nobody
            found = replace(before, failed=f"could not be read: {type(error).__name__}")
        self.state = replace(found, took_s=time.monotonic() - began)

    def _known(self, before: State) -> State:
        found = self._seen()
        if found.failed is not None:
            return replace(before, failed=found.failed)
        devices, gpus = self._of_devices()
        found = replace(found, gpus=(*found.gpus, *gpus))
        return replace(
            before, known=found, written=told(found, before.name), failed=None, devices=devices,
            seen_s=time.monotonic(), restarts=before.restarts + any(one.rates.restarted for one in found.models),
            disagrees=tuple(said for one in found.models if (said := disagreement(one, gpus))),
        )  # fmt: skip

    def _seen(self) -> Target:
        seen = self._following.see(self._asking.page())
        if seen.scrape is not None and self._following.wants(seen):
            self._following.hear(self._asking.about(seen.scrape.engine))
        return self._judged(seen)

    def _of_devices(self) -> tuple[str | None, tuple[Gpu, ...]]:
        """The GPUs of this engine, by the exporter beside it, behind the reason why there are none."""
        if self._devices is None:
            return None, ()
        seen = Following().see(self._devices.page())
        if seen.scrape is None:
            return seen.failed, ()
        found = tuple(gpu for gpu in seen.scrape.gpus if not self._gpus or _number(gpu) in self._gpus)
        return "" if found else f"{seen.url} tells of none of the GPUs {', '.join(map(str, self._gpus))}", found


def _number(gpu: Gpu) -> int | None:
    """Its number on its host, as DCGM counts; of a slice, that of the whole."""
    said = gpu.id.removeprefix(f"{gpu.host}/").partition("/")[0]
    return int(said) if said.isascii() and said.isdigit() and len(said) < 9 else None


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

    def once(self) -> None:
        """Every target once, one after another."""
        for one in self._followed:
            one.once()

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

    def page(self) -> str:
        """Every family with its definition, and every target that is known now."""
        states = self.states()
        fresh = [self._is_fresh(state) for state in states]
        known = [state.written for state, is_fresh in zip(states, fresh, strict=True) if is_fresh]
        named = [((state.name,), (state, is_fresh)) for state, is_fresh in zip(states, fresh, strict=True)]
        itself = (line for family in OWN for line in own(family, named))
        return page(known, (*own(BUILD, [((), __version__)]), *itself))

    def _is_fresh(self, state: State) -> bool:
        return state.seen_s is not None and time.monotonic() - state.seen_s <= STALE * self.interval_s + state.took_s


def _access(configured: Configured, export: Export) -> Access:
    return Access(
        configured.timeout_s or export.timeout_s, int(export.most_bytes), configured.token_env, configured.token_file,
        configured.ca_file,
    )  # fmt: skip


def _own(name: str, says: str, value: Callable[[State, bool], float | None]) -> Family:
    """A metric of the exporter itself, by a target's state and whether that is fresh."""

    def samples(of: tuple[State, bool]) -> Iterator[Labelled]:
        found = value(*of)
        if found is not None:
            yield (), float(found)

    return Family(name, says, TARGET, samples)


BUILD = Family(
    "rooflens_build_info", "1; the version of rooflens.", ("version",), lambda version: iter((((version,), 1.0),))
)
OWN: tuple[Family, ...] = (
    _own("rooflens_up", "1 when the last page of the target was read; 0: blind, and /status says why.",
         lambda state, fresh: state.failed is None and fresh),
    _own("rooflens_devices_up", "1 when the last page of the exporter of its devices was read.",
         lambda state, fresh: None if state.devices is None else not state.devices and fresh),
    _own("rooflens_page_seconds", "Time that its last page took, its reading included.",
         lambda state, _: state.took_s if state.asked else None),
    _own("rooflens_late_cycles_total", "Cycles that a target's own slowness cost.", lambda state, _: state.late),
    _own("rooflens_engine_restarts_total", "Restarts seen in its counters.", lambda state, _: state.restarts),
)  # fmt: skip


def checked(export: Export) -> None:
    """Raises RooflensError for a token or an address that cannot be used, before anything is asked."""
    for one in export.targets:
        target(one.url)
        try:
            _access(one, export).headers()
        except RooflensError as why:
            raise RooflensError(f"target {one.label}: {why}") from None
