"""`rooflens advise`: which change pays most, and where does it stop paying?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.api.serving import advise
from rooflens.cli.options import (
    Finite,
    answer_file,
    format_options,
    json_flag,
    lang,
    load_options,
    machines,
    on,
    out_option,
    sizes,
)
from rooflens.cli.predict import bytes_options, reserve_options, said_bytes
from rooflens.cli.printing import emit, headed
from rooflens.errors import RooflensError
from rooflens.levers.advice import GOALS, SCHEMA, Advice, Lever
from rooflens.present.retold import retold
from rooflens.present.words import known, say
from rooflens.records import encode
from rooflens.units import show

HEADS = ("lever", "gain_floor", "gain_estimate", "stops_at", "memory", "usd", "flag")


@click.command("advise", epilog="Example:  rooflens advise llama-3.1-8b --on a100-sxm4-80gb --batch 16")
@click.argument("model")
@on
@load_options
@format_options
@reserve_options
@bytes_options
@click.option(
    "--acceptance", type=Finite(0, 1), help="Share of drafted tokens kept when drafting is tried (default 0.7)."
)
@click.option("--for", "goal", type=click.Choice(list(GOALS)), default="throughput", show_default=True)
@machines("--to", "Other machines to try, by default the best of the catalogue")
@out_option
@lang
@json_flag
def command(
    model: str, on: str, batch: str, context: str | None, to: list[str] | None, out: Path | None, lang: str,
    as_json: bool, runtime_bytes: str | None, graph_bytes: str | None, **asked: Any,
) -> None:  # fmt: skip
    """Which change to how MODEL is served pays most, and where does it stop paying?

    Every lever is tried alone: batch, formats, sparsity, drafts, parallelism, other machines. Those that cannot help
    say why.
    """
    said = {name: value for name, value in asked.items() if value is not None}
    said |= said_bytes(runtime_bytes, graph_bytes) | {"batch": _one(batch, "batch")}
    said |= {} if context is None else {"context": _one(context, "context")}
    found = advise(model, on, to=to, **said)
    if out is not None:
        artefacts.write_json(answer_file(out, "advise"), found, SCHEMA)
    emit(artefacts.to_json(encode(found), SCHEMA) if as_json else "\n\n".join(_shown(found, lang)))


def _one(text: str, name: str) -> float:
    found = sizes(text, name)
    if len(found) > 1:
        raise RooflensError(f"--{name} {text}: levers are tried on one load; name one {name}")
    return found[0]


def _shown(found: Advice, lang: str) -> Iterator[str]:
    yield say(
        "advise.title", lang, model=found.model, machine=found.machine, goal=say(f"advise.goal.{found.goal}", lang)
    )
    tried = [lever for lever in found.levers if lever.why_not is None]
    yield headed("advise", HEADS, [_row(lever, lang) for lever in tried], lang)
    notes = [f"{retold(lever.name, lang)}: {retold(lever.note, lang)}" for lever in tried if lever.note]
    if notes:
        yield "\n".join(notes)
    others = [lever for lever in found.levers if lever.why_not is not None]
    lines = [f"  {retold(lever.name, lang)}: {retold(lever.why_not, lang)}" for lever in others if lever.why_not]
    yield "\n".join([say("advise.cannot", lang), *lines])
    if found.notes:
        yield "\n".join(say("frame.note", lang, text=retold(note, lang)) for note in found.notes)
    yield say("advise.foot", lang)


def _row(lever: Lever, lang: str) -> list[str]:
    memory = (
        "-" if lever.memory_bytes is None else f"{'+' if lever.memory_bytes > 0 else ''}{_signed(lever.memory_bytes)}"
    )
    return [
        retold(lever.name, lang),
        _times(lever.gain_floor),
        _times(lever.gain_estimate),
        _load(lever.stops_at, lang),
        memory if lever.fits is not False else say("advise.no_room", lang, memory=memory),
        "-" if lever.usd_per_million_tokens is None else f"{lever.usd_per_million_tokens:.3g}",
        lever.engine_flag or "-",
    ]


def _load(stops_at: str | None, lang: str) -> str:
    """ "context 65536" in the language."""
    name, _, load = (stops_at or "-").partition(" ")
    return f"{known(f'predict.step.{name}', name, lang)} {load}".strip()


def _signed(size_bytes: float) -> str:
    return f"{'-' if size_bytes < 0 else ''}{show(abs(size_bytes), 'B', 3)}"


def _times(gain: float | None) -> str:
    return "-" if gain is None else f"{gain:.3g}x"
