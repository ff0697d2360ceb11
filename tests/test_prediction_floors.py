"""Floors of whole deployments: the worked examples, and laws that every prediction keeps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens import api, workload
from rooflens.catalogue.engines import engine
from rooflens.prediction.deployment import Deployment, batch_at_ridge, bound
from rooflens.prediction.memory import reserve
from rooflens.prediction.predicting import predict
from rooflens.roofline.math import resolve
from rooflens.roofline.price import kind_of, price


def deployment(name, on, weights=None, kv=None, tp=1, ep=1, dp=1, pp=1, **load):
    machine = api.machine(on)
    model = api.model(name, links=max(tp, ep, dp, pp) > 1)
    own, _ = workload.own_dtype(model)
    stored = workload.precision(own, weights, kv, model.stored, model.state_dtype)
    precision, _ = resolve(stored, machine)
    return Deployment(model, precision, machine, how={"tp": tp, "ep": ep, "dp": dp, "pp": pp}, **load)


def floor_ms(*what, **how):
    return 1e3 * predict(deployment(*what, **how), reserve(None)).tpot_s.floor_without_collectives


@pytest.mark.parametrize(("batch", "ms"), [(1, 4.56), (16, 5.76), (64, 9.61), (256, 24.99)])
def test_llama_3_1_8b_in_bf16_on_one_h100_at_2048_positions(batch, ms):
    assert floor_ms("llama-3.1-8b", "h100-sxm5-80gb", batch=batch, context=2048) == pytest.approx(ms, rel=1e-3)


@pytest.mark.parametrize(("kv", "ms"), [("bf16", 5.84), ("fp8", 4.24)])
def test_llama_3_1_70b_in_fp8_on_eight(kv, ms):
    how = {"weights": "fp8", "kv": kv, "tp": 8, "batch": 64, "context": 4096}
    assert floor_ms("llama-3.1-70b", "h100-sxm5-80gb", **how) == pytest.approx(ms, rel=1e-3)
    found = predict(deployment("llama-3.1-70b", "h100-sxm5-80gb", **how), reserve(None))
    assert found.where_time_goes["collectives"] == pytest.approx(0.65e-3, rel=0.01)
    assert found.tpot_s.floor - found.tpot_s.floor_without_collectives == pytest.approx(0.652e-3, rel=1e-3)


@pytest.mark.parametrize(("batch", "ms"), [(1, 1.25), (64, 19.3), (256, 33.0)])
def test_deepseek_v3_in_fp8_on_eight_h200(batch, ms):
    how = {"weights": "fp8", "kv": "bf16", "tp": 8, "ep": 8, "batch": batch, "context": 4096}
    assert floor_ms("deepseek-v3", "h200-sxm-141gb", **how) == pytest.approx(ms, rel=0.01)


def test_prefill_of_2048_tokens():
    found = predict(deployment("llama-3.1-8b", "h100-sxm5-80gb", prompt=2048), reserve(None))
    assert 1e3 * found.ttft_s.floor == pytest.approx(30.4, abs=0.1)


def test_the_ridge_batch_of_a_dense_model_is_the_ridge_point_of_its_math():
    """Each weight gives 2 FLOPs a sequence for 2 bytes in bf16, so B = 989.4 / 3.35 = 295.3."""
    assert batch_at_ridge(deployment("llama-3.1-8b", "h100-sxm5-80gb")) == pytest.approx(296, abs=1)
    assert batch_at_ridge(deployment("llama-3.1-8b", "h100-sxm5-80gb", weights="int4")) < 100


@pytest.mark.parametrize(
    ("name", "weights"),
    [("llama-3.1-8b", None), ("llama-3.1-8b", "int4"), ("gemma-3-1b", "fp8"), ("qwen3-30b-a3b", None)],
)
def test_the_ridge_batch_is_the_first_whose_arithmetic_takes_as_long_as_its_weights(name, weights):
    found = batch_at_ridge(deployment(name, "h100-sxm5-80gb", weights))

    def seconds(batch):
        spent = {"compute": 0.0, "memory": 0.0}
        served = deployment(name, "h100-sxm5-80gb", weights, batch=float(batch))
        for operator in served.operators("decode"):
            if any(row.contracts and row.home in ("weight", "tied") for row in operator.rows):
                for resource, one_s in price(operator, served.machine, activations=False).times_s.items():
                    spent[kind_of(resource)] += operator.count * one_s
        return spent["compute"], spent["memory"]

    (compute_s, memory_s), (before_s, read_s) = seconds(found), seconds(found - 1)
    assert compute_s >= memory_s
    assert before_s < read_s


@pytest.mark.parametrize("name", ["llama-3.1-8b", "qwen3-30b-a3b"])
def test_floors_folded_once_are_those_of_the_kernels_one_by_one(name):
    served = deployment(name, "h200-sxm-141gb", batch=7.0, context=3000.0)
    assert bound(served).floor_s(served.step("decode")) == pytest.approx(served.floor("decode").floor_s, rel=1e-12)


def test_what_the_time_goes_to_adds_up_to_the_floor():
    found = predict(deployment("mixtral-8x7b", "h100-sxm5-80gb", tp=4, pp=2, batch=32, context=3000), reserve(None))
    assert sum(found.where_time_goes.values()) == pytest.approx(found.tpot_s.floor, rel=1e-9)


def test_a_prediction_says_what_memory_allows_what_binds_and_where_each_number_comes_from():
    found = predict(deployment("llama-3.1-8b", "h100-sxm5-80gb", batch=256, context=2048), reserve(engine("vllm")))
    assert not found.memory.fits
    assert found.batch_memory_allows < 256 < found.batch_at_ridge
    assert found.bound == "memory"
    assert {c.origin for c in found.constants} <= {"spec", "derived"}
    assert found.mbu_of_datasheet == pytest.approx(1.0), "at the floor the memory roof is reached"
    assert found.mbu_of_measured is None
    assert any("floors only" in note for note in found.notes)


def test_replicas_share_the_batch_and_leave_the_step_as_it_was():
    one = predict(deployment("llama-3.1-8b", "h100-sxm5-80gb", batch=16, context=2048), reserve(None))
    two = predict(deployment("llama-3.1-8b", "h100-sxm5-80gb", batch=32, context=2048, dp=2), reserve(None))
    assert two.tpot_s.floor == one.tpot_s.floor
    assert two.tokens_per_s == pytest.approx(2 * one.tokens_per_s)
    assert two.tokens_per_s_per_device == pytest.approx(one.tokens_per_s_per_device)
    assert two.memory.weight_bytes == one.memory.weight_bytes


def test_a_measured_rate_gives_the_verdict():
    load = deployment("llama-3.1-8b", "h100-sxm5-80gb", batch=1, context=2048)
    near = predict(load, reserve(None), measured_tokens_per_s=160)
    assert near.mbu == pytest.approx(160 * 4.5607e-3, rel=1e-3)
    assert near.verdict.remedy == "batch, precision or hardware"
    assert predict(load, reserve(None), measured_tokens_per_s=60).verdict.remedy == "software"


@settings(max_examples=30, deadline=None)
@given(
    batch=st.integers(1, 300),
    more=st.integers(1, 300),
    context=st.integers(1, 20_000),
    name=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-1b"]),
)
def test_a_floor_never_falls_with_batch_or_context(batch, more, context, name):
    at = {
        (b, c): predict(deployment(name, "h200-sxm-141gb", batch=b, context=c), reserve(None)).tpot_s.floor
        for b, c in ((batch, context), (batch + more, context), (batch, context + more))
    }
    assert at[batch + more, context] >= at[batch, context] * (1 - 1e-12)
    assert at[batch, context + more] >= at[batch, context] * (1 - 1e-12)


def test_an_expectation_lies_within_its_interval_also_where_held_out_rows_lay_to_one_side():
    from rooflens.catalogue.calibrations import served
    from rooflens.prediction.served import Served

    old = Served(served(), "vllm-2024", "l40s").expect(deployment("llama-3.1-8b", "l40s", context=1024), "decode")
    assert old.low_s <= old.time_s <= old.high_s
