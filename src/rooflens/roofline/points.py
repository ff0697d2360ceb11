"""A placed point: one operator's cost set against a machine's ceilings."""

from __future__ import annotations

from rooflens.records import record

FINDING_RATIO = 1.0005  # what `percent` still shows as 100 % is not a finding


@record
class Point:
    """One operator on the roofline.

    flops_per_s is achieved when a clock said so (`measured`), else attainable. share_of_peak is of the compute
    roof of `dtype`, dense. intensity is absent when no bytes move. launches: how many kernels it is.
    """

    name: str
    dtype: str
    flops: float
    bytes: float
    time_s: float
    flops_per_s: float
    attainable_flops_per_s: float
    share_of_peak: float
    bound: str
    regime: str
    measured: bool = False
    intensity_flops_per_byte: float | None = None
    note: str | None = None
    launches: float = 1.0

    @property
    def share_of_attainable(self) -> float:
        """How much of what the roof allows at this intensity was reached; 0 when it allows nothing."""
        return self.flops_per_s / self.attainable_flops_per_s if self.attainable_flops_per_s > 0 else 0.0
