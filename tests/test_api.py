"""The public Python API: the same names and records as the command line."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import rooflens
from rooflens.cli import _run
from rooflens.errors import RooflensError, Unknown
from rooflens.records import encode


def test_place_returns_the_record_that_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    answer = rooflens.place("llama-2-7b", on="a100-sxm4-80gb", phase="decode", batch=16, context=4096)
    assert _run(["place", "llama-2-7b", "--on", "a100-sxm4-80gb", "--batch", "16", "--context", "4096", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("schema") == "rooflens/place/1"
    assert printed == json.loads(json.dumps(encode(answer)))


def test_a_machine_can_be_made_once_and_asked_often() -> None:
    there = rooflens.machine("h100-sxm5-80gb,memory=3TB/s")
    assert there.memory("read").origin == "assumed"
    assert rooflens.place("llama-3.1-8b", there).bandwidth_bytes_per_s == 3e12


def test_a_launch_cost_that_nobody_knows_is_absent_and_never_0() -> None:
    bare = rooflens.place("llama-2-7b", on="a100-sxm4-80gb").total
    told = rooflens.place("llama-2-7b", on="a100-sxm4-80gb,launch=2us")
    assert bare.launch_s is None
    assert "launch_s" not in encode(bare)
    assert told.total.launch_s == pytest.approx(2e-6 * sum(o.count for o in told.operators))


def test_a_driver_name_resolves_to_one_row() -> None:
    assert rooflens.accelerator("NVIDIA H100 80GB HBM3").id == "h100-sxm5-80gb"


def test_records_show_themselves_in_a_notebook() -> None:
    answer = rooflens.place("llama-2-7b", on="a100-sxm4-80gb")
    for record in (answer, rooflens.machine("t4"), rooflens.model("llama-2-7b")):
        text = record._repr_html_()
        assert text.startswith("<table>")
        assert text.count("<table>") == text.count("</table>")
    assert "lm_head" in answer._repr_html_()


def test_a_name_is_escaped_in_a_notebook() -> None:
    answer = rooflens.place("op:flops=1,bytes=1", on="a100-sxm4-80gb")
    assert "<script>" not in type(answer)(**{**_fields(answer), "model": "<script>"})._repr_html_()


def _fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("mask", "said"), [("causal", "causal (half of the scores counted)"), ("full", "full")])
def test_an_answer_says_which_scores_it_counts(mask: str, said: str) -> None:
    found = rooflens.place("llama-3.1-8b", on="a100-sxm4-80gb", phase="prefill", prompt=64, mask=mask)
    assert found.conventions["mask"] == said


def test_an_operator_alone_has_a_step_only_where_it_streams_weights_or_cache() -> None:
    assert rooflens.place("op:flops=1,bytes=1", on="a100-sxm4-80gb").step_floor is None
    product = rooflens.place("gemm:M=16,K=4096,N=14336", on="a100-sxm4-80gb").step_floor
    assert product is not None
    assert product.bytes == 4096 * 14336 * 2


def test_a_model_from_a_folder_equals_the_one_that_ships(tmp_path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(dict(rooflens.model("llama-2-7b").config)))
    assert rooflens.model(str(tmp_path)).params_total == rooflens.model("llama-2-7b").params_total == 6738415616


def test_mistakes_are_sentences_here_too() -> None:
    with pytest.raises(Unknown, match="did you mean"):
        rooflens.place("llama-2-7b", on="a100-sxm4-80g")
    with pytest.raises(RooflensError, match="no fp8 arithmetic"):
        rooflens.place("llama-2-7b", on="a100-sxm4-80gb", math="fp8")
    with pytest.raises(AttributeError):
        rooflens.nonsense  # noqa: B018


def test_weights_narrower_than_the_path_are_computed_wider_and_it_is_said() -> None:
    answer = rooflens.place("llama-2-7b", on="a100-sxm4-80gb", weights="fp8")
    assert any("fp8 weights are computed in fp16" in note for note in answer.notes)
    assert "math fp16" in answer.conventions["precision"]


def test_prefill_uses_the_kernels_that_engines_pick_for_it() -> None:
    prefill = rooflens.place("deepseek-v3", "h200-sxm", phase="prefill", prompt=8192)
    decode = rooflens.place("deepseek-v3", "h200-sxm", context=8192)
    assert {o.name for o in prefill.operators} != {o.name for o in decode.operators}


@pytest.mark.parametrize("asked", [{"batch": 2}, {"tp": 2}, {"phase": "prefill"}, {"context": 5}, {"link": "pcie"}])
def test_an_operator_alone_refuses_what_only_a_step_has(asked: dict[str, object]) -> None:
    with pytest.raises(RooflensError, match="sizes written into it"):
        rooflens.place("gemm:M=1,K=2,N=3", "t4", weights="fp16", **asked)


def test_a_prompt_belongs_to_prefill() -> None:
    with pytest.raises(RooflensError, match="belongs to prefill"):
        rooflens.place("llama-2-7b", "a100-sxm4-80gb", prompt=5)


def test_the_network_is_assumed_and_says_so() -> None:
    found = rooflens.place("llama-2-7b", "a100-sxm4-80gb", tp=2, link="network")
    assert "400 Gb/s" in found.conventions["assumed network"]


def test_data_parallelism_alone_needs_no_collectives() -> None:
    one, two = (rooflens.place("llama-2-7b", "a100-sxm4-80gb", batch=8, dp=dp) for dp in (1, 2))
    assert sum(o.count * o.kv_bytes for o in two.operators) == sum(o.count * o.kv_bytes for o in one.operators) / 2
    assert not any(o.link_bytes for o in two.operators)


def test_a_machine_whose_read_rate_is_not_known_is_not_read_at_another() -> None:
    from dataclasses import replace

    there = rooflens.machine("a100-sxm4-80gb")
    only_write = [replace(c, access="write") if c.kind == "memory" else c for c in there.ceilings]
    with pytest.raises(RooflensError, match="bandwidth of main memory is not known"):
        rooflens.place("llama-2-7b", replace(there, ceilings=tuple(only_write)))


WRONG = [
    ({"batch": 1.5}, "batch must be a whole number"),
    ({"batch": float("nan")}, "batch: nan is not a finite number"),
    ({"context": float("inf")}, "context: inf is not a finite number"),
    ({"context": 10**400}, "context: "),
    ({"context": "4096"}, "context: expected a number, found '4096'"),
    ({"prompt": 0, "phase": "prefill"}, "prompt must be at least 1"),
    ({"phase": "decod"}, "phase: 'decod' is not allowed; did you mean 'decode'"),
    ({"mask": "casual"}, "did you mean 'causal'"),
    ({"attention": "flsh"}, "did you mean 'flash'"),
    ({"weights": 5}, "weights: expected text, found 5"),
    ({"tp": 1.5}, "tp: expected a whole number"),
    ({"tp": 2**54}, "tp is out of range"),
    ({"tp": 10**400}, "is not a finite number"),
    ({"measured_s": float("inf")}, "measured_s: inf is not a finite number"),
    ({"measured_s": 0}, "above 0"),
]


@pytest.mark.parametrize(("asked", "sentence"), WRONG)
def test_a_question_with_a_wrong_value_is_refused_in_a_sentence(asked: dict[str, object], sentence: str) -> None:
    with pytest.raises(RooflensError, match=re.escape(sentence)):
        rooflens.place("llama-2-7b", "a100-sxm4-80gb", **asked)


def test_numbers_of_arrays_are_numbers() -> None:
    found = [rooflens.place("llama-2-7b", "a100-sxm4-80gb", batch=b, tp=t) for b, t in ((4, 2), np.array([4, 2]))]
    assert encode(found[0]) == encode(found[1])


def test_a_bf16_model_is_placed_in_fp32_on_a_cpu_with_forty_gigabytes_a_second() -> None:
    there = "xeon-8480plus,memory=40GB/s"
    rate = {
        w: 1 / rooflens.place("llama-3.1-8b", there, weights=w, math="fp32", context=1).step_floor.floor_s
        for w in ("fp32", "bf16")
    }
    # 8.03e9 - 0.525e9 embedding look-up = 7.505e9 parameters, 4 or 2 bytes each, at 40 GB/s
    assert rate["fp32"] == pytest.approx(40e9 / (7.505e9 * 4), rel=1e-3)
    assert rate["bf16"] == pytest.approx(40e9 / (7.505e9 * 2), rel=1e-3)


def test_more_than_a_roof_names_the_format_it_ran_in() -> None:
    # 2 x 10240^3 FLOP in 16 ms = 134.2 TFLOP/s: 86 % of the A100's tf32 roof, 688 % of its fp32 one
    found = rooflens.place("gemm:M=10240,K=10240,N=10240", "a100-sxm4-80gb", weights="fp32", measured_s=0.016)
    assert "ran in tf32 (86 %" in found.measured.findings[0]


def test_one_die_of_a_package_has_its_own_peak() -> None:
    # 147 TFLOP/s of 191.5 dense bf16 a die
    flops = 2 * 8192**3
    found = rooflens.place("gemm:M=8192,K=8192,N=8192", "mi250x/1", measured_s=flops / 147e12)
    assert found.measured.mfu == pytest.approx(0.768, rel=2e-3)


def test_the_rate_of_another_link_does_not_move_the_collectives_there() -> None:
    slow, own = (rooflens.place("llama-3.1-8b", f"h100-sxm5-80gb{more}", tp=8) for more in (",network=50GB/s", ""))
    assert slow.total.floor_s == own.total.floor_s


def test_a_replica_holds_whole_sequences() -> None:
    one = rooflens.place("llama-3.1-8b", "h100-sxm5-80gb", batch=1, context=4096)
    spread = rooflens.place("llama-3.1-8b", "h100-sxm5-80gb", batch=1, dp=4, context=4096)
    assert spread.step_floor.floor_s == one.step_floor.floor_s


def test_a_learned_position_is_looked_up_not_multiplied() -> None:
    embedding = rooflens.place("gpt2", "h100-sxm5-80gb").operators[0]
    assert (embedding.vector_flops, embedding.bound) == (768, "memory")


def test_a_machine_measured_by_others_is_a_machine() -> None:
    there = rooflens.machine("measured:h200-sxm-141gb")
    assert there.memory("read").origin == "measured"
    assert there.memory("read").value / rooflens.machine("h200-sxm-141gb").memory("read").value == pytest.approx(
        0.96, abs=0.02
    )
    with pytest.raises(RooflensError, match="unknown measured machine 'h100'"):
        rooflens.machine("measured:h100")
