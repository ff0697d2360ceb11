"""What a lab run must show, each met, not met or impossible here, with why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rooflens.lab.choose import to_draw
from rooflens.lab.observe import Observation
from rooflens.lab.sections import share_of
from rooflens.records import record
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
    profile: Profile, seen: Sequence[Observation], drawn: Sequence[str], answered: int, missing: Sequence[str]
) -> tuple[Check, ...]:
    """The five checks. drawn: names on the picture; answered: questions; missing: files that are not there."""
    return (
        _products(profile),
        _contexts(seen),
        _drawn(profile, seen, drawn),
        Check(
            "three questions answered",
            "met" if answered == 3 else "not met",
            f"{answered} of 3 paragraphs of interpretation.md have their numbers",
        ),
        Check(
            "manifest complete",
            "not met" if missing else "met",
            f"missing: {', '.join(missing)}" if missing else "every artefact is there with its hash",
        ),
    )


def _products(profile: Profile) -> Check:
    name = f"GEMM in at least {ENOUGH_DTYPES} dtypes within 30 % of the datasheet"
    roofs = profile.machine().find("compute", mode="burst")
    measured = dict.fromkeys(c.dtype or "" for c in roofs)
    shares = {c.dtype: found[1] for c in roofs if (found := share_of(profile, c.path or "", c.dtype or ""))}
    said = ", ".join(f"{dtype} {percent(share)}" for dtype, share in shares.items()) or "none with a known peak"
    near = [dtype for dtype, share in shares.items() if share >= NEAR_PEAK]
    if len(near) >= ENOUGH_DTYPES:
        return Check(name, "met", said)
    lacking = "; ".join(s for s in profile.skipped if "product" not in s)
    if len(measured) < ENOUGH_DTYPES or len(shares) < ENOUGH_DTYPES:
        only = f"{len(measured)} dtypes could be measured, {len(shares)} with a known peak: {said}"
        return Check(name, "impossible here", f"{only}. {lacking}".strip())
    return Check(name, "not met", said)


def _contexts(seen: Sequence[Observation]) -> Check:
    contexts = sorted({o.attention.context for o in seen if o.attention and o.trusted})
    said = f"trusted cells at S = {', '.join(map(str, contexts)) or 'none'}"
    state: State = "met" if len(contexts) >= ENOUGH_CONTEXTS else "not met"
    return Check(f"decode attention at {ENOUGH_CONTEXTS} or more S", state, said)


def _drawn(profile: Profile, seen: Sequence[Observation], drawn: Sequence[str]) -> Check:
    machine = profile.machine()
    wanted = [*dict.fromkeys(c.dtype or "" for c in machine.find("compute"))]
    wanted += [*dict.fromkeys(c.level or "" for c in machine.find("memory", access="read"))]
    wanted += [o.point.name for o in to_draw(seen)]
    left = [name for name in wanted if name not in drawn]
    why = f"not drawn: {', '.join(left)}" if left else f"{len(wanted)} roofs, slopes and points"
    return Check("all roofs and points drawn", "not met" if left or not wanted else "met", why)
