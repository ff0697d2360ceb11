"""`rooflens predict` at the door: its JSON, its curves, its gates, and every way of asking wrongly."""

from __future__ import annotations

import csv
import json
import sys

import pytest

from rooflens.api.serving import predict
from rooflens.present.words import LANGUAGES

EIGHT = ["predict", "llama-3.1-8b", "--on", "h100-sxm5-80gb"]
ONE = ["predict", "params=8e9,weight_bytes=4.6e9", "--on", "h100-sxm5-80gb"]


def test_the_json_has_the_keys_of_the_contract(cli):
    found = json.loads(
        cli(*EIGHT, "--prompt", "1024", "--output", "512", "--batch", "16", "--engine", "vllm", "--json").out
    )
    assert found["schema"] == "rooflens/prediction/1"
    assert {"floor", "floor_overlapped"} <= set(found["tpot_s"])
    keys = {
        "ttft_s", "tokens_per_s_per_user", "tokens_per_s", "mfu_of_datasheet", "mbu_of_datasheet", "batch_at_ridge",
        "usd_per_million_tokens", "joules_per_token", "batch_memory_allows", "bound", "where_time_goes", "memory",
        "constants", "conventions",
    }  # fmt: skip
    assert keys <= set(found)
    assert found["step"]["context"] == 1024 + 512 / 2
    held = {
        "weight_bytes",
        "kv_bytes",
        "activation_bytes",
        "runtime_bytes",
        "capacity_bytes",
        "fits",
        "max_sequences",
        "kv_tokens",
    }
    assert held <= set(found["memory"])
    assert all({"name", "value", "origin"} == set(constant) for constant in found["constants"])


def test_one_command_prints_the_six_numbers_and_the_verdict(cli):
    text = cli(*ONE, "--measured-tokens-per-s", "480").out
    for number in ("728.3", "3.478", "84.9", "11.65 TFLOP/s", "1.18 %", "65.9 %"):
        assert number in text
    assert "no kernel work gives 2x" in text
    found = json.loads(cli(*ONE, "--measured-tokens-per-s", "480", "--json").out)
    assert found["tokens_per_s_ceiling"] == pytest.approx(728.3, abs=0.05)
    assert found["mbu"] == pytest.approx(0.659, abs=5e-4)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_says_it_with_the_same_numbers(cli, lang):
    text = cli(*EIGHT, "--lang", lang).out
    assert "4.561 ms" in text
    assert json.loads(cli(*EIGHT, "--json", "--lang", lang).out) == json.loads(cli(*EIGHT, "--json").out)


def test_a_range_of_batches_is_a_table_curves_and_a_file_of_values(cli, tmp_path):
    result = cli(*EIGHT, "--batch", "1:64", "--plot", str(tmp_path / "c.svg"), "--csv", str(tmp_path / "c.csv"))
    assert len(result.out.splitlines()) == 2 + 1 + 7
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert [float(row["batch"]) for row in rows] == [1, 2, 4, 8, 16, 32, 64]
    assert float(rows[0]["tpot_floor_s"]) == pytest.approx(4.561e-3, rel=1e-3)
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")
    assert len(json.loads(cli(*EIGHT, "--batch", "1,2", "--json").out)["loads"]) == 2


