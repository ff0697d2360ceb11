"""The public functions beside `place`: names in, records out, as the verbs of the same names print them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rooflens import api, artefacts, catalogue
from rooflens.catalogue import Accelerator
from rooflens.errors import RooflensError

if TYPE_CHECKING:
    from rooflens.claims.record import Claim
    from rooflens.claims.roofs import Named

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

    tried_on, positions = api.model(model or MODEL), context or speedups.CONTEXT
    return speedups.compare(api.machine(first), api.machine(second), times, tried_on, positions, tolerance)


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
