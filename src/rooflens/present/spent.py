"""Where the time of a profiled run went, as a picture: kernels under the roofs, and the whole run as one bar.

draw(account, machine) -> a matplotlib Figure. The area of a kernel's marker is its share of the kernels' time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rooflens.accounting.record import Account, Attribution, Judged
from rooflens.present import strip
from rooflens.present.canvas import Canvas, line_height
from rooflens.present.key import NOTE_POINTS, list_height
from rooflens.present.layout import arrange
from rooflens.present.paint import paint
from rooflens.present.plan import MARGIN, Plan
from rooflens.present.roofs import main_slopes
from rooflens.present.scene import Scene, Spot, compose, listed, ranges
from rooflens.present.sized import LEAST_SHARE
from rooflens.present.symbols import plain
from rooflens.present.words import known, say, share
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.points import Point, is_finding
from rooflens.units import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELLED, ALWAYS = 10, 3  # labels at most; so many even where they are under LITTLE of the time
INLINE = 4  # more labels than these are numbers, and stand in a list
LITTLE = 0.01
NAME, FILE = 34, 48
DEEP, FAR = 1e-5, 1e4  # drawn: down to this share of the fastest roof, and this many times around the ridges


@record
class Dot:
    """All calls of the kernels of one name and dtype. flops, bytes: None where they, or their roof, are not known."""

    name: str
    operator: str | None
    dtype: str
    bound: str
    time_s: float
    share_of_time: float
    floor_s: float | None
    flops: float | None
    bytes: float | None

    @property
    def drawable(self) -> bool:
        """Whether it has a place under a roof on a log plot."""
        return bool(self.flops and self.bytes and self.floor_s and self.time_s)

    @property
    def share_of_roof(self) -> float:
        """Floor over measured time, at the clocks that it ran at."""
        return (self.floor_s or math.nan) / self.time_s


def draw(account: Account, machine: Machine, lang: str = "en") -> Figure:
    """The roofline of `machine` with a point a kernel, and below it the whole run attributed.

    Raises RooflensError where the machine has no roof and no slope.
    """
    canvas = Canvas()
    attribution = account.attribution_s
    bar = strip.lay(attribution.parts, _heading(account, lang), canvas, MARGIN, lang)
    scene = replace(_scene(account, machine, lang), strip=bar.height)
    plan = arrange(scene, canvas)
    paint(plan, canvas)
    strip.paint(bar, canvas, MARGIN, _bottom(plan, canvas))
    canvas.figure.set_label(scene.title)
    return canvas.figure


def dots(kernels: Sequence[Judged]) -> list[Dot]:
    """The kernels by name and dtype, what takes most time first; those without a place on the plot stay apart."""
    groups: dict[tuple[str, str, bool], list[Judged]] = {}
    for kernel in kernels:
        known_work = None not in (kernel.flops, kernel.bytes, kernel.floor_s)
        groups.setdefault((kernel.name, kernel.dtype or "?", known_work), []).append(kernel)
    found = [_dot(group, dtype, known_work=known) for (_, dtype, known), group in groups.items()]
    return sorted(found, key=lambda dot: -dot.time_s)


def short(dot: Dot) -> str:
    """A kernel's name without what C++ puts around it, with its operator where that says more than its templates."""
    whole = plain(dot.name)
    named = whole.partition("(")[0].strip() or whole  # without its arguments
    operator = plain(dot.operator or "")[: NAME // 2]
    head = named.partition("<")[0]
    if operator and head != named and operator not in named:
        return f"{_cut(head, NAME - len(operator) - 3)} ({operator})"
    return _cut(named, NAME)


def _dot(group: Sequence[Judged], dtype: str, *, known_work: bool) -> Dot:
    main = max(group, key=lambda kernel: kernel.spent_s)

    def total(name: str) -> float | None:
        return math.fsum(getattr(kernel, name) for kernel in group) if known_work else None

    return Dot(
        main.name, main.operator, dtype, (main.roof or "").partition("/")[0],
        math.fsum(kernel.spent_s for kernel in group), math.fsum(kernel.share_of_time or 0.0 for kernel in group),
        total("floor_s"), total("flops"), total("bytes"),
    )  # fmt: skip


def _cut(text: str, most: int) -> str:
    """Both ends of a long name: what tells kernels apart stands at its end as often as at its beginning."""
    tail = most // 3
    return text if len(text) <= most else f"{text[: most - tail - 1]}…{text[-tail:]}"


def _scene(account: Account, machine: Machine, lang: str) -> Scene:
    """The roofs of the dtypes that the kernels use, with the kernels; without launch caps and links."""
    roofs = replace(
        machine, ceilings=tuple(c for c in machine.ceilings if c.kind in ("compute", "memory") and c.value > 0)
    )
    every = dots(account.kernels)
    drawn = [dot for dot in every if dot.drawable]
    used = {dot.dtype for dot in drawn} & {c.dtype for c in roofs.find("compute")}
    scene = compose(roofs, title=_title(account, lang), dtypes=sorted(filter(None, used)) or None, lang=lang)
    near = [dot for dot in drawn if _near(dot, scene)]
    spots = tuple(_spot(dot, i, lang) for i, dot in enumerate(near))
    intensities, rates = ranges(scene.roofs, scene.slopes, spots)
    numbered = sum(spot.named for spot in spots) > INLINE
    return replace(
        scene, numbered=numbered, spots=spots, intensities=intensities, rates=rates,
        subtitle=_subtitle(account, len(every), lang), notes=(*_notes(account, every, near, lang), *scene.notes),
    )  # fmt: skip


def _near(dot: Dot, scene: Scene) -> bool:
    """Whether it is drawn: it takes much of the time, or lies where it does not make everything else small."""
    if dot.share_of_time >= LITTLE:
        return True
    intensity, rate = _place(dot)
    ridges = [roof.ridge for roof in scene.roofs if roof.ridge]
    if ridges and not min(ridges) / FAR < intensity < max(ridges) * FAR:
        return False
    tops = [roof.value for roof in scene.roofs] or [slope.value * intensity for slope in main_slopes(scene.slopes)]
    return rate > DEEP * max(tops, default=0.0)


def _place(dot: Dot) -> tuple[float, float]:
    flops, moved = dot.flops or math.nan, dot.bytes or math.nan
    return flops / moved, flops / dot.time_s


def _spot(dot: Dot, rank: int, lang: str) -> Spot:
    intensity, rate = _place(dot)
    floor_s, flops = dot.floor_s or math.nan, dot.flops or math.nan
    above = is_finding(dot.share_of_roof)
    values = {"name": short(dot), "time": share(dot.share_of_time), "roof": share(dot.share_of_roof)}
    point = Point(
        dot.name, dot.dtype, flops, dot.bytes or math.nan, dot.time_s, rate, flops / floor_s, math.nan,
        dot.bound, dot.bound, measured=True, intensity_flops_per_byte=intensity,
    )  # fmt: skip
    return Spot(
        point, 0, intensity, rate, say("spent.label", lang, **values), above,
        share=dot.share_of_time, named=_named(dot, rank),
    )  # fmt: skip


def _named(dot: Dot, rank: int) -> bool:
    return rank < ALWAYS or (rank < LABELLED and dot.share_of_time >= LITTLE)


def _title(account: Account, lang: str) -> str:
    time = show(account.attribution_s.whole_s, "s", 3)
    return say(
        "spent.title",
        lang,
        time=time,
        format=known(f"spent.format.{account.format}", account.format, lang),
        machine=account.machine,
    )


def _subtitle(account: Account, count: int, lang: str) -> str:
    where = _cut(re.split(r"[/\\]", account.where)[-1], FILE)
    said = [say("spent.kernels", lang, where=where, count=count, time=show(account.time_s, "s", 3))]
    if len(account.devices) > 1:
        said.append(say("spent.devices", lang, count=len(account.devices)))
    if account.mfu is not None:
        said.append(say("spent.mfu", lang, share=share(account.mfu)))
    if account.mbu is not None:
        said.append(say("spent.mbu", lang, share=share(account.mbu)))
    if account.bound is not None:
        said.append(say("kernels.bound", lang, bound=known(f"kernels.bound.{account.bound}", account.bound, lang)))
    return " · ".join(said)


def _heading(account: Account, lang: str) -> str:
    found = account.attribution_s
    if not found.whole_s:
        return say("spent.empty", lang)
    return say(
        "spent.of" if found.floor or not found.unknown else "spent.no_floor", lang,
        what=say("spent.run" if account.devices else "spent.alone", lang), floor=show(found.floor, "s", 3),
        time=show(found.whole_s, "s", 3), share=share(found.floor / found.whole_s),
    )  # fmt: skip


def _notes(account: Account, every: Sequence[Dot], near: Sequence[Dot], lang: str) -> Iterator[str]:
    """What the figures at the points mean, and what has no point or no label."""

    def told(key: str, some: Sequence[Dot]) -> Iterator[str]:
        if some:
            yield say(key, lang, count=len(some), share=share(math.fsum(dot.share_of_time for dot in some)))

    unknown = [dot for dot in every if dot.flops is None]
    idle = [dot for dot in every if dot.flops is not None and not dot.drawable]
    if near:
        yield say("spent.shares", lang)
    if any(dot.share_of_time < LEAST_SHARE for dot in near):
        yield say("spent.dots", lang, share=share(LEAST_SHARE))
    yield from told("spent.rest", [dot for i, dot in enumerate(near) if not _named(dot, i)])
    yield from told("spent.no_work", unknown)
    yield from told("spent.no_flops", idle)
    yield from told("spent.far", [dot for dot in every if dot.drawable and dot not in near])
    if absent := _absent(account.attribution_s):
        yield say("spent.absent", lang, names=listed((strip.named(part, lang) for part in absent), lang))


def _absent(found: Attribution) -> list[str]:
    """The parts that the file says nothing of."""
    return [name for name in ("copies", "launch", "host_idle", "unseen_idle") if getattr(found, name) is None]


def _bottom(plan: Plan, canvas: Canvas) -> float:
    """Where the strip begins: above the notes and the numbered list."""
    notes = len(plan.notes) * line_height(canvas, NOTE_POINTS)
    return 16 + notes + list_height(plan.listing, canvas)
