"""`rooflens export`: the same as `watch`, as metrics for Prometheus."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

from rooflens.cli.options import Named, json_flag, lang
from rooflens.cli.printing import emit, say
from rooflens.errors import RooflensError
from rooflens.present.words import say as phrase

SCHEMA = "rooflens/export/1"


@click.command("export", epilog="Example:  rooflens export --config rooflens.yaml")
@click.option("--config", "path", type=Named(), required=True, help="YAML: targets, interval, where to listen.")
@click.option("--listen", help="HOST:PORT instead of the configuration's (default 127.0.0.1:9494).")
@click.option("--check", is_flag=True, help="Read the configuration, say what is wrong with it, and end.")
@json_flag
@lang
def command(path: Path, listen: str | None, check: bool, as_json: bool, lang: str) -> int:
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
    made, count = exporter(export), len(export.targets)
    if check:
        _said(phrase("export.fine", lang, count=count, path=path), export, as_json=as_json)
        return 0
    with server(where, made) as serving:
        shown = f"{host}:{serving.server_address[1]}" if ":" not in host else f"[{host}]:{serving.server_address[1]}"
        _said(phrase("export.serving", lang, count=count, where=shown), export, f"http://{shown}", as_json=as_json)
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


def _said(sentence: str, export: Any, url: str | None = None, *, as_json: bool) -> None:
    """What was read, and where it answers, as an object; else the sentence."""
    from rooflens.artefacts import to_json
    from rooflens.records import encode
    from rooflens.telemetry.record import DEFINITIONS

    if not as_json:
        say(sentence)
        return
    found = {"configuration": encode(export), "conventions": dict(DEFINITIONS)}
    emit(to_json(found | ({"url": url} if url else {}), SCHEMA))
