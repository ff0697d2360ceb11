"""Which product a roof is measured with: the shortest good one from rest, the largest good one for long."""

from __future__ import annotations

from functools import partial

import pytest
from test_cuda import GPU

from rooflens.measure.backend import Kernel
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.budget import Budget
from rooflens.measure.gemm import measure_gemm
from rooflens.measure.loop import settle
from rooflens.measure.options import gpu
from rooflens.measure.shapes import LARGEST_NEAR, Best, _largest_good, _shortest_good, best_shapes
from rooflens.records import replace
from rooflens.samples import median

KERNEL = Kernel(lambda: None, "fake", lambda: 0.0, 0.0)
LARGE = 8192**3


class PowerCapped(FakeBackend):
    """A card whose clock falls after 0.3 s of work, and more for products that move more for their arithmetic."""

    def __init__(self):
        super().__init__(FakeMachine(**{**GPU, "throttle_after_s": 0.3, "throttled_to": 0.8}))

    def gemm(self, dtype, m, n, k, seed):
        found = super().gemm(dtype, m, n, k, seed)
        return [replace(kernel, run=partial(self._held, kernel.run, m * n * k)) for kernel in found]

    def _held(self, run, work):
        before = self.clock()
        run()
        if self._hot() and work < LARGE:
            self._pass(0.04 * (self.clock() - before))


def tried(*found):
    """(M = N = K, FLOP/s) each."""
    return [Best(KERNEL, (n, n, n), 2 * n**3 / rate) for n, rate in found]


def test_the_burst_is_of_the_shortest_good_product_and_the_long_run_of_the_largest():
    found = tried((4096, 795e12), (8192, 800e12), (10240, 785e12), (16384, 770e12))
    assert _shortest_good(found).shape == (4096,) * 3  # 0.99375 of the best
    assert _largest_good(found).shape == (10240,) * 3  # 0.98125 of it; 0.9625 is too far
    assert _largest_good(found).chosen == LARGEST_NEAR == "the largest shape whose burst is within 2 % of the best"


def test_products_too_long_to_settle_within_seconds_are_left_to_the_shortest():
    found = tried((4096, 1e12), (8192, 1e12))  # 0.14 s and 1.1 s
    assert _largest_good(found) == _shortest_good(found) == found[0]
    found = tried((2048, 1e12), (4096, 1e12), (8192, 1e12))
    assert _largest_good(found).shape == (2048,) * 3  # 17 ms


def test_two_settled_rates_of_a_capped_card_agree_with_each_other_and_with_a_long_run():
    backend, options = PowerCapped(), gpu()
    budget = Budget(backend.clock)
    fresh, settled = zip(*(measure_gemm(backend, "bf16", options, budget).ceilings for _ in range(2)), strict=True)
    best = best_shapes(backend, "bf16", options, budget)
    run = settle(backend, best.lasting.kernel, 10.0, 10.0, budget)
    long = best.lasting.flops / median(run.samples_s[-len(run.samples_s) // 3 :])
    assert settled[0].value == pytest.approx(settled[1].value, rel=0.01)
    assert settled[0].value == pytest.approx(long, rel=0.01)
    assert settled[0].value == pytest.approx(0.8 * 800e12, rel=0.01)  # a product under 8192 cubed gives 4 % less
    assert fresh[0].value == pytest.approx(
        fresh[1].value, rel=0.01
    )  # the second search began on a card that had rested
    assert all(LARGEST_NEAR in c.note for c in settled)
    assert not any(LARGEST_NEAR in c.note for c in fresh)
    assert [c.note.split(" random")[0] for c in fresh] == ["4096 x 4096 x 4096"] * 2


def test_a_processor_settles_at_the_product_it_began_with():
    backend = FakeBackend()
    found = best_shapes(backend, "fp32", gpu(), Budget(backend.clock))
    assert found.fresh.shape == found.lasting.shape
    assert found.lasting.chosen == ""
