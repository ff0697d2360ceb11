"""A placed point: one operator's cost set against a machine's ceilings."""

from __future__ import annotations

from rooflens.records import record

FINDING_RATIO = 1.0005  # what `percent` still shows as 100 % is rounding


def is_finding(ratio: float) -> bool:
    """Whether a rate over its roof, or a floor over a time, is above 100 %: never clipped, always said.

    It cannot be: a wrong peak, a cached buffer, sparse beside dense. Sentences, pictures and JSON all ask here.
    """
    return ratio > FINDING_RATIO


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

    @property
    def excess(self) -> float:
        """How far it is above what binds it: achieved over attainable, or its share of peak when that is larger."""
        return max(self.share_of_attainable, self.share_of_peak)
