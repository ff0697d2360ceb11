"""Links on figures that one can reckon with: a kilobyte a second inside a node, a hundred bytes between nodes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.errors import NoPath
from rooflens.operators.collectives import Collective, Group, ways
from rooflens.operators.cost import Cost
from rooflens.parallel import Pipeline
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.collective import CollectivePoint, CopyPoint, both_ways, called, pair_of
from rooflens.roofline.exchanges import (
    copy_ceilings,
    fit,
    fits,
    link_ceilings,
    measured_group,
    protocols,
    usual_way,
    with_groups,
)
from rooflens.roofline.knee import Line, error, least_s, line, lines
from rooflens.roofline.links import by_algorithm_s, collective_s, doubts, latency_s, said
from rooflens.roofline.price import price_step
from rooflens.workload import Operator

FIRST, SECOND = Line(1.0, 1.0), Line(100.0, 100.0)
SHORT, LONG = [(n, FIRST.time_s(n)) for n in (1, 2, 3)], [(n, SECOND.time_s(n)) for n in (1000, 2000, 3000)]


def test_a_line_takes_its_latency_and_its_bytes_and_several_the_fastest():
    assert [Line(2.0, 10.0).time_s(n) for n in (0, 30)] == [2, 5]
    assert Line(2.0, 10.0).knee_bytes == 20
    two = (Line(2.0, 10.0), Line(5.0, 100.0))
    assert [least_s(two, n) for n in (30, 100)] == [5, 6]
    assert [error(two, point) for point in ((100, 4.0), (30, 10.0), (30, 5.0))] == [0.5, -0.5, 0]


def test_a_line_is_the_nearest_by_relative_squares():
    """Of (1, 1), (2, 1), (3, 2) the normal equations give 5/9 + n/3; no line beside it is nearer."""
    points = [(1, 1.0), (2, 1.0), (3, 2.0)]
    found = line(points)
    assert (found.latency_s, found.bytes_per_s) == pytest.approx((5 / 9, 3))

    def squares(one):
        return sum(error([one], point) ** 2 for point in points)

    for latency, rate in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)):
        assert squares(found) < squares(Line(found.latency_s * latency, found.bytes_per_s * rate))


def test_times_that_do_not_grow_are_latency_and_the_rate_of_the_largest_in_the_least_time():
    """Falling 6, 4, 2: sum of 1/t over sum of 1/t^2 is 132/49."""
    falling, even = line([(1, 6.0), (2, 4.0), (3, 2.0)]), line([(1, 1.0), (2, 1.0), (4, 1.0)])
    assert (falling.latency_s, falling.bytes_per_s) == pytest.approx((132 / 49, 3 / 2))
    assert (even.latency_s, even.bytes_per_s) == pytest.approx((1, 4))


def test_two_protocols_of_three_sizes_each_are_two_lines_in_whatever_order_they_are_told():
    for points in (SHORT + LONG, LONG + SHORT):
        short, long = lines(points)
        assert (short.latency_s, short.bytes_per_s) == pytest.approx((1, 1))
        assert (long.latency_s, long.bytes_per_s) == pytest.approx((100, 100))


@pytest.mark.parametrize("few", [SHORT[:2] + LONG, SHORT + LONG[:2], SHORT[:1], SHORT[:2]])
def test_no_protocol_has_fewer_than_three_sizes(few):
    assert lines(few) == (line(sorted(few)),)


def test_a_line_that_tells_every_size_within_a_twentieth_needs_no_other():
    """Two protocols that are told apart exactly, and 4 % at most from one line through both."""
    near = [*((n, 100 + n / 10) for n in (1, 2, 3)), *((n, 104 + n / 9) for n in (4, 5, 6))]
    assert lines(near) == (line(near),)


times = st.lists(st.floats(1.0, 10.0), min_size=6, max_size=10)


@given(times)
def test_longer_messages_have_more_latency_and_more_rate_and_two_lines_are_nearer_than_one(seconds):
    points = [(2**i, t) for i, t in enumerate(seconds)]
    one, found = line(points), lines(points)
    for short, long in pairwise(found):
        assert (long.latency_s > short.latency_s, long.bytes_per_s > short.bytes_per_s) == (True, True)
    nearer = [sum(error(some, point) ** 2 for point in points) for some in (found, [one])]
    assert nearer[0] < nearer[1] or found == (one,)


def test_times_that_fall_are_not_told_by_a_long_messages_line_for_the_short():
    """Each half alone has a good line, but the first has more latency and more rate than the second."""
    points = [(1, 0.96), (2, 0.97), (3, 0.98), (4, 0.9), (5, 0.9), (6, 0.9)]
    assert lines(points) == (line(points),)


def test_a_name_ends_in_its_pair():
    assert [pair_of(name) for name in ("0-1", "1-0", "link/nvlink/3+12", "peer/12-3")] == [
        (0, 1),
        (0, 1),
        (3, 12),
        (3, 12),
    ]
    assert [pair_of(name) for name in ("all-reduce", "a0-1", "0-1/short", "h100-80gb")] == [None] * 4
    assert [both_ways(name) for name in ("0+1", "link/nvlink/0+1", "0-1", "all+reduce")] == [True, True, False, False]
    assert (called("graph"), called("eager")) == ("replayed from a graph", "called one by one")


def copied(bytes, time_s, best_s=None, pair="0-1", **more):
    return CopyPoint(pair, bytes, time_s, time_s if best_s is None else best_s, "nvlink", **more)


def reduced(bytes, time_s, devices=4, operation="all-reduce", launcher="graph", **more):
    return CollectivePoint(operation, devices, bytes, time_s, more.pop("best_s", time_s), "bf16", launcher, "nccl 2",
                           more.pop("level", "nvlink"), **more)  # fmt: skip


def test_a_copy_and_a_collective_have_the_rate_of_their_bytes_on_one_link():
    assert (copied(100.0, 2.0).bytes_per_s, copied(100.0, 2.0).trusted) == (50, True)
    point = reduced(100.0, 2.0)
    assert (point.wire_bytes, point.bus_bytes_per_s, point.trusted) == (150, 75, True)  # 2 x 3/4 of the message
    assert reduced(100.0, 2.0, devices=2).wire_bytes == 100
    assert (copied(0.5, 1.0).bytes_per_s, reduced(0.5, 1.0).bus_bytes_per_s) == (0.5, 0.75)


@pytest.mark.parametrize("wrong", [{"bytes": 0.0}, {"best_s": 0.0}, {"best_s": 2.5}, {"best_s": -1.0}])
@pytest.mark.parametrize("made", [copied, reduced])
def test_what_takes_no_time_or_less_than_its_best_is_no_measurement(made, wrong):
    with pytest.raises(ValueError, match="is no measurement"):
        made(**{"bytes": 100.0, "time_s": 2.0, **wrong})
    with pytest.raises(ValueError, match="over 1 devices is no measurement"):
        reduced(100.0, 2.0, devices=1)


def test_the_rate_of_a_pair_is_that_of_its_largest_copy():
    points = [copied(100.0, 2.0, 0.5, samples_s=(1.0, 4.0)), copied(50.0, 0.1), copied(80.0, 1.0, pair="0+1")]
    one, both = copy_ceilings(points)
    assert (one.id, one.value, one.best, one.samples, one.working_set_bytes) == (
        "link/nvlink/0-1", 50, 200, (100, 25), 100,
    )  # fmt: skip
    assert (one.note, both.note) == (None, "both directions at once; one direction's rate")
    later = copy_ceilings([copied(50.0, 0.1), copied(100.0, 2.0), copied(100.0, 5.0)])
    assert [c.value for c in later] == [50]  # the first of equals


def sized(of, count=4, devices=4, operation="all-reduce", share=1.5, **more):
    """Messages of 100, 200, 300 ... bytes that take what a line says of what one link carries."""
    return [reduced(100.0 * n, of.time_s(share * 100 * n), devices, operation, **more) for n in range(1, count + 1)]


def test_a_fit_is_of_bytes_on_one_link_and_its_knee_of_the_message():
    found = fit(sized(Line(6.0, 10.0)))
    (only,) = found.lines
    assert (only.latency_s, only.bytes_per_s) == pytest.approx((6, 10))
    assert found.latency_s == 6 + 150 / 10
    assert found.knee_bytes == pytest.approx(6 * 10 / 1.5)
    assert found.bus_bytes_per_s == 600 / (6 + 600 / 10)
    assert (found.typical_error, found.worst_error) == pytest.approx((0, 0))


def test_a_fit_says_how_far_its_sizes_lie_from_its_line():
    """5/9 + n/3 says 8/9, 11/9 and 14/9 for 1, 1 and 2 seconds."""
    found = fit([reduced(float(n), t, devices=2, samples_s=(t, 2 * t)) for n, t in ((1, 1.0), (2, 1.0), (3, 2.0))])
    assert (found.typical_error, found.worst_error) == pytest.approx((2 / 9, 2 / 9))
    sustained, *_ = link_ceilings([reduced(float(n), 2.0, samples_s=(1.0, 4.0)) for n in (1, 3, 2)])
    assert (sustained.value, sustained.working_set_bytes, sustained.samples) == (4.5 / 2, 3, (4.5, 4.5 / 4))


def test_three_trusted_sizes_make_a_fit_for_each_group_launcher_and_operation():
    three, two = sized(Line(6.0, 10.0), 3), sized(Line(6.0, 10.0), 2, devices=8)
    spoilt = [replace(p, trusted=False) for p in sized(Line(1.0, 10.0), 4, devices=2)]
    eager = sized(Line(9.0, 10.0), 3, launcher="eager")
    found = fits([*three, *two, *spoilt, *eager])
    assert [(one.devices, one.launcher) for one in found] == [(4, "graph"), (4, "eager")]


def test_one_line_is_the_long_messages_protocol_of_the_most_devices_replayed_from_a_graph():
    points = [
        *sized(Line(9.0, 5.0), launcher="eager"), *sized(Line(6.0, 10.0)),
        *sized(Line(3.0, 20.0), devices=2, share=1.0, level=None),
    ]  # fmt: skip
    found = {c.id: c for c in link_ceilings(points)}
    assert [(id, c.devices) for id, c in found.items()] == [
        ("link/nvlink/all-reduce", None), ("link/nvlink/all-reduce/long", 4), ("launch/link:nvlink/all-reduce/long", 4),
        ("link/peer/all-reduce/long/2", 2), ("launch/link:peer/all-reduce/long/2", 2),
    ]  # fmt: skip
    assert found["link/nvlink/all-reduce"].value == 600 / 66
    assert found["link/nvlink/all-reduce/long"].value == pytest.approx(10)
    assert found["launch/link:nvlink/all-reduce/long"].value == pytest.approx(6 / 6)  # a ring of four waits six times
    assert found["link/nvlink/all-reduce/long"].note.startswith(
        "ring; fitted over 4 sizes of all-reduce over 4 devices"
    )
    assert found["launch/link:peer/all-reduce/long/2"].value == pytest.approx(3 / 2)
    free = [c for c in link_ceilings(sized(Line(0.0, 10.0))) if c.kind == "launch"]
    assert [c.value for c in free] == pytest.approx([1e-9 / 6])  # a latency that was not seen is not 0


def test_two_lines_are_a_tree_for_short_messages_and_a_ring_for_long_ones():
    """Of eight devices a tree waits 6 times and sends 2 x the message, a ring 14 times and 7/4."""
    points = [
        *(reduced(float(n), Line(6.0, 1.75).time_s(1.75 * n), 8) for n in (1, 2, 3)),
        *(reduced(float(n), Line(140.0, 175.0).time_s(1.75 * n), 8) for n in (1000, 2000, 3000)),
    ]
    found = {c.id.rpartition("all-reduce/")[2] + " " + c.kind: c.value for c in link_ceilings(points)[1:]}
    assert found == pytest.approx({"short link": 2, "short launch": 1, "long link": 175, "long launch": 10}, rel=1e-9)


def test_a_library_reduces_by_trees_or_rings_and_sends_all_to_all_at_once():
    eight = ways("all-reduce", Group(8))
    assert [usual_way("all-reduce", eight, p).algorithm for p in ("short", "long")] == ["tree", "ring"]
    assert usual_way("all-to-all", ways("all-to-all", Group(8)), "short").algorithm == "one-shot"
    assert usual_way("send", ways("send", Group(2)), "long") is None
    gathered = ways("all-gather", Group(8))  # equal bytes: of a long one too the fewer steps
    assert [usual_way("all-gather", gathered, p).algorithm for p in ("short", "long")] == ["tree", "tree"]


def far(operation, devices):
    return Ceiling(f"{operation}{devices}", "launch", 1.0, "measured", level="link:nvlink", devices=devices,
                   access=f"{operation}/long")  # fmt: skip


def test_a_group_that_was_not_measured_takes_the_next_larger_else_the_largest():
    machine = Machine(
        "acme", "Acme", (far("all-reduce", 2), far("all-reduce", 4), far("all-reduce", 8), far("send", 6))
    )
    assert [measured_group(machine, "nvlink", "all-reduce", n) for n in (1, 2, 3, 4, 5, 8, 9)] == [2, 2, 4, 4, 8, 8, 8]
    assert measured_group(machine, "nvlink", "all-gather", 2) is None
    assert measured_group(Machine("old", "Old", (far("all-reduce", None),)), "nvlink", "all-reduce", 2) is None


def test_protocols_of_older_files_are_of_the_most_devices_that_were_measured():
    old = replace(far("all-reduce", None), id="old")
    copy = Ceiling("link/nvlink/0-1", "link", 1.0, "measured", level="nvlink", access="0-1")
    told = with_groups([old, copy, far("all-reduce", 2)], [reduced(1.0, 1.0, 4), reduced(1.0, 1.0, 2)])
    assert [c.devices for c in told] == [4, None, 2]


ACME = Machine(
    "acme", "Acme One",
    (
        Ceiling("nvlink", "link", 1000.0, "spec", level="nvlink"),
        Ceiling("network", "link", 100.0, "spec", level="network"),
        Ceiling("near", "launch", 2.0, "measured", level="link:nvlink"),
        Ceiling("far", "launch", 5.0, "measured", level="link:network"),
    ),
    link="nvlink",
)  # fmt: skip


def talking(group, bytes=100.0, name="all-reduce", count=1, kind=""):
    talk = Collective(name, group, ways(name, group))
    least = talk.least
    cost = Cost(
        link_bytes=bytes * least.link_bytes, network_bytes=bytes * least.network_bytes, link_steps=least.link_steps,
        network_steps=least.network_steps,
    )  # fmt: skip
    return Operator(name, count, cost, (), kind, collective=talk)


def test_an_algorithm_takes_its_bytes_and_waits_for_each_of_its_steps():
    wanted = {"ring": 0.15 + 6 * 2, "tree": 0.2 + 4 * 2, "one-shot": 0.3 + 2, "two-shot": 0.15 + 2 * 2}
    assert by_algorithm_s(talking(Group(4)), ACME) == pytest.approx(wanted)
    assert collective_s(talking(Group(4)), ACME) == pytest.approx(2.3)
    assert by_algorithm_s(Operator("up", 1, Cost(), ()), ACME) == {}
    assert collective_s(Operator("up", 1, Cost(), ()), ACME) == 0


def test_over_nodes_the_slower_link_counts_and_both_are_waited_for():
    """Two nodes of two: 100 bytes inside at 1,000 B/s, half of what a ring of two sends at 100 B/s."""
    found = by_algorithm_s(talking(Group(4, 2)), ACME)
    assert found["ring inside, ring between nodes"] == pytest.approx(max(0.1, 0.5) + 2 * 2 + 2 * 5)
    assert found["two-shot inside, one-shot between nodes"] == pytest.approx(0.5 + 2 * 2 + 5)
    alone = by_algorithm_s(talking(Group(2, 2)), ACME)
    assert alone["ring"] == pytest.approx(1.0 + 2 * 5)
    assert by_algorithm_s(talking(Group(2, 2), name="send"), ACME) == pytest.approx({"one-shot": 1 + 5})


def test_measured_protocols_stand_for_the_link_inside_and_the_network_keeps_its_own():
    """Short: 500 B/s and half a second a step; long: 2,000 B/s and a whole one."""
    lines = [
        Ceiling(f"{kind}/{protocol}", kind, value, "measured", level=level, access=f"all-reduce/{protocol}", devices=4)
        for protocol, rate, wait in (("short", 500.0, 0.5), ("long", 2000.0, 1.0))
        for kind, value, level in (("link", rate, "nvlink"), ("launch", wait, "link:nvlink"))
    ]
    machine = replace(ACME, ceilings=(*ACME.ceilings, *lines))
    assert list(protocols(machine, "nvlink", "all-reduce", 4)) == ["short", "long"]
    assert by_algorithm_s(talking(Group(4)), machine) == pytest.approx(
        {"tree": 200 / 500 + 4 * 0.5, "ring": 150 / 2000 + 6 * 1.0}
    )
    # four of a node, then two nodes: a quarter of the message goes over the network, at once or in a ring's two steps
    assert by_algorithm_s(talking(Group(8, 2)), machine) == pytest.approx({
        "ring inside, one-shot between nodes": max(150 / 500, 25 / 100) + 6 * 0.5 + 5,
        "ring inside, ring between nodes": max(150 / 2000, 25 / 100) + 6 * 1.0 + 2 * 5,
    })  # fmt: skip


def test_what_collectives_cost_beside_a_floor_is_what_their_kernels_do_not_hide():
    inside, handed = talking(Group(4), count=3), talking(Group(2), name="send", kind="hand-over")
    price = price_step([inside, handed], ACME)
    # floors: 150 bytes and 100 at 1,000 B/s; one-shot 2.3 s, a send 2.1 s
    assert latency_s([inside, handed], price, ACME) == pytest.approx(3 * (2.3 - 0.15) + (2.1 - 0.1))
    through = replace(price, pipeline=Pipeline(2, 0.5, 3.0))
    assert latency_s([inside, handed], through, ACME) == pytest.approx(6.45 + 2.0 + 2 * (6.45 + 2.0) / 2)
    quiet = Operator("up", 1, Cost(), ())
    assert latency_s([quiet, inside], price_step([quiet, inside], ACME), ACME) == pytest.approx(3 * (2.3 - 0.15))
    slope = replace(ACME, ceilings=(*ACME.ceilings, Ceiling("read", "memory", 10.0, "spec", level="main")))
    busy = replace(inside, cost=inside.cost + Cost(weight_bytes=100.0))  # reads for ten seconds meanwhile
    assert latency_s([busy], price_step([busy], slope), slope) == 0
    assert latency_s([quiet], price_step([quiet], ACME), ACME) is None
    without = replace(ACME, ceilings=ACME.ceilings[:2])
    assert latency_s([inside], price_step([inside], without), without) is None
    with pytest.raises(NoPath, match="the latency of nvlink is not known; give it as --on acme,nvlink_latency=TIME"):
        collective_s(inside, without)


def test_which_links_are_taken_and_what_of_them_is_left_out_is_said():
    inside, over = talking(Group(4)), talking(Group(4, 2))
    known = "; the floor counts the fewest bytes; latency: beside the floor, by the cheapest algorithm"
    assert said([inside], ACME, None) == f"all on nvlink{known}"
    assert said([inside, over], ACME, 2) == f"nvlink inside a node of 2, network between nodes{known}"
    assert said([Operator("up", 1, Cost(), ())], ACME, None) is None
    near = replace(ACME, ceilings=ACME.ceilings[:3])
    assert said([inside], near, None) == f"all on nvlink{known}"
    silent = replace(ACME, ceilings=ACME.ceilings[:2])
    for operators, machine in (([over], near), ([inside], silent), ([talking(Group(2, 2))], near)):
        assert said(operators, machine, 2).endswith("latency: not known, so left out")
    assert list(doubts([inside], replace(ACME, ceilings=(*ACME.ceilings, far("all-reduce", 4))))) == []
    (doubt,) = doubts([inside], replace(ACME, ceilings=(*ACME.ceilings, far("all-reduce", 8))))
    assert doubt.startswith("all-reduce over 4 devices was not measured: it is worked out from 8")


def test_what_was_not_measured_of_what_is_asked_is_said():
    def host(origin):
        return replace(ACME, link="pcie", ceilings=(Ceiling("pcie", "link", 9.0, origin, level="pcie"),))

    (from_host,) = doubts([talking(Group(4)), talking(Group(2, 2), name="send")], host("measured"))
    assert from_host == "no link between devices was measured: what pcie carries from the host stands for it"
    assert list(doubts([talking(Group(4))], host("spec"))) == []
    assert list(doubts([talking(Group(2, 2))], host("measured"))) == []  # all goes over the network
    four = replace(ACME, ceilings=(*ACME.ceilings, far("all-reduce", 4)))
    assert [len([*doubts([talking(Group(*of))], four)]) for of in ((2,), (4,), (2, 2))] == [1, 0, 0]
