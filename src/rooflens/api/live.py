"""Engines as they run, set against a machine's roofs: what `watch` shows, and what an exporter tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from rooflens import models
from rooflens.accounting.bench_runs import NO_MODEL
from rooflens.api import machine
from rooflens.api.deployed import deployment, estimator, kept, located, of_a_step, other, said
from rooflens.catalogue.engines import engines
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.live.cycles import Targets, cycles
from rooflens.live.fetch import Access
from rooflens.live.fetch import target as url
from rooflens.live.following import Following, Seen
from rooflens.live.recording import Page, replay
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine
from rooflens.telemetry.demands import spread_over
from rooflens.telemetry.levers import FULL
from rooflens.telemetry.levers import lever as lever_of
from rooflens.telemetry.placing import Subject, placed
from rooflens.telemetry.pricing import Prices
from rooflens.telemetry.record import Rates, Reading
from rooflens.telemetry.settings import asked_of, named
from rooflens.telemetry.watch import Target, Watch

MOST_SUBJECTS = 256
NO_MACHINE = "no machine is named: --on MACHINE sets the rates against its roofs"
NAMED = "the engine calls its model {name}: counted as {model}"


class Judge:
    """Sets rates against the roofs of one machine. One judge serves many engines and targets.

    model: what is served; None: what the engine calls it, where that is one of ours. on: a machine as everywhere; None:
    rates alone. asked: weights, kv, math, tp, ep, pp, gpus_per_node, link, as in api.Question, and dp, replicas that a
    target adds up without telling them apart; what is not given here is taken from what the engine tells.
    Raises RooflensError for a machine or an option that is none.
    """

    def __init__(self, model: str | None = None, on: str | Machine | None = None, **asked: Any) -> None:
        of_a_step(asked)
        self._model, self._on = model, on
        self._asked = {name: value for name, value in asked.items() if name != "dp"}
        self._dp = int(asked.get("dp") or 1)
        self._there = machine(on) if isinstance(on, str) else on
        self._subjects: dict[tuple[Any, ...], Subject | str] = {}
        self._levers: dict[tuple[Any, ...], str | None] = {}
        if model is not None and self._there is not None:
            self._subject(Rates("", None, 0.0))  # what is wrong with them is said now

    def reading(self, target: str, rates: Rates, *, levers: bool = False) -> Reading:
        """The rates with their place under the roofs, or why there is none. levers: also what would help (slower)."""
        rates = spread_over(rates, self._dp)
        if self._there is None:
            return Reading(target, rates, missing={"roof": NO_MACHINE})
        try:
            of = self._subject(rates)
            roof = placed(rates, of)
            roof = replace(roof, lever=self._lever(rates, roof, of)) if levers else roof
        except RooflensError as why:
            return Reading(target, rates, missing={"roof": str(why)})
        return Reading(target, rates, roof)

    def _subject(self, rates: Rates) -> Subject:
        """The deployment behind these rates, made once for each engine, model and settings."""
        told = {**_told(tuple(rates.settings.items())), **self._asked}
        key = (rates.engine, rates.model, rates.replicas, *sorted(told.items()))
        if key not in self._subjects:
            if len(self._subjects) >= MOST_SUBJECTS:
                self._subjects.clear()
            try:
                self._subjects[key] = self._made(rates, told)
            except RooflensError as why:
                self._subjects[key] = str(why)
        found = self._subjects[key]
        if isinstance(found, str):
            raise RooflensError(found)
        return found

    def _made(self, rates: Rates, told: Mapping[str, Any]) -> Subject:
        name = self._model or named(rates.model, models.known())
        if name is None:
            raise RooflensError(NO_MODEL)
        engine = {"engine": rates.engine} if rates.engine in engines() else {}
        load, question = said(name, {**told, **engine, "dp": rates.replicas, "batch": rates.replicas})
        there = located(self._on if self._on is not None else "", question)
        served = deployment(question, load, there)
        expected, more = estimator(served, load, self._on if isinstance(self._on, str) else "")
        notes = () if self._model or rates.model == name else (NAMED.format(name=rates.model, model=name),)
        return Subject(Prices(served, expected), other(there), (*notes, *more))

    def _lever(self, rates: Rates, roof: Any, of: Subject) -> str | None:
        """The lever, looked for again when the load has doubled or halved, or what binds has changed."""
        load = tuple(round(max(1.0, value or 1.0)).bit_length() for value in (rates.batch, rates.context_tokens))
        full = (rates.kv_usage or 0.0) >= FULL
        key = (rates.engine, rates.model, rates.replicas, roof.state, roof.regime, full, load)
        if key not in self._levers:
            if len(self._levers) >= MOST_SUBJECTS:
                self._levers.clear()
            load_, _ = said(of.served.model.name, {"engine": rates.engine} if rates.engine in engines() else {})
            self._levers[key] = lever_of(rates, roof, of, kept(load_))
        return self._levers[key]


@lru_cache(1024)
def _told(settings: tuple[tuple[str, str], ...]) -> dict[str, str | int]:
    """What an engine says of how it serves: the same from page to page."""
    return asked_of(dict(settings))


def readings(seen: Seen, judge: Judge, *, levers: bool = False) -> tuple[Reading, ...]:
    """Every model of a target at one moment."""
    return tuple(judge.reading(seen.url, rates, levers=levers) for rates in seen.rates)


def followed(pages: Iterable[Page]) -> Iterator[Seen]:
    """Pages of any targets, each set against the last good one of its own."""
    targets: dict[str, Following] = {}
    for page in pages:
        target = targets.setdefault(page.url, Following())
        if page.about is not None:
            target.hear(page)
        else:
            yield target.see(page)


def target(seen: Seen, judge: Judge, *, levers: bool = False) -> Target:
    """A target at one moment, as `watch` answers."""
    found = seen.scrape
    if found is None:
        return Target(seen.url, seen.at_s, failed=seen.failed)
    notes = found.notes if found.gpus else ()
    models_ = readings(seen, judge, levers=levers)
    return Target(seen.url, seen.at_s, found.engine, models=models_, gpus=found.gpus, notes=notes)


def watched(recording: str | Path, judge: Judge, *, levers: bool = False) -> Iterator[Target]:
    """A recording played again, page by page. Raises BadFile for another file."""
    for seen in followed(replay(Path(recording))):
        yield target(seen, judge, levers=levers)


def watch(
    *urls: str, model: str | None = None, on: str | Machine | None = None, interval_s: float = 5.0,
    access: Access | None = None, **asked: Any,
) -> Watch:  # fmt: skip
    """Engines now: two scrapes of each an interval apart, set against the machine. asked: as for Judge.

    Raises RooflensError for a URL, model or machine that is none, AnswerIsNo when no target answered.
    """
    judge = Judge(model, on, **asked)
    targets = Targets([url(one) for one in urls], access or Access())
    *_, last = cycles(targets, interval_s, 2, len(urls))
    found = Watch(tuple(target(seen, judge, levers=True) for seen in last.seen))
    answered(found)
    return found


def answered(found: Watch) -> None:
    """Raises AnswerIsNo when no target answered, with what each said."""
    failed = [one.failed for one in found.targets if one.failed is not None]
    if len(failed) == len(found.targets):
        raise AnswerIsNo("; ".join(failed[:4]) or "no target was named")
