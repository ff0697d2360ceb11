"""A whole lab: a profile (measured now, or given) -> every artefact, whole, with a manifest.

Files are written into a hidden folder beside each other and moved into place at the end, so a run that fails or is
interrupted never touches an older good one; what it had is kept in `partial/`.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rooflens import __version__, artefacts
from rooflens.lab import evidence as contract
from rooflens.lab.checks import Check, checks
from rooflens.lab.choose import to_draw
from rooflens.lab.extension import Extension
from rooflens.lab.interpretation import Other, interpretation
from rooflens.lab.observe import Observation, observations
from rooflens.lab.sections import bandwidth, decode_attention, device_query, peak_flops
from rooflens.present.plot import draw, render
from rooflens.present.scene import compose
from rooflens.records import encode, record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.points import Point
from rooflens.roofline.profile import SCHEMA as PROFILE_SCHEMA
from rooflens.roofline.profile import Profile

SCHEMA = "rooflens/lab/1"
ROOFLINE_SCHEMA = "rooflens/roofline/1"
PROFILE = "profile.json"
PARTIAL, STAGING = "partial", ".staging"
ARTEFACTS = (
    "device_query.json", "peak_flops.json", "bandwidth.json", "decode_attention.json",
    "roofline.json", "roofline.png", "roofline.svg", "interpretation.md", PROFILE,
)  # fmt: skip


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


@dataclass(slots=True)
class Staged:
    """The files of one run, in their hidden folder until they are whole."""

    out: Path
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.out / STAGING
        with suppress(OSError):
            shutil.rmtree(self.folder)

    def put(self, name: str, content: bytes) -> None:
        """Writes one file of the run."""
        artefacts.write_bytes(self.folder / name, content)

    def publish(self, *, complete: bool) -> Path:
        """Moves the files into place: into `out`, or into `out/partial` when an older complete run stands there."""
        keep = not complete and _complete(self.out)
        target = self.out / PARTIAL if keep else self.out
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(self.folder.iterdir(), key=lambda f: f.name == "manifest.json"):
            file.replace(target / file.name)
        self.folder.rmdir()
        return target


def lab(request: Request, profile: Profile, progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Writes every artefact of a profile and returns the contract. Raises RooflensError when the folder is no good."""
    staged, seen = Staged(request.out), observations(profile)
    progress("roofline", 0.0)
    drawn = _write_roofline(staged, profile, seen, request.lang)
    progress("interpretation", 0.7)
    text, answered = interpretation(profile, seen, request.other, request.lang)
    staged.put("interpretation.md", text.encode())
    _write_sections(staged, profile, seen)
    missing = [name for name in ARTEFACTS if not (staged.folder / name).is_file()]
    done = checks(profile, seen, drawn, answered, missing)
    staged.put("manifest.json", _json(manifest(request, profile, staged, done)))
    folder = staged.publish(complete=profile.complete)
    progress("written", 1.0)
    return answer(request, profile, seen, done, folder)


def keep(out: Path, profile: Profile) -> Path:
    """What an interrupted run had measured, written whole where it harms nothing."""
    staged = Staged(out)
    staged.put(PROFILE, artefacts.to_json(profile, PROFILE_SCHEMA).encode())
    return staged.publish(complete=False)


def answer(
    request: Request, profile: Profile, seen: Sequence[Observation], done: Sequence[Check], folder: Path
) -> dict[str, Any]:
    """The contract of a run, as `--json` prints it."""
    return {
        "schema": SCHEMA,
        "kind": "lab",
        "seed": profile.seed,
        "machine": profile.device.title,
        "folder": str(folder),
        "complete": profile.complete,
        "conventions": {"peaks": "dense", "attention": "single token, causal, flash-like counting", "unit": "SI"},
        "evidence": encode(contract.evidence(profile, seen)),
        "assumptions": contract.assumptions(profile),
        "limitations": contract.limitations(profile),
        "risks": contract.risks(profile),
        "claims": contract.claims(profile, seen),
        "negative_test": contract.negative_test(profile, seen),
        "checks": encode(tuple(done)),
        **({"student_extension": encode(request.extension)} if request.extension else {}),
    }


def manifest(request: Request, profile: Profile, staged: Staged, done: Sequence[Check]) -> dict[str, Any]:
    """How the run can be repeated and checked."""
    cost = None if request.price_per_hour is None else request.price_per_hour * profile.duration_s / 3600
    return {
        "schema": "rooflens/manifest/1",
        "command": request.command,
        "seed": profile.seed,
        "started": profile.started,
        "duration_s": profile.duration_s,
        "durations_s": dict(request.durations_s),
        "complete": profile.complete,
        "versions": {"rooflens": __version__, "python": platform.python_version(), **profile.versions},
        "machine": profile.device.title,
        "contention": profile.contention or "none noticed",
        "throttle": profile.throttle or "none noticed",
        "files": {
            name: artefacts.sha256(staged.folder / name) for name in ARTEFACTS if (staged.folder / name).is_file()
        },
        "checks": encode(tuple(done)),
        **({"price_usd_per_hour": request.price_per_hour, "cost_usd": cost} if cost is not None else {}),
    }


def roofline_of(profile: Profile, seen: Sequence[Observation]) -> Roofline:
    """All that the picture is drawn from: the trusted ceilings and the trusted operators."""
    return Roofline(profile.machine(), tuple(o.point for o in to_draw(seen)))


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
    staged.put(PROFILE, artefacts.to_json(profile, PROFILE_SCHEMA).encode())


def _json(content: Mapping[str, Any]) -> bytes:
    return artefacts.to_json(dict(content)).encode()


def _complete(folder: Path) -> bool:
    try:
        found = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("complete") is True


def writable(out: Path) -> None:
    """Raises RooflensError now, not after two minutes, when `out` cannot take the artefacts."""
    artefacts.write_bytes(out / STAGING / "try", b"")
    shutil.rmtree(out / STAGING, ignore_errors=True)
