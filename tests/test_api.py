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
