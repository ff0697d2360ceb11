"""Plans and predictions in closed form: times that are told, prices that one can reckon with."""

from __future__ import annotations

from math import ceil

import pytest

from rooflens.api import Question, machine
from rooflens.api.deployed import Load, deployment
from rooflens.models import rebuilt
from rooflens.prediction.memory import Reserve
from rooflens.prediction.planning import Target, plan
from rooflens.prediction.predicting import Expected, predict, usd_per_million
from rooflens.prediction.record import Times
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine

MADE = deployment(Question("llama-3.2-1b"), Load(prompt=1000, output=500), machine("h100-sxm5-80gb"))
PRICED = replace(MADE, machine=replace(MADE.machine, price_usd_per_hour=2.0, power_w=500.0))


class Told:
    """A token takes 10 ms and 1 ms a sequence over the devices of a replica, a first one 0.4 s over them."""

    constants = ()
    of_one_machine = False

    def expect(self, deployment, phase):
        tp = deployment.how.get("tp", 1)
        time_s = 0.4 / tp if phase == "prefill" else (0.010 + 0.001 * float(deployment.batch)) / tp
        return Expected(time_s / 2, time_s / 4, time_s, {})

    def without(self, part):
        return None


def of(users=100, ttft_s=1.0, tpot_s=0.0301, kept=Reserve(), wanted=PRICED, estimator=Told()):  # noqa: B008
    return plan([(wanted, estimator)], Target(ttft_s, tpot_s, users, 1000.0, 500.0), kept, "toy")


def test_a_replica_takes_as_many_users_as_its_token_allows_and_shares_them_evenly():
    """30.1 ms: 20 a device, 50 of two, 110 of four. A hundred users are 5 x 20, 2 x 50, 1 x 100."""
    found = {layout.tp: layout for layout in of().layouts}
    assert {tp: (one.replicas, one.batch, one.devices, one.limit) for tp, one in found.items()} == {
        1: (5, 20, 5, "TPOT"), 2: (2, 50, 4, "TPOT"), 4: (1, 100, 4, "users"), 8: (1, 100, 8, "users"),
    }  # fmt: skip
    assert [layout.tp for layout in of().layouts] == [4, 2, 1, 8]  # 4 devices, the quicker first; then 5 and 8
    for tp, one in found.items():
        assert one.tpot_s == pytest.approx((0.010 + 0.001 * one.batch) / tp, rel=1e-12)
        assert one.ttft_s == pytest.approx(0.4 / tp, rel=1e-12)
        assert one.tokens_per_s == pytest.approx(100 / one.tpot_s, rel=1e-12)
        assert one.usd_per_hour == 2.0 * one.devices
        assert one.usd_per_million_tokens == pytest.approx(1e6 * 2 * one.devices / 3600 / one.tokens_per_s, rel=1e-12)
        assert (one.estimated, one.ep, one.machine) == (True, 1, "h100-sxm5-80gb")


def test_users_beyond_whole_replicas_leave_all_of_them_less_full():
    """Of 101 on single devices: six replicas of 17 and not five of 20 and one of 1."""
    one = next(layout for layout in of(users=101).layouts if layout.tp == 1)
    assert (one.replicas, one.batch) == (6, 17)
    assert one.tpot_s == pytest.approx(0.027, rel=1e-12)


def test_targets_are_met_to_the_last_digit():
    assert {layout.tp for layout in of(ttft_s=0.1).layouts} == {4, 8}
    assert {layout.tp for layout in of(tpot_s=0.011 / 2).layouts} == {2, 4, 8}
    assert next(layout for layout in of(tpot_s=0.011 / 2).layouts if layout.tp == 2).batch == 1
    exact = next(layout for layout in of(tpot_s=0.010 + 0.001 * 20.0).layouts if layout.tp == 1)
    assert (exact.batch, exact.replicas) == (20, 5)
    never = of(ttft_s=0.01)
    assert (never.layouts, [miss.why for miss in never.misses]) == ((), ["tp 8: TTFT 50 ms is over 10 ms"])
    slow = of(tpot_s=0.001)
    assert [miss.why for miss in slow.misses] == ["tp 8: TPOT 1.37 ms at batch 1 is over 1 ms"]
    assert slow.misses[0].machine == PRICED.machine.title


