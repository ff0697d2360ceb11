"""`rooflens predict` without a model: batch-1 arithmetic, and one operator alone."""

from __future__ import annotations

from rooflens import workload
from rooflens.api import OF_ATTENTION, SIZED, Question, nothing_beside
from rooflens.api.deployed import PLAIN, Load, other
from rooflens.catalogue.engines import engine as engine_named
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.operators.alone import Alone, alone
from rooflens.prediction.arithmetic import Arithmetic, arithmetic
from rooflens.prediction.operator import OperatorPrediction
from rooflens.records import fields
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.math import resolve


def predicted(question: Question, load: Load, there: Machine) -> Arithmetic | OperatorPrediction:
    """The answer to what is written out: `params=...` or an operator with its sizes.

    Raises RooflensError for options that say nothing about it, NoPath for work that the machine cannot do.
    """
    asked = alone(question.what, question.attention)
    return (
        _arithmetic(question, load, there, asked) if asked.name == "step" else _operator(question, load, there, asked)
    )


def _arithmetic(question: Question, load: Load, there: Machine, asked: Alone) -> Arithmetic:
    _only(question, load, ("math", "measured_tokens_per_s"), "one token at batch 1")
    precision, _ = resolve(workload.precision(dtype("bf16")), there, question.math)
    return arithmetic(question.what, asked, precision, there, load.measured_tokens_per_s)


def _operator(question: Question, load: Load, there: Machine, asked: Alone) -> OperatorPrediction:
    from rooflens.catalogue.kernels import operators
    from rooflens.prediction.kernel_of import Known
    from rooflens.prediction.operator import predict_operator

    formats = () if asked.collective else ("weights", "math", "flavour")
    built = OF_ATTENTION if asked.name == "attention" else ()
    applying = (*formats, *built, "engine", *(("link",) if asked.collective else ()))
    _only(question, load, applying, SIZED)
    if load.engine in PLAIN:
        raise RooflensError(f"{load.engine} is a stack of a whole model; name an engine, or leave --engine away")
    if load.engine is not None:
        engine_named(load.engine)
    stored = workload.precision(dtype("bf16"), question.weights, question.kv)
    precision, notes = (stored, ()) if asked.collective else resolve(stored, there, question.math)
    datasheet = other(there) if there.measured else there
    known = Known(operators(), datasheet, load.engine, load.flavour)
    if datasheet is not None and there.measured:
        notes = (*notes, f"the estimate takes the roofs of the datasheet of {datasheet.title}")
    return predict_operator(question.what, asked, precision, there, known, notes)


def _only(question: Question, load: Load, applying: tuple[str, ...], what: str) -> None:
    given = [*_differing(question, Question(question.what)), *_differing(load, Load())]
    nothing_beside(question.what, what, [name for name in given if name not in applying])


def _differing(said: Question | Load, plain: Question | Load) -> list[str]:
    """The fields that somebody set."""
    return [f.name for f in fields(said) if getattr(said, f.name) != getattr(plain, f.name)]