def test_curves_without_matplotlib_are_a_sentence(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = cli(*EIGHT, "--batch", "1,2", "--plot", str(tmp_path / "c.svg"))
    assert (result.code, list(tmp_path.iterdir())) == (2, [])
    assert "no picture: matplotlib is not installed" in result.err


def test_a_gate_fails_under_its_limit_and_passes_above(cli):
    assert cli(*EIGHT, "--measured-tokens-per-s", "100", "--fail-below", "mbu=0.6").code == 1
    assert cli(*EIGHT, "--measured-tokens-per-s", "150", "--fail-below", "mbu=0.6").code == 0


def test_the_answer_is_also_a_file(cli, tmp_path):
    cli(*EIGHT, "--out", str(tmp_path))
    assert json.loads((tmp_path / "predict.json").read_text())["schema"] == "rooflens/prediction/1"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--tp", "3"], "tp may be"),
        (["--ep", "8"], "has no experts"),
        (["--context", "200000"], "made for 131072 positions"),
        (["--prompt", "131072", "--output", "1"], "made for 131072 positions"),
        (["--weights", "fp3"], "fp3"),
        (["--math", "fp4"], "fp4"),
        (["--engine", "vlm"], "vllm"),
        (["--memory-fraction", "1.5"], "1.5"),
        (["--output", "5", "--context", "7"], "leave it out"),
        (["--acceptance", "0.5"], "--tokens"),
        (["--fail-below", "mbu=0.6"], "--measured-tokens-per-s"),
        (["--batch", "1,2", "--measured-tokens-per-s", "10"], "one load"),
        (["--plot", "c.png"], "several loads"),
        (["--batch", "1,2", "--plot", "c.txt"], ".png or .svg"),
        (["--batch", "0"], "at least 1"),
        (["--measured-tokens-per-s", "0"], "0"),
        (["--runtime-bytes", "1 GHz"], "GHz"),
        (["--on", "l40s", "--link", "nvlink"], "nvlink"),
    ],
)
def test_a_wrong_question_gets_a_sentence(cli, more, said):
    result = cli(*EIGHT, *more)
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("text", "said"),
    [("gemm:M=1,K=2", "N missing"), ("params=8e9", "weight_bytes"), ("params=0,weight_bytes=1", "params")],
)
def test_what_is_written_out_needs_all_its_sizes(cli, text, said):
    result = cli("predict", text, "--on", "h100-sxm5-80gb")
    assert result.code == 2
    assert said in result.err


def test_arithmetic_takes_no_batch_or_engine(cli):
    result = cli(*ONE, "--batch", "4", "--engine", "vllm")
    assert result.code == 2
    assert "batch" in result.err
    assert "engine" in result.err


def test_without_an_estimate_rates_and_cost_are_said_to_be_those_of_the_floor(cli):
    """No engine was measured on a processor: 1 / floor is the most that can be, and no expectation."""
    there = ("predict", "llama-3.1-8b", "--on", "epyc-9654")
    one, several = cli(*there, "--batch", "4").out, cli(*there, "--batch", "4,8").out
    found = cli(*there, "--batch", "4", "--json").json
    assert found["tokens_per_s"] == found["tokens_per_s_ceiling"] == pytest.approx(4 / found["tpot_s"]["floor"])
    assert f"at most {found['tokens_per_s_per_user']:.4g} tokens/s a user" in one
    said = "tokens/s, cost, energy, MFU and MBU are those of the floor, which nothing beats"
    assert said in one
    assert said in several
    assert said in found["notes"][-1]
    graph = cli(*EIGHT, "--engine", "graph").out
    assert "at least 3.41 USD per million output tokens" in graph  # 2.69 USD an hour / 3600 x 4.561 ms x 1e6
    assert "at most" not in cli(*EIGHT).out


@pytest.mark.parametrize(
    ("how", "links"),
    [
        ([], {}),
        (["--tp", "8"], {"link/nvlink, B/s": (450e9, "spec")}),
        (["--tp", "16", "--gpus-per-node", "8"],
         {"link/nvlink, B/s": (450e9, "spec"), "link/network, B/s": (50e9, "assumed")}),
        (["--tp", "2", "--link", "network"], {"link/network, B/s": (50e9, "assumed")}),
    ],
)  # fmt: skip
def test_every_link_that_a_step_takes_is_named_with_its_origin(cli, how, links):
    constants = cli(*EIGHT, *how, "--json").json["constants"]
    assert {c["name"]: (c["value"], c["origin"]) for c in constants if c["name"].startswith("link/")} == links


def test_drafts_that_nobody_doubts_are_said_to_be_all_kept(cli):
    """Four tokens a step at the price of one step: a quarter of its time only where all three drafts are kept."""
    kept = "every drafted token is taken as kept; say another share with --acceptance"
    unsaid, said = (cli(*EIGHT, "--tokens", "4", *more, "--json").json for more in ((), ("--acceptance", "1")))
    assert unsaid["tpot_s"] == said["tpot_s"]
    assert kept in unsaid["notes"]
    assert kept not in said["notes"]
    assert kept not in cli(*EIGHT, "--json").json["notes"]


