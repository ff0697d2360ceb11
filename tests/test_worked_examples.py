"""The roofline course: sections A to C, number by number. A100 is taken at a round 2.0 TB/s, as textbooks do."""

from __future__ import annotations

import pytest

from rooflens import advise, place
from rooflens.api import Question, answer, machine
from rooflens.dtypes import dtype
from rooflens.operators.alone import alone
from rooflens.operators.cost import Cost, total
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import attainable, regime, ridge
from rooflens.roofline.place import place as placed
from rooflens.roofline.points import Point
from rooflens.workload import precision

CLOSE = 0.005
A100 = "a100-sxm4-80gb,memory=2.0TB/s"
H100 = "h100-sxm5-80gb"


def close(value: float) -> object:
    return pytest.approx(value, rel=CLOSE)


@pytest.mark.parametrize(
    ("on", "math", "path", "flops_per_byte"),
    [
        (H100, "bf16", None, 295.3),  # 989.4e12 / 3.35e12
        (H100, "fp8", None, 590.7),
        (A100, "fp16", None, 156.0),
        (A100, "int8", None, 312.0),
        (A100, "fp32", "vector", 9.75),
        (A100, "fp64", "vector", 4.85),
    ],
)
def test_a1_a2_ridge_points(on: str, math: str, path: str | None, flops_per_byte: float) -> None:
    assert ridge(machine(on), math, path) == close(flops_per_byte)


def test_a1_ridge_at_eighty_per_cent_of_peak() -> None:
    assert ridge(machine(f"{H100},bf16=791.52TFLOP/s"), "bf16") == close(236.3)


def test_a3_doubling_a_vector_is_limited_by_bytes() -> None:
    found = place("elementwise:n=16777216,flops=1", H100)
    assert found.operators[0].intensity_flops_per_byte == 0.25  # 1 FLOP / (2 B read + 2 B written)
    assert found.total.floor_s == close(20.0e-6)  # 2**24 x 4 B / 3.35 TB/s
    assert 2**24 / machine(H100).compute("fp32", "vector").value == close(0.25e-6)
    assert found.operators[0].attainable_flops_per_s <= 0.84e12


def test_a4_a_square_product_counts_three_matrices() -> None:
    assert place("gemm:M=4096,K=4096,N=4096", H100).total.intensity_flops_per_byte == pytest.approx(4096 / 3)


@pytest.mark.parametrize(("batch", "intensity"), [(1, 1.000), (16, 15.9), (64, 62.7)])
def test_a5_decode_gemm_has_the_batch_as_intensity(batch: int, intensity: float) -> None:
    found = place(f"gemm:M={batch},K=4096,N=14336", H100)
    assert found.total.intensity_flops_per_byte == close(intensity)


@pytest.mark.parametrize(
    ("weights", "math", "weights_only", "all_operands"),
    [("bf16", "bf16", 295, 326), ("fp8", "fp8", 295, 363), ("fp8", "bf16", 148, 163)],
)
def test_a6_batch_at_which_a_decode_gemm_stops_being_free(
    weights: str, math: str, weights_only: int, all_operands: int
) -> None:
    def first_compute_bound(time_of: str) -> int:
        for batch in range(100, 500):
            found = place(f"gemm:M={batch},K=4096,N=14336", H100, weights=weights, math=math)
            if getattr(found, time_of).bound == "compute":
                return batch
        raise AssertionError

    assert first_compute_bound("step_floor") == pytest.approx(weights_only, abs=1)
    assert first_compute_bound("total") == pytest.approx(all_operands, abs=1)


def test_a7_one_kernel_two_regimes() -> None:
    there = machine(A100)
    assert ridge(there, "fp16") > 20 > ridge(there, "fp32", "vector")
    fp16, fp32 = ({m: 20.0} for m in ("fp16", "fp32"))
    assert placed("fp16", Cost(fp16, activation_bytes=1), there).bound == "memory"
    assert placed("fp32", Cost(fp32, activation_bytes=1), there).bound == "compute"


@pytest.mark.parametrize(("operator", "intensity"), [("softmax", 1.25), ("layernorm", 2.0)])
def test_a8_softmax_and_norm_lie_on_the_slope(operator: str, intensity: float) -> None:
    found = place(f"{operator}:n=1e6", H100)
    assert (found.total.bound, found.operators[0].intensity_flops_per_byte) == ("memory", intensity)


