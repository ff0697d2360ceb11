"""The public Python API: the same names and records as the command line."""

from __future__ import annotations

import json

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
