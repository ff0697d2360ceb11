"""What versions, options and people make of the files we know: several tables, other units, other spellings."""

from __future__ import annotations

import json

import pytest
from observed_files import observed, quoted

from rooflens.errors import BadFile

TITLES = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"


def copied(found):
    return {copy.what: (copy.calls, copy.time_s, copy.bytes) for copy in found.copies}


def values(found):
    return [(point.name, point.value) for point in found.points]


def test_copies_are_told_apart_however_their_direction_is_written(tmp_path):
    text = """CUDA Memory Operation Statistics (by time):

 Time(%)  Total Time (ns)  Operations  Average  Minimum  Maximum       Operation
 -------  ---------------  ----------  -------  -------  -------  ------------------
    60.0          600,000           6   100000   100000   100000  [CUDA memcpy HtoD]
    30.0          300,000           2   150000   150000   150000  [CUDA Unified Memory memcpy HtoD]
    10.0          100,000           1   100000   100000   100000  [CUDA memcpy DtoH]

CUDA Memory Operation Statistics (by size in KiB):

   Total   Operations  Average  Minimum  Maximum       Operation
 --------  ----------  -------  -------  -------  ------------------
 1024.000           6    170.7    100.0    200.0  [CUDA memcpy HtoD]
  512.000           2    256.0    256.0    256.0  [CUDA Unified Memory memcpy HtoD]
    2.000           1      2.0      2.0      2.0  [CUDA memcpy DtoH]
"""
    found = copied(observed(tmp_path, text))
    assert found["HtoD"] == (8, pytest.approx(900e-6), 1536 * 1024)  # titles without a unit are of KiB
    assert found["DtoH"] == (1, pytest.approx(100e-6), 2048)


def test_a_call_of_an_api_is_no_kernel(tmp_path):
    text = (f"{TITLES},Category,Operation\n60,6000,3,2000,2000,1,3,1,CUDA_API,cudaMalloc\n"
            "30,3000,3,1000,1000,1,3,1,CUDA_KERNEL,a_kernel\n"
            "10,1000,2,500,500,1,3,1,MEMORY_OPER,[CUDA memcpy DtoD]\n")  # fmt: skip
    found = observed(tmp_path, text)
    assert [(k.name, k.calls, k.time_s) for k in found.kernels] == [("a_kernel", 3, pytest.approx(3e-6))]
    assert [(c.name, c.calls) for c in found.host_calls] == [("cudaMalloc", 3)]
    assert copied(found)["DtoD"][:2] == (2, pytest.approx(1e-6))


def test_a_trace_of_calls_holds_no_kernels(tmp_path):
    text = ("Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n"
            "100,20,cudaMalloc,0,1,7,7,20,a.out\n200,30,cudaLaunchKernel,0,2,7,7,20,a.out\n"
            "300,40,cudaLaunchKernel,0,3,7,7,20,a.out\n")  # fmt: skip
    found = observed(tmp_path, text)
    assert (found.kernels, found.timelines) == ((), ())
    assert [(c.name, c.calls, c.time_s) for c in found.host_calls] == [
        ("cudaMalloc", 1, pytest.approx(20e-9)),
        ("cudaLaunchKernel", 2, pytest.approx(70e-9)),
    ]


def test_calls_of_the_operating_system_are_no_calls_of_the_driver(tmp_path):
    header = "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n"
    found = observed(tmp_path, header + "90,9000,3,3000,poll\n10,1000,1,1000,cuMemAlloc_v2\n")
    assert [c.name for c in found.host_calls] == ["cuMemAlloc_v2"]
    with pytest.raises(BadFile, match="export the report cuda_gpu_kern_sum"):
        observed(tmp_path, header + "90,9000,3,3000,poll\n")


def test_a_name_that_nobody_quoted_keeps_its_commas(tmp_path):
    found = observed(tmp_path, "Time (%),Total Time (ns),Instances,Name\n50,1000,2,void a<4>(half const*, int, int)\n")
    assert found.kernels[0].name == "void a<4>(half const*, int, int)"


