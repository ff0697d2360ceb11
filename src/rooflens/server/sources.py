"""Where the ceilings of a machine come from, so that a reader can look: titles and addresses of their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from rooflens import catalogue
from rooflens.present.retold import JOINT
from rooflens.roofline.ceilings import Machine

_PLACE = re.compile(r"(?P<place>[\w-]+(?:\.[\w-]+)+(?:/[^\s,;]*)?)(?:, (?P<file>[\w./-]+))?")
_COMMIT = re.compile(r"\bcommit ([0-9a-f]{7,40})\b")


def sources(machines: Iterable[Machine]) -> dict[str, dict[str, str]]:
    """title, where and (for what has an address) url of every source that a ceiling of these machines names."""
    named = {key for there in machines for c in there.ceilings for key in (c.source or "").split(JOINT)}
    return {key: _told(key) for key in catalogue.sources() if key in named}


@cache
def _told(key: str) -> dict[str, str]:
    of = catalogue.source(key)
    said = {"title": of.what, "where": of.where, "read": of.read, "url": of.where and address(of.where)}
    return {name: text for name, text in said.items() if text}


def address(where: str) -> str | None:
    """The web address that a place of the catalogue means; of a file of GitHub, as its commit has it. None: no page."""
    found = _PLACE.match(where)
    if found is None:
        return None
    place, file, commit = found["place"], found["file"], _COMMIT.search(where)
    if commit and re.fullmatch(r"github\.com/[^/]+/[^/]+", place):
        whole = file is not None and "." in file.rpartition("/")[2] and not where[found.end() :].startswith("*")
        return f"https://{place}/" + (f"blob/{commit[1]}/{file}" if whole else f"tree/{commit[1]}")
    return f"https://{place}"