def test_memory_holds_every_sequence_at_its_longest():
    """Weights, a pass, and 1,500 positions a sequence: 16 layers x 2 x 8 heads x 64 x 2 bytes each."""
    each = 1500 * 16 * 2 * 8 * 64 * 2 + 128_256 * 4
    fixed = 2 * 1_235_814_400 + (3 * 8192 + 3 * 2048) * 1000 * 2
    small = replace(PRICED, machine=replace(PRICED.machine, memory_bytes=float(fixed + 12 * each)))
    held = of(wanted=small, kept=Reserve(batched_tokens=1000))
    one = next(layout for layout in held.layouts if layout.tp == 1)
    assert one.replicas == ceil(100 / 12) == 9
    assert (one.batch, one.limit) == (12, "memory")
    none = of(wanted=replace(PRICED, machine=replace(PRICED.machine, memory_bytes=1e6)))
    assert none.layouts == ()
    assert none.misses[0].why.startswith("tp 8: does not fit: weights ")


def test_users_come_before_memory_and_memory_before_tokens_as_what_limits():
    assert {layout.limit for layout in of(users=20).layouts} == {"users"}
    assert of(users=20).layouts[0].replicas == 1


def test_without_an_estimate_the_floor_decides_and_without_a_price_devices_do():
    free = replace(PRICED, machine=replace(PRICED.machine, price_usd_per_hour=None))
    found = of(wanted=free, estimator=None).layouts
    assert [layout.devices for layout in found] == [1, 2, 4, 8]
    assert {(one.usd_per_hour, one.usd_per_million_tokens, one.estimated) for one in found} == {(None, None, False)}
    for one in found:
        floor = replace(MADE, batch=float(one.batch)).floor("decode").floor_s
        assert (one.tpot_s == pytest.approx(floor, rel=1e-12)) == (one.tp == 1)
    both = plan([(free, Told()), (PRICED, Told())], Target(1.0, 0.0301, 100, 1000.0, 500.0), Reserve(), "toy").layouts
    assert [one.usd_per_hour is None for one in both] == [False] * 4 + [True] * 4


def test_what_costs_least_comes_first_whatever_its_devices():
    """At ten cents an hour all layouts of one machine go before those of another at two dollars."""
    cheap = replace(PRICED, machine=replace(PRICED.machine, name="cheap", price_usd_per_hour=0.1))
    found = plan([(PRICED, Told()), (cheap, Told())], Target(1.0, 0.0301, 100, 1000.0, 500.0), Reserve(), "toy").layouts
    assert [one.machine for one in found] == ["cheap"] * 4 + [PRICED.machine.name] * 4
    assert [one.devices for one in found] == [4, 4, 5, 8] * 2


def test_a_deployment_that_says_nothing_of_its_devices_starts_from_one():
    found = of(wanted=replace(PRICED, how={})).layouts
    assert [(layout.tp, layout.ep, layout.devices) for layout in found] == [(4, 1, 4), (2, 1, 4), (1, 1, 5), (8, 1, 8)]


def test_a_plan_says_what_its_times_are():
    said = {
        estimated: plan(
            [(PRICED, one) for one in estimated], Target(1.0, 0.0301, 100, 1000.0, 500.0), Reserve(), "toy"
        ).conventions["tpot"].split(",")[0]
        for estimated in ((Told(),), (None,), (Told(), None))
    }  # fmt: skip
    end, floor = "the upper end of the 80 % interval", "the floor: nothing was calibrated"
    assert list(said.values()) == [end, floor, f"{end}; behind > {floor}"]


def test_drafts_that_are_kept_are_tokens_of_their_step():
    """Of three tokens of which two are drafts, each kept in half of the cases, 1.75 are; 20 users become 42."""
    one = next(x for x in of(wanted=replace(PRICED, tokens=3.0, acceptance=0.5)).layouts if x.tp == 1)
    assert one.tpot_s == pytest.approx((0.010 + 0.001 * one.batch) / 1.75, rel=1e-12)
    assert one.replicas == ceil(100 / 42)


