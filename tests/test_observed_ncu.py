"""Nsight Compute: pages, forms, units, names old and new, and what its counters come to."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from observed_files import COUNTERS, SOL, ncu_long, ncu_wide, observed, packed, quoted

from rooflens import readers
from rooflens.errors import BadFile, RooflensError

GEMV = {
    "dram__bytes.sum": ("Mbyte", "33.59"),
    "dram__bytes.sum.peak_sustained": ("Kbyte/cycle", "1.02"),
    "dram__cycles_elapsed.avg.per_second": ("Ghz", "1.51"),
    "gpu__time_duration.sum": ("us", "25.63"),
    "sm__cycles_elapsed.avg.per_second": ("Ghz", "1.10"),
    "sm__inst_executed_pipe_tensor.sum": ("inst", "0"),
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": ("inst/cycle", "6,912"),
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": ("inst/cycle", "1,310.72"),
}
TIME = {"gpu__time_duration.sum": ("ns", "1,000")}


def only(found):
    assert len(found.kernels) == 1
    return found.kernels[0]


def test_a_raw_page_has_units_in_its_second_row_and_commas_in_its_numbers(tmp_path):
    one = only(observed(tmp_path, ncu_wide(GEMV, name="void gemv2T<int, int, __half, 128>")))
    assert one.name == "void gemv2T<int, int, __half, 128>"
    assert one.bytes == pytest.approx(33.59e6)
    assert one.bytes / one.time_s == pytest.approx(1310e9, rel=1e-3)
    assert one.peaks["memory"] == pytest.approx(1540e9, rel=1e-3)  # 1.02 kB a cycle x 1.51 GHz
    assert one.bytes / one.time_s / one.peaks["memory"] == pytest.approx(0.85, abs=0.005)
    assert one.clock_hz == 1.10e9


def test_an_fma_is_two_and_a_rate_becomes_a_count_by_the_cycles(tmp_path):
    one = only(observed(tmp_path, ncu_wide(GEMV)))
    assert one.vector_flops == {"fp32": pytest.approx(2 * 1310.72 * 1.10e9 * 25.63e-6)}
    assert one.flops == {}  # the tensor pipe was counted: none
    assert one.flops_origin == one.bytes_origin == "counted"
    assert "fadd, fmul" in one.notes[0]  # nobody counted those


def test_packed_halves_count_each(tmp_path):
    counts = {f"smsp__sass_thread_inst_executed_op_h{op}_pred_on.sum": ("inst", "100") for op in ("add", "mul", "fma")}
    assert only(observed(tmp_path, ncu_wide({**TIME, **counts}))).vector_flops == {"fp16": 100 * 2 + 100 * 2 + 100 * 4}


def test_sectors_are_32_bytes(tmp_path):
    sectors = {f"lts__t_sectors_op_{way}.sum": ("sector", "1,000") for way in ("read", "write")}
    dram = {f"dram__sectors_{way}.sum": ("sector", "10") for way in ("read", "write")}
    one = only(observed(tmp_path, ncu_wide({**TIME, **sectors, **dram})))
    assert one.cache_bytes == {"L2": 2 * 1000 * 32}
    assert (one.bytes, one.read_bytes, one.write_bytes) == (2 * 10 * 32, 320, 320)


def test_bytes_read_and_written_are_the_bytes(tmp_path):
    ways = {"dram__bytes_read.sum": ("Kbyte", "3"), "dram__bytes_write.sum": ("byte", "500")}
    assert only(observed(tmp_path, ncu_wide({**TIME, **ways}))).bytes == 3500


def test_totals_and_parts_of_tensor_operations_are_not_added_up(tmp_path):
    ops = "sm__ops_path_tensor_{}.sum"
    counts = {ops.format(part): ("", "4,096") for part in ("src_fp16", "op_hmma_src_fp16_dst_fp32_sparsity_off")}
    counts |= {ops.format("op_hmma_src_fp16_dst_fp16_sparsity_off"): ("", "0")}
    one = only(observed(tmp_path, ncu_wide({**TIME, **counts})))
    assert one.flops == {"fp16": 4096}
    assert (one.dtype, one.unit, one.accumulate, one.sparse) == ("fp16", "matrix", "fp32", False)


def test_sparse_and_dense_operations_are_told_apart(tmp_path):
    counts = {"sm__ops_path_tensor_src_fp8_sparsity_on.sum": ("", "2,000"),
              "sm__ops_path_tensor_src_fp8_sparsity_off.sum": ("", "8")}  # fmt: skip
    one = only(observed(tmp_path, ncu_wide({**TIME, **counts})))
    assert (one.flops, one.sparse) == ({"fp8": 2008}, True)


def test_tensor_instructions_are_512_flops_on_volta_only(tmp_path):
    counts = {**TIME, "sm__inst_executed_pipe_tensor.sum": ("inst", "10")}
    assert only(observed(tmp_path, ncu_wide(counts, cc="7.0"))).flops == {"fp16": 10 * 512}
    ampere = only(observed(tmp_path, ncu_wide(counts, cc="8.0")))
    assert ampere.flops is None
    assert "collect sm__ops_path_tensor_src_" in ampere.missing["flops"]


def test_vector_counts_alone_do_not_make_a_tensor_kernel_a_vector_one(tmp_path):
    counts = {**TIME, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": ("inst", "5")}
    one = only(observed(tmp_path, ncu_wide(counts, name="ampere_fp16_s16816gemm_fp16_128x128_nn")))
    assert (one.dtype, one.unit, one.flops, one.vector_flops) == ("fp16", "matrix", None, {"fp32": 10})


def test_unknown_absent_zero_and_nan_are_four_answers(tmp_path):
    def bytes_of(cell):
        metrics = {**TIME, **({} if cell is None else {"dram__bytes.sum": ("byte", cell)})}
        one = only(observed(tmp_path, ncu_wide(metrics)))
        return one.bytes, one.missing.get("bytes", "")

    assert bytes_of("7") == (7, "")
    assert bytes_of("0") == (0, "")
    assert bytes_of(None)[0] is None
    assert "not in the file: collect dram__bytes.sum" in bytes_of(None)[1]
    assert bytes_of("nan") == (None, "the file says that it is not a number")
    assert bytes_of("n/a")[0] is None


def test_a_details_page_is_long_and_translated(tmp_path):
    gemm = ("ampere_fp16_s16816gemm_fp16_128x128_nn", [
        (SOL, "SM Frequency", "Ghz", "1.09"), (SOL, "Duration", "us", "551.36"),
        (SOL, "Memory Throughput", "%", "31.20"),
        (SOL, "Compute (SM) Throughput", "%", "88.70"), (SOL, "Elapsed Cycles", "cycle", "602,113"),
    ])  # fmt: skip
    attention = ("void flash_fwd<Traits<128, 64>, 0>(Params)", [
        (SOL, "Memory Throughput", "%", "83.90"), (SOL, "Compute (SM) Throughput", "%", "9.10"),
        (SOL, "Duration", "us", "41.2"), ("Occupancy", "Achieved Occupancy", "%", "16.53"),
        ("Memory Workload Analysis", "Memory Throughput", "Gbyte/second", "1,000"),
        ("Launch Statistics", "Registers Per Thread", "register/thread", "168"),
    ])  # fmt: skip
    found = observed(tmp_path, ncu_long(gemm, attention))
    first, second = found.kernels
    assert (first.time_s, first.clock_hz) == (pytest.approx(551.36e-6), 1.09e9)
    assert (first.shares["compute"], first.shares["memory"]) == (pytest.approx(0.887), pytest.approx(0.312))
    assert (first.dtype, first.unit) == ("fp16", "matrix")  # its name says so
    assert second.shares["memory"] == pytest.approx(0.839)
    assert second.bytes == pytest.approx(1000e9 * 41.2e-6)  # one label, two units: a rate, not a share
    assert (second.launch.registers, second.launch.grid) == (168, (64, 2, 1))
    assert any("locks the clocks to base" in warning for warning in found.warnings)


def test_old_labels_mean_what_the_new_ones_do(tmp_path):
    old = ("k", [(SOL, "SOL SM", "%", "40"), (SOL, "SOL Memory", "%", "50"), (SOL, "SOL FB", "%", "30"),
                 (SOL, "Duration", "usecond", "2"), (SOL, "SM Frequency", "cycle/nsecond", "1.2")])  # fmt: skip
    one = only(observed(tmp_path, ncu_long(old)))
    assert one.shares == pytest.approx({"compute": 0.4, "memory": 0.5, "dram": 0.3})
    assert (one.time_s, one.clock_hz) == (pytest.approx(2e-6), pytest.approx(1.2e9))


def test_raw_metrics_may_stand_in_the_long_form_too(tmp_path):
    section = "Command line profiler metrics"
    one = only(observed(tmp_path, ncu_long(("k", [(section, "gpu__time_duration.sum", "nsecond", "2,000"),
                                                  (section, "dram__bytes.sum", "Gbyte", "1")]))))  # fmt: skip
    assert (one.time_s, one.bytes) == (pytest.approx(2e-6), 1e9)


def test_a_summary_is_the_average_times_the_invocations(tmp_path):
    head = ("Process ID", "Kernel Name", "Invocations", "Section Name", "Metric Name", "Metric Unit", "Minimum",
            "Maximum", "Average")  # fmt: skip
    rows = [
        ("1", "k", "2", SOL, "Duration", "us", "1", "3", "2"),
        ("1", "k", "2", SOL, "DRAM Throughput", "%", "5", "15", "10"),
    ]
    one = only(observed(tmp_path, "==PROF== Connected\n" + quoted(head, *rows)))
    assert (one.calls, one.time_s) == (2, pytest.approx(2 * 2e-6))
    assert one.shares == pytest.approx({"dram": 0.1})


def test_two_kernels_of_one_name_stay_two(tmp_path):
    rows = [(SOL, "Duration", "us", "1")]
    assert len(observed(tmp_path, ncu_long(("k", rows), ("k", rows))).kernels) == 2


def test_no_permission_is_said_as_such(tmp_path):
    log = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n==WARNING== No kernels were profiled.\n"
    with pytest.raises(RooflensError, match="no permission to read the GPU's counters"):
        observed(tmp_path, log)
    with pytest.raises(RooflensError, match="profiled no kernel"):
        observed(tmp_path, "==PROF== Connected to process 1\n==WARNING== No kernels were profiled.\n")


def test_what_powershell_redirects_is_read_too(tmp_path):
    text = ncu_wide({**TIME, "dram__bytes.sum": ("byte", "7")})
    assert only(observed(tmp_path, b"\xff\xfe" + text.encode("utf-16-le"))).bytes == 7
    assert only(observed(tmp_path, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())).bytes == 7


def test_without_its_row_of_units_a_page_is_in_base_units(tmp_path):
    one = only(observed(tmp_path, ncu_wide({**TIME, "dram__bytes.sum": ("byte", "7")}, units=False)))
    assert (one.time_s, one.bytes) == (pytest.approx(1e-6), 7)


def test_the_counters_of_an_h200_give_shapes_their_flops():
    found = readers.observed(COUNTERS)
    assert len(found.kernels) == 26
    assert found.devices[0].name == "NVIDIA H200"
    assert found.time_s == pytest.approx(6_740_096e-9, rel=1e-12)  # the sum of its column
    product = next(k for k in found.kernels if k.name.startswith("nvjet"))
    assert product.flops == {"fp16": 2 * 4096**3}
    assert (product.dtype, product.accumulate, product.sparse) == ("fp16", "fp32", False)
    plain = next(k for k in found.kernels if "sm80_xmma_gemm_f32f32" in k.name)
    assert plain.vector_flops["fp32"] == pytest.approx(2 * 4096**3, rel=3e-4)
    assert (plain.dtype, plain.unit) == ("fp32", "vector")
    assert found.warnings == ()  # the tool said itself that the clocks were free
    assert all(k.bytes_origin == k.flops_origin == "counted" for k in found.kernels)
    assert product.peaks["fp16"] == pytest.approx(
        132 * 8192 / 2 * product.clock_hz, rel=1e-3
    )  # dense, not the sparse one


def test_a_report_without_the_package_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(RooflensError, match=r"rooflens\[ncu\].*--csv --page raw"):
        observed(tmp_path, b"NVR\0\2\0\0\0" + bytes(64))


class _Metric:
    ValueKind_STRING = 1

    def __init__(self, value, unit=""):
        self.held, self.written = value, unit

    def has_value(self):
        return True

    def kind(self):
        return 1 if isinstance(self.held, str) else 0

    def as_string(self):
        return self.held

    def as_double(self):
        return float(self.held)

    def unit(self):
        return self.written


def test_a_report_is_read_through_the_package(tmp_path, monkeypatch):
    metrics = {"gpu__time_duration.sum": _Metric(2000, "ns"), "dram__bytes.sum.per_second": _Metric(1e12, "byte/s"),
               "sm__ops_path_tensor_src_bf16_dst_fp32.sum": _Metric(4096), "launch__device_id": _Metric(3),
               "device__attribute_display_name": _Metric("A card")}  # fmt: skip
    action = SimpleNamespace(NameBase_DEMANGLED=0, name=lambda *_: "a_kernel", metric_names=lambda: list(metrics),
                             metric_by_name=metrics.get)  # fmt: skip
    actions = SimpleNamespace(num_actions=lambda: 1, action_by_idx=lambda _: action)
    package = SimpleNamespace(
        load_report=lambda _: SimpleNamespace(num_ranges=lambda: 1, range_by_idx=lambda _: actions)
    )
    monkeypatch.setitem(sys.modules, "ncu_report", package)
    for data in (b"NVR\0" + bytes(9), packed(b"NVR\0" + bytes(9))):
        one = only(observed(tmp_path, data))
        assert (one.name, one.device, one.flops, one.accumulate) == ("a_kernel", 3, {"bf16": 4096}, "fp32")
        assert (one.time_s, one.bytes) == (pytest.approx(2e-6), pytest.approx(2e6))


def test_a_damaged_report_is_a_sentence(tmp_path, monkeypatch):
    def load(_):
        raise RuntimeError("bad magic")

    monkeypatch.setitem(sys.modules, "ncu_report", SimpleNamespace(load_report=load))
    with pytest.raises(BadFile, match="bad magic"):
        observed(tmp_path, b"NVR\0")


def test_tables_one_after_the_other_have_units_of_their_own(tmp_path):
    first = ncu_wide({"gpu__time_duration.sum": ("us", "1"), "dram__bytes.sum": ("Mbyte", "2")}, name="a")
    second = ncu_wide({"dram__bytes.sum": ("byte", "3"), "gpu__time_duration.sum": ("ms", "4")}, name="b")
    found = observed(tmp_path, first + "==PROF== Disconnected\n" + second)
    assert [(k.name, k.time_s, k.bytes) for k in found.kernels] == [
        ("a", pytest.approx(1e-6), 2e6), ("b", pytest.approx(4e-3), 3),
    ]  # fmt: skip
    long = ncu_long(("a", [(SOL, "Duration", "us", "1")]))
    assert [k.name for k in observed(tmp_path, long + long).kernels] == ["a", "a"]


def test_a_cell_may_have_a_unit_of_its_own(tmp_path):
    metrics = {"gpu__time_duration.sum": ("", "25.63 us"), "dram__bytes.sum": ("", "33.59 Mbyte")}
    one = only(observed(tmp_path, ncu_wide(metrics, units=False)))
    assert (one.time_s, one.bytes) == (pytest.approx(25.63e-6), pytest.approx(33.59e6))


def test_a_table_without_its_column_of_units_is_in_base_units(tmp_path):
    text = ncu_long(("k", [("", "gpu__time_duration.sum", "", "2,000")])).replace('"Metric Unit"', '"?"')
    assert only(observed(tmp_path, text)).time_s == pytest.approx(2e-6)
