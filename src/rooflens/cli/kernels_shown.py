"""An account of a run as text: where the time went, the kernels, what would help, the layers; and two runs compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rooflens.accounting.comparing import Comparison, Moved
from rooflens.accounting.record import Account, Attribution, Judged, Layered
from rooflens.cli.printing import headed
from rooflens.present.judged import kernel_cells, shared
from rooflens.present.judged import shown as amount
from rooflens.present.retold import retold
from rooflens.present.symbols import short
from rooflens.present.words import known, say, share
from rooflens.units import show

BAR = 40
MOST_REASONS = 5


def shown(found: Account, top: int, lang: str) -> str:
    """The account of one file."""
    parts = [
        say("kernels.head", lang, where=found.where, format=found.format, machine=found.machine),
        _attributed(found.attribution_s, lang),
        _figures(found, lang),
        _kernels(found.kernels[:top], lang),
        *([say("kernels.more", lang, count=len(found.kernels) - top)] if len(found.kernels) > top else []),
        "\n".join(_helping(found, lang)),
        _layers(found.layers, lang),
        "\n".join(_said(found, top, lang)),
    ]
    return "\n\n".join(part for part in parts if part)


def compared(found: Comparison, top: int, lang: str) -> str:
    """Two runs, the kernels that moved most first."""
    head = say(
        f"kernels.compared.{found.basis}", lang, before=found.before, after=found.after,
        before_s=show(found.before_s, "s"), after_s=show(found.after_s, "s"),
        times=times(found.speedup) if found.speedup is not None else "-",
    )  # fmt: skip
    parts = [
        f"{known(f'kernels.part.{name}', name, lang)} {_signed(seconds)}"
        for name, seconds in found.attribution_s.items()
        if abs(seconds) > 1e-3 * found.before_s
    ]
    heads = ("name", "outcome", "before", "after", "difference", "of_roof", "why")
    rows = [_moved(one, lang) for one in found.kernels[:top]]
    table = headed("kernels", heads, rows, lang)
    rest = [say("kernels.more", lang, count=len(found.kernels) - top)] if len(found.kernels) > top else []
    notes = [say("frame.note", lang, text=retold(note, lang)) for note in found.notes]
    said = say("kernels.tolerance", lang, tolerance=share(found.tolerance))
    return "\n\n".join(filter(None, [head, ", ".join(parts), table, *rest, "\n".join([*notes, said])]))


def _moved(one: Moved, lang: str) -> list[str]:
    shares = [shared(s) for s in (one.before_share_of_roof, one.after_share_of_roof)]
    return [
        short(one.name),
        known(f"kernels.outcome.{one.outcome}", one.outcome, lang),
        amount(one.before_s, "s"),
        amount(one.after_s, "s"),
        _signed(one.difference_s),
        " -> ".join(shares),
        "; ".join(retold(why, lang) for why in one.why),
    ]


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '-' if seconds < 0 else ''}{show(abs(seconds), 's', 3)}"


def _attributed(found: Attribution, lang: str) -> str:
    """A line and a piece of bar a part, in the order of the picture."""
    whole = found.whole_s
    parts = {name: seconds for name, seconds in found.parts.items() if seconds or name == "floor"}
    words = {name: known(f"kernels.part.{name}", name, lang) for name in parts}
    wide = max(len(word) for word in words.values())
    lines = [say("kernels.whole", lang, time=show(whole, "s"))]
    for name, seconds in parts.items():
        of = seconds / whole if whole else 0.0
        bar = "#" * round(BAR * of)
        lines.append(f"  {words[name]:<{wide}}  {show(seconds, 's'):>10}  {share(of):>7}  {bar}".rstrip())
    return "\n".join(lines)


def _figures(found: Account, lang: str) -> str:
    """MFU, MBU and what binds, with what they are of."""
    lines = []
    if found.mfu is not None:
        lines.append(say("kernels.mfu", lang, share=share(found.mfu), math=found.main_math))
    if found.mbu is not None:
        lines.append(say("kernels.mbu", lang, share=share(found.mbu)))
    if found.known_share is not None and found.known_share < 1:
        lines.append(say("kernels.known", lang, share=share(found.known_share)))
    if found.bound is not None:
        lines.append(say("kernels.bound", lang, bound=known(f"kernels.bound.{found.bound}", found.bound, lang)))
    return "\n".join(lines)


def _kernels(kernels: Sequence[Judged], lang: str) -> str:
    rows = [kernel_cells(kernel, lang) for kernel in kernels]
    heads = ("name", "calls", "time", "of_time", "work", "intensity", "achieved", "roof", "of_roof", "regime", "lever")
    return headed("kernels", heads, [[cells[head] for head in heads] for cells in rows], lang)


def _helping(found: Account, lang: str) -> Iterator[str]:
    """What would help the whole run, what saves most first."""
    if found.remedies:
        yield say("kernels.remedies", lang)
    for remedy in found.remedies:
        yield say(
            "kernels.remedy", lang, saves=show(remedy.saves_s, "s", 3), gain=times(remedy.gain),
            why=retold(remedy.why, lang),
        )  # fmt: skip


def times(ratio: float) -> str:
    """ "1.83", "306", "4,190": three digits, and no exponent."""
    return f"{ratio:.3g}" if ratio < 999.5 else f"{ratio:,.0f}"


def _layers(layers: Sequence[Layered], lang: str) -> str:
    if not layers:
        return ""
    heads = ("steps", "layers", "kernels_a_layer", "tokens", "layer", "slowest", "phase", "layer_floor", "of_floor")
    rows = [
        [
            str(one.steps), str(one.layers), str(one.kernels), f"{one.tokens:g}" if one.tokens is not None else "-",
            show(one.layer_s, "s"), show(one.slowest_s, "s"), one.phase or "-",
            amount(one.floor_s, "s"),
            shared(one.share_of_floor),
        ]
        for one in layers
    ]  # fmt: skip
    return headed("kernels", heads, rows, lang)


def _said(found: Account, top: int, lang: str) -> Iterator[str]:
    """Findings of the kernels that are shown, what is missing of them, what their readers doubt, and the notes."""
    for kernel in found.kernels[:top]:
        for finding in kernel.findings:
            yield say("kernels.finding", lang, name=short(kernel.name), text=retold(finding, lang))
    for why, count in _missing(found.kernels):
        yield say("kernels.missing", lang, count=count, why=retold(why, lang))
    doubts = Counter(note for kernel in found.kernels for note in kernel.notes)
    for note, count in doubts.most_common(MOST_REASONS):
        yield say("kernels.doubt", lang, count=count, text=retold(note, lang))
    for note in found.notes:
        yield say("frame.note", lang, text=retold(note, lang))


def _missing(kernels: Sequence[Judged]) -> list[tuple[str, int]]:
    """Why work is unknown, with the number of kernels, the most common reasons first."""
    gone: Counter[str] = Counter()
    for kernel in kernels:
        why = kernel.missing.get("bytes") or kernel.missing.get("flops")
        of_link = (
            kernel.family == "collective" and kernel.roof is not None
        )  # a collective has its link, and no other work
        if why is not None and kernel.regime != "launch" and not of_link:
            gone[why] += 1
    return gone.most_common(MOST_REASONS)
