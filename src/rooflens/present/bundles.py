"""Points whose markers touch get one label: their names joined, when they share one figure. Pure."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

from rooflens.present.palette import dtype_colour, marker
from rooflens.present.scene import Scene, Spot
from rooflens.records import record

_NEAR_X, _NEAR_Y = 0.022, 0.03  # of the range: about one marker
_WRAP = 40
_STACK, _WIDE = 6, 66  # so many above one another stand in a column, each on one long line
_LINES = 3  # labels with figures of their own that one place may carry
_GLUE = "\u00a0"


@record
class Bundle:
    """One label and the spots it speaks for (all of one machine and look, all measured or none)."""

    spots: tuple[Spot, ...]
    text: str


def bundles(scene: Scene) -> list[Bundle]:
    """The scene's spots, those on one place joined; findings stay alone unless they read the same."""
    groups: list[list[Spot]] = []
    for spot in (s for s in scene.spots if s.named):
        home = next((g for g in groups if _joins(spot, g, scene)), None)
        if home is None:
            groups.append([spot])
        else:
            home.append(spot)
    return [Bundle(tuple(g), _text(g, _WIDE if _stacked(g[0], groups, scene) else _WRAP)) for g in groups]


def joined(names: Sequence[str]) -> str:
    """Names that differ in their first or last word only say the rest once: "decode q, decode o" is "decode q, o".

    Repeats are counted; names with different rests stand apart with a semicolon.
    """
    counts = Counter(names)
    return min(_by(counts, last=True), _by(counts, last=False), key=len)


def _by(counts: Mapping[str, int], *, last: bool) -> str:
    """Names grouped by all words but the last, or all but the first."""
    groups: dict[str, list[str]] = {}
    for name, count in counts.items():
        head, _, tail = name.rpartition(" ") if last else name.partition(" ")[::-1]
        groups.setdefault(head, []).append(tail + _times(count))
    apart = len(groups) > 1 and any(len(own) > 1 for own in groups.values())
    texts = (f"{rest} {', '.join(own)}" if last else f"{', '.join(own)} {rest}" for rest, own in groups.items())
    return ("; " if apart else ", ").join(text.strip() for text in texts)


def _joins(spot: Spot, group: Sequence[Spot], scene: Scene) -> bool:
    if spot.share is not None:  # areas differ, so each is told apart
        return False
    return _same(spot, group[0], scene) and (len(group) < _LINES or all(_alike(spot, one) for one in group))


def _alike(a: Spot, b: Spot) -> bool:
    return a.point.dtype == b.point.dtype and _share(a) == _share(b)


def _same(a: Spot, b: Spot, scene: Scene) -> bool:
    if (a.machine, *_looks(a), a.point.measured) != (b.machine, *_looks(b), b.point.measured):
        return False
    if (a.finding or b.finding) and a.label != b.label:
        return False
    along, up = _apart(a.intensity, b.intensity, scene.intensities), _apart(a.rate, b.rate, scene.rates)
    near = 1.0 if _alike(a, b) else 0.5  # what reads differently shares a label only where one marker hides the other
    return along < near * _NEAR_X and up < near * _NEAR_Y


def _looks(spot: Spot) -> tuple[str, str]:
    return dtype_colour(spot.point.dtype), marker(spot.point.dtype)


def _share(spot: Spot) -> str:
    return spot.label.rpartition(", ")[2]


def _stacked(spot: Spot, groups: Sequence[Sequence[Spot]], scene: Scene) -> bool:
    near = [g for g in groups if _apart(spot.intensity, g[0].intensity, scene.intensities) < _NEAR_X]
    return len(near) >= _STACK


def _apart(a: float, b: float, span: tuple[float, float]) -> float:
    return abs(math.log(a / b)) / math.log(span[1] / span[0])


def _text(group: Sequence[Spot], wide: int) -> str:
    """One figure a line, with the names that share it."""
    shares = dict.fromkeys(_share(s) for s in sorted(group, key=lambda s: -s.rate))
    return "\n".join(_named([s for s in group if _share(s) == share], share, wide) for share in shares)


def _named(group: Sequence[Spot], shared: str, wide: int) -> str:
    names = group[0].label.rpartition(", ")[0]
    if len({s.label for s in group}) > 1:
        names = joined([s.label.rpartition(", ")[0] for s in group])
    elif len(group) > 1:
        names += _times(len(group))
    return _wrapped(f"{names}, {shared}", wide, torn=group[0].share is None)


def _wrapped(text: str, wide: int, *, torn: bool) -> str:
    """In as few lines as `wide` characters allow, about equally long, a number never torn from its per cent sign.

    torn: whether a longer word may be.
    """
    glued = text.replace(" %", _GLUE + "%")
    lines = textwrap.wrap(glued, wide, break_long_words=torn)
    for width in range(wide - 1, 12, -1):
        tighter = textwrap.wrap(glued, width, break_long_words=torn)
        if len(tighter) > len(lines):
            break
        lines = tighter
    return "\n".join(lines).replace(_GLUE, " ")


def _times(count: int) -> str:
    return f" (x{count})" if count > 1 else ""
