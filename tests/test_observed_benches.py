"""Benchmarks as points: SI units, the ceiling each belongs against, its definition, and what does not add up."""

from __future__ import annotations

import json

import pytest
from observed_files import observed

from rooflens.errors import RooflensError

LLAMA = {"build_commit": "d6b1a3c0", "gpu_info": "NVIDIA GeForce RTX 4090", "backends": "CUDA",
         "model_type": "llama 8B Q4_K - Medium", "model_size": 4912898048, "model_n_params": 8030261312,
         "n_depth": 0}  # fmt: skip
PREFILL = {**LLAMA, "n_prompt": 512, "n_gen": 0, "avg_ns": 44000000, "avg_ts": 11636.4, "stddev_ts": 53.1}
DECODE = {**LLAMA, "n_prompt": 0, "n_gen": 128, "avg_ns": 853333333, "avg_ts": 150.0, "stddev_ts": 0.4}
TABLE = """| model                  |     size |  params | backend | ngl | fa |         test |              t/s |
| ---------------------- | -------: | ------: | ------- | --: | -: | -----------: | ---------------: |
| llama 8B Q4_K - Medium | 4.58 GiB |  8.03 B | CUDA    |  99 |  1 |        pp512 | 11636.40 ± 53.10 |
| llama 8B Q4_K - Medium | 4.58 GiB |  8.03 B | CUDA    |  99 |  1 | tg128 @ d4096 |   150.00 ± 0.40 |
| llama 8B Q4_K - Medium | 4.58 GiB |  8.03 B | CUDA    |  99 |  1 |  pp512+tg128 |    700.00 ± 3.00 |

build: d6b1a3c0 (9119)
"""
SERVED = {"backend": "vllm", "model_id": "a/model", "num_prompts": 1000, "request_rate": "inf", "duration": 80.0,
          "completed": 998, "failed": 2, "total_input_tokens": 1021952, "total_output_tokens": 127744,
          "request_throughput": 12.475, "request_goodput": None, "output_throughput": 1596.8,
          "total_token_throughput": 14371.2, "mean_ttft_ms": 310.5, "mean_tpot_ms": 36.5, "median_itl_ms": 30.0,
          "p99_itl_ms": None, "itls": [[0.03]]}  # fmt: skip
NCCL = """# nThread 1 nGpus 8 minBytes 268435456 maxBytes 17179869184
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   268435456      67108864     float     sum      -1   1112.5  241.29  422.25      0   1113.4  241.09  421.91      0
 17179869184    4294967296     float     sum      -1    62648  274.23  479.90      0    62636  274.28  479.99      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 159.151
"""
MATRIX = """nvbandwidth Version: v0.8
Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1         2
 0      0.00    276.07    276.36
 1    276.19      0.00    276.29
 2    276.33    276.29      0.00

SUM device_to_device_memcpy_write_ce 1657.53

Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    772.58    772.58

Running multinode_device_to_device_memcpy_read_ce.
WAIVED.
"""


def points(found, metric=None):
    return {p.name: p for p in found.points if metric in (None, p.metric)}


def llama_csv():
    keys = list(DECODE)
    return "\n".join([",".join(keys), *(",".join(f'"{row[k]}"' for k in keys) for row in (PREFILL, DECODE))]) + "\n"


@pytest.mark.parametrize("text", [
    json.dumps([PREFILL, DECODE]), json.dumps(PREFILL) + "\n" + json.dumps(DECODE) + "\n", llama_csv(),
], ids=["json", "jsonl", "csv"])  # fmt: skip
def test_llama_bench_in_every_form(tmp_path, text):
    found = points(observed(tmp_path, text))
    decode, prefill = found["decode"], found["prefill"]
    assert (decode.value, decode.metric, decode.resource, decode.spread) == (150.0, "tokens_per_s", "memory", 0.4)
    assert (prefill.value, prefill.resource) == (11636.4, "compute")
    read = decode.value * decode.conditions["weight_bytes"]
    assert read / 1008e9 == pytest.approx(0.73, abs=0.005)  # 4.913 GB x 150 a second, of an RTX 4090
    work = 2 * prefill.conditions["params"] * prefill.value
    assert work == pytest.approx(187e12, rel=2e-3)


def test_the_table_of_llama_bench_is_in_gibibytes(tmp_path):
    found = points(observed(tmp_path, TABLE))
    assert found["decode"].conditions["weight_bytes"] == pytest.approx(4.92e9, rel=1e-3)
    assert found["decode"].conditions["params"] == 8.03e9
    assert (found["decode"].spread, found["decode"].conditions["n_depth"]) == (0.4, 4096)
    assert found["mixed"].resource is None
    assert "neither" in found["mixed"].notes[0]


def test_old_tables_of_llama_bench_have_a_blank_in_the_test(tmp_path):
    found = points(observed(tmp_path, TABLE.replace("pp512", "pp 512").replace("tg128", "tg 128")))
    assert (found["prefill"].value, found["decode"].value, found["mixed"].value) == (11636.4, 150.0, 700.0)


