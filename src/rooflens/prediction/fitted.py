"""Which fitted constants speak for a kernel: those of its chip and engine, of its chip, of its architecture, of any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from rooflens.catalogue.calibrations import Residuals
from rooflens.errors import NoPath
from rooflens.prediction.kernels import Chip
from rooflens.prediction.record import Constant
from rooflens.records import fields, record
from rooflens.roofline.ceilings import Machine

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
ANY = "*"
ENGINE, CHIP, UNSEEN = "engine named", "no engine", "chip unseen"  # what is known, as the residuals are called


class KernelKind(Protocol[C_co]):
    """What was fitted of one kind of kernel."""

    @property
    def costs(self) -> Mapping[str, C_co]:
        """Constants by whom they are of."""

    @property
    def rows(self) -> Mapping[str, int]:
        """Measured rows behind each."""

    @property
    def residuals(self) -> Mapping[str, Residuals]:
        """By flavour and what is known."""


@record
class Chosen(Generic[C]):
    """Constants that speak for a kernel. known: its engine, its chip alone, or neither. engine: whose they are."""

    costs: C
    known: str
    engine: str | None
    rows: int
    residuals: Residuals

    def constants(self, date: str) -> tuple[Constant, ...]:
        """Each with what it rests on."""
        seen = self.known != UNSEEN
        origin = f"fitted on {self.rows} rows, {date}" if seen else f"prior, from {self.rows} rows of others, {date}"
        named = ((f.name.replace("_", " "), getattr(self.costs, f.name)) for f in fields(self.costs))
        return tuple(Constant(name, value, origin) for name, value in named if value is not None)


def chosen(kind: KernelKind[C], there: Machine, flavour: str, engine: str | None) -> Chosen[C] | None:
    """The constants nearest to this machine; None where no kernel of this flavour was measured anywhere."""
    for whose in (there.name, there.compute_capability, ANY):
        for who in dict.fromkeys((engine or ANY, ANY)):
            key = f"{whose} {flavour} {who}"
            if key in kind.costs:
                known = UNSEEN if whose != there.name else CHIP if who == ANY else ENGINE
                spread = kind.residuals.get(f"{flavour}, {known}") or kind.residuals[f"any, {known}"]
                return Chosen(kind.costs[key], known, engine if who == engine else None, kind.rows[key], spread)
    return None


def chip_of(there: Machine, math: str, caches: Mapping[str, float]) -> Chip:
    """The datasheet as a kernel meets it. caches: last caches that no datasheet says and measured rows show.

    Raises NoPath for a machine whose units or clock are not known.
    """
    if not there.units or not there.clock_hz:
        raise NoPath(f"the units or the clock of {there.title} are not known, so no kernel's time is estimated")
    held = caches.get(there.name) if there.cache_bytes is None else there.cache_bytes
    roof = there.compute(math).floor_value
    return Chip(roof, there.memory("read").floor_value, float(there.units), there.clock_hz, held)
