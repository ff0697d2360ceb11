"""Kernels of profilers under the roofs, and runs attributed: closed forms, real captures, runs made up here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from observed_files import COUNTERS, TRACE, kernel, launch, ncu_wide, op, trace

from rooflens import kernels
from rooflens.accounting.comparing import compared
from rooflens.accounting.kernels import judged
from rooflens.accounting.layers import stretches
from rooflens.accounting.run import account
from rooflens.api.profiles import compare, observed, there
from rooflens.errors import RooflensError
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.observed import Collective, Kernel, Observed, Operator, Timeline

H200 = "h200-sxm-141gb"
TOY = Machine(
    "toy",
    "a toy",
    (
        Ceiling("compute/matrix/bf16", "compute", 100e12, "spec", dtype="bf16", path="matrix"),
        Ceiling("compute/matrix/fp16_acc16", "compute", 200e12, "spec", dtype="fp16_acc16", path="matrix"),
        Ceiling("compute/matrix/fp16", "compute", 100e12, "spec", dtype="fp16", path="matrix"),
        Ceiling("compute/vector/fp32", "compute", 10e12, "spec", dtype="fp32", path="vector"),
        Ceiling("compute/vector/fp64", "compute", 5e12, "spec", dtype="fp64", path="vector"),
        Ceiling("memory/main", "memory", 1e12, "spec", level="main"),
        Ceiling("link/nvlink", "link", 100e9, "spec", level="nvlink"),
    ),
    clock_hz=2e9,
    cache_bytes=50e6,
    link="nvlink",
    sparse_multipliers={"bf16": 2.0},
)


def under(one, **more):
    """One kernel alone on the toy."""
    return judged(one, TOY, whole_s=one.time_s, **more)


def test_a_product_is_set_against_the_roof_of_its_math():
    # 1e9 FLOP / 100e12 FLOP/s = 10 us, 2e6 B / 1e12 B/s = 2 us: compute, 10 of 16 us
    found = under(Kernel("gemm", time_s=16e-6, flops={"bf16": 1e9}, bytes=2e6, family="gemm"))
    assert (found.roof, found.regime) == ("compute/matrix/bf16", "compute")
    assert found.share_of_roof == pytest.approx(10 / 16)
    assert found.intensity_flops_per_byte == 500.0
    assert found.flops_per_s == pytest.approx(1e9 / 16e-6)


def test_few_rows_are_set_against_the_slope():
    found = under(Kernel("gemv", time_s=4e-6, flops={"bf16": 3e6}, bytes=3e6, family="gemm"))
    assert (found.roof, found.regime, found.share_of_roof) == ("memory/main", "memory", pytest.approx(0.75))
    assert found.lever == "a larger batch, or fewer bits of weights"


def test_the_roof_is_that_of_the_clock_the_kernel_ran_at():
    # half of the stated clock: 50 TFLOP/s, so 1e9 FLOP ask 20 us
    found = under(Kernel("gemm", time_s=25e-6, flops={"bf16": 1e9}, clock_hz=1e9))
    assert found.share_of_roof == pytest.approx(20 / 25)
    assert found.share_of_peak == pytest.approx(20 / 25)


def test_the_memory_of_a_datasheet_gives_way_to_that_of_the_run_and_a_measured_one_does_not():
    one = Kernel("copy", time_s=2e-6, bytes=1e6, flops={}, peaks={"memory": 0.8e12})
    assert under(one).share_of_roof == pytest.approx(1.25 / 2)
    measured = replace(TOY, ceilings=tuple(replace(c, origin="measured") for c in TOY.ceilings))
    assert judged(one, measured, one.time_s).share_of_roof == pytest.approx(1.0 / 2)


def test_accumulation_in_16_bit_and_sparsity_have_their_own_roofs():
    narrow = under(Kernel("hgemm", time_s=10e-6, flops={"fp16": 1e9}, accumulate="fp16"))
    assert (narrow.roof, narrow.share_of_roof) == ("compute/matrix/fp16_acc16", pytest.approx(0.5))
    sparse = under(Kernel("spmma", time_s=10e-6, flops={"bf16": 1e9}, sparse=True))
    assert sparse.share_of_roof == pytest.approx(0.5)


def test_what_is_attainable_is_the_achieved_rate_over_the_share_of_the_roof():
    # 2:4 sparse: 1e9 dense FLOP ask 5 of 10 us, so 200 TFLOP/s could be reached
    sparse = under(Kernel("spmma", time_s=10e-6, flops={"bf16": 1e9}, sparse=True))
    assert sparse.attainable_flops_per_s == pytest.approx(200e12)
    # 1e9 / 100e12 = 10 us on matrix units, 5e7 / 10e12 = 5 us beside it on vector units
    both = under(Kernel("fused", time_s=20e-6, flops={"bf16": 1e9}, vector_flops={"fp32": 5e7}))
    assert both.attainable_flops_per_s == pytest.approx(1.05e9 / 10e-6)
    assert both.share_of_peak == pytest.approx(10 / 20)
    for one in (sparse, both):
        assert one.flops_per_s == pytest.approx(one.share_of_roof * one.attainable_flops_per_s)


def test_each_math_is_set_over_its_own_peak():
    # 1e9 / 100e12 = 10 us of fp16 and 1e9 / 100e12 = 10 us of bf16 on the same units
    found = under(Kernel("mixed", time_s=40e-6, flops={"fp16": 1e9, "bf16": 1e9}))
    assert found.share_of_peak == found.mfu == pytest.approx(20 / 40)


def test_the_mfu_of_a_run_is_of_the_stated_peak_whatever_the_clock():
    # half of the stated clock: 20 of 25 us at that clock, 10 of 25 at the peak of the machine
    slow = Kernel("gemm", time_s=25e-6, flops={"bf16": 1e9}, bytes=1e6, clock_hz=1e9, peaks={"memory": 0.5e12})
    found = account(Observed("w", "ncu-csv", kernels=(slow,)), TOY)
    assert (found.kernels[0].share_of_peak, found.kernels[0].mfu) == (pytest.approx(20 / 25), pytest.approx(10 / 25))
    assert (found.mfu, found.mbu) == (pytest.approx(10 / 25), pytest.approx(1e6 / 25e-6 / 1e12))


def test_far_below_the_one_roof_that_is_known_nobody_knows_the_regime():
    slow = Kernel("gemm", time_s=40e-6, bytes=3e6, family="gemm")  # 3 us at the slope, and FLOPs that nobody counted
    assert under(slow).regime is None
    assert under(replace(slow, flops={"fp8": 1e9})).regime is None  # of a math that the toy has no rate of
    assert under(replace(slow, time_s=4e-6)).regime == "memory"  # near to it, it binds
    assert under(replace(slow, flops={"bf16": 1e8})).regime == "below-roof"
    assert under(replace(slow, shares={"compute": 0.1, "memory": 0.2})).regime == "below-roof"  # ncu looked at both


def test_flops_of_vector_units_alone_are_not_all_where_nobody_counted_the_others():
    gone = {"flops": "not in the file: collect sm__ops_path_tensor_src_*.sum"}
    part = Kernel("k", time_s=40e-6, vector_flops={"fp32": 1e7}, bytes=1e6, missing=gone)
    found = account(Observed("w", "ncu-csv", kernels=(part, replace(part, flops={}, missing={}))), TOY)
    assert found.known_share == pytest.approx(1 / 2)
    assert sorted(str(kernel.regime) for kernel in found.kernels) == ["None", "below-roof"]


def test_bytes_that_were_read_and_written_are_no_more_than_all_of_them():
    odd = Kernel("copy", time_s=4e-6, bytes=2e6, read_bytes=1.5e6, write_bytes=1.5e6, flops={})
    assert under(odd).floor_s == pytest.approx(2e6 / 1e12)


def test_no_work_is_not_unknown_work():
    none = Kernel("barrier", time_s=4e-6, flops={}, bytes=0.0)
    found = account(Observed("w", "ncu-csv", kernels=(none, Kernel("mystery", time_s=1e-6))), TOY)
    assert (found.kernels[0].floor_s, found.kernels[0].roof, found.kernels[0].share_of_roof) == (0.0, None, None)
    assert (found.attribution_s.inefficiency, found.attribution_s.unknown) == (4e-6, 1e-6)


def test_a_row_of_no_calls_is_no_crash():
    found = under(Kernel("k", calls=0, time_s=1e-6, bytes=1e9, flops={}))
    assert "another machine" in found.findings[0]


def test_each_vector_format_has_its_own_roof():
    # 1e7 / 10e12 = 1 us of fp32 and 1e7 / 5e12 = 2 us of fp64 on the same units
    found = under(Kernel("scan", time_s=4e-6, flops={}, vector_flops={"fp32": 1e7, "fp64": 1e7}))
    assert (found.share_of_roof, found.roof) == (pytest.approx(0.75), "compute/vector/fp64")


def test_a_short_kernel_is_launch_and_a_slow_one_below_its_roof():
    short = Kernel("add", time_s=2e-6, bytes=1e3, flops={})
    assert under(short, launch_s=1.5e-6).regime == "launch"
    assert under(short).regime == "below-roof"
    assert under(Kernel("mystery", time_s=2e-6), launch_s=1.5e-6).regime == "launch"
    assert under(Kernel("mystery", calls=2, time_s=7e-6), launch_s=1.5e-6).regime is None  # 3.5 us a call


def test_more_than_the_roof_is_a_finding_with_a_suspect():
    cached = under(Kernel("copy", time_s=1e-6, bytes=4e6, flops={}))
    assert cached.share_of_roof == pytest.approx(4.0)
    assert cached.findings == (
        "400 % of memory/main of toy: its 4 MB a call fit the last-level cache (50 MB), which served some of them",
    )
    large = under(Kernel("copy", time_s=1e-4, bytes=4e8, flops={}))
    assert "suspect data that stayed in a cache" in large.findings[0]
    assert under(Kernel("copy", time_s=0.9996e-4, bytes=1e8, flops={})).findings == ()  # 1.0004: it is shown as 100 %
    (shown,) = under(Kernel("copy", time_s=0.999e-4, bytes=1e8, flops={})).findings
    assert shown.startswith("100.1 % of memory/main")
    fast = under(Kernel("gemm", time_s=1e-6, flops={"bf16": 1e9}))
    assert "suspect a faster clock or math than the roof's" in fast.findings[0]


def test_a_collective_is_set_against_the_link():
    talk = Collective("all_reduce", message_bytes=1e6, ranks=2, bus_factor=1.0)  # 1e6 / 100e9 = 10 us
    found = under(Kernel("ncclDevKernel", time_s=20e-6, collective=talk, family="collective"))
    assert (found.roof, found.regime, found.share_of_roof) == ("link/nvlink", "link", pytest.approx(0.5))


def test_what_a_profiler_says_itself_stands_where_nothing_was_counted():
    found = under(Kernel("k", time_s=1e-5, shares={"compute": 0.2, "memory": 0.8, "l2": 0.8, "dram": 0.3}))
    assert (found.roof, found.share_of_roof, found.regime) == ("profiler: L2", 0.8, "memory")


def test_math_that_nobody_names_has_no_compute_roof_and_says_so():
    found = under(Kernel("gemm", time_s=1e-5, flops={"unknown": 1e9}))
    assert (found.roof, found.regime) == (None, None)
    assert "which math it is" in found.missing["flops"]


def test_a_math_that_the_machine_lacks_is_said_and_hides_no_other_demand():
    found = under(Kernel("gemm", time_s=4e-6, flops={"fp8": 1e9}, bytes=3e6))
    assert (found.roof, found.share_of_roof) == ("memory/main", pytest.approx(0.75))
    assert "fp8 arithmetic" in found.missing["flops"]


LINE = Timeline(0, 100e-6, 40e-6, 10e-6, 5e-6, 60e-6, 45e-6, 30e-6, 10e-6, 5e-6, 3, 1)
SEEN = Observed(
    "made.json",
    "torch-trace",
    kernels=(
        Kernel("gemm", time_s=30e-6, flops={"bf16": 2e9}, bytes=1e6, device=0, family="gemm"),
        Kernel("mystery", time_s=10e-6, device=0),
    ),
    timelines=(LINE,),
)


def test_the_parts_of_a_run_add_up_to_its_span():
    found = account(SEEN, TOY)
    parts = found.attribution_s.parts
    # floor 2e9 / 100e12 = 20 us; 10 us beyond it; 10 us unknown: together the 40 us in which kernels ran
    assert parts == pytest.approx({
        "floor": 20e-6, "inefficiency": 10e-6, "unknown": 10e-6, "collectives": 10e-6, "copies": 5e-6, "launch": 10e-6,
        "host_idle": 30e-6, "unseen_idle": 5e-6,
    })  # fmt: skip
    assert found.attribution_s.whole_s == pytest.approx(LINE.span_s)
    assert found.mfu == pytest.approx(2e9 / 100e-6 / 100e12)
    assert found.mbu == pytest.approx(1e6 / 100e-6 / 1e12)
    assert found.known_share == pytest.approx(0.75)


@given(
    st.lists(
        st.tuples(st.floats(1e-7, 1e-3), st.none() | st.floats(0, 1e12), st.none() | st.floats(0, 1e9)),
        min_size=1,
        max_size=20,
    ),
    st.floats(0.1, 1.0),
    st.tuples(st.floats(0, 1e-3), st.floats(0, 1e-3), st.floats(0, 1e-3)),
)
def test_whatever_ran_the_parts_are_not_negative_and_add_up(ran, overlap, waited):
    made = tuple(
        Kernel(f"k{i}", time_s=t, flops=None if f is None else {"bf16": f}, bytes=b, device=0)
        for i, (t, f, b) in enumerate(ran)
    )
    busy_s = overlap * sum(k.time_s for k in made)
    span_s = busy_s + sum(waited)
    line = Timeline(0, span_s, busy_s, 0.0, 0.0, sum(k.time_s for k in made), sum(waited), *waited, len(made), 2)
    found = account(Observed("x", "torch-trace", kernels=made, timelines=(line,)), TOY).attribution_s
    assert all(seconds >= 0 for seconds in found.parts.values())
    assert found.whole_s == pytest.approx(span_s)


def test_without_a_timeline_nothing_is_said_of_what_was_between_kernels():
    found = account(replace(SEEN, timelines=()), TOY)
    assert found.attribution_s.host_idle is None
    assert found.attribution_s.whole_s == pytest.approx(40e-6)
    assert any("no timeline" in note for note in found.notes)


def test_devices_are_added_up_and_each_kept_alone():
    two = replace(
        SEEN,
        kernels=(*SEEN.kernels, replace(SEEN.kernels[0], device=1)),
        timelines=(LINE, replace(LINE, device=1, kernels_s=30e-6, span_s=90e-6)),
    )
    found = account(two, TOY)
    assert [one.device for one in found.devices] == [0, 1]
    assert found.attribution_s.whole_s == pytest.approx(190e-6)
    assert found.devices[1].attribution_s.floor == pytest.approx(20e-6)


def test_nothing_saves_more_than_the_time_that_overlapping_kernels_took_together():
    # two streams, 100 us each at once, of which the slope asks 10 each: 90 of 100 us at the most, not 180
    slow = Kernel("add", time_s=100e-6, flops={}, bytes=10e6, device=0)
    line = replace(LINE, span_s=100e-6, kernels_s=100e-6, collectives_s=0, copies_s=0, gaps_s=0, host_s=0, launch_s=0,
                   unseen_s=0, streams=2)  # fmt: skip
    (remedy,) = account(Observed("w", "torch-trace", kernels=(slow, slow), timelines=(line,)), TOY).remedies
    assert (remedy.saves_s, remedy.gain) == (pytest.approx(90e-6), pytest.approx(10))


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6), st.floats(0.2, 1.0))
def test_the_floor_of_kernels_that_overlap_is_no_less_than_what_they_ask_of_memory(shares, together):
    # each of 100 us, with so much of the slope; together they ran for this share of their sum, which is enough for them
    took = together * 100e-6 * len(shares)
    kernels = tuple(Kernel("add", time_s=100e-6, flops={}, bytes=share * 100e6, device=0) for share in shares)
    line = replace(LINE, span_s=took, kernels_s=took, collectives_s=0, copies_s=0, gaps_s=0, host_s=0, launch_s=0,
                   unseen_s=0, streams=6)  # fmt: skip
    found = account(Observed("w", "torch-trace", kernels=kernels, timelines=(line,)), TOY)
    floor = found.attribution_s.floor
    assert floor == pytest.approx(min(sum(shares) * 100e-6, took), abs=1e-12)
    assert floor / took >= min(found.mbu, 1) - 1e-9
    assert found.attribution_s.whole_s == pytest.approx(took)


def test_a_time_that_the_file_does_not_say_is_absent_and_no_zero(tmp_path, cli):
    seen = Observed("x", "ncu-csv", kernels=(Kernel("timed", time_s=1e-5), Kernel("timeless", flops={"bf16": 1e9})))
    found = account(seen, TOY)
    by = {kernel.name: kernel for kernel in found.kernels}
    assert (by["timeless"].time_s, by["timeless"].share_of_time, by["timeless"].regime) == (None, None, None)
    assert (by["timed"].share_of_time, found.attribution_s.whole_s) == (1.0, 1e-5)
    assert "1 kernels have no time in the file: sums and shares are of the others" in found.notes
    page = ncu_wide({"dram__bytes.sum": ("byte", "1000000")}, name="a_kernel")
    (tmp_path / "n.csv").write_text(page)
    told = cli("kernels", str(tmp_path / "n.csv"), "--on", H200)
    assert (told.code, "0 s  " in told.out.partition("kernel ")[2]) == (0, False)
    assert "time_s" not in json.loads(cli("kernels", str(tmp_path / "n.csv"), "--on", H200, "--json").out)["kernels"][0]


def test_weights_that_are_unpacked_for_a_product_are_all_overhead():
    seen = Observed("x", "nsys-stats", kernels=(Kernel("dequant_q4_k_f16", time_s=24e-3), Kernel("gemm", time_s=76e-3)))
    remedy = account(seen, TOY).remedies[0]
    assert (remedy.saves_s, remedy.gain) == (24e-3, pytest.approx(100 / 76))
    assert remedy.why.startswith("fuse it into the product")


# --- real captures


def test_a_real_trace_loses_no_time_and_knows_nearly_all_of_its_work():
    found = kernels(TRACE)  # the file names its device
    assert found.machine.startswith("H200")
    assert sum(k.time_s for k in found.kernels) == pytest.approx(found.time_s, rel=1e-12)
    assert found.known_share >= 0.95
    assert found.bound == "host"
    assert found.remedies[0].name == "graphs"
    assert found.attribution_s.whole_s == pytest.approx(found.devices[0].span_s, rel=1e-9)


def test_regimes_of_real_counters_agree_with_what_the_profiler_says_of_itself():
    seen, found = observed(COUNTERS), kernels(COUNTERS, H200)
    ours = {(k.name, k.time_s): k for k in found.kernels}
    agree = 0
    for one in seen.kernels:
        said = max(("compute", "memory"), key=lambda kind: one.shares[kind])
        near = one.shares[said] >= 0.5
        regime = ours[one.name, one.time_s].regime
        agree += regime == said if near else regime in ("below-roof", "launch")
    assert (agree, len(seen.kernels)) == (26, 26)  # 24 wanted


def test_layers_of_a_real_trace_are_found_by_what_repeats(tmp_path):
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 2, "vocab_size": 32000,
        "torch_dtype": "bfloat16", "max_position_embeddings": 8192,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = kernels(TRACE, H200, model=str(tmp_path / "config.json"), context=514)
    assert [(one.phase, one.tokens, one.steps, one.layers, one.kernels) for one in found.layers] == [
        ("prefill", 512, 1, 2, 40),
        ("decode", 1, 2, 2, 46),
    ]
    decode = found.layers[1]
    weights = 4096 * (4096 + 2 * 1024 + 4096) + 3 * 4096 * 14336  # of a layer, 2 bytes each
    cache = 2 * 514 * 8 * 128
    assert decode.floor_s == pytest.approx(2 * (weights + cache) / 4.8e12, rel=0.01)
    assert 0.3 < decode.share_of_floor < 1


EIGHT_B = Path(__file__).parents[1] / "experiments" / "h200_trace"
STEP = {"model": "llama-3.1-8b", "batch": 4, "context": 1024}


def test_a_real_eager_step_of_an_8b_model_is_bound_by_its_host_and_a_graph_is_the_lever():
    found = kernels(EIGHT_B / "library.json.gz", **STEP)
    waiting_s = found.attribution_s.host_idle + found.attribution_s.launch
    assert (found.bound, found.remedies[0].name) == ("host", "graphs")
    assert waiting_s / found.attribution_s.whole_s > 0.9
    assert "a profiler slows the host itself: without it the device waits less than here" in found.notes
    assert found.known_share > 0.95
    (layer,) = found.layers
    assert (layer.layers, layer.steps, layer.kernels, layer.tokens, layer.phase) == (32, 2, 46, 4, "decode")
    # of a layer: 218,103,808 parameters and 4 x 1024 positions x 2 x 1024 values of cache, 2 bytes each, at 4.8 TB/s
    assert layer.floor_s == pytest.approx(2 * (218_103_808 + 4 * 1024 * 2048) / 4.8e12, rel=0.005)


def test_a_graph_takes_the_waiting_away_and_leaves_the_kernels():
    found = compare(EIGHT_B / "eager.json.gz", EIGHT_B / "graph.json.gz")
    assert found.speedup == pytest.approx(7.22, rel=0.01)
    assert found.attribution_s["host_idle"] < -60e-3
    moved_s = sum(one.difference_s for one in found.kernels)
    assert abs(moved_s) < 0.02 * sum(one.before_s for one in found.kernels)
    replayed = kernels(EIGHT_B / "graph.json.gz")
    assert replayed.remedies[0].name == "fusion"
    assert not any("profiler slows" in note for note in replayed.notes)  # 7 % of it is waiting


def test_counters_of_a_real_layer_see_the_padding_that_shapes_do_not():
    counted = {k.name: k for k in kernels(EIGHT_B / "layer_ncu.csv.gz", H200).kernels}
    shaped = {k.name: k for k in kernels(EIGHT_B / "eager.json.gz").kernels}
    head = next(name for name in counted if name.startswith("nvjet_sm90_tst_256x8"))
    assert counted[head].flops == pytest.approx(2 * shaped[head].flops / shaped[head].calls, rel=0.01)  # 4 rows in 8
    assert counted[head].bytes == pytest.approx(shaped[head].bytes / shaped[head].calls, rel=0.01)


# --- runs made up here


def eager(step_us, kernels_us, layers=32, each=9, every=None):
    """A step of `layers` x `each` kernels that the host starts one by one, evenly over `step_us`."""
    events, n = [], layers * each
    every = every or step_us / n
    for i in range(n):
        at = i * every
        shape = [[4, 4096], [4096, 4096]]
        events += [
            op("aten::mm", at, every * 0.9, shape),
            launch(at + every * 0.8, 5.0, i),
            kernel(f"nvjet_sm90_tst_{i % each}_TNT", at + every * 0.8 + 6, kernels_us / n, corr=i),
        ]
    return trace(*events, deviceProperties=[{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150754820096}])


LIBRARY = EIGHT_B / "library.json.gz"


def test_a_layer_under_its_floor_is_a_finding_about_the_model():
    # both have 32 layers of width 4096, and a token of the mixture reads more weights than were streamed in that time
    assert not any("under its floor" in note for note in kernels(LIBRARY, model="llama-3.1-8b", batch=4).notes)
    found = kernels(LIBRARY, model="mixtral-8x7b", batch=4)
    assert found.layers[0].share_of_floor > 1
    assert any("suspect another model than mixtral-8x7b" in note for note in found.notes)


def test_a_model_of_another_width_has_no_floor_here():
    found = kernels(LIBRARY, model="phi-3-mini-128k", batch=4)  # 32 layers too, of width 3072
    assert (found.layers[0].width_fits, found.layers[0].floor_s) == (False, None)
    assert any("another width than those of phi-3-mini-128k" in note for note in found.notes)


def test_the_batch_of_a_step_is_taken_from_the_person_aloud():
    # four tokens a step: one each of four sequences, or a prompt of two of two, or nothing that three could share
    said = {batch: kernels(LIBRARY, model="llama-3.1-8b", batch=batch) for batch in (4, 2, 3)}
    assert [said[batch].layers[0].phase for batch in said] == ["decode", "prefill", None]
    assert not any("a step of 4 tokens" in note for note in said[4].notes)
    assert "a step of 4 tokens is taken as the prefill of 2 tokens a sequence at batch 2" in said[2].notes
    assert "a step of 4 tokens is of another batch than 3: its floor is not known" in said[3].notes


def test_devices_that_share_a_layer_share_its_floor():
    alone, shared = (kernels(LIBRARY, model="llama-3.1-8b", batch=4, tp=tp).layers[0].floor_s for tp in (1, 2))
    assert shared == pytest.approx(alone / 2, rel=0.01)  # norms are on both


def test_an_eager_decode_of_an_8b_model_is_bound_by_its_host(tmp_path):
    # 131 ms a step where the floor is 3.4 ms: no roof of the device explains it
    (tmp_path / "eager.json").write_text(eager(131e3, 5.4e3))
    found = kernels(tmp_path / "eager.json", H200)
    assert found.bound == "host"
    assert found.remedies[0].name == "graphs"
    assert found.remedies[0].saves_s == pytest.approx(131e-3 - 5.4e-3, rel=0.02)
    assert found.remedies[0].gain > 20


def test_what_moved_between_two_runs_and_why(tmp_path):
    before = replace(SEEN, where="before")
    half = replace(SEEN.kernels[0], time_s=15e-6, flops={"bf16": 1e9})
    after = replace(SEEN, where="after", kernels=(half, Kernel("other", time_s=1e-6, device=0)))
    found = compared(account(before, TOY), account(after, TOY))
    moved = {one.name: one for one in found.kernels}
    assert (moved["gemm"].outcome, moved["gemm"].difference_s) == ("faster", pytest.approx(-15e-6))
    assert moved["gemm"].why == ("0.5 times the flops a call",)
    assert (moved["mystery"].outcome, moved["other"].outcome) == ("gone", "new")
    assert sum(one.difference_s for one in found.kernels) == pytest.approx(16e-6 - 40e-6)


def test_a_kernel_that_takes_anothers_place_is_matched_by_its_operator():
    shapes = Operator("aten::mm", ((4, 8), (8, 8)))
    old = Kernel("sgemm", time_s=10e-6, flops={}, vector_flops={"fp32": 1e7}, dtype="fp32", operator=shapes)
    new = Kernel("tf32gemm", time_s=2e-6, flops={"bf16": 1e7}, dtype="bf16", operator=shapes)
    runs = [account(Observed(n, "torch-trace", kernels=(k,)), TOY) for n, k in (("a", old), ("b", new))]
    (moved,) = compared(*runs).kernels
    assert (moved.outcome, moved.before_name) == ("replaced", "sgemm")
    assert moved.why[:2] == ("another kernel took the place of sgemm", "its math went from fp32 to bf16")


def test_a_run_compared_with_itself_has_not_moved():
    found = compare(TRACE, TRACE)
    assert {one.outcome for one in found.kernels} == {"same"}
    assert (found.speedup, set(found.attribution_s.values())) == (1.0, {0.0})


TIMES = st.lists(st.sampled_from([1e-6, 1.04e-6, 1.06e-6, 2e-6]), max_size=5)


@given(TIMES, TIMES, st.sampled_from([0.0, 0.05, 0.5]))
def test_a_comparison_the_other_way_round_says_the_same(before, after, tolerance):
    runs = [
        account(
            Observed(where, "nsys-stats", kernels=tuple(Kernel(f"k{i}", time_s=t) for i, t in enumerate(took))), TOY
        )
        for where, took in (("a", before), ("b", after))
    ]
    ahead, back = compared(*runs, tolerance), compared(*reversed(runs), tolerance)
    turned = {"faster": "slower", "slower": "faster", "gone": "new", "new": "gone", "same": "same"}
    assert {k.name: (k.outcome, k.difference_s) for k in ahead.kernels} == {
        k.name: (turned[k.outcome], -k.difference_s) for k in back.kernels
    }
    assert sum(k.difference_s for k in ahead.kernels) == pytest.approx(ahead.after_s - ahead.before_s, abs=1e-12)


def test_a_run_that_took_no_time_has_no_speed_up():
    took, none = (Observed("w", "x", kernels=(Kernel("k", time_s=t),)) for t in (1e-6, None))
    assert compared(account(took, TOY), account(none, TOY)).speedup is None


@pytest.mark.parametrize("tolerance", [float("nan"), -0.1, 2, "a lot"])
def test_a_tolerance_is_a_share(tolerance):
    with pytest.raises(RooflensError, match="expected a share between 0 and 1"):
        compare(TRACE, TRACE, tolerance=tolerance)


def test_runs_of_other_numbers_of_steps_are_asked_about_with_or_without_a_timeline():
    one, three = (account(Observed("w", "x", kernels=(Kernel("k", n, n * 1e-6),)), TOY) for n in (1, 3))
    assert "1 launches before and 3 after: are both of the same number of steps?" in compared(one, three).notes


@given(st.integers(2, 6), st.integers(3, 9), st.integers(0, 4), st.integers(1, 3))
def test_layers_are_found_wherever_they_stand(layers, each, around, steps):
    head = [f"h{i}" for i in range(around)]
    names = (head + [f"k{i}" for i in range(each)] * layers + ["tail"]) * steps
    found = list(stretches(names, [1.0] * len(names), layers, lambda begin, end: "tail" not in names[begin:end]))
    assert [(one.kernels, one.layers_s) for one in found] == [(each, (float(each),) * layers)] * steps


# --- at the door


def test_the_keys_of_the_contract(cli):
    found = json.loads(cli("kernels", str(COUNTERS), "--on", H200, "--json").out)
    assert found["schema"] == "rooflens/kernels/1"
    assert {
        "name", "calls", "time_s", "share_of_time", "flops", "bytes", "flops_origin", "bytes_origin", "dtype",
        "intensity_flops_per_byte", "roof", "share_of_roof", "regime",
    } <= found["kernels"][0].keys()  # fmt: skip
    assert {"floor", "inefficiency", "collectives"} <= found["attribution_s"].keys()
    assert "launch" not in found["attribution_s"]  # not known is absent, and no null
    assert "null" not in cli("kernels", str(COUNTERS), "--on", H200, "--json").out


def test_a_gate_for_ci_exits_1_under_its_limit(cli):
    gate = ("kernels", str(COUNTERS), "--on", H200, "--fail-below")
    assert cli(*gate, "share_of_roof:nvjet=0.9").code == 0
    low = cli(*gate, "share_of_roof:nvjet=0.95")
    assert (low.code, "under the 0.95 asked for" in low.err) == (1, True)
    assert cli(*gate, "mbu=0.6").code == 1
    assert cli(*gate, "mfu=0.0001").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.json",), "nowhere.json"),
        ((str(COUNTERS), "--on", "h300"), "unknown accelerator 'h300'"),
        ((str(TRACE), "--fail-below", "speed=1"), "unknown ratio 'speed'"),
        ((str(TRACE), "--fail-below", "mbu"), "write a ratio between 0 and 1.5, as mbu=0.6"),
        ((str(TRACE), "--fail-below", "mbu:x"), "mbu is of the whole run"),
        (("compare", str(TRACE), str(TRACE), "--batch", "4"), "the rest is of one run"),
        (("compare", str(TRACE), str(TRACE), "--weights", "fp8"), "the rest is of one run"),
        ((str(TRACE), "--fail-below", "share_of_roof=0.5"), "name a kernel"),
        ((str(TRACE), "--fail-below", "mbu:x=0.5"), "mbu is of the whole run"),
        ((str(TRACE), "--fail-below", "mbu=60"), "write a ratio between 0 and 1.5"),
        ((str(TRACE), "--fail-below", "share_of_roof:nobody=0.5"), "unknown kernel 'nobody'"),
        ((str(TRACE), "--batch", "4"), "name the model with --model"),
        ((str(TRACE), "--model", "llama-9"), "llama-9"),
        ((str(TRACE), "--tolerance", "0.1"), "compare BEFORE AFTER"),
        (("compare", str(TRACE)), "compare takes two files"),
        (("compare", str(TRACE), str(TRACE), "--model", "llama-3.1-8b"), "the rest is of one run"),
        ((str(TRACE), "--plot", "x.gif"), "must end in .png or .svg"),
    ],
)
def test_wrong_use_is_one_sentence(cli, arguments, said):
    told = cli("kernels", *arguments)
    assert told.code == 2
    assert said in told.err
    assert "Traceback" not in told.err


def test_a_file_that_names_no_device_asks_for_one(tmp_path):
    (tmp_path / "t.json").write_text(trace(kernel("k", 0, 5)))
    with pytest.raises(RooflensError, match="names no device; say whose roofs apply with --on MACHINE"):
        kernels(tmp_path / "t.json")


def test_a_file_of_another_chip_than_the_roofs_says_so():
    found = kernels(TRACE, "a100-sxm4-80gb")
    assert "the file is of H200 SXM 141GB, the roofs are those of A100 SXM4 80GB" in found.notes


def test_a_machine_that_was_measured_on_such_a_chip_is_no_other_chip():
    assert not any("the file is of" in note for note in kernels(TRACE, "measured:h200-sxm-141gb").notes)


def test_every_answer_repeats_what_was_assumed_of_the_machine(tmp_path):
    said = "assumed of h200-sxm-141gb: memory 2TB/s"
    on = "h200-sxm-141gb,memory=2TB/s"
    assert said in kernels(TRACE, on).notes
    assert compare(TRACE, TRACE, on).notes == (said,)


def test_a_comparison_says_what_the_readers_say_of_its_files_and_of_their_chips(cli, tmp_path):
    whole = trace(kernel("k", 0, 5), kernel("k", 9, 5), deviceProperties=[{"id": 0, "name": "NVIDIA L4"}])
    (tmp_path / "a.json").write_text(whole)
    (tmp_path / "b.json").write_text(whole[:-20])
    told = cli("kernels", "compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--on", "l40s")
    assert told.code == 0
    assert "b.json: is cut off at byte" in told.err
    assert "the file is of L4, the roofs are those of L40S" in told.out


def test_a_name_that_begins_another_is_another_chip(tmp_path):
    (tmp_path / "t.json").write_text(trace(kernel("k", 0, 5), deviceProperties=[{"id": 0, "name": "NVIDIA L4"}]))
    assert "the file is of L4, the roofs are those of L40S" in kernels(tmp_path / "t.json", "l40s").notes


def test_one_die_of_a_card_of_two_has_the_roofs_of_one(tmp_path):
    die = {"id": 0, "name": "AMD Instinct MI250X", "totalGlobalMem": 68702699520}
    (tmp_path / "t.json").write_text(trace(kernel("k", 0, 5), deviceProperties=[die]))
    found = there(observed(tmp_path / "t.json"), None)
    assert found.memory().value == pytest.approx(1638.4e9, rel=1e-3)  # of the 3276.8 GB/s of the card
    assert "the file is of" not in "".join(kernels(tmp_path / "t.json").notes)
    assert any("one of 2 devices" in note for note in kernels(tmp_path / "t.json", "mi250x-128gb").notes)


def test_a_slice_of_a_chip_never_gets_the_roofs_of_the_whole(tmp_path):
    part = {"id": 0, "name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "totalGlobalMem": 10.2e9}
    for properties in (part, {**part, "name": "NVIDIA H100 80GB HBM3"}):
        (tmp_path / "t.json").write_text(trace(kernel("k", 0, 5), deviceProperties=[properties]))
        with pytest.raises(RooflensError, match="say whose roofs apply with --on MACHINE"):
            kernels(tmp_path / "t.json")
        notes = kernels(tmp_path / "t.json", "h100-sxm5-80gb").notes
        assert any("is none of the catalogue: the roofs are those of H100 SXM5 80GB" in note for note in notes)


@pytest.mark.parametrize("what", [None, 3, b"x"])
def test_what_is_no_path_and_no_machine_is_refused_in_a_sentence(what):
    with pytest.raises(RooflensError, match="expected the path of a file"):
        kernels(what)
    if what is not None:
        with pytest.raises(RooflensError, match="expected the name of a machine"):
            kernels(TRACE, what)


def test_a_step_needs_a_model_and_a_name_that_is_known():
    with pytest.raises(RooflensError, match="batch says what step a model ran; name the model"):
        kernels(TRACE, batch=4)
    with pytest.raises(RooflensError, match="unknown argument 'bacth'; did you mean 'batch'"):
        kernels(TRACE, model="llama-3.1-8b", bacth=4)


def test_copies_without_kernels_are_said_to_be_copies(tmp_path):
    sizes = "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n"
    (tmp_path / "s.csv").write_text(sizes + "24.000,3,8.0,8.0,8.0,8.0,0.0,[CUDA memcpy Host-to-Device]\n")
    with pytest.raises(RooflensError, match=r"no kernels are in it; it holds copies alone: 3 HtoD of 24 MB"):
        kernels(tmp_path / "s.csv", H200)


def test_a_run_of_collectives_alone_has_no_share_of_known_work():
    talk = Collective("all_reduce", message_bytes=1e6, ranks=2, bus_factor=1.0)
    found = account(
        Observed("w", "x", kernels=(Kernel("nccl", time_s=2e-5, collective=talk, family="collective"),)), TOY
    )
    assert (found.known_share, found.attribution_s.collectives) == (None, 2e-5)


def test_a_device_that_the_catalogue_does_not_know_asks_for_a_machine(tmp_path):
    found = trace(kernel("k", 0, 5), deviceProperties=[{"id": 0, "name": "Some GPU", "totalGlobalMem": 8}])
    (tmp_path / "t.json").write_text(found)
    with pytest.raises(RooflensError, match=r"'Some GPU'.*--on MACHINE"):
        kernels(tmp_path / "t.json")


def test_a_device_under_a_name_of_its_makers_workshop_is_asked_about_with_the_chips_that_are_built_so(tmp_path):
    own = {"id": 0, "name": "NVIDIA A100-XX1-200", "totalGlobalMem": 42297524224, "computeMajor": 8, "computeMinor": 0,
           "numSms": 108}  # fmt: skip
    (tmp_path / "t.json").write_text(trace(kernel("k", 0, 5), deviceProperties=[own]))
    with pytest.raises(RooflensError, match=r"its 108 units of 8\.0 are those of a100-sxm4-40gb, a100-pcie-40gb"):
        kernels(tmp_path / "t.json")


def test_every_language_tells_the_same_run(cli):
    told = [cli("kernels", str(TRACE), "--on", H200, "--lang", lang).out for lang in ("en", "es", "vi")]
    assert len(set(told)) == 3
    assert all("nvjet" in one for one in told)
    both = cli("kernels", "compare", str(TRACE), str(TRACE), "--lang", "es")
    assert "igual" in both.out
