"""`rooflens machines`: the catalogue, and one accelerator whole."""

from __future__ import annotations

import click

from rooflens import artefacts, catalogue
from rooflens.catalogue import Accelerator
from rooflens.cli.options import json_flag, lang
from rooflens.cli.printing import emit, headed
from rooflens.dtypes import SIXTEEN_BIT
from rooflens.present.retold import retold
from rooflens.present.words import known, say, word
from rooflens.records import encode
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.machines import from_accelerator
from rooflens.roofline.place import ridge
from rooflens.units import show

LIST_SCHEMA, ONE_SCHEMA = "rooflens/machines/1", "rooflens/machine/1"
CONVENTIONS = {
    "peaks": "dense; structured sparsity only as a multiplier",
    "links": "one direction",
    "unknown": "absent; 0 means that there is no such path",
}


@click.command("machines", epilog="Example:  rooflens machines a100-sxm4-80gb")
@click.argument("name", required=False)
@lang
@json_flag
def command(name: str | None, lang: str, as_json: bool) -> None:
    """What is known about an accelerator: dense peaks, ridge points, the memory ladder, sources."""
    if name is None:
        _list(lang, as_json)
    else:
        _one(_named(name), lang, as_json)


def _named(name: str) -> Accelerator:
    if name.endswith(".toml"):
        from pathlib import Path

        return catalogue.accelerator_from_toml(artefacts.read_text(Path(name)), name)
    return catalogue.accelerator(name)


def _list(lang: str, as_json: bool) -> None:
    every = catalogue.accelerators()
    if as_json:
        emit(artefacts.to_json({"conventions": CONVENTIONS, "machines": [_brief(a) for a in every]}, LIST_SCHEMA))
        return
    rows = [_row(a, say("frame.unknown", lang)) for a in every]
    columns = ["id", "name", "memory", "bandwidth", "peak16", "year", "confidence"]
    emit(headed("machines", columns, rows, lang) + "\n\n" + say("machines.count", lang, count=len(every)))


def _row(chip: Accelerator, unknown: str) -> list[str]:
    capacity, bandwidth = chip.memory.capacity_bytes, chip.memory.bandwidth_bytes_per_s
    memory, rate = show(capacity, "B") if capacity else unknown, show(bandwidth, "B/s") if bandwidth else unknown
    year, confidence = str(chip.year or ""), chip.confidence or ""
    return [chip.id, chip.name, memory, rate, _peak16(chip) or unknown, year, confidence]


def _brief(chip: Accelerator) -> dict[str, object]:
    brief = {
        "id": chip.id, "name": chip.name, "vendor": chip.vendor, "year": chip.year, "confidence": chip.confidence,
        "memory_bytes": chip.memory.capacity_bytes, "bandwidth_bytes_per_s": chip.memory.bandwidth_bytes_per_s,
        "peaks_flops_per_s": {path: dict(peaks) for path, peaks in chip.peaks.items()}, "peaks": "dense",
    }  # fmt: skip
    return {key: value for key, value in brief.items() if value is not None}


def _one(chip: Accelerator, lang: str, as_json: bool) -> None:
    machine, rungs = from_accelerator(chip), catalogue.ladder(chip)
    if as_json:
        ridges = {f"{c.path}/{c.dtype}": r for c in machine.find("compute") if (r := _ridge(machine, c))}
        whole = {
            "conventions": CONVENTIONS,
            **encode(chip),
            "peaks": "dense",
            "ridge_flops_per_byte": ridges,
            "ladder": encode(rungs),
        }
        emit(artefacts.to_json({**whole, "source_texts": _sources(chip)}, ONE_SCHEMA))
        return
    emit("\n\n".join([_head(chip, lang), _peaks(chip, machine, lang), _ladder(rungs, lang), _foot(chip, lang)]))


