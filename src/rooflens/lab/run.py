"""A whole lab: a profile (measured now, or given) -> every artefact, whole, with a manifest.

Files are written into a hidden folder beside each other and moved into place at the end, so a run that fails, is
interrupted or cannot be trusted never touches an older good one; what it had is kept in `partial/`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rooflens import __version__, artefacts
from rooflens.errors import RooflensError
from rooflens.lab import evidence as contract
from rooflens.lab.checks import Check, checks
from rooflens.lab.choose import points
from rooflens.lab.extension import SCHEMA as EXTENSION_SCHEMA
from rooflens.lab.extension import Extension
from rooflens.lab.gain_table import told
from rooflens.lab.interpretation import interpretation
from rooflens.lab.observe import Observation, observations
from rooflens.lab.pairing import Other
from rooflens.lab.sections import bandwidth, decode_attention, device_query, peak_flops
from rooflens.lab.staging import (
    ARTEFACTS,
    EXTENSION,
    MANIFEST,
    NONE_NOTICED,
    PROFILE,
    Staged,
    shortcoming,
    standing,
    usable,
)
from rooflens.present.plot import draw, render
from rooflens.present.scene import compose
from rooflens.present.words import say
from rooflens.records import encode, field, record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.points import Point
from rooflens.roofline.profile import LARGEST_RATE, Profile, check_rates
from rooflens.roofline.profile import SCHEMA as PROFILE_SCHEMA

SCHEMA = "rooflens/lab/1"
ROOFLINE_SCHEMA = "rooflens/roofline/1"
LEAST_INTENSITY, MOST_INTENSITY = 1e-12, 1e12


@record
class Request:
    """What a run is asked for, besides its profile."""

    out: Path
    command: str
    other: Other
    lang: str = "en"
    price_per_hour: float | None = None
    extension: Extension | None = None
    durations_s: Mapping[str, float] = field(default_factory=dict)


@record
class Roofline:
    """roofline.json: all that the picture is drawn from."""

    machine: Machine
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        check_rates(self.machine.ceilings)
        for point in self.points:
            intensity = point.intensity_flops_per_byte
            if intensity and not LEAST_INTENSITY <= intensity <= MOST_INTENSITY:
                raise ValueError(f"{point.name!r} has an intensity of {intensity:g} FLOP/B; no operator has that")
            if not all(0 <= rate <= LARGEST_RATE for rate in (point.flops_per_s, point.attainable_flops_per_s)):
                raise ValueError(f"{point.name!r} has a rate of {point.flops_per_s:g} FLOP/s; no machine has that")


def lab(request: Request, profile: Profile, progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Writes every artefact of a profile and returns the contract.

    Raises RooflensError when the folder is no good. Whatever fails, the profile and all that was whole stay.
    """
    staged = Staged(request.out)
    try:
        staged.put(PROFILE, artefacts.to_json(profile, PROFILE_SCHEMA).encode())
        seen = observations(profile)
        done = _write(staged, request, profile, seen, progress)
        folder = staged.publish(standing(profile))
    except RooflensError as error:
        kept = staged.rescue()
        raise RooflensError(f"{error}\nwhat was written before is kept in {kept}/" if kept else str(error)) from error
    except BaseException:
        staged.rescue()
        raise
    progress("written", 1.0)
    return answer(request, profile, seen, done, folder)


def keep(out: Path, profile: Profile) -> Path:
    """What an interrupted run had measured, written where no manifest of another run stands. Returns the folder."""
    staged = Staged(out)
    try:
        staged.put(PROFILE, artefacts.to_json(profile, PROFILE_SCHEMA).encode())
    except BaseException:
        staged.drop()
        raise
    return staged.rescue() or out


def _write(
    staged: Staged,
    request: Request,
    profile: Profile,
    seen: Sequence[Observation],
    progress: Callable[[str, float], None],
) -> tuple[Check, ...]:
    """Every artefact but the profile, the manifest last; returns the checks in the language of the run.

    JSON artefacts are the same in every language; interpretation.md and the picture follow it.
    """
    _write_sections(staged, profile, seen)
    if request.extension:
        staged.put(EXTENSION, artefacts.to_json(request.extension, EXTENSION_SCHEMA).encode())
    progress("roofline", 0.0)
    drawn = _write_roofline(staged, profile, seen, request.lang)
    progress("interpretation", 0.7)
    text, answered = interpretation(profile, seen, request.other, request.lang)
    staged.put("interpretation.md", text.encode())
    wanted = (*ARTEFACTS, EXTENSION) if request.extension else ARTEFACTS
    missing = [name for name in wanted if not (staged.folder / name).is_file()]
    found = profile, seen, drawn, answered, missing
    staged.put(MANIFEST, _json(manifest(request, profile, staged, checks(*found))))
    return checks(*found, request.lang)


