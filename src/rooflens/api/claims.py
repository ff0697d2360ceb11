"""The public functions beside `place`: names in, records out, as the verbs of the same names print them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rooflens import api, artefacts, catalogue, workload
from rooflens.api.named import several
from rooflens.catalogue import Accelerator
from rooflens.dtypes import dtype
from rooflens.errors import NoPath, RooflensError, Unknown
from rooflens.models.lengths import within
from rooflens.operators.alone import alone, is_alone
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.math import resolve
from rooflens.units import whole

if TYPE_CHECKING:
    from rooflens.batch_one import Ceilings, Top
    from rooflens.claims.record import Claim
    from rooflens.claims.roofs import Named
    from rooflens.wall import Trend

MODEL = "llama-3.1-8b"  # whose operators a speed-up is tried on, when nobody names another


def claim(
    first: str, second: str | None = None, *, times: float | None = None, says: str | None = None,
    model: str | None = None, context: int | None = None, tolerance: float | None = None,
) -> Claim:  # fmt: skip
    """Is it true, and for what? `first` is `times` as fast as `second`, or a figure that `says` something of `first`.

    first, second: machines, or roofs of chips as `a100-sxm4-80gb:tf32`. says: `1979 TFLOP/s bf16`, `tf32 is 16x fp32`.
    Raises Unknown for a name, NoPath for a figure that is not known, RooflensError for half a question.
    """
    from rooflens.claims.record import TOLERANCE

    most = TOLERANCE if tolerance is None else tolerance
    if (says is None) == (times is None):
        raise RooflensError("say what is claimed: --times X of two machines, or --says '1979 TFLOP/s bf16' of one")
    if says is not None:
        _none_of(second=second, model=model, context=context)
        return _said(first, says, most)
    if second is None:
        raise RooflensError(f"--times compares two: name what {first} is that many times of")
    one, other = _named(first), _named(second)
    if one and other:
        from rooflens.claims.roofs import compare

        _none_of(model=model, context=context)
        return compare(one, other, _factor(times), most)
    if one or other:
        raise RooflensError(f"{first} and {second}: name a roof of both, as ID:bf16, or of neither")
    return _faster(first, second, _factor(times), model, context, most)


def _faster(first: str, second: str, times: float, model: str | None, context: int | None, tolerance: float) -> Claim:
    from rooflens.claims import speedups

    tried_on = api.model(model or MODEL)
    within(tried_on, context or 0.0)
    return speedups.compare(api.machine(first), api.machine(second), times, tried_on, context, tolerance)


def _said(first: str, says: str, tolerance: float) -> Claim:
    from rooflens.claims import facts, roofs
    from rooflens.claims.statement import Ratio, roof, statement

    chip, said = chip_named(first), statement(says)
    if isinstance(said, Ratio):
        one, other = (roofs.Named(chip, *roof(name)) for name in (said.first, said.second))
        return roofs.compare(one, other, said.times, tolerance)
    return facts.judge(chip, said, tolerance)


def chip_named(name: str) -> Accelerator:
    """The catalogue row of this name, or a person's own machine.toml. Raises Unknown with near matches."""
    if name.endswith(".toml"):
        return catalogue.accelerator_from_toml(artefacts.read_text(Path(name)), name)
    return catalogue.accelerator(name)


def _named(text: str) -> Named | None:
    """The roof that `ID:ROOF` names; None for a machine without one."""
    from rooflens.claims.roofs import Named
    from rooflens.claims.statement import roof

    name, colon, tail = text.rpartition(":")
    if not colon or text.startswith(artefacts.MEASURED):
        return None
    return Named(chip_named(name), *roof(tail))


def _factor(times: float | None) -> float:
    from rooflens.claims.statement import factor

    return factor(f"{times}")


def _none_of(**given: object) -> None:
    """Raises RooflensError for options that would change nothing."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise RooflensError(f"{', '.join(named)} would change nothing about this claim; leave it out")


def ceilings(
    models: str | Iterable[str], on: str | Iterable[str], *, context: int | None = None, math: str | None = None
) -> Ceilings:
    """Tokens/s that nobody can beat at batch 1, of each model on each machine.

    models: as `llama-3.1-8b:q4_k_m` or `params=8e9,weight_bytes=4.6e9`, a list or a text with commas; on: machines, the
    same way. A pair that cannot be priced says why. Raises Unknown for a name, NoPath when no pair can be priced.
    """
    from rooflens import batch_one

    asked, there = several(models, "models"), [api.machine(name) for name in several(on, "machines")]
    positions = batch_one.CONTEXT if context is None else context
    whole(positions, "context")
    tops = tuple(_top(model, machine, positions, math) for model in asked for machine in there)
    reasons = [top.why_not for top in tops if top.why_not]
    if len(reasons) == len(tops):
        raise NoPath(reasons[0] or "")
    names = tuple(machine.name for machine in there)
    left_open = (f"about {text}: {warning}" for text in asked for warning in _left_open(text))
    return batch_one.Ceilings(positions, tuple(asked), names, tops, (*batch_one.notes(tops, there), *left_open))


def trend(kind: str = "datacentre-gpu") -> Trend:
    """The growth of compute, bandwidth and ridge point over the years of the catalogue, of one kind of accelerator.

    kind: datacentre-gpu, other-gpu, asic, cpu, soc or all. Raises Unknown for another.
    """
    from rooflens import wall

    known = next((name for name in wall.KINDS if name == kind), None)
    if known is None:
        raise Unknown("kind", kind, wall.KINDS, f"kinds are {', '.join(wall.KINDS)}")
    return wall.trend(catalogue.accelerators(), known)


def _left_open(text: str) -> tuple[str, ...]:
    """What reading the files of a model left open, where nobody says how its weights are stored."""
    name, weights = _stored(text)
    return () if is_alone(text) or weights else api.model(name).warnings


def _top(text: str, there: Machine, context: int, math: str | None) -> Top:
    from rooflens import batch_one

    name, weights = _stored(text)
    try:
        if is_alone(text):
            return _top_of_step(text, there, math)
        model, precision, _ = api.prepared(api.Question(name, weights=weights, math=math), there)
        within(model, context)
        return batch_one.of_model(model, precision, there, text, context)
    except NoPath as error:
        return batch_one.Top(text, weights or "", there.name, why_not=str(error))


def _top_of_step(text: str, there: Machine, math: str | None) -> Top:
    from rooflens import batch_one
    from rooflens.prediction.arithmetic import arithmetic

    step = alone(text)
    if step.name != "step":
        raise RooflensError(f"{text} is one operator, and this is about whole steps: name a model, or params=...")
    precision, _ = resolve(workload.precision(dtype("bf16")), there, math)
    return batch_one.of_step(step, arithmetic(text, step, precision, there), there)


def _stored(text: str) -> tuple[str, str | None]:
    """MODEL and WEIGHTS of `MODEL:WEIGHTS`; a file may have a colon in its name. Raises Unknown for a format."""
    name, colon, weights = text.rpartition(":")
    if not colon or "=" in text or Path(text).exists():
        return text, None
    dtype(weights)
    return name, weights
