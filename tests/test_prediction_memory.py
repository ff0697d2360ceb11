"""Memory of a device: what engines report, what published logs show, and laws over batch, context and devices."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens import api, workload
from rooflens.catalogue.engines import engine, engines
from rooflens.catalogue.tables import sources
from rooflens.errors import RooflensError, Unknown
from rooflens.prediction.memory import memory, on_device, reserve
from rooflens.units import parse

GIB = 2.0**30
LLAMA_KV = 131_072  # bytes a token: 2 x 32 layers x 8 heads x 128 x 2
LLAMA_WEIGHTS = 16_060_522_496


def held(name, capacity_bytes, step, engine_name=None, kv=None, **given):
    model = api.model(name, links=max(step.tp, step.ep, step.dp, step.pp) > 1)
    own, _ = workload.own_dtype(model)
    precision = workload.precision(own, kv=kv, stored=model.stored, state=model.state_dtype)
    kept = reserve(engine(engine_name) if engine_name else None, **given)
    return memory(model, precision, step, capacity_bytes, kept)


def test_a_published_start_up_log_is_explained():
    """RTX 3090, 0.9 x 23.58 GiB, weights 14.99, peak 17.06, 0.35 beside: 31,232 tokens in pages of 16."""
    step = workload.decode(1, 20_000)
    found = held("llama-3.1-8b", 23.58 * GIB, step, "vllm", memory_fraction=0.9, batched_tokens=20_000)
    assert found.weight_bytes / GIB == pytest.approx(14.99, rel=0.003)
    assert (found.weight_bytes + found.activation_bytes) / GIB == pytest.approx(17.06, rel=0.003)
    assert found.kv_tokens == pytest.approx(31_232, rel=0.015)
    assert found.kv_tokens % 16 == 0
    assert found.max_sequences == 1


def test_activations_grow_with_batched_tokens_until_nothing_is_left_for_the_cache():
    step = workload.decode(1, 29_000)
    tokens = [
        held("llama-3.1-8b", 23.58 * GIB, step, "vllm", memory_fraction=0.9, batched_tokens=n).kv_tokens
        for n in (2_048, 20_000, 29_000, 60_000)
    ]
    assert tokens[0] > tokens[1] > 29_000 > tokens[2] > tokens[3] == 0
    assert tokens[2] == pytest.approx(23_648, rel=0.02)  # the same log at 29,000


def test_a_batch_that_fits_on_paper_does_not_fit_an_engine():
    step = workload.decode(256, 2048)
    paper = held("llama-3.1-8b", 85.9e9, step)
    assert (paper.weight_bytes + paper.kv_bytes) / 1e9 == pytest.approx(16.06 + 68.72, rel=1e-3)
    assert paper.weight_bytes + paper.kv_bytes <= 85.9e9
    real = held("llama-3.1-8b", 85.9e9, step, "vllm")
    assert not real.fits
    assert "does not fit: weights 16.06 GB + KV 68.72 GB" in real.notes[0]
    assert "on paper" in real.notes[1]
    assert real.max_sequences < 256


def test_a_cache_larger_than_the_weights_is_said():
    assert any(
        "4.28 times the weights" in note for note in held("llama-3.1-8b", 85.9e9, workload.decode(256, 2048)).notes
    )


def test_cache_tokens_are_what_is_left_over_the_bytes_of_a_token():
    found = held("llama-3.1-8b", 100e9, workload.decode(1, 4096), batched_tokens=1)
    left = 100e9 - LLAMA_WEIGHTS - found.activation_bytes
    assert found.kv_tokens == left // LLAMA_KV
    assert found.max_context == found.kv_tokens
    assert found.max_sequences == pytest.approx(left / (4096 * LLAMA_KV + 128_256 * 4), abs=1)


def test_a_window_holds_more_sequences_than_dividing_by_bytes_a_token_says():
    found = held("gemma-3-1b", 40e9, workload.decode(1, 32_768))
    assert found.kv_bytes / 2**20 == pytest.approx(139, rel=0.01)
    assert found.max_sequences > (40e9 - found.weight_bytes) / (32_768 * 26 * 1024) * 3


def test_latent_caches_are_whole_on_every_device_and_heads_are_shared():
    one = held("deepseek-v3", 141e9 * 8, workload.decode(16, 4096))
    eight = held("deepseek-v3", 141e9, workload.decode(16, 4096, tp=8, ep=8))
    assert eight.kv_bytes == one.kv_bytes == 16 * 4096 * 70_272
    assert held("llama-3.1-70b", 85e9, workload.decode(16, 4096, tp=8)).kv_bytes == pytest.approx(
        held("llama-3.1-70b", 85e9, workload.decode(16, 4096)).kv_bytes / 8
    )


def test_experts_spread_whole_are_a_share_of_the_weights_and_replicas_change_nothing():
    whole = held("mixtral-8x7b", 141e9, workload.decode(8, 1024)).weight_bytes
    spread = held("mixtral-8x7b", 141e9, workload.decode(8, 1024, tp=2, ep=2)).weight_bytes
    assert whole / 2 < spread < 0.51 * whole
    one, four = (held("llama-3.1-8b", 85e9, workload.decode(8 * n, 1024, dp=n)) for n in (1, 4))
    assert (one.weight_bytes, one.kv_bytes) == (four.weight_bytes, four.kv_bytes)
    assert four.max_sequences == 4 * one.max_sequences


def test_a_stage_of_a_pipeline_holds_its_layers_and_one_end():
    model = api.model("llama-3.1-8b", links=True)
    stage = on_device(model, workload.decode(1, 1, pp=2))
    end = 128_256 * 4096
    layers = model.params_total - 2 * end - 4096
    assert stage.params_total == pytest.approx(layers / 2 + end + 4096, rel=1e-4)


def test_fractions_of_what_is_free_leave_more_than_fractions_of_all():
    step = workload.decode(1, 4096)
    free, all_of = (held("llama-3.1-8b", 85e9, step, name, memory_fraction=0.9) for name in ("trtllm", "vllm"))
    assert free.usable_bytes > all_of.usable_bytes == pytest.approx(0.9 * 85e9)


def test_a_model_that_does_not_fit_at_all_has_no_cache_and_says_what_is_missing():
    found = held("llama-3.1-70b", 24e9, workload.decode(1, 2048), "vllm")
    assert (found.fits, found.max_sequences, found.kv_tokens, found.max_context) == (False, 0, 0, 0)
    assert found.notes[0].startswith("does not fit: ")
    *_, usable, short = (parse(amount, "B") for amount in re.findall(r"[\d.e+]+ [kMGTP]?i?B", found.notes[0]))
    assert (usable, short) == pytest.approx((found.usable_bytes, found.short_bytes), rel=1e-3)
    assert "iB" not in found.notes[0]  # what is added is said in one unit


@pytest.mark.parametrize("fraction", [0, -0.5, 1.5, float("nan")])
def test_a_memory_fraction_is_a_fraction(fraction):
    with pytest.raises(RooflensError, match="memory fraction"):
        reserve(None, memory_fraction=fraction)


def test_every_engine_names_sources_that_exist_and_an_unknown_one_is_refused():
    for one in engines().values():
        assert one.sources
        assert set(one.sources) <= set(sources())
    with pytest.raises(Unknown, match="vllm"):
        engine("vlm")


@settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, 512),
    context=st.integers(1, 100_000),
    more=st.integers(1, 64),
    name=st.sampled_from(["llama-3.1-8b", "gemma-3-1b", "qwen3-30b-a3b"]),
)
def test_what_is_needed_grows_with_batch_and_context_and_the_most_is_the_most(batch, context, more, name):
    step = workload.decode(batch, context)
    found = held(name, 80e9, step, "vllm")
    assert held(name, 80e9, workload.decode(batch + more, context), "vllm").needed_bytes > found.needed_bytes
    assert held(name, 80e9, workload.decode(batch, context + more), "vllm").needed_bytes >= found.needed_bytes
    assert held(name, 80e9, workload.decode(max(1, found.max_sequences), context), "vllm").fits == (
        found.max_sequences > 0
    )
    assert not held(name, 80e9, workload.decode(found.max_sequences + 1, context), "vllm").fits
