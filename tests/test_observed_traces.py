"""PyTorch traces: who launched what, whose work it was, why the device waited; old, odd, broken and huge ones."""

from __future__ import annotations

import gzip
import json
import os

import pytest
from observed_files import TRACE, kernel, launch, observed, op, packed, span, trace

from rooflens import readers
from rooflens.errors import BadFile, RooflensError
from rooflens.readers.profiles import shapes

GEMM = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT"
MM = [[512, 4096], [4096, 1024]]


@pytest.fixture(scope="module")
def h200():
    return readers.observed(TRACE)


@pytest.fixture(scope="module")
def events():
    return json.loads(gzip.decompress(TRACE.read_bytes()))["traceEvents"]


def test_the_time_of_all_kernels_is_the_sum_in_the_file(h200, events):
    assert h200.time_s == pytest.approx(sum(e["dur"] for e in events if e.get("cat") == "kernel") * 1e-6, rel=1e-12)
    assert sum(k.calls for k in h200.kernels) == 329
    assert sum(c.calls for c in h200.copies) == 3


def test_the_flops_of_products_are_their_shapes_to_the_unit(h200, events):
    wanted = 0
    for event in events:
        if event.get("cat") == "cpu_op" and event["name"] in ("aten::mm", "aten::bmm"):
            *stack, m, k = event["args"]["Input Dims"][0]
            wanted += 2 * (stack[0] if stack else 1) * m * k * event["args"]["Input Dims"][1][-1]
    products = [k for k in h200.kernels if k.operator.name in ("aten::mm", "aten::bmm") and k.flops is not None]
    assert sum(k.total_flops for k in products) == wanted == 583163511040


def test_flops_and_bytes_are_known_for_nearly_all_of_the_time(h200):
    for field in ("flops", "bytes"):
        known = sum(k.time_s for k in h200.kernels if getattr(k, field) is not None)
        assert known / h200.time_s > 0.98
    unknown = [k for k in h200.kernels if k.bytes is None]
    assert {k.name.split("<")[0] for k in unknown} == {
        "void cublasLt::splitKreduce_kernel", "void cudnn::fusion::lean_reduction_kernel",
        "void (anonymous namespace)::elementwise_kernel_with_index",
    }  # fmt: skip
    assert all(k.missing["bytes"] for k in unknown)


def test_a_head_of_a_decode_step_streams_its_weights(h200):
    head = next(k for k in h200.kernels if k.operator.shapes == ((1, 4096), (4096, 32000)))
    assert head.bytes == 2 * (4096 + 4096 * 32000 + 32000) * 2  # two calls, two bytes a value
    assert (head.calls, head.dtype, head.unit, head.accumulate) == (2, "bf16", "matrix", "fp32")


def test_causal_attention_counts_half_of_its_scores(h200):
    prefill = next(
        k for k in h200.kernels if k.operator.shapes[:1] == ((1, 32, 512, 128),) and "attention" in k.operator.name
    )
    assert prefill.flops == {"bf16": 2 * 2 * 2 * 32 * 128 * 512 * (512 + 1) / 2}  # two layers, two products
    assert prefill.bytes == 2 * (2 * 32 + 2 * 8) * 512 * 128 * 2
    assert prefill.dtype == "bf16"  # its name says 16 bit, the operator which


def busy_s(line):
    return line.kernels_s + line.collectives_s + line.copies_s


def test_an_eager_run_waits_for_its_host(h200):
    (line,) = h200.timelines
    assert line.span_s == pytest.approx(busy_s(line) + line.gaps_s)
    assert line.gaps_s == pytest.approx(line.host_s + line.launch_s + line.unseen_s)
    assert line.host_s > 0.95 * line.gaps_s
    assert line.unseen_s == 0
    assert len(line.order) == line.launches == 329
    assert sum(line.order_s) == pytest.approx(h200.time_s)
    assert h200.devices[0].name == "NVIDIA H200"
    assert h200.training is False


