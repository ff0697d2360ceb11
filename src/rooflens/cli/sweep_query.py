"""`rooflens sweep query DIR`: the usual questions to a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.options import Named, answer_file, json_flag, lang, out_option
from rooflens.cli.printing import emit, headed
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.present.words import say, word
from rooflens.records import encode
from rooflens.sweep.grid import DEVICES, NAMED
from rooflens.sweep.question import QUERY_SCHEMA, Found, Value, Wanted
from rooflens.units import parse, show

HEADS = ("model", "machine", "formats", "layout", "batch", "context", "tpot", "ttft", "rate", "usd", "memory", "bound")
CONVENTIONS = {
    "points": "each as `rooflens predict` says it; low and high as floats of 32 bit",
    "limits": "on the estimate, or on what --use names; a point without it meets none",
    "memory": "of the fullest device; only what fits unless --any-memory",
}


@click.command("query", epilog="Example:  rooflens sweep query points --tpot 50ms --by model,machine")
@click.argument("folder", type=Named(), metavar="DIR")
@click.option(
    "--best",
    type=click.Choice(["cost", "latency", "throughput", "memory"]),
    default="cost",
    show_default=True,
    help="USD a token, TPOT, tokens/s, or the batch that memory allows.",
)
@click.option("--by", help="The best of each of these instead of all: model,machine.")
@click.option("--pareto", is_flag=True, help="All that nothing beats both in cost and in TPOT (with --by: of each).")
@click.option("--tpot", help="Most time per output token: 50ms.")
@click.option("--ttft", help="Most time to the first token, unloaded: 1s.")
@click.option(
    "--use",
    type=click.Choice(["estimate", "high", "floor"]),
    default="estimate",
    show_default=True,
    help="What times are compared by; high: the upper end of the interval.",
)
@click.option("--where", multiple=True, metavar="COLUMN=VALUES", help="Only these: model=llama-3.1-8b,gemma-2-9b.")
@click.option("--any-memory", is_flag=True, help="Also what does not fit.")
@click.option("--top", type=click.IntRange(1, 100_000), default=10, show_default=True, help="Points in the answer.")
@out_option
@lang
@json_flag
def command(
    folder: Path, by: str | None, tpot: str | None, ttft: str | None, where: tuple[str, ...], any_memory: bool,
    out: Path | None, lang: str, as_json: bool, **asked: Any,
) -> None:  # fmt: skip
    """Which points of a sweep are best: cheapest within times, fastest, a Pareto front, the best of each machine?

    Exit 1 when none meets it.
    """
    from rooflens.api.sweeping import query

    wanted = Wanted(
        where=_conditions(where),
        by=tuple(part.strip() for part in by.split(",")) if by is not None else (),
        tpot_s=_seconds(tpot, "tpot"),
        ttft_s=_seconds(ttft, "ttft"),
        fits=not any_memory,
        **asked,
    )
    found = query(folder, wanted)
    whole = {"conventions": CONVENTIONS, **encode(found)}
    if out is not None:
        artefacts.write_json(answer_file(out, "sweep-query"), whole, QUERY_SCHEMA)
    emit(artefacts.to_json(whole, QUERY_SCHEMA) if as_json else _shown(found, lang))
    if not found.points:
        raise AnswerIsNo(f"no point in {folder} meets this{_wider(wanted)}")


def _wider(wanted: Wanted) -> str:
    """The options that take more points in: what is not known meets no question, and that is easily forgotten."""
    timed = wanted.limits or wanted.pareto or wanted.best == "latency"
    ways = {
        "--best throughput (without a price)": wanted.best == "cost",
        "--use floor (without an estimate)": timed and wanted.use != "floor",
        "--any-memory (what does not fit, or may not)": wanted.fits and wanted.best != "memory",
    }
    more = ", ".join(way for way, helps in ways.items() if helps)
    return f"; more come with {more}" if more else ""


def _conditions(texts: tuple[str, ...]) -> dict[str, tuple[Value, ...]]:
    """All of them by column. Raises RooflensError for a column that is there twice."""
    found: dict[str, tuple[Value, ...]] = {}
    for name, values in map(_condition, texts):
        if name in found:
            raise RooflensError(f"--where: {name} is there twice; write its values with commas, as {name}=A,B")
        found[name] = values
    return found


def _condition(text: str) -> tuple[str, tuple[Value, ...]]:
    """`batch=1,16` as a column and its values. Raises RooflensError naming the option."""
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise RooflensError(f"--where {text!r}: write COLUMN=VALUE, as model=llama-3.1-8b or tp=1,2")
    several = [part.strip() for part in values.split(",")]
    if name in NAMED and NAMED[name].kind != "name":
        try:
            numbers = tuple(float(value) for value in several)
        except ValueError:
            numbers = (math.nan,)
        if not all(map(math.isfinite, numbers)):
            raise RooflensError(f"--where {text!r}: {name} is a number")
        return name, numbers
    return name, tuple(several)


def _seconds(text: str | None, name: str) -> float | None:
    if text is None:
        return None
    try:
        float(text)
    except ValueError:
        return parse(text, "s")
    raise RooflensError(f"--{name} {text}: write the unit too, as 1s or 50ms")


def _shown(found: Found, lang: str) -> str:
    title = say("sweep.found", lang, matching=f"{found.matching:,}", shown=len(found.points))
    if found.on_front is not None:
        sizes = {"matching": f"{found.matching:,}", "front": f"{found.on_front:,}", "shown": len(found.points)}
        title = say("sweep.front", lang, **sizes)
    missing = found.shards - found.landed
    lines = [say("sweep.missing", lang, missing=missing, shards=found.shards)] if missing else []
    if found.points:
        lines.append(headed("sweep", HEADS, [_row(point, lang) for point in found.points], lang))
    return "\n\n".join([title, *lines])


def _row(point: Mapping[str, Any], lang: str) -> list[str]:
    sharing = [f"{name} {point[name]}" for name in DEVICES if point[name] > 1]
    formats = [point[name] for name in ("weights", "kv", "math")]
    return [
        point["model"],
        point["machine"],
        "/".join(formats if len(set(formats)) > 1 else formats[:1]),
        ", ".join(sharing) or "1",
        f"{point['batch']:g}",
        f"{point['context']:g}",
        _time(point, "tpot"),
        _time(point, "ttft"),
        f"{point['tokens_per_s']:.5g}" if "tokens_per_s" in point else "-",
        f"{point['usd_per_million_tokens']:.3g}" if "usd_per_million_tokens" in point else "-",
        _memory(point, lang),
        word("bound", point.get("bound"), lang) or "-",
    ]


def _time(point: Mapping[str, Any], name: str) -> str:
    """The estimate, or that it is more than the floor."""
    if f"{name}_estimate_s" in point:
        return show(point[f"{name}_estimate_s"], "s", 3)
    return f"> {show(point[f'{name}_floor_s'], 's', 3)}" if f"{name}_floor_s" in point else "-"


def _memory(point: Mapping[str, Any], lang: str) -> str:
    """The sequences that fit at this context, or that these do not."""
    if "batch_memory_allows" not in point:
        return "-"
    return say("sweep.sequences", lang, count=f"{point['batch_memory_allows']:,}")
