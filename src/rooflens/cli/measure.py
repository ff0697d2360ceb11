"""`rooflens measure`: the first stage of the lab alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.measuring import Kept, measuring_options, profile_of, remember
from rooflens.cli.options import json_flag
from rooflens.cli.printing import bar, emit, say, table
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import SCHEMA, Profile
from rooflens.units import percent, show


@click.command("measure", epilog="Example:  rooflens measure --quick -o profile.json")
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Write the profile here.")
@measuring_options
@json_flag
def command(out: Path | None, as_json: bool, **measuring: Any) -> None:
    """Measure this machine's ceilings: GEMM peak per dtype, bandwidths, launch cost."""
    kept = Kept()
    try:
        profile = profile_of(measuring, bar(), kept)
    except KeyboardInterrupt:
        if out and kept.profile:
            artefacts.write_json(out, kept.profile, SCHEMA)
            say(f"\nstopped; what was measured so far is in {out}")
        raise
    if out:
        artefacts.write_json(out, profile, SCHEMA)
    remember(profile)
    emit(artefacts.to_json(profile, SCHEMA) if as_json else _shown(profile))


def _shown(profile: Profile) -> str:
    rows = [[c.id, _value(c), _spread(c), str(len(c.samples)), _trust(c)] for c in profile.ceilings]
    lines = [profile.device.title, table(["ceiling", "value", "spread", "samples", "trusted"], rows)]
    lines += [f"skipped: {s}" for s in profile.skipped]
    lines += [f"contention: {profile.contention}"] if profile.contention else []
    lines += [f"throttle: {profile.throttle}"] if profile.throttle else []
    lines += [f"note: {n}" for n in (*profile.device.distrust, *profile.notes)]
    return "\n".join(lines)


def _value(ceiling: Ceiling) -> str:
    return show(ceiling.value, ceiling.unit)


def _spread(ceiling: Ceiling) -> str:
    if len(ceiling.samples) < 2 or ceiling.value <= 0:
        return ""
    return percent((max(ceiling.samples) - min(ceiling.samples)) / ceiling.value, 2)


def _trust(ceiling: Ceiling) -> str:
    if ceiling.origin != "measured":
        return ceiling.origin
    return "yes" if ceiling.trusted else f"no: {ceiling.why_not}"
