"""Two H200s: decode steps shared over both (experiments/h200_x2) against the profile of these links and this card.

Nothing is fitted on these steps: what collectives wait is what they took alone, the rest is as for one card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.accuracy import steps
from rooflens import models, workload
from rooflens.artefacts import profile
from rooflens.dtypes import dtype
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.predicting import Expected
from rooflens.prediction.stack import Stack, stack
from rooflens.records import record, replace
from rooflens.roofline.collective import OPERATIONS, CollectivePoint
from rooflens.roofline.exchanges import fits
from rooflens.roofline.knee import error, lines
from rooflens.roofline.math import resolve
from rooflens.roofline.profile import Profile
from rooflens.samples import median

FOLDER = Path(__file__).parents[2] / "experiments" / "h200_x2"
SIZES = {**steps.SIZES, "llama-3.1-70b": (80, 8192, 64, 8, 128, 28672, 128256)}


@record
class Shared:
    """One step, seconds: on both cards, the same without its sums, what both do in full, on one card where it fits."""

    model: str
    dtype: str
    batch: float
    context: float
    time_s: float
    silent_s: float
    everybodys_s: float
    alone_s: float | None = None
    torch_s: float | None = None


@record
class Lost:
    """Shares of a shared step that keep it from half of the time on one card."""

    sums: float
    replicated: float
    smaller: float


def measured(file: str = "steps.json") -> list[Shared]:
    """The steps as they were measured."""
    rows: list[dict[str, Any]] = json.loads((FOLDER / file).read_text(encoding="utf-8"))["rows"]
    return [Shared(**row) for row in rows]


@cache
def links() -> Profile:
    """The profile of the two cards."""
    return profile(FOLDER / "profile.json")


@cache
def profiled() -> Stack:
    """Its stack, with the kernels that the measured one runs."""
    return replace(stack(links()), small=steps.ROTARY)


def expected(one: Shared, tp: int, by: Stack | None = None) -> Expected:
    """What the profile, or another stack of it, says of a step over so many cards."""
    sizes = dict(zip(steps.KEYS, SIZES[one.model], strict=True))
    built = models.from_config({"model_type": "llama", "torch_dtype": "bfloat16", **sizes}, one.model)
    by, own = by or profiled(), dtype("bf16")
    shared = models.rebuilt(built, links=True) if tp > 1 else built
    precision = resolve(workload.precision(own, one.dtype, "bf16", None, shared.state_dtype), by.machine)[0]
    how = {"tp": tp} if tp > 1 else {}
    there = Deployment(shared, precision, by.machine, one.batch, one.context, context=one.context, how=how)
    return by.expect(there, "decode")


def lost(one: Shared) -> Lost | None:
    """Of the time over half of that on one card: sums, half of what both do in full, and the rest; None if not known.

    The rest: products and attention of half the size do not take half the time.
    """
    if one.alone_s is None:
        return None
    replicated_s = one.everybodys_s / 2
    rest_s = one.silent_s - one.alone_s / 2 - replicated_s
    return Lost(*(s / one.time_s for s in (one.time_s - one.silent_s, replicated_s, rest_s)))


def reduces_s(file: str, launcher: str) -> dict[float, float]:
    """Seconds of an all-reduce by its bytes, as one of the folder's runs has them."""
    points: list[dict[str, Any]] = json.loads((FOLDER / file).read_text(encoding="utf-8"))["collectives"]
    return {p["bytes"]: p["time_s"] for p in points if (p["operation"], p["launcher"]) == ("all-reduce", launcher)}


def each_s(one: Shared, *, through_torch: bool = False) -> float:
    """Seconds that one of the step's all-reduces adds to it: two a layer."""
    whole_s = (one.torch_s or 0.0) if through_torch else one.time_s
    return (whole_s - one.silent_s) / (2 * SIZES[one.model][0])


def beyond_s(of: Sequence[Shared]) -> list[float]:
    """What an all-reduce adds to a step over what it takes in a chain of its like, least first."""
    chain_s = reduces_s("profile.json", "graph")
    return sorted(each_s(one) - chain_s[2.0 * one.batch * SIZES[one.model][1]] for one in of)  # 16 bit a value


def errors(of: Sequence[Shared], by: Stack | None = None) -> dict[str, list[float]]:
    """Said over measured less 1: of steps on both cards, on one, and of the speed-up."""
    found: dict[str, list[float]] = {"tp 2": [], "one card": [], "speed-up": []}
    for one in of:
        two = float(expected(one, 2, by).time_s)
        found["tp 2"].append(two / one.time_s - 1)
        if one.alone_s is not None:
            alone = float(expected(one, 1, by).time_s)
            found["one card"].append(alone / one.alone_s - 1)
            found["speed-up"].append(alone / two / (one.alone_s / one.time_s) - 1)
    return found


def typical(some: Sequence[float]) -> float:
    """The median of the errors' sizes."""
    return median(abs(one) for one in some)


def between(points: Sequence[CollectivePoint]) -> Iterator[tuple[str, float, float]]:
    """Operation, and the median and worst error at every second size of lines found from the others."""
    for operation in OPERATIONS:
        mine = sorted((p.wire_bytes, p.time_s) for p in points if p.operation == operation and p.launcher == "graph")
        found = lines(mine[::2])
        off = [abs(error(found, point)) for point in mine[1::2]]
        yield operation, median(off), max(off)


def main() -> None:
    """Prints every step, then the medians."""
    for one in measured():
        said, alone = expected(one, 2), one.alone_s and float(expected(one, 1).time_s)
        speed_up = f"{alone / float(said.time_s):.2f} / {one.alone_s / one.time_s:.2f}" if alone and one.alone_s else ""
        off = float(said.time_s) / one.time_s - 1
        print(f"{one.model} {one.dtype} batch {one.batch:g} at {one.context:g}: {off:+.1%}  speed-up {speed_up}")
    for name, off in errors(measured()).items():
        print(f"{name}: median {typical(off):.1%}, worst {max(map(abs, off)):.1%} of {len(off)}")
    for fit in fits(links().collectives):
        print(f"{fit.operation} {fit.launcher}: median {fit.typical_error:.1%}, worst {fit.worst_error:.1%}")
    for operation, middle, worst in between(links().collectives):
        print(f"{operation} at the sizes between: median {middle:.1%}, worst {worst:.1%}")


if __name__ == "__main__":
    main()
