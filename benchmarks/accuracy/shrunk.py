"""Constants of many groups of rows, fitted together: each group's own, shrunk to what groups like it share.

log constant = log prior + sum of effects (flavour, engine, chip ...) + the group's own difference. Effects and
differences are normal about 0 with the spread that a constant was given; residuals are heard less beyond NOISE.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Label = Mapping[str, Any]  # what a group is of; a value of None is not known, and takes no effect
NOISE = 0.08
STEP = 0.02  # of a constant's spread, for differences
TURNS = 25
FULL = 10  # a group of so many rows has a whole say in the effects


@dataclass(frozen=True)
class Group:
    """Rows of one label, as columns."""

    label: Label
    columns: Mapping[str, Array]
    measured_s: Array


@dataclass(frozen=True)
class Model:
    """What is fitted. time_s: of a group's columns, by its constants; base: what the prior is times, for a label.

    effects: the label's fields that an effect is of, with its spread over a constant's own.
    """

    prior: Mapping[str, float]
    spread: Mapping[str, float]
    effects: Sequence[tuple[tuple[str, ...], float]]
    time_s: Callable[[Label, Mapping[str, Array], Mapping[str, float]], Array]
    base: Callable[[Label], Mapping[str, float]] = lambda _: {}

    @property
    def names(self) -> list[str]:
        """The constants, in order."""
        return list(self.prior)

    @property
    def widths(self) -> Array:
        """The spread of each."""
        return np.array([self.spread[name] for name in self.names])

    def start(self, label: Label) -> Array:
        """The logarithm of the prior for this label."""
        times = self.base(label)
        return np.log([self.prior[name] * times.get(name, 1.0) for name in self.names])

    def residuals(self, group: Group, logs: Array) -> Array:
        """Logarithms of estimated over measured."""
        found = self.time_s(group.label, group.columns, dict(zip(self.names, np.exp(logs), strict=True)))
        return np.log(found / group.measured_s)


@dataclass
class Fit:
    """A fitted model: the constants of each group, and effects for those that were not there."""

    model: Model
    own: dict[Hashable, Array] = field(default_factory=dict)
    effects: dict[tuple[Hashable, ...], Array] = field(default_factory=dict)

    def mean(self, label: Label) -> Array:
        """The logarithms of the constants to expect of a label."""
        found = self.model.start(label)
        for key in keys(self.model, label):
            found = found + self.effects.get(key, 0.0) * self.model.widths
        return found

    def constants(self, label: Label) -> dict[str, float]:
        """Those of a group that was fitted, else those to expect of it."""
        logs = self.own.get(key_of(label))
        return dict(zip(self.model.names, np.exp(self.mean(label) if logs is None else logs), strict=True))

    def errors(self, group: Group) -> Array:
        """Logarithms of measured over estimated."""
        logs = self.own.get(key_of(group.label))
        return -self.model.residuals(group, self.mean(group.label) if logs is None else logs)


def fitted(model: Model, groups: Sequence[Group], turns: int = 3, near: Fit | None = None) -> Fit:
    """Groups and effects by turns. near: a fit of more rows, which only says where to start looking."""
    found = Fit(model)
    for group in groups:
        label = key_of(group.label)
        found.own[label] = near.own[label] if near and label in near.own else model.start(group.label)
    for turn in range(turns):
        means = {key_of(g.label): found.mean(g.label) if turn else model.start(g.label) for g in groups}
        for group in groups:
            label = key_of(group.label)
            found.own[label] = _one(model, group, means[label], found.own[label])
        found.effects = _effects(model, groups, found.own)
    return found


def key_of(label: Label) -> Hashable:
    """A label as a key."""
    return tuple(sorted(label.items(), key=lambda item: item[0]))


def keys(model: Model, label: Label) -> list[tuple[Hashable, ...]]:
    """The effects that a label takes."""
    found = [(fields, *(label.get(f) for f in fields)) for fields, _ in model.effects]
    return [key for key in found if None not in key]


def _one(model: Model, group: Group, mean: Array, start: Array) -> Array:
    """The constants of one group: Gauss and Newton with a damped step, rows weighed by how far they lie out."""
    at, damped = (start - mean) / model.widths, 1e-2
    left = model.residuals(group, mean + at * model.widths)
    cost = _cost(left, at)
    for _ in range(TURNS):
        slopes = np.empty((len(left), len(at)))
        for i in range(len(at)):
            moved = at.copy()
            moved[i] += STEP
            slopes[:, i] = (model.residuals(group, mean + moved * model.widths) - left) / STEP
        heard = 1.0 / np.sqrt(1.0 + (left / NOISE) ** 2) / NOISE**2
        system = (slopes * heard[:, None]).T @ slopes + np.eye(len(at))
        pull = slopes.T @ (heard * left) + at
        for _ in range(8):
            step = np.linalg.solve(system + damped * np.diag(np.diag(system)), -pull)
            trial = model.residuals(group, mean + (at + step) * model.widths)
            if _cost(trial, at + step) < cost:
                break
            damped *= 4.0
        else:
            break
        gained, cost = cost - _cost(trial, at + step), _cost(trial, at + step)
        at, left, damped = at + step, trial, max(damped / 4.0, 1e-6)
        if gained < 1e-4 * cost + 1e-6:
            break
    return mean + at * model.widths


def _cost(left: Array, at: Array) -> float:
    return float(np.sum(2.0 * (np.sqrt(1.0 + (left / NOISE) ** 2) - 1.0)) + np.sum(at**2))


def _effects(model: Model, groups: Sequence[Group], own: Mapping[Hashable, Array]) -> dict[tuple[Hashable, ...], Array]:
    """What fields of the labels add, in spreads: least squares, each effect shrunk by its own spread."""
    spreads: dict[Hashable, float] = dict(model.effects)
    every = list(dict.fromkeys(key for group in groups for key in keys(model, group.label)))
    at = {key: i for i, key in enumerate(every)}
    design = np.zeros((len(groups), len(every)))
    for row, group in enumerate(groups):
        for key in keys(model, group.label):
            design[row, at[key]] = 1.0
    weight = np.array([min(1.0, len(group.measured_s) / FULL) for group in groups])[:, None]
    offs = np.array([(own[key_of(g.label)] - model.start(g.label)) / model.widths for g in groups])
    shrink = np.diag(np.array([1.0 / spreads[key[0]] ** 2 for key in every]))
    found = np.linalg.solve((design * weight).T @ design + shrink, (design * weight).T @ offs)
    return {key: found[i] for key, i in at.items()}
