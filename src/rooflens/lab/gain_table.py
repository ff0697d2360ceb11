"""The table of speed-ups in interpretation.md: every row with its two numbers, its error and, where it is off, why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rooflens.lab.gains import WRONG, End, Gain, Reason, bytes_a_launch, gains, reason
from rooflens.lab.keys import ATTENTION, BANDWIDTH, PEAKS, cell_key, launch_key, quoted
from rooflens.lab.observe import Observation
from rooflens.present.words import say
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show


def gain_table(profile: Profile, seen: Sequence[Observation], lang: str) -> str:
    """The paragraph with its table; empty where a run has no two cells to set against each other."""
    rows = gains(profile, seen)
    if not rows:
        return ""
    head = say("gain.head", lang)
    lines = [head, "|" + " --- |" * (head.count("|") - 1), *(_row(gain, profile, seen, lang) for gain in rows)]
    return "\n\n".join((_how(profile, lang), "\n".join(lines)))


def told(profile: Profile, seen: Sequence[Observation], lang: str = "en") -> list[dict[str, Any]]:
    """The same rows as data; `why` is absent where a prediction holds. lang: of why_text."""
    return [_data(gain, profile, seen, lang) for gain in gains(profile, seen)]


def _data(gain: Gain, profile: Profile, seen: Sequence[Observation], lang: str) -> dict[str, Any]:
    why = reason(gain, seen, profile.device)
    return {
        "change": gain.change,
        "before": gain.before.seen.name,
        "after": gain.after.seen.name,
        "predicted": gain.predicted,
        "measured": gain.measured,
        "error": gain.error,
        **({"why": why.why, "why_text": _why(why, gain, profile, lang)} if why else {}),
    }


def _how(profile: Profile, lang: str) -> str:
    """How a prediction is made."""
    machine, sentences = profile.machine(), [say("gain.text", lang, most=percent(WRONG))]
    for level in ("device", "host"):
        if machine.launch_s(level):
            at = quoted(BANDWIDTH, launch_key(profile, level))
            sentences.append(say(f"gain.launch_{level}", lang, time=show(machine.launch_s(level), "s"), at=at))
    return " ".join(sentences)


def _row(gain: Gain, profile: Profile, seen: Sequence[Observation], lang: str) -> str:
    why = reason(gain, seen, profile.device)
    cells = (
        say(f"gain.{gain.change}", lang, before=_rows(gain.before.seen), after=_rows(gain.after.seen)),
        _where(gain),
        f"{gain.predicted:.3g}x",
        f"{gain.measured:.3g}x",
        f"{'+' if gain.error > 0 else ''}{percent(gain.error, 2)}",
        _why(why, gain, profile, lang) if why else "",
        " / ".join(_key(end.seen, profile, seen) for end in (gain.before, gain.after)),
    )
    return f"| {' | '.join(cells)} |"


def _where(gain: Gain) -> str:
    cell, gemm = gain.before.seen.attention, gain.before.seen.gemm
    if cell is None:
        return gemm.name.partition(",")[0] if gemm else ""
    batch = "" if gain.change == "batch" else f" batch {cell.batch}"
    dtype = "" if gain.change == "fp16" else f" {cell.dtype}"
    return f"{cell.model or ''}{batch}{dtype} S={cell.context}".strip()


def _rows(seen: Observation) -> str:
    return str(seen.attention.batch if seen.attention else seen.gemm.m if seen.gemm else 1)


def _key(seen: Observation, profile: Profile, every: Sequence[Observation]) -> str:
    if seen.gemm:
        return quoted(PEAKS, f"products[{profile.gemms.index(seen.gemm)}].time_s")
    return quoted(ATTENTION, cell_key(every, seen, "time_s"))


def _why(why: Reason, gain: Gain, profile: Profile, lang: str) -> str:
    end, machine = why.end, profile.machine()
    bare = machine.launch_s("host") if end.hosted else machine.launch_s("device")
    point = end.seen.point
    values = {
        "end": say("gain.before" if end is gain.before else "gain.after", lang),
        "time": show(end.time_s, "s", 3),
        "price": show(end.price_s, "s", 3),
        "bytes": show(bytes_a_launch(end.seen), "B", 3),
        "reached": percent(point.share_of_attainable),
        "bare": show(bare, "s", 3),
        "cache": show(profile.device.largest_fed_cache_bytes or 0.0, "B", 3),
        **dict(_overhead(end)),
        **dict(_best(why.best)),
    }
    return say(f"gain.why.{why.why}", lang, **values)


def _overhead(end: End) -> Iterator[tuple[str, str]]:
    overhead_s = end.seen.attention.overhead_s if end.seen.attention else None
    if overhead_s is not None:
        yield "overhead", show(overhead_s, "s", 3)
        yield "each", show(overhead_s / end.launches, "s", 3)
        yield "calls", f"{end.launches:g}"


def _best(best: Observation | None) -> Iterator[tuple[str, str]]:
    if best is not None:
        yield "best", percent(best.point.share_of_attainable)
        yield "best_bytes", show(bytes_a_launch(best), "B", 3)
