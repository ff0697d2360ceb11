"""`rooflens measure`: the first stage of the lab alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.kept import keeping
from rooflens.cli.measuring import Kept, measuring_options, profile_of, remember, turn
from rooflens.cli.options import Named, json_flag, lang
from rooflens.cli.printing import bar, emit, headed, say
from rooflens.errors import RooflensError
from rooflens.lab.across_table import row
from rooflens.lab.link_table import tables
from rooflens.lab.staging import profile_file, profile_place, shortcoming
from rooflens.present import words
from rooflens.present.retold import retold
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import SCHEMA, Profile
from rooflens.units import percent, show


@click.command("measure", epilog="Example:  rooflens measure --quick -o profile.json")
@click.option("--out", "-o", type=Named(), help="Write the profile here: a file, or a folder.")
@measuring_options
@lang
@json_flag
@keeping
def command(out: Path | None, lang: str, as_json: bool, **measuring: Any) -> None:
    """Measure this machine's ceilings: GEMM peak per dtype, bandwidths, launch cost."""
    kept, file = Kept(), profile_file(out) if out else None
    began = _edition(file)
    with turn(measuring) as before:
        profile = _landed(file, began, measuring) if before else None
        if profile:
            say(words.say("measure.landed", lang, who=before))
        else:
            profile = _measured(file, measuring, kept, lang)
    emit(artefacts.to_json(profile, SCHEMA) if as_json else _shown(profile, lang))


def _measured(file: Path | None, measuring: dict[str, Any], kept: Kept, lang: str) -> Profile:
    """What is measured now, kept in `file` where one is named; interrupted, as much as is complete."""
    try:
        profile = profile_of(measuring, bar(), kept)
    except KeyboardInterrupt:
        if file and kept.profile:
            say(f"\nstopped; what was measured so far is in {_written(file, kept.profile, lang)}")
        raise
    remember(profile)
    if file:
        _written(file, profile, lang)
    return profile


def _edition(file: Path | None) -> tuple[int, int] | None:
    """What changes when a file is written anew; None where there is none."""
    with suppress(OSError):
        found = file.stat() if file else None
        return found and (found.st_mtime_ns, found.st_ino)
    return None


def _landed(file: Path | None, began: tuple[int, int] | None, measuring: dict[str, Any]) -> Profile | None:
    """The whole profile that another process has written into `file` since, if it holds all that is asked for."""
    if file is None or _edition(file) in (None, began):
        return None
    with suppress(RooflensError):
        found = artefacts.profile(file)
        return found if found.complete and _holds(found, measuring) else None
    return None


def _holds(found: Profile, measuring: dict[str, Any]) -> bool:
    """Whether links and all devices are in it where they are asked for."""
    there = {"links": bool(found.copies or found.collectives), "all_devices": bool(found.across)}
    return all(held for name, held in there.items() if measuring[name])


def _written(file: Path, profile: Profile, lang: str) -> Path:
    """Writes the profile, beside `file` where a better one stands, which is said. Returns where it is."""
    place = profile_place(file, profile)
    artefacts.write_json(place, profile, SCHEMA)
    if place != file:
        say("\n" + words.say(f"answer.aside.{shortcoming(profile)}", lang, out=file, folder=place))
    return place


def _shown(profile: Profile, lang: str) -> str:
    shown = [c for c in profile.ceilings if not c.fitted]  # protocols stand in the table of links
    rows = [[c.id, _value(c), _spread(c), str(len(c.samples)), _trust(c, lang)] for c in shown]
    lines = [profile.device.title, headed("measure", ["ceiling", "value", "spread", "samples", "trusted"], rows, lang)]
    lines += [*_beside(profile, lang), *_links(profile, lang)]
    for frame, sentences in (
        ("measure.skipped", profile.skipped),
        ("measure.contention", (profile.contention,)),
        ("measure.throttle", (profile.throttle,)),
        ("frame.note", (*profile.device.distrust, *profile.notes)),
    ):
        lines += [words.say(frame, lang, text=retold(said, lang)) for said in sentences if said]
    return "\n".join(lines)


def _beside(profile: Profile, lang: str) -> list[str]:
    """The slowest and the median of all devices in every ceiling, where they were measured at once."""
    if not profile.across:
        return []
    rows = [row(across) for across in profile.across]
    table = headed("measure", ["ceiling", "slowest", "figure", "median", "of_median"], rows, lang)
    return ["", words.say("measure.across", lang), table, ""]


def _links(profile: Profile, lang: str) -> list[str]:
    """Collectives by operation and copies by pair, where links were measured."""
    found = tables(profile)
    lines = []
    for name, columns, rows in (
        (
            "collectives",
            ["operation", "devices", "launched", "latency", "knee", "bus", "promise", "error"],
            found.collectives,
        ),
        ("copies", ["pair", "link", "latency", "knee", "rate", "promise"], found.copies),
    ):
        if rows:
            told = words.say(f"measure.{name}", lang, size=found.largest)
            lines += ["", told, headed("measure", columns, rows, lang)]
    if lines and found.promised:
        lines += [words.say("measure.promised", lang, rate=found.promised)]
    return [*lines, ""] if lines else []


def _value(ceiling: Ceiling) -> str:
    return show(ceiling.value, ceiling.unit)


def _spread(ceiling: Ceiling) -> str:
    if len(ceiling.samples) < 2 or ceiling.value <= 0:
        return ""
    return percent((max(ceiling.samples) - min(ceiling.samples)) / ceiling.value, 2)


def _trust(ceiling: Ceiling, lang: str) -> str:
    if ceiling.origin != "measured":
        return words.word("origin", ceiling.origin, lang)
    if ceiling.trusted:
        return words.say("measure.yes", lang)
    return words.say("measure.no", lang, why=retold(ceiling.why_not or "", lang))
