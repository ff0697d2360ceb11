"""Levers as the page shows them: ranked, and each with the state that pulling it makes, where a state can say it.

change: the fields that pulling it sets. No state says that weights are pruned (2:4 sparsity): that is another model.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from rooflens.api.serving import DRAFTED, advise
from rooflens.catalogue import accelerators
from rooflens.levers.advice import Advice, Lever
from rooflens.present.retold import retold
from rooflens.present.words import known, say
from rooflens.records import encode, replace
from rooflens.roofline.machines import from_accelerator
from rooflens.server import memory
from rooflens.server.state import State, served
from rooflens.units import show

HEADS = ("lever", "gain_floor", "gain_estimate", "stops_at", "memory", "flag")
_SAID = (
    (re.compile(r"batch (\d+)"), "batch"),
    (re.compile(r"(\S+) weights"), "weights"),
    (re.compile(r"(\S+) KV cache"), "kv"),
    (re.compile(r"(\S+) arithmetic"), "math"),
    (re.compile(r"tensor parallelism (\d+)"), "tp"),
    (re.compile(r"expert parallelism (\d+)"), "ep"),
    (re.compile(r"pipeline of (\d+) stages"), "pp"),
)
_DRAFTS = re.compile(r"speculative decoding, (\d+) drafts")
_CHOSEN = {"flash attention": {"attention": "flash"}, "CUDA graphs": {"engine": "graph"}}


def levers(asked: State) -> dict[str, Any]:
    """What `advise` answers, as it is and as a table. Takes seconds: every change is priced at many loads."""
    found = _advice(replace(asked, lang="en"))
    tried = [lever for lever in found.levers if lever.why_not is None]
    others = [lever for lever in found.levers if lever.why_not is not None]
    return {
        "advise": encode(found),
        "title": say("advise.goal.throughput", asked.lang),
        "heads": [say(f"advise.{head}", asked.lang) for head in HEADS],
        "rows": [_row(lever, asked) for lever in tried],
        "cannot": [[retold(one.name, asked.lang), retold(one.why_not or "", asked.lang)] for one in others],
        "foot": say("advise.foot", asked.lang),
    }


@lru_cache(64)
def _advice(asked: State) -> Advice:
    """The same in every language."""
    with memory.model(asked.model, asked.config) as model:
        return advise(model, asked.machines[0], **served(asked))


def _row(lever: Lever, asked: State) -> dict[str, Any]:
    lang, more = asked.lang, lever.memory_bytes
    room = "-" if more is None else f"{'-' if more < 0 else '+' if more else ''}{show(abs(more), 'B', 3)}"
    name, _, load = (lever.stops_at or "-").partition(" ")
    cells = [
        retold(lever.name, lang),
        _times(lever.gain_floor),
        _times(lever.gain_estimate),
        f"{known(f'predict.step.{name}', name, lang)} {load}".strip(),
        room if lever.fits is not False else say("advise.no_room", lang, memory=room),
        lever.engine_flag or "-",
    ]
    note = retold(lever.note, lang) if lever.note else ""
    return {"cells": cells, "note": note, "change": pulled(lever.name, asked)}


def _times(gain: float | None) -> str:
    return "-" if gain is None else f"{gain:.3g}×"


def pulled(name: str, asked: State) -> dict[str, Any] | None:
    """The fields of the state that pulling this lever changes; None where no field of a state says it."""
    drafts = _DRAFTS.match(name)
    if drafts:
        return {"tokens": int(drafts[1]) + 1, "acceptance": DRAFTED}
    if name in _CHOSEN:
        return dict(_CHOSEN[name])
    for pattern, changed in _SAID:
        found = pattern.fullmatch(name)
        if found and changed in ("weights", "kv", "math"):
            return {changed: found[1]}
        if found:
            more = {"microbatches": max(int(found[1]), asked.microbatches)} if changed == "pp" else {}
            return {changed: int(found[1]), **more}
    there = next((chip.id for chip in accelerators() if from_accelerator(chip).title == name), None)
    return None if there is None else {"machines": [there, *(m for m in asked.machines[1:] if m != there)]}
