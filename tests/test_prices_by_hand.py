"""Prices that one can reckon with: 100 FLOP/s in bf16, 50 bytes/s read, 25 copied, half a second for each start."""

from __future__ import annotations

import pytest

from rooflens.dtypes import dtype
from rooflens.errors import NoPath
from rooflens.operators.cost import Cost, Precision
from rooflens.operators.unknowns import Polynomial
from rooflens.parallel import Pipeline
from rooflens.records import replace
from rooflens.roofline.bound import Sums, contenders, less
from rooflens.roofline.bound import total as summed
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.place import attainable, mbu, mfu, place, placed, ridge, work_of
from rooflens.roofline.placement import conventions, placement
from rooflens.roofline.points import Point
from rooflens.roofline.price import kind_of, price, price_step, started_s, times
from rooflens.workload import Operator

BF16 = Ceiling("bf16", "compute", 80.0, "measured", dtype="bf16", path="matrix", best=100.0)
FP8 = Ceiling("fp8", "compute", 400.0, "spec", dtype="fp8", path="matrix")
VECTOR = Ceiling("fp32", "compute", 10.0, "spec", dtype="fp32", path="vector")
READ = Ceiling("read", "memory", 50.0, "measured", level="main", access="read")
COPY = Ceiling("copy", "memory", 25.0, "measured", level="main", access="copy")
LINK = Ceiling("link", "link", 20.0, "spec", level="nvlink")
NETWORK = Ceiling("network", "link", 5.0, "spec", level="network")
DEVICE = Ceiling("device", "launch", 0.5, "measured", level="device")
HOST = Ceiling("host", "launch", 2.0, "measured", level="host")
ALL = (BF16, FP8, VECTOR, READ, COPY, LINK, NETWORK, DEVICE, HOST)
ACME = Machine("acme", "Acme One", ALL, link="nvlink")
WHOLE = Cost(
    {"bf16": 1000.0, "fp8": 0.0}, vector_flops=30.0, weight_bytes=100.0, kv_bytes=50.0, activation_bytes=100.0,
    link_bytes=40.0, network_bytes=15.0, launches=2.0,
)  # fmt: skip


def without(*gone):
    return replace(ACME, ceilings=tuple(c for c in ALL if c not in gone))


def test_each_resource_takes_its_demand_over_its_rate_and_none_what_is_not_asked():
    found, unpriced = times(WHOLE, ACME)
    assert found == {"compute:bf16": 10, "vector": 3, "memory": 150 / 50 + 100 / 25, "link": 2, "network": 3}
    assert unpriced == ()
    assert times(WHOLE, ACME, activations=False)[0] == {**found, "memory": 3}
    assert times(Cost(), ACME) == ({}, ())
    assert times(Cost(activation_bytes=100.0), ACME, activations=False) == ({}, ())


def test_vector_work_without_a_rate_is_left_out_aloud_and_contractions_are_refused():
    found, (said,) = times(WHOLE, without(VECTOR))
    assert "vector" not in found
    assert said == "vector work (norms, softmax, rotary) is left out: the vector fp32 rate of acme is not known"
    assert times(replace(WHOLE, vector_flops=0.0), without(VECTOR))[1] == ()
    for missing in (BF16, LINK, NETWORK, READ):
        with pytest.raises(NoPath, match="is not known"):
            times(WHOLE, without(missing))


def test_activations_take_the_copy_rate_else_that_of_reading_and_that_is_said():
    found, (said,) = times(WHOLE, without(COPY))
    assert found["memory"] == 150 / 50 + 100 / 50
    assert said == "activations are charged at the read rate: the copy rate of acme is not known"
    sheet = replace(READ, access=None)
    assert times(WHOLE, replace(ACME, ceilings=(BF16, VECTOR, LINK, NETWORK, sheet)))[1] == ()  # one figure for all
    only = times(Cost(activation_bytes=100.0), replace(ACME, ceilings=(COPY,)))
    assert only == ({"memory": 4}, ())


@pytest.mark.parametrize(
    ("resource", "kind"),
    [("compute:bf16", "compute"), ("vector", "compute"), ("memory", "memory"), ("link", "link"), ("network", "link")],
)
def test_a_resource_is_arithmetic_memory_or_a_link(resource, kind):
    assert kind_of(resource) == kind


def operator(name="up", count=1, kind="", **cost):
    return Operator(name, count, Cost(**cost), (), kind)


READS = operator("reads", 3, weight_bytes=100.0, activation_bytes=25.0, launches=1.0)  # 2 + 1 s
COMPUTES = operator("computes", 1, flops={"bf16": 1000.0}, kv_bytes=50.0, launches=2.0)  # 10 s beside 1 s


