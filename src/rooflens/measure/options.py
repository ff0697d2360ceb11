"""What to measure and for how long."""

from __future__ import annotations

from collections.abc import Callable

from rooflens.errors import RooflensError
from rooflens.measure.budget import Budget
from rooflens.records import record, replace

DTYPES = ("fp32", "fp64", "bf16", "fp16", "int8")
Progress = Callable[[str, float], None]


@record
class Options:
    """Limits in seconds; each stage stops earlier when it has converged.

    rest_s: idle before the burst. product_s: about how long the chosen product may take. retry_until_s: a disturbed
    measurement is repeated once when it ends before this, counted from the start. sustained: the dtypes whose settled
    rate is measured too; None is all of them. full: as long as it takes. every_way: keep all ways of an attention
    cell, not only the fastest. looks_again: set every rate against a short second look at the end. peers: measure
    copies to and from other devices.
    """

    seed: int = 0
    quick: bool = False
    budget_s: float | None = None
    dtypes: tuple[str, ...] = DTYPES
    rest_s: float = 2.0
    shapes_s: float = 2.0
    product_s: float = 0.12
    burst_s: float = 4.0
    sustained_least_s: float = 3.0
    sustained_s: float = 7.0
    stream_s: float = 4.0
    cache_s: float = 1.0
    launch_s: float = 0.5
    cell_s: float = 2.0
    retry_until_s: float = 40.0
    sustained: tuple[str, ...] | None = None
    full: bool = False
    every_way: bool = False
    looks_again: bool = True
    peers: bool = True

    def __post_init__(self) -> None:
        if self.budget_s is not None and self.budget_s <= 0:
            raise RooflensError("the time budget must be above 0 s; leave it out for no limit")

    @property
    def gemm_total_s(self) -> float:
        """About how long one dtype takes."""
        return self.shapes_s + self.rest_s + self.burst_s / 2 + self.sustained_s

    def products_s(self, dtype: str) -> float:
        """The same for `dtype`, without the sustained run where none is asked for."""
        settles = self.sustained is None or dtype in self.sustained
        return self.gemm_total_s - (0.0 if settles else self.sustained_s)

    def shorter(self) -> Options:
        """Half the sustained run: for what is measured beside the main dtypes."""
        return replace(self, sustained_least_s=self.sustained_least_s / 2, sustained_s=self.sustained_s / 2)


def silent(name: str, fraction: float) -> None:
    """Progress that nobody watches."""


def may_retry(options: Options, budget: Budget, needed_s: float) -> bool:
    """Whether a disturbed measurement that takes `needed_s` may be repeated."""
    return budget.spent() < options.retry_until_s and budget.left() > 2 * needed_s


def quick(seed: int = 0, budget_s: float | None = None) -> Options:
    """A shorter look: rests of half a second, short sustained runs, nothing tried twice."""
    return Options(
        seed=seed,
        quick=True,
        budget_s=budget_s,
        rest_s=0.5,
        shapes_s=0.5,
        product_s=0.05,
        burst_s=1.0,
        sustained_least_s=0.7,
        sustained_s=1.0,
        stream_s=0.8,
        cache_s=0.3,
        launch_s=0.2,
        cell_s=0.4,
        retry_until_s=0.0,
        looks_again=False,
    )


GPU_DTYPES = ("bf16", "fp8", "fp16", "tf32", "int8", "fp32", "fp64")


def gpu(seed: int = 0, budget_s: float | None = None, *, quick: bool = False, full: bool = False) -> Options:
    """A GPU: every way of each ceiling once, a shorter look (`quick`), or as long as it takes (`full`)."""
    known = Options(
        seed=seed, budget_s=budget_s, dtypes=GPU_DTYPES, retry_until_s=0.0, every_way=True, looks_again=False
    )
    if quick:
        return replace(
            known, quick=True, rest_s=0.5, shapes_s=0.3, burst_s=0.1, sustained_least_s=0.8, sustained_s=1.5,
            stream_s=0.5, cache_s=0.15, launch_s=0.05, cell_s=0.02, sustained=("bf16",),
        )  # fmt: skip
    if full:
        return replace(
            known, full=True, shapes_s=6.0, burst_s=0.1, sustained_least_s=6.0, sustained_s=12.0, stream_s=4.0,
            cell_s=0.5, retry_until_s=120.0,
        )  # fmt: skip
    return replace(
        known, shapes_s=1.5, burst_s=0.1, sustained_least_s=3.0, sustained_s=6.0, stream_s=2.0, cache_s=0.5,
        launch_s=0.2, cell_s=0.06, sustained=("bf16", "fp8"),
    )  # fmt: skip
