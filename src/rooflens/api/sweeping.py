"""The public functions behind `rooflens sweep`: a grid in, a folder of Parquet out, and what it answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooflens import api, artefacts
from rooflens.api.deployed import PLAIN, deployment, estimator, kept, located, said
from rooflens.catalogue.calibrations import SERVED, STACK
from rooflens.catalogue.engines import engine as engine_named
from rooflens.dtypes import dtype
from rooflens.errors import BadFile, RooflensError
from rooflens.fleet.sweeping.shard import Work
from rooflens.measure.processors import processors
from rooflens.models import Model
from rooflens.prediction.predicting import Estimator
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.sweep.grid import OWN, Axes
from rooflens.sweep.grid import grid as axes_of
from rooflens.sweep.pricing import Asked
from rooflens.sweep.question import Found, Wanted
from rooflens.sweep.record import Manifest
from rooflens.sweep.shards import Case

if TYPE_CHECKING:
    from rooflens.fleet.sweeping.run import Forecast

CATALOGUED = ("models", "machines")  # axes that are no keyword of a question, but what it is of


@record
class Ingredients:
    """Everything that a case is made of, so that a worker on another computer needs no file of this one.

    stacks: of measured machines, what estimates on them without an engine: by machine and engine.
    """

    models: Mapping[str, Model]
    machines: Mapping[str, Machine]
    stacks: Mapping[str, Estimator | None]
    fixed: Mapping[str, Any]

    def __call__(self, case: Case) -> Asked:
        """The case, ready to be priced. Raises RooflensError for one that is not possible."""
        model, machine = case["models"], case["machines"]
        asked = {
            name: value for name, value in {**self.fixed, **case}.items() if value != OWN and name not in CATALOGUED
        }
        load, question = said(model, asked)
        there = located(self.machines[machine], question)
        found = deployment(question, load, there, self.models[model])
        if there.measured and load.engine in (None, *PLAIN):
            return Asked(found, self.stacks[f"{machine} {case['engine']}"], kept(load))
        return Asked(found, estimator(found, load, machine)[0], kept(load))


def read_grid(path: Path) -> Axes:
    """The axes that a grid's file spells (YAML or JSON). Raises BadFile with every fault."""
    return axes_of(_plain(path), str(path), _wrong)


def read_env(path: Path) -> dict[str, Any]:
    """A runtime environment of Ray's, from YAML or JSON; what is in it is Ray's to judge."""
    found = _plain(path)
    if not isinstance(found, dict):
        raise BadFile(str(path), ["expected keys and values, as pip: [numpy, pyarrow]"])
    return found


def _plain(path: Path) -> Any:
    if path.suffix == ".json":
        return artefacts.read_json(path)
    from rooflens.readers.plain_yaml import plain_yaml

    return plain_yaml(path)


def ingredients(axes: Axes) -> Ingredients:
    """What the cases of a grid are made of, read once. Raises RooflensError for a file that cannot be used."""
    attention = axes.fixed.get("attention", "flash")
    models = {name: api.model(name, attention) for name in axes.names["models"]}
    machines = {name: _machine(name) for name in axes.names["machines"]}
    stacks = {
        f"{name} {engine}": _stack(models, there, name, None if engine == OWN else engine)
        for name, there in machines.items()
        for engine in axes.names["engine"]
        if there.measured and engine in (OWN, *PLAIN)
    }
    return Ingredients(models, machines, stacks, axes.fixed)


def digests(of: Ingredients) -> dict[str, str]:
    """Of every model and machine as it was read, and of the constants that estimates rest on."""
    from rooflens.catalogue.calibrations import dated

    found: dict[str, Any] = {f"model {name}": made for name, made in of.models.items()}
    found |= {f"machine {name}": there for name, there in of.machines.items()}
    found |= {f"estimates on {name}": by for name, by in of.stacks.items()}
    found |= {f"constants {name}": dated(name) for name in (SERVED, STACK)}
    return {name: hashlib.sha256(repr(value).encode()).hexdigest() for name, value in found.items()}


def _stack(models: Mapping[str, Model], there: Machine, name: str, engine: str | None) -> Estimator | None:
    """What estimates on a measured machine without an engine's constants; the same for every model."""
    what, made = next(iter(models.items()))
    load, question = said(what, {"engine": engine})
    return estimator(deployment(question, load, there, made), load, name)[0]


@lru_cache(64)
def _machine(name: str) -> Machine:
    return api.machine(name)


def _wrong(axis: str, name: str) -> str | None:
    """What is wrong with a name of this axis, in a sentence."""
    tried: dict[str, Callable[[str], object]] = {"models": api.model, "machines": _machine, "engine": _engine}
    try:
        tried.get(axis, dtype)(name)
    except RooflensError as error:
        return " ".join(str(error).split())
    return None


def _engine(name: str) -> None:
    if name not in PLAIN:
        engine_named(name)


def sweep(
    grid: Path | Axes,
    out: Path,
    *,
    workers: int | None = None,
    ray: str | None = None,
    env: Mapping[str, Any] | None = None,
    shard_limit_s: float | None = None,
    told: Callable[[int, int, float], None] = lambda done, points, seconds: None,
    noted: Callable[[str], None] = lambda sentence: None,
) -> Manifest:
    """Prices every point of a grid into a folder of Parquet, or what of it is missing there.

    workers: processes (none: as many as there are processors); ray: the address of a cluster instead, `local` for one
    here, with a runtime environment `env`, a worker of which is given up after `shard_limit_s` (none: by the slowest
    shard that landed). told: is called with points done, points in all and seconds; noted: with what Ray waits for.
    A script that calls this with several workers starts them by being imported: it needs `if __name__ == "__main__":`.
    Raises RooflensError for a folder that holds something else, another grid or another rooflens's sweep.
    """
    from rooflens.fleet.sweeping.run import How
    from rooflens.fleet.sweeping.run import sweep as swept

    axes = grid if isinstance(grid, Axes) else read_grid(grid)
    of = ingredients(axes)
    return swept(Work(axes, of), out, digests(of), How(workers or processors(), ray, env, shard_limit_s), told, noted)


def forecast(grid: Path | Axes, *, workers: int | None = None) -> Forecast:
    """What a sweep of this grid would be: points, shards, bytes, seconds; the last two from pricing a few shards."""
    from rooflens.fleet.sweeping.run import forecast as foretold

    axes = grid if isinstance(grid, Axes) else read_grid(grid)
    return foretold(Work(axes, ingredients(axes)), workers or processors())


def query(folder: Path, wanted: Wanted) -> Found:
    """The points of a sweep that answer a question, best first. Raises RooflensError for a column that was not kept."""
    from rooflens.fleet.sweeping.querying import found

    return found(folder, wanted)
