"""Figures of benchmarks under the ceilings they belong to: MBU, MFU, share of a link, and what is over 100 %."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observed_files import ncu_wide
from test_observed_benches import DECODE, MATRIX, NCCL, PREFILL, SERVED, TABLE

import rooflens
from rooflens.accounting.bench_record import RATIOS, Demand
from rooflens.accounting.bench_runs import Run
from rooflens.accounting.benches import Asked, judged_point
from rooflens.api.benches import measurements
from rooflens.errors import BadFile, RooflensError, Unknown
from rooflens.present.retold import retold
from rooflens.records import encode
from rooflens.roofline.observed import BenchPoint

R4090, A100, H100 = "rtx-4090-24gb", "a100-sxm4-80gb", "h100-sxm5-80gb"
LLAMA_8B = {"model": "llama-3.1-8b"}
LENGTHY = {**SERVED, "max_concurrency": 64, "median_tpot_ms": 36.2, "std_ttft_ms": 1.0}
STREAM = """BabelStream
Array size: {size} MB
Function    MBytes/sec  Min (sec)   Max         Average
Copy        {rate}  0.00013     0.00014     0.00013
Triad       {rate}  0.00013     0.00014     0.00013
Dot         {rate}  0.00013     0.00014     0.00013
"""
BATCH = """Prefill. latency: 0.2 s, throughput: 4000 token/s
Decode.  median latency: 0.01 s, median throughput: 100 token/s
"""
FIRST_TOKEN = {"run_name": "r", "batch_size": 8, "input_len": 1024, "output_len": 16, "latency": 0.4, "ttft": 0.2,
               "input_throughput": 20000.0, "output_throughput": 900.0}  # fmt: skip
MAMF = """accelerator,mamf_tflops,theory_tflops,efficiency,best_shape,dtype
NVIDIA A100 SXM,271.2,312,86.9,1024x10240x5120,bf16
NVIDIA H100 SXM,794.5,989,80.3,2048x2048x13312,bf16
NVIDIA H100 SXM,1402.6,3958,35.4,1024x9216x14336,fp8
"""


@pytest.fixture
def bench(tmp_path):
    def judge(content, on=None, **asked):
        path = tmp_path / "result"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return rooflens.bench(path, on, **asked)

    return judge


def named(found):
    return {point.name: point for point in found.points}


def only(found, name):
    return named(found)[name]


def test_decode_of_llama_bench_reads_the_file_once_a_token(bench):
    decode = only(bench([PREFILL, DECODE], R4090), "decode")
    assert (decode.ratio_name, decode.ceiling, decode.ceiling_value) == ("mbu", "memory/main", 1008e9)
    assert decode.demand_per_s == 4912898048 * 150.0
    assert decode.ratio == pytest.approx(4912898048 * 150 / 1008e9)  # 73 %
    assert decode.ratio == pytest.approx(0.73, abs=0.002)
    assert any("embedding table" in note for note in decode.notes)


def test_prefill_of_llama_bench_names_its_roof_and_those_it_may_have_run_under(bench):
    prefill = only(bench([PREFILL, DECODE], R4090), "prefill")
    assert prefill.demand_per_s == pytest.approx(2 * 8030261312 * 11636.4)  # 187 TFLOP/s
    assert (prefill.ceiling, prefill.ratio) == ("compute/matrix/fp16", pytest.approx(1.13, abs=0.002))
    (finding,) = prefill.findings
    assert "113 % of compute/matrix/fp16" in finding
    assert "fp16_acc16 56.6 %" in finding
    other = only(bench([PREFILL], R4090, math="fp16_acc16"), "prefill")
    assert (other.ratio, other.findings) == (pytest.approx(0.566, abs=0.001), ())


def test_the_table_of_llama_bench_is_judged_alike_and_its_mixed_row_not_at_all(bench):
    found = named(bench(TABLE, R4090))
    assert found["decode"].ratio == pytest.approx(4.58 * 2**30 * 150 / 1008e9)
    assert (found["mixed"].ratio_name, found["mixed"].ratio, found["mixed"].headline) == (None, None, False)
    assert "neither" in found["mixed"].notes[0]


def test_the_device_that_a_file_names_is_the_machine_unless_another_is_named(bench):
    found = bench([DECODE])
    assert (found.machine, only(found, "decode").ratio) == ("GeForce RTX 4090 24GB", pytest.approx(0.731, abs=0.001))
    assert "the file names GeForce RTX 4090" in found.notes[0]
    assert "the roofs are those of H100" in bench([DECODE], H100).notes[0]
    alone = bench([{**DECODE, "gpu_info": "a device of no catalogue"}])
    assert (alone.machine, only(alone, "decode").ratio) == (None, None)
    assert "--on MACHINE" in only(alone, "decode").missing


def test_a_model_says_which_weights_a_token_reads_and_adds_the_cache(bench):
    at = {**DECODE, "n_depth": 4096, "type_k": "f16"}
    decode = only(bench([at], R4090, **LLAMA_8B), "decode")
    read = 1 - 128256 * 4096 / 8030261248  # all but the embedding table
    cache = 2 * 8 * 128 * 32 * 2 * (4096 + 64)  # k and v, heads, width, layers, bytes, positions of the mean token
    assert decode.demand_per_s == pytest.approx((4912898048 * read + cache) * 150, rel=2e-3)
    stored = bench([at], R4090, **LLAMA_8B).conventions["precision"]
    assert stored.startswith("weights as large as the file says, KV fp16")
    narrow = only(bench([{**at, "type_k": "q8_0"}], R4090, **LLAMA_8B), "decode")
    assert decode.demand_per_s - narrow.demand_per_s == pytest.approx(cache * (1 - 8.5 / 16) * 150, rel=1e-3)


def test_the_rows_of_a_model_count_a_prompt_without_its_look_ups(bench):
    prefill = only(bench([PREFILL], R4090, **LLAMA_8B), "prefill")
    layers = 2 * (8030261248 - 2 * 128256 * 4096) * 11636.4  # neither embedding nor, but for one token, head
    assert layers < prefill.demand_per_s < 1.02 * layers
    assert prefill.ceiling == "compute/matrix/fp16"
    assert any("accumulate in 16" in note for note in prefill.notes)


def test_a_mixture_of_experts_is_not_counted_from_its_size(bench):
    row = {**DECODE, "model_type": "qwen3moe 30B.A3B Q4_K - Medium", "model_size": 18e9, "model_n_params": 30.5e9}
    for kind in ("qwen3moe 30B.A3B Q4_K - Medium", "llama 8x7B Q4_K", "gpt-oss 20B MXFP4 MoE"):
        decode = only(bench([{**row, "model_type": kind}], R4090), "decode")
        assert (decode.ratio, decode.missing) == (
            None,
            "a token visits some of the experts only: name the model with --model",
        )
    known = only(bench([row], R4090, model="qwen3-30b-a3b"), "decode")
    assert 0 < known.demand_per_s < 0.15 * 18e9 * 150  # 3.3 of 30.5e9 parameters


def test_another_model_than_the_files_is_said(bench):
    notes = only(bench([DECODE], R4090, model="llama-2-7b"), "decode").notes
    assert any("is it another?" in note for note in notes)


def test_layers_that_were_left_on_the_host_are_said(bench):
    notes = only(bench([{**DECODE, "n_gpu_layers": 0}], R4090), "decode").notes
    assert any("-ngl 0" in note for note in notes)


def test_serving_rates_are_set_against_what_they_are_of(bench):
    found = named(bench(LENGTHY, H100, **LLAMA_8B))
    total, tpot = found["prompt and output"], found["tpot mean"]
    assert (found["decode"].value, total.value) == (1596.8, 14371.2)
    assert total.ratio_name == "mfu"
    thumb = 2 * 8.03e9 * 14371.2  # 231 TFLOP/s, where embedding and head are products for each token
    assert 0.87 * thumb < total.demand_per_s < 0.92 * thumb
    assert total.ratio == pytest.approx(total.demand_per_s / 989.4e12)
    assert any("230.8 TFLOP/s" in note for note in total.notes)
    assert "(output tokens - 1)" in tpot.means
    assert all(found[name].ratio is None for name in ("ttft mean", "itl median", "tpot median", "requests"))


def test_the_batch_follows_from_the_rate_and_the_time_of_a_token(bench):
    tpot = only(bench(LENGTHY, H100, **LLAMA_8B), "tpot mean")
    batch, context = round(1596.8 * 0.0365), 1024 + 128 // 2  # 58 by Little's law, at half of the output
    weights = 2 * (8030261248 - 128256 * 4096)  # the embedding is looked up
    cache = batch * context * 2 * 8 * 128 * 32 * 2
    assert tpot.demand_per_s * 0.0365 == pytest.approx(weights + cache, rel=1e-3)
    assert tpot.ratio == pytest.approx((weights + cache) / 0.0365 / 3.35e12, rel=1e-3)
    step = rooflens.place("llama-3.1-8b", H100, batch=batch, context=context).step_floor
    assert tpot.floor_s == pytest.approx(step.floor_s)
    assert any("Little" in note for note in tpot.notes)


def test_devices_that_share_a_model_share_its_work(bench):
    one, two = (named(bench(LENGTHY, H100, **LLAMA_8B, **how)) for how in ({}, {"tp": 2}))
    assert two["prompt and output"].ratio == pytest.approx(one["prompt and output"].ratio / 2, rel=0.01)
    assert two["tpot mean"].ratio == pytest.approx(one["tpot mean"].ratio / 2, rel=0.01)
    replicas = named(bench(LENGTHY, H100, **LLAMA_8B, dp=2))
    assert replicas["prompt and output"].ratio == pytest.approx(one["prompt and output"].ratio / 2, rel=0.01)


def test_only_an_exact_name_is_a_model(bench):
    assert bench({**LENGTHY, "model_id": "meta-llama/Llama-3.1-8B"}, H100).model == "llama-3.1-8b"
    for name in ("meta-llama/Llama-3.1-8B-Instruct", "a/model", "/models/8b"):
        found = bench({**LENGTHY, "model_id": name}, H100)
        assert (found.model, only(found, "tpot mean").missing) == (
            None,
            "the model is not known: name it with --model",
        )


def test_a_result_that_its_counts_deny_is_judged_by_its_counts(bench):
    line = {"backend": "sglang", "duration": 202.8, "completed": 16, "total_input_tokens": 4096,
            "total_output_tokens": 2048, "output_throughput": 30.3, "request_throughput": 10.1, "accept_length": None,
            "mean_tpot_ms": 3.3, "mean_ttft_ms": 7.7, "max_concurrency": 16}  # fmt: skip
    found = bench(line, H100, **LLAMA_8B)
    decode, tpot = only(found, "decode"), only(found, "tpot mean")
    assert decode.value == pytest.approx(2048 / 202.8)  # 10.1, not 30.3
    assert "30.3 is stated" in found.warnings[0]
    assert tpot.ratio == pytest.approx(15.05e9 / 0.0033 / 3.35e12, rel=0.01)  # 136 %: no H100 reads an 8B so fast
    assert "fewer bits" in tpot.findings[0]
    assert decode.ratio == pytest.approx(15.05e9 * 10.1 / 3.35e12, rel=0.01)  # over the whole duration, idle too
    assert any("3.33 % of the time" in note for note in tpot.notes)


def test_a_first_token_that_beats_its_prefill_is_a_finding_and_its_spread_is_none(bench):
    found = named(bench({**LENGTHY, "mean_ttft_ms": 2.0}, H100, **LLAMA_8B))
    assert found["ttft mean"].floor_s == pytest.approx(0.01504, rel=1e-3)
    assert "found in a cache" in found["ttft mean"].findings[0]
    assert (found["ttft std"].findings, found["ttft std"].floor_s) == ((), None)


def test_more_sequences_at_once_than_were_sent_deny_the_figures(bench):
    tpot = only(bench({**LENGTHY, "max_concurrency": 8}, H100, **LLAMA_8B), "tpot mean")
    assert "58.28 sequences at once, and at most 8 were sent" in tpot.findings[0]


def test_a_figure_below_zero_is_a_finding_and_no_ratio(bench):
    found = named(bench({**LENGTHY, "mean_tpot_ms": -3.0}, H100, **LLAMA_8B))
    assert (found["tpot mean"].ratio, found["tpot median"].ratio_name) == (None, "mbu")  # the next one that is a time
    assert "a figure below 0 was not measured" in found["tpot mean"].findings[0]


def test_every_answer_repeats_what_was_assumed_of_the_machine(bench):
    assert "assumed of rtx-4090-24gb: memory 2TB/s" in bench([DECODE], f"{R4090},memory=2TB/s").notes


def test_a_format_that_nobody_knows_is_refused(bench):
    with pytest.raises(RooflensError, match="unknown dtype 'zz'"):
        bench(MAMF, H100, math="zz")
    assert only(bench(MAMF, H100, math="float16"), "NVIDIA H100 SXM").ceiling == "compute/matrix/fp16"


def test_drafts_make_steps_longer_than_tokens(bench):
    plain = only(bench(LENGTHY, H100, **LLAMA_8B), "tpot mean")
    drafted = only(bench({**LENGTHY, "backend": "sglang", "accept_length": 2.5}, H100, **LLAMA_8B), "tpot mean")
    assert drafted.ratio == pytest.approx(plain.ratio / 2.5)
    assert drafted.floor_s == pytest.approx(plain.floor_s / 2.5)


def test_a_result_without_counts_says_what_is_missing(bench):
    text = "Throughput: 8.35 requests/s, 2138.57 total tokens/s, 1069.29 output tokens/s\n"
    found = named(bench(text, H100, **LLAMA_8B))
    assert found["prompt and output"].ratio_name == "mfu"
    assert "TPOT (or ITL)" in found["decode"].missing


def test_a_batch_that_runs_alone_needs_no_law(bench):
    line = {"run_name": "r", "batch_size": 8, "input_len": 1024, "output_len": 16, "prefill_throughput": 20000.0,
            "median_decode_throughput": 900.0}  # fmt: skip
    found = named(bench(line, H100, **LLAMA_8B))
    step = rooflens.place("llama-3.1-8b", H100, batch=8, context=1032).step_floor
    assert found["decode"].demand_per_s == pytest.approx(step.bytes * 900 / 8)
    prompt = rooflens.place("llama-3.1-8b", H100, phase="prefill", batch=8, prompt=1024).step_floor
    assert found["prefill"].demand_per_s == pytest.approx(prompt.flops / (8 * 1024) * 20000)


def test_a_batch_of_no_known_size_is_not_guessed(bench):
    for point in bench(BATCH, H100, **LLAMA_8B).points:
        assert point.missing == "the file does not say batch_size and input_len"


def test_a_log_of_several_collectives_has_several_plateaus(bench):
    found = bench(NCCL + NCCL.replace("479.99", "440.00").replace("479.90", "440.00"), H100)
    plateaus = [point for point in found.points if point.headline]
    assert [round(point.ratio, 3) for point in plateaus] == [1.067, 0.978]


def test_several_runs_of_one_file_are_kept_apart(bench):
    lines = "\n".join(json.dumps(one) for one in (LENGTHY, {**LENGTHY, "mean_tpot_ms": 73.0}))
    first, second = (p for p in bench(lines, H100, **LLAMA_8B).points if p.name == "tpot mean")
    assert "batch 58 at" in first.counted
    assert "batch 117 at" in second.counted


def test_a_collective_above_its_link_was_reduced_in_the_switch(bench):
    found = bench(NCCL, H100)
    plateau = found.points[0]
    assert (plateau.ceiling, plateau.ratio) == ("link/nvlink", pytest.approx(479.99 / 450))  # 107 %
    assert "in-switch reduction (NVLS, SHARP) explains it" in plateau.findings[0]
    assert "61 % of the link" in plateau.findings[0]  # 274.28 / 450
    assert [point.headline for point in found.points] == [True, False, False, False, False]
    slower = bench(NCCL, "a100-sxm4-80gb").points[0]
    assert slower.ratio == pytest.approx(1.6, abs=0.001)
    assert bench(NCCL, f"{H100},nvlink=200GB/s").points[0].findings[0].endswith("or another machine")  # 274 > 200


def test_one_size_is_no_plateau(bench):
    lines = NCCL.splitlines()[1:4]
    found = bench("\n".join(lines).replace("422.25", "197.87").replace("421.91", "197.73"), A100)
    assert found.points[0].ratio == pytest.approx(0.66, abs=0.001)  # 198 of 300
    assert "one size alone" in found.notes[0]


def test_another_link_is_asked_for_by_name(bench):
    assert bench(NCCL, H100, link="pcie").points[0].ceiling == "link/pcie"
    with pytest.raises(RooflensError):
        bench(NCCL, R4090, link="nvlink")


def test_copies_between_devices_and_from_the_host_have_links_of_their_own(bench):
    found = named(bench(MATRIX, A100))
    copy = found["device_to_device_memcpy_write_ce"]
    assert (copy.ceiling, copy.ratio) == ("link/nvlink", pytest.approx(0.92, abs=0.002))  # 276 of 300: healthy
    assert found["host_device_latency_sm"].ratio_name is None
    host = {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["26.03", "25.94"]]}
    found = bench({"nvbandwidth": {"testcases": [host]}}, H100)
    assert (found.points[0].ceiling, found.points[0].ratio) == ("link/pcie", pytest.approx(25.985 / 63.0154))


@pytest.mark.parametrize(
    ("name", "description", "ceiling"),
    [
        ("device_to_device_bidirectional_memcpy_read_sm", "memcpy SM GPU(row) <-> GPU(column) bandwidth (GB/s)", 600e9),
        ("device_to_device_bidirectional_memcpy_read_ce", "Total bandwidth (GB/s)", 600e9),
        ("device_to_device_bidirectional_memcpy_read_ce", "memcpy CE GPU(row) <-> GPU(column) bandwidth (GB/s)", 300e9),
    ],
)
def test_a_figure_of_both_directions_is_set_against_twice_the_link(bench, name, description, ceiling):
    case = {"name": name, "bandwidth_description": description, "bandwidth_matrix": [["N/A", "270"], ["270", "N/A"]]}
    (point,) = bench({"nvbandwidth": {"testcases": [case]}}, A100).points
    assert (point.ceiling_value, point.ratio) == (ceiling, pytest.approx(270e9 / ceiling))


def test_one_direction_above_its_link_may_be_both(bench):
    text = MATRIX.replace("276.", "530.")
    assert "both directions counted as one" in only(bench(text, A100), "device_to_device_memcpy_write_ce").findings[0]


def test_rows_of_a_table_are_judged_on_the_chip_they_are_of(bench):
    a100, h100, fp8 = bench(MAMF, H100).points
    assert a100.missing == "it is of another chip, the roofs are those of H100 SXM5 80GB"
    assert (h100.ceiling, h100.ratio) == ("compute/matrix/bf16", pytest.approx(794.5 / 989.4))
    assert (fp8.ceiling, fp8.ratio) == ("compute/matrix/fp8", pytest.approx(1402.6 / 1978.9))
    assert "takes 3.958 PFLOP/s as the peak" in fp8.notes[0]
    assert {point.ratio for point in bench(MAMF).points} == {None}


def test_a_product_above_its_roof_may_be_sparse_or_narrow(bench):
    text = "** Dtype: torch.{}\nmax:    {} TFLOPS @ 3072x8192x8192 (MxNxK)\n"
    sparse = bench(text.format("bfloat16", 1500), H100).points[0]
    assert "2:4 sparse bf16 75.8 %" in sparse.findings[0]
    tf32 = bench(text.format("float32", 106), A100, math="fp32").points[0]  # 106 of 19.5; of tf32 68 % of 156
    assert tf32.ratio > 5
    assert "tf32 67.9 %" in tf32.findings[0]
    assert "name it with --math" in bench(text.format("odd", 1500), H100).points[0].missing
    assert "name it with --math" in bench("max:    719.0 TFLOPS @ 3072x8192x8192\n", H100).points[0].missing


def test_memory_tests_are_of_the_access_that_they_make(bench):
    found = named(bench(STREAM.format(size=268.4, rate=900000), R4090))
    assert [point.ratio for point in found.values()] == [pytest.approx(0.9 / 1.008)] * 3
    assert all(point.ratio_name == "mbu" and not point.findings for point in found.values())


def test_arrays_that_fit_a_cache_measure_the_cache(bench):
    copy = only(bench(STREAM.format(size=16.8, rate=3868000), R4090), "copy")  # 33.6 MB read and written, of 75.5
    assert copy.ratio == pytest.approx(3.84, abs=0.01)
    assert "that is a cache, since its arrays of 33.6 MB" in copy.findings[0]
    below = only(bench(STREAM.format(size=100.0, rate=900000), R4090), "copy")
    assert "not several times the last cache" in below.notes[0]
    large = only(bench(STREAM.format(size=1000.0, rate=1100000), R4090), "copy")
    assert "stayed in a cache, bytes counted twice" in large.findings[0]


def test_a_measured_roof_that_is_beaten_is_too_low(bench):
    text = STREAM.format(size=2000.0, rate=5000000)
    findings = only(bench(text, "measured:h200-sxm-141gb"), "copy").findings
    assert any("is too low: measure it again" in finding for finding in findings)


def test_roofs_of_rocm_are_of_one_device(bench):
    head = "device,HBMBw,FP32Flops,MFMABF16Flops,L2Bw\n"
    found = named(bench(head + "0,1388.7,20000,170571.14,4000\n", "mi250x-128gb/1"))
    assert found["bf16"].ceiling == "compute/matrix/bf16"
    assert found["vector fp32"].ceiling == "compute/vector/fp32"
    assert found["memory"].ratio == pytest.approx(1388.7e9 / 1638.4e9, rel=1e-3)
    assert "L2" in found["L2"].missing


def test_a_path_that_the_machine_has_not_is_no_ratio(bench):
    text = "** Dtype: torch.float8_e4m3fn\nmax:    500.0 TFLOPS @ 3072x8192x8192 (MxNxK)\n"
    point = bench(text, A100).points[0]
    assert point.ratio is None
    assert "fp8" in point.missing


def test_a_file_of_a_profiler_is_sent_to_kernels(bench):
    with pytest.raises(RooflensError, match="rooflens kernels"):
        bench(ncu_wide({"gpu__time_duration.sum": ("nsecond", "1000")}), H100)


def test_options_of_a_step_need_a_model(bench):
    with pytest.raises(RooflensError, match="--tp says how a model was served: name the model with --model"):
        bench([DECODE], R4090, tp=2)
    with pytest.raises(RooflensError, match="no figure of"):
        bench(NCCL, H100, tp=2)
    with pytest.raises(Unknown):
        bench(NCCL, H100, batch=2)
    assert "changes nothing" in bench(NCCL, H100, **LLAMA_8B).notes[-1]


MACHINE = rooflens.machine(H100)


@given(
    per_s=st.floats(1e6, 1e16),
    ratio=st.sampled_from(RATIOS),
    directions=st.sampled_from([1, 2]),
    tool=st.sampled_from(["llama-bench", "nccl-tests", "nvbandwidth", "mamf-finder", "babelstream", "vllm"]),
    array=st.none() | st.floats(1, 1e12),
)
def test_a_ratio_is_demand_over_ceiling_and_above_1_it_is_always_explained(per_s, ratio, directions, tool, array):
    conditions = {} if array is None else {"array_bytes": array, "arrays_read": 1, "arrays_written": 1}
    point = BenchPoint(tool, "a", "bytes_per_s", per_s, "made up", None, None, conditions)
    found = judged_point(Asked(point, Demand(ratio, per_s, "itself", "bf16", directions=directions)), MACHINE)
    assert found.ratio == pytest.approx(per_s / found.ceiling_value)
    assert bool(found.findings) == (found.ratio > 1.0005)  # what rounds to 100 % is none


@given(rate=st.floats(0.01, 1e6), token_s=st.floats(1e-5, 10))
def test_a_step_has_at_least_one_sequence_and_littles_law_otherwise(rate, token_s):
    run = Run(requests_per_s=1.0, output_per_s=rate, total_per_s=rate, token_s=token_s, step_point="tpot mean")
    assert run.batch == max(round(rate * token_s), 1)


@settings(max_examples=300)
@given(
    said=st.dictionaries(
        st.sampled_from(
            ["duration", "completed", "total_input_tokens", "total_output_tokens", "output_throughput", "mean_tpot_ms",
             "total_token_throughput", "request_throughput", "mean_ttft_ms", "mean_itl_ms", "accept_length",
             "max_concurrency", "batch_size", "input_len", "output_len", "prefill_throughput", "decode_throughput"]
        ),
        st.sampled_from([0, -1, 1, 0.5, 1e9, 1e40, 1e300, "7", "x", None, True, [1], float("inf"), float("nan")]),
        min_size=3,
    )
)  # fmt: skip
def test_no_result_is_odd_enough_for_a_traceback(tmp_path_factory, said):
    path = tmp_path_factory.getbasetemp() / "odd"
    path.write_text(json.dumps({**said, "backend": "sglang"}))
    for ask in (lambda: encode(rooflens.bench(path, H100, **LLAMA_8B)), lambda: measurements(path)):
        try:
            ask()
        except RooflensError as why:
            assert str(why)


def test_a_run_that_no_step_can_be_priced_for_says_why(bench):
    found = bench({**LENGTHY, "total_output_tokens": 1e30, "output_throughput": None}, H100, **LLAMA_8B)
    assert only(found, "tpot mean").missing
    beyond = bench({"output_throughput": 1e40, "mean_tpot_ms": 1e300, "backend": "vllm"}, H100, **LLAMA_8B)
    assert "TPOT (or ITL)" in only(beyond, "tpot mean").missing


def test_results_become_points_of_a_fit(tmp_path):
    (tmp_path / "served.json").write_text(json.dumps(LENGTHY))
    (point,) = measurements(tmp_path / "served.json")
    assert point == {"batch": 58, "prompt": 1024, "output": 128, "tpot_s": pytest.approx(0.0365)}
    (tmp_path / "llama.json").write_text(json.dumps([PREFILL, {**DECODE, "n_depth": 512}]))
    (point,) = measurements(tmp_path / "llama.json")
    assert point == {"batch": 1, "prompt": 512, "output": 128, "tpot_s": pytest.approx(1 / 150)}


@pytest.mark.parametrize(
    ("result", "lacks"),
    [
        (NCCL, "no served point"),
        (json.dumps({k: v for k, v in LENGTHY.items() if k != "mean_tpot_ms" and "median" not in k}), "without TPOT"),
        (json.dumps({**LENGTHY, "backend": "sglang", "accept_length": 2.0}), "with drafts"),
        (json.dumps({"mean_tpot_ms": 5.0, "mean_ttft_ms": 1.0}), "do not follow"),
    ],
)
def test_results_that_are_no_points_of_a_fit_say_what_they_lack(tmp_path, result, lacks):
    (tmp_path / "r").write_text(result)
    with pytest.raises(BadFile, match=lacks):
        measurements(tmp_path / "r")


def test_fit_takes_results_as_it_takes_a_table(cli, tmp_path):
    for i, tpot_ms in enumerate((36.5, 40.0, 30.0)):
        (tmp_path / f"{i}.json").write_text(json.dumps({**LENGTHY, "mean_tpot_ms": tpot_ms}))
    (tmp_path / "mine.csv").write_text(
        "batch,prompt,output,tpot_ms\n58,1024,128,36.5\n64,1024,128,40.0\n48,1024,128,30.0\n"
    )
    how = ("--model", "llama-3.1-8b", "--on", H100, "--engine", "vllm", "--json")
    results = cli("fit", *(str(tmp_path / f"{i}.json") for i in range(3)), *how)
    table = cli("fit", str(tmp_path / "mine.csv"), *how)
    assert (results.code, table.code) == (0, 0)
    assert json.loads(results.out) == json.loads(table.out)


def test_the_door_prints_the_record(cli, tmp_path, bench):
    found = bench([PREFILL, DECODE], R4090)
    path = str(tmp_path / "result")
    told = cli("bench", path, "--on", R4090, "--json", "-o", str(tmp_path / "out.json"))
    answer = json.loads(told.out)
    assert answer["schema"] == "rooflens/bench/1"
    assert set(answer) == {"schema", "where", "format", "points", "conventions", "machine", "notes", "warnings"}
    assert answer["points"][1]["ratio"] == found.points[1].ratio
    assert json.loads((tmp_path / "out.json").read_text())["points"] == answer["points"]
    both = json.loads(cli("bench", path, path, "--on", R4090, "--json").out)
    assert [len(run["points"]) for run in both["runs"]] == [2, 2]


def test_a_gate_looks_at_headlines(cli, tmp_path, bench):
    bench([PREFILL, DECODE], R4090)
    path = str(tmp_path / "result")
    assert cli("bench", path, "--fail-below", "mbu=0.7").code == 0
    told = cli("bench", path, "--fail-below", "mbu=0.75")
    assert (told.code, "mbu of decode is 0.7311, under the 0.75" in told.err) == (1, True)
    told = cli("bench", path, "--fail-below", "share_of_link=0.5")
    assert (told.code, "no figure of the files is of it" in told.err) == (2, True)
    assert cli("bench", path, "--fail-below", "speed=0.5").code == 2
    bench(NCCL, H100)
    assert (
        cli("bench", path, "--on", H100, "--fail-below", "share_of_link=1.0").code == 0
    )  # the plateau, not 422 of 450


@pytest.mark.parametrize("text", ["", "hello\n", "{}", '{"a": 1}', "[]", "\0\1", "| test | t/s |\n"])
def test_a_file_that_is_no_result_is_refused_in_a_sentence(cli, tmp_path, text):
    (tmp_path / "x").write_text(text)
    told = cli("bench", str(tmp_path / "x"), "--on", H100)
    assert told.code == 2
    assert "Traceback" not in told.err
    assert cli("bench", str(tmp_path / "absent")).code == 2


ENGLISH = re.compile(r"\b(the|of|and|not|is|are|with|from|that|which|at|by|to)\b")


@pytest.mark.parametrize("lang", ["es", "vi"])
@pytest.mark.parametrize(
    ("content", "on", "asked"),
    [
        ([PREFILL, DECODE], R4090, {}), ([PREFILL, DECODE], R4090, LLAMA_8B), (TABLE, None, {}), (NCCL, H100, {}),
        (LENGTHY, H100, {}), ({**LENGTHY, "mean_ttft_ms": 1.0, "mean_tpot_ms": 5.0}, H100, LLAMA_8B),
        (BATCH, H100, LLAMA_8B), (FIRST_TOKEN, H100, LLAMA_8B), (MAMF, H100, {}),
        (STREAM.format(size=16.8, rate=3868000), R4090, {}),
        (STREAM.format(size=100.0, rate=900000), "measured:h200-sxm-141gb", {}),
    ],
)  # fmt: skip
def test_every_sentence_is_told_in_the_language(bench, lang, content, on, asked):
    found = bench(content, on, **asked)
    said = set(found.notes)
    for point in found.points:
        said |= {point.means, *point.findings, *point.notes, *filter(None, [point.counted, point.missing])}
    assert [one for one in said if retold(one, lang) == one] == []
    assert [one for one in said if ENGLISH.search(retold(one, lang))] == []


def test_the_text_is_in_the_language_and_its_figures_are_not(cli, tmp_path, bench):
    bench(LENGTHY, H100)
    texts = [
        cli("bench", str(tmp_path / "result"), "--on", H100, *("--model", "llama-3.1-8b"), "--lang", lang).out
        for lang in ("en", "es", "vi")
    ]
    assert len(set(texts)) == 3
    assert all("MBU 19 %" in text and "MFU 20.9 %" in text and "6.95 ms" in text for text in texts)
