"""What others told, as plain records: two looks at one node, kernels of a profiler, figures of engines."""

from __future__ import annotations

import pytest

from rooflens.records import replace
from rooflens.roofline.merged import filled, merged
from rooflens.roofline.node import Clocks, Gpu, Host, Link, Module, Nic, Node, Process, Sample
from rooflens.roofline.observed import Collective, Copy, HostOp, Kernel, Launch, Observed, Timeline
from rooflens.roofline.scraped import Page, Served


def test_one_look_at_a_node_is_that_node():
    node = Node(warnings=("mind", "mind"))
    assert merged([node]) is node


def test_fields_of_the_earlier_look_stand_and_later_ones_fill_its_gaps():
    first = Gpu(0, "H100", busy_share=0.0, clocks=Clocks(sm_hz=1e9))
    later = Gpu(0, "H100", busy_share=0.9, temperature_c=40.0, clocks=Clocks(2e9, 3e9))
    other = Gpu(1, "H100")
    found = merged([Node((first,)), Node((other, later))])
    assert found.gpus == (Gpu(0, "H100", busy_share=0.0, temperature_c=40.0, clocks=Clocks(1e9, 3e9)), other)
    assert found.warnings == ()
    assert merged([Node(), Node()]).gpus is None
    assert merged([Node(), Node(())]).gpus == ()


def test_an_empty_list_is_a_gap_unless_it_says_that_there_is_none():
    nobody = Gpu(0, processes=(), throttled_s={})
    somebody = Gpu(0, processes=(Process("train"),), throttled_s={"idle": 1.0})
    assert filled(nobody, somebody) == Gpu(0, processes=(), throttled_s={"idle": 1.0})
    assert filled(Gpu(0), somebody).processes == somebody.processes
    assert filled(Host(cores=2), Host(cores=4, sockets=1, modules=(Module("A1"),))) == Host(
        cores=2, sockets=1, modules=(Module("A1"),)
    )
    assert filled(somebody, Gpu(0, throttled_s={})) == somebody


def test_what_a_look_says_is_not_available_is_kept_until_another_knows_it():
    said = Gpu(0, absent={"busy_share": "N/A", "clocks.sm_hz": "[N/A]", "power.draw_w": "N/A"})
    knows = Gpu(0, busy_share=0.0, clocks=Clocks(sm_hz=1e9), absent={"memory_bytes": "-"})
    assert merged([Node((said,)), Node((knows,))]).gpus[0].absent == {"power.draw_w": "N/A", "memory_bytes": "-"}


def test_files_that_contradict_each_other_are_said_to_and_gaps_contradict_nothing():
    nodes = [Node((Gpu(0, "H100", 80e9, mig=True), Gpu(1, "H100"))), Node((Gpu(0, "L4", 80e9, mig=False), Gpu(1)))]
    assert merged(nodes).warnings == tuple(
        f"the files disagree about {what} of GPU 0: are they of one node?" for what in ("name", "mig")
    )


def test_a_kind_of_link_that_is_known_wins_and_counts_are_of_its_kind():
    def both(*links):
        return merged([Node(links=(one,)) for one in links]).links

    assert both(Link(0, 1), Link(0, 1, "NVLink", 18), Link(0, 1, peers="OK")) == (Link(0, 1, "NVLink", 18, "OK"),)
    assert both(Link(0, 1, "NVLink"), Link(0, 1, "PIX", 4)) == (Link(0, 1, "NVLink"),)
    assert both(Link(0, 1, "NVLink"), Link(0, 1, "NVLink", 4)) == (Link(0, 1, "NVLink", 4),)
    assert both(Link(0, 1), Link(0, 1, hops=2)) == (Link(0, 1, hops=2),)
    assert both(Link(1, 2, "PIX"), Link(0, 1, "SYS"), Link(0, 2)) == (Link(0, 1, "SYS"), Link(0, 2), Link(1, 2, "PIX"))


