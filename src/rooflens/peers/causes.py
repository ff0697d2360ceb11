"""Why a device is behind: what its own tools say, then what its figures look like.

A finding counts where it can slow what is behind, and where most equals do not have it as well: what all share explains
no difference (a power limit that holds the clocks of every device under full load, say).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rooflens.health.record import SEVERITIES, Finding
from rooflens.peers.evidence import EVIDENCE, ON_CHIP, cause_of, looks_like, part, worded
from rooflens.peers.record import Figure, Loss, Reason, Standing
from rooflens.peers.sentences import SEEN
from rooflens.records import record
from rooflens.samples import median
from rooflens.units import percent, show

_SAME = 0.99  # of a limit: from here on it is the same
_LOWER = 0.98  # of its equals' clock, from which on that is the reason
_NEAR = 0.08  # to a half or a quarter of PCIe's rate, from which on it points to lanes
_HELD = re.compile(r"\((.*)\)\s*$")


@record
class Known:
    """What was asked of one device beside its figures: its tools' findings, what its driver said, its power limit."""

    findings: tuple[Finding, ...] = ()
    distrust: tuple[str, ...] = ()
    limit_w: float | None = None


class Causes:
    """Who has what, so that a difference can be told from what all have. known: by NODE/DEVICE."""

    def __init__(self, figures: Iterable[Figure], known: Mapping[str, Known], keys: Mapping[str, str]) -> None:
        self._own: dict[str, list[Figure]] = defaultdict(list)
        self._by_class: dict[tuple[str, str], list[Figure]] = defaultdict(list)
        for figure in figures:
            self._own[figure.of].append(figure)
            self._by_class[figure.key, figure.id].append(figure)
        self._known, self._keys = known, keys
        devices = Counter(keys.values())
        said = Counter((keys[of], what) for of, one in known.items() if of in keys for what in set(_said(one)))
        self._common = {what for what, count in said.items() if 2 * count >= devices[what[0]] > 1}

    def reasons(self, standing: Standing, pairs: tuple[int, int] = (0, 0)) -> tuple[Reason, ...]:
        """Likeliest first, one a cause. pairs: how many of its pairs are behind, and how many it has."""
        own, known = self._own[standing.of], self._known.get(standing.of, Known())
        wrong = next((f.why_not for f in own if "wrong result" in (f.why_not or "")), None)
        if wrong:
            return (Reason("wrong", "figures", SEEN["wrong"].format(why=wrong)),)
        losses = [loss for loss in standing.losses if loss.state == "out"] or standing.losses
        parts = {part(loss.id) for loss in losses} | ({"link"} if pairs[0] else set())
        found = [*self._by_tools(standing, known, parts), *self._by_figures(standing, own, losses, parts)]
        if not found and parts:
            found.append(_left(parts, losses, pairs))
        return tuple({one.cause: one for one in reversed(found)}.values())[::-1]

    def faults(self, of: str) -> tuple[Reason, ...]:
        """Faults that its tools name, whatever its figures say."""
        findings = self._known.get(of, Known()).findings
        return tuple(_told(f) for f in findings if f.severity == "fault" and not self._is_common(of, f.rule))

    def _by_tools(self, standing: Standing, known: Known, parts: set[str]) -> list[Reason]:
        mine = [f for f in known.findings if not self._is_common(standing.of, f.rule)]
        fitting = [f for f in mine if EVIDENCE[cause_of(f.rule)].slows & parts]
        fitting.sort(key=lambda f: (_missed(f, parts), SEVERITIES.index(f.severity)))
        said = [
            Reason(cause, "tools", text)
            for text in known.distrust
            if not self._is_common(standing.of, text) and (cause := worded(text)) and EVIDENCE[cause].slows & parts
        ]
        return [*map(_told, fitting), *said]

    def _by_figures(
        self, standing: Standing, own: Sequence[Figure], losses: Sequence[Loss], parts: set[str]
    ) -> Iterator[Reason]:
        disturbed = next((f.why_not for f in own if worded(f.why_not) == "contention"), None)
        if disturbed:
            yield Reason("contention", "figures", disturbed)
        behind = {loss.id for loss in losses}
        mine = [figure for figure in own if figure.id in behind]
        for figure in mine:
            more = _held(figure) - self._usual_holds(figure)
            for word in sorted(more, key=_precedence):
                if cause := worded(word):
                    yield Reason(cause, "figures", figure.throttle or "")
        if parts & EVIDENCE["power"].slows and (limits := self._limits_w(standing.of)):
            yield Reason("power", "figures", SEEN["limit"].format(limit=show(limits[0], "W"), all=show(limits[1], "W")))
        lower = [(f, clock) for f in mine if (clock := self._clock_hz(f)) and (f.clock_hz or clock) < _LOWER * clock]
        if lower and parts & ON_CHIP:
            warm = all(part(figure.id) == "settled" for figure, _ in lower)
            figure, clock = lower[0]
            said = {"clock": show(figure.clock_hz or 0.0, "Hz"), "all": show(clock, "Hz")}
            yield Reason("power" if warm else "clock", "figures", SEEN["warm" if warm else "clock"].format(**said))

    def _limits_w(self, of: str) -> tuple[float, float] | None:
        """Its power limit and the usual one of its equals, where it is lower."""
        own, key = self._known.get(of, Known()).limit_w, self._keys.get(of)
        every = [limit for who, one in self._known.items() if self._keys.get(who) == key and (limit := one.limit_w)]
        usual = median(every) if every else None
        return (own, usual) if own and usual and own < _SAME * usual else None

    def _clock_hz(self, figure: Figure) -> float | None:
        clocks = [one.clock_hz for one in self._by_class[figure.key, figure.id] if one.clock_hz]
        return median(clocks) if figure.clock_hz and len(clocks) > 1 else None

    def _usual_holds(self, figure: Figure) -> set[str]:
        equals = self._by_class[figure.key, figure.id]
        counts = Counter(word for one in equals for word in _held(one))
        return {word for word, count in counts.items() if 2 * count >= len(equals)}

    def _is_common(self, of: str, what: str) -> bool:
        return (self._keys.get(of, ""), what) in self._common


