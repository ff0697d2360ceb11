"""Where labels go: near their point, never on another text or marker, rarely across a line. Pixels only.

Greedy with a small search: labels whose natural places collide move as one column, with leaders; what finds no
place within reach is returned, to be numbered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat

from rooflens.present.boxes import Box, Segment, crossing, spread
from rooflens.records import record

GAP = 5.0  # between any two texts
REACH = 300.0
THROUGH = 800.0  # the price of a leader through a text
STACK = 15.0  # markers that stand one above another, within so many pixels, share a column of labels
CROWDED = 3  # more labels than this without a place: polishing would not help
_Option = tuple[float, float, Callable[[], list[Box]]]  # price, distance from the marker, one box a label
_OFFSETS = (0.0, 12.0, 30.0, 55.0, 90.0, 135.0, 190.0)
_SHIFTS = (0.0, 0.5, 1.0, 1.6, 2.4, 3.4, 4.6, 6.0, 8.0)


@record
class Label:
    """A text of this size that belongs to the marker `mark`."""

    key: int
    mark: Box
    width: float
    height: float


@record
class Placed:
    """Where a label went; its leader when it is not next to its marker."""

    key: int
    box: Box
    leader: Segment | None


@dataclass(slots=True)
class Field:
    """What is already on the sheet. `lines` may be crossed at their price; `marks` and `taken` may not."""

    bounds: Box
    marks: list[Box] = field(default_factory=list)
    taken: list[Box] = field(default_factory=list)
    lines: list[tuple[Segment, float]] = field(default_factory=list)
    leaders: list[Segment] = field(default_factory=list)
    dear: Callable[[Box], float] = lambda box: 0.0

    def free(self, box: Box) -> bool:
        """Whether a text may stand here: inside, clear of every text and marker."""
        x0, y0, x1, y1 = box.x0 - GAP, box.y0 - GAP, box.x1 + GAP, box.y1 + GAP
        return box.within(self.bounds) and not any(
            x0 < other.x1 and other.x0 < x1 and y0 < other.y1 and other.y0 < y1
            for other in chain(self.taken, self.marks)
        )

    def clutter(self, box: Box, leader: Segment | None, mark: Box | None = None) -> float:
        """The price of what this label would cover or cross."""
        price = self.dear(box) + sum(cost for line, cost in self.lines if box.crossed(line))
        price += THROUGH * sum(box.crossed(line) for line in self.leaders)
        if leader is None:
            return price
        price += 80.0 * sum(crossing(leader, other) for other in self.leaders)
        price += 0.3 * sum(cost for line, cost in self.lines if crossing(leader, line))
        price += THROUGH * sum(other.crossed(leader) for other in self.taken)
        return price + THROUGH / 2 * sum(m.crossed(leader) for m in self.marks if mark is None or not m.hits(mark))

    def take(self, placed: Iterable[Placed]) -> None:
        """Keep others off these labels and their leaders."""
        for one in placed:
            self.taken.append(one.box)
            if one.leader:
                self.leaders.append(one.leader)

    def give_back(self, placed: Iterable[Placed]) -> None:
        """Undo `take`."""
        for one in placed:
            self.taken.remove(one.box)
            if one.leader:
                self.leaders.remove(one.leader)


def place(labels: Sequence[Label], field: Field, first: Collection[int] = ()) -> tuple[list[Placed], list[Label]]:
    """All labels that found a place (the field now holds them) and those that did not.

    The groups of `first`, then large ones; then, unless many are without a place, every group is taken up once more and
    put where it is best now.
    """
    late = {one.key for one in labels}.difference(first)
    groups = sorted(_clusters(labels), key=lambda g: (late.issuperset(one.key for one in g), *_order(g)))
    results = [_group(group, field) for group in groups]
    crowded = sum(len(lost) for _, lost in results) > CROWDED
    for i, group in enumerate(groups if not crowded else ()):
        field.give_back(results[i][0])
        results[i] = _group(group, field)
    return [one for put, _ in results for one in put], [one for _, lost in results for one in lost]


def _order(group: Sequence[Label]) -> tuple[float, ...]:
    """Large groups first, then tall labels, then from the top."""
    return -len(group), -round(group[0].height), -group[0].mark.y1, group[0].mark.x0, group[0].key


def first_free(options: Iterable[tuple[float, Box]], field: Field) -> Box | None:
    """The cheapest free box among (price, box): for labels that sit on a line rather than at a point."""
    best: tuple[float, Box] | None = None
    for price, box in options:
        if best is not None and price >= best[0]:
            continue
        if field.free(box):
            total = price + field.clutter(box, None)
            best = (total, box) if best is None or total < best[0] else best
    return best[1] if best else None


def _clusters(labels: Sequence[Label]) -> list[list[Label]]:
    """Labels whose natural places (right of the marker) collide, joined; each group top first."""
    home = list(range(len(labels)))

    def root(i: int) -> int:
        while home[i] != i:
            i = home[i]
        return i

    natural = [_beside(label, 12.0, label.mark.middle[1], right=True) for label in labels]
    for i, a in enumerate(labels):
        for j, b in enumerate(labels[:i]):
            close = abs(a.mark.middle[0] - b.mark.middle[0]) < 70
            away, up = (abs(one - other) for one, other in zip(a.mark.middle, b.mark.middle, strict=True))
            stacked = away < STACK and up < 4 * max(a.height, b.height)
            if stacked or (close and natural[i].grown(GAP / 2).hits(natural[j].grown(GAP / 2))):
                home[root(i)] = root(j)
    groups: dict[int, list[Label]] = {}
    for i, label in enumerate(labels):
        groups.setdefault(root(i), []).append(label)
    return [sorted(g, key=lambda one: (-one.mark.middle[1], one.mark.x0, one.key)) for g in groups.values()]


def _group(group: Sequence[Label], field: Field) -> tuple[list[Placed], list[Label]]:
    """The group at its cheapest free places; split in halves when it has none, down to single labels."""
    best: tuple[float, list[Placed]] | None = None
    options = _columns(group, field) if len(group) > 1 else _around(group[0])
    for price, far, make in sorted(options, key=lambda option: option[0]):
        if price >= (best[0] if best is not None else math.inf):
            break
        boxes = make()
        if all(field.free(box) for box in boxes):
            placed = [_led(label, box, far) for label, box in zip(group, boxes, strict=True)]
            total = price + _clutter(group, placed, field, math.inf if best is None else best[0] - price)
            best = (total, placed) if best is None or total < best[0] else best
    if best is not None and (len(group) == 1 or best[0] < 400.0 * len(group)):
        field.take(best[1])
        return best[1], []
    if len(group) == 1:
        return [], list(group)
    half = len(group) // 2
    upper, lost = _group(group[:half], field)
    lower, more = _group(group[half:], field)
    return upper + lower, lost + more


def _clutter(group: Sequence[Label], placed: Sequence[Placed], field: Field, enough: float) -> float:
    """The price of all labels of a group; counting stops at `enough`."""
    total = 0.0
    for label, one in zip(group, placed, strict=True):
        total += field.clutter(one.box, one.leader, label.mark)
        if total >= enough:
            return math.inf
    return total


def _columns(group: Sequence[Label], field: Field) -> Iterator[_Option]:
    """The whole group as a column right or left of its markers, at several distances and heights."""
    sizes = [label.height + GAP + 1 for label in group]
    step = max(sizes)
    low, high = field.bounds.y0, field.bounds.y1
    if sum(sizes) > high - low:
        return
    right_edge, left_edge = max(one.mark.x1 for one in group) + 6, min(one.mark.x0 for one in group) - 6
    for shift in (sign * s for s in _SHIFTS for sign in ((1, -1) if s else (1,))):
        heights = spread([one.mark.middle[1] + shift * step for one in group], sizes, low, high)
        for offset in _OFFSETS[1:]:
            for x, right in ((right_edge + offset, True), (left_edge - offset, False)):
                effort = sum(map(_effort, group, repeat(x), heights)) / len(group)
                price = (effort + (0 if right else 25)) * len(group) ** 0.5
                yield price, offset, partial(_stack, group, x, heights, right=right)


def _stack(group: Sequence[Label], x: float, heights: Sequence[float], *, right: bool) -> list[Box]:
    return [_at(one, x, y, right=right) for one, y in zip(group, heights, strict=True)]


def _around(label: Label) -> Iterator[_Option]:
    """One label at many places around its marker, near ones cheap, right and below preferred."""
    x, y = label.mark.middle
    w, h = label.width, label.height
    for offset in _OFFSETS:
        gap = offset + 8
        for right in (True, False):
            for shift in (sign * s for s in _SHIFTS for sign in ((-1, 1) if s else (1,))):
                box = _beside(label, gap, y + shift * h, right=right)
                yield _priced(label, box, 0 if right else 14)
        for up in (False, True):
            edge = label.mark.y1 + gap + h / 2 if up else label.mark.y0 - gap - h / 2
            for part in (0.0, 0.15, -0.15, 0.3, -0.3, 0.5, -0.5):
                yield _priced(label, Box.around(x + part * w, edge, w, h), 12 if up else 6)


def _priced(label: Label, box: Box, extra: float) -> _Option:
    y, mark = label.mark.middle[1], label.mark
    far = math.hypot(max(box.x0 - mark.x1, mark.x0 - box.x1, 0.0), max(box.y0 - mark.y1, mark.y0 - box.y1, 0.0))
    if far > REACH:
        return math.inf, far, list
    return far + abs(box.middle[1] - y) * 0.15 + extra, far, partial(list, (box,))


def _led(label: Label, box: Box, distance: float) -> Placed:
    leader = _leader(label.mark, box)
    return Placed(label.key, box, leader if distance > 8 or _length(leader) > 22 else None)


def _leader(mark: Box, box: Box) -> Segment:
    """From the marker to the nearest side of the box: a side's middle when beside it, else straight up or down."""
    x, y = mark.middle
    if box.x0 >= mark.x1 or box.x1 <= mark.x0:
        end = (box.x0 - 2 if box.x0 >= mark.x1 else box.x1 + 2, box.middle[1])
    else:
        end = (min(max(x, box.x0 + 4), box.x1 - 4), box.y1 + 1 if box.y1 <= y else box.y0 - 1)
    dx, dy = end[0] - x, end[1] - y
    part = min((mark.x1 - mark.x0) / 2 / (abs(dx) or 1e-9), (mark.y1 - mark.y0) / 2 / (abs(dy) or 1e-9), 1.0)
    return x + dx * part, y + dy * part, *end


def _length(line: Segment | None) -> float:
    return math.hypot(line[2] - line[0], line[3] - line[1]) if line else 0.0


def _effort(label: Label, x: float, y: float) -> float:
    """The length of a leader to (x, y), and more when it is steep."""
    dx, dy = x - label.mark.middle[0], y - label.mark.middle[1]
    return math.hypot(dx, dy) + max(0.0, abs(dy) - abs(dx))


def _beside(label: Label, gap: float, y: float, *, right: bool) -> Box:
    return _at(label, label.mark.x1 + gap if right else label.mark.x0 - gap, y, right=right)


def _at(label: Label, x: float, y: float, *, right: bool) -> Box:
    x0 = x if right else x - label.width
    return Box(x0, y - label.height / 2, x0 + label.width, y + label.height / 2)
