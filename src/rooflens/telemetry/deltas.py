"""Differences of counters between two scrapes: restarts, engines that come and go, names that change.

A counter that fell was reset. Where the process began anew, or nobody tells when it began and less than half is left,
it counts from zero, which is the least that happened. Where a part of it went away (a worker's share, say), nobody
knows what happened in between, and nothing is said. What was not there before is counted from the next scrape on.
"""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.records import field, record
from rooflens.roofline.scraped import Histogram, Scrape, Served
from rooflens.telemetry.histograms import less, together

SAME_START_S = 1.0  # clocks of a start that differ by less are one
LEFT = 0.5  # of a counter that fell, more than this left is no restart
RESTARTED = "the engine restarted between the scrapes: counted from zero, the least that happened"
FELL = "a counter fell and nothing tells of a restart: rates of this interval are not known"


@record
class Deltas:
    """What happened between two scrapes of one model, its engines together. Empty: a counter fell, as notes say."""

    interval_s: float
    counters: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    restarted: bool = False
    notes: tuple[str, ...] = ()


def interval_s(before: Scrape, after: Scrape) -> float:
    """Seconds between two scrapes: by the samples' own times where both carry them, else by our clock."""
    if before.stamped_s is not None and after.stamped_s is not None:
        return after.stamped_s - before.stamped_s
    return after.at_s - before.at_s


def deltas(before: Scrape, after: Scrape, old: Served, new: Served) -> Deltas | None:
    """What happened to one model; None where the time between does not say: none went by, or it went backwards."""
    seconds = interval_s(before, after)
    if seconds <= 0:
        return None
    fresh = _fresh(before, after)
    began = {engine: _began(engine, old, new, fresh=fresh) for engine in new.tellers}
    unknown = [engine for engine, state in began.items() if state == "unknown"]
    strange = [engine for engine, state in began.items() if state == "appeared"]
    notes = [RESTARTED] if "anew" in began.values() else []
    notes += [FELL] if unknown else []
    notes += [
        f"engine {engine or 'without a name'} was not there before: counted from the next scrape on"
        for engine in strange
    ]
    counters = {} if unknown else _counters(old, new, began)
    histograms = {} if unknown else _histograms(old, new, began)
    return Deltas(seconds, counters, histograms, "anew" in began.values(), tuple(notes))


def _fresh(before: Scrape, after: Scrape) -> bool | None:
    """Whether the process began anew; None where it does not tell when it began."""
    if before.started_s is None or after.started_s is None:
        return None
    return abs(after.started_s - before.started_s) > SAME_START_S


def _began(engine: str, old: Served, new: Served, *, fresh: bool | None) -> str:
    """How the counters of an engine go on: "on", "anew", "appeared" or "unknown"."""
    if fresh:
        return "anew"
    if engine not in old.tellers:
        return "appeared"
    pairs = [
        (by[engine], old.counters[quantity][engine])
        for quantity, by in new.counters.items()
        if engine in by and engine in old.counters.get(quantity, {})
    ]
    fallen = [(now, then) for now, then in pairs if now < then]
    if not fallen:
        return "on"
    return "anew" if fresh is None and all(now < LEFT * then for now, then in fallen) else "unknown"


def _counters(old: Served, new: Served, began: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for quantity, by in new.counters.items():
        earlier = old.counters.get(quantity, {})
        same_name = old.names.get(quantity) == new.names.get(quantity)
        steps = [
            by[engine] - (0.0 if state == "anew" else earlier[engine])
            for engine, state in began.items()
            if engine in by and (state == "anew" or (state == "on" and engine in earlier and same_name))
        ]
        told = [engine for engine, state in began.items() if engine in by and state != "appeared"]
        if steps and len(steps) == len(told):
            found[quantity] = sum(steps)
    return found


def _histograms(old: Served, new: Served, began: Mapping[str, str]) -> dict[str, Histogram]:
    found = {}
    for quantity, by in new.histograms.items():
        earlier = old.histograms.get(quantity, {})
        parts: list[Histogram | None] = []
        for engine, now in by.items():
            state = began.get(engine, "on" if engine in earlier else "appeared")
            if state == "anew":
                parts.append(now)
            elif state == "on" and engine in earlier and old.names.get(quantity) == new.names.get(quantity):
                parts.append(less(now, earlier[engine]))
        whole = [part for part in parts if part is not None]
        if whole and len(whole) == len(parts):
            found[quantity] = together(whole)
    return found
