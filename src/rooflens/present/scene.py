"""What a roofline plot shows, before any pixel: roofs, slopes, spots and ranges. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from rooflens.errors import RooflensError
from rooflens.present.retold import retold
from rooflens.present.roofs import Roof, Slope, is_ladder, links, main_slopes, rates_of, roofs, slopes
from rooflens.present.words import say, share
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.points import Point, is_finding
from rooflens.units import show

MOST_MACHINES = 5
LONGEST_NAME = 66
Points = Sequence[Point] | Mapping[str, Sequence[Point]]


@record
class Spot:
    """A point that can be drawn: both coordinates above 0.

    cap: flops over the launch time of its kernels, when that is below what the roofs allow; else None.
    share: of a whole, which the area of its marker then shows; None: markers are alike. named: whether it has a label.
    """

    point: Point
    machine: int
    intensity: float
    rate: float
    label: str
    finding: bool = False
    cap: float | None = None
    share: float | None = None
    named: bool = True


@record
class Scene:
    """Everything a drawing needs. Ranges are (low, high) in FLOP/byte and FLOP/s, both above 0.

    strip: pixels that stay free above the notes, for what else the picture shows. numbered: every label is a number and
    stands in the list below.
    """

    machines: tuple[Machine, ...]
    roofs: tuple[Roof, ...]
    slopes: tuple[Slope, ...]
    spots: tuple[Spot, ...]
    intensities: tuple[float, float]
    rates: tuple[float, float]
    lang: str
    title: str
    subtitle: str
    notes: tuple[str, ...]
    launch_s: float
    strip: float = 0.0
    numbered: bool = False

    @property
    def ladder(self) -> bool:
        """Whether the roofs of the one machine are named in a table: sustained, burst and datasheet of each dtype."""
        return not self.compares and is_ladder(rates_of(self.machines[0], lang=self.lang))

    @property
    def compares(self) -> bool:
        """Whether there is more than one machine: colours then mean machines."""
        return len(self.machines) > 1


def compose(
    machines: Machine | Sequence[Machine],
    points: Points = (),
    *,
    title: str | None = None,
    dtypes: Collection[str] | None = None,
    lang: str = "en",
) -> Scene:
    """The scene of these machines and points. Raises RooflensError without a machine, with too many, with no roof.

    `dtypes` limits the compute roofs. A plain sequence of points belongs to the first machine; a mapping gives each
    machine, by name, its own.
    """
    chosen = (machines,) if isinstance(machines, Machine) else tuple(machines)
    _check(chosen)
    owned = _owned(chosen, points)
    lines = tuple(roof for i, m in enumerate(chosen) for roof in roofs(m, i, dtypes, lang))
    ramps = tuple(s for i, m in enumerate(chosen) for s in _ramps(m, i, lang, alone=len(chosen) == 1))
    if not lines and not ramps:
        names = ", ".join(m.name for m in chosen)
        raise RooflensError(
            f"{names}: no trusted compute roof or memory slope to draw; measure again on an idle machine"
        )
    spots = tuple(_spot(p, i, chosen[i], lang) for i, p in owned if _drawable(p))
    intensities, rates = ranges(lines, ramps, spots)
    launch_s = max((_launch_s(m) for m in chosen), default=0.0)
    return Scene(
        chosen, lines, ramps, spots, intensities, rates, lang,
        title or say("plot.title", lang, machine=say("plot.versus", lang).join(m.title for m in chosen)),
        _subtitle(chosen, lines, [p for _, p in owned], lang),
        (*_notes(chosen, [p for _, p in owned], lang), *_uncapped(launch_s, spots, lang)),
        launch_s,
    )  # fmt: skip


def _ramps(machine: Machine, index: int, lang: str, *, alone: bool) -> list[Slope]:
    """Main memory, caches and links; only main memory when machines are compared, or nobody could read it."""
    every = [*slopes(machine, index, lang), *links(machine, index)]
    return every if alone else main_slopes(every)


def listed(names: Iterable[str], lang: str, most: int = 4) -> str:
    """ "a, b, c and 3 more"."""
    unique = list(dict.fromkeys(names))
    text = ", ".join(unique[:most])
    return say("note.more", lang, names=text, count=len(unique) - most) if len(unique) > most else text


def _check(machines: Sequence[Machine]) -> None:
    if not machines:
        raise RooflensError("a roofline needs a machine; name one, or see: rooflens machines")
    if len(machines) > MOST_MACHINES:
        raise RooflensError(
            f"{len(machines)} machines are too many for one plot (at most {MOST_MACHINES}); draw two, or use a table"
        )


def _owned(machines: Sequence[Machine], points: Points) -> list[tuple[int, Point]]:
    if not isinstance(points, Mapping):
        return [(0, p) for p in points]
    index = {m.name: i for i, m in enumerate(machines)}
    strangers = [name for name in points if name not in index]
    if strangers:
        raise RooflensError(f"points for {', '.join(strangers)}, which is not among the machines {', '.join(index)}")
    return [(index[name], p) for name, many in points.items() for p in many]


def _drawable(point: Point) -> bool:
    x, y = point.intensity_flops_per_byte, point.flops_per_s
    return x is not None and 0 < x < math.inf and 0 < y < math.inf


def _spot(point: Point, machine: int, owner: Machine, lang: str) -> Spot:
    label = f"{_clean(point.name)}, {share(point.share_of_peak)}"
    finding = is_finding(point.excess)
    if finding and point.share_of_peak >= point.excess:
        label = say("plot.above_roof", lang, label=label)
    elif finding:
        label = say("plot.above_attainable", lang, label=label, ratio=share(point.excess))
    launch_s = _launch_s(owner) * point.launches
    cap = point.flops / launch_s if launch_s > 0 else math.inf
    shown = 0 < cap < (point.attainable_flops_per_s or math.inf)
    assert point.intensity_flops_per_byte is not None  # noqa: S101  (see _drawable)
    return Spot(
        point, machine, point.intensity_flops_per_byte, point.flops_per_s, label, finding, cap if shown else None
    )


def _launch_s(machine: Machine) -> float:
    return machine.launch_s("device") or machine.launch_s("host")


def _clean(name: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _uncapped(launch_s: float, spots: Sequence[Spot], lang: str) -> Iterator[str]:
    """The launch floor in words, where it caps no point and so is not drawn."""
    if launch_s > 0 and not any(spot.cap for spot in spots):
        yield say("note.launch_floor", lang, time=show(launch_s, "s", 2))


def ranges(
    lines: Sequence[Roof], ramps: Sequence[Slope], spots: Sequence[Spot]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What the axes span, FLOP/byte and FLOP/s, so that all of these lie well inside."""
    ridges = [r.ridge for r in lines if r.ridge]
    xs = [s.intensity for s in spots]
    low = min([x / 3 for x in xs] + [ridge / 12 for ridge in ridges], default=0.1)
    high = max([x * 3 for x in xs] + [ridge * 12 for ridge in ridges], default=1000.0)
    mains = main_slopes(ramps)
    tops = [r.value for r in lines] or [m.value * high for m in mains or ramps]
    ys = [s.rate for s in spots] + [s.cap for s in spots if s.cap]
    floor = min([y / 3 for y in ys] + [top / 8 for top in tops])
    feet = [m.value * low for m in mains if m.value * low < floor]
    floor = max(feet) / 1.5 if feet and not ys else floor
    ceiling = max([y * 3 for y in ys] + [top * 5 for top in tops])
    return (low, high), (floor, ceiling)


