"""Sentences: one catalogue of messages, a key and a language in, text out. A book a verb, in `present.lang`.

Numbers keep a decimal point and SI units in every language, as `units.show` writes them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Literal

from rooflens.errors import Unknown
from rooflens.roofline.points import Point
from rooflens.units import percent, show

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
FINDING_RATIO = 1.0005  # what `percent` still shows as 100 % is not a finding


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
    """A share of a peak: two digits when small, three near the roof, never hiding that it is over ("100.3 %")."""
    if 0.01 <= ratio < 0.0995:
        return f"{100 * ratio:.1f} %"
    return percent(ratio, 2 if ratio < 0.1 else 4 if 1 < ratio < 1.1 else 3)


def intensity(flops_per_byte: float | None, lang: str = "en") -> str:
    """ "0.5 FLOP/B" below 1, "1.0", "62.7", "1,215 FLOP/B" above; a note when no bytes move."""
    if flops_per_byte is None:
        return say("line.no_intensity", lang)
    return f"{bare_intensity(flops_per_byte)} FLOP/B"


def bare_intensity(flops_per_byte: float) -> str:
    """The number alone, as short as it reads well."""
    if flops_per_byte < 1:
        return f"{flops_per_byte:.2g}"
    return f"{flops_per_byte:.1f}" if flops_per_byte < 99.95 else f"{flops_per_byte:,.0f}"


def excess(point: Point) -> float:
    """How far a point is above what binds it: achieved over attainable, or its share of peak when that is larger."""
    return max(point.share_of_attainable, point.share_of_peak)


def is_finding(point: Point) -> bool:
    """A ratio above 100 %: a wrong peak, a cached buffer, sparse beside dense; never clipped, always said."""
    return excess(point) > FINDING_RATIO


def sentence(point: Point, lang: str = "en", launch_s: float | None = None) -> str:
    """What binds this operator, with numbers, and what kind of change helps; a finding when it beats its roof."""
    values = _numbers(point, lang)
    if is_finding(point):
        return say("finding.above", lang, **values | {"ratio": share(excess(point))})
    floor = say("sentence.launch_floor", lang, time=show(launch_s, "s", 2)) if launch_s else ""
    key = f"sentence.{point.regime}"
    return say(key if key in book(FIGURES, "en") else "sentence.other", lang, **values | {"floor": floor})


def _numbers(point: Point, lang: str) -> dict[str, object]:
    attainable = point.attainable_flops_per_s
    return {
        "name": point.name,
        "dtype": point.dtype,
        "regime": point.regime,
        "bound": known(f"bound.{point.bound}", point.bound, lang),
        "share": share(point.share_of_peak),
        "intensity": intensity(point.intensity_flops_per_byte, lang),
        "rate": show(point.flops_per_s, "FLOP/s", 3),
        "attainable": show(attainable, "FLOP/s", 3),
        "reached": share(point.share_of_attainable) if attainable > 0 else say("table.unknown", lang),
        "time": show(point.time_s, "s", 3),
        "verb": say("verb.measured" if point.measured else "verb.attainable", lang),
    }
