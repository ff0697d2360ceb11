"""The page that Prometheus scrapes, in its text format: every family with its definition, every target's series.

What a target tells is written when its page was read, not when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from rooflens.live.families import AGREEMENT, DEVICES, FAMILIES, Family, agreement, label
from rooflens.telemetry.watch import Target

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Written = Mapping[str, str]  # lines by the name of their family
OF_TARGETS = (*FAMILIES, *DEVICES, AGREEMENT)
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\""})


def told(target: Target, name: str) -> dict[str, str]:
    """All series of a target that is called `name`. Of series that labels do not tell apart, the first is told."""
    found: dict[str, dict[str, float]] = {}

    def tell(families: Iterable[Family], base: tuple[str | None, ...], of: object) -> None:
        for family in families:
            for own, value in family.of(of):
                found.setdefault(family.name, {}).setdefault(_series(family, (*base, *own)), value)

    for reading in target.models:
        base = (name, target.engine, reading.rates.model)
        tell(FAMILIES, base, reading)
        tell((AGREEMENT,), base, agreement(reading, target.gpus))
    for gpu in target.gpus:
        tell(DEVICES, (name, gpu.id), gpu)
    return {family: "".join(f"{of} {figure(value)}\n" for of, value in by.items()) for family, by in found.items()}


def own(family: Family, several: Iterable[tuple[tuple[str, ...], object]]) -> Iterator[str]:
    """The lines of a family about several, each behind the values of its base labels."""
    yield from head(family)
    for base, of in several:
        for more, value in family.of(of):
            yield f"{_series(family, (*base, *more))} {figure(value)}\n"


def head(family: Family) -> tuple[str, str]:
    """What it is."""
    says = family.help.replace("\\", r"\\").replace("\n", " ")
    return f"# HELP {family.name} {says}\n", f"# TYPE {family.name} {family.kind}\n"


def figure(value: float) -> str:
    """A value as Prometheus reads it."""
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


@lru_cache(16_384)
def _named(name: str, labels: tuple[str, ...], values: tuple[str | None, ...]) -> str:
    shown = ",".join(f'{one}="{_value(text)}"' for one, text in zip(labels, values, strict=True))
    return f"{name}{{{shown}}}" if shown else name


def _series(family: Family, values: tuple[str | None, ...]) -> str:
    return _named(family.name, family.labels, values)


@lru_cache(4096)
def _value(text: str | None) -> str:
    return label(text).translate(_ESCAPED)


def page(known: Sequence[Written], itself: Iterable[str]) -> str:
    """The whole page: what the exporter tells of itself, and every target that is known now."""
    lines = list(itself)
    for family in OF_TARGETS:
        lines += head(family)
        lines += [one[family.name] for one in known if family.name in one]
    return "".join(lines)
