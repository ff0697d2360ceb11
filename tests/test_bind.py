"""A bound price is price_step's, to the last digits, for any model, step, precision and machine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens import models, workload
from rooflens.dtypes import dtype
from rooflens.errors import NoPath, RooflensError
from rooflens.operators.unknowns import Polynomial, terms
from rooflens.roofline.bound import bind
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.math import resolve
from rooflens.roofline.price import price_step

CLOSE = {"rel": 1e-12}
MACHINE = Machine(
    "acme",
    "Acme One",
    (
        Ceiling("bf16", "compute", 4e14, "spec", dtype="bf16", path="matrix"),
        Ceiling("fp8", "compute", 8e14, "spec", dtype="fp8", path="matrix"),
        Ceiling("fp32", "compute", 2e13, "spec", dtype="fp32", path="vector"),
        Ceiling("read", "memory", 2e12, "measured", level="main", access="read"),
        Ceiling("copy", "memory", 1.7e12, "measured", level="main", access="copy"),
        Ceiling("link", "link", 2e11, "spec", level="nvlink"),
        Ceiling("launch", "launch", 2e-6, "measured", level="device"),
    ),
    link="nvlink",
)


@st.composite
def architectures(draw, links=False):
    shared_out = [(8, 1), (8, 4), (8, 7), (1, 8), (2, 8), (1, 16)]  # over 8 devices: KV heads split or replicated
    anyhow = [(kv, group) for kv in (1, 2, 8) for group in (1, 4, 7)]
    kv_heads, groups = draw(st.sampled_from(shared_out if links else anyhow))
    head_width = draw(st.sampled_from((64, 128)))
    config = {
        "model_type": draw(st.sampled_from(["llama", "qwen2", "qwen3", "mistral"])),
        "hidden_size": draw(st.integers(1, 64)) * 128,
        "num_hidden_layers": draw(st.integers(1, 80)),
        "num_attention_heads": kv_heads * groups,
        "num_key_value_heads": kv_heads,
        "head_dim": head_width,
        "intermediate_size": draw(st.integers(1, 30000)),
        "vocab_size": draw(st.integers(1, 300000)),
        "sliding_window": draw(st.sampled_from([None, 128, 4096])),
        "use_sliding_window": True,
        "tie_word_embeddings": draw(st.booleans()),
        "torch_dtype": "bfloat16",
    }
    choices = models.Choices(draw(st.sampled_from(["flash", "unfused"])), draw(st.booleans()), links)
    return models.from_config(config, "drawn", choices)


@st.composite
def steps(draw, tp=1):
    batch, tokens, before = draw(st.integers(1, 4096)), draw(st.integers(1, 8192)), draw(st.integers(0, 200000))
    mask = draw(st.sampled_from(["causal", "full"]))
    if draw(st.booleans()):
        return workload.decode(batch, before + 1, tp=tp, mask=mask)
    return workload.prefill(batch, tokens, before + tokens, tp=tp, mask=mask)


def stored(weights, kv):
    return resolve(workload.precision(dtype("bf16"), weights, kv), MACHINE)[0]


precisions = st.builds(stored, st.sampled_from([None, "fp8", "int4", "q4_k"]), st.sampled_from([None, "fp8"]))


@given(st.data(), precisions, st.booleans(), st.sampled_from([1, 2, 8]))
@settings(max_examples=40)
def test_a_bound_price_is_the_price_of_the_step(data, precision, activations, tp):
    model = data.draw(architectures(links=tp > 1))
    bound = bind(model, precision, MACHINE, data.draw(steps(tp)), activations=activations)
    for step in data.draw(st.lists(steps(tp), min_size=1, max_size=4)):
        price = price_step(workload.operators(model, step, precision), MACHINE, activations=activations)
        assert bound.floor_s(step) == pytest.approx(price.floor_s, **CLOSE)
        assert bound.floor_overlapped_s(step) == pytest.approx(price.floor_overlapped_s, **CLOSE)
        assert bound.launch_s(step) == pytest.approx(price.launch_s, **CLOSE)


@given(architectures(), precisions)
@settings(max_examples=10)
def test_a_grid_priced_at_once_is_its_points_priced_one_by_one(model, precision):
    batches, contexts = np.array([1, 3, 64, 999]), np.array([1, 127, 4096, 131072, 10])
    bound = bind(model, precision, MACHINE, workload.decode())
    grid = bound.floor_s(workload.decode(batches[:, None], contexts[None, :]))
    assert grid.shape == (4, 5)
    for i, batch in enumerate(batches):
        for j, context in enumerate(contexts):
            step = workload.decode(int(batch), int(context))
            price = price_step(workload.operators(model, step, precision), MACHINE)
            assert grid[i, j] == pytest.approx(price.floor_s, **CLOSE)


SMALL = {"hidden_size": 512, "num_hidden_layers": 6, "vocab_size": 1000, "num_attention_heads": 8,
         "num_key_value_heads": 8, "intermediate_size": 1024, "torch_dtype": "bfloat16"}  # fmt: skip
MOE = {"num_experts_per_tok": 4, "moe_intermediate_size": 256}
OTHERS = {
    "experts": {**SMALL, **MOE, "model_type": "qwen3_moe", "num_experts": 32, "head_dim": 64},
    "latent": {
        **SMALL, **MOE, "model_type": "deepseek_v3", "n_routed_experts": 64, "n_shared_experts": 1, "q_lora_rank": 128,
        "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32,
        "first_k_dense_replace": 2,
    },
    "windows": {
        **SMALL, "model_type": "gpt_oss", "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
        "head_dim": 64, "layer_types": ["sliding_attention", "full_attention"] * 3,
    },
    "recurrent": {
        "model_type": "mamba2", "hidden_size": 512, "num_hidden_layers": 6, "vocab_size": 1000, "num_heads": 16,
        "head_dim": 64, "state_size": 128, "n_groups": 8, "conv_kernel": 4, "expand": 2,
    },
}  # fmt: skip


@pytest.mark.parametrize("layout", [{}, {"tp": 4}, {"tp": 2, "dp": 4, "ep": 8}, {"routing_skew": 1.0}])
@pytest.mark.parametrize("name", OTHERS)
def test_experts_latents_windows_and_states_are_bound_to_their_price(name, layout):
    for made in (workload.decode, workload.prefill):
        links = max(layout.get("tp", 1), layout.get("dp", 1)) > 1
        model = models.from_config(OTHERS[name], name, models.Choices(links=links))
        model = workload.suited(model, made(1, 1).phase)
        precision = resolve(workload.precision(dtype("bf16")), MACHINE)[0]
        bound = bind(model, precision, MACHINE, made(1, 1, **layout))
        for batch, tokens in ((8, 1), (64, 100), (4096, 5000)):
            step = made(batch, tokens, **layout)
            price = price_step(workload.operators(model, step, precision), MACHINE)
            assert bound.floor_s(step) == pytest.approx(price.floor_s, **CLOSE)


@pytest.mark.parametrize("name", models.known())
def test_every_model_that_ships_is_bound_to_its_price(name):
    for phase, step in (("decode", workload.decode(7, 3000)), ("prefill", workload.prefill(2, 3000, 5000))):
        model = workload.suited(models.named(name), phase)
        precision = resolve(workload.precision(dtype("bf16"), stored=model.stored), MACHINE)[0]
        price = price_step(workload.operators(model, step, precision), MACHINE)
        bound = bind(model, precision, MACHINE, step)
        assert bound.floor_s(step) == pytest.approx(price.floor_s, **CLOSE)
        assert bound.floor_overlapped_s(step) == pytest.approx(price.floor_overlapped_s, **CLOSE)


@pytest.mark.parametrize("layout", [{"pp": 2}, {"pp": 2, "microbatches": 3}, {"pp": 4, "microbatches": 2}])
def test_what_is_no_layer_stands_apart_in_a_pipeline_of_uneven_stages(layout):
    """Of seven layers the fullest of two stages has four: it, and not half of all, lets the microbatches out."""
    model = models.from_config({**SMALL, "model_type": "llama", "num_hidden_layers": 7, "intermediate_size": 8192},
                               "seven", models.Choices(links=True))  # fmt: skip
    precision = resolve(workload.precision(dtype("bf16")), MACHINE)[0]
    step = workload.decode(6, 1000, **layout)
    price = price_step(workload.operators(model, step, precision), MACHINE)
    bound = bind(model, precision, MACHINE, step)
    assert bound.floor_s(step) == pytest.approx(price.floor_s, **CLOSE)
    assert bound.floor_overlapped_s(step) == pytest.approx(price.floor_overlapped_s, **CLOSE)
    assert bound.launch_s(step) == pytest.approx(price.launch_s, **CLOSE)


def test_work_without_a_path_is_refused_when_binding():
    without = Machine("bare", "Bare", tuple(c for c in MACHINE.ceilings if c.dtype != "bf16"))
    model = models.named("llama-2-7b")
    with pytest.raises(NoPath, match="bf16"):
        bind(model, workload.precision(dtype("bf16")), without)


def test_a_rate_that_is_not_known_is_said_once():
    without = Machine("bare", "Bare", tuple(c for c in MACHINE.ceilings if c.path != "vector"))
    bound = bind(models.named("llama-2-7b"), workload.precision(dtype("bf16")), without)
    assert len(bound.unpriced) == 1
    assert "vector" in bound.unpriced[0]


def test_prices_bound_for_one_device_are_not_read_for_two():
    bound = bind(models.named("llama-2-7b"), workload.precision(dtype("bf16")), MACHINE)
    with pytest.raises(RooflensError, match="tp 2"):
        bound.floor_s(workload.decode(tp=2))


def test_a_dense_model_is_a_few_sums():
    """The embedding can only be memory-bound; qkv, attention, out, two of the FFN and the head can be either."""
    bound = bind(models.named("llama-2-7b"), workload.precision(dtype("bf16")), MACHINE)
    assert len(bound.kernels.rivals) == 6
    assert len(bound.monomials) == 5  # 1, B T, B T P, B S, B Y


def test_polynomials_add_and_multiply():
    b, s = Polynomial.of((0, "B")), Polynomial.of((0, "S"))
    assert terms((b + 2.0) * (3.0 * s + b) / 2.0) == {
        ((0, "B"), (0, "S")): 1.5, ((0, "B"), (0, "B")): 0.5, ((0, "S"),): 3.0, ((0, "B"),): 1.0,
    }  # fmt: skip
    assert terms(b * 0.0) == {}
    assert terms(sum([b, b], 0.0)) == {((0, "B"),): 2.0}


@pytest.mark.parametrize("formula", [lambda b: b > 1, lambda b: max(b, 1.0), lambda b: b**2, lambda b: 1 / b, bool])
def test_a_formula_that_cannot_be_folded_is_an_error_and_never_a_wrong_number(formula):
    with pytest.raises(TypeError):
        formula(Polynomial.of((0, "B")))


def test_of_two_launch_costs_of_one_kind_a_floor_takes_the_smaller_and_where_none_is_known_none() -> None:
    slow = Ceiling("launch/slow", "launch", 5e-6, "measured", level="device")
    both = Machine("two", "Two ways to start", (*MACHINE.ceilings, slow))
    assert both.launch_s() == 2e-6
    assert Machine("none", "None", MACHINE.ceilings[:-1]).launch_s() == 0.0