def test_nested_operators_count_once_on_the_host(h200, events):
    ops = [e for e in events if e.get("cat") == "cpu_op"]
    ends, outer = 0.0, 0.0
    for event in sorted(ops, key=lambda e: (e["ts"], -e["dur"])):
        if event["ts"] >= ends:  # one thread: what begins after all others ended is outermost
            ends, outer = event["ts"] + event["dur"], outer + event["dur"]
    assert sum(o.self_s for o in h200.host_ops) == pytest.approx(outer * 1e-6, rel=1e-6)
    assert sum(o.time_s for o in h200.host_ops) > 1.5 * outer * 1e-6


def test_both_forms_of_a_trace_are_the_same_trace(tmp_path, h200, events):
    bare = observed(tmp_path, json.dumps(events))
    assert bare.kernels == h200.kernels
    assert bare.timelines == h200.timelines


def test_helpers_do_no_work_a_second_time(tmp_path):
    found = observed(tmp_path, trace(
        op("aten::linear", 0, 50, MM), op("aten::mm", 1, 40, MM),
        launch(5, 2, 1), launch(10, 2, 2),
        kernel(GEMM, 20, 10, corr=1), kernel("cublasLt::splitKreduce_kernel<1>", 31, 30, corr=2),
    ))  # fmt: skip
    by_name = {k.name[:5]: k for k in found.kernels}
    assert by_name["nvjet"].flops == {"bf16": 2 * 512 * 4096 * 1024}
    assert by_name["cubla"].flops is None
    assert "helps aten::mm" in by_name["cubla"].missing["flops"]
    assert by_name["nvjet"].operator.root == "aten::linear"


def test_tf32_is_read_from_the_name_of_the_kernel(tmp_path):
    name = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>"
    found = observed(tmp_path, trace(op("aten::mm", 0, 50, [[2048, 2048], [2048, 256]], ["float", "float"]),
                                     launch(5, 2, 77), kernel(name, 20, 45, corr=77, ext=77)))  # fmt: skip
    assert found.kernels[0].flops == {"tf32": 2 * 2048 * 2048 * 256}
    assert found.kernels[0].unit == "matrix"


def test_fp32_products_on_plain_cores_are_vector_work(tmp_path):
    found = observed(tmp_path, trace(op("aten::mm", 0, 50, [[64, 64], [64, 64]], ["float", "float"]), launch(5, 2, 7),
                                     kernel("ampere_sgemm_128x64_tn", 20, 45, corr=7)))  # fmt: skip
    assert (found.kernels[0].flops, found.kernels[0].vector_flops) == ({}, {"fp32": 2 * 64**3})


def test_a_backward_kernel_is_never_called_forward(tmp_path):
    found = observed(tmp_path, trace(
        span("ProfilerStep#552", 0, 500),
        op("aten::mm", 1, 20, MM), launch(5, 2, 1), kernel(GEMM, 30, 10, corr=1),
        op("autograd::engine::evaluate_function: MmBackward0", 100, 60, tid=2), op("MmBackward0", 101, 50, tid=2),
        op("aten::mm", 102, 40, MM, tid=2), launch(105, 2, 2, tid=2), kernel(GEMM, 130, 11, corr=2),
        span("Optimizer.step#AdamW.step", 200, 60), op("aten::add_", 205, 9, [[8, 8], [8, 8]]), launch(206, 2, 3),
        kernel("elementwise_kernel", 230, 1, corr=3),
    ))  # fmt: skip
    assert found.training is True
    assert {k.operator.phase: k.time_s for k in found.kernels} == pytest.approx(
        {"forward": 10e-6, "backward": 11e-6, "optimizer": 1e-6}
    )
    assert next(k for k in found.kernels if k.operator.phase == "backward").operator.root.startswith("autograd")
    assert {s.name: s.calls for s in found.spans}["ProfilerStep"] == 1


def test_kernels_of_a_graph_take_no_shapes_from_the_replay(tmp_path):
    found = observed(tmp_path, trace(op("aten::mm", 0, 50, MM), launch(5, 2, 1, "cudaGraphLaunch"),
                                     kernel(GEMM, 20, 10, corr=1), kernel("other", 31, 10, corr=1)))  # fmt: skip
    assert [k.flops for k in found.kernels] == [None, None]
    assert all(k.launch.graph for k in found.kernels)
    assert "replayed from a graph" in found.kernels[0].missing["flops"]
    assert found.timelines[0].graph_launches == 2
    assert any("2 kernels were replayed" in warning for warning in found.warnings)


