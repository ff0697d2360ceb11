"""Levers on a deployment: each gain is a ratio of two prices, with closed forms where there are any."""

from __future__ import annotations

import json

import pytest

from rooflens import api
from rooflens.api import Question
from rooflens.api.deployed import Load, deployment
from rooflens.api.serving import advise as api_advise
from rooflens.catalogue.engines import engines
from rooflens.errors import RooflensError
from rooflens.levers.advice import PAYS, advise, reached
from rooflens.levers.changes import Means, changes
from rooflens.prediction.memory import reserve
from rooflens.workload import accepted

H100 = "h100-sxm5-80gb"


def dense(on=H100, batch=1, context=2048, what="llama-3.1-8b", **more):
    return deployment(Question(what, batch=batch, **more), Load(context=context), api.machine(on))


def levers(now, goal="throughput", **means):
    return {lever.name: lever for lever in advise(now, reserve(None), Means(**means), goal).levers}


def test_a_weight_format_gains_the_ratio_of_the_bytes():
    """Llama-3.1-8B at batch 1: (weights + KV) before over after; fp8 halves all but head (525 M values) and norms."""
    now = dense()
    found = levers(now)["fp8 weights"]
    streamed, head, kv = 15.0097e9, 1.0507e9, 2048 * 131_072
    assert found.gain_floor == pytest.approx((streamed + kv) / ((streamed - head) / 2 + head + kv), rel=1e-3)
    assert found.memory_bytes < 0


def test_drafts_gain_the_tokens_they_bring_while_memory_binds():
    """1 + a + a^2 + a^3 of one reading of the weights."""
    found = levers(dense(), acceptance=0.7)["speculative decoding, 3 drafts at 70 % accepted"]
    assert found.gain_floor == pytest.approx(1 + 0.7 + 0.49 + 0.343, rel=0.01)
    assert found.gain_floor <= accepted(4.0, 0.7) + 1e-9
    assert found.stops_at is None, "a cache that is read once for four tokens keeps paying at any batch"
    short = levers(dense(context=16), acceptance=0.7)["speculative decoding, 3 drafts at 70 % accepted"]
    assert short.stops_at.startswith("batch")


def test_a_better_chip_gains_the_ratio_of_bandwidths():
    assert levers(dense("a100-sxm4-80gb"), machines=[api.machine(H100)])["H100 SXM5 80GB"].gain_floor == pytest.approx(
        3.35 / 2.039, rel=1e-3
    )


def test_a_larger_batch_goes_as_far_as_memory_or_the_ridge_and_helps_no_single_user():
    now = dense()
    assert levers(now, most=229)["batch 229"].note == "as far as memory allows"
    assert levers(now, most=4000)["batch 295"].note == "as far as the ridge point allows"
    assert "sooner" in levers(now, "latency", most=229)["batch 229"].why_not
    assert "memory holds no more" in levers(now, most=1)["a larger batch"].why_not


def test_tensor_parallelism_helps_a_user_and_costs_a_device():
    throughput, latency = levers(dense(batch=4)), levers(dense(batch=4), "latency")
    assert latency["tensor parallelism 2"].gain_floor > 1.5
    assert throughput["tensor parallelism 2"].gain_floor < 1
    assert latency["tensor parallelism 2"].gain_floor == pytest.approx(
        2 * throughput["tensor parallelism 2"].gain_floor
    )


def test_tensor_parallelism_over_pcie_is_the_bad_idea_it_is():
    nvlink, pcie = (
        deployment(Question("llama-3.1-8b", batch=512), Load(context=512), api.machine(H100).linked(level))
        for level in ("nvlink", "pcie")
    )
    assert (
        levers(pcie, "latency")["tensor parallelism 8"].gain_floor
        < 0.5 * levers(nvlink, "latency")["tensor parallelism 8"].gain_floor
    )


def test_sparsity_has_a_roof_of_its_own_and_its_positions_cost_bytes():
    """16-bit weights 2:4: half the values and 2 bits of position each, 9/16 of the bytes, so at most 16/9 in decode."""
    found = levers(dense(context=1))["2:4 sparsity"]
    assert found.gain_floor == pytest.approx(16 / 9, rel=1e-3)
    compute = levers(dense(batch=4096, context=1))["2:4 sparsity"]
    assert 1.5 < compute.gain_floor <= 2


def test_what_cannot_help_says_why():
    found = levers(dense())
    for name in ("flash attention", "GQA-aware decode attention", "chunked prefill", "expert parallelism", "replicas"):
        assert found[name].gain_floor is None
        assert found[name].why_not
    assert "no fp4 arithmetic" in levers(dense())["nvfp4 weights"].note
    spread = levers(dense(what="mixtral-8x7b", tp=2, batch=8))
    assert spread["expert parallelism 2"].gain_floor is not None


def test_unfused_attention_is_helped_by_flash():
    found = levers(dense(attention="unfused", batch=64, context=8192))["flash attention"]
    assert found.gain_floor > 1.005


def test_the_load_at_which_a_lever_stops_paying_is_where_its_gain_falls_under_five_per_cent():
    now = dense()
    found = levers(now)["int4 weights"]
    batch = float(found.stops_at.removeprefix("batch "))
    change = next(c for c in changes(now, Means()) if c.name == "int4 weights")

    def gain(at):
        from dataclasses import replace

        return reached(replace(change.after, batch=at), "throughput") / reached(replace(now, batch=at), "throughput")

    assert gain(batch) < PAYS <= gain(batch / 2)


def test_levers_are_ranked_by_gain_and_those_without_room_or_effect_come_last():
    found = advise(dense(batch=16), reserve(None), Means(most=229, machines=[api.machine("a100-sxm4-80gb")])).levers
    gains = [lever.gain_floor for lever in found if lever.gain_floor is not None and lever.fits]
    assert gains == sorted(gains, reverse=True)
    assert all(lever.why_not for lever in found if lever.gain_floor is None)


