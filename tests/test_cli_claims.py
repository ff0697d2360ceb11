"""`claim`, `ceilings` and `trend` at the door."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

H100, A100 = "h100-sxm5-80gb", "a100-sxm4-80gb"


def test_a_claim_that_is_true_exits_0_and_any_other_1(cli) -> None:
    assert cli("claim", H100, "--says", "989 TFLOP/s bf16").code == 0
    assert cli("claim", H100, "--says", "1979 TFLOP/s bf16").code == 1
    assert cli("claim", A100, "--says", "tf32 is 16x fp32").code == 1
    assert cli("claim", f"{A100}:tf32", f"{A100}:fp32", "--times", "8").code == 0


def test_a_claim_answers_with_the_keys_of_the_contract(cli) -> None:
    told = cli("claim", H100, A100, "--times", "6", "--json")
    found = json.loads(told.out)
    assert (told.code, found["schema"], found["verdict"]) == (1, "rooflens/claim/1", "true only for")
    assert {"conventions", "ratios", "true_for", "false_for", "why", "batches", "condition"} <= found.keys()
    assert {"compute", "memory", "precision", "sparsity"} == found["ratios"].keys()
    assert "right" not in found  # no one number is
    for case in found["true_for"] + found["false_for"]:
        assert {"name", "ratio", "formats", "bound"} <= case.keys()


def test_the_first_screen_says_the_verdict_the_parts_and_the_batch(cli) -> None:
    out = cli("claim", H100, A100, "--times", "6").out
    for said in (
        "verdict: true only for compute-bound work with the precision changed",
        "bf16 against bf16, dense: 989.4 TFLOP/s against 312 TFLOP/s = 3.17x",
        "memory: 3.35 TB/s against 2.039 TB/s = 1.64x",
        "the decode FFN gains 6x from batch",
        "compared within 0.03",
    ):
        assert said in out


def test_the_tolerance_is_ones_own(cli) -> None:
    assert cli("claim", H100, "--says", "1000 TFLOP/s bf16").code == 0
    assert cli("claim", H100, "--says", "1000 TFLOP/s bf16", "--tolerance", "0.01").code == 1


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_a_claim_is_told_in_the_language_and_its_json_is_not(cli, lang: str) -> None:
    asked = ("claim", H100, "--says", "900 GB/s nvlink")
    assert cli(*asked, "--json", "--lang", lang).out == cli(*asked, "--json").out
    english, other = cli(*asked).out.splitlines(), cli(*asked, "--lang", lang).out.splitlines()
    assert len(english) == len(other)
    same = [line for line in other if line and line in english]
    assert same == []


def test_an_own_machine_is_judged_by_its_own_file(cli, tmp_path: Path) -> None:
    own = tmp_path / "acme.toml"
    own.write_text('[accelerator]\nid = "acme"\nmatrix = { bf16 = "400 TFLOP/s" }\nsparse_multiplier = 2\n')
    assert cli("claim", str(own), "--says", "400 TFLOP/s bf16").code == 0
    assert "2:4 sparse" in cli("claim", str(own), "--says", "800 TFLOP/s bf16").out


BAD = [
    (("claim", "h100-sxm5", "--says", "80 GB"), "h100-sxm5-64gb; say which"),
    (("claim", H100), "say what is claimed"),
    (("claim", H100, A100, "--times", "nan"), "not a finite number"),
    (("claim", H100, A100, "--times", "0"), "0"),
    (("claim", H100, "--says", ""), "says no figure"),
    (("claim", H100, "--says", "9e999 TB/s"), "not a finite number"),
    (("claim", H100, "--says", "80 GB", "--tolerance", "2"), "tolerance"),
    (("claim", H100, A100, "--times", "2", "--model", "lama-2-7b"), "did you mean 'llama-2-7b'"),
    (("ceilings", "llama-2-7b", "--on", ""), "machines: a name is empty"),
    (("ceilings", "llama-2-7b", "--on", "h10O-sxm5-80gb"), "did you mean"),
    (("ceilings", "llama-2-7b", "--on", H100, "--context", "0"), "context"),
    (("ceilings", "llama-2-7b", "--on", H100, "--context", "4097"), "made for 4096 positions, and 4097 are asked for"),
    (("claim", H100, A100, "--times", "2", "--context", "999999"), "made for 131072 positions"),
    (("ceilings", "llama-2-7b", "--on", H100, "-o", "rows.txt"), ".csv or a .json file"),
    (("trend", "--kind", "gpu"), "kind"),
    (("trend", "--plot", "wall.gif"), ".png or .svg"),
    (("trend", "-o", "/proc/nowhere/wall.csv"), "cannot write"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD)
def test_bad_input_is_one_sentence_and_exit_two(cli, arguments, sentence, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    told = cli(*arguments)
    assert (told.code, told.out, "Traceback" in told.err) == (2, "", False)
    assert told.err.startswith("rooflens: ")
    assert sentence in told.err


def test_ceilings_are_a_table_an_object_and_rows(cli, tmp_path: Path) -> None:
    models, machines = "llama-3.1-8b:q4_k_m,llama-3.1-70b:q4_k_m", f"{H100},rtx-4090-24gb"
    told = cli("ceilings", models, "--on", machines, "-o", str(tmp_path / "c.csv"))
    assert told.code == 0
    assert "does not fit: 2 devices would" in told.out
    assert "FLOP/s" not in told.out.partition("\n\n")[0]
    with (tmp_path / "c.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = json.loads(cli("ceilings", models, "--on", machines, "--json").out)
    assert found["schema"] == "rooflens/ceilings/1"
    assert [float(r["tokens_per_s_ceiling"]) for r in rows] == [c["tokens_per_s_ceiling"] for c in found["ceilings"]]
    assert [r["fits"] for r in rows] == ["true", "true", "true", "false"]
    assert "would change nothing" in " ".join(cli("ceilings", "--help").out.split())


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_ceilings_and_trend_speak_other_languages(cli, lang: str) -> None:
    for asked in (("ceilings", "llama-2-7b", "--on", H100), ("trend", "--kind", "asic")):
        told = cli(*asked, "--lang", lang)
        assert told.code == 0
        assert told.out.splitlines()[-1] != cli(*asked).out.splitlines()[-1]
        assert cli(*asked, "--json", "--lang", lang).out == cli(*asked, "--json").out


def test_trend_is_a_table_an_object_rows_and_a_picture(cli, tmp_path: Path) -> None:
    told = cli("trend", "--plot", str(tmp_path / "wall.png"), "-o", str(tmp_path / "wall.csv"))
    assert told.code == 0
    for said in ("doubles in", "1.7 years", "two standard errors", "left out: no 16-bit matrix path: p100-sxm2-16gb"):
        assert said in told.out
    assert (tmp_path / "wall.png").stat().st_size > 10_000
    found = json.loads(cli("trend", "--json").out)
    assert found["schema"] == "rooflens/trend/1"
    assert {"compute", "memory", "ridge"} == found["fits"].keys()
    with (tmp_path / "wall.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(found["products"])


def test_what_does_not_grow_is_not_said_to_double(cli) -> None:
    assert "not told from standing still" in cli("trend", "--kind", "soc").out
    assert "too few products for a line" in cli("trend", "--kind", "cpu").out
