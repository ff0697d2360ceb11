"""`rooflens serve`: a page of this machine, to look at and to drag."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.options import json_flag
from rooflens.cli.page import opened, state_options
from rooflens.cli.printing import emit
from rooflens.cli.printing import say as tell
from rooflens.present.words import say
from rooflens.records import encode
from rooflens.server.state import SCHEMA

PORT = 8077


@click.command("serve", epilog="Example:  rooflens serve llama-3.1-8b --on h100-sxm5-80gb --batch 16")
@state_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0: any that is free."
)
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="A name people call it by, beside addresses in numbers."
)
@json_flag
def command(host: str, port: int, names: tuple[str, ...], lang: str, as_json: bool, **asked: Any) -> None:
    """The roofline of MODEL as a page in a browser: drag the batch, apply levers, drop files, share links.

    It listens on this machine alone unless another --host is named, answers to that name, to numbers and to each --name
    alone, and keeps nothing that it is asked.
    """
    from rooflens.server.run import address, is_loopback, listen, ready

    ready()
    first, given = opened({**asked, "lang": lang})
    made = address(host, port)
    url = f"http://{f'[{host}]' if ':' in host else host}:{made.getsockname()[1]}/"
    emit(
        artefacts.to_json({"url": url, "state": encode(first)}, SCHEMA)
        if as_json
        else say("page.serving", lang, url=url)
    )
    if not is_loopback(host):
        tell(say("page.beyond", lang, host=host))
    with suppress(KeyboardInterrupt):  # which is how it ends
        listen(first, given, made, frozenset({host, *names}))
