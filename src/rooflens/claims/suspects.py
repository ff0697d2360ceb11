"""Where a figure that is not right may come from: another reading, another format, a unit, another chip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rooflens.catalogue import Accelerator, accelerators, once_said
from rooflens.claims.figures import DENSE, SPARSE, Figure, figures
from rooflens.claims.record import near
from rooflens.dtypes import DTYPES
from rooflens.records import record

CLOSE = 0.01  # a figure of another roof or chip must be met better than one of the same roof
_MOST, _RELATIVES = 3, 2
# what a right figure is multiplied with by a confusion of units, and what that is called
_UNITS = {
    "B/s": (
        (8.0, "bits read as bytes: 8 Gb/s are 1 GB/s"), (0.125, "bytes read as bits: 1 GB/s is 8 Gb/s"),
        (2**30 / 1e9, "GB/s read as GiB/s"), (1e9 / 2**30, "GiB/s printed as GB/s"),
        (2**40 / 1e12, "TB/s read as TiB/s"), (1e12 / 2**40, "TiB/s printed as TB/s"),
        (1e3, "a prefix too large"), (1e-3, "a prefix too small"),
    ),
    "B": (
        (8.0, "bits read as bytes"), (0.125, "bytes read as bits"),
        (2**30 / 1e9, "GB read as GiB"), (1e9 / 2**30, "GiB printed as GB"),
        (2**20 / 1e6, "MB read as MiB"), (1e6 / 2**20, "MiB printed as MB"),
    ),
    "FLOP/s": (
        (2.0, "twice the right figure"),
        (0.5, "half the right figure: halved once too often, or a multiply-add counted as 1"),
        (4.0, "four times the right figure: sparse and a format half as wide at once"),
        (1e3, "a prefix too large"), (1e-3, "a prefix too small"),
    ),
}  # fmt: skip


@record
class Suspect:
    """Where a figure may come from. figure: that is what it is; same_roof: it only has to be read otherwise."""

    why: str
    figure: Figure | None = None
    same_roof: bool = False


def suspects(value: float, right: Figure, chip: Accelerator, tolerance: float) -> list[Suspect]:
    """The likeliest origins of `value`, said of the roof of `right`, best first; none when nothing is near."""
    own = [
        *_read_otherwise(value, right, chip, tolerance),
        *_other_formats(value, right, chip),
        *_said_once(value, right, chip, tolerance),
    ]
    own = own or list(_units(value, right, chip))
    return own[:_MOST] or list(_other_chips(value, right, chip))[:_RELATIVES]


def _read_otherwise(value: float, right: Figure, chip: Accelerator, tolerance: float) -> Iterator[Suspect]:
    same = [f for f in figures(chip) if f.roof == right.roof and f.way != right.way]
    for figure in sorted(same, key=lambda f: abs(f.value - value)):
        if near(value, figure.value, tolerance):
            yield Suspect(f"{figure.shown} is its {figure.name}", figure, same_roof=True)


def _other_formats(value: float, right: Figure, chip: Accelerator) -> Iterator[Suspect]:
    """Figures of the same unit and of another roof: int8 sold as fp8, fp16 with its own accumulator sold as bf16."""
    other = [f for f in figures(chip) if f.unit == right.unit and f.roof != right.roof and near(value, f.value, CLOSE)]
    bits = DTYPES[right.roof].bits if right.roof in DTYPES else 0.0
    for figure in sorted(other, key=lambda f: (_odd(f), _bits(f) != bits, abs(f.value - value))):
        yield Suspect(f"{figure.shown} is its {figure.name}", figure)


def _odd(figure: Figure) -> int:
    """Plain figures first, then other accumulators, sparse ones, other clocks."""
    order = (DENSE, "one way", "")
    return 0 if figure.way in order else 2 if SPARSE in figure.way else 3 if "clock" in figure.way else 1


def _bits(figure: Figure) -> float:
    return DTYPES[figure.roof].bits if figure.roof in DTYPES else 0.0


def _said_once(value: float, right: Figure, chip: Accelerator, tolerance: float) -> Iterator[Suspect]:
    for said in once_said(chip.id):
        if said.roof == right.roof and near(value, said.value, min(tolerance, 0.025)):
            yield Suspect(said.why)


def _units(value: float, right: Figure, chip: Accelerator) -> Iterator[Suspect]:
    readings = [right, *(f for f in figures(chip) if f.roof == right.roof and f != right)]
    for figure in readings:
        for times, why in _UNITS.get(right.unit, ()):
            if near(value, times * figure.value, CLOSE / 2) and (figure is right or times not in (2.0, 0.5, 4.0)):
                yield Suspect(
                    f"{why} ({figure.name}: {figure.shown})", Figure(right.roof, why, value, right.unit, chip.id)
                )
                return


def _other_chips(value: float, right: Figure, chip: Accelerator) -> Iterator[Suspect]:
    """The same roof of a relative: A10 for A10G, L40 for L40S, MI300X for MI350X."""
    found = [f for other in _relatives(chip) for f in _same(figures(other), right) if near(value, f.value, CLOSE / 2)]
    for figure in sorted(found, key=lambda f: (f.way != right.way, _unlike(f.chip, chip.id), abs(f.value - value))):
        yield Suspect(f"{figure.shown} is the {figure.name} of {figure.chip}", figure)


def _relatives(chip: Accelerator) -> list[Accelerator]:
    return [a for a in accelerators() if a.vendor == chip.vendor and a.id != chip.id and a.status == "shipping"]


def _same(of: Iterable[Figure], right: Figure) -> list[Figure]:
    return [f for f in of if f.roof == right.roof and (f.way in (right.way, SPARSE, DENSE, ""))]


def _unlike(id: str, other: str) -> int:
    """How early two ids part: relatives share their beginning."""
    shared = next((i for i, (a, b) in enumerate(zip(id, other, strict=False)) if a != b), min(len(id), len(other)))
    return -shared
