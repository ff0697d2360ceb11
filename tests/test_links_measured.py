"""Links between devices: on made-up groups whose latencies and rates are known, and in processes of their own."""

from __future__ import annotations

import functools
import json
import sys
import time
import types
from pathlib import Path

import pytest
from fake_group import FakeGroup, FakeLinks
from hypothesis import given
from hypothesis import strategies as st
from test_cuda import GPU

from rooflens import artefacts
from rooflens.cli import main
from rooflens.cli.measure import _landed
from rooflens.errors import NoPath
from rooflens.fleet.gathered import measured
from rooflens.lab.linked import behind, joined, odd, promised, promised_of, with_links
from rooflens.lab.run import roofline_of
from rooflens.measure.backend import Cannot
from rooflens.measure.backends import cuda
from rooflens.measure.backends.cuda_nccl import INSTALL, NcclMember
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.backends.parts import PERIOD, patterns, result_bytes, value
from rooflens.measure.backends.torch_group import TorchMember
from rooflens.measure.budget import Budget
from rooflens.measure.collectives import Hung, Joined, groups, measure_collectives, sizes
from rooflens.measure.crew import Crew
from rooflens.measure.links import copy_sizes, measure_copies
from rooflens.measure.options import gpu
from rooflens.measure.run import measure
from rooflens.operators.collectives import Collective, Group, ways
from rooflens.operators.cost import Cost
from rooflens.present.retold import retold
from rooflens.present.roofs import links
from rooflens.records import decode, encode, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.collective import OPERATIONS, CollectivePoint, CopyPoint
from rooflens.roofline.exchanges import fits, link_ceilings, measured_group, protocols, usual_way
from rooflens.roofline.knee import Line, error, line, lines
from rooflens.roofline.links import by_algorithm_s, collective_s, doubts
from rooflens.roofline.machines import overridden
from rooflens.roofline.node import Gpu, HostLink, Link, Node, NvlinkPort
from rooflens.roofline.profile import SCHEMA, Profile
from rooflens.workload import Operator

QUICK = replace(gpu(quick=True), dtypes=("bf16",))
SIZES = tuple(1024 << i for i in range(21))
PAIR = {**GPU, "peers": {1: 400e9}}


def told(links, devices=2, options=None, budget_s=None):
    backend = FakeBackend(FakeMachine(**GPU))
    return measure_collectives(
        functools.partial(FakeGroup, links, backend),
        backend,
        devices,
        options or gpu(),
        Budget(backend.clock, budget_s),
    )


@given(st.floats(1e-6, 1e-3), st.floats(1e8, 1e12))
def test_latency_and_rate_of_one_line_are_found_again(latency_s, rate):
    found = line([(n, latency_s + n / rate) for n in SIZES])
    assert found.latency_s == pytest.approx(latency_s, rel=1e-6)
    assert found.bytes_per_s == pytest.approx(rate, rel=1e-6)
    assert found.knee_bytes == pytest.approx(latency_s * rate, rel=1e-5)  # where latency = bytes / rate


@given(st.floats(2e-6, 2e-5), st.floats(2e9, 2e11), st.floats(2.0, 8.0), st.floats(2.0, 8.0))
def test_two_protocols_tell_every_size_within_a_few_per_cent(latency_s, rate, more_latency, more_rate):
    truth = (Line(latency_s, rate), Line(more_latency * latency_s, more_rate * rate))
    points = [(n, min(one.time_s(n) for one in truth)) for n in SIZES]
    found = lines(points)
    assert len(found) <= 2
    assert max(abs(error(found, point)) for point in points) < 0.08


def test_a_time_that_never_grows_is_latency_alone_and_a_rate_that_was_at_least_seen():
    found = line([(n, 5e-6) for n in (1024, 2048, 4096)])
    assert found.latency_s == pytest.approx(5e-6)
    assert found.bytes_per_s >= 4096 / 5e-6


