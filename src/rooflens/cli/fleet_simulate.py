"""`rooflens fleet simulate`: a made-up fleet with faults that are known."""

from __future__ import annotations

from pathlib import Path

import click

from rooflens import artefacts
from rooflens.cli.options import Finite, Named, json_flag, lang
from rooflens.cli.printing import bar, emit
from rooflens.fleet.faults import KINDS, LOSS
from rooflens.fleet.planted import FILE, MOST_DEVICES, MOST_NODES, MOST_RUNS, SCHEMA, plant, wanted
from rooflens.records import encode


@click.command("simulate", epilog="Example:  rooflens fleet simulate --nodes 16 --faults 3 -o nodes/")
@click.option("--out", "-o", type=Named(), required=True, metavar="DIR", help="The folder for the files.")
@click.option("--nodes", type=click.IntRange(1, MOST_NODES), default=16, show_default=True, help="How many.")
@click.option("--devices", type=click.IntRange(1, MOST_DEVICES), default=8, show_default=True, help="Of each node.")
@click.option(
    "--faults",
    default="1%",
    show_default=True,
    help=f"A share of all devices, a count, or KIND=COUNT with commas; kinds are {', '.join(KINDS)}.",
)
@click.option("--loss", type=Finite(0.001, 0.9), default=LOSS, show_default=True, help="What a fault costs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of devices, faults and noise.")
@click.option(
    "--run", type=click.IntRange(0, MOST_RUNS), default=0, show_default=True, help="The same devices on another day."
)
@lang
@json_flag
def command(
    out: Path, nodes: int, devices: int, faults: str, loss: float, seed: int, run: int, lang: str, as_json: bool
) -> None:
    """A made-up fleet with faults that are known: files as if it had been measured, and truth.json with the plan."""
    from rooflens.present.words import say as phrase

    kinds = wanted(faults, devices, nodes * devices)
    truth = plant(out, nodes, devices, kinds, loss=loss, seed=seed, run=run, progress=bar())
    said = {"nodes": nodes, "devices": devices, "folder": out, "faults": len(truth.faults), "file": FILE}
    emit(artefacts.to_json(encode(truth), SCHEMA) if as_json else phrase("fleet.written", lang, **said))
