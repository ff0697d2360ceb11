"""`rooflens kernels`: what did my profiler really say?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.accounting.comparing import SCHEMA as COMPARE_SCHEMA
from rooflens.accounting.record import SCHEMA, Account
from rooflens.api.profiles import Read, compare, read
from rooflens.cli.options import (
    SAME,
    USUAL_TOKENS,
    Finite,
    Named,
    answer_file,
    counts,
    format_options,
    json_flag,
    lang,
    limit,
    out_option,
)
from rooflens.cli.printing import emit, say
from rooflens.errors import MOST_NAMES, AnswerIsNo, RooflensError, Unknown
from rooflens.present.retold import retold
from rooflens.records import encode

COMPARE = "compare"
OF_RUN = ("mbu", "mfu")
OF_KERNEL = "share_of_roof"
MOST_NAME = 80  # of a kernel's name, in a sentence


@click.command("kernels", epilog="Example:  rooflens kernels trace.json.gz --on h100-sxm5-80gb --plot k.png")
@click.argument("files", nargs=-1, required=True, metavar="FILE... | compare BEFORE AFTER")
@click.option(
    "--on",
    "on",
    metavar="MACHINE",
    help="Whose roofs apply: a catalogue id, profile.json, machine.toml or `here` (default: the device that the file "
    "names, where it is exactly one of the catalogue).",
)
@click.option("--model", help="Look for the layers of this model in the order of the kernels.")
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Sequences a step, with --model.")
@click.option(
    "--context", type=click.IntRange(1), help=f"{SAME['context']} in decode, with --model (default {USUAL_TOKENS})."
)
@counts("tp", "ep")
@format_options
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="Kernels in the table.")
@click.option(
    "--fail-below",
    multiple=True,
    metavar="NAME=RATIO",
    help="Exit 1 under this: mbu=0.6, mfu=0.4, or share_of_roof:KERNEL=0.7 (a part of its name).",
)
@click.option("--tolerance", type=Finite(0, 1), help="With compare: how far a kernel's time may move (default 0.05).")
@click.option("--plot", type=Named(), help="Draw roofline and bar of the time (.png or .svg).")
@out_option
@lang
@json_flag
def command(
    files: tuple[str, ...], on: str | None, model: str | None, batch: int, context: int | None, top: int,
    fail_below: tuple[str, ...], tolerance: float | None, plot: Path | None, out: Path | None, lang: str,
    as_json: bool, **shared: Any,
) -> None:  # fmt: skip
    """What did my profiler really say? Every kernel under its roof, and the whole run attributed.

    FILE: Nsight Compute (CSV, .ncu-rep), Nsight Systems (sqlite, stats CSV), PyTorch traces, rocprof; gzipped or not.
    `compare BEFORE AFTER`: two runs, what moved and why.
    """
    limits = [_limit(text) for text in fail_below]
    of_step = _of_step(batch, context, shared)
    if files[0] == COMPARE and not Path(COMPARE).exists():
        if model or plot or limits or of_step:
            raise RooflensError("compare takes --on, --tolerance, --top, --out and --json; the rest is of one run")
        _compare(files[1:], on, tolerance, top, out, lang, as_json=as_json)
        return
    if tolerance is not None:
        raise RooflensError("--tolerance is of two runs: rooflens kernels compare BEFORE AFTER")
    if model is None and of_step:
        raise RooflensError(f"--{next(iter(of_step))} says what step a model ran; name the model with --model")
    every = [read(file, on, model=model, **of_step) for file in files]
    found = [one.account for one in every]
    for one in found:
        _warn(one.where, one.warnings, lang)
    if plot is not None:
        _draw(plot, every, lang)
    encoded = [encode(one) for one in found]
    whole: dict[str, Any] = encoded[0] if len(encoded) == 1 else {"runs": encoded}
    if out is not None:
        artefacts.write_json(answer_file(out, "kernels"), whole, SCHEMA)
    emit(artefacts.to_json(whole, SCHEMA) if as_json else _shown(found, top, lang))
    _judge(limits, found)


def _warn(where: str, warnings: Iterable[str], lang: str) -> None:
    for warning in warnings:
        say(f"{where}: {retold(warning, lang)}")


def _of_step(batch: int, context: int | None, shared: dict[str, Any]) -> dict[str, Any]:
    """The options that were given of those that say what step a model ran."""
    given = {"batch": batch if batch > 1 else None, "context": context, **shared}
    return {name: value for name, value in given.items() if value is not None}


def _compare(
    files: tuple[str, ...], on: str | None, tolerance: float | None, top: int, out: Path | None, lang: str, *,
    as_json: bool,
) -> None:  # fmt: skip
    from rooflens.cli.kernels_shown import compared

    if len(files) != 2:
        raise RooflensError(f"compare takes two files, BEFORE and AFTER, not {len(files)}")
    found = compare(files[0], files[1], on, tolerance=tolerance)
    for where, warnings in found.warnings.items():
        _warn(where, warnings, lang)
    encoded = encode(found)
    if out is not None:
        artefacts.write_json(answer_file(out, "kernels-compare"), encoded, COMPARE_SCHEMA)
    emit(artefacts.to_json(encoded, COMPARE_SCHEMA) if as_json else compared(found, top, lang))


def _shown(found: list[Account], top: int, lang: str) -> str:
    from rooflens.cli.kernels_shown import shown

    return "\n\n".join(shown(one, top, lang) for one in found)


def _draw(path: Path, every: list[Read], lang: str) -> None:
    from rooflens.present.plot import render
    from rooflens.present.spent import draw

    if path.suffix not in (".png", ".svg"):
        raise RooflensError(f"--plot {path}: the name must end in .png or .svg")
    if len(every) > 1:
        raise RooflensError(f"--plot draws one run, and {len(every)} files were given; draw each alone")
    artefacts.write_bytes(path, render(draw(every[0].account, every[0].machine, lang), path.suffix[1:]))


def _limit(text: str) -> tuple[str, str, float]:
    """`share_of_roof:gemm=0.7` as what, whose and how much."""
    name, equals, value = text.rpartition("=")
    name, value = (name, value) if equals else (text, "")
    what, _, whose = name.partition(":")
    if what not in (*OF_RUN, OF_KERNEL):
        raise Unknown("ratio", name, [*OF_RUN, f"{OF_KERNEL}:KERNEL"])
    if (what == OF_KERNEL) != bool(whose):
        said = "name a kernel" if what == OF_KERNEL else f"{what} is of the whole run"
        raise RooflensError(f"--fail-below {text!r}: {said}, as share_of_roof:gemm=0.7 or mbu=0.6")
    return what, whose, limit(value, f"--fail-below {text!r}", name)


def _judge(limits: list[tuple[str, str, float]], found: list[Account]) -> None:
    """Raises AnswerIsNo under a limit, RooflensError where there is nothing to set against it."""
    for account in found:
        for what, whose, least in limits:
            for name, value in _figures(account, what, whose):
                if value < least:
                    raise AnswerIsNo(f"{account.where}: {name} is {value:.4g}, under the {least:g} asked for")


def _figures(account: Account, what: str, whose: str) -> list[tuple[str, float]]:
    if what in OF_RUN:
        value = getattr(account, what)
        if value is None:
            raise RooflensError(f"{account.where}: {what} is not known, since no kernel has both its work and a roof")
        return [(what, value)]
    named = [kernel for kernel in account.kernels if whose in kernel.name]
    if not named:
        names = dict.fromkeys(kernel.name[:MOST_NAME] for kernel in account.kernels)
        raise Unknown("kernel", whose, list(names)[:MOST_NAMES])
    known = [(f"share_of_roof of {k.name[:MOST_NAME]}", k.share_of_roof) for k in named if k.share_of_roof is not None]
    if not known:
        why = next(iter(named[0].missing.values()), "its work is not in the file")
        raise RooflensError(f"{account.where}: share_of_roof of {named[0].name[:MOST_NAME]} is not known: {why}")
    return known
