"""Plans: every layout meets its target, one user more or one millisecond less does not, and price decides the order."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from rooflens.api.serving import plan, predict
from rooflens.errors import RooflensError

ASKED = {"prompt": 1024, "output": 512, "weights": "fp8", "engine": "vllm"}


def of(what="llama-3.1-70b", ttft_s=1.0, tpot_s=0.05, users=100, on=("h100-sxm5-80gb",), **more):
    return plan(what, ttft_s=ttft_s, tpot_s=tpot_s, users=users, on=on, **{**ASKED, **more})


def test_every_layout_meets_the_target_and_holds_all_users():
    found = of(users=300)
    assert found.layouts
    for layout in found.layouts:
        assert layout.tpot_s <= 0.05
        assert layout.ttft_s <= 1.0
        assert layout.devices == layout.replicas * layout.tp
        assert layout.replicas * layout.batch >= 300 > (layout.replicas - 1) * layout.batch


def test_the_times_are_those_that_predict_gives():
    layout = next(x for x in of().layouts if x.tp == 4)
    same = predict("llama-3.1-70b", "h100-sxm5-80gb", tp=4, batch=layout.batch, **ASKED)
    assert layout.tpot_s == pytest.approx(same.tpot_s.high), "a target is met when its interval is"
    assert layout.ttft_s == pytest.approx(same.ttft_s.high)
    assert layout.usd_per_hour == pytest.approx(4 * 2.69, rel=0.2)


def test_all_users_together_get_a_token_each_in_the_time_of_one():
    for layout in of(users=300).layouts:
        assert layout.tokens_per_s == pytest.approx(300 / layout.tpot_s)
        assert layout.usd_per_million_tokens == pytest.approx(layout.usd_per_hour / 3600 / layout.tokens_per_s * 1e6)


def test_a_target_that_is_met_to_the_last_digit_is_met():
    exact = next(x for x in of("llama-3.1-8b", users=1).layouts if x.tp == 1)
    again = of("llama-3.1-8b", users=1, tpot_s=exact.tpot_s, ttft_s=exact.ttft_s).layouts
    assert exact in again


def test_a_plan_says_whether_its_times_are_expected_or_floors():
    floors = "the floor: nothing was calibrated, real engines are slower"
    said = {
        "expected": of("llama-3.1-8b"),
        "floors": of("llama-3.1-8b", on=("tpu-v5e",)),
        "both": of("llama-3.1-8b", on=("h100-sxm5-80gb", "tpu-v5e")),
    }
    tpot = {name: found.conventions["tpot"] for name, found in said.items()}
    assert tpot["expected"].startswith("the upper end of the 80 % interval, at")
    assert tpot["floors"].startswith(floors)
    assert tpot["both"].startswith(f"the upper end of the 80 % interval; behind > {floors}")


def test_a_replica_is_one_two_four_or_eight_devices_of_a_node():
    assert {x.tp for x in of("llama-3.1-8b", users=10).layouts} == {1, 2, 4, 8}


def test_a_tighter_token_needs_more_devices():
    loose, tight = (min(x.devices for x in of(users=2000, tpot_s=t).layouts) for t in (0.05, 0.02))
    assert tight > loose


def test_the_cheapest_comes_first_and_the_unpriced_last():
    found = of(on=("h100-sxm5-80gb", "mi300x", "h200-sxm-141gb")).layouts
    known = [x.usd_per_hour for x in found if x.usd_per_hour is not None]
    assert known == sorted(known)
    assert all(x.usd_per_hour is None for x in found[len(known) :])


def test_a_machine_that_cannot_says_why():
    found = of(on=("rtx-4090-24gb", "a100-sxm4-80gb"), what="deepseek-v3", weights="bf16")
    assert not found.layouts
    assert {miss.machine for miss in found.misses} == {"GeForce RTX 4090 24GB", "A100 SXM4 80GB"}
    assert all("does not fit: weights " in miss.why and "short by" in miss.why for miss in found.misses)


def test_a_machine_of_a_file_is_told_how_it_is_said_again(cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(
        '[accelerator]\nid = "acme"\nmatrix = { bf16 = "400 TFLOP/s" }\nmemory = { bandwidth_bytes_per_s = "2 TB/s" }\n'
    )
    asked = ("--ttft", "9s", "--tpot", "100ms", "--users", "4", "--prompt", "100", "--output", "10")
    told = cli("plan", "llama-3.1-8b", "--on", "own.toml, launch=2 us", *asked)
    again = re.search(r"the memory of acme is not known; say it as --on (\S+)", told.out)[1]
    assert again == "own.toml,launch=2us,capacity=80GB"
    assert cli("plan", "llama-3.1-8b", "--on", again, *asked).code == 0
    rate = cli("place", "llama-3.1-8b", "--on", "own.toml", "--tp", "2").err
    assert "the rate of pcie link is not known; give it as --on own.toml,pcie=RATE" in rate


def test_experts_are_spread_over_the_devices_of_a_replica():
    assert all(x.ep == x.tp for x in of("mixtral-8x7b", weights="bf16").layouts)


def test_the_door_exits_with_one_when_none_meets_the_target(cli):
    asked = ["llama-3.1-70b", "--users", "10", "--prompt", "1024", "--output", "512", "--on", "h100-sxm5-80gb"]
    never = cli("plan", *asked, "--ttft", "1s", "--tpot", "1us")
    assert never.code == 1
    assert "TPOT" in never.out
    met = cli("plan", *asked, "--ttft", "1s", "--tpot", "50ms", "--json")
    assert met.code == 0
    assert json.loads(met.out)["layouts"]
    assert "usuarios" in cli("plan", *asked, "--ttft", "1s", "--tpot", "50ms", "--lang", "es").out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--ttft", "1"], "unit"),
        (["--tpot", "50 GB"], "GB"),
        (["--users", "0"], "users"),
        (["--percentile", "99"], "queueing model"),
        (["--on", "h9000"], "h9000"),
        (["--prompt", "131072"], "made for 131072"),
    ],
)
def test_a_wrong_question_gets_a_sentence(cli, more, said):
    asked = ["--ttft", "1s", "--tpot", "50ms", "--users", "10", "--prompt", "1024", "--output", "512"]
    result = cli("plan", "llama-3.1-8b", *asked, *more)
    assert result.code == 2
    assert said in result.err


def test_machines_are_named_as_everywhere_and_each_once():
    found = of("llama-3.1-8b", on="h100-sxm5-80gb,memory=2TB/s,a100-sxm4-80gb", weights=None)
    assert {layout.machine for layout in found.layouts} == {"h100-sxm5-80gb", "a100-sxm4-80gb"}
    slow, quick = (of("llama-3.1-8b", on=on).layouts[0] for on in ("h100-sxm5-80gb,memory=2TB/s", "h100-sxm5-80gb"))
    assert slow.tpot_s > quick.tpot_s or slow.batch < quick.batch
    for on, said in (("", "a name is empty"), ("l4,l4", "l4 is named twice")):
        with pytest.raises(RooflensError, match=said):
            of(on=on)


def test_of_layouts_that_cost_the_same_the_quicker_comes_first():
    """The same chip twice, once with a slower memory, has one price."""
    found = of("llama-3.1-8b", on=("h100-sxm5-80gb,memory=2.5TB/s", "h100-sxm5-80gb")).layouts
    cost = {id(one): (one.usd_per_hour, one.devices) for one in found}
    equals = [(one, other) for one, other in pairwise(found) if cost[id(one)] == cost[id(other)]]
    assert equals
    assert all(one.tpot_s <= other.tpot_s for one, other in equals)


def test_a_machine_without_estimates_is_marked_beside_those_that_have_them(cli):
    found = of("llama-3.1-8b", on=("h100-sxm5-80gb", "tpu-v4"), weights=None, engine=None)
    assert {(layout.machine, layout.estimated) for layout in found.layouts} == {
        ("h100-sxm5-80gb", True),
        ("tpu-v4", False),
    }
    asked = ["plan", "llama-3.1-8b", "--ttft", "1s", "--tpot", "50ms", "--users", "9"]
    rows = [line for line in cli(*asked, "--on", "tpu-v4,h100-sxm5-80gb").out.splitlines() if " x tp " in line]
    assert all(("> " in row) == row.startswith("tpu-v4") for row in rows)


def test_a_plan_says_what_the_config_leaves_open_about_the_weights():
    found = of("deepseek-v3.1-nvfp4", on=("b200-sxm-180gb", "h200-sxm-141gb"), weights=None)
    (note,) = found.notes
    assert "counted in 16 bit unless --weights nvfp4 is given" in note
    assert of().notes == ()
