"""A figure said of one chip: whether it is the chip's, and if not, what it is."""

from __future__ import annotations

from rooflens.catalogue import Accelerator
from rooflens.claims.figures import DENSE, VECTOR, Figure, figures, right
from rooflens.claims.record import TOLERANCE, Case, Claim, Verdict, near
from rooflens.claims.statement import Statement
from rooflens.claims.suspects import Suspect, suspects
from rooflens.units import percent, show

FP8_FROM = "8.9"
_KINDS = {"memory": "memory", "nvlink": "link", "pcie": "link", "network": "link"}


def judge(chip: Accelerator, said: Statement, tolerance: float = TOLERANCE) -> Claim:
    """The claim that `chip` has this figure, compared within the tolerance with the figure as it should be read.

    True only for another reading (2:4 sparse, both directions, fp16 accumulation ...) where no word of the claim says
    that it is read so, or says otherwise. Raises NoPath when the right figure is not known.
    """
    proper = right(chip, said.roof, said.way)
    if proper.value and near(said.value, proper.value, tolerance):
        return _claim(chip, said, proper, "true", (), tolerance)
    found = [*_decimal(said, proper, tolerance), *suspects(said.value, proper, chip, tolerance)]
    other = found[0] if found and found[0].figure and found[0].same_roof else None
    verdict: Verdict = "true only for" if other and said.way is None else "false"
    return _claim(chip, said, proper, verdict, tuple(found), tolerance)


def _decimal(said: Statement, proper: Figure, tolerance: float) -> list[Suspect]:
    """A binary prefix written for a decimal figure: 800 GiB/s for 819 GB/s."""
    if said.decimal is None or not near(said.decimal, proper.value, tolerance):
        return []
    return [Suspect(f"a binary prefix was written for a decimal figure: {show(said.decimal, said.unit)} is right")]


def _claim(
    chip: Accelerator, said: Statement, proper: Figure, verdict: Verdict, found: tuple[Suspect, ...], tolerance: float
) -> Claim:
    mine = Case(proper.name, value=proper.value, unit=proper.unit)
    others = tuple(
        Case(s.figure.name, value=s.figure.value, unit=s.figure.unit) for s in found if s.figure and s.same_roof
    )
    return Claim(
        claim=f"{chip.id}: {said.text.strip()}",
        verdict=verdict,
        claimed=said.value,
        unit=said.unit,
        ratios=_ratios(chip, said, proper),
        true_for=(mine,) if verdict == "true" else others if verdict == "true only for" else (),
        false_for=() if verdict == "true" else (mine,),
        why=(*_right(chip, proper), *_why(verdict, found)),
        tolerance=tolerance,
        right=proper.value,
        condition=", or ".join(other.name for other in others) if verdict == "true only for" else None,
        notes=_notes(chip, proper, found),
    )


def _ratios(chip: Accelerator, said: Statement, proper: Figure) -> dict[str, float]:
    """Claimed over right under the name of what it is, and what sparsity would multiply."""
    ratios = (
        {_KINDS.get(said.roof, "compute" if proper.unit == "FLOP/s" else said.roof): said.value / proper.value}
        if (proper.value)
        else {}
    )
    sparse = chip.sparse(said.roof) if proper.unit == "FLOP/s" else None
    return {**ratios, "sparsity": sparse} if sparse else ratios


def _right(chip: Accelerator, proper: Figure) -> tuple[str, ...]:
    name = chip.name or chip.id
    if proper.value:
        return (f"{name} has {proper.shown} ({proper.name})",)
    said = f"{name} has no {proper.roof} path"
    capability = chip.compute_capability
    if proper.roof == "fp8" and capability and _version(capability) < _version(FP8_FROM):
        return (f"{said}: fp8 begins with compute capability {FP8_FROM}, and this is {capability}",)
    return (said,)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _why(verdict: Verdict, found: tuple[Suspect, ...]) -> tuple[str, ...]:
    if verdict == "true":
        return ()
    return tuple(s.why for s in found) or (
        "no figure of this chip or of its relatives is near, and no confusion of units",
    )


def _like_for_like(chip: Accelerator, proper: Figure) -> tuple[str, ...]:
    """What stands beside a scale-up link when both are counted in one direction."""
    pcie = chip.pcie.bytes_per_s_per_direction
    if proper.roof != "nvlink" or not pcie:
        return ()
    return (f"one way on both, {proper.shown} of nvlink stand against {show(pcie, 'B/s')} of pcie",)


def _deviation(chip: Accelerator, proper: Figure) -> tuple[str, ...]:
    """What units x clock x rate say where the maker's figure is another."""
    path = "vector" if proper.way == VECTOR else "matrix"
    name = "memory_bandwidth" if proper.roof == "memory" else f"{path}_{proper.roof}"
    off = chip.deviations.get(name)
    if off is None:
        return ()
    return (f"the maker's {proper.shown} is {percent(abs(off))} {'above' if off > 0 else 'below'} first principles",)


def _notes(chip: Accelerator, proper: Figure, found: tuple[Suspect, ...]) -> tuple[str, ...]:
    """Other readings that a sheet may print for the same roof, and what the catalogue says about the chip."""
    told = {s.figure.name for s in found if s.figure}
    ways = [f for f in figures(chip) if f.roof == proper.roof and f.name != proper.name and f.name not in told]
    shown = [
        f for f in ways if "clock" not in f.way and not (proper.way == DENSE and f.way == VECTOR and f.roof != "fp64")
    ]
    also = ", ".join(f"{f.shown} {f.way}" for f in shown)
    doubt = f"what is known of {chip.id} has one source or was only announced (confidence C)"
    return (
        *_like_for_like(chip, proper),
        *_deviation(chip, proper),
        *((f"other readings of {proper.roof}: {also}",) if also else ()),
        *((doubt,) if chip.confidence == "C" else ()),
    )
