"""--lang: on every verb words follow it, figures and JSON never; the sentences of the lab's contract do, and say so."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rooflens import artefacts
from rooflens.cli import _run
from rooflens.present.words import LANGUAGES
from rooflens.roofline.profile import SCHEMA, Profile
from tests.commands import commands

CPU, H200 = (Path(__file__).parents[1] / "experiments" / name / "profile.json" for name in ("cpu-example", "h200"))
OTHERS = ("es", "vi")
LEFT_ENGLISH = re.compile(r"\b(the|of|and|not|is|are|was|were|with|from|that|which|at|by|in|to)\b")
# the catalogue's own words, and names of algorithms and kernels
DATA = re.compile(
    r"^(?:nota|ghi chú|fuente|nguồn).*$|, (?:fuente|nguồn): .*$|\w+ inside, \w+ between nodes|hand-over between nodes",
    re.MULTILINE,
)
SAID: dict[tuple[str, str], str] = {}  # every line is run once in a language
# a line with its language left open, and what its answer says in each
LINES = {
    "machines": ("accelerators", "aceleradores", "bộ gia tốc"),
    "machines h100-sxm5-80gb": ("main memory", "memoria principal", "bộ nhớ chính"),
    "models": ("models", "modelos", "mô hình"),
    "models gpt-oss-20b": ("experts a token", "expertos por token", "expert mỗi token"),
    "place llama-2-7b --on a100-sxm4-80gb,memory=2TB/s": ("memory-bound", "limita la memoria", "giới hạn bởi bộ nhớ"),
    "place mixtral-8x7b --on h100-sxm5-80gb --tp 16 --gpus-per-node 8 --pp 2 --explain": ("rows", "filas", "hàng"),
    "place llama-2-7b --on h100-sxm5-80gb --weights fp8 --context 4000 --measured-s 1ms": ("MBU", "hallazgo", "phát"),
    f"diff {CPU} {CPU}": ("verdict", "veredicto", "kết luận"),
    "measure": ("spread", "dispersión", "độ phân tán"),
}


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, nothing measured, nothing drawn."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("rooflens.cli.measure.profile_of", lambda *_: artefacts.profile(CPU))
    monkeypatch.setattr("rooflens.lab.run.draw", lambda *_, **__: None)
    monkeypatch.setattr("rooflens.lab.run.render", lambda _, kind: kind.encode())


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]):
    def call(line: str, lang: str) -> str:
        if (line, lang) not in SAID:
            capsys.readouterr()
            with suppress(SystemExit):
                assert _run(shlex.split(f"{line} --lang {lang}")) == 0
            SAID[line, lang] = capsys.readouterr().out
        return SAID[line, lang]

    return call


def figures(text: str) -> list[str]:
    return sorted(re.findall(r"\d+\.\d+(?: [kMGTP]?(?:FLOP|B|s)\b)?", text))


@pytest.mark.parametrize("verb", commands())
def test_every_command_takes_a_language_and_refuses_a_strange_one(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run([*verb.split(), "--help"]) == 0
    assert "--lang [en|es|vi]" in capsys.readouterr().out
    assert _run([*verb.split(), "--lang", "eng"]) == 2
    assert "'eng' is not one of 'en', 'es', 'vi'" in capsys.readouterr().err


@pytest.mark.parametrize("line", LINES)
def test_json_is_the_same_in_every_language(out, line: str) -> None:
    found = {out(f"{line} --json", lang) for lang in LANGUAGES}
    assert len(found) == 1
    assert json.loads(found.pop())["schema"].startswith("rooflens/")


@pytest.mark.parametrize("line", LINES)
def test_words_follow_the_language_and_figures_do_not(out, line: str) -> None:
    texts = {lang: out(line, lang) for lang in LANGUAGES}
    assert [lang for lang, word in zip(LANGUAGES, LINES[line], strict=True) if word not in texts[lang]] == []
    assert len(set(texts.values())) == len(LANGUAGES)
    assert {lang: figures(text) for lang, text in texts.items()} == dict.fromkeys(LANGUAGES, figures(texts["en"]))


@pytest.mark.parametrize("lang", OTHERS)
@pytest.mark.parametrize("line", LINES)
def test_nothing_is_left_in_english_but_what_the_catalogue_says(out, line: str, lang: str) -> None:
    assert LEFT_ENGLISH.findall(DATA.sub("", out(line, lang))) == []


def lab(out, tmp_path: Path, lang: str, profile: Path = CPU, more: str = "") -> str:
    return out(f"lab --profile {profile} --out {tmp_path / lang} --compare a100-sxm4-80gb {more}", lang)


@pytest.mark.parametrize("lang", OTHERS)
def test_what_the_lab_shows_is_in_the_language(out, tmp_path: Path, lang: str) -> None:
    text = lab(out, tmp_path, lang)
    assert {"es": "imposible aquí", "vi": "không thể ở đây"}[lang] in text
    assert LEFT_ENGLISH.findall(re.sub(r"`[^`]*`|/\S+", "", text)) == []


def test_the_labs_artefacts_in_json_are_the_same_in_every_language(out, tmp_path: Path) -> None:
    for lang in LANGUAGES:
        lab(out, tmp_path, lang)
    for name in sorted(p.name for p in (tmp_path / "en").glob("*.json") if p.name != "manifest.json"):
        assert len({(tmp_path / lang / name).read_bytes() for lang in LANGUAGES}) == 1, name
    told = [artefacts.read_json(tmp_path / lang / "manifest.json")["checks"] for lang in LANGUAGES]
    assert told[0] == told[1] == told[2]


def told_apart(found: Any, key: str = "") -> tuple[Any, list[str]]:
    """The contract without its sentences, and the sentences."""
    if isinstance(found, dict):
        parts = {k: told_apart(v, k) for k, v in found.items()}
        return {k: rest for k, (rest, _) in parts.items()}, [s for _, said in parts.values() for s in said]
    if isinstance(found, list):
        several = [told_apart(v, key) for v in found]
        return [rest for rest, _ in several], [s for _, said in several for s in said]
    sentences = {
        "statement", "assumptions", "limitations", "risks", "allowed", "overstated", "claim", "why", "why_text",
    }  # fmt: skip
    return (None, [found]) if isinstance(found, str) and key in sentences else (found, [])


def some_cells_of_a_gpu(tmp_path: Path) -> Path:
    """A real run with fewer cells."""
    profile: Profile = artefacts.profile(H200)
    cells = tuple(c for c in profile.attention if c.context == 1024 and c.batch < 64)
    artefacts.write_json(tmp_path / "gpu.json", replace(profile, attention=cells), SCHEMA)
    return tmp_path / "gpu.json"


@pytest.mark.parametrize("which", ["cpu", "gpu"])
def test_the_contract_differs_in_its_sentences_alone(out, tmp_path: Path, which: str) -> None:
    profile = CPU if which == "cpu" else some_cells_of_a_gpu(tmp_path)
    answers = {lang: json.loads(lab(out, tmp_path, lang, profile, "--json")) for lang in LANGUAGES}
    apart = {lang: told_apart(answer) for lang, answer in answers.items()}
    for lang, (rest, said) in apart.items():
        assert (rest.pop("lang"), rest.pop("folder")) == (lang, str(tmp_path / lang))
        assert rest == apart["en"][0]
        assert len(said) == len(apart["en"][1]) > 50
        same = [s for s, english in zip(said, apart["en"][1], strict=True) if s == english]
        assert lang == "en" or [s for s in same if LEFT_ENGLISH.search(s)] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_equal_inputs_and_language_give_equal_answers(out, tmp_path: Path, lang: str) -> None:
    once = lab(out, tmp_path, lang, more="--json")
    SAID.clear()
    assert lab(out, tmp_path, lang, more="--json") == once


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_run_that_is_set_aside_says_so_in_the_language(out, tmp_path: Path, lang: str) -> None:
    quiet = replace(artefacts.profile(CPU), contention=None)
    artefacts.write_json(tmp_path / "quiet.json", quiet, SCHEMA)
    lab(out, tmp_path, lang, tmp_path / "quiet.json")
    text = lab(out, tmp_path, lang, CPU)  # disturbed, so it does not replace the other
    assert {"en": "was disturbed", "es": "fue perturbada", "vi": "bị nhiễu"}[lang] in text.splitlines()[-1]
    assert str(tmp_path / lang / "partial") in text
