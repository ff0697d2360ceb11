"""Tokens/s that nobody can beat at batch 1."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import rooflens
from rooflens import models, workload
from rooflens.api import model
from rooflens.api.claims import ceilings
from rooflens.errors import NoPath, RooflensError

H100, GPUS = "h100-sxm5-80gb", "h100-sxm5-80gb,a100-sxm4-80gb,rtx-4090-24gb"


def stored_bytes(name: str, weights: str) -> float:
    built = model(name)
    own, _ = workload.own_dtype(built)
    return models.facts(built, workload.precision(own, weights)).weight_bytes


# sizes that llama.cpp prints for Llama 3.1 8B, GiB
@pytest.mark.parametrize(
    ("weights", "gib"),
    [("q4_k_s", 4.36), ("q4_k_m", 4.58), ("q5_k_s", 5.21), ("q5_k_m", 5.33), ("q6_k", 6.14), ("q8_0", 7.95)],
)
def test_files_of_llama_cpp_have_the_size_that_it_prints(weights: str, gib: float) -> None:
    assert stored_bytes("llama-3.1-8b", weights) / 2**30 == pytest.approx(gib, rel=0.002)


def test_a_mixture_counted_on_one_model_holds_for_a_larger_one() -> None:
    assert stored_bytes("llama-3.1-70b", "q4_k_m") == pytest.approx(42.52e9, rel=0.002)  # the published file


def test_e1_eight_billion_parameters_in_4_6_gigabytes() -> None:
    (top,) = ceilings("params=8e9,weight_bytes=4.6e9", H100).ceilings
    assert top.tokens_per_s_ceiling == pytest.approx(728.3, rel=0.001)  # 3.35e12 / 4.6e9
    assert (top.bound, top.weights, top.fits) == ("memory", "4.6 bits", True)


def test_e2_a_real_file_is_not_streamed_whole() -> None:
    (top,) = ceilings("llama-3.1-8b:q4_k_m", H100).ceilings
    assert top.tokens_per_s_whole_file == pytest.approx(681, rel=0.005)  # 3.35e12 / 4.92e9
    assert top.tokens_per_s_ceiling == pytest.approx(725, rel=0.005)  # without the 0.296e9 B of the embedding table


def test_e3_seventy_billion_parameters_in_40_gigabytes() -> None:
    (top,) = ceilings("params=70e9,weight_bytes=40e9", H100).ceilings
    assert top.tokens_per_s_ceiling == pytest.approx(83.8, rel=0.001)


def test_a_desktop_with_40_gigabytes_a_second_gives_5_tokens_in_4_seconds() -> None:
    # 40e9 / 32e9: what a processor is told to be slow for
    (wide, half) = ceilings("llama-3.1-8b:fp32,llama-3.1-8b:bf16", "xeon-8480plus,memory=40GB/s").ceilings
    assert wide.tokens_per_s_ceiling == pytest.approx(40e9 / (4 * 7.504924672e9), rel=1e-3)
    assert half.tokens_per_s_ceiling == pytest.approx(2 * wide.tokens_per_s_ceiling, rel=1e-3)


def test_models_by_machines_in_the_order_asked_for() -> None:
    found = ceilings("llama-3.1-70b:q4_k_m,llama-3.1-8b:q4_k_m", GPUS)
    assert found.machines == tuple(GPUS.split(","))
    asked = [(m, g) for m in ("llama-3.1-70b:q4_k_m", "llama-3.1-8b:q4_k_m") for g in found.machines]
    assert [(t.model, t.machine) for t in found.ceilings] == asked


def test_what_does_not_fit_keeps_its_figure_and_says_how_many_devices_would_hold_it() -> None:
    *_, top = ceilings("llama-3.1-70b:q4_k_m", GPUS).ceilings
    assert (top.fits, top.devices_needed) == (False, 2)  # 42.5e9 B in 25.8e9
    assert top.tokens_per_s_ceiling == pytest.approx(1.008e12 / top.streamed_bytes, rel=1e-9)


def test_a_mixture_of_experts_streams_the_experts_that_one_token_visits() -> None:
    (top,) = ceilings("mixtral-8x7b", H100).ceilings
    assert (top.fits, top.devices_needed, top.tokens_per_s_whole_file) == (False, 2, None)
    assert top.streamed_bytes == pytest.approx(2 * 12.75e9, rel=0.01)  # 12.88 B active less the 0.13 B looked up


def test_no_context_beats_the_smallest() -> None:
    rates = [ceilings("llama-3.1-8b", H100, context=c).ceilings[0].tokens_per_s_ceiling for c in (1, 2, 4096, 131072)]
    assert rates == sorted(rates, reverse=True)


def test_where_memory_is_not_what_binds_it_is_said() -> None:
    found = ceilings("llama-3.1-8b", "cerebras-wse3,fp16=100TFLOP/s", math="fp16")
    assert "compute-bound even at batch 1" in found.notes[-1]
    assert "assumed of cerebras-wse3: fp16 100TFLOP/s" in found.notes


def test_a_pair_that_cannot_be_priced_says_why_and_leaves_the_others() -> None:
    found = ceilings("llama-3.1-8b", f"{H100},tpu-v1")
    good, bad = found.ceilings
    assert good.tokens_per_s_ceiling
    assert (bad.tokens_per_s_ceiling, bad.fits) == (None, None)
    assert "tpu-v1 has no bf16 arithmetic" in bad.why_not
    with pytest.raises(NoPath, match="no bf16 arithmetic"):
        ceilings("llama-3.1-8b", "tpu-v1")


def test_commas_part_models_and_machines_and_bind_their_own_figures() -> None:
    steps = "params=8e9,weight_bytes=4.6e9,params=70e9,weight_bytes=40e9"
    found = ceilings(f"llama-2-7b,{steps}", f"{H100},memory=2TB/s,fp16=300TFLOP/s,t4")
    assert [t.model for t in found.ceilings[::2]] == [
        "llama-2-7b", "params=8e9,weight_bytes=4.6e9", "params=70e9,weight_bytes=40e9",
    ]  # fmt: skip
    assert found.ceilings[2].tokens_per_s_ceiling == pytest.approx(2e12 / 4.6e9)


@pytest.mark.parametrize(
    ("asked", "on", "sentence"),
    [
        ("", H100, "models: a name is empty"),
        ("llama-2-7b,", H100, "models: a name is empty"),
        ("llama-2-7b,llama-2-7b", H100, "llama-2-7b is named twice"),
        ("llama-2-7b", "", "machines: a name is empty"),
        ("llama-2-7b", "h100-sxm5", "h100-sxm5-64gb; say which"),
        ("llama-2-7b:q4_k_x", H100, "did you mean 'q4_k_s' or 'q4_k_m'"),
        ("lama-2-7b", H100, "did you mean 'llama-2-7b'"),
        ("gemm:M=1,K=2,N=3", H100, "name a model"),
        ("op:flops=1,bytes=2", H100, "name a model"),
        ("params=8e9", H100, "weight_bytes missing"),
    ],
)
def test_half_a_question_is_one_sentence(asked: str, on: str, sentence: str) -> None:
    with pytest.raises(RooflensError) as caught:
        ceilings(asked, on)
    assert sentence in str(caught.value)


def test_the_public_name_is_the_same_function() -> None:
    assert rooflens.ceilings is ceilings


def test_rows_are_written_whole(tmp_path: Path) -> None:
    from rooflens.cli.rows import write

    rows = [{"a": 1.5, "fits": True}, {"a": 2, "b": "x,y"}]
    write(tmp_path, "ceilings", {"rows": rows}, rows, "rooflens/ceilings/1")
    with (tmp_path / "ceilings.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"a": "1.5", "fits": "true", "b": ""}, {"a": "2", "fits": "", "b": "x,y"}]
    assert '"schema": "rooflens/ceilings/1"' in (tmp_path / "ceilings.json").read_text()
    with pytest.raises(RooflensError, match=r"name a \.csv or a \.json file"):
        write(tmp_path / "rows.txt", "ceilings", {}, rows, "rooflens/ceilings/1")


def test_what_a_config_leaves_open_about_its_weights_stands_under_the_table() -> None:
    """671e9 parameters in 16 bit are 1.342 TB, three times what a file of 4-bit weights holds: that must be said."""
    found = ceilings("deepseek-v3.1-nvfp4,deepseek-v3.1-nvfp4:nvfp4", "h200-sxm-141gb")
    plain, said = found.ceilings
    assert plain.weight_bytes == pytest.approx(2 * 671_026_404_352)
    assert said.weight_bytes < plain.weight_bytes / 3
    assert [note.partition(":")[0] for note in found.notes] == ["about deepseek-v3.1-nvfp4"]
    assert "counted in 16 bit unless --weights nvfp4 is given" in found.notes[0]
    assert ceilings("llama-3.1-8b", "h200-sxm-141gb").notes == ()
