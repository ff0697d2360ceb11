"""Shards in the hands of workers of Ray: how long they may take, where they are tried again, and when that ends."""

from __future__ import annotations

import pytest

from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.crew import AGAIN, DIED, GO_ON, LATE, TRIES, Heap, Patience
from rooflens.fleet.sweeping.on_ray import ALL_IN_USE, NONE_LEFT
from rooflens.present.retold import retold


def test_a_shard_may_take_ten_times_the_slowest_and_a_minute_at_least_or_what_was_said():
    assert Patience().limit_s(None) == 600
    assert Patience().limit_s(1.5) == 60
    assert Patience().limit_s(45.0) == 450  # 10 x 45
    assert Patience(5.0).limit_s(45.0) == 5
    with pytest.raises(RooflensError, match="0 s is none"):
        Patience(0.0)


def test_shards_come_in_order_and_one_that_was_tried_here_waits_for_another_node():
    heap = Heap([1, 2, 3])
    assert heap.pick("a", {"a", "b"}) == 1
    heap.again(1, "a", "it hung")
    assert heap.pick("a", {"a", "b"}) == 2
    heap.back([2])
    assert heap.pick("b", {"a", "b"}) == 2
    assert heap.pick("b", {"a", "b"}) == 1
    heap.again(1, "b", "it hung")
    assert heap.pick("a", {"a", "b"}) == 1  # it was tried everywhere


def test_one_node_alone_is_tried_again_and_a_shard_that_has_nowhere_else_to_go_waits():
    heap = Heap([7])
    assert heap.pick("a", {"a"}) == 7
    heap.again(7, "a", "it hung")
    assert heap.pick("a", {"a", "b"}) is None
    assert heap.pick("a", {"a"}) == 7
    assert heap.left == []


def test_a_shard_is_tried_so_often_and_then_what_landed_is_whole():
    heap = Heap([7])
    for count in range(2, TRIES + 1):
        heap.pick("a", {"a"})
        assert heap.again(7, "a", "it hung").endswith(f"({count} of {TRIES})")
    heap.pick("a", {"a"})
    with pytest.raises(RooflensError, match=f"^shard 7 was tried {TRIES} times, the last time it hung; {GO_ON}$"):
        heap.again(7, "a", "it hung")


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_what_is_waited_for_is_told_in_the_language(lang):
    whys = [LATE.format(time="60"), DIED.format(said="it burnt down")]
    notes = [ALL_IN_USE.format(count=8), NONE_LEFT, *(AGAIN.format(why=why, shard=3, count=2, all=4) for why in whys)]
    assert [note for note in notes if retold(note, lang) == note] == []
    assert [note for note in notes if "worker gave" in retold(note, lang) or "worker was" in retold(note, lang)] == []