def _said(one: Known) -> Iterator[str]:
    yield from (finding.rule for finding in one.findings)
    yield from one.distrust


def _told(finding: Finding) -> Reason:
    return Reason(cause_of(finding.rule), "tools", finding.what, finding.next)


def _missed(finding: Finding, parts: set[str]) -> int:
    """How badly a cause fits: parts that it does not explain, then parts that it would slow and that are not behind."""
    slows = EVIDENCE[cause_of(finding.rule)].slows
    return 10 * len(parts - slows) + len(slows - parts)


def _precedence(word: str) -> int:
    """Where the cause of this word stands among all."""
    return [*EVIDENCE, None].index(worded(word))


def _held(figure: Figure) -> set[str]:
    """What held the clocks, in the driver's words: of a sentence what stands in its brackets."""
    text = figure.throttle or ""
    inside = _HELD.search(text) if "fell" in text else None
    said = inside[1] if inside else ("" if "fell" in text else text)
    return {word.strip() for word in said.split(",") if word.strip()}


def _left(parts: set[str], losses: Sequence[Loss], pairs: tuple[int, int]) -> Reason:
    """What the figures alone look like."""
    names = {"cache" if one == "launch" else one for one in parts}
    names -= {"settled", "cache"} if "fresh" in names else set()
    if len(names) > 1:
        return Reason("unknown", "figures", SEEN["unknown"])
    name = names.pop()
    if name == "pcie":
        left = median(loss.share for loss in losses)
        for lanes, said in ((1 / 2, "half"), (1 / 4, "quarter")):
            if abs(left / lanes - 1) < _NEAR:
                return Reason("pcie", "figures", SEEN[said].format(share=percent(left, 2)))
    what = SEEN[name].format(count=pairs[0], all=pairs[1])
    return Reason(looks_like(name), "figures", what)
