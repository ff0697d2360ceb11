"""Geometry of labels: boxes, spreading, places that never cover anything."""

from __future__ import annotations

import random
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens.present.boxes import Box, clip, crossing, spread
from rooflens.present.bundles import joined
from rooflens.present.labels import Field, Label, place
from rooflens.present.scale import Scale, majors, minors

SPAN = st.floats(-1000, 1000)


@given(st.lists(st.tuples(SPAN, st.floats(1, 40)), min_size=1, max_size=20))
def test_a_spread_column_keeps_its_order_and_overlaps_nowhere(rows):
    rows = sorted(rows, reverse=True)
    wanted, sizes = [w for w, _ in rows], [s for _, s in rows]
    centres = spread(wanted, sizes, -2000, 2000)
    assert all(a - b >= (p + q) / 2 - 1e-6 for a, b, p, q in zip(centres, centres[1:], sizes, sizes[1:], strict=False))
    assert centres[-1] - sizes[-1] / 2 >= -2000 - 1e-6
    assert centres[0] + sizes[0] / 2 <= 2000 + 1e-6


def test_a_column_with_room_stays_where_it_wants_to_be():
    assert spread([90, 50, 10], [20, 20, 20], 0, 100) == [90, 50, 10]


def test_two_labels_on_one_place_part_evenly():
    assert spread([50, 50], [20, 20], 0, 100) == [60, 40]


def test_boxes_that_only_touch_do_not_hit():
    assert not Box(0, 0, 1, 1).hits(Box(1, 0, 2, 1))
    assert Box(0, 0, 1, 1).hits(Box(0.5, 0.5, 2, 2))


def test_a_line_crosses_a_box_only_through_its_inside():
    box = Box(0, 0, 10, 10)
    assert box.crossed((-5, -5, 15, 15))
    assert box.crossed((5, 5, 6, 6))
    assert not box.crossed((-5, 0, 15, 0))
    assert not box.crossed((-5, 8, 3, 16))
    assert not box.crossed((11, 0, 11, 10))


@given(SPAN, SPAN, SPAN, SPAN)
def test_what_a_box_clips_it_also_crosses(ax, ay, bx, by):
    box = Box(-300, -200, 300, 200)
    kept = clip((ax, ay, bx, by), box.grown(-1))
    assert kept is None or box.crossed((ax, ay, bx, by))


def test_segments_sharing_an_end_do_not_cross():
    assert crossing((0, 0, 2, 2), (0, 2, 2, 0))
    assert not crossing((0, 0, 2, 2), (0, 0, 2, 0))


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_placed_labels_cover_neither_each_other_nor_a_marker(seed):
    dice = random.Random(seed)
    middles = [(dice.uniform(50, 850), dice.uniform(50, 550)) for _ in range(dice.randint(1, 6))]
    spots = [(x + dice.choice((0, 0.5, 15)), y) for x, y in middles for _ in range(dice.randint(1, 3))]
    marks = [Box.around(x, y, 20, 20) for x, y in spots]
    field = Field(Box(0, 0, 900, 600), marks=list(marks))
    labels = [Label(i, mark, dice.uniform(20, 300), 24) for i, mark in enumerate(marks)]
    placed, lost = place(labels, field)
    assert len(placed) + len(lost) == len(labels)
    assert not any(a.box.hits(b.box) for a, b in combinations(placed, 2))
    assert not any(one.box.hits(mark) for one in placed for mark in marks)
    assert all(one.box.within(field.bounds) for one in placed)


def test_a_lone_label_stands_right_of_its_marker_without_a_leader():
    placed, lost = place([Label(7, Box.around(100, 100, 20, 20), 80, 20)], Field(Box(0, 0, 400, 200)))
    assert (lost, placed[0].key, placed[0].leader) == ([], 7, None)
    assert placed[0].box == Box(118, 90, 198, 110)


def test_labels_on_one_place_form_a_column_in_reading_order():
    mark = Box.around(200, 300, 20, 20)
    placed, _ = place([Label(i, mark, 120, 20) for i in range(5)], Field(Box(0, 0, 900, 600)))
    assert len({one.box.x0 for one in placed}) == 1
    assert [one.key for one in sorted(placed, key=lambda one: -one.box.y0)] == [0, 1, 2, 3, 4]


def test_names_say_what_they_share_once():
    assert joined(["decode qkv", "decode o"]) == "decode qkv, o"
    assert joined(["decode qkv", "decode o", "prefill o"]) == "decode qkv, o; prefill o"
    assert joined(["qkv prefill B=1", "out prefill B=1"]) == "qkv, out prefill B=1"
    assert joined(["a", "b", "a"]) == "a (x2), b"


def test_a_scale_and_its_way_back_agree():
    scale = Scale((0.1, 1000.0), 100, 500)
    assert scale(1.0) == 200  # one of four decades
    assert abs(scale.back(scale(37.0)) - 37.0) < 1e-9


def test_ticks_are_powers_of_ten_with_engineering_units():
    assert [t.text for t in majors((3e9, 2e12), "FLOP/s", 9)] == ["10 GFLOP/s", "100 GFLOP/s", "1 TFLOP/s"]
    assert [t.text for t in majors((0.05, 2e4), "", 9)] == ["0.1", "1", "10", "100", "1,000", "10,000"]


def test_a_wide_range_keeps_few_ticks_and_a_narrow_one_gains_some():
    assert len(majors((1e-3, 1e17), "FLOP/s", 9)) <= 9
    assert [t.text for t in majors((4.0, 60.0), "", 9)] == ["5", "10", "20", "50"]
    assert minors((1.0, 10.0)) == [2, 3, 4, 5, 6, 7, 8, 9]
