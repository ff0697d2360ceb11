"""A benchmark's file as text: its figures with their shares, how each was counted, what the tool means by it."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.accounting.bench_record import Benches
from rooflens.cli.printing import headed
from rooflens.present.judged import POINT, point_cells
from rooflens.present.retold import retold
from rooflens.present.words import say
from rooflens.units import show


def shown(found: Benches, lang: str) -> str:
    """One file."""
    key = "bench.head" if found.machine else "bench.alone"
    head = say(key, lang, where=found.where, format=found.format, machine=found.machine)
    served = (
        [say("bench.served", lang, model=found.model, stored=found.conventions["precision"])] if found.model else []
    )
    rows = [point_cells(point, lang) for point in found.points]
    parts = [
        "\n".join([head, *served]),
        headed("bench", POINT, rows, lang),
        "\n".join(_counted(found, lang)),
        "\n".join(_means(found, lang)),
        "\n".join(_said(found, lang)),
    ]
    return "\n\n".join(part for part in parts if part)


def _counted(found: Benches, lang: str) -> Iterator[str]:
    """How a demand follows from a figure, once for figures that are counted alike."""
    seen: set[str] = set()
    for point in found.points:
        if point.counted is None or point.counted in seen or point.demand_per_s is None or point.ratio is None:
            continue
        seen.add(point.counted)
        demand = show(point.demand_per_s, point.ceiling_unit or "")
        yield say("bench.counted", lang, name=point.name, demand=demand, counted=retold(point.counted, lang))


def _means(found: Benches, lang: str) -> Iterator[str]:
    """The tool's own definitions, each with the figures that it is of."""
    names: dict[str, list[str]] = {}
    for point in found.points:
        names.setdefault(point.means, []).append(point.name)
    for means, of in names.items():
        several = of[0] if len(of) == 1 else f"{of[0]} ... {of[-1]}"
        yield say("bench.means", lang, name=several, means=retold(means, lang))


def _said(found: Benches, lang: str) -> Iterator[str]:
    above = [point for point in found.points if point.findings]
    for point in [point for point in above if point.headline] or above:  # what leads up to a headline says the same
        for finding in point.findings:
            yield say("bench.finding", lang, name=point.name, text=retold(finding, lang))
    gone: dict[str, list[str]] = {}
    for point in found.points:
        if point.missing is not None:
            gone.setdefault(point.missing, []).append(point.name)
    for why, names in gone.items():
        yield say("bench.missing", lang, names=", ".join(dict.fromkeys(names)), why=retold(why, lang))
    notes: dict[str, list[str]] = {}
    for point in found.points:
        for note in point.notes:
            notes.setdefault(note, []).append(point.name)
    for note, names in notes.items():
        yield say("frame.note", lang, text=f"{', '.join(dict.fromkeys(names))}: {retold(note, lang)}")
    for note in found.notes:
        yield say("frame.note", lang, text=retold(note, lang))
