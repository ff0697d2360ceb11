"""Which of my machines is slow, why, and what does it cost? A folder of profiles in, a report out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rooflens.api import model as known_model
from rooflens.api.serving import predict
from rooflens.errors import NoPath, RooflensError
from rooflens.fleet.baseline import save, stored, usable
from rooflens.fleet.gathered import NodeFile, gathered
from rooflens.fleet.machines import Machines
from rooflens.fleet.report import Report, report
from rooflens.operators.alone import is_alone
from rooflens.peers.record import Price, Rules, Standing
from rooflens.peers.sentences import NOTES
from rooflens.prediction.record import Prediction
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine

MOST_PRICED = 64  # of the worst; each is two predictions


def fleet(folder: str | Path, **asked: Any) -> Report:
    """All nodes of a folder, judged against one another, a stored baseline and their own past; as `judged_fleet`."""
    return judged_fleet(folder, **asked)[0]


def judged_fleet(
    folder: str | Path,
    *,
    baseline: str | Path | None = None,
    save_baseline: str | Path | None = None,
    model: str | None = None,
    rules: Rules | None = None,
    expected: int | None = None,
    workers: int = 1,
    **asked: Any,
) -> tuple[Report, tuple[NodeFile, ...]]:
    """The report of a folder and what was read of each node.

    folder: one JSON file a node. save_baseline: where this run is put, after it was judged. expected: how many nodes
    there should be. model: what is priced on the median device and on each that is out; asked: fields of Load and of
    api.Question, as tp, pp or batch. workers: processes that may read, where the program that asks can be started anew
    (it guards its `__main__`).
    Raises RooflensError where the folder holds no node, or for a model that cannot be priced.
    """
    if asked and not model:
        raise RooflensError(f"{next(iter(asked))} says how a model is served: name the model with --model")
    known = stored(Path(baseline)) if baseline is not None else None
    if save_baseline is not None:
        usable(Path(save_baseline))
    files = gathered(Path(folder), workers)
    found = replace(report(files, known, rules, expected), baseline=None if baseline is None else Path(baseline).name)
    if model:
        found = _priced(found, files, model, asked)
    if save_baseline is not None:
        save(Path(save_baseline), files, rules)
    return found, files


def _priced(found: Report, files: tuple[NodeFile, ...], model: str, asked: dict[str, Any]) -> Report:
    """The same with tokens/s on the median device beside those of a group that holds the slow one."""
    if is_alone(model):
        raise RooflensError(f"{model} has no architecture whose tokens could be priced; name a model")
    known_model(model)
    machines, notes = Machines(files, found), list(_wider(files, asked))
    usual: dict[str, float] = {}
    for key in dict.fromkeys(one.key for one in found.devices):
        try:
            usual[key] = _tokens_per_s(model, machines.usual(key), asked)[0]
        except NoPath as error:  # of this kind of device; anything else is so on every kind
            notes.append(NOTES["no_price"].format(of=key, why=error))
    out = {one.key for one in found.out}
    notes += [NOTES["usual"].format(key=key, rate=f"{usual[key]:.5g}") for key in usual if key not in out]

    def priced(one: Standing) -> Standing:
        if one.key not in usual:
            return one
        try:
            rate, bound = _tokens_per_s(model, machines.own(one), asked)
            return replace(one, price=Price(rate, usual[one.key], bound))
        except RooflensError as error:
            notes.append(NOTES["no_price"].format(of=one.of, why=error))
            return one

    worst = found.out[:MOST_PRICED]
    rest = found.devices[len(worst) :]
    said = {"model": model, **{name: f"{value}" for name, value in asked.items()}}
    devices = (*(priced(one) for one in worst), *rest)
    return replace(found, devices=devices, asked=said, notes=(*found.notes, *dict.fromkeys(notes)))


def _wider(files: tuple[NodeFile, ...], asked: dict[str, Any]) -> Iterator[str]:
    """That a group does not fit into a node, whose links are the only ones that were measured."""
    count, most = asked.get("tp", 1) * asked.get("pp", 1), max(len(one.numbers) for one in files)
    if 0 < most < count:
        yield NOTES["wider"].format(count=count, most=most)


def _tokens_per_s(model: str, machine: Machine, asked: dict[str, Any]) -> tuple[float, str]:
    found = predict(model, machine, **asked)
    if not isinstance(found, Prediction):
        raise RooflensError(f"{model} has no architecture whose tokens could be priced; name a model")
    return found.tokens_per_s, found.bound
