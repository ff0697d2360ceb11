"""`rooflens page`: the page as one file that works offline, to share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.api import machine, model
from rooflens.cli.options import (
    ACCEPTANCE,
    SAME,
    SHARED,
    USUAL_TOKENS,
    F,
    Finite,
    Named,
    format_options,
    json_flag,
    lang,
    machines,
)
from rooflens.cli.predict import bytes_options, reserve_options, said_bytes
from rooflens.cli.printing import emit
from rooflens.errors import RooflensError
from rooflens.models.lengths import usual_tokens
from rooflens.present.words import say
from rooflens.records import decode, encode, replace
from rooflens.server import hiding
from rooflens.server.hiding import Given
from rooflens.server.state import BATCHES, SCHEMA, State, settled
from rooflens.units import show

MODEL, MACHINE = "llama-3.1-8b", "h100-sxm5-80gb"  # what a page opens with when nobody names another; it shows both


MEASURED = click.option(
    "--measured-tokens-per-s",
    type=Finite(0, min_open=True),
    help="What a clock said, as tokens/s over the batch: adds a verdict.",
)


def state_options(function: F) -> F:
    """What the page opens with: the fields of its state."""
    count = click.IntRange(1)
    for option in (
        click.argument("model", default=MODEL),
        machines("--on", "One to four machines, the first is predicted for", "machines"),
        click.option(
            "--phase",
            type=click.Choice(["decode", "prefill"]),
            default="decode",
            show_default=True,
            help="decode or prefill: what is looked at first.",
        ),
        click.option("--batch", type=count, default=1, show_default=True, help="Sequences."),
        click.option("--context", type=count, help=f"{SAME['context']} (default {USUAL_TOKENS})."),
        format_options,
        click.option(
            "--prompt",
            type=count,
            help="New tokens a sequence in prefill; of decode the prompt behind which --output is generated.",
        ),
        *SHARED,
        ACCEPTANCE,
        MEASURED,
        reserve_options,
        bytes_options,
        lang,
    )[::-1]:
        function = option(function)
    return function


def opened(asked: dict[str, Any]) -> tuple[State, Given]:
    """The state that these options ask for, and the files they name as machines, which may be opened, by their names.

    A model's config.json becomes part of the state. Raises RooflensError for a name that nothing matches.
    """
    sizes = said_bytes(asked.pop("runtime_bytes", None), asked.pop("graph_bytes", None))
    said = {name: value for name, value in {**asked, **sizes}.items() if value is not None}
    said["machines"] = list(said.get("machines") or [MACHINE])
    for name in said["machines"]:
        machine(name)  # what is none is said now, and not by a page that has opened
    named = hiding.given(name.partition(",")[0].strip() for name in said["machines"] if _is_file(name))
    given = {**named, **hiding.kept_run()}
    called = {path: name for name, path in given.items()}
    said["machines"] = [_called(name, called) for name in said["machines"]]
    path = Path(said["model"])
    if path.suffix == ".json":
        said["model"], said["config"] = (
            path.stem if path.stem != "config" else path.resolve().parent.name,
            _config(path),
        )
    first = settled(decode(State, said, "state"), given)
    return (first if "context" in said else replace(first, context=usual_tokens(model(str(path))))), given


def _called(machine: str, called: dict[str, str]) -> str:
    """A machine as the page names it, its own figures behind it."""
    name, comma, own = machine.partition(",")
    return called.get(name.strip(), name) + comma + own


def _is_file(name: str) -> bool:
    path = Path(name.partition(",")[0].strip())
    return path.suffix in (".json", ".toml") or (path / "profile.json").is_file()


def _config(path: Path) -> str:
    return artefacts.read_text(path)


@click.command("page", epilog="Example:  rooflens page llama-3.1-8b --on h100-sxm5-80gb -o report.html")
@state_options
@click.option("--out", "-o", type=Named(), required=True, help="The file to write, as report.html.")
@json_flag
def command(out: Path, lang: str, as_json: bool, **asked: Any) -> None:
    """The page as one file: roofline, prediction, levers of MODEL, at every batch of its slider, without a server."""
    from rooflens.server.page import alone

    if out.suffix not in (".html", ".htm") or out.is_dir():
        raise RooflensError(f"--out {out}: name a file that ends in .html")
    first, given = opened({**asked, "lang": lang})
    artefacts.writable(out)
    text = hiding.named(alone(first).encode(), given)
    artefacts.write_bytes(out, text)
    if as_json:
        emit(artefacts.to_json({"file": artefacts.shown(out), "bytes": len(text), "state": encode(first)}, SCHEMA))
    else:
        states, size = len({*BATCHES, first.batch}), show(float(len(text)), "B", 3)
        emit(say("page.written", lang, path=artefacts.shown(out), states=states, size=size))