def test_copies_of_rocprof_are_no_kernels(tmp_path):
    header = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n'
    text = header + '"CopyDeviceToHost",1,25000,25000,90\n"CopyHostToDevice",2,3000,1500,10\n'
    found = observed(tmp_path, text)
    assert found.kernels == ()
    assert copied(found) == {"DtoH": (1, pytest.approx(25e-6), None), "HtoD": (2, pytest.approx(3e-6), None)}
    third = observed(tmp_path, header + '"MEMORY_COPY_HOST_TO_DEVICE",4,4000,1000,100\n"a_kernel",1,5,5,0\n')
    assert (copied(third)["HtoD"][0], [k.name for k in third.kernels]) == (4, ["a_kernel"])


def test_sums_of_whole_interfaces_are_no_kernels(tmp_path):
    text = '"Name","Calls","TotalDurationNs"\n"HIP_API",9,9000\n"KERNEL_DISPATCH",3,3000\n"MEMORY_COPY",1,10\n'
    with pytest.raises(BadFile, match=r"kernel_stats\.csv"):
        observed(tmp_path, text)


def test_kernels_without_times_or_known_counters_are_kernels_still(tmp_path):
    text = ("Index,KernelName,gpu-id,queue-id,grd,wgr,arch_vgpr,wave_size,obj,GPUBusy\n"
            "0,add(float*),4,0,1024,256,8,64,0x0,99\n")  # fmt: skip
    kernel = observed(tmp_path, text).kernels[0]
    assert (kernel.name, kernel.time_s, kernel.device, kernel.launch.grid) == ("add(float*)", None, 4, (1024,))
    assert set(kernel.missing) == {"time_s", "bytes", "flops", "vector_flops"}


def test_the_top_of_kernels_is_a_summary(tmp_path):
    text = 'Kernel_Name,Count,Sum(ns),Mean(ns),Median(ns),Pct\n"void a(dim3, int)",150,5622313.5,37482,37406,87\n'
    found = observed(tmp_path, text)
    assert [(k.name, k.calls, k.time_s) for k in found.kernels] == [
        ("void a(dim3, int)", 150, pytest.approx(5622313.5e-9))
    ]


def test_rows_that_do_not_fit_their_header_are_left_out_and_said(tmp_path):
    text = ("build_commit,blas,n_prompt,n_gen,avg_ns,stddev_ns,avg_ts,stddev_ts\n"
            'a,1,512,0,1000000000,1,512.0,1\n"b","1","1","512","0","1000000000","732372","512.0","8.3"\n')  # fmt: skip
    found = observed(tmp_path, text)
    assert values(found) == [("prefill", 512.0)]
    assert any(warning.startswith("1 rows have more or fewer cells") for warning in found.warnings)
    with pytest.raises(BadFile, match="no test of llama-bench; 1 rows have more or fewer cells"):
        observed(tmp_path, "\n".join(line for line in text.split("\n") if not line.startswith("a,")))


def test_each_header_is_that_of_the_rows_below_it(tmp_path):
    text = "n_prompt,n_gen,avg_ts,avg_ns\n512,0,512.0,1000000000\nn_gen,n_prompt,avg_ns,avg_ts\n128,0,2000000000,64.0\n"
    assert values(observed(tmp_path, text)) == [("prefill", 512.0), ("decode", 64.0)]


def test_statements_that_insert_tests_are_tests(tmp_path):
    text = ("CREATE TABLE IF NOT EXISTS llama_bench (\n  n_prompt INTEGER\n);\n\n"
            "INSERT INTO llama_bench (cpu_info, model_type, n_prompt, n_gen, avg_ns, avg_ts, stddev_ts) "
            "VALUES ('OpenBLAS, CPU', 'it''s 3B', '0', '128', '2000000000', '64.000000', '0.5');\n")  # fmt: skip
    found = observed(tmp_path, text)
    assert values(found) == [("decode", 64.0)]
    assert (found.points[0].conditions["cpu_info"], found.points[0].conditions["model_type"]) == (
        "OpenBLAS, CPU",
        "it's 3B",
    )


def test_each_table_of_babelstream_has_the_unit_and_the_conditions_above_it(tmp_path):
    text = """BabelStream
Precision: double
Array size: 268.4 MB (=0.3 GB)
Function    MBytes/sec  Min (sec)   Max         Average
Copy        900000.000  0.00060     0.00061     0.00060

the same again
Function    GBytes/sec  Min (sec)   Max         Average
Copy        900.000000  0.00060     0.00061     0.00060

BabelStream
Precision: float
Array size: 134.2 MB (=0.1 GB)
Function    MBytes/sec  Min (sec)   Max         Average
Copy        800000.000  0.00033     0.00034     0.00033
"""
    found = observed(tmp_path, text)
    assert values(found) == [("copy", 900e9), ("copy", 900e9), ("copy", 800e9)]
    assert [p.conditions["precision"] for p in found.points] == ["double", "double", "float"]
    assert found.points[2].conditions["array_bytes"] == 134200000


