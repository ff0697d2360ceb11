"""Estimates of an engine: many loads at once as one by one, above their floors, and monotone as it is documented."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens.api import Question, machine
from rooflens.api.deployed import Load, deployment
from rooflens.catalogue.calibrations import served
from rooflens.catalogue.kernels import operators
from rooflens.errors import RooflensError
from rooflens.operators.cost import Cost
from rooflens.prediction.bound import bind
from rooflens.prediction.deployment import bound as floors_of
from rooflens.prediction.intervals import residual_class
from rooflens.prediction.reached import _math_bits, bridges
from rooflens.prediction.served import Served, prompts_s, together
from rooflens.records import replace

H100, B200, MI300X, RTX = "h100-sxm5-80gb", "b200-sxm-180gb", "mi300x-192gb", "rtx-4090-24gb"
QUESTIONS = (  # model, chip, engine, devices, weights
    ("llama-3.2-1b", H100, "vllm", {}, "fp8"),
    ("llama-3.2-1b", RTX, "llama.cpp", {}, "q4_k_m"),
    ("llama-3.2-1b", MI300X, "llama.cpp", {}, "bf16"),
    ("qwen3-30b-a3b", H100, "sglang", {"dp": 2, "ep": 2}, "fp8"),
    ("deepseek-v3", B200, "trtllm", {"tp": 8, "pp": 2, "microbatches": 2}, "nvfp4"),
    ("qwen3-next-80b-a3b", B200, "generic", {"tp": 2}, "fp8"),
    ("gpt-oss-20b", H100, "trtllm", {}, None),
    ("gemma-3-27b", MI300X, "vllm-rocm-2024", {"tp": 2}, "bf16"),
    ("llama-3.2-1b", H100, "vllm", {"pp": 4, "microbatches": 4}, None),
    ("qwen3-30b-a3b", H100, "sglang", {"pp": 5, "microbatches": 3, "tp": 2}, "fp8"),
)
ENGINES = sorted(served().engines)
questions = st.sampled_from(range(len(QUESTIONS)))
batches = st.integers(1, 2048).map(float)
lengths = st.integers(1, 30000).map(float)
outputs = st.integers(0, 8192).map(float)


@cache
def made(model, chip, how, weights):
    return deployment(Question(model, weights=weights, **dict(how)), Load(prompt=1000, output=500), machine(chip))


def deployed(number):
    model, chip, _, how, weights = QUESTIONS[number]
    return made(model, chip, tuple(how.items()), weights)


@cache
def engine(number):
    return Served(served(), QUESTIONS[number][2])


@cache
def floors(number):
    return floors_of(deployed(number))


@cache
def bound(number):
    return bind(engine(number), deployed(number))


@settings(max_examples=40)
@given(questions, batches, lengths, outputs)
def test_folded_constants_say_what_the_kernels_say_one_by_one(question, batch, prompt, output):
    load = replace(deployed(question), batch=batch, prompt=prompt, output=output)
    one, many = engine(question), bound(question)
    assert many.tpot_s(batch, prompt, output) == pytest.approx(one.tpot_s(load), rel=1e-12)
    assert many.first_s(prompt) == pytest.approx(one.first_s(load), rel=1e-12)
    assert many.tpot_s(batch, prompt) == many.tpot_s(batch, prompt, 0.0)  # no output, unless one is said


@settings(max_examples=40)
@given(questions, st.lists(st.tuples(batches, lengths, outputs), min_size=1, max_size=8))
def test_arrays_say_what_numbers_say(question, loads):
    many = bound(question)
    at_once = many.tpot_s(*(np.array(column) for column in zip(*loads, strict=True)))
    assert at_once == pytest.approx([many.tpot_s(*load) for load in loads], rel=1e-12)


@given(questions, batches, lengths, outputs)
def test_no_estimate_is_quicker_than_its_floor(question, batch, prompt, output):
    load = replace(deployed(question), batch=batch, prompt=prompt, output=output)
    floor_s = floors(question).floor_s(load.step("decode"))
    assert bound(question).tpot_s(batch, prompt, output) >= floor_s * (1 - 1e-12)


@given(questions, st.integers(1, 1024), st.integers(0, 1024), lengths, outputs)
def test_more_sequences_never_make_a_token_quicker(question, batch, more, prompt, output):
    many, dp = bound(question), int(QUESTIONS[question][3].get("dp", 1))
    few, several = (many.tpot_s(float(dp * n), prompt, output) for n in (batch, batch + more))
    assert several >= few * (1 - 1e-9)


@given(questions, batches, lengths, st.integers(0, 30000), outputs)
def test_a_longer_prompt_never_makes_a_token_quicker(question, batch, prompt, more, output):
    many = bound(question)
    steps = [many.tpot_s(batch, length) for length in (prompt, prompt + more)]
    firsts = [many.first_s(length) for length in (prompt, prompt + more)]
    assert steps[1] >= steps[0] * (1 - 1e-9)
    assert firsts[1] >= firsts[0] * (1 - 1e-9)


WIDTHS = {weights: made("llama-3.2-1b", B200, (), weights) for weights in ("bf16", "fp8", "nvfp4")}


@given(batches, lengths)
def test_fewer_bits_of_weights_never_make_a_step_slower(batch, prompt):
    times = [of_width(weights).tpot_s(batch, prompt) for weights in WIDTHS]
    assert times == sorted(times, reverse=True)


@cache
def of_width(weights):
    return bind(Served(served(), "trtllm"), WIDTHS[weights])


@pytest.mark.parametrize("model", ["llama-3.2-1b", "qwen3-30b-a3b"])
def test_more_devices_help_but_for_their_collectives(model):
    def alone(tp, batch, prompt):
        load = replace(made(model, H100, (("tp", tp),), None), batch=batch, prompt=prompt, output=0.0)
        asked = [(o, engine(0).asked(o, load, "decode")) for o in load.operators("decode") if o.collective is None]
        return sum(o.count * (one.roofs_s + one.fixed_s) for o, one in asked)

    for batch, prompt in ((1.0, 100.0), (16.0, 4000.0), (256.0, 1000.0), (2000.0, 30000.0)):
        times = [alone(tp, batch, prompt) for tp in (1, 2, 4)]
        assert times == sorted(times, reverse=True)


def test_a_replica_more_with_sequences_of_its_own_changes_no_step():
    one, two = (bind(engine(0), made("llama-3.2-1b", H100, how, None)) for how in ((), (("dp", 2),)))
    for batch, output in ((1.0, 0.0), (7.0, 0.0), (300.0, 0.0), (7.0, 200.0), (300.0, 200.0)):
        assert two.tpot_s(2 * batch, 1000.0, output) == pytest.approx(one.tpot_s(batch, 1000.0, output), rel=1e-12)


positive = st.floats(1e-4, 10)


def test_microbatches_pass_the_stages_of_an_estimate_as_those_of_its_floor():
    one, through = (made("llama-3.2-1b", H100, how, None) for how in ((), (("pp", 4), ("microbatches", 4))))
    alone, _ = engine(0).priced(replace(one, batch=16.0), "decode", replace(one, batch=16.0).step("decode"))
    few, _ = engine(0).priced(replace(one, batch=4.0), "decode", replace(one, batch=4.0).step("decode"))
    passed, _ = engine(0).priced(replace(through, batch=16.0), "decode", replace(through, batch=16.0).step("decode"))
    assert few * 7 / 4 <= passed < few * 7 / 4 * 1.01  # (m + p - 1) / p of a microbatch's way, and what is handed over
    assert passed > alone


def test_replicas_that_share_no_experts_have_the_first_token_of_one():
    one, two = (made("llama-3.2-1b", H100, how, None) for how in ((), (("dp", 2),)))
    assert engine(0).first_s(two) == engine(0).first_s(one)


@pytest.mark.parametrize(("how", "waits"), [({"tp": 2, "ep": 2}, 0.0), ({"dp": 2}, 0.0), ({"dp": 2, "ep": 2}, 1.0)])
def test_only_replicas_that_share_experts_wait_for_one_another(how, waits):
    load = made("qwen3-30b-a3b", H100, tuple(how.items()), "fp8")
    costs, one_s = engine(0).costs, together(*engine(0).priced(load, "one", load.step("prefill")))
    expected_s = costs.first_s + costs.first_passes * one_s + waits * served().spread_first_s
    assert engine(0).first_s(load) == pytest.approx(expected_s, rel=1e-12)


@pytest.mark.parametrize("batch", [1.0, 64.0])
def test_tensor_parallelism_over_the_bridges_of_a_host_is_the_bad_idea_it_is(batch):
    """Rates as (2 / n)^1.65: eight devices on PCIe read a prompt no sooner than two, and cost more a token."""

    def times(tp):
        found = deployment(Question("llama-3.1-8b", tp=tp), Load(prompt=1000, output=500), machine("l40s"))
        return [float(engine(0).first_s(found)), float(engine(0).tpot_s(replace(found, batch=batch)))]

    two, four, eight = times(2), times(4), times(8)
    assert eight[0] > two[0]
    assert 8 * eight[1] > 4 * four[1] > 2 * two[1]


def test_bridges_are_shared_by_more_than_two():
    assert [bridges(machine("l40s"), n) for n in (1, 2)] == [1.0, 1.0]
    assert bridges(machine("l40s"), 8) == pytest.approx(4 ** -operators().exchanging.common.shared)
    assert bridges(machine(H100), 8) == 1.0


@given(positive, positive, st.floats(0, 10), batches, outputs)
def test_others_prompts_settle_where_a_token_takes_as_long_as_it_says(step, alone, each, running, output):
    costs = served().engines["vllm"]
    tpot = step + prompts_s(costs, step, alone, each, running, output)
    others = running - 1
    first = alone + costs.first_met * each * others
    read = costs.others * each * others * (output > 0)
    assert math.isfinite(tpot)
    assert tpot == pytest.approx(step + read * tpot / (first + output * tpot), rel=1e-5)


@pytest.mark.parametrize("question", range(len(QUESTIONS)))
def test_nothing_divides_by_zero_where_nothing_is_asked_for(question):
    loads = np.array([2.0, 2.0, 1e6]), np.array([1.0, 1e6, 1.0]), np.array([0.0, 1.0, 0.0])
    times = bound(question).tpot_s(*loads)
    assert np.isfinite(times).all()
    assert (times > 0).all()


def test_a_load_that_is_none_is_refused():
    many = bound(0)
    with pytest.raises(RooflensError, match="batch must be at least 1"):
        many.tpot_s(0.0, 1000.0)
    with pytest.raises(RooflensError, match="context must be at least 1"):
        many.tpot_s(1.0, 0.0)


def test_a_cost_of_nothing_takes_only_its_fixed_time():
    load = deployed(0)
    operator = replace(load.operators("decode")[0], cost=Cost())
    one = engine(0).asked(operator, load, "decode")
    assert one.roofs_s == 0
    assert one.fixed_s > 0


def test_a_kernel_takes_its_demand_over_the_share_of_each_roof_that_engines_reach():
    c, at, deployment = served(), machine(H100), made("llama-3.1-8b", H100, (), None)
    read = at.memory("read").value
    of = {o.name: o for o in replace(deployment, batch=16.0).operators("decode")}
    product, attention = (of[name] for name in ("gate_up", "attention"))
    one = engine(0).asked(product, deployment, "decode")
    moved = product.cost.weight_bytes / c.memory["16"] + product.cost.activation_bytes * c.activations / c.copy
    assert one.own["memory"] == pytest.approx(moved / read)
    assert one.own["compute:bf16"] == pytest.approx(product.cost.total_flops / (c.compute["16"] * 989.4e12), rel=1e-4)
    cached = attention.cost.kv_bytes / c.cache + attention.cost.activation_bytes * c.activations / c.copy
    assert engine(0).asked(attention, deployment, "decode").own["memory"] == pytest.approx(cached / read)
    once = product.cost.weight_bytes / c.memory["16"] + product.cost.activation_bytes / c.copy
    assert engine(0).asked(product, deployment, "one").own["memory"] == pytest.approx(once / read)  # in a prompt


def test_the_interval_is_that_of_what_was_asked():
    has, model = (
        served().residuals,
        {name: made(name, H100, (), None).model for name in ("llama-3.2-1b", "gpt-oss-20b")},
    )
    asked = [
        ("vllm", "llama-3.2-1b", "tpot", True, "dense"),
        ("vllm", "gpt-oss-20b", "tpot", True, "experts, vllm"),
        ("trtllm", "gpt-oss-20b", "tpot", True, "experts"),
        ("vllm", "gpt-oss-20b", "tpot", False, "experts, chip unseen"),
        ("generic", "llama-3.2-1b", "tpot", False, "engine not named, dense, chip unseen"),
        ("deepspeed", "llama-3.2-1b", "tpot", True, "2024"),
        ("llama.cpp", "llama-3.2-1b", "ttft", True, "ttft unloaded"),
    ]
    for engine_name, name, what, known, expected in asked:
        assert residual_class(engine_name, model[name], what, has, known=known) == expected


def test_every_question_has_an_interval_and_it_holds_the_estimate():
    latent = made("deepseek-v3", B200, (("tp", 8),), "nvfp4").model
    others = [made(name, H100, (), None).model for name in ("llama-3.2-1b", "gpt-oss-20b")]
    for name in ENGINES:
        for model in (latent, *others):
            for what in ("tpot", "ttft"):
                for known in (True, False):
                    one = served().residuals[residual_class(name, model, what, served().residuals, known=known)]
                    assert one.low < 1 < one.high


def test_an_interval_for_a_chip_that_nobody_measured_is_the_wider_one():
    for name, unseen in served().residuals.items():
        if name.endswith(", chip unseen"):
            seen = served().residuals[name.removesuffix(", chip unseen")]
            assert unseen.high / unseen.low > seen.high / seen.low


def test_without_points_of_ones_own_an_interval_is_the_residuals_of_its_class():
    load = replace(deployed(0), batch=64.0, prompt=2048.0, output=256.0)
    found, said = Served(served(), "vllm", H100).expect(load, "decode"), served().residuals["dense"]
    assert found.high_s == pytest.approx(found.time_s * said.high)


@pytest.mark.parametrize(("batch", "prompt", "many"), [(64, 1000, 8), (64, 8192, 1), (64, 512, 16), (3, 1000, 3)])
def test_a_pass_takes_as_many_prompts_as_its_tokens_and_no_more_than_there_are(batch, prompt, many):
    read = {}
    load = replace(deployed(0), batch=float(batch), prompt=float(prompt), output=100.0)
    engine(0).parts(load, lambda _, which, step: read.update({which: step}) or (1.0, 1.0))
    assert read["mixed"].batch == many


def test_a_chip_is_known_by_the_stack_that_ran_on_it():
    load = replace(deployed(0), batch=4.0, prompt=512.0, output=64.0)

    def width(name, chip):
        found = Served(served(), name, chip).expect(load, "decode")
        return found.high_s / found.low_s

    assert width("vllm", H100) < width("vllm", "mi300x-192gb")  # seen with stacks of 2024 only
    assert width("vllm-2024", H100) > width("vllm-2024", "a100-sxm4-40gb")


def test_an_engine_that_nobody_fitted_has_the_times_of_engines_in_general_and_says_so(monkeypatch):
    from rooflens.api import deployed

    monkeypatch.setattr(deployed, "engine_named", lambda name: name)  # as if the catalogue knew it
    now = deployment(Question("llama-3.2-1b"), Load(prompt=1000, output=500), machine(H100))
    found, notes = deployed.estimator(now, Load(engine="acme-serve"), H100)
    general, none = deployed.estimator(now, Load(), H100)
    assert found.expect(now, "decode") == general.expect(now, "decode")
    assert (len(notes), none) == (1, ())
    assert notes[0].startswith("acme-serve was not fitted")


@pytest.mark.parametrize(
    ("math", "bits"),
    [
        ("bf16", "16"),
        ("fp16_acc16", "16"),
        ("tf32", "16"),
        ("fp8", "8"),
        ("fp8_acc16", "8"),
        ("int8", "8"),
        ("fp4", "4"),
    ],
)
def test_arithmetic_reaches_its_roof_as_others_of_its_width_do(math, bits):
    assert _math_bits(math) == bits
