"""`rooflens doctor`: is this node healthy, and what does it cost?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.api.nodes import doctor
from rooflens.cli.options import answer_file, counts, format_options, json_flag, lang, out_option
from rooflens.cli.printing import emit, say
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.health.record import SCHEMA, Diagnosis
from rooflens.records import encode

_KINDS = {
    "topo": ("nvidia-smi topo", "rocm-smi --showtopo"),
    "smi": ("nvidia-smi",),
    "dmon": ("nvidia-smi dmon",),
    "nvlink": ("nvidia-smi nvlink",),
}


@click.command("doctor", epilog="Example:  rooflens doctor topo.txt smi.xml --model llama-3.1-70b --tp 4")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--topo", multiple=True, metavar="FILE", help="What nvidia-smi topo -m or rocm-smi --showtopo printed.")
@click.option(
    "--smi", multiple=True, metavar="FILE", help="What nvidia-smi printed: plain, -q, -q -x, --query-gpu CSV."
)
@click.option("--dmon", multiple=True, metavar="FILE", help="What nvidia-smi dmon printed.")
@click.option("--nvlink", multiple=True, metavar="FILE", help="What nvidia-smi nvlink -s printed.")
@click.option("--on", "on", metavar="MACHINE", help="What all devices are, where no file names them.")
@click.option("--model", help="Whose all-reduces are priced over the paths that were found.")
@counts("tp")
@format_options
@out_option
@lang
@json_flag
def command(
    files: tuple[str, ...], on: str | None, model: str | None, tp: int | None, out: Path | None, lang: str,
    as_json: bool, **more: Any,
) -> None:  # fmt: skip
    """Is this node healthy, and what does it cost? Links, clocks, power, memory errors, MIG, who is in the way.

    Without files the tools of this node are asked. FILE: the output of nvidia-smi (any form), topo -m, nvlink -s, dmon,
    rocm-smi --showtopo, lscpu, numactl or dmidecode, also inside of a longer report. Exits 1 when there is a fault.
    """
    kinds = {kind: more.pop(kind) for kind in _KINDS}
    for kind, named in kinds.items():
        _check(kind, named)
    asked = {name: value for name, value in more.items() if value is not None}
    every = (*files, *(file for named in kinds.values() for file in named))
    found = doctor(*every, on=on, model=model, tp=tp, **asked)
    for warning in found.warnings:
        say(_warned(warning, lang))
    encoded = encode(found)
    if out is not None:
        artefacts.write_json(answer_file(out, "doctor"), encoded, SCHEMA)
    emit(artefacts.to_json(encoded, SCHEMA) if as_json else _shown(found, lang))
    faults = [one for one in found.findings if one.severity == "fault"]
    if faults:
        raise AnswerIsNo(_verdict(len(faults), lang))


def _check(kind: str, files: tuple[str, ...]) -> None:
    """Raises RooflensError for a file that holds something else than its option says."""
    from rooflens import readers

    for file in files:
        held = readers.node(Path(file)).held
        if not any(one.startswith(_KINDS[kind]) for one in held):
            raise RooflensError(f"--{kind} {file}: it holds {', '.join(held)}; name it without --{kind}")


def _warned(warning: str, lang: str) -> str:
    from rooflens.present.retold import retold
    from rooflens.present.words import say as phrase

    return phrase("frame.warning", lang, text=retold(warning, lang))


def _verdict(faults: int, lang: str) -> str:
    from rooflens.present.words import say as phrase

    return phrase("doctor.faults", lang, count=faults)


def _shown(found: Diagnosis, lang: str) -> str:
    from rooflens.cli.doctor_shown import shown

    return shown(found, lang)
