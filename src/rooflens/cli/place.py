"""`rooflens place`: where each operator lands."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.api import Answer, Question, answer, machine
from rooflens.cli.options import (
    Finite,
    Named,
    answer_file,
    format_options,
    json_flag,
    lang,
    on,
    out_option,
    phases,
    ratios,
    sizes,
    step_options,
)
from rooflens.cli.printing import emit
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.operators.alone import alone, is_alone
from rooflens.records import encode, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.placement import SCHEMA
from rooflens.roofline.points import Point
from rooflens.units import parse
from rooflens.workload import Phase


@click.command("place", epilog="Example:  rooflens place llama-2-7b --on a100-sxm4-80gb --batch 1,16")
@click.argument("model")
@on
@step_options
@format_options
@click.option("--measured-s", help="What a clock said, as '7.9 ms' or plain seconds: adds MFU, MBU and the gap.")
@click.option(
    "--measured-tokens-per-s", type=Finite(0, min_open=True), help="What a clock said, as tokens/s over the batch."
)
@click.option(
    "--fail-below",
    multiple=True,
    metavar="NAME=RATIO",
    help="Exit 1 under this: mbu=0.6, mfu=0.4 (needs a measured time).",
)
@click.option("--plot", type=Named(), help="Draw the roofline with these operators (.png or .svg).")
@out_option
@click.option("--explain", is_flag=True, help="Show rows, formula, ceilings and sources.")
@lang
@json_flag
def command(
    model: str, on: str, phase: str, batch: str, context: str | None, plot: Path | None, explain: bool, as_json: bool,
    out: Path | None, output: int | None, measured_s: str | None, measured_tokens_per_s: float | None,
    fail_below: tuple[str, ...], lang: str, **asked: Any,
) -> None:  # fmt: skip
    """Where does each operator of MODEL land under the roofs of a machine?

    MODEL is a catalogue name, a config.json, or one operator: gemm:M=16,K=4096,N=14336.
    """
    limits = ratios(fail_below, "fail-below", ("mfu", "mbu"))
    if limits and measured_s is None and measured_tokens_per_s is None:
        raise RooflensError("--fail-below compares a measured time: give --measured-s or --measured-tokens-per-s")
    there = machine(on)
    contexts = sizes(context, "context") if context is not None else [None]
    steps = phases(phase)
    grid = list(itertools.product(steps, sizes(batch, "batch"), contexts))
    if len(grid) > 1 and (measured_s, measured_tokens_per_s) != (None, None):
        raise RooflensError(f"one measured time belongs to one step, and {len(grid)} were asked for")
    if measured_tokens_per_s is not None:
        _counts_tokens(model, asked["tokens"])
    clocked = [_measured_s(measured_s, measured_tokens_per_s, p, b) for p, b, _ in grid]
    outputs = [output if p == "decode" or len(steps) == 1 else None for p, _, _ in grid]
    questions = [
        Question(model, phase=p, batch=b, context=c, output=o, measured_s=s, **asked)
        for (p, b, c), o, s in zip(grid, outputs, clocked, strict=True)
    ]
    answers = [answer(question, there) for question in questions]
    if plot is not None:
        _draw(plot, answers, lang)
    whole = _whole(answers) if as_json or out is not None else {}
    if out is not None:
        artefacts.write_json(answer_file(out, "place"), whole, SCHEMA)
    emit(artefacts.to_json(whole, SCHEMA) if as_json else _shown(answers, lang, explain=explain))
    _judge(limits, answers)


def _whole(answers: list[Answer]) -> dict[str, Any]:
    """What is written: the answer, or several with what they share."""
    found = [encode(a.placement) for a in answers]
    return found[0] if len(found) == 1 else {"conventions": _shared(found), "steps": found}


def _shared(found: list[dict[str, Any]]) -> dict[str, str]:
    """The conventions that all the steps have."""
    every = [answer["conventions"] for answer in found]
    return {key: text for key, text in every[0].items() if all(one.get(key) == text for one in every)} if every else {}


def _counts_tokens(model: str, tokens: int) -> None:
    """Raises RooflensError where a rate of tokens does not say how long the step took."""
    if is_alone(model) and alone(model).name != "step":
        raise RooflensError(f"{model} is one operator and makes no tokens; give its time as --measured-s")
    if tokens > 1:
        raise RooflensError(
            "a rate of tokens does not say how many drafts a step kept; give the step's time as --measured-s, or ask "
            "rooflens predict with --acceptance"
        )


def _measured_s(seconds: str | None, tokens_per_s: float | None, phase: Phase, batch: float) -> float | None:
    """The time of one step: as given, or one token of every sequence at this rate."""
    if tokens_per_s is None:
        return None if seconds is None else _seconds(seconds)
    if seconds is not None:
        raise RooflensError("give --measured-s or --measured-tokens-per-s, not both")
    if phase != "decode":
        raise RooflensError("--measured-tokens-per-s is a decode rate; give a prefill's time as --measured-s")
    return batch / tokens_per_s


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return parse(text, "s")


def _judge(limits: dict[str, float], answers: list[Answer]) -> None:
    """Raises AnswerIsNo when a measured ratio is under its limit."""
    for measured in [a.placement.measured for a in answers if a.placement.measured]:
        for name, least in limits.items():
            found = getattr(measured, name)
            if found < least:
                raise AnswerIsNo(f"{name} is {found:.4g}, under the {least:g} asked for")


def _shown(answers: list[Answer], lang: str, *, explain: bool) -> str:
    from rooflens.cli.place_shown import shown

    return "\n\n".join(shown(a, lang, explain=explain) for a in answers)


def _draw(path: Path, answers: list[Answer], lang: str) -> None:
    from rooflens.cli.place_shown import levels, pictured
    from rooflens.present.plot import draw, render

    if path.suffix not in (".png", ".svg"):
        raise RooflensError(f"--plot {path}: the name must end in .png or .svg")
    steps = [a.placement.step for a in answers]
    contexts = len({(step.get("phase"), step.get("context")) for step in steps}) > len({s.get("phase") for s in steps})
    points = [p for a in answers for p in _points(a, several=len(answers) > 1, contexts=contexts)]
    there = _drawn(answers[0].machine, levels(answers))
    figure = draw(there, points, title=pictured(answers[0].placement, lang), lang=lang)
    artefacts.write_bytes(path, render(figure, path.suffix[1:]))


def _drawn(there: Machine, levels: set[str | None]) -> Machine:
    """The machine with the links that collectives use, if there are any: others bound no point of the picture."""
    return replace(there, ceilings=tuple(c for c in there.ceilings if c.kind != "link" or c.level in levels))


def _points(answered: Answer, *, several: bool, contexts: bool) -> list[Point]:
    """The operators that compute, named with their step when there are several, and its context where that differs."""
    step = answered.placement.step
    suffix = f" {step['phase']} B={step['batch']:g}" if several and "phase" in step else ""
    suffix += f" S={step['context']:g}" if suffix and contexts else ""
    found = [replace(p, name=f"{p.name}{suffix}") for p in answered.points if p.flops]
    measured = answered.placement.measured
    if measured is None or len(found) != 1:
        return found
    return [place(found[0].name, answered.operators[0].cost, answered.machine, measured.time_s)]
