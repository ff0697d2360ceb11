"""The loop, the gate and the budget by themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.errors import RooflensError
from rooflens.measure import gate, loop
from rooflens.measure.backend import Usage
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.bandwidth import cache_sets, working_set_bytes
from rooflens.measure.budget import Budget
from rooflens.measure.options import Options
from rooflens.roofline.profile import Cache, Device

MIB = 2.0**20


def kernel_of(backend, rate_share=1.0):
    kernels = backend.gemm("fp32", 1024, 1024, 1024, 0)
    return kernels[0] if rate_share == 1.0 else kernels[1]


def test_equal_samples_have_a_median_without_doubt():
    assert loop.interval([2.0] * 10) == 0.0


def test_a_handful_of_samples_says_nothing_about_the_median():
    assert loop.interval([1.0] * 5) == math.inf


@given(st.lists(st.floats(1e-6, 1e3), min_size=6, max_size=60), st.floats(1e-3, 1e3))
def test_the_interval_does_not_depend_on_the_unit(samples, factor):
    assert loop.interval([s * factor for s in samples]) == pytest.approx(loop.interval(samples), rel=1e-6, abs=1e-9)


@given(st.lists(st.floats(0.9, 1.1), min_size=20, max_size=20))
def test_more_of_the_same_samples_narrow_the_interval(samples):
    assert loop.interval(samples * 9) <= loop.interval(samples) + 1e-12


def test_a_quiet_kernel_converges_with_the_fewest_samples():
    backend = FakeBackend(FakeMachine(noise=0.0))
    run = loop.repeat(backend, kernel_of(backend), loop.Rule(limit_s=10.0), Budget(backend.clock))
    assert run.converged
    assert len(run.samples_s) == 10


def test_a_noisy_kernel_stops_at_the_limit_and_says_not_converged():
    backend = FakeBackend(FakeMachine(noise=0.3))
    run = loop.repeat(backend, kernel_of(backend), loop.Rule(limit_s=1.0), Budget(backend.clock))
    assert not run.converged
    assert len(run.samples_s) > 10


def test_quick_work_is_called_often_enough_for_one_sample():
    backend = FakeBackend(FakeMachine(noise=0.0, launch_s=1e-6))
    (call,) = backend.launch()
    calls = loop.warm(backend, call, loop.Rule(limit_s=1.0, sample_s=1e-3), Budget(backend.clock))
    assert calls * 1e-6 >= 1e-3


def test_interleaved_kernels_see_the_same_throttling():
    backend = FakeBackend(FakeMachine(noise=0.0, throttle_after_s=0.2))
    kernel = kernel_of(backend)
    rule = loop.Rule(limit_s=1.0, interval=-1.0)
    first, second = loop.interleave(backend, [kernel, kernel], rule, Budget(backend.clock))
    assert first.median_s == pytest.approx(second.median_s, rel=1e-9)


def test_the_fastest_way_wins_and_a_way_that_is_no_roof_only_when_alone():
    backend = FakeBackend()
    kernels = backend.gemm("fp32", 1024, 1024, 1024, 0)
    winner, tried = loop.fastest(backend, kernels, Budget(backend.clock), 1.0)
    assert winner.unit == "fake product"
    assert set(tried) == {"fake product", "slow fake product"}


def test_steady_means_two_windows_within_a_percent():
    assert loop.steady([1.0] * 20)
    assert not loop.steady([1.0] * 19)
    assert not loop.steady([1.0] * 10 + [1.02] * 10)
    assert loop.steady([2.0] * 3 + [1.0] * 10 + [1.009] * 10)


def usage(**more):
    return Usage(**({"wall_s": 0.0, "cpu_s": 0.0, "involuntary_switches": 0, "steal_s": 0.0, "pressure": 0.0} | more))


@pytest.mark.parametrize(
    ("after", "reasons"),
    [
        ({"cpu_s": 1.9}, 0),  # 0.95 of two threads for a second
        ({"cpu_s": 1.79}, 1),
        ({"cpu_s": 2.0, "involuntary_switches": 1}, 0),
        ({"cpu_s": 1.85, "involuntary_switches": 58}, 1),
        ({"cpu_s": 2.0, "involuntary_switches": 58}, 0),  # at no cost
        ({"cpu_s": 2.0, "involuntary_switches": 219}, 1),
        ({"cpu_s": 2.0, "steal_s": 0.01}, 0),  # one tick: the counter's grain
        ({"cpu_s": 2.0, "steal_s": 0.03}, 0),  # 1.5 % of two threads: said, see below
        ({"cpu_s": 2.0, "steal_s": 0.05}, 1),
        ({"cpu_s": 1.0, "involuntary_switches": 219, "steal_s": 0.1}, 3),
    ],
)
def test_the_gate_counts_its_reasons(after, reasons):
    found = gate.judge("x", usage(), usage(wall_s=1.0, **after), threads=2)
    assert len(found.reasons) == reasons


def test_a_little_that_the_hypervisor_took_is_said():
    def taken(steal_s):
        return gate.remark([gate.judge("x", usage(), usage(wall_s=1.0, cpu_s=2.0, steal_s=steal_s), threads=2)])

    assert taken(0.0) is None
    assert "up to 1.5 % of the CPU time" in taken(0.03)
    assert taken(0.5) is None  # refused, with its reason: no remark is needed


def test_threads_that_wait_for_one_another_are_judged_by_the_time_they_wanted_to_run():
    before, idle = usage(waited_s=0.0), usage(wall_s=1.0, cpu_s=1.2, waited_s=0.0)
    assert gate.judge("x", before, idle, threads=2).cpu_share == pytest.approx(0.6)  # of two threads for a second
    assert gate.judge("x", before, idle, threads=2, fills=False).reasons == ()
    queued = usage(wall_s=1.0, cpu_s=1.2, waited_s=0.6)
    assert gate.judge("x", before, queued, threads=2, fills=False).cpu_share == pytest.approx(1.2 / 1.8)
    assert gate.judge("x", before, queued, threads=2, fills=False).reasons


def test_pressure_counts_before_the_start_only():
    assert gate.judge("x", usage(pressure=0.06), usage(wall_s=1.0, cpu_s=1.0), 1).reasons
    assert not gate.judge("x", usage(), usage(wall_s=1.0, cpu_s=1.0, pressure=0.5), 1).reasons


def test_a_system_that_tells_nothing_raises_no_suspicion():
    found = gate.judge("x", Usage(0.0), Usage(1.0), 2)
    assert found.reasons == ()
    assert found.cpu_share is None
    assert found.involuntary_switches is None


def test_somebody_else_on_the_device_is_a_reason():
    before = Usage(0.0, others=("another process computes on this device",))
    assert gate.judge("x", before, Usage(1.0), 1).reasons == ("another process computes on this device",)


def test_a_budget_scales_plans_and_ends_them():
    now = [0.0]
    budget = Budget(lambda: now[0], 10.0, scale=0.5)
    assert budget.limit(4.0) == 2.0
    now[0] = 9.0
    assert budget.limit(4.0) == 1.0
    now[0] = 11.0
    assert budget.over()
    assert budget.limit(4.0) == 0.0
    assert not Budget(lambda: now[0]).over()


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(RooflensError, match="above 0 s"):
        Options(budget_s=0.0)


@pytest.mark.parametrize(
    ("shown_mib", "memory_gib", "expected_mib"),
    [
        (32, 64, 128),  # 4 x shown
        (4, 64, 128),  # never under 128 MiB
        (260, 64, 520),  # 2 x shown where a VM shows the whole socket's cache
        (260, 2, 256),  # an eighth of memory
        (None, 64, 512),
    ],
)
def test_working_sets_outgrow_the_cache_and_fit_the_memory(shown_mib, memory_gib, expected_mib):
    caches = () if shown_mib is None else (Cache("L3", shown_mib * MIB),)
    device = Device("x", "cpu", caches=caches, memory_bytes=memory_gib * 1024 * MIB)
    assert working_set_bytes(device) == expected_mib * MIB


def test_cache_sets_fit_their_level_and_not_the_one_above():
    caches = (Cache("L1", 32 * 1024, 2), Cache("L2", 512 * 1024, 2), Cache("L3", 32 * MIB))
    sets = cache_sets(Device("x", "cpu", caches=caches))
    assert [(c.level, size / 1024) for c, size in sets] == [("L1", 32), ("L2", 256), ("L3", 8192)]
    above = 0.0
    for cache, size in sets:
        assert 2 * above <= size < cache.bytes * cache.instances
        above = cache.bytes * cache.instances


def test_a_level_hardly_larger_than_the_one_above_has_no_set():
    caches = (Cache("L2", 2 * MIB, 2), Cache("L3", 4 * MIB))
    assert [c.level for c, _ in cache_sets(Device("x", "cpu", caches=caches))] == ["L2"]
