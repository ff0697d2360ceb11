"""The door: every verb helps, answers in JSON, and turns every mistake into one sentence."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rooflens import __version__, artefacts
from rooflens.catalogue import accelerators
from rooflens.cli import printing
from rooflens.errors import RooflensError
from rooflens.units import show
from tests.commands import commands, groups

PLACE = "place llama-2-7b --on a100-sxm4-80gb"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)


@pytest.mark.parametrize("verb", [*commands(), *groups()])
def test_every_command_helps_and_ends_with_an_example(run, verb: str) -> None:
    told = run(f"{verb} --help")
    assert told.code == 0
    assert told.out.strip().splitlines()[-1].strip().startswith(f"Example:  rooflens {verb}")
    assert verb in groups() or "--json" in told.out


def test_version(run) -> None:
    assert __version__ in run("--version").out


def test_place_answers_with_the_keys_of_the_contract(run) -> None:
    found = run(f"{PLACE} --json").json
    assert found["schema"] == "rooflens/place/1"
    assert {"conventions", "operators", "total", "step_floor", "ridge_flops_per_byte"} <= found.keys()
    wanted = {
        "name", "count", "flops", "weight_bytes", "kv_bytes", "activation_bytes", "link_bytes", "math",
        "intensity_flops_per_byte", "bound", "attainable_flops_per_s", "share_of_peak", "floor_s",
    }  # fmt: skip
    for operator in found["operators"]:  # type: ignore[attr-defined]
        assert wanted - operator.keys() <= {"intensity_flops_per_byte"}
    assert "dense" in str(found["conventions"])


@pytest.mark.parametrize(("shared", "said"), [("", ""), (" --tp 8", ", tp 8"), (" --tp 4 --pp 2", ", tp 4, pp 2")])
def test_a_picture_of_one_device_says_how_many_share_the_work(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str, said: str
) -> None:
    titles: list[str] = []
    monkeypatch.setattr("rooflens.present.plot.draw", lambda *_, title, **__: titles.append(title))
    monkeypatch.setattr("rooflens.present.plot.render", lambda *_: b"")
    assert run(f"{PLACE}{shared} --plot {tmp_path}/f.svg").code == 0
    assert titles == [f"llama-2-7b on A100 SXM4 80GB{said}"]


def test_a_picture_of_several_contexts_names_each(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr("rooflens.present.plot.draw", lambda _, points, **__: names.extend(p.name for p in points))
    monkeypatch.setattr("rooflens.present.plot.render", lambda *_: b"")
    assert run(f"{PLACE} --context 1024,4096 --plot {tmp_path}/f.svg").code == 0
    assert {"attention decode B=1 S=1024", "attention decode B=1 S=4096"} <= set(names)
    names.clear()
    assert run(f"{PLACE} --phase decode,prefill --plot {tmp_path}/f.svg").code == 0
    assert {"attention decode B=1", "attention prefill B=1"} <= set(names)


def test_place_takes_lists_of_phases_and_batches(run) -> None:
    found = run(f"{PLACE} --phase decode,prefill --batch 1,16 --json").json
    assert "dense" in str(found["conventions"])
    steps = found["steps"]
    asked = [(s["step"]["phase"], s["step"]["batch"]) for s in steps]  # type: ignore[attr-defined]
    assert asked == [("decode", 1), ("decode", 16), ("prefill", 1), ("prefill", 16)]


def test_place_explains_rows_letters_ceilings_and_sources(run) -> None:
    out = run(f"{PLACE} --explain").out
    for said in ("B T K G W, B [S] K W -> B T K G P", "D=4096", "memory/main", "spec", "not_counted"):
        assert said in out


def test_place_explains_the_best_sample_that_a_floor_counts_on(run) -> None:
    told = run("place op:flops=1e9,bytes=1e9 --on measured:h200-sxm-141gb --math bf16 --explain")
    read = artefacts.shipped("h200-sxm-141gb").machine("h200").memory("read")
    best, median = show(read.best, "B/s"), show(read.value, "B/s")
    assert f"memory/main/read {best}, its best sample (median {median}) (measured)" in told.out
    assert f"over {best}" in told.out


def test_an_override_is_assumed_and_repeated(run) -> None:
    told = run("place llama-2-7b --on a100-sxm4-80gb,memory=2.0TB/s --json")
    assert told.json["bandwidth_bytes_per_s"] == 2e12
    assert told.json["conventions"]["assumed memory"] == "2.0TB/s"  # type: ignore[index]


def test_measured_time_gives_mfu_mbu_and_the_gap(run) -> None:
    found = run("place gemm:M=16,K=4096,N=14336 --on h100-sxm5-80gb --measured-s '100 us' --json").json["measured"]
    flops, moved = 2 * 16 * 4096 * 14336, 2 * (16 * 4096 + 4096 * 14336 + 16 * 14336)
    assert found["mfu"] == pytest.approx(flops / 1e-4 / 989.4e12, rel=1e-3)  # type: ignore[index]
    assert found["mbu"] == pytest.approx(moved / 1e-4 / 3.35e12, rel=1e-6)  # type: ignore[index]


def test_a_measured_rate_below_the_limit_is_a_no(run) -> None:
    line = "place params=8e9,weight_bytes=4.6e9 --on h100-sxm5-80gb --measured-tokens-per-s 480"
    assert run(f"{line} --json").json["measured"]["mbu"] == pytest.approx(0.659, rel=1e-3)  # type: ignore[index]
    assert run(f"{line} --fail-below mbu=0.6").code == 0
    told = run(f"{line} --fail-below mbu=0.7")
    assert (told.code, "mbu is 0.659" in told.err) == (1, True)


def test_the_largest_sizes_stay_finite_and_short(run) -> None:
    told = run(
        "place attention:H=8,W=64,S=9007199254740992,K=8,T=9007199254740992,B=9007199254740992 --on a100-sxm4-80gb"
    )
    assert (told.code, "infinite" in told.out) == (0, False)
    assert run("place norm:n=5,flops=1e30 --on a100-sxm4-80gb --json").code == 0


def test_a_norm_has_eight_flops_a_value_unless_another_count_is_given(run) -> None:
    line = "place norm:n=5{} --on a100-sxm4-80gb --json"
    found = [run(line.format(more)).json["operators"] for more in ("", ",flops=4")]
    vector = [operators[0]["vector_flops"] for operators in found]  # type: ignore[index]
    assert vector == [5 * 8, 5 * 4]


def test_tensor_parallelism_puts_the_collectives_on_the_link(run) -> None:
    found = run("place llama-3.1-70b --on h100-sxm5-80gb --tp 8 --batch 64 --json").json
    reduced = [o for o in found["operators"] if o["link_bytes"]]  # type: ignore[attr-defined]
    # two all-reduces a layer, each 2 (tp - 1) / tp of 64 x 8192 16-bit values
    assert sum(o["count"] for o in reduced) == 160
    assert reduced[0]["link_bytes"] == 2 * 7 / 8 * 64 * 8192 * 2
    assert reduced[0]["bound"] == "link"


def test_place_keeps_its_answer_in_a_file_or_a_folder(run, tmp_path: Path) -> None:
    printed = run(f"{PLACE} --pp 4 --microbatches 2 --batch 8 --json -o {tmp_path}/kept.json").out
    assert (tmp_path / "kept.json").read_text() == printed
    told = run(f"{PLACE} --pp 4 --microbatches 2 --batch 8 --out {tmp_path}/folder")
    assert (tmp_path / "folder" / "place.json").read_text() == printed
    assert "60 % bubble" in told.out  # (4 - 1) / (2 + 4 - 1)
    assert json.loads(printed)["total"]["bubble"] == 0.6


def test_place_explains_what_a_collective_sends(run) -> None:
    out = run("place llama-3.1-70b --on h100-sxm5-80gb,nvlink_latency=2us --tp 16 --gpus-per-node 8 --explain").out
    for said in ("all-reduce over 16 devices in 2 nodes", "1.75 B sent a byte in 14 steps", "link/network 50 GB/s"):
        assert said in out


def test_both_phases_of_a_generation_are_asked_for_at_once(run) -> None:
    steps = run(f"{PLACE} --phase decode,prefill --prompt 1000 --output 200 --json").json["steps"]
    assert [s["step"]["context"] for s in steps] == [1100, 1000]  # type: ignore[attr-defined]


def test_uneven_routing_touches_fewer_experts(run) -> None:
    line = "place mixtral-8x7b --on h100-sxm5-80gb --batch 16 --json"
    even, uneven = (run(line + more).json["step_floor"]["bytes"] for more in ("", " --routing-skew 1.2"))  # type: ignore[index]
    assert uneven < even


def test_drafts_are_verified_with_the_weights_read_once(run) -> None:
    line = "place llama-3.1-8b --on h100-sxm5-80gb --json"
    one, four = (run(line + more).json["step_floor"] for more in ("", " --tokens 4"))
    assert four["bytes"] == one["bytes"]  # type: ignore[index]
    # four tokens attend to 2045, 2046, 2047 and 2048 positions: a little less than four times the work of the last
    assert 3.99 < four["flops"] / one["flops"] < 4  # type: ignore[index]


def test_a_ratio_above_one_is_a_finding(run) -> None:
    told = run("place gemm:M=4096,K=4096,N=4096 --on a100-sxm4-80gb --measured-s 0.0001 --json")
    assert "above the dense" in str(told.json["measured"])


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_place_draws(run, tmp_path: Path, kind: str) -> None:
    told = run(f"{PLACE} --phase decode,prefill --batch 1,16 --plot {tmp_path}/f.{kind}")
    assert told.code == 0
    assert (tmp_path / f"f.{kind}").stat().st_size > 10_000


def test_machines_lists_all_and_shows_one(run) -> None:
    listed = {m["id"] for m in run("machines --json").json["machines"]}  # type: ignore[attr-defined]
    assert listed == {a.id for a in accelerators()}
    told = run("machines a100-sxm4-80gb")
    for said in ("registers", "shared memory", "L2", "NVLink", "PCIe", "network", "unknown", "ridge", "source"):
        assert said.lower() in told.out.lower(), said


BAD = [
    ("place llama-2-7b --on h10O-sxm5-80gb", "did you mean 'h100-sxm5-80gb'"),
    ("place llama-2-7b --on h100-sxm5", "h100-sxm5-64gb"),
    ("place lama-2-7b --on t4", "did you mean 'llama-2-7b'"),
    (f"{PLACE} --weights bf61", "did you mean"),
    (f"{PLACE} --math fp8", "no fp8 arithmetic"),
    (f"{PLACE} --batch 0", "batch must be at least 1, not 0"),
    (f"{PLACE} --batch -3", "batch must be at least 1, not -3"),
    (f"{PLACE} --batch many", "expected a whole number"),
    (f"{PLACE} --context 0", "context must be at least 1"),
    (f"{PLACE} --phase training", "decode, prefill or both"),
    (f"{PLACE} --phase prefill --prompt 100 --context 50", "cannot be smaller than the prompt"),
    (f"{PLACE} --measured-s 3ms2", "not a unit of s"),
    (f"{PLACE} --measured-s 0", "above 0"),
    (f"{PLACE} --tp 0", "0"),
    (f"{PLACE} --batch 1,2 --measured-s 1ms", "belongs to one step"),
    (f"{PLACE} --tp 2 --ep 2", "has no experts"),
    (f"{PLACE} --pp 0", "--pp"),
    (f"{PLACE} --pp 33", "more stages than llama-2-7b has layers"),
    (f"{PLACE} --microbatches 1.5", "--microbatches"),
    (f"{PLACE} --tp 16 --gpus-per-node 12", "tp 16 does not fill nodes of 12 devices"),
    (f"{PLACE} --output 5", "an output needs its prompt"),
    (f"{PLACE} --phase prefill --prompt 5 --output 5", "an output belongs to decode"),
    (f"{PLACE} --out answer.txt", "name a .json file or a folder"),
    (f"{PLACE} --out /proc/nowhere/answer.json", "cannot write"),
    ("place llama-2-7b --on a100-sxm4-80gb,nvlink_latency=2", "no unit"),
    ("place llama-2-7b --on a100-sxm4-80gb,nvlink_latenzy=2us", "did you mean 'nvlink_latency'"),
    ("place gemm:M=1,K=2,N=3 --on t4 --pp 2", "leave out pp"),
    ("place gemm:M=1,K=2,N=3 --on t4 --attention unfused", "leave out attention"),
    ("predict gemm:M=1,K=2,N=3 --on t4 --attention unfused", "leave out attention"),
    ("place gemm:M=1,K=2,N=3 --on t4 --kv fp8", "leave out kv"),
    ("predict gemm:M=1,K=2,N=3 --on t4 --kv fp8", "leave out kv"),
    ("place op:flops=0,bytes=0 --on t4", "op: neither flops nor bytes, so it does nothing"),
    ("predict op:flops=0,bytes=0 --on t4", "op: neither flops nor bytes, so it does nothing"),
    (f"{PLACE} --routing-skew 1", "has no experts"),
    (f"{PLACE} --phase prefill --tokens 2", "a decode step that verifies drafts"),
    (f"{PLACE} --tp 3", "tp may be 1, 2, 4, 8, 16, 32"),
    (f"{PLACE} --fail-below mbu=0.6", "compares a measured time"),
    (f"{PLACE} --fail-below mub=0.6 --measured-s 1", "did you mean"),
    (f"{PLACE} --measured-tokens-per-s 5 --measured-s 1", "not both"),
    (f"{PLACE} --measured-tokens-per-s 5 --tokens 4", "does not say how many drafts a step kept"),
    ("place gemm:M=1,K=2,N=3 --on t4 --measured-tokens-per-s 5", "makes no tokens; give its time as --measured-s"),
    (f"{PLACE} --plot picture.gif", ".png or .svg"),
    ("place llama-2-7b --on a100-sxm4-80gb,memory=2.0", "no unit"),
    ("place llama-2-7b --on a100-sxm4-80gb,memroy=2.0TB/s", "did you mean 'memory'"),
    ("place llama-2-7b --on a100-sxm4-80gb,memory", "write NAME=VALUE"),
    ("place llama-2-7b --on nowhere.json", "cannot read nowhere.json"),
    ("place llama-2-7b --on bare.toml", "no rate of it is known: give one as --on bare.toml,fp16=RATE"),
    ("place llama-2-7b --on here", "profile.json yet; make one with rooflens lab"),
    ("place nowhere/config.json --on t4", "cannot read nowhere/config.json"),
    ("place gemm:M=16,K=4096 --on t4", "N missing"),
    ("place gemm:M=16,K=4096,N=-1 --on t4", "N must be at least 1"),
    ("place gemm:M=1e300,K=1e300,N=1e300 --on t4", "M is out of range"),
    ("place gemm:M=nan,K=1,N=1 --on t4", "M is out of range"),
    ("place gemm:M=1.5,K=1,N=1 --on t4", "M must be a whole number"),
    ("place op:flops=1e300,bytes=1 --on t4", "not an amount up to 1e+30"),
    ("place params=0,weight_bytes=1 --on t4", "not an amount"),
    ("place attention:H=8,W=64,S=8,K=8,causal=2 --on t4", "causal is 1"),
    ("place softmax --on t4", "write softmax:n=....  Operators placed alone: gemm:M=...,K=...,N=...; attention:"),
    ("place gem:M=1,K=2,N=3 --on t4", "did you mean 'gemm'?  See: gemm:M=..."),
    ("place conv:n=3 --on t4", "unknown operator 'conv'.  See: gemm:M=..."),
    ("place gemm:M=16,K=4096,N=1,M=3 --on t4", "given twice"),
    ("place gemm:M=16,K=4096,Q=1 --on t4", "unknown key"),
    ("place llama-2-7b", "Missing option '--on'; rooflens place --help ends with an example"),
    ("machines --kind gpu", "No such option '--kind'; rooflens machines --help ends with an example"),
    ("serve --on nowhere.json --port 0", "cannot read nowhere.json"),
    ("serve --on empty --port 0", "empty: a folder without profile.json"),
    ("serve --on t4,mem=2TB/s --port 0", "did you mean 'memory'"),
    ("trend now", "Got unexpected extra argument (now); rooflens trend --help ends with an example"),
    (f"place llama-2-7b --on {'t' * 5000}", "See: rooflens machines"),
    (f"models {'m' * 5000}", "rooflens: cannot find mmm"),
    ("place llama-2-7b --on empty", "empty: a folder without profile.json, so no machine"),
    ("place llama-2-7b --on notes.txt", "notes.txt: a file that is neither .json nor .toml, so no machine"),
    (f"{PLACE} --batch {10**15}", "must be at most 1099511627776, not 1000000000000000"),
    ("predict params=8e9,weight_bytes=4e9 --on t4 --batch 2", "is one token at batch 1; leave out batch"),
    ("export --check --config notes.txt", "notes.txt: is empty"),
    ("export --check --config bare.toml", "bare.toml: expected '<document start>', but found '<scalar>', line 2,"),
    ("export --check --config bare.bin", "bare.bin: is no plain text; is it a binary file?"),
    ("plce", "did you mean 'place'"),
    ("machines a100", "a100-sxm4-80gb"),
    ("plot nowhere.json", "cannot read"),
    ("plot ''", "it is empty; name a file"),
    ("lab --out '' --profile p.json", "it is empty; name a file or a folder"),
    (f"{PLACE} --out ''", "it is empty"),
    (f"{PLACE} --plot ''", "it is empty"),
    ("diff '' p.json", "it is empty"),
    ("measure --out /proc/nowhere/p.json", "cannot write"),
    ("place gemm:M=1,K=1,N=1,Z=4 --on t4", "See: M, K, N"),
    (f"{PLACE} --math complex", "See: fp64"),
    ("diff nowhere.json nowhere.json", "cannot read"),
    ("lab --out /proc/nowhere --quick", "cannot write"),
    ("lab --profile nowhere.json", "cannot read"),
    ("lab --compare nowhere --quick", "unknown accelerator"),
    ("lab --extension nowhere.json --quick", "cannot read"),
    ("lab --profile p.json --seed 3 --quick", "would change nothing"),
    ("measure --dtypes fp99", "unknown dtype"),
    ("measure --budget-s -1", "above 0"),
    ("measure --width 100 --heads 7", "heads"),
    ("measure --layers 0", "--layers"),
    ("measure --quick --full", "contradict each other"),
    ("measure --checkpoint ''", "it is empty"),
    ("measure --seed -5", "--seed"),
    ("measure --dtypes ''", "--dtypes takes fp32"),
    ("measure --budget-s nan", "--budget-s"),
    ("lab --price-per-hour nan", "not a finite number"),
    ("lab --price-per-hour inf", "not a finite number"),
    ("diff a b --tolerance nan", "not a finite number"),
    (f"{PLACE} --context ''", "--context ''"),
    (f"{PLACE} --phase prefill --prompt inf", "--prompt"),
    (f"{PLACE} --phase prefill --prompt 1.5", "--prompt"),
    (f"{PLACE} --phase prefill --prompt {10**30}", "prompt"),
    (f"{PLACE} --measured-s inf", "not a finite number"),
    (f"{PLACE} --measured-s nan", "not a finite number"),
    (f"{PLACE} --measured-s 1e-300 --json", "above 0"),
    (f"{PLACE} --weights ''", "weights is empty"),
    ("place '' --on t4", "the model is empty; name one"),
    ("place llama-2-7b --on a100-sxm4-80gb,memory=1e-300B/s", "out of range"),
    ("measure --layers 99999999999999999999", "--layers"),
    (f"{PLACE} --measured-tokens-per-s nan", "not a finite number"),
    (f"{PLACE} --measured-s 1 --fail-below mbu=nan", "a ratio between 0 and 1.5, as mbu=0.6"),
    (f"{PLACE} --measured-s 1 --fail-below mbu=60", "a ratio between 0 and 1.5, as mbu=0.6"),
    (f"{PLACE} --measured-s 1 --fail-below mbu", "a ratio between 0 and 1.5, as mbu=0.6"),
    (f"{PLACE} --measured-s 1 --fail-below mbu=0.1 --fail-below mbu=0.2", "given twice"),
]


@pytest.mark.parametrize(("line", "sentence"), BAD)
def test_bad_input_is_one_sentence_and_exit_two(run, line: str, sentence: str, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.toml").write_text('[accelerator]\nid = "bare"\n')
    (tmp_path / "bare.bin").write_bytes(b"\xff\xc0\x00")
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()
    told = run(line)
    assert told.code == 2
    assert told.err.startswith("rooflens: ")
    assert sentence in told.err
    assert "Traceback" not in told.err
    assert told.out == ""


@pytest.mark.parametrize("line", ["--compare nowhere", "--extension no.json", "--quick --full", "--profile no.json"])
def test_a_lab_that_is_refused_leaves_no_folder(run, line: str, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(f"lab --out mine {line}").code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_list_of_models_says_which_weights_are_not_as_their_name_says(run) -> None:
    line = next(
        line for line in run("models").out.splitlines() if line.startswith("warning: about deepseek-v3.1-nvfp4")
    )
    assert "counted in 16 bit unless --weights nvfp4 is given" in line


def test_a_number_without_bounds_shows_none(run) -> None:
    assert "None" not in run("lab --help").out


CONFIGS = [
    ("{", "not a whole JSON file"),
    ("[]", "expected the JSON object"),
    ("{}", "model_type is missing"),
    ('{"model_type": "nonsuch"}', "'nonsuch' is not modelled"),
    ('{"model_type": "llama"}', "hidden_size"),
    ('{"model_type": "llama", "hidden_size": "4096"}', "expected a whole number"),
    ('{"model_type": "llama", "hidden_size": -1}', "not a size"),
    ("\x00\x01", "not a whole JSON"),
    ("[" * 100_000, "nested too deeply"),
    ('{"model_type": "llama", "hidden_size": NaN}', "not a whole JSON file: NaN is not a number of JSON;"),
    ('{"model_type": "llama', "line 1: Unterminated string starting; was it cut off"),
]


@pytest.mark.parametrize(("text", "sentence"), CONFIGS)
def test_a_damaged_config_is_one_sentence(run, tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "config.json").write_text(text)
    told = run(f"place {tmp_path}/config.json --on t4")
    assert (told.code, sentence in told.err, "Traceback" in told.err) == (2, True, False), told.err


def test_a_damaged_profile_names_every_fault(run, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"schema": "rooflens/profile/1", "device": {"name": 3, "kind": "cpu"}, "sed": 1}))
    told = run(f"plot {file}")
    assert told.code == 2
    for fault in ("device.name: expected text", "unknown key 'sed', did you mean 'seed'", "ceilings: missing"):
        assert fault in told.err


def test_a_whole_number_of_hundreds_of_digits_is_a_sentence(run, tmp_path: Path) -> None:
    gemm = {"name": "g", "dtype": "fp32", "m": 10**400, "n": 1, "k": 1, "time_s": 1, "best_s": 1, "samples_s": []}
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"schema": "rooflens/profile/1", "gemms": [gemm]}))
    told = run(f"plot {file}")
    assert (told.code, "gemms[0].m: 10000" in told.err, "is not a finite number" in told.err) == (2, True, True)


def test_a_key_said_twice_is_refused_by_name(run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama", "a": {"hidden_size": 1, "hidden_size": 2}}')
    told = run(f"place {tmp_path}/config.json --on t4")
    assert (told.code, "'hidden_size' is there twice" in told.err) == (2, True)
    told = run("place llama-2-7b --on a100-sxm4-80gb,memory=1TB/s,memory=2TB/s")
    assert (told.code, "memory is given twice" in told.err) == (2, True)


@pytest.mark.parametrize("half", [r"\ud800", r"\uDFFF", r"\ud83dx"])
def test_half_a_character_is_refused_and_a_whole_pair_is_read(run, tmp_path: Path, half: str) -> None:
    (tmp_path / "p.json").write_text(f'{{"schema": "rooflens/profile/1", "notes": ["{half}"]}}')
    told = run(f"plot {tmp_path}/p.json")
    assert (told.code, "half a character" in told.err) == (2, True)
    assert artefacts.parse_json(r'"\ud83d\ude00"', "here") == "\U0001f600"


def test_only_regular_files_are_read(run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for path in ("/dev/zero", f"{tmp_path}/pipe.json"):
        told = run(f"plot {path} -o x.svg")
        assert (told.code, "a device or a pipe, not a file" in told.err) == (2, True)
    with pytest.raises(RooflensError, match="is a folder, not a file"):
        artefacts.read_text(tmp_path)


def told_by_a_shell(line: str, **settings: str) -> tuple[int, str]:
    """Exit code of the program in a pipeline, and standard error; streams are buffered, as people's are."""
    line = line.replace("ROOFLENS", f"{shlex.quote(sys.executable)} -m rooflens")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        env={**{name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}, **settings},
    )
    return done.returncode, done.stderr


