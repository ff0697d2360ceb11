"""Machines of a fleet's figures: the median device of a kind, and the same with what one device reaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from rooflens import artefacts
from rooflens.fleet.gathered import NodeFile
from rooflens.fleet.report import Report
from rooflens.peers.record import Figure, Standing
from rooflens.peers.wiring import ends
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.collective import both_ways
from rooflens.roofline.profile import Profile
from rooflens.samples import median

LINKS = ("nvlink", "peer")  # the first of them that carries pairs carries collectives


class Machines:
    """Every device of a report as a machine whose ceilings are medians, so that floors of two are of equal making."""

    def __init__(self, files: Sequence[NodeFile], found: Report) -> None:
        self._files = {of: one for one in files for of in one.keys}
        self._found = found
        self._medians: dict[str, Machine] = {}
        self._own: dict[str, dict[str, float]] = defaultdict(dict)
        self._pairs: dict[str, list[Figure]] = defaultdict(list)
        for figure in (figure for one in files for figure in one.figures):
            if figure.whose == "device":
                self._own[figure.of][figure.id] = figure.value
            elif figure.whose == "pair" and not both_ways(figure.of):
                self._pairs[figure.key].append(figure)

    def usual(self, key: str) -> Machine:
        """The median device of this kind. Raises RooflensError where its file cannot be read any more."""
        if key not in self._medians:
            medians = {spread.id: spread.median for spread in self._found.spreads if spread.key == key}
            sound = max((one for one in self._found.devices if one.key == key), key=_soundest)
            machine = _device(self._files[sound.of], sound.of).machine(self._files[sound.of].keys[sound.of].sku)
            self._medians[key] = self._linked(_valued(machine, medians), self._pairs[key])
        return self._medians[key]

    def own(self, one: Standing) -> Machine:
        """The same where this device is slower, with the slowest of its pairs: the pace of a group that it is in."""
        usual = self.usual(one.key)
        number = self._files[one.of].numbers[one.of]
        pairs = [f for f in self._pairs[one.key] if f.node == one.node and number in ends(f.of)]
        slowest = sorted(pairs, key=lambda f: f.value)[:1]
        return self._linked(_valued(usual, self._own[one.of], slower=True), slowest)

    def _linked(self, machine: Machine, pairs: Sequence[Figure]) -> Machine:
        """With one rate for all pairs of the link that carries them."""
        level = next((level for level in LINKS if any(f.level == level for f in pairs)), None)
        if level is None:
            return machine
        rate = median(f.value for f in pairs if f.level == level)
        kept = tuple(c for c in machine.ceilings if not (c.kind == "link" and c.level == level))
        roof = Ceiling(f"link/{level}", "link", rate, "measured", level=level)
        return replace(machine, ceilings=(*kept, roof), link=level)


def _soundest(one: Standing) -> tuple[bool, int]:
    return one.state == "ok", one.figures


def _device(file: NodeFile, of: str) -> Profile:
    profile = artefacts.profile(Path(file.file))
    return profile.together.get(of.removeprefix(f"{file.node}/"), profile)


def _valued(machine: Machine, values: Mapping[str, float], *, slower: bool = False) -> Machine:
    """With these values, or only with the slower ones; without best samples: those of two would differ by luck."""

    def value(c: Ceiling) -> float:
        given = values.get(c.id, c.value)
        if not slower:
            return given
        return max(given, c.value) if c.unit == "s" else min(given, c.value)

    ceilings = tuple(replace(c, value=value(c), best=None, samples=()) for c in machine.ceilings)
    return replace(machine, ceilings=ceilings)
