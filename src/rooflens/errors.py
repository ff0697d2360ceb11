"""Everything that can go wrong for a person, as sentences.

RooflensError            one sentence naming the thing and the next step; exit code 2
|-- Unknown              a name that nothing matches; carries near matches
|-- BadFile              a file that cannot be used; every fault listed
|   `-- Newer            one of a newer schema than this rooflens reads
|-- NoPath               the machine has no such path (a rate of 0), or its rate is not known
`-- AnswerIsNo           the question was understood and the answer is no; exit code 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

OF_SCHEMA = {  # a kind of file that people name -> what to do where another was named
    "profile": "name a profile.json that `rooflens measure` or `rooflens lab` wrote",
    "roofline": "name a roofline.json that `rooflens lab` wrote",
    "calibrated": "name a file that `rooflens fit --out` wrote",
    "fleet-baseline": "name a file that `rooflens fleet report --save-baseline` wrote",
    "sweep": "name a folder that `rooflens sweep` wrote",
    "extension": "write this one there, or leave the key out",
}
MOST_NAMES = 24  # of those that a sentence lists when nothing is near


class RooflensError(Exception):
    """A sentence for the person at the terminal. Never shown with a traceback; survives a trip between processes."""

    exit_code = 2


class BadFile(RooflensError):
    """A file that cannot be used: `where` and all of its faults at once."""

    def __init__(self, where: str, faults: Sequence[str]) -> None:
        self.where = where
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{where}: {fault}" for fault in faults))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.where, self.faults)


class Newer(BadFile):
    """A file of a newer schema: a newer rooflens reads it."""


class NoPath(RooflensError):
    """A demand on a resource that the machine does not have, or whose rate is not known."""


class AnswerIsNo(RooflensError):
    """The question was understood; the answer is no."""

    exit_code = 1


class Unknown(RooflensError):
    """A name that nothing matches, with the nearest names and where to look, or else all the names there are."""

    def __init__(self, kind: str, name: str, known: Iterable[str], see: str = "") -> None:
        self.kind, self.name, self.known, self.see = kind, name, tuple(known), see
        self.near = near(name, self.known)
        hint = f"; did you mean {' or '.join(repr(n) for n in self.near)}?" if self.near else "."
        if not see and not self.near:
            see = ", ".join(self.known[:MOST_NAMES]) + (" ..." if len(self.known) > MOST_NAMES else "")
        super().__init__(f"unknown {kind} {name!r}{hint}" + (f"  See: {see}" if see else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, self.name, self.known, self.see)


def other_schema(schema: str, found: str) -> str:
    """That a file is of another schema than `schema`, and what to name instead."""
    return f"schema: expected {schema!r}, found {found}; {OF_SCHEMA.get(schema.split('/')[1], 'name such a file')}"


def near(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names most like `name`, best first; empty when none is close."""
    import difflib

    by_fold = {k.casefold(): k for k in known}
    return [by_fold[m] for m in difflib.get_close_matches(name.casefold(), by_fold, n=most, cutoff=0.6)]


def told(error: BaseException) -> str:
    """Somebody else's error in a sentence: its kind, and the first line of what it says."""
    lines = str(error).strip().splitlines() or ["no reason given"]
    return f"{type(error).__name__}: {lines[0][:300]}"
