"""What the pages of docs/ quote: command lines, Python and tables, run as the pages are written (`make docs-write`).

A page begins with `import sys; sys.path.insert(0, "tools")` in its first cog mark and takes from here what it needs.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

WIDTH = 150  # characters of a quoted line; what is longer is cut, as a narrow terminal does
NAMES: dict[str, Any] = {}  # what the sessions of one page have named


def printed(line: str, room: Mapping[str, str] | None = None) -> str:
    """What `rooflens ...` prints on standard output, run here by the same program; errors as its one sentence.

    room: it runs in an empty folder with these files, each the text given or a copy of the file of that name.
    """
    from rooflens.cli import main

    out, err = io.StringIO(), io.StringIO()
    into = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with _inside(room), into[0], into[1], contextlib.suppress(SystemExit):
        main(shlex.split(line)[1:])
    return out.getvalue() or err.getvalue()


@contextlib.contextmanager
def _inside(room: Mapping[str, str] | None) -> Iterator[None]:
    if room is None:
        yield
        return
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, what in room.items():
            held = (here / what).read_bytes() if "\n" not in what else what.encode()
            (Path(folder) / name).write_bytes(held)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def show(
    line: str,
    first: int | None = None,
    last: int | None = None,
    room: Mapping[str, str] | None = None,
    *,
    wrap: bool = False,
    hide: str = "",
) -> None:
    """A command and its output, of which only the first or the last lines where it is long.

    wrap: long lines are sentences, so they go on below. hide: a pattern of what is another figure on another day.
    """
    whole = re.sub(hide, "...", printed(line, room)) if hide else printed(line, room)
    broken = (
        textwrap.wrap(one, WIDTH, break_on_hyphens=False) or [""] if wrap else [one] for one in whole.splitlines()
    )
    lines = [one[:WIDTH].rstrip() for several in broken for one in several]
    while lines and not lines[-1]:
        lines.pop()
    ends = lines[-last:] if last else []
    if first is not None and len(lines) > first + len(ends):
        lines = [*lines[:first], "...", *ends]
    elif first is None and last is not None and len(lines) > last:
        lines = ["...", *ends]
    print("```console\n$ " + "\n".join([line, *lines]) + "\n```")


def begin() -> None:
    """A new page: it knows no names of the page before."""
    NAMES.clear()


def session(text: str) -> None:
    """Python as a person would type it, with what it answers; tests run the same as a doctest."""
    said = []
    for node in ast.parse(text).body:
        source = ast.get_source_segment(text, node) or ""
        first, *more = source.splitlines()
        said += [f">>> {first}", *(f"... {line}" for line in more)]
        said += _answer(node, source)
    print("```python\n" + "\n".join(said) + "\n```")


def _answer(node: ast.stmt, source: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if isinstance(node, ast.Expr):
            value = eval(source, NAMES)  # noqa: S307 - the page's own words
            if value is not None:
                print(repr(value))
        else:
            exec(source, NAMES)  # noqa: S102 - the same
    return out.getvalue().splitlines()


def options(verb: str) -> None:
    """A verb's arguments and options as a table, from the verb itself; of a verb with verbs of its own, each one's."""
    import click

    from rooflens.cli import group

    context = click.Context(group)
    command = group.get_command(context, verb)
    if command is None:
        raise LookupError(verb)
    if not isinstance(command, click.Group):
        _options(command)
        return
    for name in command.list_commands(context):
        under = command.get_command(context, name)
        if under is not None:
            print(f"### `rooflens {verb} {name}`\n\n{(under.help or '').splitlines()[0]}\n")
            _options(under)
            print()


def _options(command: Any) -> None:
    import click

    print("| option | is |\n| --- | --- |")
    for parameter in command.params:
        record = parameter.get_help_record(click.Context(command))
        if record:
            name, said = record
            print(f"| `{_cell(name).replace(' RANGE', '')}` | {_cell(said)} |")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") or "-"


if __name__ == "__main__":
    show(shlex.join(["rooflens", *sys.argv[1:]]))
