"""One ceiling of several equal devices, measured on all of them at the same time."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.records import record
from rooflens.samples import median, speed_ratio

BEHIND = 0.95  # a device, or a pair of them, that stays under this share of the median of its equals is named


@record
class Across:
    """values: by device, in `unit`; fewer seconds are better, and higher rates. Untrusted figures are left out."""

    id: str
    unit: str
    values: Mapping[str, float]

    def __post_init__(self) -> None:
        if not self.values or min(self.values.values()) <= 0:
            raise ValueError(f"{self.id}: every device needs a figure above 0")

    @property
    def median(self) -> float:
        """What a device of this kind gives here."""
        return float(median(self.values.values()))

    @property
    def slowest(self) -> str:
        """The device that is furthest behind."""
        return min(self.values, key=self.share)

    def share(self, device: str) -> float:
        """How fast a device is beside the median: 0.9 is a tenth slower."""
        return speed_ratio(self.values[device], self.median, self.unit)

    @property
    def behind(self) -> bool:
        """Whether the slowest is so far behind that it should be named."""
        return self.share(self.slowest) < BEHIND
