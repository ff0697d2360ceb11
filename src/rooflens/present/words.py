"""Sentences: one catalogue of messages, a key and a language in, text out. A book a verb, in `present.lang`.

Numbers keep a decimal point and SI units in every language, as `units.show` writes them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Literal

from rooflens.errors import Unknown
from rooflens.units import percent

Lang = Literal["en", "es", "vi"]
LANGUAGES: tuple[Lang, ...] = ("en", "es", "vi")
FIGURES = "figures"  # the book of figures, points and tables: every key whose first word names no other book
BOOKS: dict[str, tuple[str, ...]] = {  # first word of a key -> modules of `lang`, loaded when a key asks for them
    "advise": ("advise",), "answer": ("answer",), "bench": ("benches",), "ceilings": ("ceilings",), "claim": ("claim",),
    "curves": ("curves",), "diff": ("diff",), "fit": ("fit",), "frame": ("frame",), "gain": ("gains",),
    "kernels": ("profiles",),
    "lab": ("lab", "gains"), "machines": ("machines",), "measure": ("measure",), "models": ("models",),
    "fleet_measure": ("fleet_measure",),
    "place": ("place",), "plan": ("plan",), "predict": ("predict", "operator"), "spent": ("spent",),
    "doctor": ("doctor",), "fleet": ("fleet",), "sweep": ("sweep",),
    "retold": (
        "fleets", "fleet_whys",
        "watched", "doctored", "doctor_files", "accounts", "benched", "benched_doubts", "retold", "doubts", "profiled",
        "claims", "kernels", "linked", "swept",
    ),
    "completion": ("completion",),
    "practice": ("practice", "practice_asked", "practice_why", "practice_missed"),
    "trend": ("trend",), "refused": ("refused",),
    "watch": ("watch",), "export": ("export",), "page": ("page", "page_options"),
}  # fmt: skip


@cache
def book(name: str, lang: str) -> dict[str, str]:
    """The phrases of one book, by key. Raises Unknown for a language we do not have."""
    if lang not in LANGUAGES:
        raise Unknown("language", lang, LANGUAGES)
    pages = [(module, lang.upper()) for module in BOOKS.get(name, ())] or [(lang, "MESSAGES")]
    phrases: dict[str, str] = {}
    for module, page in pages:
        phrases |= getattr(import_module(f"rooflens.present.lang.{module}"), page)
    return phrases


def say(key: str, /, lang: str = "en", **values: object) -> str:
    """The message `key` in `lang` with its placeholders filled. Raises Unknown for a language we do not have."""
    return _book_of(key, lang)[key].format(**values)


def known(key: str, otherwise: str, lang: str = "en") -> str:
    """The message `key` when there is one, else `otherwise`: for words that arrive as data."""
    return _book_of(key, lang).get(key, otherwise)


def word(kind: str, as_data: str | None, lang: str = "en") -> str:
    """A word that arrives as data (kind: origin, bound) as every verb shows it; as it came when nobody knows it."""
    return known(f"frame.{kind}.{as_data}", as_data or "", lang)


def _book_of(key: str, lang: str) -> dict[str, str]:
    first = key.partition(".")[0]
    return book(first if first in BOOKS else FIGURES, lang)


def share(ratio: float) -> str:
    """A share of a peak: two digits when small, three near the roof."""
    if 0.01 <= ratio < 0.0995:
        return f"{100 * ratio:.1f} %"
    return percent(ratio, 2 if ratio < 0.1 else 3)


def bare_intensity(flops_per_byte: float) -> str:
    """FLOP per byte as short as it reads well: "0.5" below 1, "1.0", "62.7", "1,215" above."""
    if flops_per_byte < 1:
        return f"{flops_per_byte:.2g}"
    return f"{flops_per_byte:.1f}" if flops_per_byte < 99.95 else f"{flops_per_byte:,.0f}"