def test_no_line_has_a_latency_below_none():
    alone = line([(100, 2.0), (100, 2.0)])
    assert (alone.latency_s, alone.bytes_per_s) == pytest.approx((0.0, 50.0))
    steep = line([(1, 1.0), (2, 3.0), (3, 5.0)])  # 2 n - 1: the nearest through nothing, sum (n/t)^2 / sum n/t
    assert (steep.latency_s, steep.bytes_per_s) == pytest.approx((0.0, (1 + 4 / 9 + 9 / 25) / (1 + 2 / 3 + 3 / 5)))


def test_three_protocols_are_told_by_two_lines():
    truth = (Line(1e-6, 1e9), Line(1e-5, 1e10), Line(1e-4, 1e11))
    assert len(lines([(n, min(one.time_s(n) for one in truth)) for n in SIZES])) == 2


def test_sizes_go_from_a_kibibyte_to_a_gibibyte_and_groups_double_up_to_all():
    assert sizes(gpu()) == SIZES
    assert sizes(QUICK)[:3] == (1024, 4096, 16384)
    assert sizes(QUICK)[-1] == 2**30
    assert copy_sizes(QUICK)[-1] == 2**30
    assert (groups(1), groups(2), groups(6), groups(8)) == ((), (2,), (2, 4, 6), (2, 4, 8))


