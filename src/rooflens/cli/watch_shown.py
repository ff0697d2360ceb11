"""What `watch` shows of a target: load, rates, latencies, how near the roof, what to change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rooflens.present.retold import retold
from rooflens.present.tables import cell as plain
from rooflens.present.words import say, share, word
from rooflens.telemetry.record import Quantile, Rates, Reading, Roof, Spread
from rooflens.telemetry.watch import Target
from rooflens.units import show

WIDE = 10


def shown(of: Target, lang: str) -> str:
    """One target."""
    time = datetime.fromtimestamp(of.at_s, UTC).strftime("%H:%M:%S")
    if of.failed is not None:
        return say("watch.failed", lang, time=time, why=plain(retold(of.failed, lang)))
    parts = ["\n".join([_head(of, reading, time, lang), *_body(reading, lang)]) for reading in of.models]
    if of.gpus:
        parts.append("\n".join([say("watch.devices", lang, url=plain(of.url), time=time), *_gpus(of, lang)]))
    return "\n\n".join(parts)


def _head(of: Target, reading: Reading, time: str, lang: str) -> str:
    rates, roof = reading.rates, reading.roof
    what = say("watch.head", lang, url=plain(of.url), time=time, engine=rates.engine, model=plain(rates.model or "?"))
    if roof is None:
        return what
    state = say("frame.unknown" if roof.state is None else f"watch.state.{roof.state}", lang)
    if roof.state != "idle" and roof.regime:
        state = say("watch.and", lang, one=state, other=say(f"watch.regime.{roof.regime}", lang))
    return say("watch.on", lang, what=what, model=roof.model, machine=roof.machine, state=state)


def _body(reading: Reading, lang: str) -> Iterator[str]:
    rates, roof = reading.rates, reading.roof
    yield _row("tokens", _tokens(rates, lang), lang)
    yield _row("requests", _requests(rates, lang), lang)
    yield _row("ttft", _spread(rates.ttft, lang), lang)
    yield _row("tpot", _tpot(rates, roof, lang), lang)
    if roof is not None:
        yield _row("mbu", _mbu(roof, lang), lang)
        yield _row("mfu", _mfu(roof, lang), lang)
        if roof.lever is not None:
            yield _row("lever", retold(roof.lever, lang), lang)
        for finding in roof.findings:
            yield say("watch.finding", lang, text=retold(finding, lang))
    for note in dict.fromkeys((*rates.notes, *(roof.notes if roof else ()), *reading.missing.values(), *_why(rates))):
        yield say("frame.note", lang, text=plain(retold(note, lang)))


def _why(rates: Rates) -> Iterator[str]:
    yield from rates.missing.values()


def _row(name: str, text: str, lang: str) -> str:
    return f"  {say(f'watch.{name}', lang):<{WIDE}}  {text}"


def _rate(value: float | None, lang: str) -> str:
    return say("frame.unknown", lang) if value is None else f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"


def _tokens(rates: Rates, lang: str) -> str:
    values = {
        "generated": _rate(rates.generation_tokens_per_s, lang),
        "prompt": _rate(rates.prompt_tokens_per_s, lang),
        "steps": _rate(rates.steps_per_s, lang),
    }
    text = say("watch.tokens.line", lang, **values)
    if rates.prompt_tokens_per_s and rates.cached_prompt_tokens_per_s:
        text += say("watch.cached", lang, share=share(rates.cached_prompt_tokens_per_s / rates.prompt_tokens_per_s))
    if rates.steps_from not in (None, "counted"):
        text += f" ({retold(rates.steps_from or '', lang)})"
    return text


def _requests(rates: Rates, lang: str) -> str:
    text = say("watch.requests.line", lang, running=_rate(rates.running, lang), waiting=_rate(rates.waiting, lang))
    if rates.kv_usage is not None:
        text += say("watch.kv", lang, share=share(rates.kv_usage))
    if rates.kv_capacity_tokens is not None:
        text += say("watch.capacity", lang, tokens=f"{rates.kv_capacity_tokens:,.0f}")
    if rates.batch is not None and rates.context_tokens is not None:
        text += say("watch.step", lang, batch=f"{rates.batch:.3g}", context=f"{rates.context_tokens:,.0f}")
    return text


def _spread(of: Spread | None, lang: str) -> str:
    if of is None or not of.count:
        return say("frame.unknown" if of is None else "watch.none_seen", lang)
    mean = [] if of.mean_s is None else [say("watch.mean", lang, time=show(of.mean_s, "s", 3))]
    return "   ".join([*mean, *(_quantile(one, lang) for one in of.quantiles)])


def _quantile(of: Quantile, lang: str) -> str:
    name = f"p{100 * of.share:g}"
    if of.high_s is None or of.at_s is None:
        return say("watch.over", lang, name=name, time=show(of.low_s, "s", 3))
    low, high = show(of.low_s, "s", 3), show(of.high_s, "s", 3)
    return say("watch.within", lang, name=name, time=show(of.at_s, "s", 3), low=low, high=high)


def _tpot(rates: Rates, roof: Roof | None, lang: str) -> str:
    text = say("frame.unknown", lang)
    if rates.tpot_s is not None:
        how = retold(rates.tpot_from or "", lang)
        text = say("watch.tpot.line", lang, time=show(rates.tpot_s, "s", 3), how=how)
    if roof is None or roof.tpot_floor_s is None:
        return text
    text += say("watch.floor", lang, time=show(roof.tpot_floor_s, "s", 3))
    if roof.tpot_estimate_s is not None and roof.tpot_low_s is not None and roof.tpot_high_s is not None:
        low, high = show(roof.tpot_low_s, "s", 3), show(roof.tpot_high_s, "s", 3)
        text += say("watch.estimate", lang, time=show(roof.tpot_estimate_s, "s", 3), low=low, high=high)
    return text + (
        say("watch.gap", lang, times=f"{roof.tpot_over_floor:.3g}") if roof.tpot_over_floor is not None else ""
    )


def _mbu(roof: Roof, lang: str) -> str:
    if roof.mbu is None or roof.read_roof_bytes_per_s is None:
        return _not(roof, "mbu", lang)
    text = say("watch.overall", lang, share=share(roof.mbu))
    text += say("watch.busy", lang, share=share(roof.mbu_busy)) if roof.mbu_busy is not None else ""
    text += say("watch.decoding", lang, share=share(roof.mbu_decoding)) if roof.mbu_decoding is not None else ""
    origin = word("origin", "measured" if roof.measured else "spec", lang)
    text += say("watch.roof", lang, rate=show(roof.read_roof_bytes_per_s, "B/s"), origin=origin)
    text += _beside(roof.mbu_of_datasheet, roof.mbu_of_measured, lang)
    if roof.estimated_over_ours is not None:
        text += say("watch.own", lang, times=f"{roof.estimated_over_ours:.3g}")
    return text if "kv_bytes_per_s" not in roof.missing else f"{text}   {retold(roof.missing['kv_bytes_per_s'], lang)}"


def _mfu(roof: Roof, lang: str) -> str:
    if roof.mfu is None:
        return _not(roof, "mfu", lang)
    text = say("watch.overall", lang, share=share(roof.mfu))
    text += say("watch.busy", lang, share=share(roof.mfu_busy)) if roof.mfu_busy is not None else ""
    if roof.compute_roof_flops_per_s is not None:
        origin = word("origin", "measured" if roof.measured else "spec", lang)
        rate = f"{show(roof.compute_roof_flops_per_s, 'FLOP/s')} {roof.peak_math}"
        text += say("watch.roof", lang, rate=rate, origin=origin)
    return text + _beside(roof.mfu_of_datasheet, roof.mfu_of_measured, lang)


def _beside(of_datasheet: float | None, of_measured: float | None, lang: str) -> str:
    text = "" if of_datasheet is None else say("watch.of_datasheet", lang, share=share(of_datasheet))
    return text if of_measured is None else text + say("watch.of_measured", lang, share=share(of_measured))


def _not(roof: Roof, name: str, lang: str) -> str:
    unknown = say("frame.unknown", lang)
    return f"{unknown}: {retold(roof.missing[name], lang)}" if name in roof.missing else unknown


def _gpus(of: Target, lang: str) -> Iterator[str]:
    for gpu in of.gpus:
        parts = {"dram": gpu.dram_active, "tensor": gpu.tensor_active, "util": gpu.utilisation}
        said = [say(f"watch.gpu.{name}", lang, share=share(v)) for name, v in parts.items() if v is not None]
        power = [] if gpu.power_w is None else [show(gpu.power_w, "W", 3)]
        yield f"  {plain(gpu.id)}  {plain(gpu.name or '')}  {'   '.join([*said, *power])}".rstrip()
    for note in of.notes:
        yield say("frame.note", lang, text=plain(retold(note, lang)))
