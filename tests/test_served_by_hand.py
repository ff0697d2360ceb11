"""What an engine adds to its kernels, in closed form: passes of a time that is put in, constants to reckon with."""

from __future__ import annotations

import numpy as np
import pytest

from rooflens.api import Question, machine
from rooflens.api.deployed import Load, deployment
from rooflens.catalogue.calibrations import EngineCosts, Residuals, ServedConstants
from rooflens.prediction.record import Constant
from rooflens.prediction.served import Served, prompts_s, small_s, together
from rooflens.records import replace

COSTS = EngineCosts(
    decode_kernel=2.0, mixed_kernel=3.0, prefill_kernel=5.0, host_s=1e-3, sequence_s=1e-4, others=0.5, first_s=0.25,
    first_passes=2.0, first_met=0.125,
)  # fmt: skip
NAMED = ServedConstants(
    date="2026-11-29", source="by hand", rows={"tpot": 7, "ttft": 5}, chips={"served": ("seen",), "2024": ("old",)},
    memory={"16": 0.8, "8": 0.5, "4": 0.4, "int4": 0.25, "gguf": 0.2}, cache=0.6, expert_memory=1.0,
    expert_compute=1.0, family_memory={}, family_compute={}, activations=3.0, copy=0.7,
    compute={"16": 0.55, "8": 0.45, "4": 0.35}, link=0.65, collective_s=7e-6, kernel_s=1e-6, mixed_s=2e-6,
    prefill_s=3e-6, rider=0.5, experts=4.0, experts_prefill=6.0, fused_experts=0.25, latent=2.0, scan=3.0,
    narrowing=0.75, spread_first_s=1.5, most=0.9, engines={"own": COSTS, "generic": EngineCosts()},
    residuals={
        "dense": Residuals(0.5, 2.0, 9), "dense, chip unseen": Residuals(0.25, 4.0, 9),
        "ttft unloaded": Residuals(0.9, 1.25, 9), "ttft unloaded, chip unseen": Residuals(0.5, 3.0, 9),
        "own points, dense": Residuals(0.81, 1.21, 9), "engine not named, dense": Residuals(0.75, 1.5, 9),
    },
)  # fmt: skip
ENGINE = Served(NAMED, "own", "seen")


def load(model="llama-3.2-1b", batch=1.0, prompt=1000.0, output=0.0, **how):
    made = deployment(Question(model, **how), Load(prompt=1000), machine("h100-sxm5-80gb"))
    return replace(made, batch=batch, prompt=prompt, output=output)


class Passes:
    """Passes that take the times they are told: seconds at the roofs and of fixed costs. What was asked is kept."""

    def __init__(self, **times):
        self.times, self.steps = times, {}

    def __call__(self, deployment, which, step):
        self.steps[which] = step
        return self.times[which]


def test_a_token_is_its_roofs_its_kernels_and_its_host():
    """Without an output nobody else's prompt comes meanwhile: only the decode step is asked for."""
    passes = Passes(decode=(0.02, 0.003))
    found = ENGINE.tpot_s(load(batch=10.0), passes)
    assert found == pytest.approx(0.02 + 0.003 + 1e-3 + 10 * 1e-4, rel=1e-12)
    assert ENGINE.parts(load(batch=10.0), passes) == (0.02, 0.003, 0.0)
    assert set(passes.steps) == {"decode"}


def test_factors_of_ones_own_points_are_each_of_their_part():
    own = replace(ENGINE, roofs=2.0, fixed=3.0, prompts=5.0)
    passes = Passes(decode=(0.02, 0.003), one=(0.1, 0.0), mixed=(0.4, 0.0))
    _, _, prompts = ENGINE.parts(load(batch=10.0, output=100.0), passes)
    assert prompts > 0
    found = own.tpot_s(load(batch=10.0, output=100.0), passes)
    assert found == pytest.approx(2 * 0.02 + 3 * (0.003 + 2e-3) + 5 * prompts, rel=1e-12)