def named(found: object, name: str) -> object:
    return next(o for o in found.operators if o.name == name)  # type: ignore[attr-defined]


def test_b1_decode_attention_is_on_the_slope() -> None:
    attention = named(place("llama-2-7b", A100, context=4096), "attention")
    assert attention.flops == 4 * 4096 * 4096  # 4 S D
    assert attention.kv_bytes == 2 * 4096 * 4096 * 2  # K and V, S x D, two bytes
    assert attention.intensity_flops_per_byte == close(1.00)
    assert attention.attainable_flops_per_s == close(2e12)
    assert attention.share_of_peak == close(0.0064)


def test_b2_all_layers_and_what_a_batch_of_caches_weighs() -> None:
    attention = named(place("llama-2-7b", A100, context=4096), "attention")
    assert attention.count * attention.flops == close(2.15e9)
    assert attention.count * attention.kv_bytes == 2 * 2**30  # 2.0 GiB exactly
    assert 156 * attention.count * attention.kv_bytes == 312 * 2**30


def test_b3_weights_streamed_a_decode_step() -> None:
    short, long = place("llama-2-7b", A100, context=1), place("llama-2-7b", A100, context=4096)
    weights = sum(o.count * o.weight_bytes for o in short.operators)
    assert weights == close(13.21e9)
    assert weights / 2e12 == close(6.61e-3)
    assert long.step_floor.floor_s == close(7.68e-3)


def test_b4_prefill_attention_and_its_causal_half() -> None:
    full, causal = (
        named(place("llama-2-7b", A100, phase="prefill", prompt=2048, mask=m), "attention") for m in ("full", "causal")
    )
    assert full.flops == 4 * 2048**2 * 4096
    assert full.count * full.flops == close(2.20e12)
    assert causal.flops / full.flops == (2048 + 1) / (2 * 2048)


def test_b5_unfused_prefill_attention_is_memory_bound() -> None:
    def cost(form: str) -> Cost:
        text = "attention:B=1,H=32,K=32,W=128,S=2048,T=2048,causal=0"
        return alone(text, form).cost(precision(dtype("fp16")))  # type: ignore[arg-type]

    there = machine(A100)
    intensity = {form: cost(form).total_flops / cost(form).bytes for form in ("unfused", "fused-softmax", "flash")}
    assert intensity["unfused"] == close(60.2)
    assert intensity["fused-softmax"] == close(113.8)
    assert intensity["fused-softmax"] < ridge(there, "fp16") < intensity["flash"]
    kernels = place("attention:H=32,K=32,W=128,S=2048,T=2048", A100, attention="unfused", weights="fp16").operators
    assert {k.bound for k in kernels} == {"memory"}


def test_b6_flops_of_a_layer() -> None:
    layer = [o for o in place("llama-2-7b", A100).operators if o.count == 32 and o.name != "attention"]
    by_name = {o.name: o.flops for o in layer}
    assert by_name["gate_up"] + by_name["down"] == 6 * 4096 * 11008
    assert sum(by_name.values()) == 8 * 4096**2 + 6 * 4096 * 11008


@pytest.mark.parametrize(("fused", "intensity"), [(False, 1215), (True, 1261)])
def test_b7_prefill_ffn_is_compute_bound(fused: bool, intensity: float) -> None:
    names = ("gate_up", "down") if fused else ("gate", "up", "down")
    found = place("llama-2-7b", A100, phase="prefill", prompt=2048, fused=fused)
    ffn = [o for o in found.operators if o.name in names]
    # norm weights (D x 2 B) ride with the first product; the textbook figure leaves them out
    flops, moved = sum(o.flops for o in ffn), sum(o.weight_bytes + o.activation_bytes for o in ffn) - 2 * 4096
    assert flops / moved == close(intensity)
    assert {o.bound for o in ffn} == {"compute"}


def test_c1_decode_attention_on_h100() -> None:
    found = place("attention:H=32,K=32,W=128,S=4096", H100, weights="fp16")
    assert found.operators[0].attainable_flops_per_s == close(3.35e12)
    assert found.operators[0].share_of_peak == close(0.0034)


def attention_cost(text: str, **formats: str) -> Cost:
    return alone(text).cost(precision(dtype("fp16"), **formats))


