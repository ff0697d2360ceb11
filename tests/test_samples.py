from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.samples import median, median_interval

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