@pytest.mark.parametrize("devices", [2, 3, 4, 8])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_every_device_must_have_follows_from_what_each_holds(operation, devices):
    part = 2 * PERIOD
    held = [[value(rank, place) for place in range(part * devices)] for rank in range(devices)]
    total = [sum(column) for column in zip(*held, strict=True)]
    for rank in range(devices):
        after = {
            "all-reduce": total,
            "reduce-scatter": total[rank * part : (rank + 1) * part],
            "all-gather": [x for other in held for x in other[:part]],
            "all-to-all": [x for other in held for x in other[rank * part : (rank + 1) * part]],
        }[operation]
        parts = patterns(operation, devices)
        assert after == [x for one in parts for _ in range(len(after) // len(parts) // PERIOD) for x in one]
        assert result_bytes(operation, 4 * part * devices, devices) == 4 * len(after)


def test_a_groups_latency_and_rate_are_found_again_in_every_operation():
    found = told(FakeLinks(protocols=(Line(10e-6, 300e9),)))
    assert {p.operation for p in found.points} == set(OPERATIONS)
    assert {p.bytes for p in found.points} == set(map(float, SIZES))
    assert all(p.trusted for p in found.points)
    for one in fits(found.points):
        wanted_s = 10e-6 if one.launcher == "graph" else 15e-6  # what a call from the host takes at least
        assert one.latency_s == pytest.approx(wanted_s, rel=0.03)
        assert one.bus_bytes_per_s == pytest.approx(300e9, rel=0.03)
        if one.launcher == "graph":
            (only,) = one.lines
            assert one.worst_error < 0.02
            assert only.bytes_per_s == pytest.approx(300e9, rel=0.02)
            sent = 1.0 if one.operation == "all-reduce" else 0.5  # 2 (n-1)/n, (n-1)/n of the message
            assert one.knee_bytes == pytest.approx(10e-6 * 300e9 / sent, rel=0.05)


def test_both_protocols_become_ceilings_with_what_one_step_waits():
    short, long = Line(6e-6, 120e9), Line(20e-6, 330e9)
    found = {c.id: c for c in link_ceilings(told(FakeLinks(protocols=(short, long))).points)}
    steps = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1, "all-to-all": 1}  # by ring over two; all at once
    for operation, count in steps.items():
        assert usual_way(operation, ways(operation, Group(2)), "short").link_steps == count
        assert found[f"link/nvlink/{operation}"].value == pytest.approx(330e9, rel=0.03)
        assert found[f"link/nvlink/{operation}/short"].value == pytest.approx(120e9, rel=0.1)
        assert found[f"link/nvlink/{operation}/long"].value == pytest.approx(330e9, rel=0.05)
        assert count * found[f"launch/link:nvlink/{operation}/short"].value == pytest.approx(6e-6, rel=0.05)
        assert count * found[f"launch/link:nvlink/{operation}/long"].value == pytest.approx(20e-6, rel=0.15)


def reduce_of(size_bytes, devices):
    group = Group(devices)
    talk = Collective("all-reduce", group, ways("all-reduce", group))
    return Operator("all-reduce", 1, Cost(link_bytes=size_bytes * talk.least.link_bytes), (), collective=talk)


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_a_prediction_takes_what_was_measured_and_gives_it_back(devices):
    links = FakeLinks()
    found = told(links, devices)
    profile = joined(
        measure(FakeBackend(FakeMachine(**PAIR)), QUICK), measure_copies(card, range(2), QUICK), found, range(2)
    )
    machine = profile.machine()
    assert machine.the_link().value == pytest.approx(400e9, rel=0.01)  # a floor counts on the fastest copy
    points = [p for p in found.points if p.operation == "all-reduce" and p.launcher == "graph" and p.devices == devices]
    assert len(points) == len(SIZES)
    for point in points:
        assert collective_s(reduce_of(point.bytes, devices), machine) == pytest.approx(point.time_s, rel=0.1)


def test_only_the_librarys_algorithms_are_taken_where_it_was_measured():
    machine = measure(FakeBackend(FakeMachine(**PAIR)), QUICK).machine()
    with pytest.raises(NoPath, match="latency of nvlink is not known"):
        by_algorithm_s(reduce_of(1024, 4), machine)
    assert protocols(machine, "nvlink", "all-reduce", 4) == {}
    linked = replace(machine, ceilings=(*machine.ceilings, *link_ceilings(told(FakeLinks(), 4).points)))
    assert set(by_algorithm_s(reduce_of(1024, 4), linked)) == {"ring", "tree"}


class Slower(FakeGroup):
    """A group whose latency grows with its devices, as no count of steps says; four and more go another way."""

    def __init__(self, backend, devices):
        level = "nvlink" if devices == 2 else "peer"
        super().__init__(FakeLinks(protocols=(Line(1e-6 * devices**2, 100e9),), level=level), backend, devices)


def grouped():
    """Collectives over 2 and 4 devices, and a machine that has them."""
    backend = FakeBackend(FakeMachine(**GPU))
    found = measure_collectives(functools.partial(Slower, backend), backend, 4, QUICK, Budget(backend.clock))
    profile = measure(FakeBackend(FakeMachine(**PAIR)), QUICK)
    return found.points, joined(profile, measure_copies(card, range(2), QUICK), found, range(4)).machine()


def test_each_group_is_predicted_from_its_own_figures_and_another_from_the_next_larger():
    points, machine = grouped()
    assert machine.link == "peer"  # what carried them among the most devices, though a pair has an NVLink
    ids = {c.id: c.devices for c in machine.ceilings}
    assert (ids["launch/link:nvlink/all-reduce/long/2"], ids["launch/link:peer/all-reduce/long"]) == (2, 4)
    for devices, level in ((2, "nvlink"), (4, "peer")):
        here = machine.linked(level)
        for p in points:
            if (p.operation, p.devices, p.launcher) == ("all-reduce", devices, "graph"):
                assert collective_s(reduce_of(p.bytes, devices), here) == pytest.approx(p.time_s, rel=0.1)
    assert [measured_group(machine, "peer", "all-reduce", n) for n in (2, 3, 4, 8)] == [4, 4, 4, 4]
    assert measured_group(machine, "pcie", "all-reduce", 2) is None


def test_a_group_that_nobody_measured_says_from_which_it_is_worked_out():
    machine = replace(grouped()[1], link="nvlink")
    assert list(doubts([reduce_of(1024, 2)], machine)) == []
    (said,) = doubts([reduce_of(1024, 8), reduce_of(2048, 8)], machine)
    assert said.startswith("all-reduce over 8 devices was not measured: it is worked out from 2")
    (host,) = doubts([reduce_of(1024, 2)], machine.linked("pcie"))
    assert host == "no link between devices was measured: what pcie carries from the host stands for it"


def test_a_file_that_does_not_say_of_how_many_devices_takes_the_most_that_were_measured():
    shipped = artefacts.shipped("h200-sxm-141gb-x2")
    assert all(c.devices is None for c in shipped.ceilings)
    assert {c.devices for c in shipped.machine().find("launch", level="link:nvlink")} == {2}


def test_a_rate_that_is_assumed_for_the_link_stands_for_that_of_each_protocol():
    machine = artefacts.shipped("h200-sxm-141gb-x2").machine()
    measured, slow = (protocols(m, "nvlink", "all-reduce", 2) for m in (machine, overridden(machine, ["nvlink=1GB/s"])))
    assert {name: wait for name, (_, wait) in slow.items()} == {name: wait for name, (_, wait) in measured.items()}
    assert {rate.value for rate, _ in slow.values()} == {1e9}
    size = 2.0**20
    assert collective_s(reduce_of(size, 2), overridden(machine, ["nvlink=1GB/s"])) == pytest.approx(
        2 * measured["short"][1].value + size / 1e9  # two steps of a ring, and its bytes
    )


def card(number, rate=400e9):
    class Card(FakeBackend):
        def peers(self):
            return [(number, n) for n in range(3) if n != number]

    return Card(FakeMachine(**{**GPU, "noise": 0.0, "peers": {n: rate for n in range(3) if n != number}}))


def test_every_pair_is_copied_in_both_directions_and_at_once_by_size():
    found = measure_copies(card, range(3), QUICK)
    assert {p.pair for p in found.points} == {"0-1", "1-0", "0+1", "0-2", "2-0", "0+2", "1-2", "2-1", "1+2"}
    largest = {p.pair: p.bytes_per_s for p in found.points if p.bytes == 2**30}
    assert largest["1-2"] == pytest.approx(400e9, rel=0.01)
    assert largest["1+2"] == pytest.approx(360e9, rel=0.01)  # the fake's both directions at once
    assert {p.bytes for p in found.points} == set(map(float, copy_sizes(QUICK)))


def test_copies_keep_to_their_time_and_say_what_is_missing():
    whole, part = (measure_copies(card, range(3), QUICK, budget_s) for budget_s in (None, 0.5))
    assert whole.skipped == ()
    assert part.skipped == ("copies of some pairs skipped: the time budget was used up",)
    assert 0 < len(part.points) < len(whole.points)
    assert part.took_s < 0.5 + whole.took_s / len(whole.points) * 3  # no longer than the copy that was under way
    assert all(p.trusted for p in part.points)


def test_a_backend_without_copies_says_so():
    class Bare(FakeBackend):
        name = "torch"

        def peers(self):
            return ()

    found = measure_copies(lambda _: Bare(FakeMachine(**GPU)), range(2), QUICK)
    assert found.skipped == ("copies between devices skipped: not measured through torch",)


def test_a_pair_whose_driver_fails_costs_no_other_pair():
    def broken(number):
        made = card(number)
        whole = made.peer
        made.peer = lambda other, way, size: whole(other, way, size) if (number, other) != (0, 2) else 1 / 0
        return made

    found = measure_copies(broken, range(3), QUICK)
    assert {p.pair for p in found.points} == {"0-1", "1-0", "0+1", "1-2", "2-1", "1+2"}
    assert found.skipped[0] == "copies 0-2 skipped: ZeroDivisionError: division by zero"


def test_the_whole_profile_survives_its_file_and_says_what_the_links_promise():
    node = Node(
        tuple(Gpu(i, "H200", ports=tuple(NvlinkPort(k, 26.5e9) for k in range(18))) for i in range(2)),
        (Link(0, 1, "NVLink", 18),),
    )
    backend = FakeBackend(FakeMachine(**PAIR))
    profile = replace(measure(backend, QUICK), node=node)
    start = functools.partial(FakeGroup, FakeLinks(), backend)
    whole = with_links(profile, lambda n: backend, start, range(2), QUICK)  # one clock for all
    assert decode(Profile, {"schema": SCHEMA, **encode(whole)}, "p.json", SCHEMA) == whole
    assert whole.ceiling("link/nvlink/promised").value == pytest.approx(18 * 26.5e9)
    assert whole.ceiling("link/nvlink/promised") not in whole.machine().ceilings  # promised is not measured
    assert len(whole.collectives) == len(OPERATIONS) * 2 * len(sizes(QUICK))
    assert {"link/nvlink/0-1", "link/nvlink/all-reduce"} <= {c.id for c in whole.machine().ceilings}


def test_one_device_has_nothing_to_be_joined_with_and_that_is_said():
    profile = measure(FakeBackend(FakeMachine(**GPU)), QUICK)
    alone = with_links(profile, card, lambda n: pytest.fail("no group of one"), range(1), QUICK)
    assert alone.skipped[-1] == "links between devices skipped: there is 1 device here, and two or more are joined"


def test_a_group_that_hangs_is_ended_and_the_rest_goes_on():
    found = told(FakeLinks(hangs=("all-gather", 2**20)))
    assert {p.operation for p in found.points} == set(OPERATIONS)
    assert max(p.bytes for p in found.points if p.operation == "all-gather") == 2**19
    assert max(p.bytes for p in found.points if p.operation == "reduce-scatter") == 2**30
    assert any("all-gather of 1 MiB" in s and "its larger sizes are left out" in s for s in found.skipped)


def test_what_a_library_does_not_know_is_skipped_and_what_is_wrong_is_not_trusted():
    found = told(FakeLinks(refuses={"all-to-all": "this library has none"}, wrong="all-gather"))
    assert found.skipped == ("all-to-all skipped: this library has none",)
    assert {p.operation for p in found.points} == set(OPERATIONS) - {"all-to-all"}
    assert all(p.trusted == (p.operation != "all-gather") for p in found.points)
    assert all("wrong result" in p.why_not for p in found.points if not p.trusted)


def test_no_group_at_all_is_one_sentence():
    def start(count):
        raise Cannot("collectives skipped: NCCL is not installed or does not load")

    backend = FakeBackend(FakeMachine(**GPU))
    found = measure_collectives(start, backend, 4, QUICK, Budget(backend.clock))
    assert found.points == ()
    assert set(found.skipped) == {"collectives skipped: NCCL is not installed or does not load"}


def test_a_budget_ends_it_with_a_sentence():
    found = told(FakeLinks(), budget_s=0.5)
    assert 0 < len(found.points) < 8 * len(SIZES)
    assert found.skipped == ("collectives over 2 devices skipped: the time budget was used up",)


SAID = (
    "links between devices skipped: there is 1 device here, and two or more are joined",
    "device 0: 1 of 2 NVLinks are down; all that goes to it waits",
    "the devices differ (A, B): collectives go at the pace of the slowest",
    "2-0 copies 300 GB/s over nvlink, 76.9 % of the median of 6 pairs",
    "0-1: no direct access: staged through the host",
    f"collectives skipped: NCCL is not installed or does not load; {INSTALL}",
    "collectives skipped: cuda:1 has under 2.2 GiB of free memory",
    "collectives skipped: torch is not installed; pip install 'rooflens[torch]'",
    "2 GPUs: joining gave no answer within 90 s and was ended",
    "2 GPUs: all-reduce of 1 MiB, called one by one gave no answer within 30 s and was ended",
    "its larger sizes are left out",
    "2 GPUs: all-to-all of 1 KiB, replayed from a graph gave no answer within 30 s and was ended",
    "2 GPUs: the process of number 1 ended without a word at all-reduce of 1 KiB, called one by one",
    "collectives over 2 devices skipped: the time budget was used up",
    "copies of some pairs skipped: the time budget was used up",
    "copies between devices skipped: not measured through torch",
    "links skipped: stopped before they were measured",
    "links skipped: those of a made-up node are not measured",
    "no link between devices was measured: what pcie carries from the host stands for it",
    "all-reduce over 4 devices was not measured: it is worked out from 2, by the steps and bytes of its algorithm",
)


@pytest.mark.parametrize("lang", ["es", "vi"])
@pytest.mark.parametrize("sentence", SAID)
def test_what_is_odd_about_links_is_told_in_every_language(sentence, lang):
    told = retold(sentence, lang).split("; ")
    same = {new for new, old in zip(told, sentence.split("; "), strict=True) if new == old}
    assert same <= {"pip install 'rooflens[torch]'"}  # what is typed stays


def port(*rates):
    return tuple(NvlinkPort(i, rate) for i, rate in enumerate(rates))


def test_a_dead_link_and_other_devices_are_said():
    node = Node((Gpu(0, "A", ports=port(25e9, 0.0)), Gpu(1, "B", ports=port(25e9, 25e9))), (Link(0, 1, "NVLink", 2),))
    down, differ = odd(node)
    assert down == "device 0: 1 of 2 NVLinks are down; all that goes to it waits"
    assert differ == "the devices differ (A, B): collectives go at the pace of the slowest"
    assert promised(node, (0, 1)) == 2 * 25e9
    assert promised(None, (0, 1)) is None
    assert promised(Node((Gpu(0), Gpu(1)), (Link(0, 1, "NVLink", 2),)), (0, 1)) is None  # no rate of a port is known


def test_a_link_promises_what_its_maker_states_and_the_fleet_says_the_same():
    gpus = tuple(Gpu(i, "NVIDIA H200", 150.754e9, ports=port(*[26.562e9] * 18)) for i in range(2))  # as its tools show
    node = Node(gpus, (Link(0, 1, "NVLink", 18),))
    assert promised(node, (0, 1)) == 18 * 25e9  # 900 GB/s both ways, as the datasheet says
    profile = artefacts.profile(Path(__file__).parents[1] / "experiments/h200_x2/profile.json")
    assert promised_of(profile) == 450e9  # which was written as 18 x 26.562 GB/s
    assert {path.bytes_per_s for path in measured("n", profile).paths.values()} == {450e9}
    assert promised_of(replace(profile, node=None)) == pytest.approx(18 * 26.562e9)


def test_two_pairs_with_bridges_promise_together_what_leads_from_one_to_the_other():
    bridged = (Link(0, 1, "NVLink", 4), Link(2, 3, "NVLink", 4))
    between = tuple(Link(a, b, "SYS") for a in (0, 1) for b in (2, 3))
    lanes = HostLink(max_gen=4, max_width=16)
    node = Node(tuple(Gpu(i, ports=port(*[25e9] * 4), pcie=lanes) for i in range(4)), (*bridged, *between))
    assert promised(node, (0, 1)) == 4 * 25e9
    assert promised(node, range(4)) == pytest.approx(16 * 16e9 * 128 / 130 / 8)  # lanes x GT/s x encoding


def test_links_in_numbers_unknown_promise_nothing():
    gpus = tuple(Gpu(i, ports=port(25e9)) for i in range(2))
    assert promised(Node(gpus, (Link(0, 1, "NVLink"),)), (0, 1)) is None


def test_a_pair_behind_the_others_is_named():
    points = [CopyPoint(pair, 2.0**30, 2.0**30 / rate, 2.0**30 / rate, "nvlink") for pair, rate in (
        ("0-1", 390e9), ("1-0", 391e9), ("0-2", 392e9), ("2-0", 300e9), ("1-2", 390e9), ("2-1", 390e9))]  # fmt: skip
    (said,) = behind(points)
    assert said == "2-0 copies 300 GB/s over nvlink, 76.9 % of the median of 6 pairs"


class Echo:
    """A member that does what its rank says, in a process of its own."""

    def __init__(self, rank, devices, wrong=""):
        self.rank, self.devices, self.wrong = rank, devices, wrong

    def ticket(self):
        return "ticket"

    def join(self, ticket):
        assert ticket == "ticket"
        return Joined("echo", None, ("eager",), "fp32")

    def tell(self, operation, size_bytes, launcher, calls):
        if self.wrong == "hang" and self.rank == 1:
            time.sleep(60)
        if self.wrong == "die" and self.rank == 1:
            sys.exit(3)
        if self.wrong == "cannot":
            raise Cannot("not here")
        if self.wrong == "raise" and self.rank == 0:
            raise OSError("no such link")
        return 0.0

    def elapsed_s(self):
        return 1.0 + self.rank

    def leave(self):
        pass


@pytest.fixture
def crew(request):
    made = Crew(functools.partial(Echo, wrong=getattr(request, "param", "")), 2, "echoes", join_s=60, answer_s=1.5)
    yield made
    made.close()


@pytest.mark.slow
def test_a_crew_answers_with_the_slowest_of_its_members(crew):
    assert crew.joined.library == "echo"
    assert crew.tell("all-reduce", 1024, "eager", 1) == 0.0
    assert crew.elapsed_s() == 2.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crew", "kind", "said"),
    [
        ("hang", Hung, "2 echoes: all-reduce of 1 KiB, called one by one gave no answer within 1.5 s and was ended"),
        (
            "die",
            Hung,
            "2 echoes: the process of number 1 ended without a word at all-reduce of 1 KiB, called one by one",
        ),
        ("cannot", Cannot, "not here"),
        ("raise", Hung, "device 0 of 2: OSError: no such link"),
    ],
    indirect=["crew"],
)
def test_a_crew_never_waits_for_ever(crew, kind, said):
    with pytest.raises(kind) as left:
        crew.tell("all-reduce", 1024, "eager", 1)
    assert type(left.value) is kind
    assert str(left.value).startswith(said)