def _head(chip: Accelerator, lang: str) -> str:
    facts = [chip.vendor, chip.architecture, chip.form_factor, str(chip.year or "") or None, chip.status]
    first = f"{chip.name or chip.id}  ({chip.id})"
    power = f"{chip.tdp_w:g} W" if chip.tdp_w else say("machines.power_unknown", lang)
    return f"{first}\n{', '.join(f for f in facts if f)}; {_units(chip, lang)}, {power}, {_price(chip, lang)}"


def _units(chip: Accelerator, lang: str) -> str:
    if not chip.unit_count:
        return say("machines.units_unknown", lang)
    if not chip.unit_kind:
        return say("machines.units_bare", lang, count=chip.unit_count)
    return say("machines.units", lang, count=chip.unit_count, kind=chip.unit_kind)


def _price(chip: Accelerator, lang: str) -> str:
    if not chip.price:
        return say("machines.price_unknown", lang)
    price = f"{chip.price.usd_per_hour:g}"
    return say("machines.price", lang, price=price, kind=chip.price.kind, date=chip.price.date)


def _peaks(chip: Accelerator, machine: Machine, lang: str) -> str:
    rows = []
    for ceiling in sorted(machine.find("compute"), key=lambda c: (c.path or "", -c.value)):
        ridge = _ridge(machine, ceiling)
        sparse = chip.sparse(ceiling.dtype or "") if ceiling.path == "matrix" and ceiling.value else None
        rows.append(
            [
                ceiling.dtype or "",
                known(f"machines.path.{ceiling.path}", ceiling.path or "", lang),
                show(ceiling.value, "FLOP/s") if ceiling.value else say("machines.no_path", lang),
                f"{ridge:.4g} FLOP/B" if ridge else "",
                show(ceiling.value * sparse, "FLOP/s") if sparse and sparse != 1 else "",
            ]
        )
    columns = ["dtype", "unit", "dense", "ridge", "sparse"]
    return headed("machines", columns, rows, lang) if rows else say("machines.no_peak", lang)


def _ladder(rungs: tuple[catalogue.Rung, ...], lang: str) -> str:
    unknown = say("frame.unknown", lang)
    rows = [
        [
            known(f"machines.rung.{rung.name}", rung.name, lang),
            show(rung.capacity_bytes, "B") if rung.capacity_bytes is not None else unknown if _holds(rung) else "",
            show(rung.bandwidth_bytes_per_s, "B/s") if rung.bandwidth_bytes_per_s is not None else unknown,
            f"{rung.cost_of_a_byte:.3g}x" if rung.cost_of_a_byte is not None else unknown,
            word("origin", rung.origin, lang),
            retold(rung.note or "", lang),
        ]
        for rung in rungs
    ]
    return headed("machines", ["rung", "capacity", "bandwidth", "byte", "origin", "note"], rows, lang)


def _foot(chip: Accelerator, lang: str) -> str:
    lines = [say("machines.foot", lang, confidence=chip.confidence or say("frame.unknown", lang))]
    lines += [say("frame.note", lang, text=chip.note)] if chip.note else []
    lines += [say("machines.flag", lang, text=flag) for flag in chip.flags]
    lines += [say("machines.source", lang, key=key, text=what) for key, what in _sources(chip).items()]
    return "\n".join(lines)


def _sources(chip: Accelerator) -> dict[str, str]:
    return {key: catalogue.source(key).what for key in chip.sources}


def _ridge(machine: Machine, roof: Ceiling) -> float | None:
    """The ridge point of one roof; None for a path that does not exist or a memory whose rate is not known."""
    if roof.value <= 0 or not machine.find("memory", level="main"):
        return None
    return ridge(machine, roof.dtype or "", roof.path)


def _holds(rung: catalogue.Rung) -> bool:
    return "link" not in rung.name.lower() and "pcie" not in rung.name.lower() and "network" not in rung.name.lower()


def _peak16(chip: Accelerator) -> str | None:
    found = [p for path in chip.peaks.values() for d, p in path.items() if d in SIXTEEN_BIT and p]
    return show(max(found), "FLOP/s") if found else None
