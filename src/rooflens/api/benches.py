"""What a benchmark's figures mean on a machine: names and files in, records out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rooflens import api, models
from rooflens.accounting import bench_runs, bench_tools
from rooflens.accounting.bench_record import Benches, Modelled
from rooflens.accounting.benches import judged
from rooflens.api.deployed import of_a_step
from rooflens.api.profiles import named_machine, observed, stranger
from rooflens.catalogue import accelerator
from rooflens.dtypes import dtype
from rooflens.errors import BadFile, RooflensError, Unknown
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.observed import Observed
from rooflens.roofline.placement import conventions
from rooflens.roofline.price import StepPrice, price_step
from rooflens.workload import Phase

MAKERS = ("nvidia", "amd", "intel", "google", "instinct", "tesla", "geforce")
NO_STEPS = "no figure of it is of a model, so --model changes nothing"


def bench(
    file: str | Path | Observed, on: str | Machine | None = None, *, model: str | None = None, **asked: Any
) -> Benches:
    """Each figure of a benchmark's file against the ceiling it belongs to.

    on: a machine as everywhere; None: the device that the file names, where that is exactly one of the catalogue, else
    no ratios. model: what was served; None: what the file names, where that is exactly one of ours. asked: weights, kv,
    math, tp, ep, dp, pp, gpus_per_node, link, as in api.Question; without a model only math and link mean something.
    Raises BadFile for a file that no reader knows, RooflensError where it holds kernels and no figures.
    """
    of_a_step(asked)
    math = _math(asked.get("math"))
    seen = read(file)
    there, notes = machine_of(seen, on)
    link = asked.pop("link", None)
    there = there.linked(link) if there and link else there
    strangers, served = _strangers(seen, there), _of_a_model(seen)
    name = (model or _named(seen)) if served else None
    if name is None:
        notes = (*notes, NO_STEPS) if model else notes
        _no_step(asked, seen, served=served)
    if there is None or name is None:
        return judged(seen, there, None, math, strangers, None, notes)
    question = api.Question(name, **{**_from_file(seen, there), **asked})
    modelled, said, precision = _modelled(question, there, exact="weights" in asked)
    if not modelled.exact and bench_tools.sized(seen.points):
        precision["precision"] = f"weights as large as the file says, KV {precision['precision'].partition(', KV ')[2]}"
    return judged(seen, there, modelled, math, strangers, precision, (*notes, *said))


def read(file: str | Path | Observed) -> Observed:
    """A benchmark's file. Raises RooflensError for one of a profiler, or one without figures."""
    seen = observed(file)
    if not seen.points:
        held = (
            "it holds kernels of a profiler: rooflens kernels" if seen.kernels else "it holds no figure of a benchmark"
        )
        raise RooflensError(f"{seen.where}: {held}")
    return seen


def measurements(file: str | Path) -> list[dict[str, float]]:
    """The served points of a benchmark's file as `fit` takes them: batch, prompt, output, tpot_s.

    Raises BadFile with what each run lacks.
    """
    seen = read(file)
    found = [*bench_runs.measurements(seen.points), *bench_tools.measurements(seen.points)]
    faults = [why for why in found if isinstance(why, str)]
    if faults or not found:
        raise BadFile(
            seen.where, faults or ["it holds no served point: a decode rate or TPOT with its batch and sizes"]
        )
    return [point for point in found if not isinstance(point, str)]


def machine_of(seen: Observed, on: str | Machine | None) -> tuple[Machine | None, tuple[str, ...]]:
    """The machine that `on` names, or the one the file itself names; with what must be said about it."""
    named = {
        str(point.conditions[key])
        for point in seen.points
        for key in ("gpu_info", "device")
        if point.conditions.get(key)
    }
    own = None
    if len(named) == 1:
        try:
            own = accelerator(next(iter(named)))
        except Unknown:
            own = None
    if on is None:
        said = (f"the file names {own.name or own.id}: its roofs apply",) if own else ()
        return (api.machine(own.id) if own else None), said
    there = named_machine(on)
    other = stranger(own, there) if own else None
    return there, (other,) if other else ()


def _math(named: str | None) -> str | None:
    """The math that was asked for, by its own name. Raises RooflensError for a format that nobody knows."""
    return named if named is None or named.endswith("_acc16") else dtype(named).math


def _named(seen: Observed) -> str | None:
    """The model that the file names, where that is exactly one of ours: no name is taken for another."""
    said = {
        str(point.conditions["model_id"]).rpartition("/")[2].lower()
        for point in seen.points
        if "model_id" in point.conditions
    }
    return next(iter(said)) if len(said) == 1 and said <= set(models.known()) else None


def _of_a_model(seen: Observed) -> bool:
    return any(point.tool in (*bench_runs.TOOLS, bench_tools.LLAMA) for point in seen.points)


def _from_file(seen: Observed, there: Machine) -> dict[str, str]:
    """Formats that llama-bench says itself: of its cache, and 16 bit arithmetic."""
    if not any(point.tool == bench_tools.LLAMA for point in seen.points):
        return {}
    caches = {str(point.conditions.get("type_k")) for point in seen.points}
    out = {"math": bench_tools.LLAMA_MATH} if there.has(bench_tools.LLAMA_MATH) else {}
    try:
        return {**out, "kv": dtype(caches.pop()).name} if len(caches) == 1 else out
    except RooflensError:
        return out


def _modelled(
    question: api.Question, there: Machine, *, exact: bool
) -> tuple[Modelled, tuple[str, ...], dict[str, str]]:
    """The model as the points need it, what must be said about it, and the conventions of its rows."""
    built, precision, notes = api.prepared(question, there)
    exact = exact or bool(built.stored and built.stored.file_bytes)

    def price(phase: Phase, batch: float, tokens: float, prefix: float) -> StepPrice:
        new: dict[str, Any] = {"prompt": tokens} if phase == "prefill" else {}
        step = api.answer(replace(question, phase=phase, batch=batch, context=tokens + prefix, **new), there)
        return price_step(step.operators, step.machine, activations=False)

    said = conventions(there, precision, question.mask)
    modelled = Modelled(
        built.name, built.params_total, built.params_streamed, exact, question.tp * question.pp, question.dp, price
    )
    return modelled, notes, {name: said[name] for name in ("precision", "peaks", "mask")}


def _no_step(asked: Mapping[str, Any], seen: Observed, *, served: bool) -> None:
    """Raises RooflensError for options that say how a model ran, where none is known or nothing is of one."""
    given = [name for name in asked if name != "math"]
    if given:
        why = "name the model with --model" if served else f"no figure of {seen.where} is of a model"
        raise RooflensError(f"--{given[0].replace('_', '-')} says how a model was served: {why}")


def _strangers(seen: Observed, there: Machine | None) -> dict[str, str]:
    """Chips that rows of a table are of, and the machine is not: each with the sentence that says so."""
    named = {str(point.conditions["accelerator"]) for point in seen.points if point.conditions.get("accelerator")}
    if there is None:
        return {}
    said = f"it is of another chip, the roofs are those of {there.title}"
    return {name: said for name in named if not _same(name, there)}


def _same(name: str, there: Machine) -> bool:
    """Whether the words of a chip's name, its maker's left out, begin words of the machine's title."""
    title = there.title.lower().split()
    return all(any(own.startswith(word) for own in title) for word in _words(name))


def _words(name: str) -> Iterator[str]:
    yield from (word for word in name.lower().split() if word not in MAKERS)