def test_a_kernel_takes_its_slowest_resource_and_is_started_beside():
    found = price(COMPUTES, ACME)
    assert (found.time_s, found.launch_s, found.bound) == (10, 2 * 0.5, "compute")
    assert (price(READS, ACME).time_s, price(READS, ACME, activations=False).time_s) == (3, 2)
    assert (price(operator(), ACME).time_s, price(operator(), ACME).bound) == (0, "none")


def test_a_step_adds_its_kernels_and_overlaps_its_resources():
    found = price_step([READS, COMPUTES], ACME)
    assert (found.floor_s, found.floor_overlapped_s, found.launch_s) == (3 * 3 + 10, 10, 3 * 0.5 + 1)
    assert (found.shares_s, found.bound) == ({"memory": 9, "compute": 10}, "compute")
    assert (found.moved_bytes, found.cost.bytes) == (3 * 125 + 50, 3 * 125 + 50)
    streamed = price_step([READS, COMPUTES], ACME, activations=False)
    assert (streamed.floor_s, streamed.moved_bytes, streamed.floor_overlapped_s) == (3 * 2 + 10, 350, 10)
    assert price_step([replace(READS, count=4), COMPUTES], ACME).floor_overlapped_s == 12 + 1  # memory of both
    nothing = price_step([], ACME)
    assert (nothing.floor_s, nothing.floor_overlapped_s, nothing.bound, nothing.shares_s) == (0, 0, "none", {})


def test_what_could_not_be_priced_is_said_once_a_step():
    norm = operator("norm", vector_flops=5.0)
    found = price_step([norm, norm], without(VECTOR))
    assert (len(found.unpriced), found.unpriced) == (1, found.kernels[0].unpriced)


def test_a_pipeline_lets_microbatches_follow_by_its_fullest_stage_and_no_device_does_all():
    """Two stages, three microbatches: (3 + 2 - 1) / 2 of one's way, of which a device does three halves."""
    through = Pipeline(2, 0.5, 3.0)
    found = price_step([replace(one, pipeline=through) for one in (READS, COMPUTES)], ACME)
    assert (found.floor_s, found.launch_s) == (2 * 19, 2 * 2.5)
    assert (found.cost.launches, found.moved_bytes) == (1.5 * 5, 1.5 * 425)
    assert found.shares_s == pytest.approx({"memory": 9 * 2, "compute": 10 * 2})
    head = replace(COMPUTES, kind="head", pipeline=through)
    uneven = replace(READS, pipeline=replace(through, fullest=0.9))
    ends = price_step([uneven, head], ACME)
    assert ends.floor_s == 19 + 2 * (19 / 2)  # of 9 s of layers the fullest stage has 8.1
    fuller = price_step([replace(uneven, count=30), head], ACME)
    assert fuller.floor_s == pytest.approx(100 + 2 * 0.9 * 90)
    idle = price_step([replace(operator(), pipeline=through)], ACME)
    assert idle.shares_s == {"none": 0}


def test_starting_kernels_adds_on_the_device_and_runs_beside_it_on_the_host():
    step = price_step([READS, COMPUTES], ACME)
    assert started_s(step, ACME, 5.0, hosted=False) == 19 + 5 * 0.5
    assert started_s(step, ACME, 5.0, hosted=True) == 19 + 5 * 0.5
    assert started_s(step, ACME, 50.0, hosted=True) == 50 * 2
    assert started_s(step, ACME, 50.0, hosted=False) == 19 + 25


def test_the_ridge_is_where_slope_and_roof_meet_and_nothing_is_above_either():
    assert (ridge(ACME, "bf16"), ridge(ACME, "fp8"), ridge(ACME, "fp32", "vector")) == (2, 8, 0.2)
    assert [attainable(ACME, "bf16", x) for x in (1.0, 2.0, 3.0)] == [50, 100, 100]
    assert attainable(ACME, "fp32", 3.0, "vector") == 10


def test_a_point_is_drawn_with_the_arithmetic_that_does_most_else_with_vector_work():
    assert work_of(Cost({"bf16": 3.0, "fp8": 5.0}, vector_flops=99.0)) == ("fp8", 8, None)
    assert work_of(Cost(vector_flops=99.0)) == ("fp32", 99, "vector")
    assert mfu(Cost({"bf16": 30.0, "fp8": 50.0}), ACME, 2.0) == 80 / 2 / 400
    assert mfu(Cost(vector_flops=30.0), ACME, 2.0) == 30 / 2 / 10
    assert (mbu(200.0, ACME, 2.0), mbu(0.0, without(READ), 2.0)) == (2, 0)


