"""The smaller panels: ceilings at batch 1, a claim taken apart, and what the page must know before it asks."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from rooflens import catalogue, models
from rooflens.api.claims import ceilings, claim
from rooflens.api.deployed import PLAIN
from rooflens.batch_one import Ceilings, Top
from rooflens.catalogue.engines import engines
from rooflens.claims.record import Case, Claim
from rooflens.errors import RooflensError
from rooflens.present.retold import retold
from rooflens.present.words import LANGUAGES, Lang, book, known, say, word
from rooflens.records import checked, decode, encode, record, replace
from rooflens.server import memory
from rooflens.server.hiding import Given
from rooflens.server.state import (
    BATCHES,
    MOST_TEXT,
    NOBODY,
    OPTIONS,
    SCHEMA,
    State,
    known_machine,
    measured,
)
from rooflens.units import show

STORED = ("bf16", "fp16", "fp8", "int8", "nvfp4", "mxfp4", "int4", "q8_0", "q6_k", "q5_k", "q4_k", "q3_k")
CACHES = ("bf16", "fp16", "fp8", "int8")
MATHS = ("bf16", "fp16", "fp16_acc16", "fp8", "fp8_acc16", "fp6", "int8", "int4", "fp4", "tf32", "fp32", "fp64")
DECADES = range(-9, 25)
PLAIN_UNITS = ("B", "B/s", "FLOP/s", "W")


@record
class Said:
    """A claim as the page asks about it. second, times: of two; says: a figure of the first."""

    first: str
    second: str | None = None
    times: float | None = None
    says: str | None = None
    lang: Lang = "en"
    kind: Literal["claim"] = "claim"

    def __post_init__(self) -> None:
        checked(self)
        for text in (self.first, self.second, self.says):
            if text is not None and not 1 <= len(text) <= MOST_TEXT:
                raise RooflensError(f"a claim names its machines and figures in 1 to {MOST_TEXT} characters")


def said(data: object, given: Given = NOBODY) -> Said:
    """A question about a claim, its machines by names that open no file but a given one. Raises RooflensError."""
    asked = decode(Said, data, "claim")
    second = None if asked.second is None else _roof(asked.second, given)
    return replace(asked, first=_roof(asked.first, given), second=second)


def judged(asked: Said) -> dict[str, Any]:
    """A claim, taken apart as `rooflens claim` does. Raises RooflensError for half a question."""
    found = claim(asked.first, asked.second, times=asked.times, says=asked.says)
    lang = asked.lang
    condition = f" {retold(found.condition, lang)}" if found.condition else ""
    verdict = say("claim.verdict", lang, verdict=say(f"claim.verdict.{found.verdict}", lang) + condition)
    told = [retold(text, lang) for text in (*found.why, *found.notes)]
    return {
        "claim": encode(found), "title": say("claim.claim", lang, text=retold(found.claim, lang)), "verdict": verdict,
        "true": found.verdict == "true", "said": told, "table": _cases(found, lang),
    }  # fmt: skip


def _roof(text: str, given: Given) -> str:
    """A machine, or a roof of one as ID:bf16, by names that open no file."""
    name, colon, roof = text.rpartition(":")
    if not colon or text.startswith("measured:"):
        return known_machine(text, given)
    return f"{catalogue.accelerator(name).id}:{roof}"


def _cases(found: Claim, lang: str) -> dict[str, Any]:
    """A row for each operator and formats: what it gains, and whether that is what was claimed."""
    heads = [say("claim.operator", lang), say("claim.batch", lang), say("page.formats", lang), say("page.gain", lang)]
    heads += [say("place.bound", lang), say("page.holds", lang)]
    cases = [(case, held) for held, several in ((True, found.true_for), (False, found.false_for)) for case in several]
    return {"heads": heads, "rows": [_case(case, lang, held=held) for case, held in cases]}


def _case(case: Case, lang: str, *, held: bool) -> list[str]:
    bound = " / ".join(word("bound", b, lang) for b in (case.bound or "").split(" / "))
    name, formats = (
        known(f"claim.operator.{case.name}", _pair(case.name, lang), lang),
        retold(case.formats or "-", lang),
    )
    holds = say("table.yes" if held else "table.no", lang)
    gain = "-" if case.ratio is None else f"{case.ratio:.3g}×"
    if case.value is not None:
        gain = (
            show(case.value, case.unit) if case.unit in PLAIN_UNITS else f"{case.value:.4g} {case.unit or ''}".strip()
        )
    return [name, f"{case.batch:g}" if case.batch else "-", formats, gain, bound, holds]


def _pair(text: str, lang: str) -> str:
    """ "fp8, dense against bf16, dense": each of the two is a sentence of its own."""
    one, against, other = text.partition(" against ")
    if not against or retold(text, lang) != text:
        return retold(text, lang)
    return say("retold.claim_against", lang, dtype=retold(one, lang), math=retold(other, lang))


def at_batch_one(asked: State) -> dict[str, Any]:
    """Tokens/s that nobody can beat at batch 1, of this model on each of these machines."""
    stored = f":{asked.weights}" if asked.weights else ""
    with memory.model(asked.model, asked.config) as model:
        found = ceilings([model + stored], list(asked.machines), math=asked.math)
    lang = asked.lang
    heads = [say(f"page.{head}", lang) for head in ("machine", "weights", "most_at_one", "bound_by", "room")]
    return {"ceilings": _named(found, asked), "heads": heads, "rows": [_top(t, lang) for t in found.ceilings]}


def _named(found: Ceilings, asked: State) -> Any:
    """The answer with a model of its own config called by its name, not by where it lay."""
    plain = encode(found)
    if asked.config is None:
        return plain
    return {**plain, "models": [asked.model], "ceilings": [{**top, "model": asked.model} for top in plain["ceilings"]]}


def _top(top: Top, lang: str) -> list[str]:
    if top.tokens_per_s_ceiling is None:
        return [top.machine, "-", retold(top.why_not or "-", lang), "-", "-"]
    room = "-" if top.fits is None else say("table.yes" if top.fits else "table.no", lang)
    weights = "-" if top.weight_bytes is None else show(top.weight_bytes, "B")
    return [
        top.machine,
        weights,
        f"{top.tokens_per_s_ceiling:.4g} tok/s",
        known(f"frame.bound.{top.bound}", "", lang),
        room,
    ]


@cache
def choices() -> dict[str, Any]:
    """What the controls offer, the words in every language, and how decades are written on axes."""
    chips = [{"id": c.id, "name": c.name or c.id, "vendor": c.vendor or ""} for c in catalogue.accelerators()]
    return {
        "schema": SCHEMA,
        "models": list(models.known()),
        "machines": chips,
        "measured": list(measured()),
        "engines": [*engines(), *PLAIN],
        "weights": list(STORED), "kv": list(CACHES), "math": list(MATHS),
        "batches": list(BATCHES),
        "fields": [one.told() for one in OPTIONS.values()],
        "words": {lang: {**book("page", lang)} for lang in LANGUAGES},
        "decades": {
            "x": {str(n): _decade(n) for n in DECADES},
            "y": {str(n): show(10.0**n, "FLOP/s", 1) for n in DECADES},
        },
        "counts": {str(n): _decade(n) for n in DECADES},
    }  # fmt: skip


def _decade(power: int) -> str:
    """ "0.01", "100", "1e6": a decade of FLOP/byte as axes write it."""
    return f"{10.0**power:g}" if -4 < power < 5 else f"1e{power}"
