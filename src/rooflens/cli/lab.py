"""`rooflens lab`: the main job."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rooflens import artefacts
from rooflens.api import machine
from rooflens.cli.measuring import Kept, measuring_options, profile_of, remember, turn
from rooflens.cli.options import Finite, Named, json_flag, lang
from rooflens.cli.printing import bar, emit, headed, say
from rooflens.errors import RooflensError
from rooflens.lab.extension import extension
from rooflens.lab.observe import NAIVE, REPLAYED
from rooflens.lab.pairing import Other
from rooflens.lab.run import Request, cost_usd, keep, lab
from rooflens.lab.staging import PARTIAL, writable
from rooflens.present import words
from rooflens.present.retold import retold
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show

MOST_CELLS = 40  # lines on the screen
COMPARE = "measured:h200-sxm-141gb"


@click.command("lab", epilog="Example:  rooflens lab --quick --out my-lab --compare a100-sxm4-80gb")
@click.option(
    "--out",
    "-o",
    type=Named(),
    default=Path("rooflens-lab"),
    show_default=True,
    help="Folder for the artefacts.",
)
@click.option("--profile", "given", type=Named(), help="Start from this profile.json; measure nothing.")
@click.option(
    "--compare",
    default=COMPARE,
    show_default=True,
    metavar="MACHINE",
    help="A chip (attainable), or a profile.json or lab folder (achieved).",
)
@click.option("--price-per-hour", type=Finite(0), help="Price of this machine, for the cost of the run.")
@click.option(
    "--extension",
    "extra",
    type=Named(),
    help="Your own assumption, measurement, conclusion, limitation (JSON).",
)
@measuring_options
@lang
@json_flag
def command(
    out: Path, given: Path | None, compare: str, price_per_hour: float | None, extra: Path | None, lang: str,
    as_json: bool, **measuring: Any,
) -> None:  # fmt: skip
    """How fast is this machine, and where do LLM operators land on it?"""
    began_s = time.monotonic()
    if given:
        _nothing_measured(measuring)
    writable(out)
    added = extension(artefacts.read_json(extra), str(extra)) if extra else None
    durations_s: dict[str, float] = {}
    other, progress, kept = _other(compare), bar(durations_s), Kept()
    profile = artefacts.profile(given) if given else _measured(out, measuring, progress, kept)
    if not given:
        remember(profile)
    request = Request(out, _command(), other, lang, price_per_hour, added, durations_s)
    answer = lab(request, profile, lambda name, fraction: progress(name, 0.95 + 0.05 * fraction))
    if as_json:
        emit(artefacts.to_json(answer))
    else:
        _show(answer, out / PARTIAL if "set_aside" in answer else out, lang)
    if profile.device.kind == "gpu" and not given:
        (say if as_json else emit)(_rented(price_per_hour, time.monotonic() - began_s, lang))


def _rented(price_per_hour: float | None, spent_s: float, lang: str) -> str:
    """The last line of a run on a GPU: what goes on costing, and what it has cost since the start of the command."""
    if price_per_hour is None:
        return words.say("answer.rented", lang)
    cost, price = (f"${value:.2f}" for value in (cost_usd(price_per_hour, spent_s), price_per_hour))
    return words.say("answer.rented_cost", lang, price=price, cost=cost, time=show(spent_s, "s", 3))


def _nothing_measured(measuring: dict[str, Any]) -> None:
    """Raises RooflensError when a run that starts from a profile is told how to measure."""
    context = click.get_current_context()
    told = [name for name in measuring if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if told:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in told)
        raise RooflensError(f"--profile measures nothing, so {options} would change nothing; leave it out")


def _measured(out: Path, measuring: dict[str, Any], progress: Callable[[str, float], None], kept: Kept) -> Profile:
    try:
        with turn(measuring):
            return profile_of(measuring, lambda name, fraction: progress(name, 0.95 * fraction), kept)
    except KeyboardInterrupt:
        if kept.profile is not None:
            say(f"\nstopped; what was measured so far is in {keep(out, kept.profile)}")
        raise


def _other(compare: str) -> Other:
    """A chip, or a measured machine, whose figures nobody may override: what it achieved would not follow."""
    name, *assignments = (part.strip() for part in compare.split(","))
    profile = artefacts.profile_named(name)
    if profile is None:
        return Other(machine(compare))
    if assignments:
        raise RooflensError(
            f"--compare {compare}: {name} was measured, so {', '.join(assignments)} cannot be laid over it; "
            "leave that out, or compare with a chip"
        )
    return Other(profile.machine(profile.device.name), profile)


def _command() -> str:
    return shlex.join(["rooflens", *sys.argv[1:]])


def _show(answer: dict[str, Any], folder: Path, lang: str) -> None:
    emit(artefacts.read_text(folder / "interpretation.md"))
    emit(_cells(artefacts.read_json(folder / "decode_attention.json")["cells"], lang) + "\n")
    for check in answer["checks"]:
        state = words.say(f"answer.state.{check['state']}", lang)
        emit(f"{state:>15}  {retold(check['name'], lang)}: {check['why']}")
    drawn = (folder / "roofline.png").is_file()
    emit("\n" + words.say("answer.artefacts" if drawn else "answer.no_picture", lang, folder=folder))
    if "set_aside" in answer:
        emit(answer["set_aside"])


def _cells(cells: list[dict[str, Any]], lang: str) -> str:
    """Decode attention, a line a cell, with how often each was repeated; of hundreds those of the MiniGPT in fp16."""
    shown = cells if len(cells) <= MOST_CELLS else [c for c in cells if _tells(c)]
    rows = [
        [
            _cell(c), show(c["time_s"], "s"), str(c["count"]),
            show(c["achieved_bytes_per_s"], "B/s"), _share(c, "share_of_attainable"), _share(c, "share_of_peak"),
            _regime(c, lang),
        ]
        for c in shown
    ]  # fmt: skip
    heads = ["cell", "median", "count", "rate", "attainable", "peak", "regime"]
    table = headed("answer.head", heads, rows, lang)
    left = len(cells) - len(shown)
    return f"{table}\n{words.say('answer.more_cells', lang, count=left)}" if left else table


def _tells(cell: dict[str, Any]) -> bool:
    """Whether a cell is one of the MiniGPT in fp16, naive or replayed."""
    own = cell.get("model") == "MiniGPT" and cell["dtype"] == "fp16" and "kv_dtype" not in cell
    return own and cell.get("implementation") in (NAIVE, REPLAYED)


def _cell(cell: dict[str, Any]) -> str:
    way = f" ({cell['implementation']})" if cell.get("implementation") in (NAIVE, REPLAYED) else ""
    return f"{cell['dtype']} S={cell['context']}{way}"


def _regime(cell: dict[str, Any], lang: str) -> str:
    if cell["trusted"]:
        return words.word("bound", cell["regime"], lang)
    return words.say("frame.not_trusted", lang, why=retold(cell["why_not"], lang))


def _share(cell: dict[str, Any], field: str) -> str:
    return percent(cell[field]) if field in cell else "-"
