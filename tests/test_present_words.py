"""Sentences: complete in every language; shares and intensities as they are shown."""

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
    say,
    share,
)
from rooflens.roofline.points import is_finding

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


def test_what_a_percentage_still_shows_as_100_is_no_finding():
    at, over = (dataclasses.replace(DECODE, flops_per_s=rate, measured=True).excess for rate in (2.0009e12, 2.6e12))
    assert (at, is_finding(at)) == (pytest.approx(1.00045), False)  # 2.0009 of the 2 TFLOP/s that memory allows
    assert (over, is_finding(over)) == (pytest.approx(1.3), True)  # 2.6 / 2
    assert (share(1.0004), share(1.0006)) == ("100 %", "100.1 %")


def test_a_share_never_hides_that_it_is_over():
    assert (share(0.0046), share(0.0403), share(0.5), share(0.934)) == ("0.46 %", "4.0 %", "50 %", "93.4 %")
    assert (share(1.0), share(1.0025), share(1.31)) == ("100 %", "100.2 %", "131 %")


def test_intensities_are_short():
    assert [bare_intensity(x) for x in (0.0312, 0.5, 1, 62.7, 99.97, 153.4, 1215)] == [
        "0.031", "0.5", "1.0", "62.7", "100", "153", "1,215",
    ]  # fmt: skip


def test_a_language_we_do_not_have_is_named_with_those_we_do():
    with pytest.raises(Unknown, match="language 'eng'; did you mean 'en'"):
        say("plot.x", "eng")
