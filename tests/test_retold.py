"""Sentences that arrive as data, told in another language: found by their English, complete or left as they came."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

import pytest

from rooflens import artefacts
from rooflens.api import Question, answer, machine
from rooflens.catalogue import accelerators, ladder
from rooflens.compare import compare
from rooflens.errors import Unknown
from rooflens.models import facts, known, named
from rooflens.present.retold import retold
from rooflens.present.words import book
from rooflens.roofline.profile import Profile
from rooflens.workload import own_dtype, precision

OTHERS = ("es", "vi")
RUNS = sorted((Path(__file__).parents[1] / "experiments").glob("*/profile.json"))
ENGLISH = book("retold", "en")
SAMPLES = {"why": "its profile does not say why; no such path", "basis": "vendor", "dtype": "bf16", "math": "fp8"}


def filled(template: str, **values: str) -> str:
    names = [name for _, name, *_ in Formatter().parse(template) if name]
    return template.format(**{name: values.get(name, SAMPLES.get(name, f"1 {name}")) for name in names})


@pytest.mark.parametrize("lang", OTHERS)
@pytest.mark.parametrize("key", ENGLISH)
def test_every_sentence_is_told_by_its_own_template(key: str, lang: str) -> None:
    mine = book("retold", lang)
    inner = {name: retold(SAMPLES[name], lang) for name in ("why", "basis")}
    assert retold(filled(ENGLISH[key]), lang) == filled(mine[key], **inner)


@pytest.mark.parametrize("lang", OTHERS)
def test_joined_sentences_are_told_one_by_one_and_strange_ones_stay(lang: str) -> None:
    said = retold("no such path; HBM3; bandwidth not known", lang).split("; ")
    assert said == [retold("no such path", lang), "HBM3", retold("bandwidth not known", lang)]


def test_english_is_left_alone_and_an_unknown_language_is_named() -> None:
    assert retold("no such path") == "no such path"
    with pytest.raises(Unknown, match="language 'eng'; did you mean 'en'"):
        retold("no such path", "eng")


def spoken(profile: Profile) -> set[str]:
    """Every reason, note and doubt that a profile shows on the screen."""
    reasons = [x.why_not for part in (profile.ceilings, profile.attention, profile.gemms) for x in part]
    lists = (reasons, profile.skipped, profile.notes, profile.device.distrust, [profile.contention, profile.throttle])
    return {sentence for part in lists for sentence in part if sentence}


@pytest.mark.parametrize("lang", OTHERS)
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.parent.name)
def test_what_real_runs_recorded_is_told(path: Path, lang: str) -> None:
    profile = artefacts.profile(path)
    assert [s for s in spoken(profile) if retold(s, lang) == s] == []


@pytest.mark.parametrize("lang", OTHERS)
def test_what_a_comparison_notes_is_told(lang: str) -> None:
    old, new = (artefacts.profile(path) for path in RUNS[:2])
    found = compare(old, new)
    said = {*found.notes, *(c.why for c in found.changes if c.why)}
    assert said
    assert [s for s in said if retold(s, lang) == s] == []


@pytest.mark.parametrize("lang", OTHERS)
def test_what_place_says_is_told(lang: str) -> None:
    said: set[str] = set()
    for asked in (
        Question("llama-2-7b", weights="fp8", kv="fp8", context=9000, measured_s=1e-4),
        Question("mixtral-8x7b", tp=4, link="network", weights="int4"),
        Question("gpt-oss-20b", phase="prefill", weights="fp8"),
        Question("mixtral-8x7b", tp=16, gpus_per_node=8, pp=3, microbatches=8, batch=4),
        Question("llama-2-7b", prompt=128, output=64),
    ):
        for on in ("h100-sxm5-80gb", "a100-sxm4-80gb"):
            placed = answer(asked, machine(on)).placement
            said |= {*placed.notes, *placed.conventions.values()}
            said |= {*placed.measured.findings} if placed.measured else set()
    assert [s for s in said if retold(s, lang) == s] == []


@pytest.mark.parametrize("lang", OTHERS)
def test_what_the_ladders_note_is_told_but_for_names(lang: str) -> None:
    notes = {rung.note for chip in accelerators() for rung in ladder(chip) if rung.note}
    assert {s for s in notes if retold(s, lang) == s} <= {chip.memory.kind for chip in accelerators()}


@pytest.mark.parametrize("lang", OTHERS)
def test_what_models_say_is_told(lang: str) -> None:
    said: set[str] = set()
    for name in known():
        model = named(name)
        own, assumed = own_dtype(model)
        found = facts(model, precision(own, None, None, model.stored, model.state_dtype))
        said |= {*found.special, *found.warnings, *found.not_modelled, *assumed}
    assert [s for s in said if retold(s, lang) == s] == []
