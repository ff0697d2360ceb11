"""Engines as they run: rates from counters, their place under the roofs, pages fetched, recorded and played again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflens
from rooflens.api import machine
from rooflens.api.live import Judge, followed, watched
from rooflens.cli import _run
from rooflens.errors import AnswerIsNo, BadFile, RooflensError
from rooflens.live.cycles import Targets, cycles
from rooflens.live.fetch import Access, Unreachable, fetch, public, target
from rooflens.live.following import Asking, Following
from rooflens.live.recording import Page, append, replay
from rooflens.present.retold import retold
from rooflens.records import replace
from rooflens.roofline.scraped import Histogram
from rooflens.telemetry.histograms import less, quantile, spread
from rooflens.telemetry.rates import between
from rooflens.telemetry.settings import asked_of, named
from tests.fake_engine import OUTPUT, PROMPT, STEP_S, Engine, serving
from tests.metric_pages import DATA, at, histogram, page, vllm

H100 = "h100-sxm5-80gb"
LLAMA = "llama-3.1-8b"


def one(before, after):
    (found,) = between(before, after)
    return found


# --- rates ------------------------------------------------------------------------------------------------------------


def test_rates_are_differences_over_the_time_between():
    before = at(100, vllm(prompt=1000, generated=500, steps=50, ended=10))
    found = one(before, at(110, vllm(prompt=3000, generated=1500, steps=150, cached=500, ended=30)))
    assert found.interval_s == 10
    assert found.prompt_tokens_per_s == 200  # (3000 - 1000) / 10
    assert found.cached_prompt_tokens_per_s == 50
    assert found.computed_prompt_tokens_per_s == 150  # those found in a cache cost nothing
    assert found.generation_tokens_per_s == 100
    assert found.decode_tokens_per_s == 98  # 20 of the 1000 came out of prompts
    assert (found.steps_per_s, found.steps_from) == (10, "counted")
    assert found.batch == 9.8
    assert found.context_tokens == 125  # 100 + 50 / 2


def test_one_scrape_gives_no_rate_and_says_why():
    found = one(None, at(0, vllm(running=3)))
    assert (found.generation_tokens_per_s, found.running) == (None, 3)
    assert found.missing["rates"] == "one scrape so far: rates need two"


@pytest.mark.parametrize("seconds", [0, -5])
def test_no_time_or_time_that_goes_backwards_gives_no_rate(seconds):
    found = one(at(100, vllm(generated=1)), at(100 + seconds, vllm(generated=9)))
    assert found.generation_tokens_per_s is None
    assert "backwards" in found.missing["rates"]


def test_times_that_samples_carry_are_believed_before_our_clock():
    pages = [f'vllm:generation_tokens_total{{engine="0"}} {n} {stamp}\n' for n, stamp in ((0, 1000e9), (300, 1003e9))]
    found = one(at(100, pages[0]), at(160, pages[1]))
    assert (found.interval_s, found.generation_tokens_per_s) == (3e6, 1e-4)
    stale = one(at(100, pages[0]), at(160, pages[0]))
    assert stale.generation_tokens_per_s is None


def test_a_restart_counts_from_zero():
    before = at(0, vllm(generated=9_000_000, prompt=30_000_000, started=None))
    found = one(before, at(15, vllm(generated=1200, prompt=4096, started=None)))
    assert found.restarted
    assert found.generation_tokens_per_s == 80  # 1200 / 15, at least
    assert any("restarted" in note for note in found.notes)


def test_a_restart_that_no_counter_shows_is_seen_by_the_start_of_the_process():
    before = at(0, vllm(generated=100, started=1000))
    found = one(before, at(10, vllm(generated=150, started=2000)))
    assert found.restarted
    assert found.generation_tokens_per_s == 15  # 150 since the restart, not 50


def test_a_counter_that_loses_a_part_without_a_restart_gives_no_rate():
    for started in (1000, None):
        before = at(0, vllm(generated=1_000_000, started=started))
        found = one(before, at(10, vllm(generated=900_000, started=started)))
        assert found.generation_tokens_per_s is None
        assert any("nothing tells of a restart" in note for note in found.notes)


def test_missing_scrapes_make_the_interval_longer_and_nothing_else():
    follow = Following()
    follow.see(Page(0.0, "u", vllm(generated=0)))
    assert follow.see(Page(5.0, "u", failed="no answer")).failed == "no answer"
    assert "not zero" in follow.see(Page(10.0, "u", "")).failed
    (found,) = follow.see(Page(15.0, "u", vllm(generated=300))).rates
    assert (found.interval_s, found.generation_tokens_per_s) == (15, 20)


def test_engines_of_one_target_are_added_and_restart_each_by_itself():
    def page(first, second):
        return vllm(engine="0", generated=first, started=None) + vllm(engine="1", generated=second, started=None)

    found = one(at(0, page(1000, 5000)), at(10, page(2000, 400)))
    assert found.replicas == 2
    assert found.generation_tokens_per_s == (1000 + 400) / 10


def test_an_engine_that_appears_is_counted_from_the_next_scrape_on():
    before, both = vllm(generated=100), vllm(generated=200) + vllm(engine="1", generated=1_000_000)
    found = one(at(0, before), at(10, both))
    assert found.generation_tokens_per_s == 10
    assert any(note.startswith("engine 1 was not there before") for note in found.notes)


def test_a_name_that_changes_gives_no_rate_for_once():
    old = 'vllm:gpu_prefix_cache_hits_total{engine="0"} 5\nvllm:generation_tokens_total{engine="0"} 1\n'
    new = 'vllm:prefix_cache_hits_total{engine="0"} 500000\nvllm:generation_tokens_total{engine="0"} 2\n'
    found = one(at(0, old), at(10, new))
    assert (found.cached_prompt_tokens_per_s, found.generation_tokens_per_s) == (None, 0.1)


def test_another_model_and_another_engine_give_no_rate():
    assert "this model" in one(at(0, vllm(model="a")), at(9, vllm(model="b"))).missing["rates"]
    assert "another engine" in one(at(0, page("tgi.prom")), at(9, vllm())).missing["rates"]


def test_steps_are_estimated_where_none_are_counted_and_it_is_said():
    later = page("sglang.prom").replace("generation_tokens_total{model_name", "generation_tokens_total{model_name")
    later = later.replace("2e+06", "2.001e+06")
    found = one(at(0, page("sglang.prom")), at(10, later))
    assert found.generation_tokens_per_s == 100
    assert found.steps_per_s == 25  # 100 tokens/s over 4 running sequences
    assert found.steps_from == "decoded tokens over running sequences"


def test_busy_time_is_of_engines_that_tell_it():
    later = page("tgi.prom").replace('"decode"} 30.0', '"decode"} 37.0').replace('"decode"} 4000', '"decode"} 4700')
    found = one(at(0, page("tgi.prom")), at(10, later))
    assert found.busy_share == pytest.approx(0.7)  # 7 s of 10
    assert found.steps_per_s == 70
    side_by_side = page("llamacpp.prom").replace("per_decode 1.0", "per_decode 3.5")
    found = one(at(0, side_by_side), at(10, side_by_side.replace("60.0", "62.0")))
    assert found.busy_share is None
    assert any("side by side" in note for note in found.notes)


def test_a_step_that_is_longer_than_the_interval_is_said():
    found = one(at(0, vllm(running=1)), at(2, vllm(running=1)))
    assert found.steps_per_s == 0
    assert any("longer --interval" in note for note in found.notes)


def test_steps_that_nobody_counts_do_not_stand_still_when_no_request_ended():
    text = 'sglang:num_running_reqs{model_name="tiny"} 4\nsglang:generation_tokens_total{model_name="tiny"} 70\n'
    found = one(at(0, text), at(5, text))
    assert not any("longer --interval" in note for note in found.notes)
    assert (
        "sglang counts tokens when a request ends: rates come in steps, longer intervals show them better"
        in found.notes
    )


def test_an_engine_of_which_nothing_is_known_is_not_idle():
    text = "llamacpp:tokens_predicted_total 70\n"
    judge = Judge(LLAMA, H100)
    assert judge.reading("u", one(None, at(0, text))).roof.state is None
    assert judge.reading("u", one(at(0, text), at(5, text))).roof.state == "idle"


def test_rates_that_an_engine_tells_itself_are_rates_of_prompts_as_well():
    own = "vllm:avg_{}_throughput_toks_per_s 100\nvllm:num_requests_running 4\n"
    text = own.format("prompt") + own.format("generation").partition("\n")[0] + "\n"
    found = one(at(0, text), at(5, text))
    assert (found.computed_prompt_tokens_per_s, found.decode_tokens_per_s) == (100, 100)
    assert Judge(LLAMA, H100).reading("u", found).roof.mfu > 0


def test_drafts_that_are_kept_make_fewer_steps():
    def page(drafts, kept, generated):
        own = '{engine="0",model_name="tiny"}'
        more = (
            f"vllm:spec_decode_num_drafts_total{own} {drafts}\nvllm:spec_decode_num_accepted_tokens_total{own} {kept}"
        )
        return vllm(generated=generated, steps=drafts, more=more)

    found = one(at(0, page(0, 0, 0)), at(10, page(100, 150, 250)))
    assert found.tokens_a_step == 2.5  # 1 + 150 / 100
    assert found.sequence_steps_per_s == 10


def test_tpot_is_of_requests_where_they_tell_it_and_of_pieces_elsewhere_and_both_are_there():
    pieces = (vllm(), vllm(itl=(100, 2.0)))
    found = one(at(0, pieces[0]), at(10, pieces[1]))
    assert (found.tpot_s, found.tpot_from) == (0.02, "pieces of streams: inter-token latency")
    both = (vllm(tpot=(0, 0.0)), vllm(itl=(100, 2.0), tpot=(4, 0.1)))
    found = one(at(0, both[0]), at(10, both[1]))
    assert (found.tpot_s, found.itl.mean_s) == (0.025, 0.02)
    assert found.tpot_from.startswith("requests")


def test_a_piece_with_several_tokens_is_a_step_and_no_token():
    own = '{engine="0",model_name="tiny"}'

    def page(steps, kept, itl):
        told = {"drafts": steps, "accepted_tokens": kept}
        more = "\n".join(f"vllm:spec_decode_num_{name}_total{own} {value}" for name, value in told.items())
        return vllm(generated=steps + kept, steps=steps, itl=itl, more=more)

    found = one(at(0, page(0, 0, (0, 0.0))), at(10, page(100, 150, (100, 2.0))))
    assert found.decode_step_s == 0.02  # 2 s / 100 pieces
    assert found.tpot_s == pytest.approx(0.008)  # of 1 + 150 / 100 tokens each
    assert found.tpot_from == "pieces of streams: inter-token latency / tokens of a step"


def test_sglang_shares_a_piece_out_to_its_tokens():
    own = 'model_name="tiny"'

    def page(tokens, seconds):
        gauges = {"num_running_reqs": 1, "spec_accept_length": 2.5}
        lines = [f"sglang:{name}{{{own}}} {value}" for name, value in gauges.items()]
        lines.append(f'sglang:realtime_tokens_total{{{own},mode="decode"}} {tokens}')
        counts = {0.05: tokens, "+Inf": 0}
        return "\n".join([*lines, histogram("sglang:inter_token_latency_seconds", own + ",", counts, seconds)]) + "\n"

    found = one(at(0, page(0, 0.0)), at(10, page(250, 2.0)))
    assert (found.tpot_s, found.tpot_from) == (0.008, "tokens of streams: inter-token latency")  # 2 s / 250
    assert found.decode_step_s == pytest.approx(0.02)  # x 2.5 tokens a step


def test_the_time_a_token_of_tgi_has_its_prompt_in_it_and_says_so():
    def page(ended, seconds):
        name = "tgi_request_mean_time_per_token_duration"
        return f"tgi_queue_size 0\n{histogram(name, '', {0.05: ended, '+Inf': 0}, seconds)}\n"

    found = one(at(0, page(0, 0.0)), at(10, page(10, 0.14)))
    assert found.tpot_s == pytest.approx(0.014)
    assert found.tpot_from == "requests: time in the batch, the prompt's included / tokens"


def test_requests_that_wait_at_both_ends_make_a_queue():
    states = [one(at(0, vllm(waiting=a)), at(5, vllm(waiting=b))).queueing for a, b in ((0, 3), (3, 0), (3, 3))]
    assert states == [False, False, True]


COUNTS = st.lists(st.integers(0, 10_000), min_size=3, max_size=3)


@given(COUNTS, st.integers(1, 50), st.integers(1, 50))
def test_what_happened_adds_up_over_intervals(increments, first_s, second_s):
    a, b, c = increments[0], sum(increments[:2]), sum(increments)
    scrapes = [at(t, vllm(generated=n)) for t, n in ((0, a), (first_s, b), (first_s + second_s, c))]
    parts = [one(*pair) for pair in pairwise(scrapes)]
    whole = one(scrapes[0], scrapes[2])
    counted = sum(part.generation_tokens_per_s * part.interval_s for part in parts)
    assert counted == pytest.approx(whole.generation_tokens_per_s * whole.interval_s)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from([(1.0, 1.0), (1.0, 99.0), (None, None)]))
def test_no_rate_is_ever_negative_or_more_than_what_the_counter_holds(before, after, started):
    first, second = vllm(generated=before, started=started[0]), vllm(generated=after, started=started[1])
    rate = one(at(0, first), at(1, second)).generation_tokens_per_s
    assert rate is None or 0 <= rate <= after


# --- histograms -------------------------------------------------------------------------------------------------------


def heights(*counts, bounds=(0.1, 0.2, 0.4, float("inf"))):
    buckets, total = [], 0.0
    for bound, count in zip(bounds, counts, strict=True):
        total += count
        buckets.append((bound, total))
    return Histogram(total, 1.0, tuple(buckets))


def test_a_quantile_lies_in_its_bucket_and_says_so():
    found = quantile(heights(10, 10, 0, 0), 0.75)
    assert (found.low_s, found.high_s, found.at_s) == (0.1, 0.2, pytest.approx(0.15))
    assert quantile(heights(0, 0, 0, 5), 0.5).at_s is None
    assert quantile(heights(0, 0, 0, 0), 0.5) is None


def test_a_histogram_that_fell_or_changed_its_bounds_is_not_differenced():
    assert less(heights(1, 0, 0, 0), heights(2, 0, 0, 0)) is None
    assert less(heights(3, 0, 0, 0), heights(2, 1, 0, 0)) is None
    other = heights(5, 5, 5, 0, bounds=(0.1, 0.3, 0.4, float("inf")))
    assert less(other, heights(1, 0, 0, 0)).buckets == ()


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4), st.sampled_from([0.5, 0.95, 0.99]))
def test_quantiles_rise_and_bound_what_is_there(counts, share):
    found = spread(heights(*counts))
    known = [q.at_s for q in found.quantiles if q.at_s is not None]
    assert known == sorted(known)
    assert all(q.low_s <= q.at_s <= q.high_s for q in found.quantiles if q.at_s is not None)


# --- under the roofs --------------------------------------------------------------------------------------------------


def load(batch=8.0, context=1000, seconds=10.0, step_s=0.02):
    """Two scrapes of an engine that decodes steadily: `batch` sequences at this mean context."""
    steps = int(seconds / step_s)
    output = 100
    ended = int(batch * steps / (output - 1))
    text = vllm(
        prompt=ended * (context - 50), generated=ended * output, steps=steps, ended=ended, prompt_each=context - 50,
        output_each=output, running=batch, itl=(ended * 99, ended * 99 * step_s),
    )  # fmt: skip
    return one(at(0, vllm(running=batch)), at(seconds, text))


def test_mbu_is_weights_for_every_step_and_cache_for_every_sequence():
    rates = load()
    roof = Judge(LLAMA, H100).reading("u", rates).roof
    weights = 2 * (8_030_261_248 - 128_256 * 4096)  # bf16, the table of embeddings is looked up and not streamed
    cache = 2 * 32 * 8 * 128 * 2  # keys and values of a token: layers x heads x width x bf16
    assert roof.weight_bytes_per_s == pytest.approx(rates.steps_per_s * weights, rel=1e-3)
    assert roof.kv_bytes_per_s == pytest.approx(rates.decode_tokens_per_s * 1000 * cache, rel=1e-6)
    moved = roof.weight_bytes_per_s + roof.kv_bytes_per_s
    assert roof.mbu == pytest.approx(moved / machine(H100).memory("read").floor_value)


def test_mfu_is_of_prompts_that_were_computed_and_of_tokens_that_were_generated():
    rates = load()
    roof = Judge(LLAMA, H100).reading("u", rates).roof
    params = 8_030_261_248 - 128_256 * 4096
    tokens = rates.computed_prompt_tokens_per_s + rates.decode_tokens_per_s
    assert roof.flops_per_s == pytest.approx(2 * params * tokens, rel=0.1)  # attention and heads of prompts apart
    cached = rooflens.api.live.replace(
        rates, computed_prompt_tokens_per_s=0.0, cached_prompt_tokens_per_s=rates.prompt_tokens_per_s
    )
    without = Judge(LLAMA, H100).reading("u", cached).roof
    one = rooflens.place(LLAMA, on=H100, batch=1, context=1000).total.flops
    assert without.flops_per_s == pytest.approx(rates.decode_tokens_per_s * one, rel=1e-6)


@pytest.mark.parametrize(("times", "said"), [(1.04, False), (19.0, True), (0.5, True)])
def test_an_engines_own_bytes_that_differ_are_explained(times, said):
    rates = load()
    judge = Judge(LLAMA, H100)
    ours = judge.reading("u", rates).roof
    own = times * (ours.weight_bytes_per_s + ours.kv_bytes_per_s)
    roof = judge.reading("u", rooflens.api.live.replace(rates, estimated_read_bytes_per_s=own)).roof
    assert roof.estimated_over_ours == pytest.approx(times)
    assert any(f"is {times:.3g} times what is counted here" in note for note in roof.notes) == said


def test_floor_and_estimate_are_those_of_predict():
    rates = load()
    roof = Judge(LLAMA, H100).reading("u", rates).roof
    told = rooflens.predict(LLAMA, on=H100, batch=8, prompt=950, output=100, engine="vllm").tpot_s
    assert rates.batch == pytest.approx(8, abs=0.1)
    assert roof.tpot_floor_s == pytest.approx(told.floor, rel=0.01)
    assert roof.tpot_estimate_s == pytest.approx(told.estimate, rel=0.01)
    assert roof.tpot_over_floor == pytest.approx(0.02 / roof.tpot_floor_s)


def test_two_replicas_that_do_the_same_stand_where_one_does():
    texts = [vllm(), vllm(prompt=800, generated=1000, steps=100, ended=8, running=8)]
    second = [text.replace('engine="0"', 'engine="1"') for text in texts]
    alone = one(at(0, texts[0]), at(10, texts[1]))
    both = one(at(0, texts[0] + second[0]), at(10, texts[1] + second[1]))
    judge = Judge(LLAMA, H100)
    first, pair = (judge.reading("u", rates).roof for rates in (alone, both))
    assert pair.mbu == pytest.approx(first.mbu)
    assert pair.mfu == pytest.approx(first.mfu)
    assert pair.devices == 2 * first.devices


def test_experts_that_prompts_touch_are_counted_in_their_steps():
    judge = Judge("mixtral-8x7b", H100, weights="int4")
    few = one(at(0, vllm()), at(10, vllm(generated=100, steps=100, ended=0, running=1)))
    more = one(at(0, vllm()), at(10, vllm(generated=100, prompt=50_000, steps=100, ended=0, firsts=50, running=1)))
    assert judge.reading("u", few).roof.step_weight_bytes < judge.reading("u", more).roof.step_weight_bytes


def test_an_idle_engine_is_idle_and_not_unknown():
    roof = Judge(LLAMA, H100).reading("u", one(at(0, vllm()), at(10, vllm())), levers=True).roof
    assert (roof.state, roof.mbu, roof.mfu) == ("idle", 0, 0)
    assert roof.lever == "nothing runs: more requests"


def test_over_the_roof_is_a_finding():
    roof = Judge(LLAMA, H100).reading("u", load(step_s=0.001)).roof
    assert roof.mbu > 1
    assert any("over the roof" in finding for finding in roof.findings)


def test_what_binds_now_and_what_would_help():
    judge = Judge(LLAMA, H100)
    slow = judge.reading("u", load(step_s=0.05), levers=True).roof
    assert (slow.regime, slow.state) == ("below-roof", "busy")
    assert "profiler" in slow.lever
    fast = judge.reading("u", load(step_s=0.006), levers=True).roof
    assert fast.regime == "memory"
    assert "times the tokens/s" in fast.lever
    texts = [vllm(waiting=5, usage=0.97, running=8, generated=n, steps=n) for n in (0, 80)]
    full = judge.reading("u", one(at(0, texts[0]), at(10, texts[1])), levers=True).roof
    assert full.state == "queueing"
    assert "KV pool is full" in full.lever


def test_the_engines_own_estimate_stands_beside_ours():
    texts = [vllm(estimate=0), vllm(estimate=2e12, generated=900, steps=100, ended=10)]
    rates = one(at(0, texts[0]), at(10, texts[1]))
    roof = Judge(LLAMA, H100).reading("u", rates).roof
    ours = roof.weight_bytes_per_s + roof.kv_bytes_per_s
    assert roof.estimated_over_ours == pytest.approx(2e11 / ours)


def test_without_a_machine_or_a_model_there_are_rates_and_a_reason():
    rates = load()
    assert "--on" in Judge().reading("u", rates).missing["roof"]
    assert "--model" in Judge(on=H100).reading("u", rates).missing["roof"]
    with pytest.raises(RooflensError, match="did you mean"):
        Judge("llama-3.1-8bb", H100)
    with pytest.raises(RooflensError, match="unknown argument"):
        Judge(LLAMA, H100, batch=3)


def test_settings_that_engines_tell_are_taken():
    assert asked_of({"cache_dtype": "fp8_e4m3", "tensor_parallel_size": "4"}) == {"kv": "fp8", "tp": 4}
    assert asked_of({"cache_dtype": "auto", "tensor_parallel_size": "-1"}) == {}
    known = ("llama-3.1-8b", "mixtral-8x7b")
    assert named("meta-llama/Llama-3.1-8B-Instruct", known) == "llama-3.1-8b"
    assert named("my-llama", known) is None


@pytest.mark.parametrize("batch", [1.0, 7.75, 63.5, 100.3])
@pytest.mark.parametrize("context", [1.0, 160.0, 4321.5])
def test_prices_between_the_points_of_their_lattice_are_right(batch, context):
    from rooflens.api.deployed import deployment, parted
    from rooflens.telemetry.pricing import Prices

    load, question, there = parted(H100, "gpt-oss-20b", {})
    served = deployment(question, load, there)
    found = Prices(served).decode(batch, context)
    near = [
        rooflens.frozen.replace(served, batch=float(n), prompt=context, output=0.0, context=context)
        .floor("decode")
        .cost
        for n in (int(batch), int(batch) + 1)
    ]
    low, high = sorted(float(cost.streamed_bytes) for cost in near)
    assert low * 0.995 <= found.streamed_bytes <= high * 1.005


# --- pages over HTTP --------------------------------------------------------------------------------------------------

PATIENT = Access(timeout_s=60.0, most_bytes=100_000)  # of those that answer, however busy the machine is
QUICK = replace(PATIENT, timeout_s=0.4)


def test_a_real_server_is_followed_through_its_restart_without_a_spike():
    engine, now = Engine(), iter(range(0, 1000, 10))
    with serving(engine) as url:
        asking, follow = Asking(target(url), PATIENT, lambda: float(next(now))), Following()
        seen = []
        for served, restart in ((3, False), (5, False), (2, True), (5, False)):
            if restart:
                engine.restart()
            engine.serve(served)
            seen.append(follow.see(asking.page()))
    rates = [found.rates[0].generation_tokens_per_s for found in seen]
    each = engine.batch * OUTPUT / 10
    assert rates == [None, 5 * each, 2 * each, 5 * each]
    last = seen[-1].rates[0]
    assert (last.batch, last.context_tokens) == (4 * 50 / 51, PROMPT + OUTPUT / 2)
    assert last.tpot_s == pytest.approx(STEP_S)


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("broken", "answers 500"), ("elsewhere", "another host"), ("round", "more than 3 times"),
        ("huge", "over 100000"),
        ("packed", "packs its page"), ("cut", "broke off"), ("dripping", "within 0.4 s"), ("silent", "within 0.4 s"),
        ("nonsense", "does not speak HTTP"),
    ],
)  # fmt: skip
def test_a_page_that_is_none_is_a_sentence(behaviour, says):
    engine = Engine()
    engine.behaviour = behaviour
    with serving(engine) as url, pytest.raises(Unreachable, match=says):
        fetch(target(url), QUICK if "within" in says else PATIENT)


def test_a_redirect_on_the_same_host_is_followed():
    engine = Engine()
    engine.behaviour = "moved"
    with serving(engine) as url:
        assert "vllm:" in fetch(target(url), PATIENT)


def test_a_hostile_page_is_read_and_moves_no_cursor(capsys):
    engine = Engine()
    engine.behaviour = "hostile"
    with serving(engine) as url:
        assert _run(["watch", url, "--once", "--interval", "0.1s"]) == 1
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err


def test_one_that_never_answers_does_not_hold_up_the_others():
    good, bad = Engine(), Engine()
    bad.behaviour = "silent"
    with serving(good) as one, serving(bad) as other:
        targets = Targets([target(url) for url in (other, one)], replace(PATIENT, timeout_s=3.0))
        (first,) = cycles(targets, 0.1, 1, 2)
    assert "within" in first.seen[0].failed
    assert first.seen[1].rates[0].engine == "vllm"


def test_ctrl_c_ends_a_live_view_cleanly():
    engine = Engine()
    with serving(engine) as url:
        line = [sys.executable, "-m", "rooflens", "watch", url, "--interval", "0.1s"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            first = running.stdout.readline()
            running.send_signal(signal.SIGINT)
            rest, errors = running.communicate(timeout=20)
    assert (running.returncode, errors.strip()) == (0, "")
    assert "vllm" in first
    assert "Traceback" not in rest


def test_memory_does_not_grow_with_time():
    follow, judge = Following(), Judge(LLAMA, H100)

    def hours(first, last):
        for n in range(first, last):
            page = vllm(
                prompt=700 * n, generated=500 * n, steps=100 * n, ended=7 * n, running=5, itl=(493 * n, 9.0 * n)
            )
            for rates in follow.see(Page(5.0 * n, "u", page)).rates:
                judge.reading("u", rates)

    hours(0, 200)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    hours(200, 600)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 500_000  # a page alone is 3 kB, 400 of them over a megabyte


def test_a_token_goes_into_a_header_and_nowhere_else(tmp_path, monkeypatch):
    engine = Engine()
    engine.token = "s3cret"
    (tmp_path / "token").write_text("s3cret\n")
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    with serving(engine) as url:
        for access in (Access(token_file=str(tmp_path / "token")), Access(token_env="MY_TOKEN")):
            assert "vllm:" in fetch(target(url), access)
        with pytest.raises(Unreachable, match="wants a token"):
            fetch(target(url), Access())
    assert "s3cret" not in repr(access)
    with pytest.raises(RooflensError, match="NOT_THERE holds no token"):
        Access(token_env="NOT_THERE").headers()


@pytest.mark.parametrize(
    "text",
    ["localhost:8000", "ftp://a/metrics", "http://", "http://a:99999/", "http://me:pw@a/metrics", "http://a/x y", "file:///x"],
)  # fmt: skip
def test_what_is_no_url_of_an_engine_is_refused(text):
    with pytest.raises(RooflensError, match=r"write it like|token-file|blanks"):
        target(text)


def test_urls_are_completed_and_shown_without_what_they_hide():
    assert target("http://a:1") == "http://a:1/metrics"
    assert target("https://a/prometheus/metrics") == "https://a/prometheus/metrics"
    assert public("http://a/metrics?key=secret") == "http://a/metrics"


# --- recordings -------------------------------------------------------------------------------------------------------


def test_a_recording_played_again_says_what_was_said_live(tmp_path):
    engine, file = Engine(), tmp_path / "new/inner/run.jsonl"
    with serving(engine) as url:
        targets, live = Targets([target(url)], PATIENT, lambda page: append(file, page)), []
        for cycle in cycles(targets, 0.1, 4):
            live.append(cycle.seen[0])
            engine.serve(1)
            engine.behaviour = "broken" if len(live) == 2 else "well"
    again = list(followed(replay(file)))
    assert [(seen.rates, seen.failed) for seen in again] == [(seen.rates, seen.failed) for seen in live]
    assert again[-1].rates[0].settings["max_model_len"] == "4096"
    judge = Judge(LLAMA, H100)
    assert list(watched(file, judge))[-1].models == tuple(judge.reading(live[-1].url, one) for one in live[-1].rates)


def test_a_recording_cut_off_anywhere_is_read_up_to_there_and_goes_on_behind(tmp_path):
    """A page holds braces and quotes, and may be cut off behind any of them."""
    file, again = tmp_path / "run.jsonl", tmp_path / "again.jsonl"
    for i in range(2):
        append(file, Page(float(i), "http://a/metrics", f'up{{a="\\\\b"}} {i}\nup{{}} é\n'))
    whole = file.read_bytes()
    end = whole.index(b"\n")  # of the first page
    for cut in range(2, len(whole)):
        again.write_bytes(whole[:cut])
        kept = [0.0, 1.0][: (cut >= end) + (cut >= len(whole) - 1)]
        assert [page.at_s for page in replay(again)] == kept, cut
        append(again, Page(2.0, "http://a/metrics", failed="it hung"))
        assert [page.at_s for page in replay(again)] == [*kept, 2.0], cut


WHEN = '{"schema": "rooflens/scrape/1", "url": "http://a/metrics", "text": "", "at_s": '


@pytest.mark.parametrize(
    "line", ["{", '{"schema": "other/1"}', "[1]", *(f"{WHEN}{at}}}" for at in ("true", "NaN", "1e300", "9" * 400))]
)
def test_another_file_is_no_recording(tmp_path, line):
    file = tmp_path / "run.jsonl"
    file.write_text(line + "\n{}\n")
    with pytest.raises(BadFile, match="line 1"):
        list(replay(file))


# --- a real vLLM 0.32 on a CPU: 24 requests of 128 and 64 tokens, 8 at a time; killed, and started again --------------

REAL, SMOL = DATA / "real_vllm.jsonl.gz", str(DATA / "smol.json")
CPU = str(Path(__file__).parents[1] / "experiments" / "cpu-example" / "profile.json")


def test_a_real_run_is_counted_as_its_clients_counted_it():
    pages = [at(page.at_s, page.text) for page in replay(REAL) if page.text and not page.about]
    rates = one(pages[0], pages[3])
    roof = Judge(SMOL, CPU, math="fp32").reading("u", rates).roof
    seconds = rates.interval_s
    assert rates.prompt_tokens_per_s * seconds == pytest.approx(24 * 128)
    assert rates.generation_tokens_per_s * seconds == pytest.approx(24 * 64)
    assert rates.steps_per_s * seconds == pytest.approx(195)  # 3 rounds of 64, and prompts that came alone
    weights = 2 * (49152 * 576 + 576 + 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536 + 2 * 576))
    cache = 30 * 2 * 192 * 2  # layers x keys and values x width x bf16
    assert roof.step_weight_bytes == weights
    by_clients = 24 * 64 / 8 * weights + 24 * sum(128 + k for k in range(1, 64)) * cache
    assert roof.mbu == pytest.approx(by_clients / seconds / machine(CPU).memory("read").floor_value, rel=0.03)
    assert roof.estimated_over_ours == pytest.approx(1, abs=0.1)  # activations are not in ours


def test_a_real_restart_in_mid_run_makes_no_spike():
    seen = list(followed(replay(REAL)))
    rates = [found.rates[0] for found in seen if not found.failed]
    assert [found.failed is not None for found in seen] == [False, False, False, False, True, False, False]
    assert [one.restarted for one in rates] == [False, False, False, False, True, False]
    assert max(one.generation_tokens_per_s or 0.0 for one in rates) < 30  # 8 sequences at over a quarter of a second
    assert rates[-2].generation_tokens_per_s * rates[-2].interval_s == pytest.approx(
        1 + 12 * 8
    )  # since it came up again
    assert rates[-1].settings["max_model_len"] == "1024"


# --- the verb ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    file = tmp_path_factory.mktemp("watch") / "run.jsonl"
    for i, n in enumerate((0, 1, 3)):
        engine = Engine()
        engine.serve(20 * n)
        append(file, Page(1000.0 + 10 * i, "http://engine:8000/metrics", engine.page))
    append(file, Page(1025.0, "http://other:8000/metrics", failed="http://other:8000/metrics cannot be reached: no"))
    return str(file)


def test_once_gives_one_object_with_units_in_its_keys(recording, capsys):
    assert _run(["watch", recording, "--once", "--json", "--model", LLAMA, "--on", H100]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "rooflens/watch/1"
    first, second = found["targets"]
    rates, roof = (first["models"][0][part] for part in ("rates", "roof"))
    assert rates["generation_tokens_per_s"] == 40 * 4 * OUTPUT / 10
    assert 0 < roof["mbu"] < 1
    assert "null" not in json.dumps(found)
    assert "cannot be reached" in second["failed"]
    assert "tpot" in found["conventions"]


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_every_sentence_is_in_the_language(recording, capsys, lang):
    assert _run(["watch", recording, "--model", LLAMA, "--on", H100, "--lang", lang]) == 0
    text = capsys.readouterr().out
    assert {"es": "generados", "vi": "sinh ra"}[lang] in text
    assert not any(word in text for word in ("scrape", "generated", "waiting", "floor"))


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_what_readers_and_rates_say_is_told(lang):
    from rooflens.readers.metrics.tables import TABLES
    from rooflens.telemetry import deltas, demands, levers, rates

    said = [why for table in TABLES for why in table.remedies.values()]
    said += [deltas.RESTARTED, deltas.FELL, demands.NO_STEPS, demands.NO_CONTEXT, demands.NO_PROMPT.format(tokens=7)]
    said += [levers.IDLE, levers.NO_ROOM, levers.NO_PLACE, levers.FAR, levers.NONE, rates.FIRST, rates.NO_TIME]
    said += [
        rates.NEW_MODEL,
        rates.OTHER_ENGINE,
        rates.SLOTS,
        rates.IN_A_STEP,
        rates.AT_END,
        rates.BY_RUNNING,
        rates.BY_REQUEST,
    ]
    said += [*at(0, page("dcgm.prom")).notes]
    assert [sentence for sentence in said if retold(sentence, lang) == sentence] == []


def test_a_target_that_does_not_answer_is_a_sentence_and_exit_1_when_none_does(capsys):
    engine = Engine()
    with serving(engine) as url:
        dead = "http://127.0.0.1:9/metrics"
        assert _run(["watch", url, dead, "--once", "--interval", "0.1s", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [("failed" in one) for one in found["targets"]] == [False, True]
    assert _run(["watch", dead, "--once", "--interval", "0.1s"]) == 1
    with pytest.raises(AnswerIsNo, match="cannot be reached"):
        rooflens.api.live.watch(dead, interval_s=0.1)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("watch localhost:8000", "write it like"), ("watch http://a --interval 5", "no unit"),
        ("watch http://a --interval 0s", "between"), ("watch http://a -o x.json", "--once"),
        ("watch gone.jsonl --once", "cannot read gone.jsonl"), ("watch http://a --on nothing", "unknown accelerator"),
    ],
)  # fmt: skip
def test_wrong_use_is_a_sentence(line, says, capsys):
    assert _run(line.split()) == 2
    assert says in capsys.readouterr().err


def test_what_is_recorded_holds_no_secret_of_the_url(tmp_path, capsys):
    engine, file = Engine(), tmp_path / "run.jsonl"
    with serving(engine) as url:
        line = ["watch", f"{url}/metrics?token=abc", "--once", "--interval", "0.1s", "--record", str(file)]
        _run(line)
    said = capsys.readouterr()
    assert "abc" not in file.read_text() + said.out + said.err
