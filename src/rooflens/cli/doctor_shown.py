"""A diagnosis as text: what was read, findings worst first, what all-reduces cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rooflens.cli.printing import headed
from rooflens.health.record import Cost, Diagnosis, Figure, Finding
from rooflens.health.sentences import numbers
from rooflens.present.retold import retold
from rooflens.present.words import say, share
from rooflens.units import show, show_binary

_UNITS = {"_hz": "Hz", "_w": "W", "_s": "s"}
_MARGIN = 10


def shown(found: Diagnosis, lang: str) -> str:
    """One node."""
    said = [_said(one, lang) for one in found.findings] or [say("doctor.nothing", lang)]
    parts = ["\n".join(_head(found, lang)), "\n".join(said), _costs(found, lang), "\n".join(_notes(found, lang))]
    return "\n\n".join(part for part in parts if part)


def _head(found: Diagnosis, lang: str) -> Iterator[str]:
    gpus = found.node.gpus
    if gpus is None:
        yield say("doctor.no_devices", lang)
    else:
        kinds = Counter((gpu.name, gpu.memory_bytes) for gpu in gpus)
        names = [f"{count} x {_device(name, size, lang)}" for (name, size), count in kinds.items()]
        yield say("doctor.devices", lang, devices=", ".join(names) or "0")
    driver = found.node.driver
    yield say("doctor.held", lang, held=", ".join(found.held), driver=driver or say("frame.unknown", lang))


def _device(name: str | None, size: float | None, lang: str) -> str:
    said = name or say("doctor.nameless", lang)
    return f"{said} ({show_binary(size)})" if size else said


def _said(one: Finding, lang: str) -> str:
    """A finding, what belongs to it below and under it."""
    lines = [f"{say(f'doctor.{one.severity}', lang):<{_MARGIN - 1}} {retold(one.what, lang)}"]
    for key, text in (("costs", one.cost), ("next", one.next)):
        if text:
            lines.append(" " * _MARGIN + say(f"doctor.{key}", lang, text=retold(text, lang)))
    if one.figures:
        said = ", ".join(f"{name} {_values(name, values)}" for name, values in one.figures.items())
        lines.append(" " * _MARGIN + say("doctor.figures", lang, text=said))
    return "\n".join(lines)


def _values(name: str, values: tuple[Figure, ...]) -> str:
    """One value, or the least and the largest of several devices."""
    unit = next((unit for end, unit in _UNITS.items() if name.endswith(end)), None)
    known = [value for value in values if not isinstance(value, str)]
    ends = [min(known), max(known)] if known else []
    if name.endswith("_share"):
        said = [share(float(value)) for value in ends]
    else:
        said = [show(float(value), unit) if unit else f"{value:g}" for value in ends]
    return " - ".join(dict.fromkeys(said)) or ", ".join(map(str, values))


def _costs(found: Diagnosis, lang: str) -> str:
    if not found.costs:
        return ""
    head = say("doctor.priced", lang, model=found.model, tp=found.tp)
    rows = [_row(cost, lang) for cost in found.costs]
    columns = ("by", "gpus", "path", "rate", "allreduce", "latency", "times", "of_step")
    return head + "\n\n" + headed("doctor", columns, rows, lang)


def _row(cost: Cost, lang: str) -> list[str]:
    way = cost.route
    path = f"{way.kind} x{way.links}" if way.links else way.kind
    rate = show(way.bytes_per_s, "B/s") if way.bytes_per_s else say("frame.unknown", lang)
    return [
        say(f"doctor.by.{cost.by}", lang),
        numbers(way.gpus) if cost.by != "datasheet" else "-",
        path,
        rate,
        show(cost.allreduce_s, "s"),
        say("frame.unknown", lang) if cost.latency_s is None else show(cost.latency_s, "s"),
        f"{cost.times:.3g}",
        share(cost.allreduce_s / cost.step_floor_s),
    ]


def _notes(found: Diagnosis, lang: str) -> Iterator[str]:
    if found.no_cost:
        yield say("frame.note", lang, text=retold(found.no_cost, lang))
    if found.costs:
        for name in ("allreduce", "rates", "precision"):
            yield say("frame.note", lang, text=retold(found.conventions[name], lang))
    bad = sum(one.severity == "fault" for one in found.findings)
    doubtful = sum(one.severity == "warning" for one in found.findings)
    yield say("doctor.healthy" if found.healthy else "doctor.ill", lang, faults=bad, warnings=doubtful)
