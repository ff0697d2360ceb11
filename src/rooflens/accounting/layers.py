"""The layers of a model found again in the order of a trace's kernels: each layer's time against its floor.

A layer is a stretch of kernels that repeats as often as the model has layers, with two products or more in it and none
of the vocabulary. It is found by a kernel that stands at equal distances so many times; the stretch then reaches as far
back as the repetition does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rooflens.accounting.record import Layered
from rooflens.records import record, replace
from rooflens.roofline.observed import Kernel, Observed, Timeline
from rooflens.roofline.price import StepPrice
from rooflens.samples import median
from rooflens.workload import Operator

MOST_ANCHORS = 200  # names tried, the rarest first
LEAST_PRODUCTS = 2


@record
class Stretch:
    """The layers of one step of the model: where the first begins in the order, kernels a layer, seconds of each."""

    begin: int
    kernels: int
    layers_s: tuple[float, ...]


def layered(seen: Observed, layers: int, width: float, vocabulary: float) -> list[Layered]:
    """The steps of a trace by the kernels of their layers, those of most time first; empty where none repeats so often.

    layers: of the model. width: D, by which shapes tell the number of tokens. vocabulary: V, which no layer has.
    """
    found: list[Layered] = []
    for line in seen.timelines:
        alike: dict[tuple[str, ...], list[Stretch]] = {}
        names = [seen.kernels[i].name for i in line.order]
        could_be = partial(_is_layer, [seen.kernels[i] for i in line.order], vocabulary)
        for stretch in stretches(names, line.order_s, layers, could_be):
            pattern = tuple(names[stretch.begin : stretch.begin + stretch.kernels])
            alike.setdefault(pattern, []).append(stretch)
        found += [_layered(seen, line, pattern, steps, layers, width) for pattern, steps in alike.items()]
    return sorted(found, key=lambda one: -one.layer_s * one.layers * one.steps)


def set_against(one: Layered, phase: str, operators: Sequence[Operator], price: StepPrice, layers: int) -> Layered:
    """The layers with the floor of one: weights, KV and state of all layers over their number, ends left out."""
    inside = zip(operators, price.kernels, strict=True)
    floor_s = sum(float(o.count * kernel.time_s) for o, kernel in inside if not o.at_an_end) / layers
    return replace(one, phase=phase, floor_s=floor_s, share_of_floor=floor_s / one.layer_s if one.layer_s else None)


def stretches(
    names: Sequence[str], times_s: Sequence[float], layers: int, is_layer: Callable[[int, int], bool]
) -> Iterator[Stretch]:
    """Every place where a stretch of kernels stands `layers` times in a row, the shortest stretches first.

    is_layer(begin, end): whether the kernels of the first one could be a layer.
    """
    numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
    order = [numbers[name] for name in names]
    where: dict[int, list[int]] = {}
    for at, number in enumerate(order):
        where.setdefault(number, []).append(at)
    anchors = sorted((places for places in where.values() if len(places) >= layers > 1), key=len)
    found = {(period, first) for places in anchors[:MOST_ANCHORS] for first, period in _equal_steps(places, layers)}
    taken: list[tuple[int, int]] = []
    for period, first in sorted(found):
        begin = _begin(order, first, period)
        end = begin + period * layers
        if end > len(order) or any(begin < b and a < end for a, b in taken):
            continue
        if order[begin : end - period] == order[begin + period : end] and is_layer(begin, begin + period):
            taken.append((begin, end))
            sums = tuple(sum(times_s[begin + k * period : begin + (k + 1) * period]) for k in range(layers))
            yield Stretch(begin, period, sums)


def _equal_steps(places: Sequence[int], layers: int) -> Iterator[tuple[int, int]]:
    """Where `layers` places follow each other at equal distances, and the distance; not inside a longer run."""
    run = 0
    for i in range(1, len(places)):
        step = places[i] - places[i - 1]
        run = run + 1 if i > 1 and step == places[i - 1] - places[i - 2] else 1
        ends = i + 1 == len(places) or places[i + 1] - places[i] != step
        if run == layers - 1 and ends:
            yield places[i - layers + 1], step


def _begin(order: Sequence[int], first: int, period: int) -> int:
    """How far back the repetition reaches: less than a whole stretch."""
    begin = first
    while begin > 0 and first - begin < period - 1 and order[begin - 1] == order[begin - 1 + period]:
        begin -= 1
    return begin


def _layered(
    seen: Observed, line: Timeline, pattern: tuple[str, ...], steps: Sequence[Stretch], layers: int, width: float
) -> Layered:
    every = [seconds for step in steps for seconds in step.layers_s]
    first = steps[0]
    kernels = [seen.kernels[i] for i in line.order[first.begin : first.begin + first.kernels]]
    tokens = next((t for kernel in kernels if (t := _tokens(kernel, width)) is not None), None)
    return Layered(
        steps=len(steps),
        layers=layers,
        kernels=len(pattern),
        layer_s=median(every),
        slowest_s=max(every),
        names=pattern,
        tokens=tokens,
        width_fits=tokens is not None if any(_rows(kernel) for kernel in kernels) else None,
    )


def _is_layer(order: Sequence[Kernel], vocabulary: float, begin: int, end: int) -> bool:
    """Whether these could be a layer: two products or more, and no size that is the vocabulary's."""
    kernels = order[begin:end]
    products = sum(kernel.family == "gemm" for kernel in kernels)
    return products >= LEAST_PRODUCTS and not any(_has(k.operator.shapes, vocabulary) for k in kernels if k.operator)


def _has(shapes: object, size: float) -> bool:
    return any(_has(one, size) for one in shapes) if isinstance(shapes, tuple) else shapes == size


def _tokens(kernel: Kernel, width: float) -> float | None:
    """New tokens of a step, from the first operand of a product: its values over the width of the model."""
    first = _rows(kernel)
    if not first or first[-1] != width or not all(isinstance(size, int) for size in first):
        return None
    return math.prod(float(size) for size in first[:-1])


def _rows(kernel: Kernel) -> tuple[Any, ...]:
    """The shape of the first operand of a product; () where the file does not say it."""
    shapes = kernel.operator.shapes if kernel.operator and kernel.family == "gemm" else ()
    return next((shape for shape in shapes if isinstance(shape, tuple) and len(shape) >= 2), ())
