"""The contract of a lab run: statements with their artefact and key, what may be claimed, and what may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rooflens.lab.keys import ATTENTION, BANDWIDTH, PEAKS, cell_key, memories, memory_key, roof_key
from rooflens.lab.observe import Observation, attention_cells, read_slope
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.place import BELOW_ROOF_SHARE, attainable
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show


@record
class Evidence:
    """One statement, with the artefact and key that hold its value. deterministic: equal in every run of this seed."""

    statement: str
    artefact: str
    key: str
    value: Any
    deterministic: bool


def evidence(profile: Profile, seen: Sequence[Observation]) -> tuple[Evidence, ...]:
    """Every number the interpretation stands on."""
    return (*_ceilings(profile), *_counts(seen), *_achieved(seen))


def _ceilings(profile: Profile) -> Iterator[Evidence]:
    for c in profile.ceilings:
        if c.kind == "compute" and c.origin == "measured":
            key = roof_key(profile, c.path, c.dtype or "", f"{c.mode}.value")
            said = f"{c.mode} {c.dtype} GEMM roof {show(c.value, 'FLOP/s')}{_doubt(c)}"
            yield Evidence(said, PEAKS, key, c.value, deterministic=False)
    for c in memories(profile):
        said = f"{c.access} bandwidth of {c.level} memory {show(c.value, 'B/s')}{_doubt(c)}"
        yield Evidence(said, BANDWIDTH, memory_key(profile, c.id), c.value, deterministic=False)


def _counts(seen: Sequence[Observation]) -> Iterator[Evidence]:
    for o, _ in attention_cells(seen):
        for field, value, unit in (("flops", o.cost.total_flops, "FLOP"), ("kv_bytes", o.cost.kv_bytes, "B")):
            said = f"{o.name} needs {show(float(value), unit)} ({field})"
            yield Evidence(said, ATTENTION, cell_key(seen, o, field), float(value), deterministic=True)
        intensity, key = o.intensity_flops_per_byte, cell_key(seen, o, "intensity_flops_per_byte")
        said = f"{o.name} has an intensity of {intensity:.3f} FLOP/B"
        yield Evidence(said, ATTENTION, key, intensity, deterministic=True)


def _achieved(seen: Sequence[Observation]) -> Iterator[Evidence]:
    for o in (o for o, _ in attention_cells(seen) if o.trusted):
        said = (
            f"{o.point.name} achieved {show(o.point.flops_per_s, 'FLOP/s')}, {percent(o.point.share_of_peak)} of peak"
        )
        key = cell_key(seen, o, "achieved_flops_per_s")
        yield Evidence(said, ATTENTION, key, o.point.flops_per_s, deterministic=False)


def assumptions(profile: Profile) -> list[str]:
    """What the numbers stand on and nobody proved here."""
    clock = "the clock was measured while busy" if profile.device.clock_hz else "the clock is not known"
    return [
        "time is at least the largest of demand over rate; the roofs are those measured here with random normal data",
        "a decode step reads every cached key and value once; the cache write is not counted",
        f"peaks derived from the instruction set hold at the clock of this run: {clock}",
    ]


def limitations(profile: Profile) -> list[str]:
    """What this run does not show."""
    refused = [f"{c.id} is not used: {c.why_not}" for c in profile.refused()]
    return [*profile.device.distrust, *profile.skipped, *refused, *_short(profile)]


def _short(profile: Profile) -> Iterator[str]:
    if profile.quick:
        yield "a quick run: short rests and samples, sustained rates may not have settled"
    if not profile.complete:
        yield "the run ended before everything was measured"


def risks(profile: Profile) -> list[str]:
    """What goes wrong when the numbers are used carelessly; the first is a condition of non-use."""
    found = [
        "do not use these roofs to judge another machine, another clock or power limit, or this one while it is shared",
        "a burst roof is not reached by a long run: plan with the sustained one",
    ]
    if profile.contention:
        found.insert(0, f"do not quote the disturbed measurements: {profile.contention}")
    if profile.device.virtualised:
        found.append("a virtual machine may share caches and memory channels with others: repeat before comparing")
    return found


def claims(profile: Profile, seen: Sequence[Observation]) -> dict[str, list[str]]:
    """What this run allows to be said, and what would say too much."""
    slope = [o for o in seen if o.attention and o.trusted and o.point.regime == "memory"]
    allowed = [
        f"on {profile.device.title}, {c.dtype} GEMM reached {show(c.value, 'FLOP/s')} ({c.mode}, dense)"
        for c in profile.machine().find("compute")
    ]
    allowed += [
        f"{o.point.name} ran at {percent(o.point.share_of_attainable)} of the measured memory slope" for o in slope
    ]
    overstated = [
        "this machine is that fast for LLM inference: one operator is not a model",
        "decode would be faster with more FLOP/s: at this intensity bandwidth binds",
        "every machine of this kind is as fast: one machine was measured, once",
    ]
    return {"allowed": allowed, "overstated": overstated}


def negative_test(profile: Profile, seen: Sequence[Observation]) -> dict[str, Any]:
    """A claim that must fail: that better code alone brings decode attention to half of the GEMM roof."""
    machine, cells = profile.machine(), [o for o in seen if o.attention]
    roofs = machine.find("compute", dtype=_math(cells[0])) if cells else []
    if not roofs or not read_slope(machine):
        return {
            "claim": "decode attention can reach half of the GEMM roof",
            "refuted": None,
            "why": "no roof to test it",
        }
    dtype, intensity = _math(cells[0]), cells[0].intensity_flops_per_byte
    share = attainable(machine, dtype, intensity) / machine.compute(dtype).value
    return {
        "claim": f"better code alone brings batch-1 decode attention to half of the {dtype} GEMM roof",
        "must_fail": True,
        "refuted": share < BELOW_ROOF_SHARE,
        "attainable_share": share,
        "why": f"at {intensity:.2f} FLOP/B the memory slope allows {percent(share)} of the roof, whatever the code",
    }


def _math(seen: Observation) -> str:
    return next(iter(seen.cost.flops))


def _doubt(c: Ceiling) -> str:
    return "" if c.trusted else f" (not trusted: {c.why_not})"