def _doubt(ceiling: Ceiling, lang: str) -> str:
    what = " ".join(filter(None, (ceiling.dtype or ceiling.level, ceiling.access, ceiling.mode)))
    return f"{what} ({retold(ceiling.why_not, lang)})" if ceiling.why_not else what


def _basis(machines: Sequence[Machine], lang: str) -> str:
    """What the peaks of these machines are, each said once: "dense, vendor / measured"."""
    told = dict.fromkeys(retold(m.peak_basis, lang) for m in machines)
    kinds: dict[str, list[str]] = {}
    for kind, _, origin in (text.partition(", ") for text in told):
        kinds.setdefault(kind, []).extend([origin] if origin else [])
    return "; ".join(", ".join(filter(None, (kind, " / ".join(origins)))) for kind, origins in kinds.items())


def _subtitle(machines: Sequence[Machine], lines: Sequence[Roof], points: Sequence[Point], lang: str) -> str:
    basis = _basis(machines, lang)
    if points:
        return say("plot.subtitle", lang, basis=basis, dtypes=listed((p.dtype for p in points), lang, 6))
    return say("plot.subtitle_bare", lang, basis=basis, dtypes=listed((d for r in lines for d in r.dtypes), lang, 9))


def _notes(machines: Sequence[Machine], points: Sequence[Point], lang: str) -> tuple[str, ...]:
    lines = [(m, c) for m in machines for c in m.ceilings if c.kind in {"compute", "memory", "link"}]
    tag = {m.name: f"{m.name} " if len(machines) > 1 else "" for m in machines}
    doubted = [tag[m.name] + _doubt(c, lang) for m, c in lines if not c.trusted]
    absent = [f"{tag[m.name]}{c.dtype or c.level}" for m, c in lines if c.trusted and c.value == 0]
    off = [_clean(p.name) for p in points if not _drawable(p)]
    stuck = [_clean(p.name) for p in points if p.regime == "launch" and _drawable(p)]
    sampled = any(c.best is not None for _, c in lines if c.kind == "compute")
    share = "note.share.best" if sampled else "note.share"
    notes = [say(share, lang, basis=_basis(machines, lang))] if points else []
    for key, names in (
        ("note.launch_bound", stuck), ("note.off_plot", off), ("note.no_path", absent), ("note.untrusted", doubted)
    ):  # fmt: skip
        if names:
            notes.append(say(key, lang, names=listed(names, lang, 3)))
    return tuple(notes)