@pytest.mark.slow
def test_processes_talk_through_gloo_and_every_result_is_right():
    pytest.importorskip("torch")
    crew = Crew(TorchMember, 2, "processes")
    try:
        assert crew.joined.level == "loopback"
        for operation in OPERATIONS:
            for size in (1024, 3 * 2**14):
                assert crew.tell(operation, size, "eager", 2) == 0.0
                assert crew.elapsed_s() > 0
    finally:
        crew.close()


def test_without_torch_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Cannot, match=r"torch is not installed; pip install 'rooflens\[torch\]'"):
        TorchMember(0, 2)


def test_without_nccl_one_sentence_says_what_to_install(monkeypatch):
    cupy = types.ModuleType("cupy.cuda")
    cupy.nccl = types.SimpleNamespace(available=False)  # as CuPy has it where libnccl.so.2 is missing
    monkeypatch.setitem(sys.modules, "cupy", types.ModuleType("cupy"))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cupy)
    with pytest.raises(Cannot, match="NCCL is not installed or does not load; pip install nvidia-nccl-cu13"):
        NcclMember(0, 2)


def test_a_point_without_bytes_or_devices_is_no_measurement():
    with pytest.raises(ValueError, match="over 1 devices is no measurement"):
        CollectivePoint("all-reduce", 1, 1024.0, 1e-6, 1e-6, "bf16", "graph", "x")
    with pytest.raises(ValueError, match="is no measurement"):
        CopyPoint("0-1", 0.0, 1e-6, 1e-6, "nvlink")


