"""What reaches the screen: data on standard output, everything else on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

import click


def emit(text: str) -> None:
    """Data, on standard output."""
    click.echo(text.removesuffix("\n"))


def say(text: str) -> None:
    """Progress and warnings, on standard error."""
    _told(text + "\n")


def _told(text: str) -> None:
    """On standard error, whose full disk is no reason to end a run; that nobody reads any more is one."""
    try:
        click.echo(text, nl=False, err=True)
    except BrokenPipeError:
        raise
    except OSError:
        return


def colour() -> bool:
    """Whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], lang: str = "en") -> str:
    """A table as text: as wide as the terminal, bold heads where colour is wanted."""
    from rooflens.present.tables import table as drawn

    return drawn(columns, rows, width=width(), colour=colour(), lang=lang)


def headed(verb: str, heads: Sequence[str], rows: Sequence[Sequence[str]], lang: str) -> str:
    """A table whose heads are phrases of a verb: `name` is the phrase `VERB.name`."""
    from rooflens.present.words import say as phrase

    return table([phrase(f"{verb}.{head}", lang) for head in heads], rows, lang)


def width() -> int | None:
    """Columns of the terminal; None when standard output is none, which nothing needs to fit."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def bar(durations_s: dict[str, float] | None = None) -> Callable[[str, float], None]:
    """A progress bar on standard error: one moving line on a terminal, else one line a stage.

    durations_s is filled with the seconds that each stage took.
    """
    moving, last, began = sys.stderr.isatty(), "", time.monotonic()

    def show(name: str, fraction: float) -> None:
        nonlocal last, began
        if durations_s is not None and last and name != last:
            durations_s[last], began = round(time.monotonic() - began, 3), time.monotonic()
        if moving:
            done = round(30 * min(max(fraction, 0.0), 1.0))
            line = f"\r[{'#' * done}{'.' * (30 - done)}] {100 * fraction:3.0f} %  {name[:40]:<40}"
            _told(line + ("\n" if fraction >= 1 else ""))
        elif name != last:
            _told(f"{100 * fraction:3.0f} %  {name}\n")
        last = name

    return show
