"""`rooflens plot`: the last stage of the lab alone."""

from __future__ import annotations

from pathlib import Path

import click

from rooflens import artefacts
from rooflens.cli.options import Named, json_flag, lang
from rooflens.cli.printing import emit
from rooflens.errors import RooflensError
from rooflens.lab.observe import observations
from rooflens.lab.run import ROOFLINE_SCHEMA, Roofline, roofline_of
from rooflens.records import decode
from rooflens.roofline.profile import SCHEMA, Profile


@click.command("plot", epilog="Example:  rooflens plot rooflens-lab/roofline.json -o roofline.svg")
@click.argument("file", type=Named())
@click.option("--out", "-o", type=Named(), help="A .png or .svg; default: FILE with .png.")
@lang
@json_flag
def command(file: Path, out: Path | None, lang: str, as_json: bool) -> None:
    """Draw the roofline of a profile.json, a lab folder or a roofline.json."""
    from rooflens.present.plot import draw, render

    file = file / "profile.json" if file.is_dir() else file
    roofline = _roofline(file)
    out = out or file.with_suffix(".png")
    if out.suffix not in (".png", ".svg"):
        raise RooflensError(f"--out {out}: the name must end in .png or .svg")
    artefacts.write_bytes(out, render(draw(roofline.machine, roofline.points, lang=lang), out.suffix[1:]))
    answer = {"conventions": {"peaks": roofline.machine.peak_basis}, "written": artefacts.shown(out)}
    emit(artefacts.to_json(answer, "rooflens/plot/1") if as_json else str(out))


def _roofline(file: Path) -> Roofline:
    data = artefacts.read_json(file)
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, str) and schema.startswith("rooflens/roofline/"):
        return decode(Roofline, data, str(file), ROOFLINE_SCHEMA)
    profile = decode(Profile, data, str(file), SCHEMA)
    return roofline_of(profile, observations(profile))