def test_overlapping_streams_count_once(tmp_path):
    found = observed(
        tmp_path,
        trace(kernel("a", 0, 10), kernel("b", 5, 10, stream=8), kernel("ncclDevKernel_AllReduce", 12, 8, stream=9)),
    )
    (line,) = found.timelines
    assert (line.kernels_s, line.collectives_s, line.summed_s) == (
        pytest.approx(15e-6),
        pytest.approx(5e-6),
        pytest.approx(28e-6),
    )
    assert (line.span_s, line.gaps_s, line.streams) == (pytest.approx(20e-6), 0, 3)


def test_a_gap_is_the_hosts_until_it_calls_and_the_launchs_from_then_on(tmp_path):
    found = observed(tmp_path, trace(
        launch(-5, 2, 1), launch(70, 4, 2),
        kernel("a", 0, 10, corr=1), kernel("b", 80, 5, corr=2), kernel("c", 100, 5, corr=3),
    ))  # fmt: skip
    (line,) = found.timelines
    assert (line.host_s, line.launch_s, line.unseen_s) == (
        pytest.approx(60e-6),
        pytest.approx(10e-6),
        pytest.approx(15e-6),
    )
    assert [(g.after, g.before) for g in line.longest_gaps] == [("a", "b"), ("b", "c")]


def test_devices_and_ranks_are_kept_apart(tmp_path):
    found = observed(tmp_path, trace(kernel("a", 0, 10, device=1), kernel("a", 0, 30, device=0, pid=3),
                                     distributedInfo={"rank": 5, "world_size": 8}))  # fmt: skip
    assert (found.rank, found.world) == (5, 8)
    assert {t.device: busy_s(t) for t in found.timelines} == pytest.approx({0: 30e-6, 1: 10e-6})
    assert {k.device for k in found.kernels} == {0, 1}


def test_collectives_say_what_they_moved(tmp_path):
    found = observed(tmp_path, trace(kernel("ncclKernel_AllReduce_RING_LL_Sum_float", 0, 2636.669, **{
        "Collective name": "allreduce", "In msg nelems": 6637568, "Out msg nelems": 6637568, "Group size": 2,
        "dtype": "Float",
    })))  # fmt: skip
    one = found.collectives[0]
    moved = one.collective
    assert (moved.operation, moved.message_bytes, moved.ranks, moved.bus_factor) == ("all_reduce", 4 * 6637568, 2, 1.0)
    assert moved.message_bytes / one.time_s == pytest.approx(10.07e9, rel=1e-3)


def test_a_generated_kernel_has_bytes_and_no_flops(tmp_path):
    name = "triton_poi_fused_add_cos_sin_0"
    found = observed(tmp_path, trace(op(name, 0, 90, [[10, 10]] * 3, ["float"] * 3),
                                     launch(50, 9, 35, "cuLaunchKernel"), kernel(name, 95, 1.76, corr=35)))  # fmt: skip
    assert (found.kernels[0].bytes, found.kernels[0].flops) == (3 * 100 * 4, None)
    assert "nobody says what a generated kernel computes" in found.kernels[0].missing["flops"]


def test_a_trace_of_rocm_is_read_alike(tmp_path):
    name = "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_SE"
    found = observed(tmp_path, trace(op("aten::mm", 0, 50, MM, ["c10::Half"] * 2),
                                     launch(5, 2, 4, "hipExtModuleLaunchKernel"),
                                     kernel(name, 60, 10, corr=4)))  # fmt: skip
    assert found.kernels[0].flops == {"fp16": 2 * 512 * 4096 * 1024}
    assert found.kernels[0].accumulate == "fp32"


def test_the_profiler_of_old_pytorch_names_no_categories(tmp_path):
    old = [{"name": "aten::mm", "ph": "X", "ts": 0, "dur": 50, "tid": 1, "pid": "CPU functions", "args": {}},
           {"name": "volta_sgemm_64x64_nn", "ph": "X", "ts": 20, "dur": 10, "tid": 0, "pid": "CUDA functions",
            "args": {}}]  # fmt: skip
    found = observed(tmp_path, json.dumps(old))
    assert [(k.name, k.time_s) for k in found.kernels] == [("volta_sgemm_64x64_nn", pytest.approx(10e-6))]
    assert found.host_ops[0].name == "aten::mm"


