"""`rooflens predict`: how fast could it be, how fast will it be, does it fit?"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rooflens import artefacts
from rooflens.api.serving import predict
from rooflens.cli.options import (
    ACCEPTANCE,
    MOST_POINTS,
    F,
    Finite,
    Named,
    answer_file,
    format_options,
    json_flag,
    lang,
    load_options,
    on,
    out_option,
    ratios,
    sizes,
)
from rooflens.cli.predict_shown import shown, shown_arithmetic, table_of
from rooflens.cli.printing import emit
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.prediction.arithmetic import Arithmetic
from rooflens.prediction.record import SCHEMA, Prediction
from rooflens.records import encode
from rooflens.units import parse

if TYPE_CHECKING:
    from rooflens.prediction.operator import OperatorPrediction

    Answer = Prediction | Arithmetic | OperatorPrediction

LIMITS = ("mbu", "mfu")


def reserve_options(function: F) -> F:
    """--engine and what it sets aside: memory fraction, pages, the largest pass."""
    for option in (
        click.option(
            "--engine", help="vllm, sglang, trtllm or llama.cpp: its defaults and what it costs beside the floor."
        ),
        click.option("--memory-fraction", type=Finite(0, 1, min_open=True), help="Share of memory the engine takes."),
        click.option("--block-tokens", type=click.IntRange(1), help="Tokens of a cache page."),
        click.option("--batched-tokens", type=click.IntRange(1), help="Most tokens in one pass (default 8192)."),
    )[::-1]:
        function = option(function)
    return function


def bytes_options(function: F) -> F:
    """--runtime-bytes and --graph-bytes."""
    for option in (
        click.option("--runtime-bytes", help="What driver and libraries take, as 0.4GiB."),
        click.option("--graph-bytes", help="What CUDA graphs reserve, as 1GiB."),
    )[::-1]:
        function = option(function)
    return function


def said_bytes(runtime_bytes: str | None, graph_bytes: str | None) -> dict[str, float]:
    """Those of the two that were said, in bytes."""
    said = (("runtime_bytes", runtime_bytes), ("graph_bytes", graph_bytes))
    return {name: parse(text, "B") for name, text in said if text is not None}


@click.command("predict", epilog="Example:  rooflens predict llama-3.1-8b --on h100-sxm5-80gb --batch 1:512")
@click.argument("model")
@on
@load_options
@format_options
@reserve_options
@bytes_options
@click.option(
    "--flavour",
    type=click.Choice(["static", "dynamic", "block"]),
    help="Scales of one fp8 product alone: known before, of each token, of blocks.",
)
@click.option("--calibration", type=Named(), help="A file that `rooflens fit` wrote.")
@ACCEPTANCE
@click.option(
    "--measured-tokens-per-s",
    type=Finite(0, min_open=True),
    help="What a clock said, as tokens/s over the batch: adds MBU and a verdict.",
)
@click.option(
    "--fail-below", multiple=True, metavar="NAME=RATIO", help="Exit 1 under this: mbu=0.6 (of what was measured)."
)
@click.option("--plot", type=Named(), help="Draw curves over --batch or --context (.png or .svg).")
@click.option("--csv", "as_csv", type=Named(), help="Write the same curves as CSV.")
@out_option
@lang
@json_flag
def command(
    model: str, on: str, batch: str, context: str | None, plot: Path | None, as_csv: Path | None, out: Path | None,
    fail_below: tuple[str, ...], lang: str, as_json: bool, runtime_bytes: str | None, graph_bytes: str | None,
    **asked: Any,
) -> None:  # fmt: skip
    """How fast could MODEL be served on a machine, how fast will it be, and does it fit?

    MODEL is a catalogue name, a config.json, a file with weights, params=8e9,weight_bytes=4.6e9, or one operator:
    gemm:M=16,K=4096,N=14336, attention:B=16,H=32,K=8,W=128,S=4096.
    """
    limits = ratios(fail_below, "fail-below", LIMITS)
    if limits and asked["measured_tokens_per_s"] is None:
        raise RooflensError("--fail-below compares a measured rate: give --measured-tokens-per-s")
    batches, contexts = sizes(batch, "batch"), sizes(context, "context") if context is not None else [None]
    grid = list(itertools.product(batches, contexts))
    if len(grid) > MOST_POINTS:
        raise RooflensError(f"{len(grid)} loads were asked for; {MOST_POINTS} are the most at once, take larger steps")
    if len(grid) > 1 and asked["measured_tokens_per_s"] is not None:
        raise RooflensError(f"one measured rate belongs to one load, and {len(grid)} were asked for")
    said = {name: value for name, value in asked.items() if value is not None}
    said |= said_bytes(runtime_bytes, graph_bytes)
    said |= {"calibration": str(said["calibration"])} if "calibration" in said else {}
    answers = [predict(model, on, batch=b, **({} if c is None else {"context": c}), **said) for b, c in grid]
    _curves(answers, plot, as_csv, lang)
    found = [encode(answer) for answer in answers]
    whole = found[0] if len(found) == 1 else {"loads": found}
    if out is not None:
        artefacts.write_json(answer_file(out, "predict"), whole, SCHEMA)
    emit(artefacts.to_json(whole, SCHEMA) if as_json else _text(answers, lang))
    _judge(limits, answers[0])


def _text(answers: list[Answer], lang: str) -> str:
    first = answers[0]
    if isinstance(first, Arithmetic):
        return shown_arithmetic(first, lang)
    if not isinstance(first, Prediction):
        from rooflens.cli.predict_alone_shown import shown_operator

        return shown_operator(first, lang)
    several = [answer for answer in answers if isinstance(answer, Prediction)]
    return shown(first, lang) if len(several) == 1 else table_of(several, lang)


def _curves(answers: list[Answer], plot: Path | None, as_csv: Path | None, lang: str) -> None:
    if plot is None and as_csv is None:
        return
    several = [answer for answer in answers if isinstance(answer, Prediction)]
    if len(several) < 2:
        raise RooflensError("curves need several loads: give --batch 1:512 or a list of --context")
    from rooflens.cli.curves import draw, write_csv

    if plot is not None:
        draw(plot, several, lang)
    if as_csv is not None:
        write_csv(as_csv, several)


def _judge(limits: dict[str, float], answer: Answer) -> None:
    """Raises AnswerIsNo when what was measured is under a limit."""
    for name, least in limits.items():
        found = getattr(answer, name)
        if found is not None and found < least:
            raise AnswerIsNo(f"{name} is {found:.4g}, under the {least:g} asked for")
