"""interpretation.md: three paragraphs with this run's numbers, each naming the artefact and key it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rooflens.lab.across_table import across_table
from rooflens.lab.choose import to_draw
from rooflens.lab.gain_table import gain_table
from rooflens.lab.keys import ATTENTION, BANDWIDTH, PEAKS, cell_key, floor_field, memory_key, quoted, roof_key
from rooflens.lab.observe import Observation
from rooflens.lab.pairing import Other, Pair, pairing
from rooflens.lab.sections import share_of
from rooflens.measure.run import slower_than_fp32
from rooflens.present.retold import retold
from rooflens.present.words import bare_intensity, say, share, word
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.place import ridge
from rooflens.roofline.profile import AttentionPoint, Profile
from rooflens.units import percent, show

MOST_APART = 1.25  # ratios of rates and of bandwidths that agree within this factor are called the same


def interpretation(profile: Profile, seen: Sequence[Observation], other: Other, lang: str) -> tuple[str, int]:
    """The text, and how many of its three questions found their numbers."""
    pair, unanswered = pairing(seen, other, lang), say("lab.unanswered", lang)
    compared = _comparison(profile, seen, pair, other, lang) if isinstance(pair, Pair) else None
    paragraphs = [
        ("lab.products", _products(profile, seen, lang), unanswered),
        ("lab.attention", _attention(profile, seen, lang), unanswered),
        ("lab.comparison", compared, pair if isinstance(pair, str) else ""),
    ]
    parts = [f"# {say('lab.title', lang, machine=profile.device.title)}", *_warnings(profile, lang)]
    for title, text, why_not in paragraphs:
        parts += [f"## {say(title, lang)}", text or why_not]
    table = gain_table(profile, seen, lang)
    parts += [f"## {say('lab.gains', lang)}", table] if table else []
    parts += [f"## {say('lab.across', lang)}", across_table(profile, lang)] if profile.across else []
    return "\n\n".join(parts) + "\n", sum(1 for _, text, _ in paragraphs if text)


def _warnings(profile: Profile, lang: str) -> Iterator[str]:
    if profile.contention:
        yield "> " + say("lab.contended", lang, why=retold(profile.contention, lang))
    if not profile.complete:
        yield "> " + say("lab.incomplete", lang)


def _products(profile: Profile, seen: Sequence[Observation], lang: str) -> str | None:
    """Where GEMM lands under its roof and why."""
    machine = profile.machine()
    products = [(o, o.gemm) for o in to_draw(seen) if o.gemm]
    under_a_roof = [(o, g) for o, g in products if machine.find("compute", dtype=g.dtype, path=g.path)]
    if not under_a_roof:
        return None
    best, gemm = max(under_a_roof, key=lambda pair: pair[0].point.flops_per_s)
    dtype, path = gemm.dtype, gemm.path
    peak, roof = share_of(profile, path or "", dtype), machine.compute(dtype, path)
    roof_at, slope = roof_key(profile, path, dtype, f"{roof.mode}.{floor_field(roof)}"), machine.memory("read")
    values = {
        "dtype": dtype,
        "rate": show(best.point.flops_per_s, "FLOP/s"),
        "rate_key": quoted(PEAKS, f"products[{profile.gemms.index(gemm)}].time_s"),
        "shape": f"{gemm.m} x {gemm.n} x {gemm.k}",
        "intensity": bare_intensity(best.point.intensity_flops_per_byte or 0.0),
        "ridge": bare_intensity(ridge(machine, dtype, path)),
        "ridge_key": f"{quoted(PEAKS, roof_at)} / {_slope_key(profile, slope)}",
        "share": share(best.point.share_of_peak),
        "roof": show(roof.floor_value, "FLOP/s"),
        "roof_key": quoted(PEAKS, roof_at),
    }
    text = say("lab.products.text", lang, **values)
    if peak:
        share_key = quoted(PEAKS, roof_key(profile, path, dtype, "share_of_datasheet"))
        said = {
            "burst_key": quoted(PEAKS, roof_key(profile, path, dtype, "burst.value")),
            "share": percent(peak[1]),
            "peak": show(peak[0].value, "FLOP/s"),
            "origin": word("origin", peak[0].origin, lang),
        }
        text += " " + say("lab.products.peak", lang, share_key=share_key, **said)
    return " ".join([text, *(retold(slow, lang) for slow in slower_than_fp32(profile.ceilings))])


def _slope_key(profile: Profile, slope: Ceiling) -> str:
    return quoted(BANDWIDTH, memory_key(profile, slope.id, floor_field(slope)))


def _attention(profile: Profile, seen: Sequence[Observation], lang: str) -> str | None:
    """Where decode attention lands, of the cells that are drawn: with the most and with the fewest bytes to read."""
    cells = [(o, o.attention) for o in to_draw(seen) if o.attention and o.attention.tokens == 1]
    if not cells:
        return None
    mine = [(o, cell) for o, cell in cells if cell.dtype == cells[0][1].dtype]
    mine.sort(key=lambda pair: float(pair[0].cost.bytes))
    slope = profile.machine().memory("read")
    read = {"slope": show(slope.floor_value, "B/s"), "slope_key": _slope_key(profile, slope)}
    most, fewest = _numbers(*mine[-1], seen) | read, _numbers(*mine[0], seen) | read
    sentences = [
        say("lab.attention.text", lang, **most),
        say(f"lab.attention.{mine[-1][0].point.regime}", lang, **most),
    ]
    if len(mine) > 1:
        sentences += [
            say("lab.attention.short", lang, **fewest),
            say(f"lab.attention.{mine[0][0].point.regime}", lang, **fewest),
        ]
    return " ".join(sentences)


def _comparison(profile: Profile, seen: Sequence[Observation], pair: Pair, other: Other, lang: str) -> str:
    """The same operator on another machine: a ratio of rates beside the ratio of bandwidths."""
    mine, rate = pair.mine, pair.theirs_flops_per_s
    theirs, ours = other.machine.memory("read"), profile.machine().memory("read")
    ratio, bandwidths = rate / mine.point.flops_per_s, theirs.value / ours.value
    text = say(
        f"lab.comparison.{'achieved' if other.profile else 'attainable'}", lang, **_numbers(mine, pair.cell, seen),
        other=other.machine.title, theirs=show(rate, "FLOP/s"), ratio=f"{ratio:.3g}", bandwidths=f"{bandwidths:.3g}",
        their_bandwidth=show(theirs.value, "B/s"), origin=word("origin", theirs.origin, lang),
        my_bandwidth_key=quoted(BANDWIDTH, memory_key(profile, ours.id)),
    )  # fmt: skip
    gap = ratio / bandwidths
    if 1 / MOST_APART <= gap <= MOST_APART:
        return f"{text} {say('lab.comparison.same', lang, gap=f'{gap:.3g}')}"
    text += " " + say("lab.comparison.off", lang, gap=f"{gap:.3g}")
    if pair.theirs is None:
        return text
    who, short = (other.machine.title, pair.theirs) if gap < 1 else (profile.device.title, mine)
    return f"{text} {_overhead(who, short, lang)}"


def _overhead(who: str, short: Observation, lang: str) -> str:
    """What keeps the slower of two from its own slope, in seconds."""
    point = short.point
    floor_s = point.time_s * point.share_of_attainable
    values = {"who": who, "time": show(point.time_s, "s"), "floor": show(floor_s, "s")}
    text = say("lab.comparison.overhead", lang, **values, over=show(point.time_s - floor_s, "s", 3))
    started_s = short.attention.overhead_s if short.attention else None
    return text if started_s is None else f"{text} {say('lab.comparison.started', lang, time=show(started_s, 's', 3))}"


def _numbers(seen: Observation, cell: AttentionPoint, every: Sequence[Observation]) -> dict[str, str]:
    """The numbers of one cell, each with its key."""

    def key(field: str) -> str:
        return quoted(ATTENTION, cell_key(every, seen, field))

    point = seen.point
    reached = point.share_of_attainable
    intensity = point.intensity_flops_per_byte or 0.0
    return {
        "dtype": point.dtype, "S": str(cell.context), "which": _which(cell, every),
        "flops": show(point.flops, "FLOP"), "flops_key": key("flops"),
        "bytes": show(point.bytes, "B"), "bytes_key": key("bytes"),
        "intensity": f"{intensity:.2f}", "intensity_key": key("intensity_flops_per_byte"),
        "rate": show(point.flops_per_s, "FLOP/s"), "rate_key": key("achieved_flops_per_s"),
        "bandwidth": show(seen.achieved_bytes_per_s, "B/s"), "bandwidth_key": key("achieved_bytes_per_s"),
        "reached": percent(reached), "reached_key": key("share_of_attainable"),
        "share": share(point.share_of_peak), "share_key": key("share_of_peak"),
        "time": show(point.time_s, "s"), "time_key": key("time_s"),
        "overhead": show(cell.overhead_s or 0.0, "s"), "overhead_key": key("overhead_s"),
    }  # fmt: skip


def _which(cell: AttentionPoint, every: Sequence[Observation]) -> str:
    """What tells a cell from others of its dtype and context, in brackets; empty where there are none."""
    alike = (o.attention for o in every if o.attention and o.attention.tokens == cell.tokens)
    if sum((other.dtype, other.context) == (cell.dtype, cell.context) for other in alike) < 2:
        return ""
    cache = f"{cell.kv_dtype} cache" if cell.kv_dtype else ""
    return f" ({', '.join(filter(None, (cell.model, f'batch {cell.batch}', cache, cell.implementation)))})"
