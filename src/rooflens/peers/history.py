"""What is known from before: the median of each kind of device, and each device's own past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rooflens.peers.record import Figure, Judged, Key, Spread
from rooflens.records import field, record, replace
from rooflens.samples import median, speed_ratio
from rooflens.units import LARGEST

SCHEMA = "rooflens/fleet-baseline/1"
WIDEST = 1000.0  # of a spread, in logarithms: no two numbers of a profile are so far apart
KEPT = 8  # runs that are remembered: the median of them is what counts, so one bad run moves nothing


@record
class Usual:
    """One ceiling of one kind of device: the median of each run by its time, spread and count of the last."""

    unit: str
    medians: Mapping[str, float]
    spread: float
    count: int

    def __post_init__(self) -> None:
        if not self.medians or not all(1 / LARGEST <= value <= LARGEST for value in self.medians.values()):
            raise ValueError(f"medians must be there, each above 0 and up to {LARGEST:g}")
        if not 0 <= self.spread <= WIDEST or self.count < 1:
            raise ValueError(f"expected a spread of 0 to {WIDEST:g} and a count of at least 1")

    @property
    def median(self) -> float:
        """The median of the runs."""
        return median(self.medians.values())


@record
class Kind:
    """All ceilings of devices that share sku, driver and library."""

    key: Key
    ceilings: Mapping[str, Usual] = field(default_factory=dict)


@record
class Run:
    """One device at one time. out: it was named then, so its figures are kept and not taken for its usual ones."""

    at: str
    figures: Mapping[str, float]
    out: bool = False


@record
class Past:
    """A device's runs, latest last."""

    key: str
    runs: tuple[Run, ...] = ()


@record
class Baseline:
    """What was before. kinds: by the text of their key. devices: by NODE/DEVICE; pairs have no past of their own."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    devices: Mapping[str, Past] = field(default_factory=dict)

    def usual(self, key: str, id: str) -> Usual | None:
        """What this kind of device gave before."""
        kind = self.kinds.get(key)
        return kind.ceilings.get(id) if kind else None

    def own(self, of: str, key: str) -> dict[str, float]:
        """A device's own figures: the median of its runs that were not out; empty under another driver or library."""
        past = self.devices.get(of)
        if past is None or past.key != key:
            return {}
        good = [run.figures for run in past.runs if not run.out]
        ids = dict.fromkeys(id for figures in good for id in figures)
        return {id: median(figures[id] for figures in good if id in figures) for id in ids}


def updated(
    before: Baseline, figures: Sequence[Figure], found: Judged, keys: Mapping[str, Key], at: str, least: float
) -> Baseline:
    """The baseline with this run in it. `at` is when; a run of the same time takes the place of the one before.

    A median that has lost `least` against the baseline is not taken for usual: most of them may be bad today.
    """
    states = {one.of: one.state for one in found.standings}
    own: dict[str, dict[str, float]] = {}
    key_of = {figure.of: figure.key for figure in figures}
    for figure in figures:
        if figure.whose == "device":
            own.setdefault(figure.of, {})[figure.id] = figure.value
    devices = {
        of: _later(before.devices.get(of), key_of[of], Run(at, values, states.get(of) == "out"))
        for of, values in own.items()
    }
    kinds = dict(before.kinds)
    for spread in found.spreads:
        kind = kinds.get(spread.key, Kind(keys[spread.key]))
        after = {**kind.ceilings, spread.id: _usual(kind.ceilings.get(spread.id), spread, at, least)}
        kinds[spread.key] = replace(kind, ceilings=after)
    return Baseline(kinds, {**before.devices, **devices})


def _later(past: Past | None, key: str, run: Run) -> Past:
    """A new driver or library begins a new past."""
    runs = past.runs if past and past.key == key else ()
    return Past(key, (*(one for one in runs if one.at != run.at), run)[-KEPT:])


def _usual(before: Usual | None, spread: Spread, at: str, least: float) -> Usual:
    if before is None or before.unit != spread.unit:
        return Usual(spread.unit, {at: spread.median}, spread.spread, spread.count)
    if speed_ratio(spread.median, before.median, spread.unit) < 1 - least:
        return before
    medians = {time: value for time, value in before.medians.items() if time != at} | {at: spread.median}
    return Usual(spread.unit, dict([*medians.items()][-KEPT:]), spread.spread, spread.count)
