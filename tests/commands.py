"""Every command of the program, those below a verb too, by the words it is called with."""

from __future__ import annotations

from functools import cache

import click

from rooflens.cli import VERBS, Verbs, group


@cache
def groups() -> dict[str, Verbs]:
    """Verbs that have verbs of their own."""
    return {verb: one for verb in VERBS if isinstance(one := _loaded(group, verb), Verbs)}


@cache
def commands() -> dict[str, click.Command]:
    """What answers: verbs, and what stands below those that are groups."""
    found: dict[str, click.Command] = {}
    for verb in VERBS:
        inner = groups().get(verb)
        if inner is None:
            found[verb] = _loaded(group, verb)
        else:
            found |= {f"{verb} {below}": _loaded(inner, below) for below in inner.verbs}
        if verb == "sweep":  # its first word may be `query`, see cli.sweep
            from rooflens.cli.sweep_query import command as query

            found["sweep query"] = query
    return found


def example(command: click.Command) -> str:
    """The command line that its help ends with."""
    last = (command.epilog or "").strip().splitlines()[-1]
    assert last.startswith("Example:  rooflens "), last
    return last.removeprefix("Example:  rooflens ")


def _loaded(of: click.Group, name: str) -> click.Command:
    found = of.get_command(click.Context(of), name)
    assert found is not None
    return found
