"""`rooflens bench`: what did my benchmark really say?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.accounting.bench_record import RATIOS, SCHEMA, Benches
from rooflens.api.benches import bench
from rooflens.cli.options import LINKS, answer_file, counts, format_options, json_flag, lang, out_option, ratios
from rooflens.cli.printing import emit, say
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.present.retold import retold
from rooflens.records import encode


@click.command("bench", epilog="Example:  rooflens bench result.json --on h100-sxm5-80gb")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--on",
    "on",
    metavar="MACHINE",
    help="Whose roofs apply: a catalogue id, profile.json, machine.toml or `here` (default: the device that the file "
    "names, where it is exactly one of the catalogue; else figures stand alone).",
)
@click.option(
    "--model", help="What was served (default: what the file names, where it is exactly one of the catalogue)."
)
@format_options
@counts("tp", "ep", "dp", "pp", "gpus-per-node")
@click.option(
    "--link",
    type=LINKS,
    help="Link that the figures are of (default: the machine's own scale-up link; host copies: pcie).",
)
@click.option(
    "--fail-below",
    multiple=True,
    metavar="NAME=RATIO",
    help="Exit 1 under this: mbu=0.6, mfu=0.4 or share_of_link=0.8; of a collective its plateau counts.",
)
@out_option
@lang
@json_flag
def command(
    files: tuple[str, ...], on: str | None, fail_below: tuple[str, ...], out: Path | None, lang: str, as_json: bool,
    **asked: Any,
) -> None:  # fmt: skip
    """What did my benchmark really say? Each figure against the ceiling it belongs to: MBU, MFU, share of the link.

    FILE: llama-bench (JSON, CSV, markdown), vLLM and SGLang serving results, nccl-tests, nvbandwidth, mamf-finder,
    BabelStream, rocprofiler-compute's roofs. What is over 100 % is called out with the likely mistake.
    """
    limits = ratios(fail_below, "fail-below", RATIOS)
    said = {name: value for name, value in asked.items() if value is not None}
    found = [bench(file, on, **said) for file in files]
    for one in found:
        for warning in one.warnings:
            say(f"{one.where}: {retold(warning, lang)}")
    encoded = [encode(one) for one in found]
    whole: dict[str, Any] = encoded[0] if len(encoded) == 1 else {"runs": encoded}
    if out is not None:
        artefacts.write_json(answer_file(out, "bench"), whole, SCHEMA)
    emit(artefacts.to_json(whole, SCHEMA) if as_json else _shown(found, lang))
    _judge(limits, found)


def _shown(found: list[Benches], lang: str) -> str:
    from rooflens.cli.bench_shown import shown

    return "\n\n".join(shown(one, lang) for one in found)


def _judge(limits: dict[str, float], found: list[Benches]) -> None:
    """Raises AnswerIsNo under a limit, RooflensError where no file has anything to set against it."""
    for name, least in limits.items():
        known = [
            (one.where, point) for one in found for point in one.points
            if point.ratio_name == name and point.headline and point.ratio is not None
        ]  # fmt: skip
        if not known:
            gone = [point.missing for one in found for point in one.points if point.missing]
            raise RooflensError(f"{name} is not known: {gone[0] if gone else 'no figure of the files is of it'}")
        for where, point in known:
            if point.ratio is not None and point.ratio < least:
                raise AnswerIsNo(f"{where}: {name} of {point.name} is {point.ratio:.4g}, under the {least:g} asked for")
