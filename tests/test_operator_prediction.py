"""`rooflens predict` of one operator alone: floor, estimate, interval, tiles, and every way of asking wrongly."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens.api import machine
from rooflens.api.serving import advise, predict
from rooflens.errors import RooflensError, Unknown
from rooflens.present.words import LANGUAGES

H100, H200, L40S, H20 = "h100-sxm5-80gb", "h200-sxm-141gb", "l40s", "h20-96gb"
GEMM = "gemm:M=16,K=4096,N=14336"
DECODE = "attention:B=16,H=32,K=8,W=128,S=4096"
PROMPT = "attention:T=4096,H=32,K=8,W=128,S=4096"


def test_the_json_has_the_keys_of_the_contract(cli):
    found = json.loads(cli("predict", GEMM, "--on", H100, "--json").out)
    assert found["schema"] == "rooflens/prediction/1"
    assert {"floor", "estimate", "low", "high"} <= set(found["time_s"])
    assert {
        "operator", "machine", "conventions", "flops", "bytes", "bound", "where_time_goes", "constants", "flavour",
        "tile_efficiency", "tiles", "mfu", "mbu",
    } <= set(found)  # fmt: skip
    assert {"rows", "columns", "cuts", "blocks", "waves"} == set(found["tiles"])
    assert all({"name", "value", "origin"} == set(constant) for constant in found["constants"])
    assert all(word in found["conventions"]["precision"] for word in ("weights bf16", "math bf16"))


def test_a_skinny_product_streams_its_weights_and_pads_its_tiles():
    found = predict(GEMM, H100)
    floor_s = (16 * 4096 + 4096 * 14336 + 16 * 14336) * 2 / 3.35e12
    assert found.time_s.floor == pytest.approx(floor_s)
    assert found.bound == "memory"
    assert found.tiles["blocks"] == 112  # 14336 / 128
    assert found.tile_efficiency == pytest.approx(112 / 132)
    assert found.mbu == pytest.approx(floor_s / found.time_s.estimate)
    assert found.time_s.floor < found.time_s.low < found.time_s.estimate < found.time_s.high


def test_a_tiny_product_is_its_launch_and_a_square_one_its_arithmetic():
    assert predict("gemm:M=1,K=256,N=256", H100).bound == "launch"
    assert predict("gemm:M=8192,K=8192,N=8192", H100).bound == "compute"


def test_an_engine_has_constants_of_its_own_and_a_chip_without_rows_has_those_of_others():
    plain, engine, unseen = predict(GEMM, H100), predict(GEMM, H100, engine="sglang"), predict(GEMM, H200)
    assert plain.time_s.estimate != engine.time_s.estimate
    assert "fitted on 16 rows" in engine.constants[1].origin
    assert "prior, from 55 rows of others" in unseen.constants[1].origin  # the same architecture's
    assert any("measured on H200 SXM 141GB: constants are those of other chips" in note for note in unseen.notes)
    width = [found.time_s.high / found.time_s.low for found in (plain, unseen)]
    assert width[0] < width[1]


def test_fp8_is_a_switch_of_scales():
    times = {scales: predict(GEMM, H100, weights="fp8", flavour=scales) for scales in ("static", "dynamic", "block")}
    assert {found.flavour for found in times.values()} == {"fp8-static", "fp8-dynamic", "fp8-block"}
    assert len({found.time_s.estimate for found in times.values()}) == 3
    assert len({found.time_s.floor for found in times.values()}) == 1
    assert predict(GEMM, H100, weights="fp8").flavour == "fp8-dynamic"
    assert predict(GEMM, H100, weights="fp8", engine="trtllm").flavour == "fp8-static"
    assert "narrowing" in times["dynamic"].where_time_goes


@pytest.mark.parametrize(
    ("asked", "flavour"),
    [
        ({"math": "fp32", "weights": "fp32"}, "32"),
        ({"weights": "int8", "math": "int8"}, "int8"),
        ({"weights": "int4"}, "4-weights"),
        ({"weights": "fp8", "math": "bf16"}, "8-weights"),
        ({"weights": "q4_k"}, None),
        ({"math": "tf32"}, None),
    ],
)
def test_formats_choose_the_kernel_and_one_that_nobody_measured_gives_its_floor(asked, flavour):
    found = predict(GEMM, H100, **asked)
    assert found.flavour == flavour
    assert (found.time_s.estimate is None) == (flavour is None)
    assert flavour or any("no kernel of gemm in these formats" in note for note in found.notes)


def test_nvfp4_runs_where_its_arithmetic_is():
    assert predict(GEMM, "b200-sxm-180gb", weights="nvfp4").flavour == "fp4"
    assert predict(GEMM, H100, weights="nvfp4").flavour == "4-weights"


def test_attention_has_a_kernel_of_a_step_and_one_of_a_prompt():
    step, prompt = predict(DECODE, H100), predict(PROMPT, H100)
    assert (step.flavour, prompt.flavour) == ("16", "16/16")
    assert (step.bound, prompt.bound) == ("memory", "compute")
    assert step.tile_efficiency == 4 / 16  # four query heads a group on 16 rows
    assert predict(DECODE, H100, kv="fp8").time_s.floor < 0.6 * step.time_s.floor
    assert predict(DECODE, H100, kv="fp8").flavour == "8"
    assert predict(DECODE, H100, kv="int4").time_s.estimate is None
    assert any("without a prefix" in note for note in predict("attention:T=512,H=32,K=8,W=128,S=4096", H100).notes)


@pytest.mark.parametrize("what", ["elementwise:n=16777216", "rmsnorm:n=4096", "op:flops=1e12,bytes=2e9"])
def test_what_was_never_measured_has_a_floor_and_says_so(what):
    found = predict(what, H100)
    assert found.time_s.floor > 0
    assert found.time_s.estimate is None
    assert any(note.startswith("floors only") for note in found.notes)
    assert predict(DECODE, H100, attention="unfused").time_s.estimate is None


@settings(max_examples=60)
@given(
    M=st.integers(1, 20000), N=st.integers(1, 40000), K=st.integers(1, 40000),
    on=st.sampled_from([H100, H200, L40S, H20, "a100-sxm4-80gb", "mi300x-192gb"]),
    engine=st.sampled_from([None, "vllm", "sglang", "trtllm"]),
)  # fmt: skip
def test_an_estimate_beats_its_floor_only_with_its_data_in_the_last_cache_and_says_so(M, N, K, on, engine):
    found = predict(f"gemm:M={M},K={K},N={N}", on, engine=engine)
    times = found.time_s
    assert times.low <= times.high
    assert times.estimate >= (times.floor if times.floor_resident is None else times.floor_resident)
    said = any("fit the last cache" in note for note in found.notes)
    assert said == (times.floor_resident is not None)


def test_a_cache_or_units_that_nobody_states_are_said_and_not_guessed():
    assert machine(L40S).cache_bytes is None
    assert any("not known: measured rows show 100.7 MB" in note for note in predict(GEMM, L40S).notes)
    assert any("nothing is expected to stay in it" in note for note in predict(GEMM, H20, weights="fp8").notes)
    apart = predict("gemm:M=16,K=4096,N=4096", "apple-m2-ultra", math="fp16")
    assert apart.time_s.estimate is None
    assert any("this kind of chip" in note for note in apart.notes)


def test_a_measured_machine_has_its_own_floor_and_the_estimate_of_its_datasheet():
    measured, spec = predict(GEMM, f"measured:{H200}"), predict(GEMM, H200)
    assert measured.time_s.floor > spec.time_s.floor
    assert measured.time_s.estimate == pytest.approx(spec.time_s.estimate)
    assert any("roofs of the datasheet of H200" in note for note in measured.notes)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("what", [GEMM, DECODE])
def test_every_language_says_it_with_the_same_numbers(cli, lang, what):
    text = cli("predict", what, "--on", L40S, "--lang", lang).out
    for word in ("us", "100.7 MB", "2026-11-29"):
        assert word in text
    assert lang == "en" or not any(word in text for word in ("fitted on", "expected", "is not known", "blocks:"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([GEMM, "--on", H100, "--flavour", "static"], "a flavour is of fp8 products"),
        ([DECODE, "--on", H100, "--flavour", "block", "--kv", "fp8"], "a flavour is of fp8 products"),
        (["llama-3.1-8b", "--on", H100, "--flavour", "block"], "a flavour is of one fp8 product"),
        ([GEMM, "--on", H100, "--engine", "graph"], "a stack of a whole model"),
        ([GEMM, "--on", H100, "--engine", "vlm"], "vllm"),
        ([GEMM, "--on", H100, "--batch", "8"], "leave out batch"),
        ([GEMM, "--on", H100, "--measured-tokens-per-s", "8"], "leave out measured"),
        (["gemm:M=16,K=4096", "--on", H100], "N missing"),
        ([GEMM, "--on", "a100-sxm4-80gb", "--math", "fp8"], "no fp8 arithmetic"),
        ([GEMM, "--on", H100, "--flavour", "weird"], "weird"),
    ],
)
def test_what_is_asked_wrongly_is_a_sentence(cli, arguments, said):
    told = cli("predict", *arguments)
    assert told.code == 2
    assert said in told.err
    assert "Traceback" not in told.err


def test_other_questions_refuse_a_flavour():
    with pytest.raises(RooflensError, match="a flavour is of one fp8 product"):
        advise("llama-3.1-8b", H100, flavour="block")
    with pytest.raises(Unknown, match="engine"):
        predict(GEMM, H100, engine="vlm")


def test_a_collective_alone_has_the_fewest_bytes_as_its_floor_and_the_protocol_that_is_fastest():
    """All-reduce of M among n sends 2 (n - 1) / n M each: 14.68 MB of 8 MiB among 8, at 450 GB/s one way."""
    large = predict("all-reduce:bytes=8388608,devices=8", H100, engine="vllm")
    assert large.time_s.floor == pytest.approx(2 * 7 / 8 * 8388608 / 450e9)
    assert large.time_s.low < large.time_s.estimate < large.time_s.high
    assert (large.bound, large.protocol, large.mbu, large.mfu) == ("link", "two-shot", None, None)
    assert sum(large.where_time_goes.values()) == pytest.approx(large.time_s.estimate)
    small = predict("all-reduce:bytes=16384,devices=8", H100, engine="vllm")
    assert (small.bound, small.protocol) == ("launch", "one-shot")


def test_a_collective_over_the_bridges_of_a_host_is_the_bad_idea_it_is():
    over = {link: predict("all-reduce:bytes=8388608,devices=8", H100, link=link).time_s for link in ("nvlink", "pcie")}
    assert over["pcie"].estimate > 20 * over["nvlink"].estimate
    assert over["pcie"].floor == pytest.approx(450e9 / 63.02e9 * over["nvlink"].floor, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("all-reduce:bytes=8,devices=1", {}, "two devices or more"),
        ("all-reduce:bytes=0,devices=2", {}, "above 0 bytes"),
        ("all-reduce:bytes=8,devices=2", {"weights": "fp8"}, "leave out weights"),
        ("all-reduce:devices=2", {}, "bytes missing"),
        ("all-reduce:bytes=8,devices=2", {"link": "network", "batch": 2}, "leave out batch"),
    ],
)
def test_a_wrong_collective_gets_a_sentence(text, more, said):
    with pytest.raises(RooflensError, match=said):
        predict(text, H100, **more)
