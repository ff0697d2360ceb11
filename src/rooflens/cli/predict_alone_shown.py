"""What `predict` shows of one operator alone."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.cli.predict_shown import interval, rests_on
from rooflens.prediction.operator import OperatorPrediction
from rooflens.present.retold import retold
from rooflens.present.words import known, say, word
from rooflens.units import percent, show


def shown_operator(found: OperatorPrediction, lang: str) -> str:
    """Its floor and what to expect, where the time goes, how it is cut, and what that rests on."""
    head = say("predict.title", lang, model=found.operator, machine=found.machine)
    formats = retold(found.conventions.get("precision", ""), lang)
    parts = [f"{head}\n{formats}".strip(), "\n".join(_lines(found, lang))]
    parts.append("\n".join(rests_on(found.constants, lang)))
    parts += (
        ["\n".join(say("frame.note", lang, text=retold(note, lang)) for note in found.notes)] if found.notes else []
    )
    return "\n\n".join(parts)


def _lines(found: OperatorPrediction, lang: str) -> Iterator[str]:
    times = found.time_s
    yield say("predict.alone.time", lang, floor=show(times.floor, "s"), expected=interval(times, lang))
    if times.floor_resident is not None and times.floor_resident < times.floor:
        yield say("predict.alone.resident", lang, floor=show(times.floor_resident, "s"))
    shares = sorted(found.where_time_goes.items(), key=lambda item: -item[1])
    said = [f"{known(f'predict.alone.where.{name}', name, lang)} {show(seconds, 's', 3)}" for name, seconds in shares]
    bound = word("bound", found.bound, lang)
    where = "predict.alone.where" if found.protocol is None else "predict.alone.sent"
    yield say(where, lang, bound=bound, parts=", ".join(said), protocol=found.protocol)
    if found.tile_efficiency is not None:
        how = "tiles" if found.tiles else "efficiency"
        tiles = {name: f"{size:g}" for name, size in (found.tiles or {}).items()}
        yield say(f"predict.alone.{how}", lang, efficiency=percent(found.tile_efficiency), **tiles)
    if times.estimate is not None and found.mfu is not None and found.mbu is not None:
        yield say("predict.alone.shares", lang, mfu=percent(found.mfu), mbu=percent(found.mbu))