def test_what_does_not_fit_says_what_would(cli):
    """811.7 GB of weights and 85.9 GB a device: ten at least, so 16 that share each layer."""
    text = cli("predict", "llama-3.1-405b", "--on", "h100-sxm5-80gb").out
    assert "does not fit" in text
    assert "tp 16 fits" in text
    crowded = cli(*EIGHT, "--engine", "vllm", "--batch", "256").out
    assert "batch 229 fits at this context" in crowded


def test_what_the_runtime_takes_is_unknown_and_not_nothing(cli):
    assert "runtime unknown" in cli(*EIGHT).out
    found = json.loads(cli(*EIGHT, "--json").out)
    assert "runtime_bytes" not in found["memory"]
    said = json.loads(cli(*EIGHT, "--runtime-bytes", "0B", "--graph-bytes", "1GB", "--json").out)
    assert said["memory"]["runtime_bytes"] == 1e9


def test_the_roofs_that_a_prediction_rests_on_are_named_with_their_units(cli):
    found = json.loads(cli(*EIGHT, "--weights", "fp8", "--tp", "2", "--json").out)
    rates = {constant["name"]: constant["value"] for constant in found["constants"]}
    assert rates["memory/main, B/s"] == 3.35e12
    assert rates["link/nvlink, B/s"] == 450e9
    assert {rates[name] for name in rates if name.endswith("FLOP/s")} == {989.4e12, 1978.9e12}


def test_a_pipeline_says_its_bubble_and_what_is_uneven(cli):
    """Three of four stages wait: (4 - 1) / (2 + 4 - 1)."""
    asked = [*EIGHT, "--pp", "4", "--microbatches", "2", "--batch", "8"]
    assert "each stage waits 60 % of the step" in cli(*asked).out
    found = json.loads(cli(*asked, "--json").out)
    assert found["bubble"] == pytest.approx(0.6)
    assert found["tpot_s"]["estimate"] > found["tpot_s"]["floor"]
    assert "3 stages do not share 32 layers evenly" in cli(*EIGHT, "--pp", "3").out
    assert "only 1 of 8 microbatches have a sequence" in cli(*EIGHT, "--microbatches", "8").out
    idle = ("predict", "llama-3.1-8b", "--on", "h100-sxm5-80gb", "--dp", "4", "--batch")
    assert "only 3 of 4 replicas have a sequence" in cli(*idle, "3").out
    assert "replicas have" not in cli(*idle, "4").out


def test_no_more_loads_at_once_than_a_table_holds(cli):
    result = cli(*EIGHT, "--batch", "1:4096:1", "--context", "1024,2048")
    assert (result.code, result.out) == (2, "")
    assert "8192 loads were asked for; 4096 are the most" in result.err


def test_a_context_counts_its_prompt(cli):
    result = cli(*EIGHT, "--prompt", "100", "--context", "50")
    assert result.code == 2
    assert "a context counts the prompt too" in result.err
    assert "without a cached prefix" in cli(*EIGHT, "--prompt", "100", "--context", "500").out


@pytest.mark.parametrize("more", [["--runtime-bytes", ""], ["--calibration", ""], ["--graph-bytes", ""]])
def test_an_option_left_empty_is_not_taken_for_one_left_away(cli, more):
    assert cli(*EIGHT, *more).code == 2


def test_a_step_that_waits_for_its_links_is_judged_by_its_floor_over_its_time():
    """16 sequences at 50 tokens/s in all take 16 / 50 s a step."""
    found = predict("llama-3.1-70b", "h100-sxm5-80gb,nvlink=0.5GB/s", tp=8, batch=16, measured_tokens_per_s=50.0)
    assert found.bound == "link"
    share = found.tpot_s.floor / (16 / 50)
    assert found.verdict.sentences[0].startswith(f"floor over measured {100 * share:.1f} %")
    assert found.verdict.most_from_software == pytest.approx(1 / share)
