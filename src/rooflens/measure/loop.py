"""The one timing loop. It takes time from the backend, keeps every sample and says when it did not converge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack

from rooflens.measure.backend import Backend, Kernel, State
from rooflens.measure.budget import Budget
from rooflens.measure.gate import judge
from rooflens.records import record
from rooflens.roofline.profile import Gate
from rooflens.samples import LEAST, median, median_interval

LEAST_SAMPLES = 10
MOST_IN_A_TURN = 500
SETTLE_SAMPLE_S = 0.05  # a settling device is never left idle for long: shorter work is enqueued several times
CHECK_SHARE = 0.05  # of the limit, between two looks at whether a run has settled


@record
class Rule:
    """When to stop: the 95 % interval of the median is narrower than `interval`, or after `limit_s` or `most` samples.

    sample_s: shortest sample; quicker work is called several times a sample. warm_s: runs before the first sample.
    """

    limit_s: float
    least: int = LEAST_SAMPLES
    most: int = 2000
    interval: float = 0.01
    sample_s: float = 0.0
    warm_s: float = 0.0


@record
class Run:
    """Samples of one kernel: seconds for one piece of work, in the order taken."""

    kernel: Kernel
    samples_s: tuple[float, ...]
    converged: bool
    gate: Gate
    before: State
    after: State

    @property
    def median_s(self) -> float:
        """What to expect."""
        return median(self.samples_s)

    @property
    def best_s(self) -> float:
        """The least disturbed sample."""
        return min(self.samples_s)


def sample(backend: Backend, kernel: Kernel, calls: int = 1) -> float:
    """Seconds that one piece of work took, averaged over `calls` runs waited for together."""
    return backend.elapsed_s(kernel, calls) / (calls * kernel.inner)


def interval(samples: Sequence[float]) -> float:
    """Width of the 95 % interval of the median, relative to it; infinite with too few samples for one."""
    if len(samples) < LEAST:
        return math.inf
    low, high = median_interval(samples)
    return (high - low) / median(samples)


def repeat(backend: Backend, kernel: Kernel, rule: Rule, budget: Budget, id: str = "") -> Run:
    """Time one kernel until `rule` or `budget` says stop."""
    return interleave(backend, [kernel], rule, budget, id)[0]


def interleave(backend: Backend, kernels: Sequence[Kernel], rule: Rule, budget: Budget, id: str = "") -> list[Run]:
    """Time several kernels turn by turn, so that all see the same weather; stops when the last one has converged."""
    with ExitStack() as stack:
        for kernel in kernels:
            stack.enter_context(kernel.setting())
        calls = [warm(backend, kernel, rule, budget) for kernel in kernels]
        clocks, before = backend.state(), backend.usage()
        taken = _rounds(backend, kernels, calls, rule, budget)
        after = backend.usage()
        clocks_after = backend.state()
    done = [interval(s) <= rule.interval for s in taken]
    threads = max(k.threads for k in kernels)
    gate = judge(id, before, after, threads, fills=all(k.fills for k in kernels))
    return [
        Run(kernel, tuple(samples), ok, gate, clocks, clocks_after)
        for kernel, samples, ok in zip(kernels, taken, done, strict=True)
    ]


def warm(backend: Backend, kernel: Kernel, rule: Rule, budget: Budget) -> int:
    """Run for `rule.warm_s`; returns how many calls make one sample of at least `rule.sample_s`."""
    end = backend.clock() + budget.limit(rule.warm_s)
    spent = sample(backend, kernel) * kernel.inner
    calls = 1
    while spent * calls < rule.sample_s and calls < 1_000_000:
        calls = min(1_000_000, max(2 * calls, math.ceil(0.8 * rule.sample_s / max(spent, 1e-9))))
        spent = sample(backend, kernel, calls) * kernel.inner
    while backend.clock() < end:
        sample(backend, kernel, calls)
    return calls


def fastest(
    backend: Backend, kernels: Sequence[Kernel], budget: Budget, limit_s: float, rounds: int = 4
) -> tuple[Kernel, dict[str, float]]:
    """The kernel with the best sample after a few interleaved rounds, and every unit's best seconds.

    A way that can never be a roof is taken only when there is no other. At least one round, whatever the limit. A turn
    lasts so long that the waiting threads of the library before it have gone to sleep.
    """
    proper = [k for k in kernels if not k.why_not] or list(kernels)
    best = dict.fromkeys((k.unit for k in proper), math.inf)
    end = backend.clock() + budget.limit(limit_s)
    for _ in range(rounds):
        for kernel in proper:
            with kernel.setting():
                best[kernel.unit] = min(best[kernel.unit], _turn(backend, kernel, backend.turn_s))
        if backend.clock() > end:
            break
    return min(proper, key=lambda k: best[k.unit]), best


def _turn(backend: Backend, kernel: Kernel, least_s: float) -> float:
    end = backend.clock() + least_s
    samples = [sample(backend, kernel)]
    while backend.clock() < end and len(samples) < MOST_IN_A_TURN:
        samples.append(sample(backend, kernel))
    return min(samples)


def first(backend: Backend, kernel: Kernel, count: int, budget: Budget, id: str = "") -> Run:
    """The first `count` runs as they come, without a warm-up: what a rested machine gives."""
    with kernel.setting():
        clocks, before = backend.state(), backend.usage()
        samples = [sample(backend, kernel)]
        while len(samples) < count and not budget.over():
            samples.append(sample(backend, kernel))
        gate = judge(id, before, backend.usage(), kernel.threads, fills=kernel.fills)
        return Run(kernel, tuple(samples), converged=True, gate=gate, before=clocks, after=backend.state())


def settle(backend: Backend, kernel: Kernel, least_s: float, limit_s: float, budget: Budget, id: str = "") -> Run:
    """Run without a pause until rate and clock stand still, or for `limit_s`; keeps all samples from the start.

    Settled: after `least_s`, the medians of the last two windows of at least ten samples differ by under 1 %.
    """
    with kernel.setting():
        clocks, before = backend.state(), backend.usage()
        start = backend.clock()
        end = start + budget.limit(limit_s)
        check, settled = start + least_s, False
        samples = [sample(backend, kernel)]
        calls = max(1, round(SETTLE_SAMPLE_S / (samples[0] * kernel.inner)))
        while not settled and _goes_on(backend.clock(), end, len(samples), budget):
            samples.append(sample(backend, kernel, calls))
            if backend.clock() >= check:
                settled = steady(samples)
                check = backend.clock() + CHECK_SHARE * limit_s
        after = backend.usage()
        gate = judge(id, before, after, kernel.threads, fills=kernel.fills)
        return Run(kernel, tuple(samples), settled, gate, clocks, backend.state())


def _goes_on(now: float, end: float, count: int, budget: Budget) -> bool:
    return now < end or (count < LEAST_SAMPLES and not budget.over())


def window(samples: Sequence[float]) -> int:
    """How many of the last samples speak for the settled state: a quarter, at least ten."""
    return max(LEAST_SAMPLES, len(samples) // 4)


def steady(samples: Sequence[float]) -> bool:
    """Whether the last window's median is within 1 % of the one before it."""
    n = window(samples)
    if len(samples) < 2 * n:
        return False
    last, previous = median(samples[-n:]), median(samples[-2 * n : -n])
    return abs(last - previous) <= 0.01 * previous


def _rounds(
    backend: Backend, kernels: Sequence[Kernel], calls: Sequence[int], rule: Rule, budget: Budget
) -> list[list[float]]:
    taken: list[list[float]] = [[] for _ in kernels]
    end = backend.clock() + budget.limit(rule.limit_s)
    while len(taken[0]) < rule.most:
        for samples, kernel, n in zip(taken, kernels, calls, strict=True):
            samples.append(sample(backend, kernel, n))
        count = len(taken[0])
        if count >= rule.least and (backend.clock() > end or _all_tight(taken, count, rule)):
            break
        if budget.over():
            break
    return taken


def _all_tight(taken: list[list[float]], count: int, rule: Rule) -> bool:
    checkpoint = count < 50 or count % 10 == 0
    return checkpoint and all(interval(s) <= rule.interval for s in taken)