def test_all_looks_together_tell_what_any_of_them_does():
    first = Node(
        nics=(Nic("mlx5_0", "first"),), samples=(Sample(0),), host=Host(cores=2), attached=0, held=("a", "b"),
        warnings=("mind",),
    )  # fmt: skip
    later = Node(
        nics=(Nic("mlx5_0", "later"), Nic("mlx5_1")), samples=(Sample(1),), host=Host(cores=3, sockets=1), driver="580",
        attached=4, hides_nvlink=True, held=("b", "c"), warnings=("mind", "more"),
    )  # fmt: skip
    found = merged([first, later])
    assert found.nics == (Nic("mlx5_0", "first"), Nic("mlx5_1"))
    assert (found.samples, found.host) == ((Sample(0), Sample(1)), Host(cores=2, sockets=1))
    assert (found.driver, found.attached, found.hides_nvlink) == ("580", 0, True)  # none attached is known
    assert (found.held, found.warnings) == (("a", "b", "c"), ("mind", "more"))
    assert not merged([first, first]).hides_nvlink


def test_a_path_between_two_devices_is_found_from_either_end():
    path = Link(0, 3, "NVLink")
    node = Node(links=(path,))
    assert (node.link(0, 3), node.link(3, 0), node.link(0, 1)) == (path, path, None)
    assert not node.hides_nvlink


@pytest.mark.parametrize(
    ("flops", "vector", "wanted"),
    [
        (None, None, None),
        ({}, None, 0),
        (None, {}, 0),
        ({"bf16": 2.0, "fp8": 3.0}, None, 5),
        ({"bf16": 2.0}, {"fp32": 3.0}, 5),
    ],
)
def test_flops_of_a_kernel_are_those_of_both_units_and_not_known_only_where_neither_is(flops, vector, wanted):
    assert Kernel("k", flops=flops, vector_flops=vector).total_flops == wanted


def test_time_of_kernels_is_added_and_those_that_communicate_are_told_apart():
    sends = Kernel("nccl", time_s=2.0, collective=Collective("all-reduce"))
    found = Observed("f", "ncu", (Kernel("a", time_s=1.0), sends, Kernel("b")))
    assert (found.time_s, found.collectives, found.lost) == (3, (sends,), 0)
    assert Observed("f", "ncu").time_s == 0


def test_a_kernel_ran_once_and_is_replayed_from_no_graph_unless_it_says_so():
    assert (Kernel("k").calls, Launch().graph) == (1, False)
    line = Timeline(0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1, 1)
    assert (line.graph_launches, line.begin_s, line.order) == (0, 0, ())
    assert (Copy("HtoD", 1).bytes, HostOp("op", 1, 2.0, 1.0).self_s) == (None, 1)


SERVED = Served(
    counters={"steps_total": {"0": 2.0, "1": 3.0}, "drafts_total": {}},
    gauges={"running": {"0": 4.0, "1": 6.0}, "kv_usage": {"0": 0.2, "1": 0.4}, "waiting": {"": 1.0}},
)


def test_counters_and_gauges_are_summed_over_engines_and_shares_are_their_mean():
    assert (SERVED.total("steps_total"), SERVED.total("drafts_total"), SERVED.total("busy_s_total")) == (5, None, None)
    assert (SERVED.gauge("running"), SERVED.gauge("waiting"), SERVED.gauge("step_s")) == (10, 1, None)
    assert SERVED.gauge("kv_usage") == pytest.approx(0.3)


def test_engines_are_those_with_a_name_and_without_any_there_is_one():
    assert (SERVED.tellers, SERVED.engines) == (("", "0", "1"), ("0", "1"))
    unnamed = replace(SERVED, counters={"steps_total": {"": 2.0}}, gauges={})
    assert (unnamed.tellers, unnamed.engines) == (("",), ("",))
    assert (Served().tellers, Served().engines) == (("",), ("",))
    assert Page({}).faulty == 0
