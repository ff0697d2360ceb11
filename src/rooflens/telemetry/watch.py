"""The answer of `watch`: targets at one moment."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.records import field, html, record
from rooflens.roofline.scraped import Gpu
from rooflens.telemetry.record import DEFINITIONS, Reading


@record
class Target:
    """One target. failed: why nothing is known of it now. gpus: of an exporter of devices."""

    url: str
    at_s: float
    engine: str | None = None
    failed: str | None = None
    models: tuple[Reading, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    notes: tuple[str, ...] = ()


@record
class Watch:
    """All targets."""

    _repr_html_ = html

    targets: tuple[Target, ...]
    conventions: Mapping[str, str] = field(default_factory=lambda: dict(DEFINITIONS))
