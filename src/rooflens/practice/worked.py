"""The right answers: rows, catalogue, prices and predictions, asked as every other verb asks them."""

from __future__ import annotations

from functools import cache
from typing import Any

from rooflens import catalogue, models, workload
from rooflens.dtypes import dtype
from rooflens.models import Choices, Model
from rooflens.operators.alone import alone
from rooflens.operators.cost import Cost, Precision
from rooflens.prediction.deployment import Deployment
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.machines import from_accelerator, overridden
from rooflens.roofline.math import resolve
from rooflens.roofline.place import place
from rooflens.roofline.points import Point

CHIPS = (
    "h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "l40s", "rtx-4090-24gb", "mi300x-192gb",
)  # fmt: skip
WITH_NVLINK = ("h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "b200-sxm-180gb")


@cache
def machine(name: str) -> Machine:
    """A chip of the catalogue with a person's figures behind it, as `--on` takes it."""
    chip, *assignments = name.split(",")
    return overridden(from_accelerator(catalogue.accelerator(chip)), assignments)


def sources(name: str) -> tuple[tuple[str, str], ...]:
    """A chip, and where its figures come from."""
    return tuple((name, catalogue.source(key).what) for key in catalogue.accelerator(name).sources)


def rows(text: str) -> tuple[str, ...]:
    """The rows of an operator, as they are counted."""
    return tuple(f"{row.name}: {row.spec}" for row in alone(text).rows)


def cost(text: str, on: str, weights: str | None = None) -> tuple[Cost, Precision]:
    """An operator alone, counted in the formats that it is stored and computed in on this machine."""
    stored = workload.precision(dtype("bf16"), weights)
    precision, _ = resolve(stored, machine(on), None)
    return alone(text).cost(precision), precision


def point(text: str, on: str, weights: str | None = None, measured_s: float | None = None) -> Point:
    """An operator alone under the roofs of a machine."""
    return place(text, cost(text, on, weights)[0], machine(on), measured_s)


def intensity(text: str, on: str, weights: str | None = None) -> float:
    """FLOP per byte of an operator alone, every operand counted."""
    return point(text, on, weights).intensity_flops_per_byte or 0.0


def peak(on: str, math: str) -> float:
    """The dense roof, FLOP/s."""
    return machine(on).compute(math).floor_value


def sparse(on: str, math: str) -> float | None:
    """The 2:4-sparse figure of the same roof; None where the maker has none."""
    times = machine(on).sparse_multipliers.get(math)
    return times * peak(on, math) if times and times > 1 else None


def bandwidth(on: str) -> float:
    """The read rate of main memory, byte/s."""
    return machine(on).memory("read").floor_value


def deployment(
    name: str, on: str, *, batch: float = 1, context: float = 2048, weights: str | None = None, **how: Any
) -> Deployment:
    """A model served on a machine, in the formats it is served in when nobody says otherwise."""
    model = built(name, links=max(how.values(), default=1) > 1)
    own, _ = workload.own_dtype(model)
    stored = workload.precision(own, weights, None, model.stored, model.state_dtype)
    precision, _ = resolve(stored, machine(on), None)
    return Deployment(model, precision, machine(on), float(batch), float(context), context=float(context), how=how)


@cache
def built(name: str, *, links: bool = False) -> Model:
    """A model of the catalogue."""
    return models.named(name, Choices(links=links))


def letters(name: str) -> dict[str, float]:
    """The sizes of a model that no step changes."""
    return dict(built(name).letters)
