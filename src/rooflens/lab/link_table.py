"""The tables of links on the screen of `measure`: collectives by operation, copies as a matrix of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rooflens.lab.linked import promised_of
from rooflens.records import record
from rooflens.roofline.collective import CopyPoint
from rooflens.roofline.exchanges import Fit, fits
from rooflens.roofline.knee import Line, line
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show, show_binary


@record
class Tables:
    """Rows of text. largest: what is shown of the rates. promised: by the links, absent where not known."""

    collectives: tuple[tuple[str, ...], ...]
    copies: tuple[tuple[str, ...], ...]
    largest: str
    promised: str | None = None


def tables(profile: Profile) -> Tables:
    """What was found of links, each rate with its share of what they promise ("" where that is not known)."""
    promised = promised_of(profile)
    sizes = [*(p.bytes for p in profile.copies), *(p.bytes for p in profile.collectives)]
    return Tables(
        tuple(_collective(one, promised) for one in fits(profile.collectives)),
        tuple(_copy(pair, points, promised) for pair, points in by_pair(profile.copies).items()),
        show_binary(max(sizes, default=0.0)),
        show(promised, "B/s") if promised else None,
    )


def by_pair(points: Sequence[CopyPoint]) -> Mapping[str, list[CopyPoint]]:
    """The trusted copies of each pair, smallest first."""
    found: dict[str, list[CopyPoint]] = {}
    for point in sorted(points, key=lambda p: p.bytes):
        if point.trusted:
            found.setdefault(point.pair, []).append(point)
    return found


def in_a_copy(points: Sequence[CopyPoint]) -> Line:
    """Latency and rate of one pair's copies."""
    return line([(p.bytes, p.time_s) for p in points])


def _collective(one: Fit, promised: float | None) -> tuple[str, ...]:
    return (
        one.operation, str(one.devices), one.launcher, show(one.latency_s, "s", 3), _size(one.knee_bytes),
        show(one.bus_bytes_per_s, "B/s"), _share(one.bus_bytes_per_s, promised),
        f"{percent(one.typical_error, 2)}, {percent(one.worst_error, 2)}",
    )  # fmt: skip


def _copy(pair: str, points: Sequence[CopyPoint], promised: float | None) -> tuple[str, ...]:
    found, rate = in_a_copy(points), points[-1].bytes_per_s
    return (pair, points[0].level, show(found.latency_s, "s", 3), _size(found.knee_bytes), show(rate, "B/s"),
            _share(rate, promised))  # fmt: skip


def _size(bytes: float) -> str:
    return show_binary(bytes, 3)


def _share(rate: float, promised: float | None) -> str:
    return percent(rate / promised) if promised else ""
