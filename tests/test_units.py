from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.errors import RooflensError
from rooflens.units import _UNITS, parse, percent, show, show_binary, whole

UNITS = sorted(_UNITS)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("80 GB", "B", 80e9),
        ("80 GiB", "B", 80 * 2**30),
        ("50 MB", "B", 50e6),
        ("228 KiB", "B", 228 * 2**10),
        ("2.0 TB/s", "B/s", 2.0e12),
        ("400 Gb/s", "B/s", 400e9 / 8),  # bits
        ("400 Gbit/s", "B/s", 400e9 / 8),
        ("400Gbps", "B/s", 400e9 / 8),
        ("66.9 TFLOP/s", "FLOP/s", 66.9e12),
        ("1,979 TFLOPS", "FLOP/s", 1979e12),
        ("1_979.5 TOPS", "FLOP/s", 1979.5e12),
        ("50 ms", "s", 0.05),
        ("2.5 us", "s", 2.5e-6),
        ("2 min", "s", 120.0),
        ("1.5 h", "s", 5400.0),
        ("1980 MHz", "Hz", 1980e6),
        ("700 W", "W", 700.0),
        ("4.6 bits", "bits", 4.6),
        ("4.6 bpw", "bits", 4.6),
        ("12.5 ktok/s", "tok/s", 12500.0),
        ("2.49 $/h", "USD/h", 2.49),
        (" .5e3  kB ", "B", 500e3),
        ("0 B/s", "B/s", 0.0),
    ],
)
def test_text_with_a_unit_becomes_si(text, unit, value):
    assert parse(text, unit) == value


@pytest.mark.parametrize("micro", ["u", "\u00b5", "\u03bc"])
def test_all_three_spellings_of_micro_are_one(micro):
    assert parse(f"7 {micro}s", "s") == 7e-6


@pytest.mark.parametrize("prefix", ["k", "M", "G", "T", "P"])
def test_decimal_and_binary_prefixes_differ(prefix):
    power = "kMGTP".index(prefix) + 1
    assert parse(f"1 {prefix}B", "B") == 1000**power
    assert parse(f"1 {prefix.upper()}iB", "B") == 1024**power


@pytest.mark.parametrize(
    ("text", "unit", "hint"),
    [
        ("80 gb", "B", "did you mean 'GB'?"),
        ("80 KB", "B", "did you mean 'kB'?"),
        ("80 Gb", "B", "did you mean 'GB'?"),  # bits are no unit of a capacity
        ("3 gb/s", "B/s", "did you mean 'GB/s' or 'Gb/s'?"),  # eight times apart, so both are named
        ("1 tflop/s", "FLOP/s", "did you mean 'TFLOP/s'?"),
        ("5 MS", "s", "did you mean 'ms'?"),
        ("80", "B", "has no unit; write it like '80 GB'"),
        ("80 GB", "B/s", "'GB' is not a unit of B/s"),
        ("2 TB/s", "B", "'TB/s' is not a unit of B"),
        ("5 mmin", "s", "'mmin' is not a unit of s"),
        ("fast", "FLOP/s", "write it like '989 TFLOP/s'"),
        ("", "B", "is not a number with a unit"),
        ("1,5 TB/s", "B/s", "is not a number with a unit"),  # a decimal comma is not guessed at
        ("1.2.3 GB", "B", "is not a number with a unit"),
        ("nan GB", "B", "is not a number"),
        ("inf GB", "B", "is not a number"),
        ("1e999 GB", "B", "is not a finite number"),
        ("1e308 TB", "B", "is not a finite number"),
        ("1e99999999 GB", "B", "is not a finite number"),
        ("-2 TB/s", "B/s", "is negative"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_hint(text, unit, hint):
    with pytest.raises(RooflensError) as caught:
        parse(text, unit)
    assert hint in str(caught.value)


@given(st.text(max_size=20), st.sampled_from(UNITS))
def test_any_text_is_a_finite_number_or_a_sentence(text, unit):
    try:
        assert 0 <= parse(text, unit) < math.inf
    except RooflensError as error:
        assert repr(text) in str(error)


@given(
    st.floats(1e-9, 1e21),
    st.sampled_from(UNITS),
    st.integers(2, 12),
)
def test_what_is_shown_reads_back_within_the_shown_digits(value, unit, digits):
    again = parse(show(value, unit, digits), unit)
    # half a unit of the last digit; 12 decimals is the finest that is ever written
    assert again == pytest.approx(value, rel=0.5000001 * 10.0 ** (1 - digits), abs=1e-12)


@given(st.floats(1, 1e17), st.integers(4, 12))
def test_what_is_shown_in_binary_reads_back_within_the_shown_digits(value, digits):
    assert parse(show_binary(value, digits), "B") == pytest.approx(value, rel=0.5000001 * 10.0 ** (1 - digits))


@given(st.floats(1e-8, 1e20), st.sampled_from(UNITS))
def test_a_shown_number_has_no_exponent_within_twelve_digits_of_its_prefixes(value, unit):
    number = show(value, unit).split(" ")[0]
    assert ("e" in number) == (value >= 999.95e9 * max(_UNITS[unit][0].values()))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(UNITS))
def test_no_number_is_shown_with_more_than_twelve_digits(value, unit):
    for text in (show(value, unit), show_binary(value), percent(value / 100)):
        mantissa = text.split(" ")[0].partition("e")[0]
        assert sum(letter.isdigit() for letter in mantissa.removeprefix("-").removeprefix("0.")) <= 12


@given(st.floats(1e-9, 1e20), st.sampled_from([u for u in UNITS if "k" in _UNITS[u][0]]))
def test_a_shown_number_stays_below_the_next_prefix(value, unit):
    number = float(show(value, unit).split(" ")[0])
    assert number < 1000 or value >= 999.9e18 or value < 1


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (8e10, "B", "80 GB"),
        (999.96e9, "B", "1 TB"),  # rounds up into the next prefix
        (0.0, "B", "0 B"),
        (0.5, "FLOP/B", "0.5 FLOP/B"),
        (0.05, "s", "50 ms"),
        (120.0, "s", "120 s"),
        (2.5e-6, "s", "2.5 us"),
        (-5e9, "B", "-5 GB"),  # a difference may be negative
        (1e308, "FLOP", "1e308 FLOP"),
        (1.5e25, "FLOP", "15000000 EFLOP"),
        (1e-30, "s", "1e-30 s"),
        (math.nan, "B/s", "unknown B/s"),
        (math.inf, "s", "infinite s"),
        (-math.inf, "s", "-infinite s"),
    ],
)
def test_numbers_are_shown_with_the_largest_fitting_prefix(value, unit, text):
    assert show(value, unit) == text


def test_binary_and_per_cent():
    assert show_binary(2**31) == "2 GiB"
    assert show_binary(1536) == "1.5 KiB"
    assert show_binary(7) == "7 B"
    assert show_binary(math.inf) == "infinite B"
    assert percent(0.00339) == "0.339 %"
    assert percent(1.25) == "125 %"  # above 100 % is a finding, never clipped
    assert (percent(1.0), percent(1.0025), percent(1.1)) == ("100 %", "100.2 %", "110 %")  # nor hidden


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, 2.0**54, 10**400, -(10**400)])
def test_a_size_is_a_whole_number_that_can_be_counted(value):
    with pytest.raises(RooflensError, match="batch"):
        whole(value, "batch")
    for fine in (1, 2.0, 2**53):
        whole(fine, "batch")
