"""An exporter of a configuration: its targets, each with the judge of its model and machine."""

from __future__ import annotations

from typing import Any

from rooflens.api.live import Judge
from rooflens.api.live import target as judged
from rooflens.errors import RooflensError
from rooflens.live.config import Export, Target
from rooflens.live.exporter import Exporter, Judged, checked

OPTIONS = ("weights", "kv", "tp", "ep", "dp")


def exporter(export: Export) -> Exporter:
    """The exporter, not yet started. Raises RooflensError naming the target for a model, machine or token that is none.

    Targets of the same model, machine and options share a judge.
    """
    checked(export)
    judges: dict[Any, Judge] = {}

    def of(one: Target) -> Judged:
        options = {name: value for name in OPTIONS if (value := getattr(one, name)) is not None}
        key = (one.model, one.on, *sorted(options.items()))
        if key not in judges:
            try:
                judges[key] = Judge(one.model, one.on, **options)
            except RooflensError as why:
                raise RooflensError(f"target {one.label}: {why}") from None
        judge = judges[key]
        return lambda seen: judged(seen, judge)

    return Exporter(export, of)
