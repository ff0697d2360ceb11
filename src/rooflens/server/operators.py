"""Operators as rows: the table beside the plot, and what a point says when it is pointed at."""

from __future__ import annotations

from typing import Any

from rooflens.api import Answer
from rooflens.present.words import say, word
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.placement import PlacedOperator
from rooflens.units import percent, show

MOST = 4096  # texts of ceilings that are remembered
_TOLD: dict[tuple[int, str], tuple[Ceiling, str]] = {}
HEADS = ("operator", "flops", "bytes", "intensity", "bound", "attainable", "of_peak", "floor")


def table(answered: Answer, lang: str) -> dict[str, Any]:
    """Heads, rows of text, and the share of the summed floors that all calls of each kernel take, for its bar."""
    placed = answered.placement.operators
    whole = _whole(answered)
    rows = [
        {
            "name": o.name,
            "cells": _cells(o, lang),
            "share": o.count * o.floor_s / whole if whole else 0.0,
            "time": _of_step(o, whole, lang),
        }
        for o in placed
    ]
    return {
        "heads": [say(f"place.{head}", lang) for head in HEADS],
        "share": say("page.step_share", lang),
        "rows": rows,
    }


def _of_step(operator: PlacedOperator, whole: float, lang: str) -> str:
    """What all calls of a kernel take of the step at their floors, and which share that is."""
    spent = operator.count * operator.floor_s
    return say("page.step_time", lang, time=show(spent, "s", 3), share=percent(spent / whole if whole else 0.0))


def flops(operator: PlacedOperator) -> float:
    """FLOPs of one kernel as the table counts them: of all maths, or vector work where there is no other."""
    if isinstance(operator.flops, (int, float)):
        return float(operator.flops or operator.vector_flops)
    return sum(operator.flops.values())


def _cells(o: PlacedOperator, lang: str) -> list[str]:
    return [
        o.name if o.count == 1 else f"{o.name} × {o.count}",
        show(flops(o), "FLOP"),
        show(o.weight_bytes + o.kv_bytes + o.activation_bytes, "B"),
        "-" if o.intensity_flops_per_byte is None else f"{o.intensity_flops_per_byte:.4g}",
        word("bound", o.bound, lang),
        show(o.attainable_flops_per_s, "FLOP/s") if o.attainable_flops_per_s else "-",
        f"{percent(o.share_of_peak)} {o.math}" if o.share_of_peak else "-",
        show(o.floor_s, "s"),
    ]


def _whole(answered: Answer) -> float:
    """Seconds of the step as its kernels add up, each at its floor."""
    return sum(o.count * o.floor_s for o in answered.placement.operators)


def said(answered: Answer, at: int, lang: str) -> list[list[str]]:
    """A point in full, as pairs of a name and a text: its row, work, place under the roof and the ceilings' sources."""
    o, operator = answered.placement.operators[at], answered.operators[at]
    moved = {"weights": o.weight_bytes, "kv": o.kv_bytes, "activations": o.activation_bytes, "link": o.link_bytes}
    heads, cells = HEADS[1:], _cells(o, lang)[1:]
    pairs = [[say("page.formula", lang), ";  ".join(row.spec for row in operator.rows)]]
    pairs += [[say(f"place.{head}", lang), cell] for head, cell in zip(heads, cells, strict=True)]
    kept = ", ".join(f"{say(f'page.{k}', lang)} {show(v, 'B')}" for k, v in moved.items() if v)
    pairs[2][1] += f" ({kept})" if kept else ""
    pairs.append([say("page.step_share", lang), _of_step(o, _whole(answered), lang)])
    return [*pairs, *([say("page.ceiling", lang), _ceiling(c, lang)] for c in _used(answered, o))]


def _used(answered: Answer, o: PlacedOperator) -> list[Ceiling]:
    """The roof of its math, the memory's slope, and the link where it sends."""
    there = answered.machine
    compute = there.find("compute", dtype=o.math)[:1]
    links = there.find("link", level=there.link)[:1] if o.link_bytes else []
    return [*compute, there.memory("read"), *links]


def _ceiling(ceiling: Ceiling, lang: str) -> str:
    """A machine keeps its ceilings: each is told once, and held here so that nothing else takes its identity."""
    known = _TOLD.get((id(ceiling), lang))
    if known is None:
        if len(_TOLD) >= MOST:
            _TOLD.clear()
        known = _TOLD[id(ceiling), lang] = ceiling, _told(ceiling, lang)
    return known[1]


def _told(ceiling: Ceiling, lang: str) -> str:
    text = f"{ceiling.id} {show(ceiling.floor_value, ceiling.unit)} ({word('origin', ceiling.origin, lang)})"
    return say("place.source", lang, ceiling=text, source=ceiling.source) if ceiling.source else text