@pytest.mark.parametrize("title", ["Best Rate MB/s  Avg time", "  Rate (MB/s)   Avg time"])
def test_stream_of_any_age(tmp_path, title):
    text = ("This system uses 8 bytes per array element.\nArray size = 1000 (elements), Offset = 0\n"
            f"Function    {title}     Min time     Max time\n"
            "Triad:       12000.0     0.0016     0.0015     0.0017\n")  # fmt: skip
    point = observed(tmp_path, text).points[0]
    assert (point.value, point.conditions["array_bytes"]) == (12e9, 8000)


def test_a_log_of_two_collectives_is_two_tests(tmp_path):
    ranks = "".join(f"#  Rank  {n} Group  0 Pid 9 on a device  {n} [0x01] X\n" for n in range(4))
    header = "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    row = "  1073741824  {}  float  {}  -1  53687  20.00  {}  0  53687  20.00  {}  0\n"
    text = (f"# Collective test starting: all_gather_perf_mpi\n{ranks}{header}" + row.format(67108864, "none", 15, 15)
            + "# Avg bus bandwidth    : 15\n# Collective test concluded: all_gather_perf_mpi\n"
            + f"+ ./all_reduce_perf -g 4\n{ranks}{header}" + row.format(268435456, "sum", 30, 30)
            + "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 30\n")  # fmt: skip
    found = observed(tmp_path, text)
    plateaus = [
        (p.conditions["operation"], p.conditions["ranks"], p.value) for p in found.points if p.name == "plateau"
    ]
    assert plateaus == [("all_gather", 4, 15e9), ("all_reduce", 4, 30e9)]
    assert sum("results were wrong" in warning for warning in found.warnings) == 1


def test_a_row_may_have_one_place(tmp_path):
    text = ("#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
            "  1024  256  float  sum  -1  10.0  0.10  0.19  0\n")  # fmt: skip
    assert values(observed(tmp_path, text))[0] == ("plateau", pytest.approx(0.19e9))


def test_best_products_of_both_kinds_and_behind_a_comment(tmp_path):
    text = ("# The best outcome was 115.9 TFLOPS @ 4096x7040x14080 (MxNxK) (tried 1 shapes)\n"
            "MAMF (max achievable,  boost burst): 781 TFLOPS @ 4096x4096x4096 (MxNxK)  332W\n")  # fmt: skip
    assert values(observed(tmp_path, text)) == [("best outcome", 115.9e12), ("best MAMF", 781e12)]


def test_a_roof_of_zero_was_not_run(tmp_path):
    found = observed(tmp_path, "device,HBMBw,MFMAF4Flops,MFMAF8Flops\n0,4000,0,1800000\n")
    assert values(found) == [("memory", 4e12), ("fp8", 1.8e15)]


def test_batches_of_sglang_as_text_and_as_objects_in_a_row(tmp_path):
    text = ("Prefill. latency: 0.5 s, throughput:   8192.00 token/s\n"
            "Decode 0. Batch size: 4, latency: 0.01 s, throughput: 9.00 token/s\n"
            "Decode.  median latency: 0.01 s, median throughput:    400.00 token/s\n")  # fmt: skip
    found = observed(tmp_path, text)
    assert (found.format, values(found)) == ("sglang-serving", [("prefill", 8192.0), ("decode", 400.0)])
    one = {"batch_size": 4, "input_len": 1024, "output_len": 1, "prefill_throughput": 8000.0}
    two = {**one, "output_len": 64, "median_decode_throughput": 390.0}
    found = observed(tmp_path, json.dumps(one, indent=1) + json.dumps(two, indent=1) + "\n{")
    assert values(found) == [("prefill", 8000.0), ("prefill", 8000.0), ("decode", 390.0)]
    assert any("1 lines are no whole JSON" in warning for warning in found.warnings)