def test_a_trace_of_the_host_alone_is_no_crash_and_no_zero(tmp_path):
    found = observed(tmp_path, trace(op("aten::empty", 0, 5), deviceProperties=[]))
    assert found.kernels == found.timelines == ()
    assert found.host_ops[0].name == "aten::empty"
    assert any("no kernels are in it" in warning for warning in found.warnings)


def test_without_shapes_flops_are_unknown_and_the_file_says_how_to_get_them(tmp_path):
    found = observed(tmp_path, trace(op("aten::mm", 0, 50), launch(5, 2, 1), kernel(GEMM, 20, 10, corr=1)))
    assert found.kernels[0].flops is None
    assert found.kernels[0].dtype == "bf16"
    assert any("record_shapes=True" in warning for warning in found.warnings)


def test_of_a_trace_that_is_cut_off_what_is_whole_is_read(tmp_path):
    text = trace(kernel("a", 0, 10), kernel("b", 20, 10))
    begins = text.index('{\n   "ph"', text.index('"b"') - 60)
    found = observed(tmp_path, text[: text.index('"b"') + 1])
    assert [k.name for k in found.kernels] == ["a"]
    assert found.warnings[0] == f"is cut off at byte {begins}; what is before it was read"


def test_of_a_gzip_file_that_is_cut_off_too(tmp_path):
    data = packed(trace(*(kernel(f"k{i * 7919 % 1000}", i, 1) for i in range(3000))).encode())
    found = observed(tmp_path, data[: len(data) // 2])
    assert 100 < sum(k.calls for k in found.kernels) < 3000
    assert any("cut off" in warning for warning in found.warnings)


def test_a_damaged_event_is_left_out_and_counted(tmp_path):
    text = trace(kernel("a", 0, 10), kernel("b", 20, 10), kernel("c", 40, 10)).replace('"b"', '"b')
    found = observed(tmp_path, text)
    assert {k.name for k in found.kernels} == {"a", "c"}
    assert found.lost == 1


@pytest.mark.parametrize("bad", ["NaN", "-Infinity", "1e999", "-1", '"soon"', "null", "{}", "9" * 400])
def test_an_event_without_a_time_is_left_out_and_counted(tmp_path, bad):
    good = json.dumps(kernel("a", 0, 10))
    found = observed(
        tmp_path,
        f'{{"traceEvents": [{good}, {json.dumps(kernel("b", 1, "?")).replace(chr(34) + "?" + chr(34), bad)}]}}',
    )
    assert [k.name for k in found.kernels] == ["a"]
    assert found.lost == 1
    assert any("1 events" in warning for warning in found.warnings)


def test_a_device_of_which_nothing_is_left_has_no_timeline(tmp_path):
    found = observed(tmp_path, trace(kernel("a", 0, 10), kernel("b", 5, -1, device=3)))
    assert [line.device for line in found.timelines] == [0]


def test_a_key_that_is_there_twice_is_said(tmp_path):
    one = json.dumps(kernel("a", 0, 10))
    found = observed(tmp_path, f'{{"traceEvents": [{one}], "traceEvents": [{one}]}}')
    assert found.kernels[0].calls == 2
    assert any("twice" in warning for warning in found.warnings)


def test_bytes_that_are_no_text_are_shown_and_said(tmp_path):
    found = observed(tmp_path, trace(kernel("a?b", 0, 10)).encode().replace(b"?", b"\xff"))
    assert found.kernels[0].name == "a\ufffdb"
    assert any("not UTF-8" in warning for warning in found.warnings)


def test_a_name_with_half_a_character_can_be_written_again(tmp_path):
    found = observed(tmp_path, '{"traceEvents": [' + json.dumps(kernel("a?b", 0, 10)).replace("?", "\\ud800") + "]}")
    assert found.kernels[0].name.encode()


def test_nothing_to_read_is_an_error(tmp_path):
    for text in ('{"traceEvents": []}', '[{"ph": "M", "name": "process_name"}]'):
        with pytest.raises(BadFile, match=r"no kernel and no operator is in it|holds no events"):
            observed(tmp_path, text)
    with pytest.raises(RooflensError):
        observed(tmp_path, '{"traceEvents": ')


def test_a_deep_nest_stops_at_the_event_it_is_in(tmp_path):
    deep = "[" * 100_000
    found = observed(tmp_path, f'{{"traceEvents": [{json.dumps(kernel("a", 0, 10))}, {{"args": {deep}')
    assert [k.name for k in found.kernels] == ["a"]
    assert found.warnings


def large(events, **facts):
    """A trace of this many events, each with its operator and launch."""
    names = [f"void elementwise_kernel<{i}, Functor<float>>(int)" for i in range(50)]
    lines = (
        event
        for i in range(events // 3)
        for event in (op("aten::mul", 25 * i, 20, [[64, 64], [64, 64]], ext=i), launch(25 * i + 5, 2, i),
                      kernel(names[i % 50], 25 * i + 12, 3, corr=i, ext=i))
    )  # fmt: skip
    return trace(*lines, **facts)


def test_two_processes_read_what_one_reads(tmp_path, monkeypatch):
    from rooflens.readers.profiles import beside, events, torch_trace

    text = large(3000, deviceProperties=[{"id": 0, "name": "A card"}])
    monkeypatch.setattr(events, "CHUNK", 4096)
    monkeypatch.setattr(torch_trace, "CHUNK", 4096)
    alone = observed(tmp_path, text)
    monkeypatch.setattr(beside, "LEAST_BYTES", 0)
    monkeypatch.setattr(beside, "LEAST_PACKED_BYTES", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    for data in (text, packed(text.encode())):
        together = observed(tmp_path, data)
        assert {(k.name, k.calls, k.time_s, k.bytes) for k in together.kernels} == {
            (k.name, k.calls, k.time_s, k.bytes) for k in alone.kernels
        }
        assert (together.devices, together.host_ops) == (alone.devices, alone.host_ops)
        assert together.timelines[0].host_s == pytest.approx(alone.timelines[0].host_s)
    half = observed(tmp_path, text[: len(text) // 2])
    assert sum(k.calls for k in half.kernels) == pytest.approx(500, abs=2)
    assert "cut off" in half.warnings[0]


def test_what_the_quick_decoder_refuses_the_patient_one_takes(tmp_path, monkeypatch):
    from rooflens.readers.profiles import events

    def strict(text):
        raise ValueError(text)

    monkeypatch.setattr(events, "_loaders", lambda: (strict, json.loads))
    found = observed(tmp_path, trace(kernel("a", 0, 10), kernel("b", 20, 10, note=float("nan"))))
    assert {k.name for k in found.kernels} == {"a", "b"}
    assert found.lost == 0


def test_when_the_other_process_fails_one_reads_alone(tmp_path, monkeypatch):
    from rooflens.readers.profiles import beside, torch_trace

    monkeypatch.setattr(torch_trace, "CHUNK", 4096)
    monkeypatch.setattr(beside, "LEAST_BYTES", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(beside, "_PROGRAM", "import sys; sys.exit(3)")
    assert sum(k.calls for k in observed(tmp_path, large(3000)).kernels) == 1000


@pytest.mark.slow
def test_many_names_stay_many_names_in_bounded_memory(tmp_path):
    import tracemalloc

    text = trace(*(kernel(f"kernel_number_{i}", i, 1) for i in range(100_000)))
    tracemalloc.start()
    found = observed(tmp_path, text)
    assert tracemalloc.get_traced_memory()[1] < 600e6
    tracemalloc.stop()
    assert len(found.kernels) == 100_000


@pytest.mark.parametrize("key", ["Input type", "Concrete Inputs"])
@pytest.mark.parametrize("said", [1e308, True, {"x": 1}, "x"])
def test_what_is_no_list_of_types_or_values_costs_an_operator_its_work_alone(key, said):
    types, values = (said, []) if key == "Input type" else ([], said)
    found = shapes.work("aten::mm", [[4, 4], [4, 4]], types, values)
    assert found is None or found.flops == 2 * 4 * 4 * 4
