"""Figures of a prediction follow from one another: rates from times, shares from rates, cost and energy from both."""

from __future__ import annotations

import pytest

from rooflens import api
from rooflens.api.serving import predict
from rooflens.prediction.record import Times

CHIP = "h100-sxm5-80gb"
READ, PEAK = 3.35e12, 989.4e12  # of its datasheet
LLAMA_BYTES = 2 * 7_504_924_672  # of Llama-3.1-8B in bf16, less the embedding, of which a step reads a row a token
LOADS = [
    {"batch": 1, "context": 2048}, {"batch": 24, "context": 1000, "tp": 2}, {"batch": 6, "prompt": 512, "dp": 2},
    {"batch": 8, "context": 4096, "pp": 4, "microbatches": 2},
    {"batch": 3, "context": 700, "tokens": 4, "acceptance": 0.5},
]  # fmt: skip


@pytest.mark.parametrize("engine", ["graph", "vllm"])
@pytest.mark.parametrize("load", LOADS, ids=str)
def test_rates_are_tokens_over_times_and_cost_and_energy_are_over_rates(load, engine):
    found = predict("llama-3.1-8b", CHIP, engine=engine, **load)
    batch, devices = load["batch"], load.get("tp", 1) * load.get("pp", 1) * load.get("dp", 1)
    assert found.devices == devices
    assert (found.tpot_s.estimate is None) == (engine == "graph")  # which wants a measured machine
    each_s = found.tpot_s.floor if engine == "graph" else found.tpot_s.estimate
    assert found.tokens_per_s_per_user == pytest.approx(1 / each_s, rel=1e-12)
    assert found.tokens_per_s == pytest.approx(batch / each_s, rel=1e-12)
    assert found.tokens_per_s_per_device == pytest.approx(batch / each_s / devices, rel=1e-12)
    assert found.tokens_per_s_ceiling == pytest.approx(batch / found.tpot_s.floor, rel=1e-12)
    price, power = api.machine(CHIP).price_usd_per_hour, 700.0
    assert found.joules_per_token == pytest.approx(power * devices / found.tokens_per_s, rel=1e-12)
    assert found.usd_per_million_tokens == pytest.approx(price * devices / 3600 / found.tokens_per_s * 1e6, rel=1e-12)


@pytest.mark.parametrize("tp", [1, 2])
def test_shares_of_the_roofs_are_what_a_device_moves_and_computes_in_its_step(tp):
    """Half of the bytes and FLOPs are a device's when two share them, and what both keep whole: the norms' vectors."""
    found = predict("llama-3.1-8b", CHIP, engine="vllm", batch=16, context=2048, tp=tp)
    norms = 2 * (2 * 32 + 1) * 4096
    kv = 16 * 2048 * 32 * 2 * 8 * 128 * 2
    moved = (LLAMA_BYTES - norms + kv) / tp + norms
    flops = 16 * (LLAMA_BYTES - norms + 4 * 2048 * 32 * 32 * 128) / tp  # two a weight of two bytes; scores and values
    step_s = found.tpot_s.estimate
    assert found.mbu_of_datasheet == pytest.approx(moved / step_s / READ, rel=1e-9)
    assert found.mfu_of_datasheet == pytest.approx(flops / step_s / PEAK, rel=1e-9)
    assert (found.mbu_of_measured, found.mfu_of_measured, found.mbu, found.mfu, found.verdict) == (None,) * 5


def test_a_measured_rate_has_its_own_shares_and_the_estimate_keeps_its():
    found = predict("llama-3.1-8b", CHIP, engine="vllm", batch=16, context=2048, measured_tokens_per_s=1000)
    measured_s = 16 / 1000
    assert found.measured_tokens_per_s == 1000
    for own, of in ((found.mbu, found.mbu_of_datasheet), (found.mfu, found.mfu_of_datasheet)):
        assert own / of == pytest.approx(found.tpot_s.estimate / measured_s, rel=1e-12)


def test_a_token_of_several_that_are_drafted_has_its_share_of_the_step():
    """Of four tokens, each kept when all before it are, at one half: 1 + 1/2 + 1/4 + 1/8 a step."""
    one = predict("llama-3.1-8b", CHIP, engine="vllm", batch=4, context=2048, tokens=4, acceptance=0.5)
    every = predict("llama-3.1-8b", CHIP, engine="vllm", batch=4, context=2048, tokens=4)
    for name in ("floor", "floor_overlapped", "floor_without_collectives", "estimate", "low", "high"):
        assert getattr(one.tpot_s, name) / getattr(every.tpot_s, name) == pytest.approx(4 / 1.875, rel=1e-12)
    assert one.ttft_s == every.ttft_s
    assert one.mbu_of_datasheet == pytest.approx(every.mbu_of_datasheet, rel=1e-12)  # the same step


def test_a_bubble_is_the_stages_that_wait():
    shown = [predict("llama-3.1-8b", CHIP, batch=8, context=512, pp=p, microbatches=m) for p, m in ((4, 2), (2, 6))]
    assert [one.bubble for one in shown] == pytest.approx([3 / 5, 1 / 7])
    assert predict("llama-3.1-8b", CHIP, batch=8, context=512).bubble is None


def test_links_are_among_what_a_floor_rests_on_only_where_devices_talk():
    rests = [{c.name for c in predict("llama-3.1-8b", CHIP, engine="graph", batch=8, tp=tp).constants} for tp in (1, 2)]
    assert rests[0] == {"memory/main, B/s", "compute/matrix/bf16, FLOP/s"}
    assert rests[1] - rests[0] == {"link/nvlink, B/s"}


def test_a_step_says_its_load_and_only_what_differs_from_one_device():
    load = {"batch": 4, "prompt": 100, "output": 60}
    own = {**load, "context": 100 + 60 / 2, "tokens": 1, "mask": "causal"}
    assert predict("llama-3.1-8b", CHIP, **load).step == own
    assert predict("llama-3.1-8b", CHIP, **load, tp=2, dp=1).step == {**own, "tp": 2}


def test_what_to_expect_is_the_estimate_and_else_the_floor():
    assert Times(1.0, 0.5, 0.75).expected == 1.0
    assert Times(1.0, 0.5, 0.75, 2.0, 1.5, 3.0).expected == 2.0


@pytest.mark.parametrize(
    ("how", "said"), [({"tp": 8}, False), ({"tp": 8, "dp": 2}, True), ({"tp": 16, "gpus_per_node": 8}, False),
                      ({"tp": 16, "link": "pcie"}, False)]
)  # fmt: skip
def test_more_devices_on_one_link_than_a_host_has_are_said(how, said):
    notes = predict("llama-3.1-405b", CHIP, batch=8, **how).notes
    sentence = "all 16 devices are taken to be on one nvlink; say how many a host has with --gpus-per-node"
    assert (sentence in notes) is said