def test_a_speed_that_its_own_time_denies_is_said(tmp_path):
    found = observed(tmp_path, json.dumps([{**DECODE, "avg_ts": 300.0}]))
    assert "300 tokens/s is said, 128 tokens in its time are 150" in found.warnings[0]


def test_serving_results_keep_the_tokens_of_prompts_apart(tmp_path):
    found = observed(tmp_path, json.dumps(SERVED, indent=1))
    assert found.format == "vllm-serving"
    rates = points(found)
    assert (rates["decode"].value, rates["decode"].resource) == (1596.8, "memory")
    assert rates["prompt and output"].value == 14371.2
    assert "the speed of generation does not" in rates["prompt and output"].means
    assert rates["ttft mean"].value == pytest.approx(0.3105)
    assert "(output tokens - 1)" in rates["tpot mean"].means
    assert "several tokens" in rates["itl median"].means
    assert rates["itl p99"].value is None
    assert rates["decode"].conditions["request_rate"] == "inf"
    assert any("2 of 1000 requests failed" in warning for warning in found.warnings)


def test_rates_that_the_counts_deny_are_worked_out_from_the_counts(tmp_path):
    line = ('{"backend": "sglang", "request_rate": Infinity, "duration": 202.8, "completed": 16, '
            '"total_input_tokens": 4096, "total_output_tokens": 2048, "total_output_tokens_retokenized": 2044, '
            '"output_throughput": 30.3, '
            '"mean_itl_ms": 5.5, "accept_length": null}\n')  # fmt: skip
    found = observed(tmp_path, line)
    assert found.format == "sglang-serving"
    assert points(found)["decode"].value == pytest.approx(2048 / 202.8)
    assert any("30.3 is stated, but the counts over the duration are 10.1" in warning for warning in found.warnings)


def test_the_text_that_the_tools_print_is_the_same_result(tmp_path):
    text = """INFO 05-01 starting
============ Serving Benchmark Result ============
Successful requests:                     998
Benchmark duration (s):                  80.00
Total input tokens:                      1021952
Total generated tokens:                  127744
Request throughput (req/s):              12.47
Output token throughput (tok/s):         1596.80
Total Token throughput (tok/s):          14371.20
---------------Time to First Token----------------
Mean TTFT (ms):                          310.50
P99 TTFT (ms):                           910.00
Mean TPOT (ms):                          36.50
Mean ITL (ms):                           36.10
==================================================
"""
    found = points(observed(tmp_path, text))
    assert (found["decode"].value, found["ttft p99"].value) == (1596.8, pytest.approx(0.910))


def test_batches_that_run_alone(tmp_path):
    line = {"run_name": "r", "batch_size": 8, "input_len": 1024, "output_len": 16, "prefill_throughput": 20000.0,
            "median_decode_throughput": 900.0}  # fmt: skip
    found = points(observed(tmp_path, json.dumps(line) + "\n"))
    assert (found["decode"].value, found["decode"].resource, found["decode"].conditions["batch_size"]) == (
        900.0,
        "memory",
        8,
    )
    assert found["prefill"].resource == "compute"
    printed = points(
        observed(tmp_path, "Throughput: 8.35 requests/s, 2138.57 total tokens/s, 1069.29 output tokens/s\n")
    )
    assert (printed["decode"].value, printed["prompt and output"].value) == (1069.29, 2138.57)
    assert points(observed(tmp_path, '{"avg_latency": 5.2, "latencies": [5.2]}'))["batch mean"].value == 5.2


def test_the_ceiling_of_a_collective_is_its_plateau_and_not_the_average(tmp_path):
    found = observed(tmp_path, NCCL)
    plateau = found.points[0]
    assert (plateau.name, plateau.value, plateau.resource) == ("plateau", 479.99e9, "link")
    assert (plateau.conditions["operation"], plateau.conditions["ranks"]) == ("all_reduce", 8)
    assert len(found.points) == 1 + 2 * 2
    assert "159.151 GB/s is over all sizes" in found.warnings[0]


def test_without_a_header_the_ranks_follow_from_the_two_bandwidths(tmp_path):
    text = "\n".join(line for line in NCCL.splitlines() if "nThread" not in line and "Avg" not in line)
    assert observed(tmp_path, text).points[0].conditions["ranks"] == 8  # 480 / 274 = 2 (8-1)/8


def test_lines_with_a_rank_before_them_are_lines(tmp_path):
    tagged = "".join(f"[1,0]<stdout>: {line}\n" for line in NCCL.splitlines())
    assert observed(tmp_path, tagged).points[0].value == 479.99e9


def test_wrong_results_of_a_collective_are_said(tmp_path):
    found = observed(tmp_path, NCCL.replace("values : 0 OK", "values : 3 FAILED"))
    assert any("3 results were wrong" in warning for warning in found.warnings)


def test_nvbandwidth_leaves_out_its_diagonal_and_reads_no_latency_as_a_rate(tmp_path):
    found = observed(tmp_path, MATRIX)
    by_name = points(found)
    copy = by_name["device_to_device_memcpy_write_ce"]
    assert (copy.value, copy.resource) == (pytest.approx(276.29e9), "link")
    assert (copy.conditions["cells"], copy.conditions["direction"], copy.conditions["least"]) == (6, "one", 276.07e9)
    latency = by_name["host_device_latency_sm"]
    assert (latency.metric, latency.value, latency.resource) == ("latency_s", pytest.approx(772.58e-9), None)
    assert by_name["multinode_device_to_device_memcpy_read_ce"].value is None


