"""A file that was dropped on the page: recognised by its content, read, placed and explained."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from rooflens import readers
from rooflens.accounting.record import Account, Judged
from rooflens.api.benches import bench
from rooflens.api.nodes import doctor
from rooflens.api.profiles import kernels
from rooflens.errors import RooflensError
from rooflens.present.judged import POINT, kernel_cells, point_cells
from rooflens.present.retold import retold
from rooflens.present.symbols import short
from rooflens.present.words import say, share
from rooflens.readers import nodes, recognise
from rooflens.readers.content import content
from rooflens.readers.metrics.scrapes import scrape
from rooflens.records import record
from rooflens.roofline.observed import Observed
from rooflens.roofline.scraped import Scrape, Served
from rooflens.server.state import MOST_CONFIG
from rooflens.units import show

MOST_ROWS = 60
_PAGE = re.compile(r"^# (?:HELP|TYPE) \S|^[a-zA-Z_:][\w:]{0,200}\{[^}\n]{0,2000}\} ", re.MULTILINE)
_PROFILE = re.compile(r'"schema"\s*:\s*"rooflens/profile/')
_CONFIG = re.compile(r'"(?:model_type|architectures)"\s*:')


@record
class Asked:
    """What is asked about a file. on: whose roofs apply; None: the device that the file names itself."""

    on: str | None = None
    lang: str = "en"


def read(path: Path, asked: Asked) -> dict[str, Any]:
    """What this file says, as sentences, a table and points. Raises RooflensError for a file that nobody here knows."""
    head = path.read_bytes()[: 1 << 20].decode("utf-8", "replace")
    if head.lstrip().startswith("{") and _CONFIG.search(head):
        if path.stat().st_size > MOST_CONFIG:
            raise RooflensError(f"a config.json is read up to {MOST_CONFIG} bytes; this one is longer")
        text = path.read_text(encoding="utf-8", errors="replace")
        model = readers.model(path)
        return {"kind": "config", "title": say("page.read.config", asked.lang, name=model.name), "config": text,
                "name": path.stem, "said": [retold(w, asked.lang) for w in model.warnings]}  # fmt: skip
    if _PROFILE.search(head):
        raise RooflensError(
            f"{path.name} is a measured machine: start the page with it, rooflens serve --on {path.name}"
        )
    if _PAGE.search(head):
        return _metrics(scrape(path.read_text(encoding="utf-8", errors="replace"), 0.0, path.name), asked.lang)
    return _tool(path, asked)


def verb(path: Path) -> str | None:
    """Which verb of the command line reads this file, by its beginning; None where that says nothing."""
    with suppress(RooflensError), content(path) as opened:
        if any(known.search(opened.head) for known in (_PROFILE, _PAGE)):
            return None
        with suppress(RooflensError):
            return "kernels" if recognise.is_profiler(recognise.reader(opened)) else "bench"
        nodes.from_text(opened.head, path.name)
        return "doctor"
    return None


def _tool(path: Path, asked: Asked) -> dict[str, Any]:
    """A profiler's, a benchmark's or a node's output."""
    try:
        seen = readers.observed(path)
    except RooflensError as unread:
        return _node(path, asked, unread)
    if seen.kernels:
        return _kernels(kernels(seen, asked.on), asked.lang)
    return _bench(path, seen, asked)


def _node(path: Path, asked: Asked, unread: RooflensError) -> dict[str, Any]:
    try:
        found = doctor(path)
    except RooflensError as why:
        if str(why) == str(unread):
            raise
        raise RooflensError(f"{unread}; nor as text of a node: {why}") from None
    lang = asked.lang
    said = []
    for one in found.findings:
        said.append(f"{say(f'doctor.{one.severity}', lang)}: {retold(one.what, lang)}")
        said += [say(f"doctor.{key}", lang, text=retold(text, lang))
                 for key, text in (("costs", one.cost), ("next", one.next)) if text]  # fmt: skip
    counted = {name: sum(one.severity == name for one in found.findings) for name in ("fault", "warning")}
    ends = say(
        "doctor.healthy" if found.healthy else "doctor.ill", lang, faults=counted["fault"], warnings=counted["warning"]
    )
    title = say("doctor.held", lang, held=", ".join(found.held), driver=found.node.driver or say("frame.unknown", lang))
    return {"kind": "node", "title": title, "said": [*(said or [say("doctor.nothing", lang)]), ends]}


