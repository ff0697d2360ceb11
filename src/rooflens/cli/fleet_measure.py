"""`rooflens fleet measure`: every node of a Ray cluster at the same time, one file a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.options import Finite, Named, json_flag, lang
from rooflens.cli.printing import emit, headed, say
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.fleet.measuring.record import SCHEMA, Asking, Gathered, Outcome
from rooflens.present.retold import retold
from rooflens.present.words import say as phrase
from rooflens.units import show

FLAGS = ("quick", "full", "links")
VALUES = ("budget_s", "dtypes", "seed")


@click.command("measure", epilog="Example:  rooflens fleet measure --ray auto --quick -o nodes/")
@click.option(
    "--ray", "address", required=True, metavar="ADDRESS", help="auto, HOST:PORT of the head, ray://HOST:PORT."
)
@click.option("--out", "-o", type=Named(), required=True, help="Folder for one file a node; what is there stays.")
@click.option("--device", default="auto", show_default=True, help="As of measure, the same on every node.")
@click.option("--quick", is_flag=True, help="A shorter look, the same on every node.")
@click.option("--full", is_flag=True, help="As long as it takes.")
@click.option("--links", is_flag=True, help="Also links between the GPUs of each node, and collectives.")
@click.option("--budget-s", type=Finite(), help="Each node stops cleanly after so many seconds.")
@click.option("--dtypes", help="Only these products: fp32,fp64,bf16,fp16,int8.")
@click.option("--seed", type=click.IntRange(0), help="Of the random data.")
@click.option("--nodelist", metavar="NAME,...", help="Only these nodes.")
@click.option("--limit-s", type=Finite(1), default=3600, show_default=True, help="A node that takes longer hangs.")
@click.option("--start-s", type=Finite(1), default=120, show_default=True, help="So long all wait for the last one.")
@click.option("--attempts", type=click.IntRange(1, 10), default=2, show_default=True, help="For a node that died.")
@click.option("--installed", is_flag=True, help="Use the rooflens of the nodes; else our own code travels there.")
@click.option("--pip", "pip", multiple=True, metavar="PACKAGE", help="Let Ray install this on the nodes first.")
@click.option("--python", default="", metavar="PROGRAM", help="Python of the nodes, where it is not the one of Ray.")
@lang
@json_flag
def command(
    address: str, out: Path, device: str, nodelist: str | None, limit_s: float, start_s: float, attempts: int,
    installed: bool, pip: tuple[str, ...], python: str, lang: str, as_json: bool, **measuring: Any,
) -> None:  # fmt: skip
    """Is every machine measured? All nodes of a Ray cluster at the same time, each with all of its accelerators.

    One file a node lands in the folder as it comes, for rooflens fleet report. What has landed is not measured again:
    a run that was stopped is started again with the same line. Exits 1 when a node gave no profile.
    """
    from rooflens.fleet.landing import Landing
    from rooflens.fleet.measuring.driver import fleet_measure

    if measuring["quick"] and measuring["full"]:
        raise RooflensError("--quick and --full contradict each other; give one of them")
    asking = Asking(
        _arguments(measuring), device, limit_s, start_s, attempts, not installed, pip, python,
        tuple(name.strip() for name in (nodelist or "").split(",") if name.strip()),
    )  # fmt: skip
    found = fleet_measure(address, Landing(out), asking, lambda one, count, all_: _told(one, count, all_, lang))
    emit(artefacts.to_json(found, SCHEMA) if as_json else shown(found, lang))
    if found.missing:
        raise AnswerIsNo(phrase("fleet_measure.missing", lang, count=len(found.missing), all=len(found.nodes)))


def _arguments(measuring: dict[str, Any]) -> tuple[str, ...]:
    """What every node's `rooflens measure` is given."""
    flags = [f"--{name}" for name in FLAGS if measuring[name]]
    named = {name: measuring[name] for name in VALUES if measuring[name] is not None}
    values = [part for name, value in named.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    return (*flags, *values)


def _told(outcome: Outcome, count: int, of: int, lang: str) -> None:
    say(phrase("fleet_measure.told", lang, count=count, all=of, node=outcome.node, what=_what(outcome, lang)))


def _what(outcome: Outcome, lang: str) -> str:
    state = phrase(f"fleet_measure.state.{outcome.state.replace(' ', '_')}", lang)
    return f"{state}: {retold(outcome.why, lang)}" if outcome.why else state


def shown(found: Gathered, lang: str) -> str:
    """A line a node, then how many landed, and what to do next."""
    rows = [[one.node, _what(one, lang), str(one.attempts or "-"), one.file or "-"] for one in found.nodes]
    lines = [headed("fleet_measure", ["node", "state", "attempts", "file"], rows, lang), ""]
    lines += [
        phrase("frame.note", lang, text=phrase("fleet_measure.left_out", lang, node=node, why=retold(why, lang)))
        for node, why in found.left_out.items()
    ]
    if found.began_within_s is not None:
        lines.append(phrase("fleet_measure.began", lang, time=show(found.began_within_s, "s", 2)))
    answered = len(found.nodes) - len(found.missing)
    lines.append(phrase("fleet_measure.landed", lang, count=answered, all=len(found.nodes), folder=found.folder))
    return "\n".join(lines)
