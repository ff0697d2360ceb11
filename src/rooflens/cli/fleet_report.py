"""`rooflens fleet report DIR`: who is slow, why, and what does it cost?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rooflens import artefacts
from rooflens.api.fleets import judged_fleet
from rooflens.cli.options import (
    SAME,
    USUAL_TOKENS,
    Finite,
    Named,
    answer_file,
    format_options,
    json_flag,
    lang,
    out_option,
    ratios,
)
from rooflens.cli.printing import emit, say
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.fleet.report import SCHEMA, Report
from rooflens.measure.processors import processors
from rooflens.peers.record import Rules
from rooflens.records import encode
from rooflens.units import percent

if TYPE_CHECKING:
    from rooflens.fleet.gathered import NodeFile

LIMITS = ("peers", "itself", "answered", "ok")


@click.command("report", epilog="Example:  rooflens fleet report nodes/ --model llama-3.1-70b --tp 8")
@click.argument("folder", type=Named(), metavar="DIR")
@click.option("--baseline", type=Named(), metavar="FILE", help="Judge against what was stored of each kind and device.")
@click.option("--save-baseline", type=Named(), metavar="FILE", help="Put this run there; who is out is not usual.")
@click.option(
    "--least", type=Finite(0.001, 0.9), default=Rules().least, show_default=True, help="The loss that matters."
)
@click.option("--expect", type=click.IntRange(1), metavar="N", help="So many nodes should be there: fewer is a no.")
@click.option("--model", help="What slow devices cost: tokens/s of a group that holds one.")
@click.option("--tp", type=click.IntRange(1), help="Devices of a group that share each layer.")
@click.option("--pp", type=click.IntRange(1), help="Devices of a group that share the layers, as stages.")
@click.option("--batch", type=click.IntRange(1), help="Sequences at once.")
@click.option("--context", type=click.IntRange(1), help=f"{SAME['context']} in a decode step (default {USUAL_TOKENS}).")
@format_options
@click.option("--plot", type=Named(), help="Draw it (.png or .svg).")
@click.option("--all", "everybody", is_flag=True, help="Show all that is out, and every figure that is behind.")
@click.option(
    "--fail-below",
    multiple=True,
    metavar="NAME=RATIO",
    help="Exit 1 only below these: peers=0.9, itself=0.9 (worst scores), answered=0.99, ok=0.99 (shares).",
)
@out_option
@lang
@json_flag
def command(
    folder: Path, baseline: Path | None, save_baseline: Path | None, least: float, expect: int | None,
    model: str | None, plot: Path | None, everybody: bool, fail_below: tuple[str, ...], out: Path | None, lang: str,
    as_json: bool, **asked: Any,
) -> None:  # fmt: skip
    """Who is slow, why, and what does it cost? DIR holds a file a node, as `rooflens measure -o DIR/NODE.json` writes.

    Each device is set beside its equals (same name, driver and library), a stored baseline and its own past. Exits 1
    when a device or a link is out or a node has no figures.
    """
    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise RooflensError(f"--plot {plot}: the name must end in .png or .svg")
    limits = ratios(fail_below, "fail-below", LIMITS)
    said = {name: value for name, value in asked.items() if value is not None}
    found, files = judged_fleet(
        folder, baseline=baseline, save_baseline=save_baseline, model=model, rules=Rules(least=least),
        expected=expect, workers=processors(), **said,
    )  # fmt: skip
    if out is not None:
        artefacts.write_json(answer_file(out, "fleet"), found, SCHEMA)
    if plot is not None:
        _draw(plot, found, files, lang)
    emit(artefacts.to_json(encode(found), SCHEMA) if as_json else _shown(found, lang, everybody=everybody))
    if save_baseline is not None:
        say(_phrase("fleet.saved", lang, file=save_baseline))
    if reason := _below(found, limits, lang) if limits else _ill(found, lang):
        raise AnswerIsNo(reason)


def _draw(path: Path, found: Report, files: tuple[NodeFile, ...], lang: str) -> None:
    from rooflens.present.canvas import render
    from rooflens.present.fleet import draw, shown

    sheet = shown(
        found.devices, found.spreads, [figure for one in files for figure in one.figures], nodes=found.nodes,
        silent=len(found.silent), kinds=[kind.key.text for kind in found.kinds], least=found.rules.least,
    )  # fmt: skip
    artefacts.write_bytes(path, render(draw(sheet, lang), path.suffix[1:]))


def _shown(found: Report, lang: str, *, everybody: bool) -> str:
    from rooflens.cli.fleet_shown import shown

    return shown(found, lang, everybody=everybody)


def _phrase(key: str, lang: str, **values: object) -> str:
    from rooflens.present.words import say as phrase

    return phrase(key, lang, **values)


def _ill(found: Report, lang: str) -> str:
    """Why the answer is no; "" where it is yes."""
    if found.healthy:
        return ""
    missing = max((found.expected or 0) - found.nodes, 0)
    counts = {"devices": len(found.out), "links": len(found.slow_links), "silent": len(found.silent) + missing}
    return _phrase("fleet.ill", lang, **counts)


def _below(found: Report, limits: Mapping[str, float], lang: str) -> str:
    reached = dict(_reached(found))
    low = [f"{name} {percent(reached[name], 4)}" for name, limit in limits.items() if reached.get(name, 1.0) < limit]
    return _phrase("fleet.below", lang, what=", ".join(low)) if low else ""


def _reached(found: Report) -> Iterator[tuple[str, float]]:
    """The ratios that --fail-below may ask for; one that is not known is not below anything."""
    for name in ("peers", "itself"):
        scores = [score for one in found.devices if (score := getattr(one, f"beside_{name}")) is not None]
        if scores:
            yield name, min(scores)
    yield "answered", (found.nodes - len(found.silent)) / max(found.nodes, found.expected or 0)
    if found.devices:
        yield "ok", 1 - len(found.out) / len(found.devices)
