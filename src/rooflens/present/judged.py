"""Kernels and figures of benchmarks as cells of a table: the command line and the page show the same ones."""

from __future__ import annotations

from rooflens.accounting.bench_record import JudgedPoint
from rooflens.accounting.record import Judged
from rooflens.present.retold import retold
from rooflens.present.symbols import short
from rooflens.present.words import bare_intensity, say, share, word
from rooflens.units import show

POINT = ("point", "value", "ratio", "ceiling", "floor")
ABSENT = "-"
_PER_S = (("tokens_per_s", "tokens/s"), ("requests_per_s", "requests/s"))
_UNITS = (("flops_per_s", "FLOP/s"), ("bytes_per_s", "B/s"), ("_s", "s"))


def kernel_cells(kernel: Judged, lang: str) -> dict[str, str]:
    """What there is to show of a kernel, by the phrase `kernels.NAME` of its column."""
    bound = kernel.regime and word("bound", kernel.regime, lang)
    at = kernel.intensity_flops_per_byte
    return {
        "name": short(kernel.name),
        "calls": str(kernel.calls),
        "time": shown(kernel.time_s, "s"),
        "of_time": shared(kernel.share_of_time),
        "work": _origin(kernel, lang),
        "intensity": ABSENT if at is None else bare_intensity(at),
        "achieved": _achieved(kernel),
        "roof": kernel.roof or ABSENT,
        "of_roof": shared(kernel.share_of_roof),
        "regime": bound or say("frame.unknown", lang),
        "lever": retold(kernel.lever, lang) if kernel.lever else ABSENT,
    }


def point_cells(point: JudgedPoint, lang: str) -> list[str]:
    """A figure of a benchmark, in the order of POINT."""
    spread = "" if point.spread is None else f" ± {point.spread:.3g}"
    ratio = ABSENT if point.ratio is None else say(f"bench.{point.ratio_name}", lang, share=share(point.ratio))
    ceiling = ABSENT
    if point.ceiling is not None and point.ceiling_value is not None:
        value = show(point.ceiling_value, point.ceiling_unit or "")
        ceiling = f"{point.ceiling} {value}, {word('origin', point.ceiling_origin, lang)}"
    return [point.name, _value(point, lang) + spread, ratio, ceiling, shown(point.floor_s, "s")]


def shown(value: float | None, unit: str, digits: int = 4) -> str:
    """An amount, or the sign of what is not known."""
    return ABSENT if value is None else show(value, unit, digits)


def shared(ratio: float | None) -> str:
    """A share, or the sign of what is not known."""
    return ABSENT if ratio is None else share(ratio)


def _origin(kernel: Judged, lang: str) -> str:
    """Where FLOPs and bytes come from, each said where they differ."""
    words = [say(f"kernels.origin.{origin}", lang) for origin in (kernel.flops_origin, kernel.bytes_origin)]
    return words[0] if words[0] == words[1] else " / ".join(words)


def _achieved(kernel: Judged) -> str:
    """The rate that its roof is of: bytes on a slope or without FLOPs, else FLOPs."""
    by_bytes = (kernel.roof or "").startswith("memory") or not kernel.flops
    if by_bytes or kernel.flops_per_s is None:
        return shown(kernel.bytes_per_s, "B/s", 3)
    return show(kernel.flops_per_s, "FLOP/s", 3)


def _value(point: JudgedPoint, lang: str) -> str:
    if point.value is None:
        return say("frame.unknown", lang)
    for end, unit in _PER_S:
        if point.metric.endswith(end):
            return f"{point.value:.5g} {unit}"
    unit = next((unit for end, unit in _UNITS if point.metric.endswith(end)), "")
    return show(point.value, unit) if unit else f"{point.value:.5g}"
