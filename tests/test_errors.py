from __future__ import annotations

import copy
import pickle
import re

import pytest

from rooflens.errors import OF_SCHEMA, AnswerIsNo, BadFile, Newer, NoPath, RooflensError, Unknown, near
from tests.commands import commands


def test_an_unknown_name_brings_its_neighbours_and_where_to_look():
    error = Unknown("accelerator", "h10O-sxm5", ["h100-sxm5", "h200-sxm5", "cpu"], see="rooflens machines")
    assert str(error) == (
        "unknown accelerator 'h10O-sxm5'; did you mean 'h100-sxm5' or 'h200-sxm5'?  See: rooflens machines"
    )
    assert error.near == ["h100-sxm5", "h200-sxm5"]


def test_an_unknown_name_without_neighbours_says_which_names_there_are():
    assert str(Unknown("dtype", "zzzz", iter(["bf16", "fp8"]))) == "unknown dtype 'zzzz'.  See: bf16, fp8"
    assert str(Unknown("dtype", "zzzz", [])) == "unknown dtype 'zzzz'."
    assert str(Unknown("dtype", "zzzz", [str(n) for n in range(99)])).endswith(", 22, 23 ...")


def test_near_ignores_case_and_keeps_the_spelling_of_the_known_name():
    assert near("BF61", ["bf16", "FP16", "int8"], 1) == ["bf16"]
    assert near("fp61", ["FP16"], 1) == ["FP16"]
    assert near("", ["bf16"]) == []


def test_a_bad_file_lists_every_fault_on_its_own_line():
    error = BadFile("acme.toml", ["a: missing", "b: unknown key 'b'"])
    assert str(error) == "acme.toml: a: missing\nacme.toml: b: unknown key 'b'"


def test_only_an_answer_of_no_exits_with_one():
    assert AnswerIsNo("no").exit_code == 1
    assert {RooflensError("x").exit_code, NoPath("x").exit_code, BadFile("x", []).exit_code} == {2}
    assert Unknown("a", "b", []).exit_code == 2


@pytest.mark.parametrize(
    "error",
    [
        RooflensError("a sentence"),
        NoPath("no fp8 here"),
        AnswerIsNo("no"),
        BadFile("acme.toml", ["a: missing", "b: missing"]),
        Newer("acme.json", ["schema: newer"]),
        Unknown("dtype", "bf61", ["bf16", "fp16"], see="docs"),
        Unknown("dtype", "zzzz", ["bf16", "fp16"]),
    ],
)
def test_errors_survive_a_trip_between_processes(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_a_module_that_is_cut_off_is_no_key_that_was_pressed(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python compiles it onto a full disk and reads it the next time."""

    def cut_off(**_: object) -> None:
        raise EOFError("marshal data too short")

    monkeypatch.setattr("rooflens.cli.machines.command.callback", cut_off)
    told = cli("machines")
    assert told.code == 2
    assert "a file of this installation is cut off (marshal data too short): install it again" in told.err


def test_another_kind_of_file_is_told_which_verb_writes_the_right_one(cli, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    told = cli("place", "llama-2-7b", "--on", str(tmp_path / "config.json"))
    assert told.err.strip().endswith(
        "config.json: schema: expected 'rooflens/profile/1', found none; "
        "name a profile.json that `rooflens measure` or `rooflens lab` wrote"
    )


def test_what_writes_a_kind_of_file_is_a_command_that_there_is():
    for line in re.findall("`rooflens ([^`]+)`", " ".join(OF_SCHEMA.values())):
        verb = " ".join(word for word in line.split() if not word.startswith("-"))
        options = {option for param in commands()[verb].params for option in param.opts}
        assert {word for word in line.split() if word.startswith("-")} <= options, line
