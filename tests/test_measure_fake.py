"""A machine whose truth we chose: measuring must find it again, and notice everything that spoils a figure."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens import records
from rooflens.measure import again
from rooflens.measure.attention import Attention, measure_attention
from rooflens.measure.backend import AttentionShape, Cannot
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.budget import Budget
from rooflens.measure.gemm import measure_point
from rooflens.measure.options import Options, quick
from rooflens.measure.run import measure
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import SCHEMA, Profile

ONE_PERCENT = 0.01


def profile_of(options=None, **truth):
    return measure(FakeBackend(FakeMachine(**truth)), options or Options())


def value(profile, id):
    found = profile.ceiling(id)
    assert found is not None, f"{id} was not measured"
    return found.value


@pytest.mark.parametrize("options", [Options(), quick()], ids=["whole", "quick"])
@pytest.mark.parametrize("seed", range(3))
def test_every_true_ceiling_is_found_within_one_percent(options, seed):
    truth = FakeMachine(seed=seed)
    profile = measure(FakeBackend(truth), options)
    for dtype, rate in truth.compute.items():
        for mode in ("burst", "sustained"):
            assert value(profile, f"compute/vector/{dtype}/{mode}") == pytest.approx(rate, rel=ONE_PERCENT)
    for (level, access), rate in truth.memory.items():
        assert value(profile, f"memory/{level}/{access}") == pytest.approx(rate, rel=ONE_PERCENT)
    assert value(profile, "launch/device") == pytest.approx(truth.launch_s, rel=ONE_PERCENT)
    assert profile.refused() == ()
    assert profile.complete
    assert profile.contention is None
    assert profile.throttle is None


@settings(max_examples=8, deadline=None)
@given(
    fp32=st.floats(1e10, 1e14),
    read=st.floats(1e9, 1e13),
    launch=st.floats(1e-6, 1e-5),
    seed=st.integers(0, 2**32),
)
def test_any_machine_is_found_again(fp32, read, launch, seed):
    memory = dict.fromkeys((("main", a) for a in ("read", "write", "copy", "triad")), read)
    profile = profile_of(
        Options(dtypes=("fp32",)), compute={"fp32": fp32}, memory=memory, launch_s=launch, seed=seed, caches=()
    )
    # a product or a pass includes its one launch, which belongs to the call and not to the rate
    assert value(profile, "launch/device") == pytest.approx(launch, rel=ONE_PERCENT)
    best_cube = profile.gemms[-1].m
    for mode in ("burst", "sustained"):
        attainable = 2 * best_cube**3 / (2 * best_cube**3 / fp32 + launch)
        assert value(profile, f"compute/vector/fp32/{mode}") == pytest.approx(attainable, rel=2 * ONE_PERCENT)


def test_samples_are_kept_and_the_value_is_their_median():
    burst = profile_of().ceiling("compute/vector/fp32/burst")
    assert len(burst.samples) == 10
    assert burst.best == max(burst.samples)
    assert burst.value == pytest.approx(sorted(burst.samples)[5], rel=0.005)


def test_no_ceiling_rests_on_fewer_than_ten_samples():
    assert all(len(c.samples) >= 10 for c in profile_of().ceilings if c.origin == "measured")


def test_throttling_shows_as_burst_and_sustained_that_differ():
    profile = profile_of(throttle_after_s=1.5, throttled_to=0.75)
    burst, sustained = (profile.ceiling(f"compute/vector/fp32/{mode}") for mode in ("burst", "sustained"))
    assert burst.value == pytest.approx(200e9, rel=ONE_PERCENT)
    assert sustained.value == pytest.approx(150e9, rel=ONE_PERCENT)  # 0.75 * 200e9
    assert "25 %" in sustained.throttle
    assert "power limit" in sustained.throttle
    assert "3 GHz to 2.25 GHz" in sustained.throttle
    assert "compute/vector/fp32/sustained" in profile.throttle
    assert sustained.trusted  # a settled rate is a ceiling too


def test_the_machine_of_a_profile_keeps_burst_and_sustained_and_offers_the_faster():
    machine = profile_of(throttle_after_s=1.5).machine()
    assert machine.compute("fp32").mode == "burst"
    assert {c.mode for c in machine.find("compute", dtype="fp32")} == {"burst", "sustained"}
    assert machine.title == "Fake CPU (2 cores)"
    assert all(c.origin == "measured" for c in machine.ceilings)


@pytest.mark.parametrize(
    ("truth", "word"),
    [
        ({"cpu_share": 0.5}, "50 %"),
        ({"switches_per_s": 100.0}, "switched out"),
        ({"pressure": 0.2}, "waited for a CPU 20 %"),
        ({"steal_share": 0.05}, "steal"),
    ],
    ids=["cpu share", "switches", "pressure", "steal"],
)
def test_a_disturbed_ceiling_is_refused_with_its_reason(truth, word):
    profile = profile_of(**truth)
    roof = profile.ceiling("compute/vector/fp32/sustained")
    assert not roof.trusted
    assert word in roof.why_not
    assert word in profile.contention
    assert profile.machine().find("compute") == []


def test_a_cache_larger_than_it_shows_is_outgrown():
    profile = profile_of(owned_cache_bytes=200 * 2**20)
    read = profile.ceiling("memory/main/read")
    assert read.trusted
    assert read.value == pytest.approx(40e9, rel=ONE_PERCENT)
    assert read.working_set_bytes >= 2 * 200 * 2**20


def test_working_sets_that_never_agree_are_refused():
    read = profile_of(owned_cache_bytes=200 * 2**20, memory_bytes=2**30).ceiling("memory/main/read")
    assert not read.trusted
    assert "working sets of 128 MiB and 256 MiB differ by 33 % (at most 3 %)" in read.why_not  # 1 - 40 / 60


def test_more_than_the_peak_is_refused_as_a_mistake():
    roof = profile_of(peak_times=0.9).ceiling("compute/vector/fp32/burst")
    assert not roof.trusted
    assert "111 % of the derived peak" in roof.why_not  # 1 / 0.9
    assert profile_of(peak_times=0.97).ceiling("compute/vector/fp32/burst").trusted  # 103 %


def test_a_wrong_product_is_refused():
    roof = profile_of(gemm_error=0.1).ceiling("compute/vector/fp32/burst")
    assert not roof.trusted
    assert "wrong result" in roof.why_not


def test_under_half_of_the_peak_names_suspects():
    note = profile_of(peak_times=2.5).ceiling("compute/vector/fp32/burst").note
    assert re.search(r"(39\.\d|40|40\.\d) % of the derived peak", note)  # 1 / 2.5
    assert "suspects: " in note
    assert "suspects" not in profile_of(peak_times=1.9).ceiling("compute/vector/fp32/burst").note


def test_a_narrow_dtype_slower_than_fp32_is_said_in_words():
    notes = profile_of(compute={"fp32": 200e9, "bf16": 20e9}).notes
    assert any("bf16 is slower than fp32 here (10 % of its rate)" in note for note in notes)
    assert not any("slower" in note for note in profile_of().notes)


def test_what_the_machine_cannot_do_is_a_result():
    profile = profile_of()
    assert "int8 skipped: the fake machine has no int8" in profile.skipped
    assert profile.complete


def test_a_cache_level_whose_calls_cost_too_much_is_left_out():
    profile = profile_of(overhead_s=0.001)  # of samples of 5 ms
    assert profile.ceiling("memory/L1/read") is None
    assert any("memory/L1/read skipped: calling takes" in reason for reason in profile.skipped)


def test_a_cache_level_no_faster_than_memory_is_refused():
    truth = FakeMachine()
    profile = measure(FakeBackend(replace(truth, memory={**truth.memory, ("L3", "read"): 41e9})))
    assert "not clearly faster than main" in profile.ceiling("memory/L3/read").why_not
    assert profile.ceiling("memory/L2/read").trusted


def test_a_budget_shortens_every_stage():
    profile = profile_of(Options(budget_s=15.0))
    assert profile.complete
    assert profile.duration_s < 20.0  # virtual seconds


def test_a_tiny_budget_keeps_what_was_measured_and_says_what_was_not():
    backend = FakeBackend()
    profile = measure(backend, Options(budget_s=0.05))
    assert not profile.complete
    assert any("the time budget was used up" in reason for reason in profile.skipped)
    assert profile.ceilings
    assert all(c.trusted or c.why_not for c in profile.ceilings)


def test_an_interruption_passes_through_and_loses_only_the_stage_under_way():
    kept: list[Profile] = []
    with pytest.raises(KeyboardInterrupt):
        measure(FakeBackend(interrupt_in="fake main triad"), Options(), on_result=kept.append)
    assert kept[-1].ceiling("memory/main/read") is not None
    assert kept[-1].ceiling("memory/main/triad") is None


def test_progress_names_each_stage_and_never_goes_back():
    seen: list[tuple[str, float]] = []
    measure(FakeBackend(), quick(), progress=lambda name, fraction: seen.append((name, fraction)))
    assert [f for _, f in seen] == sorted(f for _, f in seen)
    assert seen[0][0] == "launch"
    assert seen[-1] == ("measured", 1.0)


def test_a_backend_that_cannot_be_used_says_why():
    class Broken(FakeBackend):
        def why_not(self):
            return "no device here; install one"

    with pytest.raises(Cannot, match="no device here"):
        measure(Broken())


def test_a_profile_survives_its_file():
    profile = profile_of(throttle_after_s=1.5)
    text = json.dumps({"schema": SCHEMA, **records.encode(profile)})
    assert records.decode(Profile, json.loads(text), "profile.json", SCHEMA) == profile


def test_the_same_seed_gives_the_same_samples():
    first, second = (profile_of(seed=7) for _ in range(2))
    assert first.ceilings == second.ceilings


def test_a_product_becomes_an_operator_point():
    backend = FakeBackend()
    point = measure_point(backend, "fp32", 16, 4096, 4096, Options(), Budget(backend.clock))
    assert (point.m, point.n, point.k) == (16, 4096, 4096)
    assert point.time_s == pytest.approx(2 * 16 * 4096 * 4096 / 200e9 + 1e-6, rel=ONE_PERCENT)
    assert point.trusted


def attention_of(options=None, contexts=(16, 1024, 16384), dtypes=("fp32",), **truth) -> Attention:
    return measure_attention(FakeBackend(FakeMachine(**truth)), options or Options(), contexts=contexts, dtypes=dtypes)


def test_attention_takes_the_time_of_its_cache_plus_its_calls():
    for point in attention_of().points:
        moved = 2 * point.context * 384 * 4 * 6  # keys and values, fp32, six layers
        assert point.time_s == pytest.approx(moved / 40e9 + 18e-6, rel=ONE_PERCENT)
        assert point.calls == 18
        assert point.overhead_s == pytest.approx(18e-6 + 2 * 384 * 4 * 6 / 40e9, rel=2 * ONE_PERCENT)


@pytest.mark.parametrize(
    ("truth", "binding"),
    [
        ({"launch_s": 1e-3}, "launch"),
        ({"launch_s": 1e-9}, "memory"),
        ({"launch_s": 1e-9, "compute": {"fp32": 1e9}}, "compute"),
        ({"launch_s": 1e-9, "attention_share": 0.1}, "below-roof"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_attention_times_show_which_ceiling_binds(truth, binding):
    (point,) = attention_of(contexts=(4096,), **truth).points
    seconds = {
        "memory": 2 * 4096 * 384 * 4 * 6 / 40e9,
        "compute": 4 * 4096 * 384 * 6 / truth.get("compute", {"fp32": 200e9})["fp32"],
        "launch": 18 * truth["launch_s"],
    }
    if binding == "below-roof":
        assert point.time_s > 2 * sum(seconds.values())
    else:
        assert max(seconds, key=seconds.__getitem__) == binding
        assert seconds[binding] > point.time_s / 2


def test_a_cell_has_a_thousand_repetitions_or_as_many_as_fit():
    short, _, long = attention_of().points
    assert short.count == len(short.samples_s) == 1000
    assert 10 <= long.count < 1000  # 2 s of 7.5 ms
    assert attention_of(contexts=(16384,), launch_s=0.1).points[0].count == 10  # 1.8 s each: the least


def test_attention_off_float64_is_refused():
    found = attention_of(attention_error=2e-5)
    assert found.points == ()
    assert any("refused: off float64 by 2.0e-05 (at most 1e-05)" in reason for reason in found.skipped)
    assert len(attention_of(dtypes=("bf16",), attention_error=2e-5).points) == 3  # 16 bit may be off by 5e-3


def test_attention_in_a_dtype_without_arithmetic_is_skipped_once():
    found = attention_of(dtypes=("fp32", "fp16"))
    assert found.skipped == ("decode attention fp16 skipped: the fake machine does not compute in fp16",)
    assert {p.dtype for p in found.points} == {"fp32"}


def test_disturbed_attention_is_flagged():
    (point,) = attention_of(contexts=(256,), cpu_share=0.5).points
    assert not point.trusted
    assert "contention" in point.why_not


def test_attention_within_a_budget_serves_every_cell():
    found = attention_of(Options(budget_s=1.0), dtypes=("fp32", "bf16"))
    assert len(found.points) == 6
    assert found.complete


def test_attention_without_time_left_says_so():
    backend = FakeBackend()
    budget = Budget(backend.clock, 1.0)
    backend.rest(2.0)
    found = measure_attention(backend, Options(), contexts=(16,), dtypes=("fp32",), budget=budget)
    assert not found.complete
    assert "the time budget was used up" in found.skipped[0]


def test_interrupted_attention_keeps_its_cells():
    kept: list[Attention] = []
    with pytest.raises(KeyboardInterrupt):
        measure_attention(
            FakeBackend(interrupt_in="fake bf16 attention"),
            contexts=(16,),
            dtypes=("fp32", "bf16"),
            on_result=kept.append,
        )
    assert [p.dtype for p in kept[-1].points] == ["fp32"]


def test_heads_must_divide_the_width():
    with pytest.raises(Exception, match="width 384 cannot be split into 5 equal heads"):
        AttentionShape(heads=5)


def ceiling(value, **more):
    return Ceiling("memory/main/read", "memory", value, "measured", level="main", access="read", **more)


def test_a_rate_that_a_later_look_confirms_is_kept_as_it_was():
    assert again.settled(ceiling(100e9), [ceiling(96e9)]) == ceiling(100e9)
    assert again.settled(ceiling(100e9), [ceiling(80e9), ceiling(97e9)]) == ceiling(100e9)


def test_the_fastest_look_replaces_a_first_one_that_was_disturbed_unseen():
    settled = again.settled(ceiling(70e9), [ceiling(100e9), ceiling(98e9)])
    assert (settled.value, settled.trusted) == (100e9, True)
    assert settled.note == "the fastest of 3 looks some time apart; the others gave 70 GB/s and 98 GB/s"


def test_looks_that_never_agree_give_what_was_reached_and_say_that_it_may_be_more():
    settled = again.settled(ceiling(100e9), [ceiling(80e9), ceiling(60e9)])
    assert (settled.value, settled.trusted) == (100e9, True), "neighbours take bandwidth, they never add any"
    assert "gave 80 GB/s and 60 GB/s" in settled.note
    assert settled.note.endswith("it may reach more")


def test_a_clean_later_look_stands_for_a_refused_first_one_and_none_for_none():
    refused = ceiling(120e9, trusted=False, why_not="contention: this process got 50 %")
    settled = again.settled(refused, [ceiling(98e9), ceiling(97e9)])
    assert (settled.value, settled.trusted) == (98e9, True)
    assert again.settled(refused, []) == refused


def test_a_hot_machine_at_a_lower_clock_is_not_a_disturbed_one():
    hot = ceiling(80e9, clock_hz=2.4e9)
    assert again.settled(ceiling(100e9, clock_hz=3e9), [hot]).trusted


def test_neighbours_that_no_counter_shows_are_noticed_by_looking_again():
    whole = profile_of()
    spoilt = profile_of(weather_s=(0.0, 7.0))
    assert all(c.trusted for c in whole.ceilings)
    first = [c for c in spoilt.ceilings if c.id in ("launch/device", "memory/main/read")]
    truth = FakeMachine()
    for found in first:
        right = truth.launch_s if found.kind == "launch" else truth.memory["main", "read"]
        assert not found.trusted or found.value == pytest.approx(right, rel=ONE_PERCENT)
    assert any("the fastest of" in (c.note or "") for c in first)
