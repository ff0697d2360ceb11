"""`rooflens machines`: the catalogue, and one accelerator whole."""

from __future__ import annotations

import click

from rooflens import artefacts, catalogue
from rooflens.catalogue import Accelerator
from rooflens.cli.options import json_flag
from rooflens.cli.printing import emit, table
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
@json_flag
def command(name: str | None, as_json: bool) -> None:
    """What is known about an accelerator: dense peaks, ridge points, the memory ladder, sources."""
    if name is None:
        _list(as_json)
    else:
        _one(_named(name), as_json)


def _named(name: str) -> Accelerator:
    if name.endswith(".toml"):
        from pathlib import Path

        return catalogue.accelerator_from_toml(artefacts.read_text(Path(name)), name)
    return catalogue.accelerator(name)


def _list(as_json: bool) -> None:
    every = catalogue.accelerators()
    if as_json:
        emit(artefacts.to_json({"conventions": CONVENTIONS, "machines": [_brief(a) for a in every]}, LIST_SCHEMA))
        return
    rows = [[a.id, a.name, _memory(a), _bandwidth(a), _peak16(a), str(a.year or ""), a.confidence or ""] for a in every]
    columns = ["id", "name", "memory", "bandwidth", "16-bit dense", "year", "conf."]
    emit(
        table(columns, rows)
        + f"\n\n{len(every)} accelerators; every peak dense. One of them whole: rooflens machines ID"
    )


def _brief(chip: Accelerator) -> dict[str, object]:
    brief = {
        "id": chip.id, "name": chip.name, "vendor": chip.vendor, "year": chip.year, "confidence": chip.confidence,
        "memory_bytes": chip.memory.capacity_bytes, "bandwidth_bytes_per_s": chip.memory.bandwidth_bytes_per_s,
        "peaks_flops_per_s": {path: dict(peaks) for path, peaks in chip.peaks.items()}, "peaks": "dense",
    }  # fmt: skip
    return {key: value for key, value in brief.items() if value is not None}


def _one(chip: Accelerator, as_json: bool) -> None:
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
    emit("\n\n".join([_head(chip), _peaks(chip, machine), _ladder(rungs), _foot(chip)]))


def _head(chip: Accelerator) -> str:
    known = [chip.vendor, chip.architecture, chip.form_factor, str(chip.year or "") or None, chip.status]
    power = f"{chip.tdp_w:g} W" if chip.tdp_w else "power unknown"
    units = f"{chip.unit_count} {chip.unit_kind}s" if chip.unit_count else "units unknown"
    price = (
        f"{chip.price.usd_per_hour:g} USD/h ({chip.price.kind}, {chip.price.date})" if chip.price else "price unknown"
    )
    first = f"{chip.name or chip.id}  ({chip.id})"
    return f"{first}\n{', '.join(k for k in known if k)}; {units}, {power}, {price}"


def _peaks(chip: Accelerator, machine: Machine) -> str:
    rows = []
    for ceiling in sorted(machine.find("compute"), key=lambda c: (c.path or "", -c.value)):
        ridge = _ridge(machine, ceiling)
        sparse = chip.sparse(ceiling.dtype or "") if ceiling.path == "matrix" and ceiling.value else None
        rows.append(
            [
                ceiling.dtype or "",
                ceiling.path or "",
                show(ceiling.value, "FLOP/s") if ceiling.value else "no such path",
                f"{ridge:.4g} FLOP/B" if ridge else "",
                show(ceiling.value * sparse, "FLOP/s") if sparse and sparse != 1 else "",
            ]
        )
    return table(["dtype", "unit", "dense peak", "ridge point", "2:4 sparse"], rows) if rows else "no peak is known"


def _ladder(rungs: tuple[catalogue.Rung, ...]) -> str:
    rows = [
        [
            rung.name,
            show(rung.capacity_bytes, "B") if rung.capacity_bytes is not None else "unknown" if _holds(rung) else "",
            show(rung.bandwidth_bytes_per_s, "B/s") if rung.bandwidth_bytes_per_s is not None else "unknown",
            f"{rung.cost_of_a_byte:.3g}x" if rung.cost_of_a_byte is not None else "unknown",
            rung.origin or "",
            rung.note or "",
        ]
        for rung in rungs
    ]
    return table(["rung", "capacity", "bandwidth", "a byte costs", "origin", "note"], rows)


def _foot(chip: Accelerator) -> str:
    lines = [f"confidence {chip.confidence or 'unknown'}; every peak dense, links one direction"]
    lines += [f"note: {chip.note}"] if chip.note else []
    lines += [f"flag: {flag}" for flag in chip.flags]
    return "\n".join(lines + [f"source {key}: {what}" for key, what in _sources(chip).items()])


def _sources(chip: Accelerator) -> dict[str, str]:
    return {key: catalogue.source(key).what for key in chip.sources}


def _ridge(machine: Machine, roof: Ceiling) -> float | None:
    """The ridge point of one roof; None for a path that does not exist or a memory whose rate is not known."""
    if roof.value <= 0 or not machine.find("memory", level="main"):
        return None
    return ridge(machine, roof.dtype or "", roof.path)


def _holds(rung: catalogue.Rung) -> bool:
    return "link" not in rung.name.lower() and "pcie" not in rung.name.lower() and "network" not in rung.name.lower()


def _memory(chip: Accelerator) -> str:
    return show(chip.memory.capacity_bytes, "B") if chip.memory.capacity_bytes else "unknown"


def _bandwidth(chip: Accelerator) -> str:
    found = chip.memory.bandwidth_bytes_per_s
    return show(found, "B/s") if found else "unknown"


def _peak16(chip: Accelerator) -> str:
    found = [p for path in chip.peaks.values() for d, p in path.items() if d in ("bf16", "fp16") and p]
    return show(max(found), "FLOP/s") if found else "unknown"
