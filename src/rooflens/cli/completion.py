"""`rooflens completion`: what a shell needs to complete verbs, options, chips and models."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from rooflens import artefacts
from rooflens.cli import COMPLETING
from rooflens.cli.options import json_flag, lang
from rooflens.cli.printing import emit, headed
from rooflens.present.words import say

SCHEMA = "rooflens/completion/1"
PROGRAM = "rooflens"
SHELLS = {  # where a shell reads a line when it starts, and the line
    "bash": ("~/.bashrc", 'eval "$(rooflens completion bash)"'),
    "zsh": ("~/.zshrc", 'eval "$(rooflens completion zsh)"'),
    "fish": ("~/.config/fish/config.fish", "rooflens completion fish | source"),
}

MENDED = {  # of Click's scripts: what stands there, and what is meant
    "bash": (  # a word that ends in "=" goes on
        ("    return 0\n", "    [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace\n    return 0\n"),
    ),
    "zsh": (  # the same; and a shell whose start-up file never asked for completions asks for them
        ("    local -a response\n", "    local -a response close\n"),
        ("    done\n", "    done\n    [[ $key == *= ]] && close=(-S '')\n"),
        (" -U\n", ' -U "${close[@]}"\n'),
        ("    compdef _", "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n    compdef _"),
    ),
    "fish": (('(string split ","', '(string split --max 1 ","'),),  # a comma in a word is kept
}


@click.command("completion", epilog="Example:  rooflens completion bash")
@click.argument("shell", required=False, type=click.Choice(list(SHELLS)))
@lang
@json_flag
def command(shell: str | None, lang: str, as_json: bool) -> None:
    """How do I complete words with Tab? Verbs, options, chips, models and formats, in bash, zsh and fish.

    Prints what the shell reads; without SHELL, the line to put into its start-up file. bash needs 4.4 or newer.
    """
    if as_json:
        asked = [shell] if shell else list(SHELLS)
        scripts = [
            {"shell": one, "file": SHELLS[one][0], "line": SHELLS[one][1], "script": _script(one)} for one in asked
        ]
        emit(artefacts.to_json({"shells": scripts}, SCHEMA))
    elif shell:
        emit(_script(shell))
    else:
        rows = [[one, *where] for one, where in SHELLS.items()]
        emit(headed("completion", ["shell", "file", "line"], rows, lang) + "\n\n" + say("completion.after", lang))


def _script(shell: str) -> str:
    """Click's own, which asks this program for every word, mended."""
    kind = get_completion_class(shell)
    if kind is None:  # a Click that no longer knows it
        raise click.UsageError(f"this version of click has nothing for {shell}")
    made = kind(click.Group(PROGRAM), {}, PROGRAM, COMPLETING)
    script = str(made.source_template % made.source_vars()).strip()
    for stands, meant in MENDED[shell]:
        script = script.replace(stands, meant)
    return script
