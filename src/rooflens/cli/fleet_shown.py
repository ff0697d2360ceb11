"""A fleet's report as text: the distribution of each ceiling, who is out and why, links, who did not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rooflens.cli.printing import headed
from rooflens.fleet.linked import Links, SlowLink
from rooflens.fleet.report import Report, Silent
from rooflens.peers.record import STATES, Loss, Reason, Spread, Standing
from rooflens.present.retold import retold
from rooflens.present.words import say, share
from rooflens.units import percent, show

T = TypeVar("T")
SHOWN = 20
_MARGIN = " " * 6


def shown(found: Report, lang: str, *, everybody: bool) -> str:
    """All of it, or the worst of it."""
    most = None if everybody else SHOWN
    parts = (
        "\n".join(_head(found, lang)),
        *_tables(found, lang),
        "\n".join(_out(found, lang, most, everybody=everybody)),
        _links(found.links, lang),
        "\n".join(_several(found.slow_links, most, _slow_link, lang)),
        "\n".join(_several(found.silent, most, _silent, lang)),
        "\n".join(_several(found.warned, most, _warned, lang)),
        "\n".join(_notes(found, lang)),
    )
    return "\n\n".join(part for part in parts if part)


def _head(found: Report, lang: str) -> Iterator[str]:
    counts = ", ".join(
        say("fleet.count", lang, state=say(f"fleet.state.{state}", lang), count=found.counts[state])
        for state in STATES
        if found.counts.get(state)
    )
    yield say("fleet.title", lang, nodes=found.nodes, devices=len(found.devices), counts=counts or "0")
    for kind in found.kinds:
        yield say("fleet.kind", lang, key=kind.key.text, devices=kind.devices, nodes=kind.nodes, out=kind.out)


def _tables(found: Report, lang: str) -> Iterator[str]:
    """One of each kind of device."""
    stored = any(spread.baseline for spread in found.spreads)
    heads = ["ceiling", "min", "p5", "median", "p95", "max", "spread", "slowest", "of_median", "seen"]
    heads += ["stored"] if stored else []
    for kind in found.kinds:
        rows = [_spread(one, stored=stored) for one in found.spreads if one.key == kind.key.text]
        title = f"{kind.key.text}\n" if len(found.kinds) > 1 else ""
        if rows:
            yield title + headed("fleet", heads, rows, lang)


def _spread(one: Spread, *, stored: bool) -> list[str]:
    worst, best = (one.max, one.min) if one.unit == "s" else (one.min, one.max)
    row = [one.id, *(show(value, one.unit) for value in (worst, one.p5, one.median, one.p95, best))]
    row += [percent(one.spread, 2), one.slowest, share(one.slowest_share)]
    row.append("-" if one.seen is None else percent(one.seen, 2))
    return [*row, "-" if one.of_baseline is None else share(one.of_baseline)] if stored else row


def _out(found: Report, lang: str, most: int | None, *, everybody: bool) -> Iterator[str]:
    named = [one for one in found.devices if one.state in (("out", "unsure", "behind") if everybody else ("out",))]
    if found.asked and named:
        asked = (f"{name} {value}" for name, value in found.asked.items() if name != "model")
        yield say("fleet.priced", lang, asked=", ".join((found.asked["model"], *asked)))
    for one in named[:most]:
        yield from _device(one, lang, everybody=everybody)
    if most is not None and len(named) > most:
        yield say("fleet.more", lang, count=len(named) - most)


def _device(one: Standing, lang: str, *, everybody: bool) -> Iterator[str]:
    scores = [
        say(f"fleet.{name}", lang, share=share(score), id=id)
        for name, score, id in (("peers", one.beside_peers, one.weakest), ("itself", one.beside_itself, one.changed))
        if score is not None
    ]
    yield say("fleet.device", lang, state=say(f"fleet.state.{one.state}", lang), of=one.of, scores=", ".join(scores))
    losses = one.losses if everybody else one.losses[:1]
    yield from (_MARGIN + _loss(loss, lang) for loss in losses)
    for reason in one.reasons if everybody else one.reasons[:2]:
        yield from (_MARGIN + line for line in _reason(reason, lang))
    if one.price:
        rates = {"rate": f"{one.price.tokens_per_s:,.4g}", "all": f"{one.price.tokens_per_s_of_peers:,.4g}"}
        yield _MARGIN + say("fleet.costs", lang, share=share(one.price.share), **rates)


def _loss(loss: Loss, lang: str) -> str:
    values = {"value": show(loss.value, loss.unit), "reference": show(loss.reference, loss.unit)}
    shares = {"share": share(loss.share), "low": share(loss.low), "high": share(loss.high)}
    against = say(f"fleet.against.{loss.against}", lang)
    return say("fleet.loss", lang, id=loss.id, against=against, **values, **shares)


def _reason(reason: Reason, lang: str) -> Iterator[str]:
    key = "fleet.why" if reason.source == "tools" else "fleet.looks"
    cause = say(f"fleet.cause.{reason.cause}", lang)
    yield say(key, lang, text=f"{cause}: {retold(reason.what, lang)}")
    if reason.next:
        yield say("fleet.next", lang, text=retold(reason.next, lang))


def _links(found: Sequence[Links], lang: str) -> str:
    if not found:
        return ""
    rows = [
        [
            one.path or say("frame.unknown", lang),
            str(one.pairs),
            show(one.slowest, "B/s"),
            show(one.median, "B/s"),
            show(one.promised, "B/s") if one.promised else "-",
            share(one.of_promise) if one.of_promise else "-",
        ]
        for one in found
    ]
    heads = ("path", "pairs", "slowest", "median", "promised", "of_promise")
    return say("fleet.links", lang) + "\n\n" + headed("fleet", heads, rows, lang)


def _several(
    found: Sequence[T], most: int | None, lines: Callable[[T, str], Iterator[str]], lang: str
) -> Iterator[str]:
    """The first of them, and how many more there are."""
    for one in found[:most]:
        yield from lines(one, lang)
    if most is not None and len(found) > most:
        yield say("fleet.more", lang, count=len(found) - most)


def _slow_link(one: SlowLink, lang: str) -> Iterator[str]:
    loss = one.loss
    values = {"value": show(loss.value, loss.unit), "reference": show(loss.reference, loss.unit)}
    yield say("fleet.slow_link", lang, of=one.of, share=share(loss.share), **values)
    for reason in one.reasons:
        yield from (_MARGIN + line for line in _reason(reason, lang))


def _silent(one: Silent, lang: str) -> Iterator[str]:
    state = say(f"fleet.silent.{one.state}", lang)
    tried = " " + say("fleet.attempts", lang, count=one.attempts) if one.attempts else ""
    yield say("fleet.silent", lang, node=one.node, state=state, why=retold(one.why, lang)) + tried


def _warned(one: Standing, lang: str) -> Iterator[str]:
    yield say("fleet.warned", lang, of=one.of)
    for reason in one.reasons:
        yield from (_MARGIN + line for line in _reason(reason, lang))


def _notes(found: Report, lang: str) -> Iterator[str]:
    for text in (*found.notes[:SHOWN], *found.conventions.values()):
        yield say("frame.note", lang, text=retold(text, lang))
    if len(found.notes) > SHOWN:
        yield say("fleet.more", lang, count=len(found.notes) - SHOWN)
    if found.healthy:
        yield say("fleet.healthy", lang)