def test_a_batch_of_a_server_is_timed_from_its_first_token(tmp_path):
    """bench_one_batch_server: 16 x 1024 / 1.0 s, then 16 x 16 / 0.28 s: no rate over a whole run."""
    line = {"batch_size": 16, "input_len": 1024, "output_len": 16, "latency": 1.28, "ttft": 1.0,
            "input_throughput": 16384.0, "output_throughput": 914.3, "overall_throughput": 13000.0}  # fmt: skip
    found = {point.name: point for point in observed(tmp_path, json.dumps(line)).points}
    assert (found["prefill"].value, found["decode"].value, found["batch mean"].value) == (16384.0, 914.3, 1.28)
    assert "after the first token" in found["decode"].means


def test_old_text_of_throughput_counts_all_tokens(tmp_path):
    found = observed(tmp_path, "Throughput: 9.91 requests/s, 4097.90 tokens/s\n")
    assert values(found) == [("prompt and output", 4097.9), ("requests", 9.91)]


def test_the_last_digit_of_a_printed_rate_is_no_contradiction(tmp_path):
    text = ("============ Serving Benchmark Result ============\nSuccessful requests:      10\n"
            "Benchmark duration (s):   650.00\nRequest throughput (req/s):   0.02\n"
            "Mean TTFT (ms):   5.00\n")  # fmt: skip
    found = observed(tmp_path, text)
    assert (values(found)[0], found.warnings) == (("requests", 0.02), ())  # 10 / 650 is 0.0154


def test_the_roofline_chart_of_ncu_counts_vector_flops(tmp_path):
    head = ("ID", "Kernel Name", "Block Size", "Grid Size", "Section Name", "Body Item Label", "Metric Name",
            "Metric Unit", "Metric Value", "Rule Name")  # fmt: skip
    rows = [("Duration", "us", "10"), ("Elapsed Cycles", "cycle", "20,000"), ("DRAM Bandwidth", "Gbyte/s", "345.0"),
            *((f"Predicated-On {op} Thread Instructions Executed Per Cycle", "inst/cycle", n)
              for op, n in (("FADD", "2"), ("FMUL", "0"), ("FFMA", "80")))]  # fmt: skip
    text = quoted(head, *(("0", "a_kernel", "(32, 4, 1)", "(8, 1, 1)", "Chart", "", *row, "") for row in rows))
    kernel = observed(tmp_path, text).kernels[0]
    assert kernel.vector_flops == {"fp32": pytest.approx((2 * 80 + 2) * 20_000)}  # an fma is 2
    assert kernel.bytes == pytest.approx(345e9 * 10e-6)


def test_an_implicit_product_is_no_int8_one(tmp_path):
    event = {"ph": "X", "cat": "kernel", "name": "igemm_fwd_gtcx3_nhwc_fp16_bx0", "ts": 1.0, "dur": 2.0,
             "args": {"device": 0, "stream": 0}}  # fmt: skip
    assert observed(tmp_path, json.dumps({"traceEvents": [event]})).kernels[0].dtype == "fp16"


@pytest.mark.parametrize(("transposed", "flops"), [("False", 2 * 4 * 256 * 3 * 3 * 512 * 4 * 4), ("True", None)])
def test_a_transposed_convolution_has_no_flops_of_a_plain_one(tmp_path, transposed, flops):
    """The plain one: (8 - 4) // 2 + 1 = 3 results a side."""
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::convolution", "ts": 0.0, "dur": 9.0, "pid": 1, "tid": 1,
          "args": {"External id": 7, "Input Dims": [[4, 512, 8, 8], [256, 512, 4, 4], [], [], [], [], [], [], []],
                   "Input type": ["float", "float", "", "", "", "", "", "", ""],
                   "Concrete Inputs": ["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", transposed, "[0, 0]", "1"],
                   }}  # fmt: skip
    run = {"ph": "X", "cat": "kernel", "name": "implicit_convolve_sgemm", "ts": 20.0, "dur": 5.0,
           "args": {"External id": 7, "device": 0, "stream": 7, "correlation": 3}}  # fmt: skip
    kernel = observed(tmp_path, json.dumps({"traceEvents": [op, run]})).kernels[0]
    assert kernel.total_flops == flops