def answer(
    request: Request, profile: Profile, seen: Sequence[Observation], done: Sequence[Check], folder: Path
) -> dict[str, Any]:
    """The contract of a run, as `--json` prints it: sentences in its language, all else the same in every language."""
    lang = request.lang
    return {
        "schema": SCHEMA,
        "kind": "lab",
        "lang": lang,
        "seed": profile.seed,
        "machine": profile.device.title,
        "folder": artefacts.shown(folder),
        "complete": profile.complete,
        "usable": usable(profile),
        **_set_aside(request, profile, folder),
        "conventions": {"peaks": "dense", "attention": "single token, causal, flash-like counting", "unit": "SI"},
        "evidence": encode(contract.evidence(profile, seen, lang)),
        "assumptions": contract.assumptions(profile, lang),
        "limitations": contract.limitations(profile, lang),
        "risks": contract.risks(profile, lang),
        "claims": contract.claims(profile, seen, lang),
        **({"gains": found} if (found := told(profile, seen, lang)) else {}),
        "negative_test": contract.negative_test(profile, seen, lang),
        "checks": encode(tuple(done)),
        **({"student_extension": encode(request.extension)} if request.extension else {}),
    }


def _set_aside(request: Request, profile: Profile, folder: Path) -> dict[str, str]:
    """Why the run does not stand in the folder that was asked for; nothing when it does."""
    if folder == request.out:
        return {}
    phrase = f"answer.aside.{shortcoming(profile)}"
    return {"set_aside": say(phrase, request.lang, out=artefacts.shown(request.out), folder=artefacts.shown(folder))}


def manifest(request: Request, profile: Profile, staged: Staged, done: Sequence[Check]) -> dict[str, Any]:
    """How the run can be repeated and checked."""
    price = request.price_per_hour
    cost = None if price is None else cost_usd(price, profile.duration_s)
    return {
        "schema": "rooflens/manifest/1",
        "command": artefacts.shown(request.command),
        "seed": profile.seed,
        "started": profile.started,
        "duration_s": profile.duration_s,
        "durations_s": dict(request.durations_s),
        "complete": profile.complete,
        "usable": usable(profile),
        "versions": {"rooflens": __version__, "python": platform.python_version(), **profile.versions},
        "machine": profile.device.title,
        "contention": profile.contention or NONE_NOTICED,
        "throttle": profile.throttle or NONE_NOTICED,
        "files": {name: artefacts.sha256(staged.folder / name) for name in staged.made},
        "checks": encode(tuple(done)),
        **({"price_usd_per_hour": price, "cost_usd": cost} if cost is not None else {}),
    }


def cost_usd(price_per_hour: float, spent_s: float) -> float:
    """What a rented machine costs in this time: price an hour x seconds / 3600."""
    return price_per_hour * spent_s / 3600


def roofline_of(profile: Profile, seen: Sequence[Observation]) -> Roofline:
    """All that the picture is drawn from: the trusted ceilings and the trusted operators."""
    return Roofline(_drawn(profile), points(seen))


def _drawn(profile: Profile) -> Machine:
    """The machine as it is drawn: of a GPU also the datasheet's rates of what was measured, and not its host link.

    The link to other devices is drawn where their collectives were measured.
    """
    machine = profile.machine()
    if profile.device.kind != "gpu":
        return machine
    measured = {(c.path, c.dtype) for c in machine.find("compute")}
    joined = {point.level for point in profile.collectives}
    kept = tuple(c for c in machine.ceilings if c.kind != "link" or c.level in joined)
    sheet = (c for c in profile.ceilings if c.origin == "spec" and (c.path, c.dtype) in measured)
    return replace(machine, ceilings=(*kept, *sheet))


def _write_roofline(staged: Staged, profile: Profile, seen: Sequence[Observation], lang: str) -> list[str]:
    """Writes the picture and what it is drawn from; returns the names of what it shows."""
    roofline = roofline_of(profile, seen)
    staged.put("roofline.json", artefacts.to_json(roofline, ROOFLINE_SCHEMA).encode())
    if not roofline.machine.ceilings:
        return []
    figure = draw(roofline.machine, roofline.points, lang=lang)
    for kind in ("png", "svg"):
        staged.put(f"roofline.{kind}", render(figure, kind))
    return drawn_names(roofline, lang)


def drawn_names(roofline: Roofline, lang: str = "en") -> list[str]:
    """What the picture of this roofline shows: dtypes of its roofs, levels of its slopes, names of its points."""
    scene = compose(roofline.machine, roofline.points, lang=lang)
    roofs = [dtype for roof in scene.roofs for dtype in roof.dtypes]
    return [*roofs, *(slope.level for slope in scene.slopes), *(spot.point.name for spot in scene.spots)]


def _write_sections(staged: Staged, profile: Profile, seen: Sequence[Observation]) -> None:
    staged.put("device_query.json", _json(device_query(profile)))
    staged.put("peak_flops.json", _json(peak_flops(profile)))
    staged.put("bandwidth.json", _json(bandwidth(profile)))
    staged.put("decode_attention.json", _json(decode_attention(profile, seen)))


def _json(content: Mapping[str, Any]) -> bytes:
    return artefacts.to_json(dict(content)).encode()
