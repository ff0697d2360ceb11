from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.arrays import added, all_of, is_array, letter, maximum, minimum

FINITE = st.floats(-1e18, 1e18)


def test_plain_floats_never_load_numpy():
    code = (
        "import sys; from rooflens.arrays import *\n"
        "assert maximum([1.0, 3, 2.0]) == 3 and minimum([letter(2), 1.0]) == 1\n"
        "assert all_of(1.0 < 2.0) and not is_array(letter(7))\n"
        "assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@given(st.lists(FINITE, min_size=1))
def test_largest_and_smallest_of_floats_are_those_of_python(values):
    assert maximum(values) == max(values)
    assert minimum(values) == min(values)


@given(st.lists(FINITE, min_size=1, max_size=5), FINITE)
def test_arrays_and_floats_give_entry_by_entry_what_floats_give(values, other):
    array = letter(values)
    assert maximum([array, other]).tolist() == [max(v, other) for v in values]
    assert minimum([other, array]).tolist() == [min(v, other) for v in values]


def test_the_largest_of_nothing_is_an_error():
    for extreme in (maximum, minimum):
        with pytest.raises(ValueError, match="of nothing"):
            extreme([])


@pytest.mark.parametrize("value", [7, 7.0, np.int32(7), np.float64(7), np.array(7), True])
def test_a_single_number_becomes_a_plain_float(value):
    assert type(letter(value)) is float


def test_whole_number_arrays_become_float_arrays_and_so_never_wrap():
    big = letter([2**31])
    assert big.dtype == np.float64
    assert (big * big * big).tolist() == [2.0**93]  # 2**93 would wrap in int64
    assert letter(np.array([3], dtype=np.int8)).dtype == np.float64


def test_what_is_not_known_is_not_a_letter():
    with pytest.raises(TypeError, match="None"):
        letter(None)


def test_conditions_hold_everywhere_or_not():
    assert all_of(condition=True)
    assert all_of(letter([1, 2]) > 0)
    assert not all_of(letter([1, 2]) > 1)
    assert is_array(letter([1, 2]))


@given(st.lists(st.floats(-1e6, 1e6), max_size=12))
def test_a_sum_has_the_digits_of_an_array_on_every_python(values):
    """Which `sum` has not: since 3.12 it compensates plain floats."""
    assert added(values) == added([np.array([value]) for value in values])
    assert added([0.1] * 10) == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1
