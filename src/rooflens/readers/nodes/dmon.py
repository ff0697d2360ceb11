"""nvidia-smi dmon: lines of samples under two header lines, names and units; columns by name, a dash is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rooflens.readers.nodes.cells import absent, amount, count
from rooflens.roofline.node import Gpu, Node, Sample

HEADER = re.compile(r"^[ \t]*#\s*(?:\S+\s+){0,2}gpu\s.*\b(?:pwr|sm|mem|pclk|fb|pviol|rxpci)\b.*$", re.MULTILINE)
UNITS = dict.fromkeys(("sm", "mem", "pviol"), "%") | dict.fromkeys(("pclk", "mclk"), "MHz")
UNITS |= {"pwr": "W", "rxpci": "MB/s", "txpci": "MB/s"}  # of a table without its second header line
_NAMES = {"gclk": "pclk"}
MOST = 200_000  # samples; the rest says the same


def samples(text: str) -> Node | None:
    """All samples; None where the text holds no such header."""
    if not HEADER.search(text):
        return None
    names: list[str] = []
    units: dict[str, str] = {}
    found: list[Sample] = []
    odd = 0
    for line in text.splitlines():
        words = line.strip().lstrip("#").split() if len(line) < 4000 else []
        if line.lstrip().startswith("#") and not (words and words[0].isdigit()):
            if _is_names(words):
                names = [_NAMES.get(word.lower(), word.lower()) for word in words]
            elif "Idx" in words:
                units = dict(zip(names, words, strict=False))
        elif words and not words[0][0].isdigit():
            names = []  # what follows the table is another text
        elif names and words:
            sample = _sample(dict(zip(names, words, strict=False)), units, len(words) == len(names))
            odd += sample is None
            found.extend([sample] if sample and len(found) < MOST else [])
    said = (f"{odd} lines of the monitor do not fit its header: left out",) if odd else ()
    gpus = tuple(Gpu(index) for index in sorted({sample.index for sample in found}))
    return Node(gpus or None, samples=tuple(found), held=("nvidia-smi dmon",), warnings=said)


def _is_names(words: list[str]) -> bool:
    return "gpu" in map(str.lower, words)


def _sample(said: Mapping[str, str], units: Mapping[str, str], whole: bool) -> Sample | None:  # noqa: FBT001
    index = count(said.get("gpu", ""))
    if index is None or not whole:
        return None

    def value(name: str) -> float | None:
        cell = said.get(name, "-")
        return None if absent(cell) else amount(cell, units.get(name) or UNITS.get(name, ""))

    hot = value("tviol")
    errors = [e for e in (value("dbecc"),) if e is not None]
    return Sample(
        index,
        value("pwr"),
        value("sm"),
        value("mem"),
        value("pclk"),
        value("mclk"),
        value("pviol"),
        None if hot is None else hot > 0,
        int(sum(errors)) if errors else None,
        value("rxpci"),
        value("txpci"),
    )
