"""`rooflens export`: the same as `watch`, as metrics for Prometheus."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from rooflens.cli.options import Named, lang
from rooflens.cli.printing import say
from rooflens.errors import RooflensError
from rooflens.present.words import say as phrase


@click.command("export", epilog="Example:  rooflens export --config rooflens.yaml")
@click.option("--config", "path", type=Named(), required=True, help="YAML: targets, interval, where to listen.")
@click.option("--listen", help="HOST:PORT instead of the configuration's (default 127.0.0.1:9494).")
@click.option("--check", is_flag=True, help="Read the configuration, say what is wrong with it, and end.")
@lang
def command(path: Path, listen: str | None, check: bool, lang: str) -> int:
    """How are my engines doing, as metrics? Many engines at once, for Prometheus; read-only, on loopback unless told.

    MBU, MFU, TTFT, TPOT, floor and estimate of every engine as `rooflens_*` at /metrics; sentences at /status.
    """
    from rooflens.api.exporting import exporter
    from rooflens.live.config import LOOPBACK, address, config
    from rooflens.live.serving import server

    export = config(path)
    where = listen or export.listen
    try:
        host, _ = address(where)
    except ValueError as error:
        raise RooflensError(f"--listen: {error}") from None
    made = exporter(export)
    if check:
        say(phrase("export.fine", lang, count=len(export.targets), path=path))
        return 0
    with server(where, made) as serving:
        shown = f"{host}:{serving.server_address[1]}" if ":" not in host else f"[{host}]:{serving.server_address[1]}"
        say(phrase("export.serving", lang, count=len(export.targets), where=shown))
        if host not in LOOPBACK:
            say(phrase("export.open", lang, where=shown))
        made.start()
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # containers and services end so
        try:
            serving.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say(phrase("export.ended", lang))
        finally:
            made.stop()
    return 0