MEASURE = ("measure", "--links", "--device", "cuda:0", "--quick", "--dtypes", "bf16")


@pytest.fixture
def two_cards(monkeypatch, tmp_path):
    """A machine of two made-up cards on one clock, whose groups are made up too."""

    class Shared(FakeBackend):
        name = "cuda"

        def peers(self):
            return [(0, 1)]

        def versions(self):
            return {"cupy-cuda13x": "14"}

    backend = Shared(FakeMachine(**{**PAIR, "noise": 0.001}))
    monkeypatch.setattr(cuda, "CudaBackend", lambda number=0: backend)
    monkeypatch.setattr(cuda, "device_count", lambda: 2)
    monkeypatch.setattr("rooflens.cli.linking.Crew", lambda member, n, what: FakeGroup(FakeLinks(), backend, n))
    monkeypatch.setattr("rooflens.cli.measure.remember", lambda _: None)
    monkeypatch.setattr("rooflens.lab.asked.ask", tuple)
    monkeypatch.setenv("ROOFLENS_LOCKS", str(tmp_path))
    return backend


def asked(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return left.value.code, *capsys.readouterr()


def test_measure_shows_collectives_and_copies_and_predict_takes_them(two_cards, capsys, tmp_path):
    file = tmp_path / "profile.json"
    command = (*MEASURE, "-o", str(file))
    code, out, error = asked(capsys, *command)
    assert (code, "Traceback" in error) == (0, False)
    rows = {tuple(line.split()[:3]): line for line in out.splitlines() if line.startswith("all-")}
    assert "GB/s" in rows["all-reduce", "2", "graph"]
    assert " 15 us" in rows["all-reduce", "2", "eager"]  # us, what a call from the host takes at least
    assert [line.split()[0] for line in out.splitlines() if line[:3] in ("0-1", "1-0", "0+1")] == ["0-1", "1-0", "0+1"]
    assert "all-reduce/short" not in out  # protocols stand in the table of links, once
    code, out, _ = asked(capsys, "predict", "llama-3.1-8b", "--on", str(file), "--tp", "2", "--json")
    answer = json.loads(out)
    (latency,) = (c for c in answer["constants"] if "link:nvlink/all-reduce/short" in c["name"])
    assert code == 0
    assert 2 * latency["value"] == pytest.approx(6e-6, rel=0.05)  # two steps of a ring
    assert latency["origin"] == "measured"
    waits_s = answer["where_time_goes"]["latency"]
    assert waits_s == pytest.approx(64 * 6e-6, rel=0.1)  # two all-reduces a layer, of 8 KiB


def test_the_link_is_the_third_slope_of_the_picture_once_its_collectives_are_known(two_cards):
    profile = measure(two_cards, QUICK)
    assert not roofline_of(profile, []).machine.find("link")
    found = told(FakeLinks())
    whole = joined(profile, measure_copies(lambda _: two_cards, range(2), QUICK), found, range(2))
    (slope,) = links(roofline_of(whole, []).machine)
    assert (slope.level, slope.value) == ("nvlink", pytest.approx(400e9, rel=0.01))
    collectives = Machine("m", "m", link_ceilings(found.points), link="nvlink")
    (slope,) = links(collectives)
    assert slope.value == collectives.the_link().value  # what was reached, not the line fitted through it
    assert any(c.fitted for c in collectives.find("link"))


def test_whatever_goes_wrong_with_links_costs_nothing_that_was_measured_before(two_cards, capsys, monkeypatch):
    def broken(member, n, what):
        raise OSError("the driver is gone")

    monkeypatch.setattr("rooflens.cli.linking.Crew", broken)
    code, out, _ = asked(capsys, *MEASURE, "--json")
    profile = json.loads(out)
    assert code == 0
    assert "collectives skipped: OSError: the driver is gone" in profile["skipped"]
    assert {p["pair"] for p in profile["copies"]} == {"0-1", "1-0", "0+1"}
    assert any(c["id"] == "memory/main/read" for c in profile["ceilings"])


def test_a_made_up_node_has_no_links_that_could_be_measured_and_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLENS_LOCKS", str(tmp_path))
    code, out, _ = asked(capsys, "measure", "--links", "--device", "fake:a", "--json")
    assert code == 0
    assert "links skipped: those of a made-up node are not measured" in json.loads(out)["skipped"]


def test_what_another_process_measured_meanwhile_is_taken_only_with_the_links_that_are_asked_for(tmp_path):
    file, asking = tmp_path / "profile.json", {"links": True, "all_devices": False}
    bare = measure(FakeBackend(FakeMachine(**PAIR)), QUICK)
    artefacts.write_json(file, bare, SCHEMA)
    assert _landed(file, None, asking) is None
    assert _landed(file, None, {**asking, "links": False}) == bare
    linked = replace(bare, copies=measure_copies(card, range(2), QUICK).points)
    artefacts.write_json(file, linked, SCHEMA)
    assert _landed(file, None, asking) == linked


def test_stopped_among_its_links_the_rest_is_kept_and_says_that_they_are_missing(
    two_cards, capsys, monkeypatch, tmp_path
):
    def stopped(*_):
        raise KeyboardInterrupt

    file = tmp_path / "profile.json"
    monkeypatch.setattr("rooflens.cli.measuring.linked", stopped)
    code, _, error = asked(capsys, *MEASURE, "-o", str(file))
    assert code != 0
    assert f"what was measured so far is in {file}" in error
    assert artefacts.profile(file).skipped[-1] == "links skipped: stopped before they were measured"
