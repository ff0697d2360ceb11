"""What Tab offers for a word: verbs, chips, models, formats, engines, problems. Loaded only when a shell asks.

Nothing is decoded for it: chips and models are offered by the names of their tables and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

Offer = Callable[[], Iterable[tuple[str, str]]]  # names, each with what it is


def _machines() -> Iterable[tuple[str, str]]:
    from rooflens.catalogue.store import entries

    return [("here", "the last trusted run of this machine"), *((entry.id, entry.name) for entry in entries())]


def _models() -> Iterable[tuple[str, str]]:
    from rooflens import models

    return [(name, "") for name in models.known()]


def _formats() -> Iterable[tuple[str, str]]:
    from rooflens.dtypes import DTYPES

    return [(name, f"{kind.bits:g} bits") for name, kind in DTYPES.items()]


def _engines() -> Iterable[tuple[str, str]]:
    from rooflens.catalogue.engines import engines

    return [(name, "") for name in engines()]


def _phases() -> Iterable[tuple[str, str]]:
    return [("decode", ""), ("prefill", "")]


def _problems() -> Iterable[tuple[str, str]]:
    from rooflens.practice.every import PROBLEMS

    return [(one.id, one.topic) for one in PROBLEMS.values()]


def _topics() -> Iterable[tuple[str, str]]:
    from rooflens.practice.every import TOPICS

    return [(topic, "") for topic in TOPICS]


def _figures() -> Iterable[tuple[str, str]]:
    """What may stand behind a machine's name."""
    from rooflens.dtypes import DTYPES
    from rooflens.roofline.machines import LATENCIES, LINKS

    named = (
        "memory",
        "capacity",
        "launch",
        "host_launch",
        *LINKS,
        *LATENCIES,
        *dict.fromkeys(d.math for d in DTYPES.values()),
    )
    return [(f"{name}=", "your own figure") for name in named]


OPTIONS: dict[str, Offer] = {
    "--on": _machines, "--to": _machines, "--compare": _machines, "--model": _models, "--weights": _formats,
    "--kv": _formats, "--math": _formats, "--engine": _engines, "--phase": _phases, "--problem": _problems,
    "--topic": _topics,
}  # fmt: skip
ARGUMENTS: dict[str, Offer] = {"model": _models, "models": _models, "first": _machines, "second": _machines}
VERBS_ON_A_NAME: dict[str, Offer] = {"machines": _machines, "models": _models}


class Names(click.ParamType):  # type: ignore[type-arg]  # older ones take none
    """Text with names that can be offered, several with commas between, and files where none begins so.

    behind: what is offered behind the comma, where that is no other name.
    """

    name = "text"

    def __init__(self, offer: Offer, behind: Offer | None = None) -> None:
        self.offer, self.behind = offer, behind or offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so."""
        before, comma, begun = incomplete.rpartition(",")
        known = (self.behind if comma else self.offer)()
        found = [
            CompletionItem(f"{before}{comma}{name}", help=what or None)
            for name, what in known
            if name.startswith(begun)
        ]
        return found or [CompletionItem(incomplete, type="file")]


def offering(verb: str, command: click.Command) -> click.Command:
    """The command, its words with names that a shell can offer."""
    for param in command.params:
        offer = _of(verb, param)
        if offer is not None and isinstance(param.type, click.types.StringParamType):
            single = param.metavar == "MACHINE" or verb in ("machines", "claim")
            param.type = Names(offer, _figures if offer is _machines and single else None)
    return command


def _of(verb: str, param: click.Parameter) -> Any:
    if isinstance(param, click.Argument):
        return VERBS_ON_A_NAME.get(verb) if param.name == "name" else ARGUMENTS.get(param.name or "")
    return next((OPTIONS[name] for name in param.opts if name in OPTIONS), None)
