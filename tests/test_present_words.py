"""Sentences: complete in every language, with the numbers a point carries."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from pathlib import Path
from string import Formatter

import pytest
from plot_scenes import A100, point

from rooflens.errors import Unknown
from rooflens.present import lang as lang_pages
from rooflens.present.words import (
    BOOKS,
    FIGURES,
    LANGUAGES,
    bare_intensity,
    book,
    intensity,
    say,
    sentence,
    share,
)

ASKED = re.compile(r"""(?:say|known)\(\s*["']([a-z_]+\.[^"'{}]+)["']""")  # a key written out
DECODE = point(A100, "decode", "fp16", 1.0)


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", [*BOOKS, FIGURES])
def test_every_language_has_every_phrase_with_the_same_placeholders(name, lang):
    here, english = book(name, lang), book(name, "en")
    assert list(here) == list(english)
    assert [k for k, text in here.items() if placeholders(text) != placeholders(english[k])] == []
    assert all(text.strip() for text in here.values())


def test_every_module_of_phrases_is_a_page_of_a_book():
    modules = {m.name for m in pkgutil.iter_modules(lang_pages.__path__)}
    assert modules == {page for pages in BOOKS.values() for page in pages} | set(LANGUAGES)


def test_no_phrase_stands_on_two_pages_of_a_book():
    for name, pages in BOOKS.items():
        phrases = [k for page in pages for k in importlib.import_module(f"{lang_pages.__name__}.{page}").EN]
        assert len(phrases) == len(set(phrases)), name


def test_every_phrase_that_the_code_asks_for_by_name_is_there():
    package = Path(lang_pages.__path__[0]).parents[1]
    asked = {key for p in package.rglob("*.py") for key in ASKED.findall(p.read_text(encoding="utf-8"))}
    there = {key for name in (*BOOKS, FIGURES) for key in book(name, "en")}
    assert len(asked) > 100
    assert asked - there == set()


def test_the_first_word_of_a_key_names_its_book():
    strays = {k for name in BOOKS for k in book(name, "en") if k.partition(".")[0] not in BOOKS}
    assert strays | {k for k in book(FIGURES, "en") if k.partition(".")[0] in BOOKS} == set()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("compute", "compute-bound"),
        ("memory", "memory-bound"),
        ("link", "link-bound"),
        ("launch", "launch-bound"),
        ("below-roof", "below the roof"),
    ],
)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_regime_has_its_sentence(name, words, lang):
    there = dataclasses.replace(DECODE, regime=name, flops_per_s=0.5e12, measured=True)
    assert "decode" in sentence(there, lang, launch_s=2.1e-6)
    assert "{" not in sentence(there, lang)
    if lang == "en":
        assert words in sentence(there)


def test_a_kernel_below_the_roof_is_told_how_far():
    slow = dataclasses.replace(DECODE, regime="below-roof", flops_per_s=0.2e12, measured=True)
    assert "10 % of the 2 TFLOP/s that memory allows" in sentence(slow)  # 0.2 / 2 TFLOP/s


def test_a_launch_bound_sentence_names_the_launch_floor():
    stuck = dataclasses.replace(DECODE, regime="launch", flops_per_s=0.1e12, measured=True)
    assert "(2.1 us)" in sentence(stuck, launch_s=2.1e-6)


def test_a_regime_nobody_translated_is_said_as_it_came():
    odd = dataclasses.replace(DECODE, regime="power", bound="power")
    assert "0.64 % of the fp16 roof (power)" in sentence(odd)


def test_more_than_attainable_is_a_finding_and_not_a_result():
    fast = dataclasses.replace(DECODE, flops_per_s=2.6e12, measured=True)
    assert "130 %" in sentence(fast)  # 2.6 / 2.0
    assert "a finding" in sentence(fast)


def test_a_share_never_hides_that_it_is_over():
    assert (share(0.0046), share(0.0403), share(0.5), share(0.934)) == ("0.46 %", "4.0 %", "50 %", "93.4 %")
    assert (share(1.0), share(1.0025), share(1.31)) == ("100 %", "100.2 %", "131 %")


def test_intensities_are_short_and_keep_their_unit():
    assert [bare_intensity(x) for x in (0.0312, 0.5, 1, 62.7, 99.97, 153.4, 1215)] == [
        "0.031", "0.5", "1.0", "62.7", "100", "153", "1,215",
    ]  # fmt: skip
    assert intensity(1.0) == "1.0 FLOP/B"
    assert intensity(None) == "no bytes move"


def test_a_language_we_do_not_have_is_named_with_those_we_do():
    with pytest.raises(Unknown, match="language 'eng'; did you mean 'en'"):
        say("plot.x", "eng")
