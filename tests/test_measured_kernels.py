"""What is said of kernels once, for all backends that run them."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rooflens.measure.kernels import checked, cold_copies, spread


@given(st.integers(1, 5000), st.integers(1, 100))
def test_places_are_distinct_evenly_spread_and_reach_from_end_to_end(size, most):
    places = spread(size, most)
    assert len(set(places)) == len(places) == min(size, most)
    assert places[0] == 0
    assert most == 1 or places[-1] == size - 1
    steps = [after - before for before, after in itertools.pairwise(places)]
    assert max(steps, default=1) - min(steps, default=1) <= 1


def test_of_a_product_16_rows_and_64_columns_are_checked_and_all_of_a_small_one():
    assert [len(some) for some in checked(4096, 4096)] == [16, 64]
    assert checked(1, 3) == ([0], [0, 1, 2])


@given(st.floats(0, 1e12), st.floats(1, 1e12), st.integers(1, 512))
def test_so_many_copies_take_turns_that_together_they_are_more_than_stays_warm(cold_bytes, size_bytes, most):
    copies = cold_copies(cold_bytes, size_bytes, most)
    assert 1 <= copies <= most
    assert copies == most or copies * size_bytes >= cold_bytes * (1 - 1e-12)
    assert copies == 1 or (copies - 1) * size_bytes < cold_bytes * (1 + 1e-12)
