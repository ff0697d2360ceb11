"""`rooflens place`: where each operator lands."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.api import Answer, Question, answer, machine
from rooflens.cli.options import (
    Finite,
    answer_file,
    format_options,
    json_flag,
    on,
    out_option,
    phases,
    ratios,
    sizes,
    step_options,
)
from rooflens.cli.printing import emit, table
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.operators.collectives import Collective
from rooflens.records import encode
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.place import place
from rooflens.roofline.placement import SCHEMA, Measured, Placement, Total
from rooflens.roofline.points import Point
from rooflens.roofline.price import NETWORK
from rooflens.units import parse, percent, show
from rooflens.workload import Phase


@click.command("place", epilog="Example:  rooflens place llama-2-7b --on a100-sxm4-80gb --batch 1,16")
@click.argument("model")
@on
@step_options
@format_options
@click.option("--measured-s", help="What a clock said, as '7.9 ms' or plain seconds: adds MFU, MBU and the gap.")
@click.option("--measured-tokens-per-s", type=Finite(0, min_open=True), help="The same, as tokens/s over the batch.")
@click.option(
    "--fail-below",
    multiple=True,
    metavar="NAME=RATIO",
    help="Exit 1 under this: mbu=0.6, mfu=0.4 (needs a measured time).",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the roofline with these operators (.png or .svg).")
@out_option
@click.option("--explain", is_flag=True, help="Show rows, formula, ceilings and sources.")
@json_flag
def command(
    model: str, on: str, phase: str, batch: str, context: str | None, plot: Path | None, explain: bool, as_json: bool,
    out: Path | None, output: int | None, measured_s: str | None, measured_tokens_per_s: float | None,
    fail_below: tuple[str, ...], **asked: Any,
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
    answers = [
        answer(
            Question(
                model,
                phase=p,
                batch=b,
                context=c,
                output=output if p == "decode" or len(steps) == 1 else None,
                measured_s=_measured_s(measured_s, measured_tokens_per_s, p, b),
                **asked,
            ),
            there,
        )
        for p, b, c in grid
    ]
    if plot is not None:
        _draw(plot, answers)
    found = [encode(a.placement) for a in answers] if as_json or out is not None else []
    whole = found[0] if len(found) == 1 else {"steps": found}
    if out is not None:
        artefacts.write_json(answer_file(out, "place"), whole, SCHEMA)
    emit(artefacts.to_json(whole, SCHEMA) if as_json else "\n\n".join(_shown(a, explain) for a in answers))
    _judge(limits, answers)


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


def _shown(answered: Answer, explain: bool) -> str:
    placed = answered.placement
    parts = [_title(placed), _operators(placed), _totals(placed)]
    parts += [_measured(placed.measured, placed)] if placed.measured else []
    said = [f"note: {note}" for note in placed.notes]
    said += [f"{key}: {text}" for key, text in placed.conventions.items() if key.startswith("assumed ")]
    parts += ["\n".join(said)] if said else []
    parts += (
        [_explained(answered)]
        if explain
        else [
            f"{placed.conventions['precision']}; {placed.conventions['peaks']} peaks; --explain shows rows and sources"
        ]
    )
    return "\n\n".join(parts)


def _title(placed: Placement) -> str:
    dull = {"operator", *(k for k in ("tokens", "tp", "ep", "dp", "pp", "microbatches") if placed.step.get(k) == 1)}
    said = [f"{k} {v:g}" if isinstance(v, float) else str(v) for k, v in placed.step.items() if k not in dull]
    return f"{placed.model} on {placed.machine}" + (f": {', '.join(said)}" if said else "")


def _operators(placed: Placement) -> str:
    rows = [
        [
            o.name if o.count == 1 else f"{o.name} x {o.count}",
            show(sum(o.flops.values()) if not isinstance(o.flops, (int, float)) else o.flops or o.vector_flops, "FLOP"),
            show(o.weight_bytes + o.kv_bytes + o.activation_bytes, "B"),
            f"{o.intensity_flops_per_byte:.4g}" if o.intensity_flops_per_byte is not None else "-",
            o.bound,
            show(o.attainable_flops_per_s, "FLOP/s") if o.attainable_flops_per_s else "-",
            f"{percent(o.share_of_peak)} {o.math}" if o.share_of_peak else "-",
            show(o.floor_s, "s"),
        ]
        for o in placed.operators
    ]
    return table(["operator", "FLOPs", "bytes", "FLOP/B", "bound", "attainable", "of peak", "floor"], rows)


def _totals(placed: Placement) -> str:
    peak = f"{placed.math} {show(placed.peak_flops_per_s, 'FLOP/s')}"
    ridge = f"ridge point {placed.ridge_flops_per_byte:.4g} FLOP/B ({peak})"
    return "\n".join(
        [
            _total("all operands", placed.total),
            *([_total("step floor (weights, KV, state)", placed.step_floor)] if placed.step_floor else []),
            f"{ridge} over {show(placed.bandwidth_bytes_per_s, 'B/s')}",
        ]
    )


def _total(name: str, total: Total) -> str:
    intensity = f", {total.intensity_flops_per_byte:.4g} FLOP/B" if total.intensity_flops_per_byte is not None else ""
    flops, moved = show(total.flops, "FLOP"), show(total.bytes, "B")
    launch = f", and {show(total.launch_s, 's')} to launch" if total.launch_s else ""
    launch += f", and {show(total.latency_s, 's')} of link latency" if total.latency_s is not None else ""
    bubble = f", {percent(total.bubble)} bubble" if total.bubble is not None else ""
    bound = f"{total.bound}-bound{bubble}"
    return f"{name}: {show(total.floor_s, 's')} at least{launch}, {bound} ({flops}, {moved}{intensity})"


def _measured(found: Measured, placed: Placement) -> str:
    lines = [
        f"measured {show(found.time_s, 's')}: {found.times_floor:.3g} times the floor, {found.regime}",
        f"MFU {percent(found.mfu)} of the dense {placed.math} roof, MBU {percent(found.mbu)} of the read bandwidth",
    ]
    return "\n".join([*lines, *(f"finding: {finding}" for finding in found.findings)])


def _explained(answered: Answer) -> str:
    lines = ["rows (input, operand -> output; FLOPs = FLOPs a point x product of the letters without brackets):"]
    for operator in answered.operators:
        lines += [
            f"  {operator.name} / {r.name}: {r.spec}   [{r.home}, {r.flops_per_point:g} a point]" for r in operator.rows
        ]
        lines += [f"    {_collective(operator.collective)}"] if operator.collective else []
    letters = next((o.letters for o in answered.operators if o.letters and len(o.letters) > 3), None)
    letters = letters or next((o.letters for o in answered.operators if o.letters), {})
    lines += ["letters: " + ", ".join(f"{k}={float(v):g}" for k, v in letters.items())]
    lines += [
        "floor of a kernel = largest of FLOPs / peak, bytes / bandwidth, link bytes / link rate; a step is their sum"
    ]
    lines += ["ceilings:", *(f"  {_ceiling(c)}" for c in _used(answered))]
    return "\n".join([*lines, *(f"{key}: {text}" for key, text in answered.placement.conventions.items())])


def _collective(talk: Collective) -> str:
    way, group = talk.least, talk.group
    over = f"{group.ranks} devices" + (f" in {group.nodes} nodes" if group.nodes > 1 else "")
    inside = f"{way.link_bytes:.4g} B sent a byte in {way.link_steps:g} steps"
    between = f", {way.network_bytes:.4g} B and {way.network_steps:g} steps between nodes" if group.nodes > 1 else ""
    return f"{talk.name} over {over}, {way.algorithm}: {inside}{between}"


def _used(answered: Answer) -> list[Ceiling]:
    there = answered.machine
    maths = dict.fromkeys(o.math for o in answered.placement.operators)
    crossing = there.find("link", level=NETWORK) if NETWORK in _levels([answered]) - {there.link} else []
    return [*(there.compute(m) for m in maths), there.memory("read"), *there.find("link", level=there.link), *crossing]


def _ceiling(ceiling: Ceiling) -> str:
    said = f"{ceiling.id} {show(ceiling.value, ceiling.unit)} ({ceiling.origin})"
    return f"{said}, source: {ceiling.source}" if ceiling.source else said


def _draw(path: Path, answers: list[Answer]) -> None:
    from rooflens.present.plot import draw, render

    if path.suffix not in (".png", ".svg"):
        raise RooflensError(f"--plot {path}: the name must end in .png or .svg")
    points = [p for a in answers for p in _points(a, several=len(answers) > 1)]
    there = _drawn(answers[0].machine, _levels(answers))
    figure = draw(there, points, title=f"{answers[0].placement.model} on {answers[0].placement.machine}")
    artefacts.write_bytes(path, render(figure, path.suffix[1:]))


def _drawn(there: Machine, levels: set[str | None]) -> Machine:
    """The machine with the links that collectives use, if there are any: others bound no point of the picture."""
    return replace(there, ceilings=tuple(c for c in there.ceilings if c.kind != "link" or c.level in levels))


def _levels(answers: list[Answer]) -> set[str | None]:
    """The links over which something is sent."""
    costs = [o.cost for a in answers for o in a.operators]
    inside = {answers[0].machine.link} if any(cost.link_bytes for cost in costs) else set()
    return inside | ({NETWORK} if any(cost.network_bytes for cost in costs) else set())


def _points(answered: Answer, *, several: bool) -> list[Point]:
    """The operators that compute, named with their step when there are several."""
    step = answered.placement.step
    suffix = f" {step['phase']} B={step['batch']:g}" if several and "phase" in step else ""
    found = [replace(p, name=f"{p.name}{suffix}") for p in answered.points if p.flops]
    measured = answered.placement.measured
    if measured is None or len(found) != 1:
        return found
    return [place(found[0].name, answered.operators[0].cost, answered.machine, measured.time_s)]
