"""Sentences that arrive as data, told in another language: found by their English, complete or left as they came."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from string import Formatter

import pytest

from rooflens import artefacts
from rooflens.api import Question, answer, machine
from rooflens.api.serving import advise, plan, predict
from rooflens.catalogue import accelerators, ladder
from rooflens.compare import compare
from rooflens.errors import Unknown
from rooflens.models import facts, known, named
from rooflens.prediction.record import Prediction
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
        Question("llama-2-7b", weights="fp8", kv="fp8", context=4096, measured_s=1e-4),
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


def foretold() -> set[str]:
    """What predictions note, doubt and conclude, of models that fit and that do not, on chips known and unknown."""
    said: set[str] = set()
    for what, on, asked in (
        ("llama-3.1-405b", "h100-sxm5-80gb", {}),
        ("llama-3.1-8b", "h100-sxm5-80gb", {"batch": 256, "engine": "vllm", "measured_tokens_per_s": 4000.0}),
        ("llama-3.1-8b", "h100-sxm5-80gb", {"measured_tokens_per_s": 180.0}),
        ("llama-3.1-8b", "h100-sxm5-80gb", {"measured_tokens_per_s": 5000.0}),
        ("llama-3.1-8b", "h100-sxm5-80gb", {"batch": 512, "context": 1, "measured_tokens_per_s": 49000.0}),
        ("llama-3.1-8b", "h100-sxm5-80gb", {"tp": 8, "link": "network", "batch": 512, "measured_tokens_per_s": 3000.0}),
        ("llama-3.1-8b", "h100-sxm5-80gb", {"pp": 3, "microbatches": 8, "prompt": 10, "context": 100}),
        ("llama-3.1-8b", "h100-sxm5-80gb", {"engine": "graph"}),
        ("llama-3.1-8b", "tpu-v4", {}),
        ("llama-3.1-8b", "xeon-8480plus", {}),
        ("llama-3.1-8b", "measured:h200-sxm-141gb", {}),
    ):
        found = predict(what, on, **asked)
        assert isinstance(found, Prediction)
        origins = {constant.origin for constant in found.constants} - {"spec", "derived", "measured", "assumed"}
        said |= {*found.notes, *origins, *(found.verdict.sentences if found.verdict else ())}
    return said


def advised() -> set[str]:
    """The names of levers, what they note and why they cannot help."""
    found = [
        advise("llama-3.1-8b", "h100-sxm5-80gb", engine="vllm"),
        advise("llama-3.1-8b", "h100-sxm5-80gb", batch=300, context=64, weights="fp8", kv="fp8", goal="latency"),
        advise("llama-2-7b", "a100-sxm4-80gb", attention="unfused", to="tpu-v1"),
        advise("mixtral-8x7b", "h100-sxm5-80gb", tp=2, ep=2),
        advise("mamba2-codestral-7b", "measured:h200-sxm-141gb", engine="eager"),
        advise("deepseek-v3", "h200-sxm-141gb", tp=8, tokens=4),
    ]
    levers = [lever for one in found for lever in one.levers]
    said = {text for lever in levers for text in (lever.note, lever.why_not) if text}
    titles = {chip.name or chip.id for chip in accelerators()}
    return said | {lever.name for lever in levers if lever.name not in titles} - {"flash attention"}


def planned() -> set[str]:
    """What plans mean, and why machines miss them."""
    asked = {"ttft_s": 1.0, "users": 10, "prompt": 1000, "output": 100}
    found = [plan("llama-3.1-70b", tpot_s=t, on="tpu-v1,tpu-v4,l4,h100-sxm5-80gb", **asked) for t in (1e-6, 0.05)]
    found.append(plan("llama-3.1-8b", tpot_s=1.0, on="tpu-v4", **asked))
    return {text for one in found for text in (*one.conventions.values(), *(miss.why for miss in one.misses))}


@pytest.mark.parametrize("lang", OTHERS)
@pytest.mark.parametrize("spoken_by", [foretold, advised, planned])
def test_what_predictions_levers_and_plans_say_is_told(spoken_by: Callable[[], set[str]], lang: str) -> None:
    said = {sentence for sentence in spoken_by() if not re.fullmatch(r"batch \d+", sentence)}
    assert len(said) > 5
    assert [s for s in sorted(said) if retold(s, lang) == s] == []