def test_a_step_of_replicas_hosts_the_sequences_of_one_of_them():
    assert ENGINE.host_s(load(batch=30.0)) == pytest.approx(1e-3 + 30 * 1e-4, rel=1e-12)
    assert ENGINE.host_s(load(batch=30.0, dp=3)) == pytest.approx(1e-3 + 10 * 1e-4, rel=1e-12)
    assert ENGINE.host_s(replace(load(batch=30.0), how={})) == ENGINE.host_s(load(batch=30.0))  # one, unless said


def test_a_first_token_waits_through_its_passes():
    """Two passes of (0.3^3 + 0.4^3)^(1/3) s, a quarter of a second beside them."""
    passes = Passes(one=(0.3, 0.4))
    assert ENGINE.first_s(load(), passes) == pytest.approx(0.25 + 2 * 0.091 ** (1 / 3), rel=1e-12)  # 0.027 + 0.064
    assert (passes.steps["one"].batch, passes.steps["one"].tokens) == (1, 1000)
    assert together(1.0, 2.0) == pytest.approx(9 ** (1 / 3), rel=1e-12)
    spread = ENGINE.first_s(load("qwen3-30b-a3b", dp=2, ep=2), passes)
    assert spread == pytest.approx(0.25 + 2 * 0.091 ** (1 / 3) + 1.5, rel=1e-12)
    for how in ({"dp": 2}, {"tp": 2, "ep": 2}):  # nobody to share experts with
        apart = ENGINE.first_s(replace(load("qwen3-30b-a3b", tp=2), how=how), passes)
        assert apart == pytest.approx(0.25 + 2 * 0.091 ** (1 / 3), rel=1e-12)


@pytest.mark.parametrize(
    ("batch", "prompt", "how", "many", "batched"),
    [
        (10.0, 1000.0, {}, 8.0, 8.0),  # 8,192 tokens are eight prompts of a thousand
        (10.0, 5500.0, {}, 1.0, 1.0),  # 1.49 of them round to one
        (10.0, 5400.0, {}, 2.0, 2.0),  # and 1.52 to two
        (10.0, 30000.0, {}, 1.0, 1.0),
        (6.0, 1000.0, {}, 6.0, 6.0),  # no more than there are
        (12.0, 1000.0, {"dp": 3}, 4.0, 12.0),  # each replica reads those of its own
    ],
)
def test_what_others_prompts_add_is_one_prompt_of_a_full_pass(batch, prompt, how, many, batched):
    passes = Passes(decode=(0.02, 0.003), one=(0.3, 0.4), mixed=(1.0, 2.0))
    served = load(batch=batch, prompt=prompt, output=100.0, **how)
    replicas = how.get("dp", 1)
    step_s = 0.023 + 1e-3 + batch / replicas * 1e-4
    alone_s = 0.25 + 2 * 0.091 ** (1 / 3)
    wanted = prompts_s(COSTS, step_s, alone_s, 9 ** (1 / 3) / many, batch / replicas, 100.0)
    assert ENGINE.parts(served, passes)[2] == pytest.approx(wanted, rel=1e-12)
    assert (passes.steps["mixed"].batch, passes.steps["mixed"].tokens) == (batched, prompt)
    assert passes.steps["mixed"].context == prompt


@pytest.mark.parametrize(("batch", "how"), [(1.0, {}), (2.0, {"dp": 4})])
def test_a_sequence_alone_on_its_replica_waits_for_nobody(batch, how):
    passes = Passes(decode=(0.02, 0.003), one=(0.3, 0.4), mixed=(1.0, 2.0))
    assert ENGINE.parts(load(batch=batch, output=100.0, **how), passes)[2] == 0


