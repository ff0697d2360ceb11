"""Tables: aligned, never wider than asked, harmless in a terminal."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rooflens.present.tables import cell, table

COLUMNS = ("operator", "intensity", "share")
ROWS = (("decode attention", "1.0 FLOP/B", "0.64 %"), ("prefill gate_up", "1,215 FLOP/B", "100 %"))
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
CELL = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False), st.text(max_size=60)
)


def test_text_stands_left_and_numbers_right():
    assert table(COLUMNS, ROWS).splitlines() == [
        "operator             intensity   share",
        "decode attention    1.0 FLOP/B  0.64 %",
        "prefill gate_up   1,215 FLOP/B   100 %",
    ]


def test_a_narrow_terminal_cuts_text_and_no_number():
    lines = table(COLUMNS, ROWS, width=32).splitlines()
    assert max(map(len, lines)) <= 32
    assert "…" in lines[1]
    assert lines[1].endswith("1.0 FLOP/B  0.64 %")


def test_names_of_rows_are_cut_only_as_far_as_they_are_told_apart():
    rows = [("compute/fp32/burst", "same, and long words"), ("compute/fp32/sustained", "slower, and long words")]
    lines = table(("ceiling", "outcome"), rows, width=30).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["compute/fp32/b…", "compute/fp32/s…"]
    assert table(("ceiling", "outcome"), rows, width=20).count("outcome") == 2  # a block a row


def test_a_very_narrow_terminal_gets_a_block_a_row():
    blocks = table(COLUMNS, ROWS, width=24).split("\n\n")
    assert len(blocks) == 2
    assert blocks[0].splitlines()[0].split() == ["operator", "decode"]
    assert "attention" in blocks[0]


def test_no_rows_are_said_aloud():
    assert table(COLUMNS, ()) == "operator  intensity  share\n(nothing to show)"


def test_colour_changes_no_word():
    plain, coloured = table(COLUMNS, ROWS), table(COLUMNS, ROWS, colour=True)
    assert "\x1b[1m" in coloured
    words = [line.split() for line in ESCAPES.sub("", coloured).splitlines() if "─" not in line]
    assert words == [line.split() for line in plain.splitlines()]


def test_a_name_from_a_file_moves_no_cursor_and_opens_no_markup():
    for colour in (False, True):
        text = ESCAPES.sub("", table(("name",), [("[bold]a[/bold]\x1b[2J\nb",)], colour=colour))
        assert "[bold]a[/bold] [2J b" in text
        assert "\x1b" not in text


def test_cells_say_what_is_not_known_and_carry_units():
    assert (cell(None), cell(None, "B/s")) == ("-", "-")
    assert (cell(2.039e12, "B/s"), cell(0.0064, "%"), cell(True)) == ("2.039 TB/s", "0.64 %", "yes")
    assert (cell(4096), cell(1.5), cell(True, lang="es")) == ("4,096", "1.5", "sí")


def test_wide_letters_take_two_columns():
    lines = table(("a", "b"), [("算子", "x"), ("ab", "y")]).splitlines()
    assert lines == ["a     b", "算子  x", "ab    y"]


@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=5), st.integers(20, 120))
def test_any_table_fits_the_width_or_becomes_blocks(rows, width):
    text = table(("first", "second", "third"), rows, width=width)
    assert all(line == line.rstrip() for line in text.splitlines())
    if rows and all(len(cell(v)) <= 5 and cell(v).isascii() for row in rows for v in row):
        assert max(map(len, text.splitlines())) <= width
