"""What a lab run must show, each met, not met or impossible here, with why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rooflens.lab.choose import points
from rooflens.lab.observe import Observation
from rooflens.lab.sections import share_of
from rooflens.measure.backends.torch_cpu import INSTRUCTIONS, native_path
from rooflens.present.retold import retold
from rooflens.present.words import say
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Profile
from rooflens.units import percent

State = Literal["met", "not met", "impossible here"]
NEAR_PEAK = 0.7  # within 30 % of the datasheet
ENOUGH_DTYPES = 3
ENOUGH_CONTEXTS = 4


@record
class Check:
    """One requirement and how this run stands to it."""

    name: str
    state: State
    why: str


def checks(
    profile: Profile, seen: Sequence[Observation], drawn: Sequence[str], answered: int, missing: Sequence[str],
    lang: str = "en",
) -> tuple[Check, ...]:  # fmt: skip
    """The five checks. drawn: names on the picture; answered: questions; missing: files that are not there.

    lang: of each why; names and states are for programs too, and the same in every language.
    """
    told = say("answer.check.answered", lang, count=answered)
    lacking = say("answer.check.missing", lang, names=", ".join(missing)) if missing else None
    return (
        _products(profile, lang),
        _contexts(seen, lang),
        _drawn(profile, seen, drawn, lang),
        Check("three questions answered", "met" if answered == 3 else "not met", told),
        Check("manifest complete", "not met" if missing else "met", lacking or say("answer.check.whole", lang)),
    )


def _products(profile: Profile, lang: str) -> Check:
    """Impossible only for want of arithmetic or of a known peak: what another run could mend is not met."""
    name = f"GEMM in at least {ENOUGH_DTYPES} dtypes within 30 % of the datasheet"
    roofs = profile.machine().find("compute", mode="burst")
    shares = {c.dtype: found[1] for c in roofs if (found := share_of(profile, c.path or "", c.dtype or ""))}
    said = ", ".join(f"{dtype} {percent(share)}" for dtype, share in shares.items())
    said = said or say("answer.check.no_roof", lang)
    if sum(share >= NEAR_PEAK for share in shares.values()) >= ENOUGH_DTYPES:
        return Check(name, "met", said)
    have = in_hardware(profile)
    if len(have) < ENOUGH_DTYPES:
        alone = say("answer.check.hardware", lang, said=said, dtypes=", ".join(have))
        return Check(name, "impossible here", alone)
    lacking = [why for dtype in have if (why := _unmeasured(profile, dtype, lang))]
    low = any(share < NEAR_PEAK for share in shares.values())
    if lacking or low or len(shares) >= ENOUGH_DTYPES:
        return Check(name, "not met", "; ".join([said, *lacking]))
    unknown = ", ".join(dtype for dtype in have if dtype not in shares)
    return Check(name, "impossible here", say("answer.check.unknown", lang, said=said, dtypes=unknown))


def in_hardware(profile: Profile) -> list[str]:
    """The dtypes this machine has arithmetic for, not those a library emulates: by instruction set, peak, or trial."""
    device = profile.device
    found = {c.dtype or "": None for c in profile.ceilings if c.kind == "compute" and _is_real(c, device.kind)}
    narrow = [d for d in INSTRUCTIONS if device.kind == "cpu" and native_path(d, device.isa)[1]]
    always = ("fp32", "fp64") if device.kind == "cpu" else ("fp32", "fp64", "fp16")
    return list(dict.fromkeys((*always, *found, *narrow)))


def _is_real(c: Ceiling, kind: str) -> bool:
    """A GPU has no emulated products; of a processor's, only the peak tells."""
    return c.value > 0 and (kind == "gpu" or c.origin != "measured")


def _unmeasured(profile: Profile, dtype: str, lang: str) -> str | None:
    """Why there is no trusted burst roof of a dtype that the machine has; None when there is one."""
    if profile.machine().find("compute", dtype=dtype, mode="burst"):
        return None
    refused = next((c for c in profile.refused() if (c.kind, c.dtype) == ("compute", dtype)), None)
    if refused:
        return say("answer.check.refused", lang, dtype=dtype, why=retold(refused.why_not or "", lang))
    skipped = next((s for s in profile.skipped if s.startswith(f"{dtype} ")), None)
    return retold(skipped, lang) if skipped else say("answer.check.unmeasured", lang, dtype=dtype)


def _contexts(seen: Sequence[Observation], lang: str) -> Check:
    contexts = sorted({o.attention.context for o in seen if o.attention and o.trusted})
    named = ", ".join(map(str, contexts)) or say("answer.check.none", lang)
    said = say("answer.check.contexts", lang, contexts=named)
    state: State = "met" if len(contexts) >= ENOUGH_CONTEXTS else "not met"
    return Check(f"decode attention at {ENOUGH_CONTEXTS} or more S", state, said)


def _drawn(profile: Profile, seen: Sequence[Observation], drawn: Sequence[str], lang: str) -> Check:
    machine = profile.machine()
    wanted = [*dict.fromkeys(c.dtype or "" for c in machine.find("compute"))]
    wanted += [*dict.fromkeys(c.level or "" for c in machine.find("memory", access="read"))]
    wanted += [point.name for point in points(seen)]
    left = [name for name in wanted if name not in drawn]
    whole = say("answer.check.drawn", lang, count=len(wanted))
    why = say("answer.check.left", lang, names=", ".join(left)) if left else whole
    return Check("all roofs and points drawn", "not met" if left or not wanted else "met", why)
