"""`rooflens ceilings`: tokens/s that nobody can beat at batch 1."""

from __future__ import annotations

from pathlib import Path

import click

from rooflens import artefacts
from rooflens.api.claims import ceilings
from rooflens.batch_one import CONTEXT, CONVENTIONS, SCHEMA, Ceilings, Top
from rooflens.cli.options import SAME, json_flag, lang, machines
from rooflens.cli.printing import emit, table
from rooflens.cli.rows import rows_option, write
from rooflens.present.retold import retold
from rooflens.present.words import known, say
from rooflens.records import encode
from rooflens.units import show


@click.command("ceilings", epilog="Example:  rooflens ceilings llama-3.1-8b:q4_k_m --on h100-sxm5-80gb,l4")
@click.argument("models")
@machines("--on", "Machines", required=True)
@click.option(
    "--context",
    type=click.IntRange(1, 1 << 40),
    default=CONTEXT,
    show_default=True,
    help=f"{SAME['context']}; of one, a step streams the weights alone, which is the most tokens/s there can be.",
)
@click.option("--math", help=SAME["math"])
@rows_option
@lang
@json_flag
def command(
    models: str, on: list[str], context: int, math: str | None, out: Path | None, lang: str, as_json: bool
) -> None:
    """Tokens/s that nobody can beat at batch 1: each of MODELS on each machine.

    MODELS have commas between; MODEL:WEIGHTS sets the stored format, as llama-3.1-8b:q4_k_m. There is no column of
    TFLOP/s: one token multiplies each weight once, far left of every ridge point, so it would change nothing.
    """
    found = ceilings(models, on, context=context, math=math)
    answer = {"conventions": CONVENTIONS, **encode(found)}
    if out is not None:
        write(out, "ceilings", answer, [encode(top) for top in found.ceilings], SCHEMA)
    emit(artefacts.to_json(answer, SCHEMA) if as_json else _shown(found, lang))


def _shown(found: Ceilings, lang: str) -> str:
    by = {(top.model, top.machine): top for top in found.ceilings}
    rows = [
        [model, _weights([by[model, m] for m in found.machines]), *(_cell(by[model, m], lang) for m in found.machines)]
        for model in found.models
    ]
    heads = [say("ceilings.model", lang), say("ceilings.weights", lang), *found.machines]
    notes = [say("frame.note", lang, text=retold(note, lang)) for note in found.notes]
    whole = [said for top in found.ceilings[:1] if (said := _whole(top, lang))]
    context = say("ceilings.context", lang, context=f"{found.context:,}")
    return f"{table(heads, rows, lang)}\n\n" + "\n".join([*whole, *notes, context])


def _weights(tops: list[Top]) -> str:
    known_bytes = [top.weight_bytes for top in tops if top.weight_bytes is not None]
    return show(known_bytes[0], "B") if known_bytes else "-"


def _cell(top: Top, lang: str) -> str:
    if top.tokens_per_s_ceiling is None:
        return "-"
    rate = f"{top.tokens_per_s_ceiling:.4g} tok/s"
    if top.fits is False:
        return say("ceilings.does_not_fit", lang, rate=rate, devices=top.devices_needed)
    bound = "" if top.bound == "memory" else f" ({known(f'frame.bound.{top.bound}', top.bound or '', lang)})"
    return rate + bound


def _whole(top: Top, lang: str) -> str:
    """The first figure, were the whole file streamed: what others divide by."""
    if top.tokens_per_s_whole_file is None or top.tokens_per_s_ceiling is None:
        return ""
    rates = {"whole": f"{top.tokens_per_s_whole_file:.4g}", "ceiling": f"{top.tokens_per_s_ceiling:.4g}"}
    return say("ceilings.whole_file", lang, model=top.model, machine=top.machine, **rates)
