"""The answer to `bench`: each figure of a benchmark set against the ceiling it belongs to, by what it asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from rooflens.records import field, html, record
from rooflens.roofline.observed import Condition
from rooflens.roofline.place import work_of
from rooflens.roofline.price import StepPrice
from rooflens.workload import Phase, mean_context

SCHEMA = "rooflens/bench/1"
Ratio = Literal["mbu", "mfu", "share_of_link"]
RATIOS: tuple[Ratio, ...] = ("mbu", "mfu", "share_of_link")
CONVENTIONS: Mapping[str, str] = {
    "ratio": "demand_per_s over ceiling_value; above 1 by more than rounding (0.05 %) it is a finding",
    "mbu": "bytes that the work had to move a second, of the bandwidth of main memory",
    "mfu": "FLOPs that the work had to do a second, of the dense peak of its math",
    "share_of_link": "bytes a second on the link, of its rate in one direction unless said otherwise",
    "devices": "demand and ceiling are of one device",
    "not_counted": "activations, what a cache kept, padding, retries, work of drafts",
}


@record
class JudgedPoint:
    """One figure of a benchmark and, where it belongs against one, its ceiling.

    value in the unit that `metric` carries; means: the tool's own definition. ratio = demand_per_s / ceiling_value,
    both in ceiling_unit; counted: how the demand follows from the figure. floor_s: of a latency, what nothing beats.
    headline: what a gate looks at; the rest leads up to it. missing: why there is no ratio. findings: what cannot be.
    """

    tool: str
    name: str
    metric: str
    value: float | None
    means: str
    ratio_name: Ratio | None = None
    ratio: float | None = None
    ceiling: str | None = None
    ceiling_value: float | None = None
    ceiling_unit: str | None = None
    ceiling_origin: str | None = None
    demand_per_s: float | None = None
    counted: str | None = None
    floor_s: float | None = None
    spread: float | None = None
    headline: bool = True
    missing: str | None = None
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)


@record
class Benches:
    """What one file of a benchmark says. machine, model: absent where nobody named one."""

    _repr_html_ = html

    where: str
    format: str
    points: tuple[JudgedPoint, ...]
    conventions: Mapping[str, str]
    machine: str | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@record
class Demand:
    """What a point asked of one resource, a second and a device: bytes, or FLOPs of `math`.

    access, level: of memory; path: of compute. directions: of a link that the figure adds up. floor_s: of a latency.
    """

    ratio: Ratio
    per_s: float
    counted: str
    math: str | None = None
    path: str | None = None
    access: str = "read"
    level: str = "main"
    link: str | None = None
    directions: int = 1
    floor_s: float | None = None
    headline: bool = True
    notes: tuple[str, ...] = ()


class Modelled(NamedTuple):
    """A model whose rows price the steps behind a point.

    price(phase, batch, tokens or context, prefix): one step of the whole deployment, the cost of one device. exact: its
    formats were asked for or are its files' own, so that its rows know the bytes better than the benchmark's file does.
    devices: that share a replica of it.
    """

    name: str
    params_total: float
    params_streamed: float
    exact: bool
    devices: int
    replicas: int
    price: Callable[[Phase, float, float, float], StepPrice]


def context_of(prompt: float, output: float) -> float:
    """Positions that the mean step of such a run attends to: a whole number, at least 1."""
    return float(max(round(float(mean_context(prompt, output))), 1))


def prompts(model: Modelled, batch: float, prompt: float, prefix: float, tokens_per_s: float) -> Demand:
    """What prompts of this length, behind a prefix, ask for when so many of their tokens a second are taken in."""
    math, flops, path = work_of(model.price("prefill", batch, prompt, prefix).cost)
    counted = f"FLOPs of a prompt by the rows of {model.name} x tokens/s"
    return Demand("mfu", flops / (batch * prompt) * tokens_per_s, counted, math=math, path=path)
