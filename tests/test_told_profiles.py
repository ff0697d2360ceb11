"""What readers say of profiles and benchmarks, told in another language: no English is left of it."""

from __future__ import annotations

import re

import pytest
from observed_files import COUNTERS, TRACE, kernel, launch, ncu_long, ncu_wide, op, packed, trace

from rooflens.api.profiles import kernels, observed
from rooflens.present.lang import profiled
from rooflens.present.retold import retold

ENGLISH = re.compile(r"\b(the|of|and|or|not|is|are|was|were|with|from|that|which|at|by|in|to)\b")
WHY = "no shapes were recorded: profile with record_shapes=True"
SHAPELESS = trace(op("aten::mm", 0, 9), launch(1, 2, 5), kernel("k", 10, 5, corr=5))
ONE = trace(kernel("k", 0, 5))
PIPES = {"gpu__time_duration.sum": ("us", "5"), "sm__cycles_elapsed.avg.per_second": ("Ghz", "1.1")}
FETCHED = "Index,KernelName,BeginNs,EndNs,FETCH_SIZE\n0,copy,0,5000,16\n"
FILES = {
    "a capture": TRACE,
    "counters": COUNTERS,
    "no operators": ONE,
    "no shapes": SHAPELESS,
    "cut": trace(kernel("k", 0, 5), kernel("k", 9, 5))[:-20],
    "cut and packed": packed(SHAPELESS.encode())[:-12],
    "no counters": ncu_wide(PIPES),
    "not a number": ncu_wide({**PIPES, "dram__bytes.sum": ("byte", "nan")}),
    "a page of details": ncu_long(("k", [("GPU Speed Of Light Throughput", "Duration", "us", "5")])),
    "no bytes": FETCHED,
    "a summary": "Time (%),Total Time (ns),Instances,Name\n100,5000,1,k\n",
}


@pytest.mark.parametrize("lang", ["es", "vi"])
@pytest.mark.parametrize("name", FILES)
def test_what_is_said_of_a_file_is_said_in_the_language(tmp_path, name, lang):
    file = FILES[name]
    if isinstance(file, (str, bytes)):
        (tmp_path / "f").write_bytes(file if isinstance(file, bytes) else file.encode())
        file = tmp_path / "f"
    seen, found = observed(file), kernels(file, "rtx-4090-24gb")
    said = {*seen.warnings, *found.notes}
    for one in found.kernels:
        said |= {*one.missing.values(), *one.notes, *one.findings, *filter(None, [one.lever])}
    assert said
    assert [one for one in said if ENGLISH.search(retold(one, lang))] == []


@pytest.mark.parametrize("lang", ["es", "vi"])
@pytest.mark.parametrize("key", profiled.EN)
def test_each_sentence_is_found_again_by_its_english(key, lang):
    names = re.findall(r"{(\w+)}", profiled.EN[key])
    said = profiled.EN[key].format(**{name: WHY if name == "why" else "X9" for name in names})
    told = retold(said, lang)
    assert told != said
    assert not ENGLISH.search(told)


def test_a_rate_that_is_not_known_is_told_with_what_to_write():
    why = "toy: the rate of bf16 arithmetic is not known; give it as --on toy,bf16=RATE"
    assert retold(why, "es") == "toy: no se conoce la tasa de la aritmética bf16; dala como --on toy,bf16=RATE"
    assert "trên đơn vị matrix" in retold("toy has no fp4 arithmetic on its matrix units", "vi")


def test_warnings_follow_the_language_and_json_does_not(cli, tmp_path):
    (tmp_path / "t.json").write_text(ONE)
    told = cli("kernels", str(tmp_path / "t.json"), "--on", "h200-sxm-141gb", "--lang", "es")
    assert "no se grabaron operadores" in told.err
    assert "no operators were recorded" in cli("kernels", str(tmp_path / "t.json"), "--on", "h200-sxm-141gb", "--json",
                                               "--lang", "es").out  # fmt: skip


def test_what_counters_leave_out_is_shown(cli, tmp_path):
    op_ = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
    counted = {**PIPES, **{op_.format(name): ("inst", "100") for name in ("ffma", "fadd")}}
    (tmp_path / "c.csv").write_text(ncu_wide(counted))
    assert "note on 1: vector FLOPs leave out" in cli("kernels", str(tmp_path / "c.csv"), "--on", "a10").out