def gain(before: Cost, after: Cost, there: Machine) -> tuple[float, Point, Point]:
    """The ratio of two prices, and both points."""
    first, second = placed("before", before, there), placed("after", after, there)
    return first.time_s / second.time_s, first, second


def test_c2_a_kernel_with_four_times_the_intensity_cannot_exist() -> None:
    there, cost = machine(H100), attention_cost("attention:H=32,K=32,W=128,S=4096")
    times, _, after = gain(cost, replace(cost, kv_bytes=cost.kv_bytes / 4), there)
    assert after.intensity_flops_per_byte == close(4.0)
    assert (times, after.attainable_flops_per_s, after.bound) == (close(4.0), close(13.4e12), "memory")
    grouped = attention_cost("attention:H=32,K=8,W=128,S=4096")
    assert gain(cost, grouped, there)[0] == close(4.0)
    levers = {lever.name: lever for lever in advise("llama-2-7b", H100).levers}
    assert "each key and value is read once already" in (levers["GQA-aware decode attention"].why_not or "")


def test_c3_int8_cache_halves_the_bytes_and_leaves_the_flops() -> None:
    text = "attention:H=32,K=32,W=128,S=4096"
    times, before, after = gain(attention_cost(text), attention_cost(text, kv="int8"), machine(H100))
    assert after.flops == before.flops
    assert (after.intensity_flops_per_byte, times) == (close(2.0), close(2.0))


def test_c4_half_precision_needs_the_math_when_compute_binds() -> None:
    there, byte = machine(A100), 1e9
    fp32 = Cost({"fp32": 20 * byte}, activation_bytes=byte)
    stored, before, _ = gain(fp32, Cost({"fp32": 20 * byte}, activation_bytes=byte / 2), there)
    computed, _, after = gain(fp32, Cost({"fp16": 20 * byte}, activation_bytes=byte / 2), there)
    slope = gain(Cost({"fp32": byte}, activation_bytes=byte), Cost({"fp32": byte}, activation_bytes=byte / 2), there)
    assert (before.bound, stored) == ("compute", 1.0)
    assert (computed, after.bound) == (close(4.10), "memory")
    assert (after.intensity_flops_per_byte, after.flops_per_s) == (40.0, close(80e12))
    assert slope[0] == 2.0


@pytest.mark.parametrize(("weights", "times"), [("4.0 bits", 4.0), ("4.5 bits", 3.556)])
def test_c5_weight_only_int4_gains_bytes_and_keeps_the_roof(weights: str, times: float) -> None:
    wide = place("gemm:M=1,K=4096,N=14336", H100)
    narrow = place("gemm:M=1,K=4096,N=14336", H100, weights=weights)
    assert wide.step_floor.floor_s / narrow.step_floor.floor_s == close(times)
    assert narrow.operators[0].math == "bf16"


def test_c6_the_ridge_batch_is_out_of_reach_of_memory() -> None:
    answered = answer(Question("llama-2-7b", batch=156, context=4096), A100)
    step = total(o.cost * o.count for o in answered.operators)
    assert ridge(answered.machine, "fp16") == 156
    assert step.kv_bytes == 312 * 2**30
    assert step.kv_bytes > answered.machine.memory_bytes  # type: ignore[operator]


def test_attainable_never_exceeds_a_roof() -> None:
    there = machine(H100)
    assert attainable(there, "bf16", 1e9) == there.compute("bf16").value
    assert attainable(there, "bf16", 1.0) == there.memory("read").value


def test_a_floor_counts_on_the_best_trusted_sample() -> None:
    from dataclasses import replace

    there = machine(H100)
    read = replace(there.memory("read"), value=1e12, best=2e12)
    faster = replace(there, ceilings=(*(c for c in there.ceilings if c.kind != "memory"), read))
    found = place("op:flops=1,bytes=2e12", faster)
    assert found.total.floor_s == 1.0  # 2e12 B at the best sample of 2e12 B/s


def test_a_regime_changes_only_beyond_its_half():
    """Launch is over half of the time; below the roof is under half of attainable; launch is named first."""
    said = [regime("memory", 1.0, launch_s) for launch_s in (0.9, 1.0, 1.1)]
    assert said == ["memory", "memory", "launch"]
    said = [regime("compute", 1.0, 0.0, measured_s) for measured_s in (1.9, 2.0, 2.1)]
    assert said == ["compute", "compute", "below-roof"]
    assert regime("compute", 1.0, 1.5, 2.1) == "launch"
