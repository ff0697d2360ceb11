"""A page of metrics as a scrape: whose it is, and what it tells under our names."""

from __future__ import annotations

from rooflens.errors import RooflensError
from rooflens.readers.figures import finite
from rooflens.readers.metrics import dcgm
from rooflens.readers.metrics.exposition import parse
from rooflens.readers.metrics.table import Table, served
from rooflens.readers.metrics.tables import TABLES
from rooflens.records import replace
from rooflens.roofline.scraped import Page, Scrape, Served

STARTED = "process_start_time_seconds"
WANTED = {table.engine: table.samples | {STARTED} for table in TABLES}
RATIO_SLACK = 1.5  # a share of the pool above is not one of 0 to 1: old builds told per cent


class NothingKnown(RooflensError):
    """A page without a metric of any engine that is known: no scrape, so what it would tell stays unknown."""


def scrape(text: str, at_s: float, where: str = "the page") -> Scrape:
    """What a page tells. at_s: when it was asked for, by our clock.

    Raises NothingKnown for a page on which no known engine tells anything: it is no scrape of zeros.
    """
    for table in (one for one in TABLES if one.prefix in text):
        page = parse(text, WANTED[table.engine])
        found = served(table, page)
        if found:
            return Scrape(
                table.engine,
                at_s,
                tuple(_completed(one, table) for one in found),
                started_s=_started(page),
                stamped_s=page.stamped_s,
                notes=_notes(page),
            )
    if dcgm.PREFIX in text:
        page = parse(text, dcgm.SAMPLES)
        devices = dcgm.gpus(page)
        if devices:
            said = tuple(sentence for gpu in devices for sentence in dcgm.explained(gpu))
            return Scrape("dcgm", at_s, gpus=devices, stamped_s=page.stamped_s, notes=(*said, *_notes(page)))
    raise NothingKnown(_nothing(text, where))


def _nothing(text: str, where: str) -> str:
    if not text.strip():
        return f"{where} is empty: nothing is known of the engine now, which is not zero"
    for prefix in (table.prefix for table in TABLES):
        if any(f"\n{lead}{prefix}" in f"\n{text}" for lead in ("", "# HELP ", "# TYPE ")):
            return f"{where} names {prefix}* and tells no figure of it, which is not zero; did it serve a request yet?"
    looked = ", ".join(f"{table.prefix}*" for table in TABLES)
    return f"{where} holds no metric of a known engine; looked for {looked}, {dcgm.PREFIX}*; is it another service?"


def _notes(page: Page) -> tuple[str, ...]:
    if not page.faulty:
        return ()
    first = page.faults[0].partition(": ")[2]
    return (f"{page.faulty} lines of the page are no samples and were left out: the first is {first}",)


def _started(page: Page) -> float | None:
    """When the process began; of several, the latest."""
    return max(page.series.get(STARTED, {}).values(), default=None)


def _completed(one: Served, table: Table) -> Served:
    """With what follows from what is told: sizes of the pool in tokens, what it holds."""
    gauges = {name: dict(by) for name, by in one.gauges.items()}
    names, missing = dict(one.names), dict(one.missing)
    if any(share > RATIO_SLACK for share in gauges.get("kv_usage", {}).values()):
        del gauges["kv_usage"]
        missing["kv_usage"] = f"{names.pop('kv_usage')} is no ratio of 0 to 1"
    _sized(one, table, gauges, names)
    usage, capacity = gauges.get("kv_usage", {}), gauges.get("kv_capacity_tokens", {})
    both = [engine for engine in usage if engine in capacity]
    if "kv_tokens" not in gauges and both:
        gauges["kv_tokens"] = {engine: usage[engine] * capacity[engine] for engine in both}
        names["kv_tokens"] = f"{names['kv_usage']} x {names['kv_capacity_tokens']}"
    held = gauges.get("kv_tokens", {})
    if "kv_usage" not in gauges and held and held.keys() <= capacity.keys() and all(capacity.values()):
        gauges["kv_usage"] = {engine: held[engine] / capacity[engine] for engine in held}
        names["kv_usage"] = f"{names['kv_tokens']} / {names['kv_capacity_tokens']}"
        missing.pop("kv_usage", None)
    if held:
        missing.pop("kv_tokens", None)
    return replace(one, gauges=gauges, names=names, missing=missing)


def _sized(one: Served, table: Table, gauges: dict[str, dict[str, float]], names: dict[str, str]) -> None:
    """The pool in tokens: pages x tokens a page, or as the settings say it of each engine."""
    pages, sizes = gauges.get("kv_capacity_blocks", {}), gauges.get("kv_block_tokens", {})
    if pages and pages.keys() <= sizes.keys():
        gauges["kv_capacity_tokens"] = {engine: pages[engine] * sizes[engine] for engine in pages}
        used = gauges.get("kv_used_blocks", {})
        gauges["kv_tokens"] = {engine: used[engine] * sizes[engine] for engine in used if engine in sizes}
        names["kv_capacity_tokens"] = f"{names['kv_capacity_blocks']} x {names['kv_block_tokens']}"
        names["kv_tokens"] = f"{names.get('kv_used_blocks', '')} x {names['kv_block_tokens']}"
        if not gauges["kv_tokens"]:
            del gauges["kv_tokens"], names["kv_tokens"]
        return
    said, how = _said_capacity(one)
    if said is not None and "kv_capacity_tokens" not in gauges:
        gauges["kv_capacity_tokens"] = dict.fromkeys(one.engines, said)
        names["kv_capacity_tokens"] = f"{table.info[0]} {how}"
    block = finite(one.settings.get("block_size"), 1.0)
    if block is not None and "kv_block_tokens" not in gauges:
        gauges["kv_block_tokens"] = dict.fromkeys(one.engines, block)
        names["kv_block_tokens"] = f"{table.info[0]} block_size"


def _said_capacity(one: Served) -> tuple[float | None, str]:
    """Tokens of the pool by the settings: its own figure, right for hybrid models, else pages x tokens a page."""
    whole = finite(one.settings.get("kv_cache_size_tokens"), 1.0)
    if whole is not None:
        return whole, "kv_cache_size_tokens"
    pages, size = (finite(one.settings.get(name), 1.0) for name in ("num_gpu_blocks", "block_size"))
    return (None if pages is None or size is None else pages * size), "num_gpu_blocks x block_size"
