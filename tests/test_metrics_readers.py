"""What engines tell of themselves: pages of metrics as samples, samples under one set of names, and what is absent."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.readers.metrics.exposition import MOST_LABELS, parse
from rooflens.readers.metrics.scrapes import NothingKnown, scrape
from rooflens.readers.metrics.tables import TABLES
from rooflens.readers.metrics.told import told
from rooflens.roofline.scraped import COUNTERS, GAUGES, HISTOGRAMS
from rooflens.telemetry.histograms import spread
from rooflens.telemetry.rates import between
from tests.metric_pages import at, page


def only(name):
    (found,) = at(0, page(name)).served
    return found


def mean(of, quantity):
    (found,) = of.histograms[quantity].values()
    return found.sum / found.count


# --- lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        ("up 1", {}, 1.0),
        ("up{} 1", {}, 1.0),
        ('up{a="b"} 2.5e+06', {"a": "b"}, 2.5e6),
        ('up{a="b",} 2', {"a": "b"}, 2.0),
        ('up{ a = "b" , c="d" } 2', {"a": "b", "c": "d"}, 2.0),
        ('up{a="x, y=\\"z\\" } 7"} 3', {"a": 'x, y="z" } 7'}, 3.0),
        ('up{a="back\\\\slash\\nline"} 3', {"a": "back\\slash\nline"}, 3.0),
        ('up{a="b"} 4 1700000000000', {"a": "b"}, 4.0),
        ('up{a="b"} 5 # {trace="abc"} 0.7 1.5', {"a": "b"}, 5.0),
        ('{"up",a="b"} 6', {"a": "b"}, 6.0),
        ('up{a="b"}\t7', {"a": "b"}, 7.0),
        ("up +Inf", {}, math.inf),
        ("up -Inf", {}, -math.inf),
    ],
)
def test_a_sample_is_read_as_it_is_written(line, labels, value):
    found = parse(line + "\n")
    assert found.series == {"up": {tuple(sorted(labels.items())): value}}
    assert found.faults == ()


def test_nan_stays_nan_and_is_told_of_nobody():
    assert math.isnan(parse("up NaN").series["up"][()])
    assert "running" not in only("llamacpp.prom").gauges


@pytest.mark.parametrize(
    "line", ["up", "up x", 'up{a="b} 1', "up{a=b} 1", 'up{a="b"', "up 1_000", "1up 1", 'up{a="1",a="2"} 1', "<html>"]
)  # fmt: skip
def test_what_is_no_sample_is_left_out_and_said(line):
    found = parse(f"before 1\n{line}\nafter 2\n")
    assert set(found.series) == {"before", "after"}
    assert found.faulty == len(found.faults) == 1


def test_the_first_of_two_equal_samples_counts_in_whatever_order_their_labels_stand():
    found = parse('up{a="1",b="2"} 1\nup{b="2",a="1"} 9\n')
    assert found.series["up"] == {(("a", "1"), ("b", "2")): 1.0}
    assert found.faulty == 1


def test_reading_ends_at_the_end_that_openmetrics_writes():
    assert set(parse("a 1\n# EOF\nb 2\n").series) == {"a"}


@pytest.mark.parametrize(("written", "seconds"), [("1700000000000", 1.7e9), ("1700000000.5", 1700000000.5)])
def test_times_of_samples_are_seconds_in_either_dialect(written, seconds):
    assert parse(f"a 1 {written}").stamped_s == seconds


def test_too_many_labels_and_endless_lines_are_no_samples():
    many = ",".join(f'l{i}="x"' for i in range(MOST_LABELS + 1))
    found = parse(f'a{{{many}}} 1\nb{{x="{"y" * 20_000}"}} 1\nc 1\n')
    assert set(found.series) == {"c"}


@given(st.text(max_size=400))
def test_no_text_breaks_the_reader(text):
    found = parse(text)
    assert all(isinstance(value, float) for by in found.series.values() for value in by.values())


LABELS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text(max_size=12), max_size=4)


@given(LABELS, st.floats(allow_nan=False))
def test_whatever_a_label_holds_comes_back(labels, value):
    def quoted(text):
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    inner = ",".join(f'{name}="{quoted(text)}"' for name, text in labels.items())
    found = parse(f"up{{{inner}}} {value!r}\n")
    assert found.series == {"up": {tuple(sorted(labels.items())): value}}


# --- engines ----------------------------------------------------------------------------------------------------------


def test_every_name_of_a_table_is_one_of_ours():
    known = {"counter": COUNTERS, "gauge": GAUGES, "histogram": HISTOGRAMS}
    strange = [n.metric for table in TABLES for n in table.names if n.quantity not in known[n.part]]
    assert strange == []


def test_vllm_tells_tokens_latencies_and_its_pool():
    found = only("vllm.prom")
    assert found.model == "acme/Tiny-1B"
    assert (found.total("prompt_tokens_total"), found.total("generation_tokens_total")) == (4_096_000, 1_000_000)
    assert found.total("cached_prompt_tokens_total") == 1_024_000  # a quarter of the prompts cost no FLOPs
    assert mean(found, "ttft_s") == pytest.approx(0.045)  # 45 s / 1000
    assert mean(found, "itl_s") == pytest.approx(0.008)  # 7992 s / 999,000
    assert found.gauge("kv_capacity_tokens") == 20_000 * 16
    assert found.gauge("kv_tokens") == 0.25 * 20_000 * 16  # usage x capacity, never prompt + generated tokens
    assert "1.75e" not in str(found.counters)  # *_created is a time, not tokens


def test_the_pool_of_a_hybrid_model_is_what_the_engine_says_in_tokens():
    assert only("vllm_hybrid.prom").gauge("kv_capacity_tokens") == 50_000


def test_rates_that_an_engine_tells_itself_are_taken_and_never_differenced():
    first, second = at(0, page("vllm_first.prom")), at(10, page("vllm_first.prom").replace("640.5", "700.0"))
    (found,) = between(first, second)
    assert (found.generation_tokens_per_s, found.prompt_tokens_per_s) == (700.0, 1500.25)
    assert found.kv_usage == 0.375


def test_sglang_ranks_that_tell_the_same_count_once():
    found = only("sglang.prom")
    assert found.gauge("running") == 4
    assert found.gauge("kv_tokens") == 28_000
    assert "generation_tokens_per_s" in found.gauges


def test_each_replica_of_sglang_tells_once_whatever_rank_leads_it():
    rows = [(0, 0, 5), (0, 1, 5), (1, 2, 7), (1, 3, 7)]
    text = "".join(f'sglang:num_running_reqs{{dp_rank="{d}",model_name="m",tp_rank="{t}"}} {n}\n' for d, t, n in rows)
    (found,) = at(0, text + 'sglang:prompt_tokens_total{is_streaming="true",model_name="m"} 9\n').served
    assert found.gauge("running") == 12  # 5 + 7
    assert found.engines == ("0", "1")  # what the front end tells of both is no third
    assert found.total("prompt_tokens_total") == 9


def test_all_in_the_last_bucket_is_over_its_bound_and_the_mean_stays_known():
    (histogram,) = only("sglang.prom").histograms["ttft_s"].values()
    found = spread(histogram)
    assert found.mean_s == 200.0  # 2.0e6 s / 10,000
    assert [(q.low_s, q.high_s, q.at_s) for q in found.quantiles] == [(0.01, None, None)] * 3


def test_counters_that_run_are_believed_before_those_that_wait_for_the_end_of_a_request():
    found = only("sglang_running.prom")
    assert found.total("generation_tokens_total") == 2000
    assert found.total("computed_prompt_tokens_total") == 3000
    assert found.total("busy_s_total") == 8.0
    (rates,) = between(at(0, page("sglang_running.prom")), at(10, page("sglang_running.prom")))
    assert rates.busy_share is None  # a clock that stands still was never started


def test_tgi_keeps_its_tokens_in_the_sum_of_a_histogram():
    found = only("tgi.prom")
    assert found.total("generation_tokens_total") == 11_000
    assert mean(found, "tpot_s") == pytest.approx(0.016)  # 2.4 s / 150
    assert (found.total("steps_total"), found.total("decode_steps_total")) == (4150, 4000)
    assert found.total("busy_s_total") == 33.0
    assert found.missing["ttft_s"] == "tgi tells no time to first token"


def test_llamacpp_says_seconds_where_it_means_tokens_a_second():
    found = only("llamacpp.prom")
    assert found.gauge("prompt_tokens_per_s") == 2000
    assert found.gauge("generation_tokens_per_s") == 12
    assert found.total("prompt_s_total") == 60
    assert found.total("computed_prompt_tokens_total") == 120_000  # those from the cache are beside them
    assert "timings" in found.missing["ttft_s"]


def test_trtllm_has_pages_of_tokens_and_tells_how_it_is_shared():
    found = only("trtllm.prom")
    assert found.gauge("kv_tokens") == 250 * 32
    assert found.gauge("kv_capacity_tokens") == 1000 * 32
    assert found.settings["tensor_parallel_size"] == "4"
    assert found.gauge("step_s") == 0.02


def test_dcgm_blanks_are_absent_and_utilisation_is_no_efficiency():
    found = at(0, page("dcgm.prom"))
    (gpu,) = found.gpus
    assert gpu.memory_temperature_c is None
    assert (gpu.utilisation, gpu.tensor_active, gpu.dram_active) == (0.97, 0.006, 0.093)  # whatever HELP says of %
    assert gpu.clock_hz == 1.41e9
    assert gpu.memory_used_bytes == 2.0**30
    assert gpu.energy_j == 5000.0
    assert gpu.throttled_s == {"power": 3.0}
    assert gpu.pcie_sent_bytes_per_s == 4.8e6  # a rate already
    (note,) = found.notes
    assert note.startswith("GPU a-node/0: busy, not efficient: a kernel was there 97 % of the time")
    assert note.endswith("tensor pipe 0.6 % and DRAM 9.3 % active")


def test_a_share_of_the_pool_in_per_cent_is_not_believed():
    text = 'vllm:gpu_cache_usage_perc{model_name="m"} 37.5\nvllm:num_requests_running{model_name="m"} 1\n'
    (found,) = at(0, text).served
    assert found.gauge("kv_usage") is None
    assert "no ratio" in found.missing["kv_usage"]


@pytest.mark.parametrize(
    ("text", "says"), [("", "not zero"), ("up 1\n", "looked for vllm:"), ("<html>vllm: x", "no metric")]
)
def test_a_page_that_tells_nothing_is_a_sentence_and_not_a_row_of_zeros(text, says):
    with pytest.raises(NothingKnown, match=says):
        scrape(text, 0.0)


def test_models_of_one_target_stay_apart_and_what_names_none_joins_the_only_one():
    two = at(0, 'vllm:generation_tokens_total{model_name="a"} 1\nvllm:generation_tokens_total{model_name="b"} 2\n')
    assert {one.model: one.total("generation_tokens_total") for one in two.served} == {"a": 1, "b": 2}
    joined = at(0, 'vllm:generation_tokens_total{model_name="a"} 1\nvllm:prompt_tokens_total 7\n')
    assert [one.total("prompt_tokens_total") for one in joined.served] == [7]


def test_buckets_that_fall_or_do_not_end_are_not_read():
    text = (
        'vllm:time_to_first_token_seconds_bucket{le="0.1"} 5\nvllm:time_to_first_token_seconds_bucket{le="+Inf"} 4\n'
        "vllm:time_to_first_token_seconds_sum 1\nvllm:time_to_first_token_seconds_count 4\n"
    )
    (found,) = at(0, text).served
    assert found.histograms["ttft_s"][""].buckets == ()
    assert mean(found, "ttft_s") == 0.25


def test_settings_beside_the_metrics_name_the_model():
    assert told('{"object": "list", "data": [{"id": "acme/tiny", "max_model_len": 4096}]}') == {
        "model": "acme/tiny", "max_model_len": "4096",
    }  # fmt: skip
    props = '{"default_generation_settings": {"n_ctx": 8192}, "total_slots": 2, "model_path": "C:\\\\models\\\\t.gguf"}'
    assert told(props) == {"model": "t.gguf", "n_ctx": "8192", "total_slots": "2"}
    assert told("[1]") == told("no json") == told('{"data": [1, 2]}') == {}


def test_a_page_of_names_without_a_figure_is_of_an_engine_that_tells_nothing_yet():
    text = "# HELP vllm:generation_tokens_total Tokens.\nvllm:generation_tokens_total NaN\n"
    with pytest.raises(NothingKnown, match=r"names vllm:\* and tells no figure of it, which is not zero"):
        at(0, text)


def test_the_share_of_a_pool_follows_from_what_it_holds_and_can_hold():
    text = "trtllm_kv_cache_used_blocks 100\ntrtllm_kv_cache_max_blocks 1000\ntrtllm_kv_cache_tokens_per_block 32\n"
    (found,) = at(0, text).served
    assert (found.gauge("kv_tokens"), found.gauge("kv_usage")) == (3200, 0.1)
