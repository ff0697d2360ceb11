"""`rooflens sweep`: a grid of points into Parquet, and `rooflens sweep query`: what it answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rooflens import artefacts
from rooflens.cli.options import Finite, Named, json_flag, lang
from rooflens.cli.printing import bar, emit, headed
from rooflens.cli.printing import say as told
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.present.words import say
from rooflens.records import encode
from rooflens.sweep.record import MANIFEST_SCHEMA, Manifest
from rooflens.units import percent, show

if TYPE_CHECKING:
    from rooflens.fleet.sweeping.run import Forecast

QUERY = "query"
FORECAST_SCHEMA = "rooflens/sweep-forecast/1"
SHOWN = 12  # reasons of refusals
STEP = 0.05  # of the grid, between lines of progress where nothing can move


class Sweep(click.Command):
    """The verb, whose first word may be `query`: then the rest is a question to a sweep that is there."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the grid or of the question."""
        if args[:1] != [QUERY]:
            return super().make_context(info_name, args, parent, **extra)
        from rooflens.cli.sweep_query import command as question

        return question.make_context(f"{info_name} {QUERY}", args[1:], parent, **extra)


@click.command("sweep", cls=Sweep, epilog="Example:  rooflens sweep grid.yaml -o points --workers 8")
@click.argument("grid", type=Named(), metavar="GRID.yaml | query DIR")
@click.option("--out", "-o", type=Named(), metavar="DIR", help="A folder: new, or one that this grid was begun in.")
@click.option("--workers", type=click.IntRange(1, 4096), help="Processes (default: one for each processor).")
@click.option("--ray", metavar="ADDRESS", help="Price on a Ray cluster: auto, HOST:PORT, or local for one here.")
@click.option("--ray-env", type=Named(), help="A runtime environment for Ray (YAML or JSON), over ours.")
@click.option(
    "--shard-limit-s", type=Finite(1), help="Most for a shard on Ray (default: 10 x the slowest, 60 at least)."
)
@click.option("--dry-run", is_flag=True, help="Say how many points, shards, bytes and seconds, and end.")
@lang
@json_flag
def command(
    grid: Path, out: Path | None, workers: int | None, ray: str | None, ray_env: Path | None,
    shard_limit_s: float | None, dry_run: bool, lang: str, as_json: bool,
) -> None:  # fmt: skip
    """What would every combination do? Models x machines x formats x devices x batch x context, into Parquet.

    GRID.yaml (or .json) lists them; each point has the figures of `predict`, to the last digit. What is not possible is
    counted with its reason. The same command goes on where it was stopped. `rooflens sweep query DIR` asks the points.
    """
    from rooflens.api import sweeping

    if ray_env is not None and ray is None:
        raise RooflensError("--ray-env is of a Ray cluster: give its address with --ray")
    if shard_limit_s is not None and ray is None:
        raise RooflensError("--shard-limit-s is of a Ray cluster: give its address with --ray")
    axes = sweeping.read_grid(grid)
    if dry_run:
        found = sweeping.forecast(axes, workers=workers)
        whole = {**encode(found), "wall_s": found.wall_s}
        emit(artefacts.to_json(whole, FORECAST_SCHEMA) if as_json else "\n".join(_foretold(found, lang)))
        return
    if out is None:
        raise RooflensError("say where the points go: -o DIR (or --dry-run, which keeps none)")
    env = None if ray_env is None else sweeping.read_env(ray_env)
    how: dict[str, Any] = {"workers": workers, "ray": ray, "env": env, "shard_limit_s": shard_limit_s}
    done = sweeping.sweep(axes, out, **how, told=_progress(), noted=lambda sentence: _note(sentence, lang))
    emit(artefacts.to_json(done, MANIFEST_SCHEMA) if as_json else "\n\n".join(_shown(done, out, lang)))
    if not done.account.priced:
        raise AnswerIsNo("no point of this grid is possible")


def _shown(done: Manifest, out: Path, lang: str) -> Iterator[str]:
    refused = done.points - done.account.priced
    sizes = {"points": _count(done.points), "priced": _count(done.account.priced), "refused": _count(refused)}
    yield say("sweep.done", lang, **sizes, shards=done.shards, bytes=show(done.parquet_bytes, "B"), folder=out)
    if refused:
        most = sorted(done.account.refused, key=lambda one: -one.points)
        rows = [[_count(one.points), _reason(one.reason, lang)] for one in most[:SHOWN]]
        yield headed("sweep", ("points", "reason"), rows, lang)
        if len(most) > SHOWN:
            yield say("sweep.more", lang, count=len(most) - SHOWN, file=out / "manifest.json")
    yield say("sweep.ask", lang, folder=out)


def _foretold(found: Forecast, lang: str) -> Iterator[str]:
    yield say("sweep.forecast", lang, points=_count(found.points), shards=_count(found.shards))
    share = 1 - found.sampled.priced / found.sampled.points
    sizes = {"bytes": show(found.parquet_bytes, "B", 2), "seconds": show(found.wall_s, "s", 2)}
    yield say("sweep.costs", lang, **sizes, workers=found.workers, sampled=_count(found.sampled.points))
    if share:
        yield say("sweep.share", lang, share=percent(share))


def _note(sentence: str, lang: str) -> None:
    """What is waited for, on a line of its own, also where the line of progress moves."""
    from rooflens.present.retold import retold

    told(("\n" if sys.stderr.isatty() else "") + retold(sentence, lang))


def _reason(sentence: str, lang: str) -> str:
    """Errors are told in other languages as the page tells them; in English as they are raised."""
    if lang == "en":
        return sentence
    from rooflens.present.refused import refused

    return refused(sentence, lang)


def _count(number: int) -> str:
    return f"{number:,}"


def _progress() -> Any:
    """Says on standard error how far it is: a moving line on a terminal, else a line every twentieth."""
    moving, said = sys.stderr.isatty(), -1.0
    drawn = bar()
    first: list[int] = []

    def progress(done: int, points: int, seconds: float) -> None:
        nonlocal said
        first.extend([] if first else [done])
        fraction = done / points
        rate = (done - first[0]) / seconds if seconds else 0.0
        left = f", {show((points - done) / rate, 's', 2)} left" if rate and done < points else ""
        text = f"{done:,} of {points:,} points{left}"
        if moving:
            drawn(text, fraction)
        elif fraction - said >= STEP or done == points:
            said = fraction
            told(f"{100 * fraction:3.0f} %  {text}")

    return progress
