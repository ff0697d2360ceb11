"""From a scene to a plan: measures every text, finds the frame that is left, and places the labels. Draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rooflens.present import along, key
from rooflens.present.boxes import Box, Segment
from rooflens.present.bundles import bundles
from rooflens.present.canvas import Canvas, line_height
from rooflens.present.labels import CROWDED, Field, Label, place
from rooflens.present.plan import MARGIN, TICK_POINTS, Plan, bars, label_text, lines, mark, marks
from rooflens.present.roofs import SOLID, Slope, main_slopes
from rooflens.present.scale import Scale, majors
from rooflens.present.scene import Scene, listed
from rooflens.present.words import say
from rooflens.records import record, replace

LABEL_POINTS = (12.5, 11.5, 10.5)
_HEAD, _FOOT = 122.0, 116.0
_TRIES = 4
_DEAR, _CHEAP, _ABOVE = 140.0, 30.0, 40.0


_Attempt = tuple[Plan, frozenset[int], list[str]]


@record
class _Wish:
    """What one attempt is asked for: a label size, which bundles are numbered, which line texts go to a note.

    first: bundles that choose their place before the others, since they found none after them.
    """

    points: float
    numbered: frozenset[int] = frozenset()
    unnamed: tuple[str, ...] = ()
    first: frozenset[int] = frozenset()


def arrange(scene: Scene, canvas: Canvas) -> Plan:
    """The plan with the largest label size that places every label; else the labels left over become numbers."""
    for points in LABEL_POINTS:
        wish, (plan, failed, unnamed) = _tried(scene, canvas, points)
        if not failed:
            break
        if len(failed) > CROWDED:
            wish, (plan, failed, unnamed) = _tried(scene, canvas, LABEL_POINTS[-1])
            break
    while failed - wish.numbered or set(unnamed) - set(wish.unnamed):
        wish = _Wish(wish.points, wish.numbered | failed, tuple(dict.fromkeys((*wish.unnamed, *unnamed))), wish.first)
        plan, failed, unnamed = _attempt(scene, canvas, wish)
    return _told(plan, wish, unnamed, canvas)


def _told(plan: Plan, wish: _Wish, unnamed: Sequence[str], canvas: Canvas) -> Plan:
    """The plan whose note names only what has no place in it: what had none in an earlier attempt may have one now."""
    if set(unnamed) == set(wish.unnamed):
        return plan
    kept = tuple(name for name in wish.unnamed if name in unnamed)
    notes = _notes(plan.scene, replace(wish, unnamed=kept))
    return replace(plan, notes=tuple(key.wrap_notes(notes, canvas, canvas.width - 2 * MARGIN)))


def _tried(scene: Scene, canvas: Canvas, points: float) -> tuple[_Wish, _Attempt]:
    """The best of some attempts; where a few labels found no place, these choose first in the next."""
    best, first = None, frozenset[int]()
    numbered = frozenset(range(len(bundles(scene)))) if scene.numbered else frozenset()
    for _ in range(_TRIES):
        wish = _Wish(points, numbered, first=first)
        found = _attempt(scene, canvas, wish)
        if best is None or len(found[1]) < len(best[1][1]):
            best = wish, found
        if not 0 < len(found[1]) <= 2 * CROWDED or found[1] <= first:
            break
        first |= found[1]
    assert best is not None  # noqa: S101  (at least one was tried)
    return best


def _attempt(scene: Scene, canvas: Canvas, wish: _Wish) -> _Attempt:
    plan = _framed(scene, canvas, wish)
    field = Field(plan.frame.grown(-4), marks=marks(plan), lines=list(_priced(plan)), dear=_above(plan))
    slopes, unnamed = along.slope_texts(plan, canvas, field, (2, 1))
    ridges, cornered = ([], []) if scene.ladder else along.ridge_texts(plan, canvas, field)
    labels = [
        Label(i, mark(plan, b), *canvas.size(label_text(b, plan.numbers.get(i)), wish.points))
        for i, b in enumerate(plan.bundles)
    ]
    placed, failed = place([one for one in labels if one.key not in plan.numbers], field, wish.first)
    tiny, lost = place([one for one in labels if one.key in plan.numbers], field)
    links, loose = along.slope_texts(plan, canvas, field, (0,))
    plan = replace(plan, texts=(*slopes, *ridges, *links), placed=(*placed, *tiny))
    return plan, frozenset(one.key for one in failed + lost), [*unnamed, *cornered, *loose]


def _priced(plan: Plan) -> Iterator[tuple[Segment, float]]:
    for what, line in lines(plan):
        faint = what.weight < 2 if isinstance(what, Slope) else plan.scene.ladder and what.style not in SOLID
        yield line, _CHEAP if faint else _DEAR


def _above(plan: Plan) -> Callable[[Box], float]:
    """The price of standing where nothing is attainable: labels belong under the roof of a single machine."""
    mains, roofs = main_slopes(plan.scene.slopes), plan.scene.roofs
    if plan.scene.compares or not mains or not roofs:
        return lambda box: 0.0
    slope, top = max(s.value for s in mains), max(r.value for r in roofs)

    def price(box: Box) -> float:
        x, y = box.middle
        return _ABOVE if plan.y.back(y) > min(top, slope * plan.x.back(x)) else 0.0

    return price


def _framed(scene: Scene, canvas: Canvas, wish: _Wish) -> Plan:
    """The frame that is left between title, column, list and notes."""
    width = canvas.width - 2 * MARGIN
    many = tuple(bundles(scene))
    numbers = {i: n + 1 for n, i in enumerate(sorted(wish.numbered))}
    notes = key.wrap_notes(_notes(scene, wish), canvas, width)
    entries = [f"{n}  {' '.join(many[i].text.split())}" for i, n in numbers.items()]
    listing = key.list_columns(entries, canvas, width)
    below = len(notes) * line_height(canvas, key.NOTE_POINTS) + key.list_height(listing, canvas) + scene.strip
    y_ticks = majors(scene.rates, "FLOP/s", 9)
    left = MARGIN + 66 + max((canvas.size(t.text, TICK_POINTS)[0] for t in y_ticks), default=0)
    bottom, top = _FOOT + below, canvas.height - _HEAD
    column = key.column(scene, canvas, top - bottom)
    right = canvas.width - MARGIN - column.width - 46
    x, y = Scale(scene.intensities, left, right), Scale(scene.rates, bottom, top)
    return Plan(
        scene, Box(left, bottom, right, top), x, y,
        majors(scene.intensities, "", max(3, int((right - left) // 140))), y_ticks, column, tuple(notes),
        tuple(tuple(texts) for texts in listing), many, numbers, wish.points, tuple(bars(scene, x, y)),
    )  # fmt: skip


def _notes(scene: Scene, wish: _Wish) -> list[str]:
    if not wish.unnamed:
        return list(scene.notes)
    return [*scene.notes, say("note.unnamed", scene.lang, names=listed(wish.unnamed, scene.lang, 8))]
