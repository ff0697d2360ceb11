"""A text that is drawn anew in its place on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def screen() -> Iterator[Callable[[str], None]]:
    """Gives what draws a text in the place of the last one; the last one stays when it ends."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(highlight=False), auto_refresh=False, vertical_overflow="crop") as live:
        yield lambda text: live.update(Text(text), refresh=True)