def test_results_below_what_a_program_printed_are_found(tmp_path):
    row = {"n_prompt": 512, "n_gen": 0, "avg_ns": 100000000, "avg_ts": 5120.0}
    text = f"ggml_cuda_init: found 1 devices:\n  Device 0: X\n{json.dumps([row], indent=2)}\nthe end\n"
    found = observed(tmp_path, text)
    assert values(found) == [("prefill", 5120.0)]
    assert any("1 lines are no whole JSON" in warning for warning in found.warnings)


@pytest.mark.parametrize("before", ["0: ", "2025-01-02T03:04:05.678901234Z ", "[1,0]<stdout>:"])
def test_what_launchers_put_before_each_line_is_no_part_of_it(tmp_path, before):
    rows = ("#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong",
            "  1024  256  float  sum  -1  10.0  10.00  17.50  0  10.0  10.00  17.50  0")  # fmt: skip
    found = observed(tmp_path, "".join(f"{before}{row}\n" for row in rows))
    assert (found.points[0].value, found.points[0].conditions["ranks"]) == (17.5e9, 8)


@pytest.mark.parametrize(("before", "after"), [("bench-1  | ", ""), ("\x1b[32m", "\x1b[0m")])
def test_logs_of_containers_and_colours_of_terminals_hide_no_result(tmp_path, before, after):
    lines = ("============ Serving Benchmark Result ============", "Successful requests:   10",
             "Benchmark duration (s):   10.00", "Output token throughput (tok/s):   100.00")  # fmt: skip
    found = observed(tmp_path, "".join(f"{before}{line}{after}\n" for line in lines))
    assert values(found)[0] == ("decode", 100.0)


def test_a_cell_in_columns_may_hold_blanks(tmp_path):
    text = """ Time (%)  Total Time (ns)  Instances      GridXYZ         BlockXYZ      Name
 --------  ---------------  ---------  ---------------  --------------  ----------------------
     60.0           12,000          1  65536    1    1   256    1    1  a(int *, unsigned int)
     40.0            8,000          2  16384    2    1   128    2    1  b<(int)2>(int *)
"""
    first, second = observed(tmp_path, text).kernels
    assert (first.name, first.launch.grid, first.launch.block) == ("a(int *, unsigned int)", (65536, 1, 1), (256, 1, 1))
    assert (second.name, second.launch.grid, second.calls) == ("b<(int)2>(int *)", (16384, 2, 1), 2)


@pytest.mark.parametrize("mark", ["\t", " | "])
def test_tables_may_stand_between_bars_or_tabs(tmp_path, mark):
    rows = (("Time (%)", "Total Time (ns)", "Instances", "Name"), ("100.0", "1,200", "3", "a(int, int)"))
    edge = "|" if mark == " | " else ""
    found = observed(tmp_path, "".join(f"{edge}{mark.join(row)}{edge}\n" for row in rows))
    assert [(k.name, k.calls, k.time_s) for k in found.kernels] == [("a(int, int)", 3, pytest.approx(1.2e-6))]


def test_an_empty_line_below_the_header_ends_no_table(tmp_path):
    text = ("Dispatch_ID,GPU_ID,GRD,WGR,Kernel_Name,Start_Timestamp,End_Timestamp,GRBM_COUNT\n\n"
            '1,4,640,64,"hello(char*, char*)",1000,8216,12637.0\n')  # fmt: skip
    kernel = observed(tmp_path, text).kernels[0]
    assert (kernel.name, kernel.time_s, kernel.launch.grid, kernel.launch.block) == (
        "hello(char*, char*)",
        pytest.approx(7.216e-6),
        (640,),
        (64,),
    )


def test_two_tables_of_kernels_are_added_up_and_said(tmp_path):
    table = "Time (%),Total Time (ns),Instances,Name\n100,1000,2,a\n\n"
    copies = "Time (%),Total Time (ns),Count,Operation\n100,500,3,[CUDA memcpy HtoD]\n\n"
    found = observed(tmp_path, table + copies + table + copies)
    assert (found.time_s, copied(found)["HtoD"][:2]) == (pytest.approx(2e-6), (6, pytest.approx(1e-6)))
    assert any("2 tables of kernels are in it and were added up" in warning for warning in found.warnings)
    assert not any("added up" in warning for warning in observed(tmp_path, table + copies).warnings)