def test_prompts_beside_writers_pass_the_stages_as_one_microbatch():
    passes = Passes(decode=(0.02, 0.003), one=(0.3, 0.4), mixed=(1.0, 2.0))
    ENGINE.parts(load(batch=8.0, output=100.0, pp=2, microbatches=4), passes)
    assert {name: (step.pp, step.microbatches) for name, step in passes.steps.items()} == {
        "decode": (2, 4), "one": (2, 1), "mixed": (2, 1),
    }  # fmt: skip


def test_what_comes_meanwhile_solves_its_quadratic():
    """Nine others, half of each prompt's 2 s: 9 s of reading. TTFT 1 + 9 x 2 / 8 = 3.25 s, then 100 tokens of 10 ms.

    x = 9 (0.01 + x) / (3.25 + 100 (0.01 + x)): 100 x^2 + (4.25 - 9) x - 0.09 = 0.
    """
    found = prompts_s(COSTS, 0.01, 1.0, 2.0, 10.0, 100.0)
    assert found == pytest.approx((4.75 + (4.75**2 + 4 * 100 * 0.09) ** 0.5) / 200, rel=1e-12)
    once = prompts_s(COSTS, 0.01, 1.0, 2.0, 10.0, 1.0)  # x^2 + (3.26 - 9) x - 0.09 = 0
    assert once == pytest.approx((5.74 + (5.74**2 + 4 * 0.09) ** 0.5) / 2, rel=1e-12)
    assert prompts_s(COSTS, 0.01, 1.0, 2.0, 1.0, 100.0) == 0  # nobody else
    assert prompts_s(COSTS, 0.01, 1.0, 2.0, 10.0, 0.0) == 0
    assert prompts_s(COSTS, 0.01, 1.0, 2.0, 0.5, 100.0) == 0  # fewer than one a replica is nobody else


def test_loads_at_once_may_have_no_output_among_them():
    passes = Passes(decode=(0.02, 0.003), one=(0.3, 0.4), mixed=(1.0, 2.0))
    both = ENGINE.tpot_s(load(batch=np.array([10.0, 10.0]), output=np.array([0.0, 100.0])), passes)
    assert both == pytest.approx([ENGINE.tpot_s(load(batch=10.0, output=n), passes) for n in (0.0, 100.0)], rel=1e-12)


def test_a_small_kernel_has_a_price_in_every_pass():
    found = {which: small_s(NAMED, COSTS, which) for which in ("decode", "mixed", "one")}
    assert found == pytest.approx({"decode": 2 * 1e-6, "mixed": 3 * 2e-6, "one": 5 * 3e-6}, rel=1e-12)


def test_a_pass_is_its_kernels_as_often_as_they_run():
    served = load(batch=4.0)
    each = [(o.count, ENGINE.asked(o, served, "decode")) for o in served.operators("decode")]
    roofs_s, fixed_s = ENGINE.priced(served, "decode", served.step("decode"))
    assert roofs_s == pytest.approx(sum(count * one.roofs_s for count, one in each), rel=1e-12)
    assert fixed_s == pytest.approx(sum(count * one.fixed_s for count, one in each), rel=1e-12)
    assert max(count for count, _ in each) == 16


class Told(Served):
    """An engine whose passes take the times they are told."""

    def priced(self, deployment, which, step):
        return {"decode": (0.02, 0.003), "one": (0.3, 0.4), "mixed": (1.0, 2.0)}[which]


def test_an_expectation_says_what_it_adds_to_the_floor():
    served = load(batch=10.0, output=100.0)
    floor_s = served.floor("decode").floor_s
    told = Told(NAMED, "own", "seen", roofs=2.0, fixed=3.0, prompts=5.0)
    found = told.expect(served, "decode")
    prompts = told.parts(served)[2]
    wanted = {"reach": 2 * 0.02 - floor_s, "kernels": 3 * 0.003, "host": 3 * 2e-3, "prefill": 5 * prompts}
    assert found.parts_s == pytest.approx(wanted, rel=1e-12)
    assert found.time_s == pytest.approx(floor_s + sum(wanted.values()), rel=1e-12)
    assert (found.low_s, found.high_s) == pytest.approx((0.5 * found.time_s, 2 * found.time_s), rel=1e-12)
    first = told.expect(served, "prefill")
    assert first.time_s == pytest.approx(0.25 + 2 * 0.091 ** (1 / 3), rel=1e-12)
    assert (first.low_s, first.high_s) == pytest.approx((0.9 * first.time_s, 1.25 * first.time_s), rel=1e-12)
    assert first.parts_s == {"host": 0.25}


