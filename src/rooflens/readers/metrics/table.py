"""What a table of an engine's names is made of, and how quantities are found by it: the first name that is there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from rooflens.records import field, record
from rooflens.roofline.scraped import Histogram, Labels, Page, Served

Part = Literal["counter", "gauge", "histogram"]
MOST_MODELS = 64
MOST_ENGINES = 1024


@record
class Name:
    """One metric that gives a quantity. where: labels that must read so. times: to SI. part: what is made of it."""

    quantity: str
    metric: str
    part: Part = "counter"
    where: Mapping[str, str] = field(default_factory=dict)
    times: float = 1.0


@record
class Table:
    """The names of one engine, the better of a quantity first.

    prefix: how its names begin. engine_label: tells engines of a target apart. ranks: labels of devices that all tell
    the same: the first of those that are there counts. info: metrics whose labels are settings. remedies: what
    to turn on for a quantity.
    """

    engine: str
    prefix: str
    names: tuple[Name, ...]
    model_labels: tuple[str, ...] = ("model_name",)
    engine_label: str = "engine"
    ranks: tuple[str, ...] = ()
    info: tuple[str, ...] = ()
    remedies: Mapping[str, str] = field(default_factory=dict)

    @property
    def samples(self) -> frozenset[str]:
        """The names of all samples that are wanted from a page."""
        found = {name.metric for name in self.names if name.part != "histogram"} | {*self.info}
        ends = ("_bucket", "_sum", "_count")
        return frozenset(found | {name.metric + end for name in self.names if name.part == "histogram" for end in ends})


Site = tuple[str | None, str]  # model, engine


def served(table: Table, page: Page) -> tuple[Served, ...]:
    """Every model of a page with all that is told of it. Values that are no finite number are not told."""
    found: dict[str | None, _Gathered] = {}
    for name in table.names:
        by_site = _histograms(table, page, name) if name.part == "histogram" else _numbers(table, page, name)
        for (model, engine), value in by_site.items():
            if model in found or len(found) < MOST_MODELS:
                found.setdefault(model, _Gathered()).take(name, engine, value)
    settings = _settings(table, page)
    gathered = _one_model(found)
    return tuple(made.served(model, settings, table) for model, made in gathered.items())


class _Gathered:
    """What is told of one model."""

    def __init__(self) -> None:
        self.parts: dict[Part, dict[str, dict[str, float | Histogram]]] = {"counter": {}, "gauge": {}, "histogram": {}}
        self.names: dict[str, str] = {}

    def take(self, name: Name, engine: str, value: float | Histogram) -> None:
        """Keeps a value, unless a better name gave this quantity."""
        if self.names.setdefault(name.quantity, name.metric) == name.metric:
            by = self.parts[name.part].setdefault(name.quantity, {})
            if engine in by or len(by) < MOST_ENGINES:
                by[engine] = value

    def join(self, other: _Gathered) -> None:
        """Takes what is told without a model."""
        for part, by_quantity in other.parts.items():
            for quantity, by in by_quantity.items():
                if quantity not in self.names:
                    self.parts[part][quantity] = by
        self.names = {**other.names, **self.names}

    def served(self, model: str | None, settings: Mapping[str, str], table: Table) -> Served:
        """As a record."""
        counters, gauges, histograms = ({k: dict(v) for k, v in self.parts[part].items()} for part in self.parts)
        missing = {name: why for name, why in table.remedies.items() if name not in self.names}
        return Served(model, counters, gauges, histograms, settings, self.names, missing)  # type: ignore[arg-type]


def _one_model(found: dict[str | None, _Gathered]) -> dict[str | None, _Gathered]:
    """What names no model is of the only one there is."""
    if None in found and len(found) == 2:
        plain = found.pop(None)
        next(iter(found.values())).join(plain)
    return found


def _numbers(table: Table, page: Page, name: Name) -> dict[Site, float]:
    """The values of one metric: samples of an engine that differ in other labels are added."""
    found: dict[Site, float] = {}
    for site, _, value in _meant(table, page, name.metric, name):
        if 0 <= value < math.inf:
            found[site] = found.get(site, 0.0) + value * name.times
    return found


def _histograms(table: Table, page: Page, name: Name) -> dict[Site, Histogram]:
    if name.metric + "_count" not in page.series:
        return {}
    counts, sums = (_numbers(table, page, Name("", name.metric + end, where=name.where)) for end in ("_count", "_sum"))
    buckets: dict[Site, dict[float, float]] = {}
    for site, bound, value in _meant(table, page, name.metric + "_bucket", name):
        if bound is not None and value < math.inf:
            into = buckets.setdefault(site, {})
            into[bound] = into.get(bound, 0.0) + value
    return {
        site: _histogram(count, sums.get(site), buckets.get(site, {}), name.times) for site, count in counts.items()
    }


def _meant(table: Table, page: Page, metric: str, name: Name) -> list[tuple[Site, float | None, float]]:
    """The samples of a metric that count, each with its site and bucket: of ranks that tell the same, the first."""
    samples = page.series.get(metric)
    if not samples:
        return []
    of, where = (table.model_labels, table.engine_label, table.ranks), tuple(name.where.items())
    if not table.ranks:
        placed = ((_placed(labels, of, where), value) for labels, value in samples.items())
        return [(at[0], at[1], value) for at, value in placed if at[0] is not None]
    found: list[tuple[Site, float | None, float, tuple[float, ...]]] = []
    first: dict[Site, tuple[float, ...]] = {}
    for labels, value in samples.items():
        site, bound, rank = _placed(labels, of, where)
        if site is not None:
            found.append((site, bound, value, rank))
            first[site] = min(rank, first.get(site, rank))
    return [(site, bound, value) for site, bound, value, rank in found if rank == first[site]]


def _histogram(count: float, total: float | None, buckets: Mapping[float, float], times: float) -> Histogram:
    return Histogram(count, None if total is None else total * times, _rising(buckets, count, times))


def _rising(counts: Mapping[float, float], count: float, times: float) -> tuple[tuple[float, float], ...]:
    """The buckets, when their counts never fall and the last holds all; else none."""
    found = tuple((bound * times, counts[bound]) for bound in sorted(counts))
    heights = [height for _, height in found]
    whole = bool(found) and found[-1] == (math.inf, count) and heights == sorted(heights) and heights[0] >= 0
    return found if whole else ()


def _bound(text: str) -> float | None:
    try:
        bound = float(text)
    except ValueError:
        return None
    return None if math.isnan(bound) else bound


@lru_cache(maxsize=65_536)
def _placed(
    labels: Labels, of: tuple[Any, Any, Any], where: tuple[tuple[str, str], ...]
) -> tuple[Site | None, float | None, tuple[float, ...]]:
    """Whose sample it is, up to where its bucket reaches, which rank tells it; no site for one that is not meant."""
    said, (models, engine, ranks) = dict(labels), of
    if any(said.get(name) != value for name, value in where):
        return None, None, ()
    model = next((said[label] for label in models if label in said), None)
    rank = tuple(_bound(said.get(name, "")) or 0.0 for name in ranks)
    return (model, said.get(engine, "")), _bound(said.get("le", "")), rank


def _settings(table: Table, page: Page) -> dict[str, str]:
    """The labels of the metrics that only carry settings; of several engines, what all of them say."""
    return dict(_agreed(page, table))


def _agreed(page: Page, table: Table) -> Iterator[tuple[str, str]]:
    for metric in table.info:
        several: list[Labels] = list(page.series.get(metric, {}))[:MOST_ENGINES]
        for name, value in several[0] if several else ():
            if name != table.engine_label and all(dict(other).get(name) == value for other in several):
                yield name, value