def test_a_test_of_both_directions_has_a_matrix_of_each_and_one_of_the_sum(tmp_path):
    matrices = "\n".join(
        f"memcpy CE GPU(row) <-> GPU(column) {part} bandwidth (GB/s)\n           0         1\n 0       N/A    {rate}\n"
        f" 1    {rate}       N/A\n"
        for part, rate in (("Read1", "370.25"), ("Read2", "371.50"), ("Total", "741.75"))
    )
    text = f"nvbandwidth Version: v0.8\n\nRunning device_to_device_bidirectional_memcpy_read_ce.\n{matrices}"
    found = observed(tmp_path, text).points
    name = "device_to_device_bidirectional_memcpy_read_ce"
    assert [(p.name.removeprefix(name), p.value, p.conditions["direction"]) for p in found] == [
        ("_read1", 370.25e9, "one"),
        ("_read2", 371.5e9, "one"),
        ("_total", 741.75e9, "both"),
    ]


def test_input_tokens_a_second_are_no_mark_of_a_tool(tmp_path):
    text = (
        "============ Serving Benchmark Result ============\nSuccessful requests:  10\n"
        "Total generated tokens:  900\n{}Input token throughput (tok/s):  50.0\n"
        "Output token throughput (tok/s):  90.0\n"
    )
    assert observed(tmp_path, text.format("")).points[0].tool == "vllm"
    assert observed(tmp_path, text.format("Total generated tokens (retokenized):  899\n")).points[0].tool == "sglang"


def test_a_row_with_more_cells_than_titles_shifts_no_number(tmp_path):
    header = "Index,KernelName,gpu-id,queue-id,grd,wgr,DispatchNs,BeginNs,EndNs,CompleteNs\n"
    rows = '0,"f(int, int)",0,0,64,64,10,20,1020,1030\n'
    commas = "1,g(int, int),0,0,64,64,2010,2020,5020,5030\n"
    assert [(k.name, k.time_s) for k in observed(tmp_path, header + rows + commas).kernels] == [
        ("g(int, int)", 3e-6),
        ("f(int, int)", 1e-6),
    ]
    short = header.replace("wgr,", "")
    with pytest.raises(BadFile, match="line 2 has 10 cells below a header of 9 titles"):
        observed(tmp_path, short + rows)


def test_an_indented_text_of_nvbandwidth_is_read(tmp_path):
    text = (
        "    nvbandwidth Version: v0.6\n    Running host_to_device_memcpy_ce.\n"
        "    memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n               0\n     0    337.55\n"
    )
    assert values(observed(tmp_path, text)) == [("host_to_device_memcpy_ce", 337.55e9)]


@pytest.mark.parametrize(
    "text",
    [
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n0,f,gpu__time_duration.sum,ns,1,234\n',
        '"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n0,f,1,234\n',
    ],
)
def test_a_number_that_a_comma_cuts_is_no_smaller_number(tmp_path, text):
    with pytest.raises(BadFile, match="cells below a header of"):
        observed(tmp_path, text)


def test_no_size_is_too_great_to_be_read(tmp_path):
    header = "| model | size | params | backend | test | t/s |\n|---|---|---|---|---|---|\n"
    row = "| l | 1e308 GiB | 1e308 B | CUDA | {} | 9 |\n"
    assert [point.value for point in observed(tmp_path, header + row.format("tg128")).points] == [9.0]
    with pytest.raises(BadFile, match="neither prompt nor generated tokens"):
        observed(tmp_path, header + row.format("pp" + "9" * 5000))


def test_numbers_of_thousands_of_digits_are_no_numbers(tmp_path):
    long = "9" * 5000
    nccl = "#  size count type redop root time algbw busbw #wrong\n 8 2 float sum -1 10.0 2.00 3.50 0\n"
    assert observed(tmp_path, f"# nThread {long} nGpus 1\n{nccl}").points
    nsys = f"Time (%),Total Time (ns),Instances,GridXYZ,BlockXYZ,Name\n100.0,10,1,{long} 1 1,64 1 1,f\n"
    assert observed(tmp_path, nsys).kernels[0].name == "f"
    stream = "Function    MBytes/sec  Min (sec)   Max  Average\nCopy  100.0  0.1 0.1 0.1\n"
    found = observed(tmp_path, f"BabelStream\nArray size: {'9' * 300} MB\n{stream}")
    assert [point.value for point in found.points] == [1e8]
