"""`rooflens plan`: what to buy or rent, how many, and how to share the model over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.api.serving import plan
from rooflens.cli.options import answer_file, format_options, json_flag, lang, machines, out_option
from rooflens.cli.predict import bytes_options, reserve_options, said_bytes
from rooflens.cli.printing import emit, headed
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.prediction.planning import SCHEMA, Layout, Plan
from rooflens.present.retold import retold
from rooflens.present.words import say
from rooflens.records import encode
from rooflens.units import parse, show

HEADS = ("machine", "layout", "devices", "batch", "tpot", "ttft", "limit", "hour", "usd")
SHOWN = 12


@click.command("plan", epilog="Example:  rooflens plan llama-3.1-8b --ttft 1s --tpot 50ms --users 100")
@click.argument("model")
@click.option("--ttft", required=True, help="Time to the first token that must hold, unloaded: 1s, 500ms.")
@click.option("--tpot", required=True, help="Time per output token that must hold: 50ms.")
@click.option("--users", type=click.IntRange(1, 1 << 20), required=True, help="Sequences in decode at the same time.")
@click.option("--prompt", type=click.IntRange(1), default=1024, show_default=True, help="Tokens of a request.")
@click.option("--output", type=click.IntRange(1), default=512, show_default=True, help="Tokens of an answer.")
@machines("--on", "Machines to try, by default all with a price")
@click.option("--percentile", help="Refused: percentiles under load need a queueing model.")
@format_options
@reserve_options
@bytes_options
@out_option
@lang
@json_flag
def command(
    model: str, ttft: str, tpot: str, users: int, on: list[str] | None, percentile: str | None, out: Path | None,
    lang: str, as_json: bool, runtime_bytes: str | None, graph_bytes: str | None, **asked: Any,
) -> None:  # fmt: skip
    """Which machines, how many, and how shared serve MODEL to so many users within these times?

    Exit 1 when none does.
    """
    if percentile is not None:
        raise RooflensError(
            f"--percentile {percentile}: times are unloaded, of one prompt alone; a percentile under load needs a "
            "queueing model that was checked on served points, and there is none here"
        )
    said = {name: value for name, value in asked.items() if value is not None}
    said |= said_bytes(runtime_bytes, graph_bytes)
    times = {"ttft_s": _seconds(ttft, "ttft"), "tpot_s": _seconds(tpot, "tpot")}
    found = plan(model, users=users, on=on, **times, **said)
    if out is not None:
        artefacts.write_json(answer_file(out, "plan"), found, SCHEMA)
    emit(artefacts.to_json(encode(found), SCHEMA) if as_json else "\n\n".join(_shown(found, lang)))
    if not found.layouts:
        raise AnswerIsNo("no machine that was tried meets this target")


def _seconds(text: str, name: str) -> float:
    try:
        float(text)
    except ValueError:
        return parse(text, "s")
    raise RooflensError(f"--{name} {text}: write the unit too, as 1s or 50ms")


def _shown(found: Plan, lang: str) -> Iterator[str]:
    wanted = found.target
    times = {"ttft": show(wanted.ttft_s, "s"), "tpot": show(wanted.tpot_s, "s")}
    sizes = {"prompt": f"{wanted.prompt:g}", "output": f"{wanted.output:g}"}
    yield say("plan.title", lang, model=found.model, users=wanted.users, **times, **sizes)
    if found.layouts:
        yield headed("plan", HEADS, [_row(layout, lang) for layout in found.layouts[:SHOWN]], lang)
    if len(found.layouts) > SHOWN:
        yield say("plan.more", lang, count=len(found.layouts) - SHOWN)
    if found.misses:
        lines = [f"  {miss.machine}: {retold(miss.why, lang)}" for miss in found.misses]
        yield "\n".join([say("plan.missed", lang), *lines])
    said = ((say(f"plan.convention.{name}", lang), retold(text, lang)) for name, text in found.conventions.items())
    yield "\n".join(f"{name}: {text}" for name, text in said)
    if found.notes:
        yield "\n".join(say("frame.note", lang, text=retold(note, lang)) for note in found.notes)


def _row(layout: Layout, lang: str) -> list[str]:
    least = "" if layout.estimated else "> "
    shared = f"{layout.replicas} x tp {layout.tp}" + (f", ep {layout.ep}" if layout.ep > 1 else "")
    return [
        layout.machine,
        shared,
        str(layout.devices),
        str(layout.batch),
        f"{least}{show(layout.tpot_s, 's', 3)}",
        f"{least}{show(layout.ttft_s, 's', 3)}",
        say(f"plan.limit.{layout.limit}", lang),
        "-" if layout.usd_per_hour is None else f"{layout.usd_per_hour:.2f}",
        "-" if layout.usd_per_million_tokens is None else f"{layout.usd_per_million_tokens:.3g}",
    ]