def test_a_million_tokens_cost_what_an_hour_costs():
    """Two dollars an hour and device; a hundred tokens a second are 360,000 an hour."""
    two = replace(PRICED, how={"tp": 2})
    assert usd_per_million(two, 100.0) == pytest.approx(1e6 / 360_000 * 4.0, rel=1e-12)
    assert usd_per_million(replace(MADE, machine=replace(MADE.machine, price_usd_per_hour=None)), 1.0) is None


def test_a_prediction_counts_what_its_devices_give_and_take():
    load = replace(PRICED, batch=20.0, tokens=3.0, acceptance=0.5)
    found = predict(load, Reserve(), Told())
    step_s, rate = 0.015, 20 * 1.75 / 0.015
    assert (found.tpot_s.estimate, found.tpot_s.low, found.tpot_s.high) == pytest.approx(
        (step_s / 1.75, step_s / 2 / 1.75, 2 * step_s / 1.75), rel=1e-12
    )
    assert found.tpot_s.floor == pytest.approx(load.floor("decode").floor_s / 1.75, rel=1e-12)
    assert (found.ttft_s.estimate, found.ttft_s.high) == pytest.approx((0.2, 0.4), rel=1e-12)
    assert (found.tokens_per_s, found.tokens_per_s_per_device) == pytest.approx((rate, rate), rel=1e-12)
    assert found.tokens_per_s_per_user == pytest.approx(1.75 / step_s, rel=1e-12)
    assert found.joules_per_token == pytest.approx(500 / rate, rel=1e-12)
    assert found.usd_per_million_tokens == pytest.approx(2.0 / 3600 / rate * 1e6, rel=1e-12)
    assert found.tokens_per_s_ceiling == pytest.approx(20 * 1.75 / load.floor("decode").floor_s, rel=1e-12)
    assert (found.mbu, found.mfu, found.verdict, found.bubble, found.measured_tokens_per_s) == (None,) * 5
    said = predict(load, Reserve(), Told(), measured_tokens_per_s=rate)
    assert (said.mbu, said.mfu) == pytest.approx((found.mbu_of_datasheet, found.mfu_of_datasheet), rel=1e-9)


HERE = Machine(
    "here", "Here", link="nvlink", memory_bytes=80e9, power_w=500.0, price_usd_per_hour=2.0,
    ceilings=(
        Ceiling("bf16", "compute", 1e15, "spec", dtype="bf16", path="matrix"),
        Ceiling("vector", "compute", 1e15, "spec", dtype="fp32", path="vector"),
        Ceiling("read", "memory", 1e12, "spec", level="main"),
        Ceiling("nvlink", "link", 1e11, "spec", level="nvlink"),
        Ceiling("network", "link", 1e10, "spec", level="network"),
        Ceiling("started", "launch", 1e-6, "measured", level="device"),
    ),
)  # fmt: skip


def here(how=None, there=HERE, **load):
    model = rebuilt(MADE.model, links=True)
    return replace(MADE, model=model, machine=there, how=how or {}, **{"batch": 8.0, **load})


def test_a_prediction_of_several_devices_shares_its_rate_and_adds_up_their_power():
    found = predict(here({"tp": 2}), Reserve(), Told())
    rate = 8 / 0.0045
    assert (found.tokens_per_s, found.tokens_per_s_per_device) == pytest.approx((rate, rate / 2), rel=1e-12)
    assert found.joules_per_token == pytest.approx(2 * 500 / rate, rel=1e-12)
    assert found.usd_per_million_tokens == pytest.approx(2 * 2.0 / 3600 / rate * 1e6, rel=1e-12)
    assert found.devices == 2
    operators = here({"tp": 2}).operators("decode")
    sent_s = sum(o.count * o.cost.link_bytes for o in operators) / 1e11
    assert found.tpot_s.floor - found.tpot_s.floor_without_collectives == pytest.approx(sent_s, rel=1e-9)
    alone = predict(here(), Reserve(), Told()).tpot_s
    streamed = sum(o.count * o.cost.streamed_bytes for o in here().operators("decode"))
    assert alone.floor == alone.floor_without_collectives == pytest.approx(streamed / 1e12, rel=1e-12)


