"""A machine's ceilings as lines: near-equal ones joined, each with its label, its style and its ridge. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rooflens.present.words import known, say
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.units import show

NEAR = 0.03  # closer than this two lines are one pixel row apart: they are drawn and named as one
STYLES = ("sustained", "measured", "burst", "spec", "derived", "assumed")
SOLID = ("sustained", "measured")


@record
class Roof:
    """A horizontal line in FLOP/s, for one dtype or several near-equal ones. ridge: FLOP/byte, None without a slope.

    marked: whether its ridge is shown; of a ladder's three lines a dtype only the settled one's is.
    """

    machine: int
    value: float
    low: float
    dtypes: tuple[str, ...]
    style: str
    label: str
    ridge: float | None
    marked: bool = True


@record
class Slope:
    """A line of byte/s: main memory (weight 2), a cache (1) or a link (0)."""

    machine: int
    value: float
    level: str
    style: str
    label: str
    weight: int


@record
class Line:
    """One rate of one dtype (its path named where there are several) in one style."""

    name: str
    dtype: str
    style: str
    value: float


def style(ceiling: Ceiling) -> str:
    """Which of STYLES a ceiling is drawn in: where it comes from and, when measured, for how long it holds."""
    if ceiling.origin != "measured":
        return ceiling.origin
    return ceiling.mode or "measured"


def roofs(machine: Machine, index: int = 0, dtypes: Collection[str] | None = None, lang: str = "en") -> list[Roof]:
    """The trusted compute roofs, fastest first; equal paths and near-equal dtypes joined."""
    lines = rates_of(machine, dtypes, lang)
    several = len({line.style for line in lines}) > 1
    ramps = slopes(machine, index, lang)
    found = [_roof(group, index, ramps, lang, several=several) for group in _grouped(lines)]
    if not is_ladder(lines):
        return found
    return [replace(roof, marked=roof.style in SOLID) for roof in found]


def rates_of(machine: Machine, dtypes: Collection[str] | None = None, lang: str = "en") -> list[Line]:
    """The trusted compute rates, fastest first: the best of each dtype, path and style."""
    return _best([c for c in machine.find("compute") if c.value > 0 and (dtypes is None or c.dtype in dtypes)], lang)


def is_ladder(lines: Iterable[Line]) -> bool:
    """Whether datasheet rates stand beside measured ones: too many lines for a name each, so a table names them."""
    styles = {line.style for line in lines}
    return "spec" in styles and bool(styles & {*SOLID, "burst"})


def slopes(machine: Machine, index: int = 0, lang: str = "en") -> list[Slope]:
    """The trusted read slopes: one a level and style (another access where no read is known), main memory first."""
    found = [c for c in machine.find("memory") if c.value > 0]
    levels = sorted({c.level or "main" for c in found}, key=lambda level: (level != "main", level))
    return [slope for level in levels for slope in _level(level, found, index, lang)]


def links(machine: Machine, index: int = 0) -> list[Slope]:
    """The trusted link slopes: FLOP per byte on the link, one direction."""
    best: dict[str, Ceiling] = {}
    for c in machine.find("link"):
        if c.value > 0 and not c.fitted:
            best.setdefault(c.level or "link", c)
    return [
        Slope(index, c.value, level, style(c), f"{level} {show(c.value, 'B/s', 3)}", 0) for level, c in best.items()
    ]


def main_slopes(ramps: Iterable[Slope]) -> list[Slope]:
    """Those of main memory."""
    return [s for s in ramps if s.weight == 2]


def wider(lines: Sequence[Roof], tolerance: float) -> list[list[Roof]]:
    """Roofs of one machine whose values lie within `tolerance` of the fastest in the group, for shared labels."""
    groups: list[list[Roof]] = []
    for roof in sorted(lines, key=lambda r: (r.machine, -r.value)):
        if groups and groups[-1][0].machine == roof.machine and roof.low >= groups[-1][0].value * (1 - tolerance):
            groups[-1].append(roof)
        else:
            groups.append([roof])
    return groups


def rates(low: float, high: float) -> str:
    """ "312 TFLOP/s", or "770-791 TFLOP/s" when the two read differently."""
    top, bottom = show(high, "FLOP/s", 3), show(low, "FLOP/s", 3)
    if top == bottom:
        return top
    number, _, unit = bottom.partition(" ")
    return f"{number}–{top}" if top.endswith(f" {unit}") else f"{bottom} – {top}"


def _best(found: Sequence[Ceiling], lang: str) -> list[Line]:
    """One line a dtype, path and style; the path is named only where a dtype has more than one."""
    paths: dict[str, set[str | None]] = {}
    for c in found:
        paths.setdefault(c.dtype or "?", set()).add(c.path)
    best: dict[tuple[str, str], Line] = {}
    for c in found:
        dtype = c.dtype or "?"
        path = known(f"path.{c.path}", c.path, lang) if c.path and len(paths[dtype]) > 1 else ""
        name = f"{dtype} {path}".strip()
        best.setdefault((name, style(c)), Line(name, dtype, style(c), c.value))
    return sorted(best.values(), key=lambda line: (-line.value, STYLES.index(line.style), line.name))


def _grouped(lines: Sequence[Line]) -> list[list[Line]]:
    groups: list[list[Line]] = []
    for line in lines:
        home = next((g for g in groups if _joins(line, g)), None)
        if home is None:
            groups.append([line])
        else:
            home.append(line)
    return groups


def _joins(line: Line, group: Sequence[Line]) -> bool:
    near = line.value >= group[0].value * (1 - NEAR)
    same_style = all(other.style == line.style for other in group)
    same_thing = all(other.name == line.name for other in group)
    return near and (same_style or same_thing)


def _roof(group: Sequence[Line], index: int, ramps: Sequence[Slope], lang: str, *, several: bool) -> Roof:
    names = _names(group)
    styles = sorted({line.style for line in group}, key=STYLES.index)
    drawn = styles[0]
    if several or drawn in {"derived", "assumed"}:
        names += " " + ", ".join(say(f"style.{s}", lang) for s in styles)
    label = say("plot.roof", lang, names=names, rate=rates(group[-1].value, group[0].value))
    value, low = max(line.value for line in group if line.style == drawn), group[-1].value
    dtypes = tuple(dict.fromkeys(line.dtype for line in group))
    return Roof(index, value, low, dtypes, drawn, label, _ridge(value, drawn, ramps))


def _names(group: Sequence[Line]) -> str:
    """ "fp64 tensor, fp32": names with a path first and the path said once, so that it is read with no other name."""
    paths: dict[str, dict[str, None]] = {}
    for line in group:
        dtype, _, path = line.name.partition(" ")
        paths.setdefault(path, {})[dtype] = None
    return ", ".join(f"{', '.join(paths[path])} {path}".strip() for path in sorted(paths, key=lambda p: p == ""))


def _ridge(value: float, drawn: str, ramps: Sequence[Slope]) -> float | None:
    mains = main_slopes(ramps)
    same = [s for s in mains if s.style == drawn]
    best = same or sorted(mains, key=lambda s: STYLES.index(s.style))
    return value / best[0].value if best else None


def _level(level: str, found: Sequence[Ceiling], index: int, lang: str) -> list[Slope]:
    here = [c for c in found if (c.level or "main") == level]
    fitting = [c for c in here if c.access in {"read", None}] or here[:1]
    best: dict[str, Ceiling] = {}
    for c in fitting:
        best.setdefault(style(c), c)
    kept: list[Ceiling] = []
    for c in sorted(best.values(), key=lambda c: STYLES.index(style(c))):
        if not any(abs(c.value / other.value - 1) < NEAR for other in kept):
            kept.append(c)
    return [_slope(c, level, index, lang, several=len(kept) > 1) for c in kept]


def _slope(c: Ceiling, level: str, index: int, lang: str, *, several: bool) -> Slope:
    where = known(f"level.{level}", level, lang)
    told = c.access and (level == "main" or c.access != "read")
    access = known(f"access.{c.access}", c.access or "", lang) if told else ""
    if several or style(c) in {"derived", "assumed"}:
        access = f"{access} {say(f'style.{style(c)}', lang)}"
    text = say("plot.slope", lang, level=where, access=access, rate=show(c.value, "B/s", 3))
    return Slope(index, c.value, level, style(c), " ".join(text.split()), 2 if level == "main" else 1)