C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("ROOFLENS --help >/dev/full", 2, "cannot write the output: no space left on device"),
        ("ROOFLENS machines t4 --json >/dev/full", 2, "cannot write the output: no space left on device"),
        (
            "MPLBACKEND=x ROOFLENS place gemm:M=1,K=2,N=3 --on l4 --plot /proc/k.png", 2,
            "no picture: matplotlib does not know the backend that MPLBACKEND names; unset it, as none is needed here",
        ),
        ("ROOFLENS machines t4 >&-", 0, ""),
        ("ROOFLENS machines nonsuch 2>&-", 2, ""),
        ("ROOFLENS machines nonsuch 2>/dev/full", 2, ""),
        ("ROOFLENS machines t4 --json | (exec <&-; sleep 0.6)", 141, ""),
    ],
)  # fmt: skip
def test_an_output_that_cannot_be_written_is_at_most_a_sentence(line: str, code: int, sentence: str) -> None:
    assert told_by_a_shell(line) == (code, f"rooflens: {sentence}\n" if sentence else "")


def test_progress_that_a_full_disk_refuses_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(error: OSError) -> None:
        def echo(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("rooflens.cli.printing.click.echo", echo)

    refuses(OSError(errno.ENOSPC, "No space left on device"))
    printing.say("a note")
    printing.bar()("launch", 0.1)
    refuses(BrokenPipeError())
    with pytest.raises(BrokenPipeError):
        printing.say("nobody reads")


def test_characters_that_the_terminal_cannot_write_are_escaped() -> None:
    code, said = told_by_a_shell("ROOFLENS models nons\u00fcch", **C_LOCALE)
    assert (code, said.startswith("rooflens: unknown model 'nons"), "Traceback" in said) == (2, True, False)
    dash = "from rooflens import cli; cli._open_streams(); print(chr(0x2014))"
    assert told_by_a_shell(f"{shlex.quote(sys.executable)} -c {shlex.quote(dash)}", **C_LOCALE) == (0, "")


@pytest.mark.parametrize(
    "line",
    ["ceilings llama-3.1-8b --on", "plan llama-3.1-8b --ttft 1s --tpot 50ms --users 4 --on", "page -o page.html --on",
     "advise llama-3.1-8b --on l4 --to"],
)  # fmt: skip
def test_machines_have_commas_between_or_the_flag_again_on_every_verb(
    cli, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*line.split(), "l40s,h100-sxm5-80gb"]
    code, out, _ = cli(*words, *([] if "page" in line else ["--json"]))
    page = (tmp_path / "page.html").read_bytes() if "page" in line else b""
    assert code == 0
    assert cli(*words[:-1], "l40s", words[-2], "h100-sxm5-80gb", *([] if page else ["--json"])) == (code, out, "")
    assert page == ((tmp_path / "page.html").read_bytes() if page else b"")
    assert cli(*words, words[-2], "l40s") == (2, "", "rooflens: machines: l40s is named twice\n")