def test_nothing_is_expected_below_the_floor_and_parts_of_nothing_are_not_said():
    served = load(batch=10.0)
    floor_s = served.floor("decode").floor_s
    found = Told(NAMED, "generic", "seen", roofs=1e-6, fixed=1e-6).expect(served, "decode")
    assert (found.time_s, found.low_s, found.high_s) == (floor_s, floor_s, floor_s)
    assert set(found.parts_s) == {"kernels"}  # no host, no prompts, and roofs under the floor
    assert Told(NAMED, "generic", "seen").expect(served, "prefill").parts_s == {}


@pytest.mark.parametrize(
    ("chip", "points", "low", "high"),
    [
        ("seen", 0, 0.5, 2.0), ("old", 0, 0.25, 4.0), (None, 0, 0.25, 4.0), ("seen", 4, 0.5, 2.0),
        ("seen", 5, 0.81**1.5, 1.21**1.5), ("old", 5, 0.81**1.5, 1.21**1.5),
    ],
)  # fmt: skip
def test_an_interval_is_that_of_the_chip_or_of_five_points_of_ones_own(chip, points, low, high):
    engine = Told(NAMED, "own", chip, points=points, spread=1.5)
    step, first = (engine.expect(load(batch=10.0), phase) for phase in ("decode", "prefill"))
    assert (step.low_s / step.time_s, step.high_s / step.time_s) == pytest.approx((low, high), rel=1e-12)
    known = (0.9, 1.25) if chip == "seen" else (0.5, 3.0)  # points are of tokens, not of first ones
    assert (first.low_s / first.time_s, first.high_s / first.time_s) == pytest.approx(known, rel=1e-12)


def test_an_engine_says_what_it_rests_on():
    own = replace(ENGINE, roofs=2.0, fixed=3.0, prompts=5.0)
    origin = "fitted on 12 rows, 2026-11-29"
    said = {
        "memory reach, 16-bit weights": 0.8, "memory reach, 8-bit weights": 0.5, "memory reach, cache": 0.6,
        "compute reach, 16 bit": 0.55, "compute reach, 8 bit": 0.45, "link reach": 0.65, "collective_s": 7e-6,
        "kernel_s": 2 * 1e-6, "host_s a step": 1e-3, "host_s a sequence": 1e-4, "share of others' prompts": 0.5,
        "first token_s": 0.25,
    }  # fmt: skip
    fitted = tuple(Constant(name, pytest.approx(value, rel=1e-12), origin) for name, value in said.items())
    assert own.constants == fitted
    factors = {"factor on roofs": 2.0, "factor on fixed costs": 3.0, "factor on prompts": 5.0}
    mine = tuple(Constant(name, value, "fitted on 3 points of your own") for name, value in factors.items())
    assert replace(own, points=3).constants == (*fitted, *mine)


def test_an_engine_without_others_prompts_keeps_its_host():
    assert ENGINE.without("prompts") == replace(ENGINE, prompts=0.0)
    assert ENGINE.without("host") is None
    assert not ENGINE.of_one_machine


def test_an_engine_that_says_no_more_has_the_factors_of_none():
    plain = Served(NAMED)
    assert (plain.fitted_as, plain.chip, plain.points) == ("generic", None, 0)
    assert (plain.roofs, plain.fixed, plain.prompts, plain.spread) == (1.0, 1.0, 1.0, 1.0)
    assert Served(NAMED, "unheard").costs == EngineCosts() != Served(NAMED, "own").costs
    assert EngineCosts() == EngineCosts(1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0)