def _kernels(found: Account, lang: str) -> dict[str, Any]:
    heads = ("name", "calls", "time", "of_time", "intensity", "roof", "of_roof", "regime", "lever")
    whole = sorted(found.kernels, key=lambda kernel: -kernel.spent_s)
    rows = [kernel_cells(kernel, lang) for kernel in whole[:MOST_ROWS]]
    parts = found.attribution_s.parts
    said = [f"{say(f'kernels.part.{name}', lang)}: {show(seconds, 's')}" for name, seconds in parts.items()]
    said += [retold(remedy.why, lang) for remedy in found.remedies]
    said += [retold(note, lang) for note in (*found.notes, *found.warnings)]
    return {
        "kind": "kernels",
        "title": say("page.read.kernels", lang, count=len(found.kernels), machine=found.machine),
        "said": list(dict.fromkeys(said)),
        "heads": [say(f"kernels.{head}", lang) for head in heads],
        "rows": [[cells[head] for head in heads] for cells in rows],
        "spots": [spot for kernel in whole[:MOST_ROWS] if (spot := _spot(kernel))],
    }


def _spot(kernel: Judged) -> dict[str, Any] | None:
    """Where a kernel lands, when its work is known."""
    if not kernel.intensity_flops_per_byte or not kernel.flops_per_s:
        return None
    reached = "" if kernel.share_of_roof is None else f", {share(kernel.share_of_roof)}"
    label = f"{short(kernel.name)}{reached}"
    return {"name": short(kernel.name), "label": label, "x": kernel.intensity_flops_per_byte, "y": kernel.flops_per_s}


def _bench(path: Path, seen: Observed, asked: Asked) -> dict[str, Any]:
    lang = asked.lang
    try:
        found = bench(seen)
    except RooflensError:
        found = bench(seen, asked.on)
    if found.machine is None and asked.on is not None:
        found = bench(seen, asked.on)
    said = [f"{p.name}: {retold(text, lang)}" for p in found.points for text in p.findings]
    said += [retold(note, lang) for note in (*found.notes, *found.warnings)]
    heads = [say(f"bench.{head}", lang) for head in POINT]
    key = "bench.head" if found.machine else "bench.alone"
    return {
        "kind": "bench",
        "title": say(key, lang, where=path.name, format=found.format, machine=found.machine),
        "said": list(dict.fromkeys(said)),
        "heads": heads,
        "rows": [point_cells(point, lang) for point in found.points[:MOST_ROWS]],
    }


def _metrics(found: Scrape, lang: str) -> dict[str, Any]:
    """What an engine tells at one moment; rates need two pages, and that is said."""
    rows = [row for one in found.served for row in _told(one)]
    models = ", ".join(one.model for one in found.served if one.model) or "-"
    missing = [f"{name}: {retold(why, lang)}" for one in found.served for name, why in one.missing.items()]
    return {
        "kind": "metrics",
        "title": say("page.read.metrics", lang, engine=found.engine, models=models),
        "said": [say("page.read.one_page", lang), *(retold(note, lang) for note in found.notes), *missing],
        "heads": [say("page.quantity", lang), say("page.value", lang), say("page.from", lang)],
        "rows": rows[:MOST_ROWS],
    }  # fmt: skip


def _told(one: Served) -> list[list[str]]:
    several = [*((name, one.gauge(name)) for name in one.gauges), *((name, one.total(name)) for name in one.counters)]
    return [[name, f"{value:.6g}", one.names.get(name, "-")] for name, value in several if value is not None]
