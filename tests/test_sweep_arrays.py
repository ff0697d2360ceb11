"""Arrays of loads through the code that `predict` uses: each has the digits that it has alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens import api, arrays
from rooflens.api.deployed import deployment, estimator, kept, parted
from rooflens.arrays import power, root
from rooflens.prediction.memory import filled, memory
from rooflens.records import replace

LOADS = [
    ("llama-3.1-8b", "h100-sxm5-80gb", {"engine": "vllm"}),
    ("deepseek-v3", "h200-sxm-141gb", {"engine": "sglang", "tp": 8, "ep": 8}),
    ("mixtral-8x7b", "a100-sxm4-80gb", {"tp": 2, "pp": 2, "kv": "int8"}),
    ("gemma-2-9b", "l40s", {"weights": "fp8"}),
    ("llama-3.1-8b", "measured:h200-sxm-141gb", {}),
    ("llama-3.1-8b", "measured:h200-sxm-141gb", {"engine": "eager"}),
]
BATCHES, CONTEXTS, OUTPUTS = (1.0, 3.0, 40.0, 256.0), (300.0, 2048.0, 8000.0), (1.0, 200.0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9), st.floats(0, 3))
def test_powers_and_roots_of_arrays_are_those_of_their_numbers(bases, exponent):
    assert power(np.array(bases), exponent).tolist() == [power(base, exponent) for base in bases]
    assert power(exponent, np.array(bases) / 1e6).tolist() == [exponent ** (base / 1e6) for base in bases]
    assert root(np.array(bases)).tolist() == [math.sqrt(base) for base in bases]


@pytest.mark.parametrize("agree", [False, True])
def test_where_numpys_powers_are_others_each_is_taken_alone(agree: bool, monkeypatch: pytest.MonkeyPatch):
    """As on processors whose vector units raise to powers: numpy's are a digit off, and noticed."""
    real = np.power
    monkeypatch.setattr(np, "power", real if agree else lambda a, b: np.nextafter(real(a, b), np.inf))
    arrays._powers_agree.cache_clear()
    try:
        bases = [0.1 * i for i in range(1, 50)]
        assert power(np.array(bases), 1 / 3).tolist() == [base ** (1 / 3) for base in bases]
    finally:
        arrays._powers_agree.cache_clear()


def test_a_power_keeps_the_shape_of_both():
    assert power(np.array([[0.5], [0.25]]), np.array([1.0, 2.0])).tolist() == [[0.5, 0.25], [0.25, 0.0625]]


@pytest.mark.parametrize(("model", "on", "more"), LOADS)
def test_an_estimate_of_a_grid_has_the_digits_of_each_point_alone(model, on, more):
    load, question, there = parted(on, model, {"context": 2048.0, **more})
    one = deployment(question, load, there)
    by, _ = estimator(one, load, on)
    assert by is not None
    grid = replace(one, batch=np.array(BATCHES)[:, None], prompt=np.array(CONTEXTS), context=np.array(CONTEXTS))
    found = {phase: by.expect(grid, phase) for phase in ("decode", "prefill")}
    for i, batch in enumerate(BATCHES):
        for j, context in enumerate(CONTEXTS):
            alone = replace(one, batch=batch, prompt=context, context=context)
            for phase, many in found.items():
                said = by.expect(alone, phase)
                for name in ("time_s", "low_s", "high_s"):
                    each = np.broadcast_to(getattr(many, name), (len(BATCHES), len(CONTEXTS)))
                    assert each[i, j] == getattr(said, name), (phase, name, batch, context)


def test_so_does_one_with_the_prompts_of_others():
    load, question, there = parted("h100-sxm5-80gb", "mixtral-8x7b", {"prompt": 1.0, "engine": "vllm", "tp": 2})
    one = deployment(question, load, there)
    by, _ = estimator(one, load, "h100-sxm5-80gb")
    grid = replace(one, batch=np.array(BATCHES)[:, None], prompt=np.array([300.0, 4000.0]), output=np.array(OUTPUTS))
    found = by.expect(grid, "decode").time_s
    for i, batch in enumerate(BATCHES):
        for j, (prompt, output) in enumerate(zip((300.0, 4000.0), OUTPUTS, strict=True)):
            alone = replace(one, batch=batch, prompt=prompt, output=output)
            assert found[i, j] == by.expect(alone, "decode").time_s


@pytest.mark.parametrize("more", [{}, {"engine": "vllm"}, {"engine": "trtllm", "tp": 2}, {"engine": "sglang", "dp": 2}])
@settings(max_examples=20, deadline=None)
@given(batch=st.integers(1, 5000), context=st.integers(1, 8000))
def test_what_fills_a_device_is_the_same_in_arrays(more, batch, context):
    load, question, there = parted("h100-sxm5-80gb", "gemma-2-9b", {"context": 2048.0, **more})
    one = deployment(question, load, there)
    shapes = {"batch": np.array([[1.0], [float(batch)]]), "context": np.array([float(context), 512.0])}
    many = replace(one, prompt=1.0, **shapes)
    found = filled(one.model, one.precision, many.step("decode"), 80e9, kept(load))
    alone = replace(one, batch=float(batch), context=float(context)).step("decode")
    said = memory(one.model, one.precision, alone, 80e9, kept(load))
    assert (found.needed_bytes[1, 0], found.fits[1, 0]) == (said.needed_bytes, said.fits)
    assert found.max_sequences[0] == said.max_sequences


def test_a_model_at_hand_is_deployed_as_its_name_is():
    for more in ({}, {"tp": 4}):
        load, question, there = parted("h100-sxm5-80gb", "llama-3.1-8b", {"context": 2048.0, **more})
        made = deployment(question, load, there, api.model("llama-3.1-8b"))
        assert made == deployment(question, load, there)