def test_a_prediction_names_the_roofs_that_it_rests_on():
    def named(deployment):
        return [(one.name, one.value, one.origin) for one in predict(deployment, Reserve(), None).constants]

    own = [("read, B/s", 1e12, "spec"), ("bf16, FLOP/s", 1e15, "spec"), ("started, s", 1e-6, "measured")]
    near, far = ("nvlink, B/s", 1e11, "spec"), ("network, B/s", 1e10, "spec")
    assert named(here()) == own
    assert named(here({"tp": 2})) == [*own, near]
    assert named(here({"tp": 2, "gpus_per_node": 2, "pp": 2})) == [*own, near, far]
    assert named(here({"tp": 2}, replace(HERE, link="network"))) == [*own, far]


def test_a_prediction_says_the_step_it_is_of_and_leaves_away_what_is_one_or_nothing():
    how = {"tp": 2, "ep": 1, "routing_skew": 0.0, "gpus_per_node": None, "mask": "causal"}
    found = predict(here(how, prompt=1000.0, output=500.0), Reserve())
    sizes = {"batch": 8.0, "prompt": 1000.0, "output": 500.0, "context": 1250.0, "tokens": 1.0}
    assert found.step == {**sizes, "tp": 2, "mask": "causal"}


def test_a_prediction_of_a_pipeline_says_how_long_a_stage_waits():
    found = predict(here({"pp": 2, "microbatches": 4}), Reserve())
    assert found.bubble == pytest.approx(1 / 5, rel=1e-12)  # (p - 1) / (m + p - 1)
    assert predict(here(), Reserve()).bubble is None


def test_a_prediction_says_what_fits_or_that_nobody_knows():
    known, unknown = predict(here(), Reserve()), predict(here(there=replace(HERE, memory_bytes=None)), Reserve())
    assert known.batch_memory_allows == known.memory.max_sequences > 8
    assert (unknown.memory, unknown.batch_memory_allows) == (None, None)
    assert any(note.startswith("the memory of here is not known") for note in unknown.notes)
    assert not any("is not known, so whether it fits" in note for note in known.notes)
    small = predict(here(batch=100.0, there=replace(HERE, memory_bytes=6e9)), Reserve(batched_tokens=1))
    assert any(note == f"batch {small.batch_memory_allows} fits at this context" for note in small.notes)
    assert not any(note.endswith("fits at this context") for note in known.notes)


@pytest.mark.parametrize(
    ("rates", "share"),
    [({}, "MBU"), ({"bf16": 1e9}, "MFU"), ({"nvlink": 1e3}, "floor over measured")],
)
def test_a_measured_rate_is_judged_by_what_binds(rates, share):
    """At half of the rate of the floor, half of the roof that binds is reached."""
    ceilings = tuple(replace(c, value=rates.get(c.id, c.value)) for c in HERE.ceilings)
    load = here({"tp": 2}, replace(HERE, ceilings=ceilings))
    floor_s = load.floor("decode").floor_s
    found = predict(load, Reserve(), measured_tokens_per_s=8 / (2 * floor_s))
    assert found.verdict.sentences[0].startswith(f"{share} ")
    assert found.verdict.most_from_software == pytest.approx(2.0, rel=1e-9)
    assert found.measured_tokens_per_s == 8 / (2 * floor_s)
    if share == "floor over measured":
        assert found.verdict.sentences[0].startswith("floor over measured 50 %")


def test_only_a_prediction_without_an_estimate_says_so():
    said = [any(note.startswith("floors only") for note in predict(here(), Reserve(), one).notes)
            for one in (None, Told())]  # fmt: skip
    assert said == [True, False]


def test_times_without_an_estimate_are_expected_at_their_floor():
    assert Times(1.0, 0.5, 0.25).expected == 1.0
    assert Times(1.0, 0.5, 0.25, 2.0, 1.5, 3.0).expected == 2.0
