"""The text of a metrics page, as Prometheus and OpenMetrics write it, as samples: bounded, and never evaluated.

Taken as they come: escapes, commas and braces inside label values, NaN, infinities, exponents, timestamps, exemplars,
names in quotation marks. A line that is none is left out and said.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

from rooflens.roofline.scraped import Labels, Page

MOST_SAMPLES = 100_000
MOST_LABELS = 64
LONGEST_LINE = 16_384
LONGEST_KEPT = 512  # a line with labels that are remembered from page to page
MOST_KEPT = 32_768  # of them: 200 pages of engines
MOST_LABELS_KEPT = 16
MOST_UNWANTED = 1024  # names that are passed over at first sight
MOST_FAULTS = 8
MILLIS_ABOVE = 1e11  # a timestamp above is in milliseconds (Prometheus), below in seconds (OpenMetrics)
_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:]*+)?(?:\s*+\{(?P<labels>(?:[^\"}]|\"(?:[^\"\\]|\\.)*+\")*+)\}\s*+|\s++)(?P<value>\S++)"
    r"(?:\s++(?P<time>[-+\d.eE]++))?\s*+(?:#.*)?"
)
_NAME = re.compile(r"[a-zA-Z_:][\w:]*+")
_PAIR = re.compile(
    r"\s*+(?:(?P<name>[a-zA-Z_][\w:.]*+)|\"(?P<quoted>(?:[^\"\\]|\\.)*+)\")\s*+"
    r"(?:=\s*+\"(?P<value>(?:[^\"\\]|\\.)*+)\")?\s*+(?:,|$)"
)
_ESCAPE = re.compile(r"\\(.)")
_MEANT = {"n": "\n"}


def parse(text: str, wanted: Container[str] | None = None) -> Page:
    """The samples of a page. wanted: names of samples that are kept; None: all.

    The first of samples that are there twice counts. Reading stops at `# EOF` and at MOST_SAMPLES.
    """
    made, unwanted = _Reading(), set[str]()
    for line in text.split("\n"):
        name, brace, _ = line.partition("{")
        if name in unwanted:
            continue
        if not line or line[0] == "#" or line.isspace():
            if line.startswith("# EOF"):
                break
            continue
        before, name = name, name.rstrip() if brace else line.split(None, 1)[0]
        if wanted is None or name in wanted or not name or line[0] in " \t":
            if not (brace and made.usual(line)):
                made.add(line, wanted)
            if made.count >= MOST_SAMPLES:
                made.fault(f"more than {MOST_SAMPLES} samples: the rest is left out")
                break
        elif brace and len(unwanted) < MOST_UNWANTED:
            unwanted.add(before)
    return Page(made.series, made.stamped_s, tuple(made.faults), made.faulty)


class _Reading:
    """What gathers while a page is read."""

    def __init__(self) -> None:
        self.series: dict[str, dict[Labels, float]] = {}
        self.stamped_s: float | None = None
        self.faults: list[str] = []
        self.faulty = self.count = 0

    def fault(self, why: str) -> None:
        self.faulty += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(why)

    def usual(self, line: str) -> bool:
        """Keeps a sample of the plainest kind, name{labels} value, as nearly all are; False: it is of another."""
        if len(line) > LONGEST_KEPT or "#" in line or line.count('="') > MOST_LABELS_KEPT:
            return False
        front, _, figure = line.rpartition("} ")
        site = _site(front)
        if site is None or "_" in figure:
            return False
        try:
            value = float(figure)
        except ValueError:
            return False
        name, labels = site
        known = self.series.setdefault(name, {})
        if labels in known:
            return False
        known[labels] = value
        self.count += 1
        return True

    def add(self, line: str, wanted: Container[str] | None) -> None:
        found = _SAMPLE.fullmatch(line.strip()) if len(line) <= LONGEST_LINE else None
        value = _number(found["value"]) if found else None
        labels = _labels(found["labels"] or "") if found and value is not None else None
        if found is None or value is None or labels is None:
            return self.fault(f"no sample: {line[:60]!r}")
        name = found["name"]
        if name is None:
            name, labels = next((v for k, v in labels if not k), ""), tuple(pair for pair in labels if pair[0])
        if not name:
            return self.fault(f"no sample: {line[:60]!r}")
        if wanted is not None and name not in wanted:
            return None
        if found["time"]:
            self._stamp(found["time"])
        known = self.series.setdefault(name, {})
        if labels in known:
            return self.fault(f"there twice, the first counts: {line[:60]!r}")
        known[labels] = value
        self.count += 1
        return None

    def _stamp(self, text: str) -> None:
        value = _number(text)
        if value is not None:
            seconds = value / 1000 if abs(value) > MILLIS_ABOVE else value
            self.stamped_s = seconds if self.stamped_s is None else max(self.stamped_s, seconds)


def _number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _labels(text: str) -> Labels | None:
    """Pairs sorted by name; a name in quotation marks alone is the sample's, kept under "". None: no labels."""
    few = len(text) <= LONGEST_KEPT and text.count('="') <= MOST_LABELS_KEPT
    return _kept(text) if few else _read(text)


def _read(text: str) -> Labels | None:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None or len(found) >= MOST_LABELS:
            return None
        name, value = pair["name"] or _plain(pair["quoted"] or ""), pair["value"]
        if value is None:
            if pair["quoted"] is None or "" in found:
                return None
            name, value = "", pair["quoted"]
        if name in found:
            return None
        found[name] = _plain(value)
        at = pair.end()
    return tuple(sorted(found.items()))


_kept = lru_cache(maxsize=MOST_KEPT)(_read)


@lru_cache(maxsize=MOST_KEPT)
def _site(front: str) -> tuple[str, Labels] | None:
    """Name and labels of `name{labels`: pages tell the same ones again and again. None: not of the plainest kind."""
    name, _, text = front.partition("{")
    name, labels = name.rstrip(), _kept(text)
    plain = labels is not None and _NAME.fullmatch(name) and not (labels and not labels[0][0])
    return (name, labels) if plain and labels is not None else None


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda found: _MEANT.get(found[1], found[1]), text) if "\\" in text else text