def test_nvbandwidth_in_json_says_what_was_not_measured(tmp_path):
    cases = [
        {"name": "device_to_device_memcpy_write_ce", "status": "Passed", "bandwidth_description": "bandwidth (GB/s)",
         "bandwidth_matrix": [["N/A", "276.07"], ["276.19", "N/A"]]},
        {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["26.03", "25.94"]]},
        {"name": "host_device_latency_sm", "bandwidth_description": "latency (ns)", "bandwidth_matrix": [["772.58"]]},
        {"name": "multinode_read", "status": "Waived"},
        {"name": "device_to_device_bidirectional_memcpy_read_sm", "status": "Error", "error": "no peer access"},
    ]  # fmt: skip
    found = observed(tmp_path, json.dumps({"nvbandwidth": {"version": "0.8", "testcases": cases}}))
    by_name = points(found)
    assert by_name["device_to_device_memcpy_write_ce"].value == pytest.approx(276.13e9)
    assert by_name["host_to_device_memcpy_ce"].resource == "host link"
    assert by_name["host_device_latency_sm"].metric == "latency_s"
    assert by_name["device_to_device_bidirectional_memcpy_read_sm"].conditions["direction"] == "both"
    assert any("waived" in warning for warning in found.warnings)
    assert any("no peer access" in warning for warning in found.warnings)


def test_the_best_product_has_a_shape(tmp_path):
    text = """** Dtype: torch.bfloat16
Tried  79 shapes => the best outcomes were:
mean:   716.6 TFLOPS @ 3072x8192x8192 (MxNxK)
median: 717.1 TFLOPS @ 3072x8192x8192 (MxNxK)
max:    719.0 TFLOPS @ 3072x8192x8192 (MxNxK)
"""
    found = points(observed(tmp_path, text))
    best = found["best max"]
    assert (best.value, best.resource, best.conditions["M"], best.conditions["dtype"]) == (
        719e12,
        "compute",
        3072,
        "bfloat16",
    )


def test_a_table_of_best_products_names_their_accelerators(tmp_path):
    head = "accelerator,mamf_tflops,theory_tflops,efficiency,best_shape,dtype\n"
    text = head + "NVIDIA H200 SXM,1453.4,1979,73.4,1280x4096x12032,fp8\n"
    (one,) = observed(tmp_path, text).points
    assert (one.value, one.conditions["theory_flops_per_s"], one.conditions["K"]) == (1453.4e12, 1979e12, 12032)


def test_babelstream_as_text_and_as_csv(tmp_path):
    text = """BabelStream
Version: 5.0
Implementation: CUDA
Running kernels 100 times
Precision: double
Array size: 268.4 MB (=0.3 GB)
Using CUDA device NVIDIA H200
Function    MBytes/sec  Min (sec)   Max         Average
Copy        4156000.123 0.00013     0.00014     0.00013
Dot         4479000.000 0.00012     0.00013     0.00012
"""
    found = points(observed(tmp_path, text))
    assert (found["copy"].value, found["copy"].resource) == (4156000.123e6, "memory")
    assert (found["dot"].conditions["arrays_written"], found["dot"].conditions["array_bytes"]) == (0, 268.4e6)
    head = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n"
    (row,) = observed(tmp_path, head + "Triad,100,33554432,8,4000000,0.0002,0.0003,0.0002\n").points
    assert (row.name, row.value, row.conditions["array_bytes"]) == ("triad", 4e12, 33554432 * 8)


def test_binary_rates_of_babelstream_are_binary(tmp_path):
    text = "BabelStream\nFunction    MiBytes/sec  Min (sec)   Max         Average\nCopy        1000.0  0.1  0.1  0.1\n"
    assert observed(tmp_path, text).points[0].value == 1000 * 2**20


def test_roofs_of_rocm_are_of_one_die(tmp_path):
    head = "device,HBMBw,HBMBwLow,hbmBwHigh,MFMABF16Flops,MFMABF16FlopsLow\n"
    text = head + "0,1388.7178,1388.1896,1389.246,170571.14,170567.47\n"
    found = observed(tmp_path, text)
    by_name = points(found)
    assert (by_name["memory"].value, by_name["memory"].conditions["most"]) == (1388.7178e9, 1389.246e9)
    assert by_name["bf16"].value == pytest.approx(170.57114e12)
    assert "one die" in found.warnings[0]


@pytest.mark.parametrize(
    "text", ["hello\n", "{}", "[1, 2]", '{"a": {"b": 1}}', "<html></html>", "\0\1\2", "[section]\nkey = 1\n"]
)
def test_what_nobody_knows_says_what_is_read(tmp_path, text):
    with pytest.raises(RooflensError):
        observed(tmp_path, text)


def test_an_empty_file_is_said_to_be_empty(tmp_path):
    with pytest.raises(RooflensError, match="is empty"):
        observed(tmp_path, "")
