"""The contract of a lab run: statements with their artefact and key, what may be claimed, and what may not.

Sentences are for people and in the language of the run; values, artefacts and keys are the same in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rooflens.lab.keys import ATTENTION, BANDWIDTH, PEAKS, cell_key, memories, memory_key, roof_key
from rooflens.lab.observe import Observation, attention_cells, read_slope
from rooflens.present.retold import retold
from rooflens.present.words import known, say
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.place import BELOW_ROOF_SHARE, attainable
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show


@record
class Evidence:
    """One statement, with the artefact and key that hold its value. deterministic: equal in every run of this seed.

    The statement is in the language of the run, so it is equal in runs of one language.
    """

    statement: str
    artefact: str
    key: str
    value: Any
    deterministic: bool


def evidence(profile: Profile, seen: Sequence[Observation], lang: str = "en") -> tuple[Evidence, ...]:
    """Every number the interpretation stands on."""
    return (*_ceilings(profile, lang), *_counts(seen, lang), *_achieved(seen, lang))


def _ceilings(profile: Profile, lang: str) -> Iterator[Evidence]:
    for c in profile.ceilings:
        if c.kind == "compute" and c.origin == "measured":
            key = roof_key(profile, c.path, c.dtype or "", f"{c.mode}.value")
            yield Evidence(_roof(c, lang), PEAKS, key, c.value, deterministic=False)
    for c in memories(profile):
        yield Evidence(_slope(c, lang), BANDWIDTH, memory_key(profile, c.id), c.value, deterministic=False)


def _roof(c: Ceiling, lang: str) -> str:
    rate, doubt = show(c.value, "FLOP/s"), _doubt(c, lang)
    return say("answer.roof", lang, mode=_mode(c, lang), dtype=c.dtype, rate=rate, doubt=doubt)


def _slope(c: Ceiling, lang: str) -> str:
    access = known(f"access.{c.access}", str(c.access), lang)
    level = known(f"answer.level.{c.level}", str(c.level), lang)
    return say("answer.slope", lang, access=access, level=level, rate=show(c.value, "B/s"), doubt=_doubt(c, lang))


def _counts(seen: Sequence[Observation], lang: str) -> Iterator[Evidence]:
    for o, _ in attention_cells(seen):
        for field, value, unit in (("flops", o.cost.total_flops, "FLOP"), ("kv_bytes", o.cost.kv_bytes, "B")):
            said = say("answer.needs", lang, name=o.name, amount=show(float(value), unit), field=field)
            yield Evidence(said, ATTENTION, cell_key(seen, o, field), float(value), deterministic=True)
        intensity, key = o.intensity_flops_per_byte, cell_key(seen, o, "intensity_flops_per_byte")
        said = say("answer.intensity", lang, name=o.name, intensity=f"{intensity:.3f}")
        yield Evidence(said, ATTENTION, key, intensity, deterministic=True)


def _achieved(seen: Sequence[Observation], lang: str) -> Iterator[Evidence]:
    for o in (o for o, _ in attention_cells(seen) if o.trusted):
        rate, share = show(o.point.flops_per_s, "FLOP/s"), percent(o.point.share_of_peak)
        said = say("answer.achieved", lang, name=o.point.name, rate=rate, share=share)
        key = cell_key(seen, o, "achieved_flops_per_s")
        yield Evidence(said, ATTENTION, key, o.point.flops_per_s, deterministic=False)


def assumptions(profile: Profile, lang: str = "en") -> list[str]:
    """What the numbers stand on and nobody proved here."""
    clock = "answer.assume.clock" if profile.device.clock_hz else "answer.assume.no_clock"
    return [say(key, lang) for key in ("answer.assume.law", "answer.assume.cache", clock)]


def limitations(profile: Profile, lang: str = "en") -> list[str]:
    """What this run does not show."""
    told = [retold(said, lang) for said in (*profile.device.distrust, *profile.skipped)]
    refused = ((c.id, retold(c.why_not or "", lang)) for c in profile.refused())
    told += [say("answer.not_used", lang, id=id, why=why) for id, why in refused]
    told += [say("answer.quick", lang)] if profile.quick else []
    return told if profile.complete else [*told, say("answer.incomplete", lang)]


def risks(profile: Profile, lang: str = "en") -> list[str]:
    """What goes wrong when the numbers are used carelessly; the first is a condition of non-use."""
    found = [say("answer.risk.use", lang), say("answer.risk.burst", lang)]
    if profile.contention:
        found.insert(0, say("answer.risk.disturbed", lang, why=retold(profile.contention, lang)))
    if profile.device.virtualised:
        found.append(say("answer.risk.virtual", lang))
    return found


def claims(profile: Profile, seen: Sequence[Observation], lang: str = "en") -> dict[str, list[str]]:
    """What this run allows to be said, and what would say too much."""
    slope = [o.point for o in seen if o.attention and o.trusted and o.point.regime == "memory"]
    allowed = [_reached(profile, c, lang) for c in profile.machine().find("compute")]
    allowed += [say("answer.claim.slope", lang, name=p.name, share=percent(p.share_of_attainable)) for p in slope]
    overstated = [say(f"answer.overstated.{what}", lang) for what in ("model", "flops", "machines")]
    return {"allowed": allowed, "overstated": overstated}


def _reached(profile: Profile, c: Ceiling, lang: str) -> str:
    values = {"machine": profile.device.title, "dtype": c.dtype, "rate": show(c.value, "FLOP/s")}
    return say("answer.claim.gemm", lang, **values, mode=_mode(c, lang))


def negative_test(profile: Profile, seen: Sequence[Observation], lang: str = "en") -> dict[str, Any]:
    """A claim that must fail: that better code alone brings decode attention to half of the GEMM roof."""
    machine, cells = profile.machine(), [o for o in seen if o.attention]
    roofs = machine.find("compute", dtype=_math(cells[0])) if cells else []
    if not roofs or not read_slope(machine):
        return {
            "claim": say("answer.negative.bare", lang),
            "refuted": None,
            "why": say("answer.negative.no_roof", lang),
        }
    dtype, intensity = _math(cells[0]), cells[0].intensity_flops_per_byte
    share = attainable(machine, dtype, intensity) / machine.compute(dtype).floor_value
    return {
        "claim": say("answer.negative.claim", lang, dtype=dtype),
        "must_fail": True,
        "refuted": share < BELOW_ROOF_SHARE,
        "attainable_share": share,
        "why": say("answer.negative.why", lang, intensity=f"{intensity:.2f}", share=percent(share)),
    }


def _math(seen: Observation) -> str:
    return next(iter(seen.cost.flops))


def _mode(c: Ceiling, lang: str) -> str:
    return known(f"style.{c.mode}", str(c.mode), lang)


def _doubt(c: Ceiling, lang: str) -> str:
    return "" if c.trusted else say("answer.doubt", lang, why=retold(c.why_not or "", lang))
