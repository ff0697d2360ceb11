from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.samples import at_share, median, median_interval

SAMPLES = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30)


@given(SAMPLES)
def test_the_median_is_that_of_the_standard_library_in_any_order(samples):
    assert median(samples) == statistics.median(samples) == median(reversed(samples))


def test_nothing_has_no_median():
    with pytest.raises(ValueError, match="no samples"):
        median([])


@given(SAMPLES)
def test_an_interval_of_the_median_holds_the_median(samples):
    low, high = median_interval(samples)
    assert low <= median(samples) <= high


def test_thousands_of_samples_have_an_interval_too():
    low, high = median_interval(range(5001))
    assert low < 2500 < high  # the middle one
    assert high - low < 160  # about 2 x 0.98 sqrt(n)


@given(st.lists(st.floats(1e-9, 1e15), min_size=1), st.floats(0, 1))
def test_of_seconds_and_of_their_rates_the_same_one_lies_at_a_share(seconds, share):
    slow_first = sorted(seconds, reverse=True)
    assert at_share(slow_first, share) == pytest.approx(1 / at_share([1 / one for one in slow_first], share))
    assert min(seconds) * (1 - 1e-12) <= at_share(slow_first, share) <= max(seconds) * (1 + 1e-12)


def test_between_two_neighbours_are_equal_ratios():
    assert at_share([1.0, 10.0, 1000.0], 0.5) == 10.0
    assert at_share([1.0, 10.0, 1000.0], 0.75) == pytest.approx(100.0)  # half way from 10 to 1000
    assert at_share([7.0], 0.05) == 7.0
