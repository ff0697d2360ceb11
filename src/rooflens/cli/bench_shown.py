"""A benchmark's file as text: its figures with their shares, how each was counted, what the tool means by it."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.accounting.bench_record import Benches, JudgedPoint
from rooflens.cli.printing import headed
from rooflens.present.retold import retold
from rooflens.present.words import say, share, word
from rooflens.units import show

_PER_S = (("tokens_per_s", "tokens/s"), ("requests_per_s", "requests/s"))
_SHOWN = (("flops_per_s", "FLOP/s"), ("bytes_per_s", "B/s"), ("_s", "s"))


def shown(found: Benches, lang: str) -> str:
    """One file."""
    key = "bench.head" if found.machine else "bench.alone"
    head = say(key, lang, where=found.where, format=found.format, machine=found.machine)
    served = (
        [say("bench.served", lang, model=found.model, stored=found.conventions["precision"])] if found.model else []
    )
    rows = [_row(point, lang) for point in found.points]
    parts = [
        "\n".join([head, *served]),
        headed("bench", ("point", "value", "ratio", "ceiling", "floor"), rows, lang),
        "\n".join(_counted(found, lang)),
        "\n".join(_means(found, lang)),
        "\n".join(_said(found, lang)),
    ]
    return "\n\n".join(part for part in parts if part)


def _row(point: JudgedPoint, lang: str) -> list[str]:
    spread = f" ± {point.spread:.3g}" if point.spread is not None else ""
    ceiling = "-"
    if point.ceiling is not None and point.ceiling_value is not None:
        value = show(point.ceiling_value, point.ceiling_unit or "")
        ceiling = f"{point.ceiling} {value}, {word('origin', point.ceiling_origin, lang)}"
    return [
        point.name,
        _value(point, lang) + spread,
        _ratio(point, lang),
        ceiling,
        show(point.floor_s, "s") if point.floor_s is not None else "-",
    ]


def _value(point: JudgedPoint, lang: str) -> str:
    if point.value is None:
        return say("frame.unknown", lang)
    for end, unit in _PER_S:
        if point.metric.endswith(end):
            return f"{point.value:.5g} {unit}"
    unit = next((unit for end, unit in _SHOWN if point.metric.endswith(end)), "")
    return show(point.value, unit) if unit else f"{point.value:.5g}"


def _ratio(point: JudgedPoint, lang: str) -> str:
    if point.ratio is None:
        return "-"
    return say(f"bench.{point.ratio_name}", lang, share=share(point.ratio))


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