def test_a_cost_is_placed_where_it_could_be_and_where_a_clock_found_it():
    cost = Cost({"bf16": 1000.0}, weight_bytes=100.0, activation_bytes=100.0, launches=4.0)
    could, was = place("up", cost, ACME), place("up", cost, ACME, measured_s=20.0)
    assert (could.time_s, could.flops_per_s, could.attainable_flops_per_s, could.share_of_peak) == (10, 100, 100, 1)
    assert (could.dtype, could.flops, could.bytes, could.intensity_flops_per_byte) == ("bf16", 1000, 200, 5)
    assert (could.bound, could.regime, could.measured, could.launches) == ("compute", "compute", False, 4)
    assert (was.time_s, was.flops_per_s, was.attainable_flops_per_s, was.share_of_peak) == (20, 50, 100, 0.5)
    assert (was.measured, was.regime, was.share_of_attainable) == (True, "compute", 0.5)
    assert place("up", cost, ACME, measured_s=21.0).regime == "below-roof"
    half, more = (place("up", replace(cost, launches=n), ACME).regime for n in (20.0, 21.0))
    assert (half, more) == ("compute", "launch")  # 10 s of starting beside 10 s, and 10.5
    assert place("up", replace(cost, launches=21.0), ACME, launch_s=0.0).regime == "compute"
    assert place("up", cost, ACME, launch_s=11.0).regime == "launch"
    kernel = price(Operator("up", 1, cost, ()), ACME)
    assert (placed(kernel, ACME), placed(kernel, ACME, 20.0)) == (could, was)


def test_nothing_to_do_is_a_point_of_nothing():
    found = place("none", Cost(), ACME)
    assert (found.bound, found.time_s, found.flops_per_s, found.attainable_flops_per_s) == ("none", 0, 0, 0)
    assert (found.share_of_peak, found.intensity_flops_per_byte, found.launches) == (0, None, 1)
    assert found.share_of_attainable == 0
    point = Point("x", "bf16", 1.0, 1.0, 1.0, 3.0, 4.0, 0.1, "memory", "memory")
    assert (point.share_of_attainable, point.measured, point.launches) == (0.75, False, 1)
    assert replace(point, attainable_flops_per_s=0.5).share_of_attainable == 6


def placing(operators, machine=ACME, **more):
    return placement("a model", operators, machine, {}, {}, ("mind",), **more)[0]


def test_a_placement_totals_every_operand_and_floors_what_must_be_streamed():
    found = placing([READS, COMPUTES])
    assert (found.machine, found.math, found.notes, found.measured) == ("Acme One", "bf16", ("mind",), None)
    assert (found.peak_flops_per_s, found.bandwidth_bytes_per_s, found.ridge_flops_per_byte) == (100, 50, 2)
    total, floor = found.total, found.step_floor
    assert (total.flops, total.bytes, total.floor_s, total.floor_overlapped_s) == (1000, 425, 19, 10)
    assert (total.launch_s, total.bound, total.intensity_flops_per_byte) == (2.5, "compute", 1000 / 425)
    assert (total.bubble, total.latency_s) == (None, None)
    assert (floor.bytes, floor.floor_s) == (350, 16)
    assert [(o.name, o.count, o.floor_s, o.bound) for o in found.operators] == [
        ("reads", 3, 3, "memory"), ("computes", 1, 10, "compute"),
    ]  # fmt: skip
    assert placing([READS, COMPUTES], without(DEVICE)).total.launch_s is None
    through = [replace(one, pipeline=Pipeline(2, 0.5, 3.0)) for one in (READS, COMPUTES)]
    assert placing(through).total.bubble == 1 / 4


def test_flops_of_several_arithmetics_are_told_apart():
    mixed = operator("mixed", flops={"bf16": 10.0, "fp8": 30.0})
    one, other = placing([mixed, COMPUTES]).operators
    assert (one.flops, other.flops) == ({"bf16": 10, "fp8": 30}, 1000)
    assert placing([mixed], measured_s=1.0).total.intensity_flops_per_byte is None


