"""`rooflens watch`: how is my engine doing?"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rooflens import artefacts
from rooflens.cli.options import LINK, SAME, Named, answer_file, counts, format_options, json_flag, lang, out_option
from rooflens.cli.printing import colour, emit, say
from rooflens.errors import RooflensError
from rooflens.records import encode
from rooflens.units import parse

if TYPE_CHECKING:
    from rooflens.api.live import Judge
    from rooflens.live.fetch import Access
    from rooflens.telemetry.watch import Target, Watch

SHORTEST_S, LONGEST_S = 0.1, 86_400.0


def access_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How targets are asked."""
    for option in (
        click.option("--timeout", default="5s", show_default=True, help="Longest time that a target may take."),
        click.option("--token-env", metavar="NAME", help="Environment variable that holds a bearer token."),
        click.option("--token-file", type=Named(), help="File that holds a bearer token."),
        click.option("--ca-file", type=Named(), help="File of certificates to check https against."),
    )[::-1]:
        function = option(function)
    return function


@click.command("watch", epilog="Example:  rooflens watch http://127.0.0.1:8000 --on h100-sxm5-80gb")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--model", help="What is served (default: what the engine calls it, where that is one of the catalogue).")
@click.option(
    "--on",
    "on",
    metavar="MACHINE",
    help="Whose roofs apply: a catalogue id, profile.json, machine.toml, measured:ID or `here` (default: rates alone).",
)
@format_options
@counts("tp", "ep")
@click.option(
    "--dp", type=click.IntRange(1), help=f"{SAME['dp'][:-1]}, where a target adds them up without telling them apart."
)
@counts("pp", "gpus-per-node")
@LINK
@click.option("--interval", default="5s", show_default=True, help="Time between two scrapes.")
@click.option("--once", is_flag=True, help="Two scrapes an interval apart, then one answer; of a recording, its end.")
@click.option("--record", "recording", type=Named(), help="Append every page to this .jsonl file.")
@access_options
@out_option
@lang
@json_flag
def command(
    targets: tuple[str, ...], model: str | None, on: str | None, interval: str, once: bool, recording: Path | None,
    timeout: str, token_env: str | None, token_file: Path | None, ca_file: Path | None, out: Path | None, lang: str,
    as_json: bool, **asked: Any,
) -> int:  # fmt: skip
    """How is my engine doing? Tokens/s, TTFT, TPOT, MBU, MFU against the roofs; floor, estimate, gap; what to change.

    TARGET is the URL of an engine's metrics (vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, DCGM's exporter; without a
    path, /metrics), or a recording that --record wrote. Ctrl-C ends it.
    """
    from rooflens.api.live import Judge, answered
    from rooflens.live.fetch import Access

    judge = Judge(model, on, **{name: value for name, value in asked.items() if value is not None})
    files = [Path(one) for one in targets if _is_recording(one)]
    if out is not None and not once:
        raise RooflensError("--out writes one answer: give --once too")
    if files:
        _only_files(files, targets, recording)
        states = _replayed(files[0], judge)
    else:
        access = Access(
            _seconds(timeout, "timeout"), token_env=token_env, ca_file=None if ca_file is None else str(ca_file),
            token_file=None if token_file is None else str(token_file),
        )  # fmt: skip
        states = _asked(targets, access, judge, _seconds(interval, "interval"), recording, once=once)
    if not once:
        return _shown_on(states, lang, as_json=as_json)
    last = _last(states)
    if out is not None:
        artefacts.write_json(answer_file(out, "watch"), last, _schema())
    emit(artefacts.to_json(encode(last), _schema()) if as_json else _text(last, lang))
    answered(last)
    return 0


def _schema() -> str:
    from rooflens.telemetry.record import SCHEMA

    return SCHEMA


def _is_recording(target: str) -> bool:
    return "://" not in target and (target.endswith(".jsonl") or Path(target).is_file())


def _only_files(files: list[Path], targets: tuple[str, ...], recording: Path | None) -> None:
    if len(targets) > 1:
        raise RooflensError("a recording is played alone: name one file, or URLs")
    if recording is not None:
        raise RooflensError(f"{files[0]} is a recording already: leave --record away")


def _seconds(text: str, name: str) -> float:
    """`5s` in seconds. Raises RooflensError naming the option."""
    try:
        found = parse(text, "s")
    except RooflensError as why:
        raise RooflensError(f"--{name}: {why}") from None
    if not SHORTEST_S <= found <= LONGEST_S:
        raise RooflensError(f"--{name} {text}: between {SHORTEST_S:g} s and {LONGEST_S:g} s")
    return found


def _asked(
    urls: tuple[str, ...], access: Access, judge: Judge, interval_s: float, recording: Path | None, *, once: bool
) -> Iterator[Watch]:
    """All targets, once an interval."""
    from rooflens.api.live import target
    from rooflens.live.cycles import Targets, cycles
    from rooflens.live.fetch import target as url
    from rooflens.live.recording import append
    from rooflens.telemetry.watch import Watch

    access.headers()  # a token that is not there is said before anything is asked
    keep = (lambda page: append(recording, page)) if recording is not None else (lambda page: None)
    followed = Targets([url(one) for one in urls], access, keep)
    for cycle in cycles(followed, interval_s, 2 if once else None, len(urls)):
        yield Watch(tuple(target(seen, judge, levers=True) for seen in cycle.seen))


def _replayed(file: Path, judge: Judge) -> Iterator[Watch]:
    """The targets of a recording, after each of its pages."""
    from rooflens.api.live import watched
    from rooflens.telemetry.watch import Watch

    known: dict[str, Target] = {}
    for one in watched(file, judge, levers=True):
        known[one.url] = one
        yield Watch(tuple(known.values()))


def _last(states: Iterator[Watch]) -> Watch:
    """The last of them; of a target whose last page failed after good ones, the failure stands. Raises on none."""
    last = None
    for last in states:  # noqa: B007 - only the last is wanted
        pass
    if last is None:
        raise RooflensError("the recording holds no page")
    return last


def _shown_on(states: Iterator[Watch], lang: str, *, as_json: bool) -> int:
    """Every state as it comes, until Ctrl-C or the end; 1 when no target ever answered."""
    heard = False
    try:
        with _drawing(as_json=as_json) as draw:
            for state in states:
                heard = heard or any(one.failed is None for one in state.targets)
                draw(_line(state) if as_json else _text(state, lang))
    except KeyboardInterrupt:
        say("")
    return 0 if heard else 1


@contextmanager
def _drawing(*, as_json: bool) -> Iterator[Callable[[str], None]]:
    """In its place on a terminal, else one below the other."""
    if as_json or not sys.stdout.isatty() or not colour():
        with nullcontext():
            yield emit_now
        return
    from rooflens.present.live import screen

    with screen() as draw:
        yield draw


def emit_now(text: str) -> None:
    """A state below the last one, at once, also into a pipe."""
    emit(text)
    sys.stdout.flush()


def _line(state: Watch) -> str:
    return json.dumps({"schema": _schema(), **encode(state)}, ensure_ascii=False, allow_nan=False)


def _text(state: Watch, lang: str) -> str:
    from rooflens.cli.watch_shown import shown

    return "\n\n".join(shown(one, lang) for one in state.targets)