def test_the_door_says_it_and_names_the_engines_option(cli):
    found = json.loads(
        cli("advise", "llama-3.1-8b", "--on", H100, "--engine", "vllm", "--to", "h200-sxm-141gb", "--json").out
    )
    assert found["schema"] == "rooflens/advise/1"
    flags = {lever["name"]: lever.get("engine_flag") for lever in found["levers"]}
    assert flags["fp8 KV cache"] == "--kv-cache-dtype fp8"
    assert flags["fp8 weights"] == "--quantization"
    text = cli("advise", "llama-3.1-8b", "--on", H100, "--for", "latency", "--to", "h200-sxm-141gb", "--lang", "es").out
    assert "tokens/s por usuario" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["params=8e9,weight_bytes=4.6e9", "--on", H100], "architecture"),
        (["llama-3.1-8b", "--on", H100, "--batch", "1,2"], "one load"),
        (["llama-3.1-8b", "--on", H100, "--to", "h9000"], "h9000"),
        (["llama-3.1-8b", "--on", H100, "--for", "speed"], "speed"),
        (["llama-3.1-8b", "--on", "mi300x", "--for", "cost"], "price"),
    ],
)
def test_a_wrong_question_gets_a_sentence(cli, arguments, said):
    result = cli("advise", *arguments)
    assert result.code == 2
    assert said in result.err


def test_what_leaves_the_floor_as_it_is_shows_in_the_expected_time(cli):
    asked = ["--on", H100, "--engine", "vllm", "--batch", "32", "--prompt", "4096", "--output", "256"]
    found = json.loads(cli("advise", "llama-3.1-8b", *asked, "--to", "h200-sxm-141gb", "--json").out)
    apart = next(x for x in found["levers"] if x["name"].startswith("prefill and decode"))
    assert apart["gain_floor"] == 1.0
    assert apart["gain_estimate"] > 1.1
    assert "cache move once a prompt" in apart["note"]


def test_by_cost_a_cheaper_machine_can_beat_a_faster_one():
    now = dense(batch=16)
    machines = [api.machine(name) for name in ("a100-sxm4-80gb", "h200-sxm-141gb")]
    found = {lever.name: lever for lever in advise(now, reserve(None), Means(machines=machines), "cost").levers}
    cheap, fast = found["A100 SXM4 80GB"], found["H200 SXM 141GB"]
    assert cheap.gain_floor > fast.gain_floor
    assert cheap.gain_floor == pytest.approx(2.039 / 3.35 * 2.69 / 0.835, rel=0.01)


def test_sparsity_is_of_the_formats_that_the_chip_has_it_in():
    """MI355X: twice in 16 and 8 bit, none in fp4; where the catalogue knows nothing, no lever is offered."""
    chip = api.machine("mi355x-288gb")
    assert chip.sparse_multipliers["bf16"] == 2
    assert chip.sparse_multipliers["fp4"] == 1
    unknown = next(x for x in advise(dense("tpu-v5e"), reserve(None), Means()).levers if x.name == "2:4 sparsity")
    assert unknown.why_not


def test_by_cost_the_machines_to_move_to_are_those_with_a_price():
    found = api_advise("llama-3.1-8b", "rtx-4090-24gb", goal="cost")
    machines = [x for x in found.levers if x.name.startswith("H100")]
    assert all(x.usd_per_million_tokens is not None for x in machines)
    assert found.levers[0].gain_floor > 1


def test_machines_are_named_as_everywhere_with_their_own_figures_and_each_once():
    found = {x.name for x in api_advise("llama-3.1-8b", H100, to="l40s,memory=1TB/s,l4").levers}
    assert {"L40S", "L4"} <= found
    for to, said in (("", "a name is empty"), ("l4,l4", "l4 is named twice")):
        with pytest.raises(RooflensError, match=said):
            api_advise("llama-3.1-8b", H100, to=to)


def test_what_does_not_fit_is_not_made_to_fit_by_what_leaves_memory_alone():
    found = {x.name: x for x in api_advise("llama-3.1-405b", H100, to="l40s").levers}
    assert found["prefill and decode on machines of their own"].fits is False
    assert found["tensor parallelism 8"].memory_bytes < 0


def test_what_was_measured_on_one_machine_expects_nothing_of_another() -> None:
    found = api_advise("llama-3.1-8b", "measured:h200-sxm-141gb", to="h100-sxm5-80gb", batch=4).levers
    other = [lever for lever in found if "H100" in lever.name and lever.gain_floor is not None]
    assert other
    assert all(lever.gain_estimate is None for lever in other)
    assert any(lever.gain_estimate is not None for lever in found)


def test_what_is_asked_about_is_said_to_have_no_room_itself():
    """405.9e9 parameters of 2 bytes on 25.8 GB: a gain of such a step is of one that never runs."""
    (said,) = api_advise("llama-3.1-405b", "rtx-4090-24gb").notes
    assert said.startswith("does not fit: weights 811.7 GB")
    assert api_advise("llama-3.1-8b", H100).notes == ()
    left_open = api_advise("deepseek-v3.1-nvfp4", "b200-sxm-180gb", tp=8).notes
    assert any("counted in 16 bit unless --weights nvfp4 is given" in note for note in left_open)


def test_every_option_that_an_engine_names_is_one_of_a_lever():
    means = Means(most=229, machines=[api.machine("a100-sxm4-80gb")])
    levers = {change.flag for now in (dense(), dense(what="mixtral-8x7b")) for change in changes(now, means)}
    assert {name: set(engine.flags) - levers for name, engine in engines().items()} == {
        name: set() for name in engines()
    }