def test_an_operator_alone_is_set_against_all_it_moves_and_a_step_against_what_it_must_stream():
    """Reading takes 2 s, with activations 3 s; without weights there is no floor of a step."""
    one = replace(READS, count=1)
    alone, step = placing([one], measured_s=6.0, alone=True), placing([one], measured_s=6.0)
    assert (alone.measured.times_floor, step.measured.times_floor) == (2, 3)
    assert (alone.measured.mbu, step.measured.mbu) == (125 / 6 / 50, 100 / 6 / 50)
    assert alone.step_floor.floor_s == step.step_floor.floor_s == 2
    adds = operator("adds", activation_bytes=25.0)
    assert placing([adds], alone=True).step_floor is None
    assert placing([adds]).step_floor.floor_s == 0
    assert placing([adds], measured_s=1.0).measured.times_floor == 0


def test_a_ratio_of_one_is_reached_and_one_above_it_is_a_finding():
    exact = placing([COMPUTES], measured_s=10.0).measured
    assert (exact.mfu, exact.achieved_flops_per_s, exact.regime, exact.findings) == (1, 100, "compute", ())
    assert placing([COMPUTES], measured_s=9.996).measured.findings == ()  # 1.0004: it is shown as 100 %
    (shown,) = placing([COMPUTES], measured_s=9.99).measured.findings
    assert shown.startswith("MFU 100.1 % is above")
    (above,) = placing([COMPUTES], measured_s=5.0).measured.findings
    assert above.startswith("MFU 200 % is above the dense bf16 roof of acme; suspect that it ran in fp8 (50 % of")
    (none,) = placing([COMPUTES], measured_s=2.0).measured.findings  # 500 FLOP/s: no roof here is so high
    assert none.startswith("MFU 500 % is above the dense bf16 roof of acme; suspect a sparse figure")
    (just,) = placing([COMPUTES], measured_s=2.5).measured.findings
    assert "ran in fp8 (100 % of that roof)" in just
    faster = replace(ACME, ceilings=(*ALL, replace(FP8, id="fp4", dtype="fp4", value=1600.0)))
    (nearest,) = placing([COMPUTES], faster, measured_s=5.0).measured.findings
    assert "ran in fp8" in nearest
    one = replace(READS, count=1)
    assert placing([one], measured_s=2.0).measured.findings == ()
    (moved,) = placing([one], measured_s=1.0).measured.findings
    assert moved.startswith("MBU 200 % is above the read bandwidth of acme; suspect data that stayed in a cache")


def test_what_a_reader_must_know_names_formats_that_differ_and_the_half_of_a_mask():
    plain = Precision(dtype("fp8"), dtype("int8"), dtype("bf16"))
    parts = replace(plain, stored_parts={"head": dtype("bf16"), "embed": dtype("bf16"), "norm": dtype("fp8")})
    said = conventions(replace(ACME, assumed={"memory": "2 TB/s"}), plain, "causal")
    assert said["precision"] == "weights fp8, KV int8, activations bf16, math bf16"
    assert (said["mask"], said["assumed memory"]) == ("causal (half of the scores counted)", "2 TB/s")
    other = conventions(ACME, parts, "full")
    assert other["precision"].startswith("weights fp8 (head, embed in bf16), KV")
    assert other["mask"] == "full"


A, B = ((0, "A"),), ((0, "B"),)


def test_a_resource_that_another_covers_term_by_term_never_binds():
    assert contenders([{A: 1.0}, {A: 2.0}, {A: 1.5}]) == [{A: 2.0}]
    assert contenders([{A: 2.0}, {A: 2.0}]) == [{A: 2.0}]
    assert contenders([{A: 2.0}, {B: 1.0}, {A: 1.0, B: 1.0}]) == [{A: 2.0}, {A: 1.0, B: 1.0}]
    assert contenders([{A: 2.0}, {B: 1.0}, {A: 1.0}]) == [{A: 2.0}, {B: 1.0}]  # one that covers it is enough
    assert contenders([]) == [{}]
    assert less({A: 3.0, B: 1.0}, {A: 3.0, (): 2.0}) == {B: 1.0, (): -2.0}
    assert summed([{A: 1.0}, {A: 2.0, B: 1.0}, {}]) == {A: 3.0, B: 1.0}
    assert Polynomial.of((0, "A")).terms == {A: 1.0}


def test_folded_kernels_take_what_the_largest_needs_above_the_first():
    """Constant 1, A and B: kernels take A + 2, and of the second 3 B or A more, whichever is larger, if any."""
    sums = Sums(((0, 2.0), (1, 1.0)), ((((2, 3.0),), ((1, 1.0),)), (((2, -1.0),),)))
    assert sums.floor_s([1.0, 10.0, 2.0]) == 12 + 10 + 0
    assert sums.floor_s([1.0, 10.0, 5.0]) == 12 + 15
    assert Sums().floor_s([1.0]) == 0
    assert Sums().launch_s == 0
