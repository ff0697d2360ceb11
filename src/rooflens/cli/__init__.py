"""The door: `rooflens VERB`. Verbs load when they are called; every error is a sentence, never a traceback."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

import click

from rooflens import __version__
from rooflens.errors import RooflensError

# verb -> (module, one sentence); help for all of them imports none of them
VERBS = {
    "lab": ("lab", "How fast is this machine, and where do LLM operators land on it?"),
    "measure": ("measure", "Measure this machine's ceilings: the first stage of the lab alone."),
    "plot": ("plot", "Draw the roofline of a profile or a lab: the last stage of the lab alone."),
    "machines": ("machines", "What is known about an accelerator: peaks, ridge points, memory ladder, sources."),
    "models": ("models", "What is known about a model: parameters, bytes, KV cache."),
    "place": ("place", "Where does each operator of a model land under the roofs of a machine?"),
    "diff": ("diff", "Same, faster, slower or ambiguous? Compares two profiles ceiling by ceiling."),
}


class Verbs(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, main job first."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb itself, imported now. Raises UsageError with near matches for a name that is none."""
        if cmd_name not in VERBS:
            from rooflens.errors import near

            close = near(cmd_name, VERBS)
            hint = f"did you mean {close[0]!r}?" if close else f"verbs are {', '.join(VERBS)}"
            raise click.UsageError(f"no such verb {cmd_name!r}; {hint}", ctx)
        return _loaded(VERBS[cmd_name][0])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, from the table."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in VERBS.items()])


def _loaded(module: str) -> click.Command:
    """The command of a verb. What its imports make lives to the end: the collector need not look at it again."""
    gc.disable()
    try:
        command: click.Command = import_module(f"rooflens.cli.{module}").command
    finally:
        gc.freeze()
        gc.enable()
    return command


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example:  rooflens place llama-2-7b --on a100-sxm4-80gb --batch 16",
)
@click.version_option(__version__, prog_name="rooflens")
def group() -> None:
    """How fast could an LLM run on this machine, how fast does it, what stands between, and what to change."""


def main(arguments: list[str] | None = None) -> None:
    """Runs one command line and exits: 0 done, 1 the answer is no, 2 wrong use, 130 interrupted."""
    try:
        sys.exit(_run(arguments))
    except BrokenPipeError:  # the reader of our output went away, as `| head -1` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _run(arguments: list[str] | None) -> int:
    try:
        code: Any = group.main(args=arguments, prog_name="rooflens", standalone_mode=False)
        sys.stdout.flush()
    except RooflensError as error:
        return _say(str(error), error.exit_code)
    except click.ClickException as error:
        return _say(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        return _say("stopped; files written so far are whole", 130)
    except MemoryError:
        return _say("out of memory; try smaller sizes (--quick)", 2)
    return code if isinstance(code, int) else 0


def _say(sentence: str, code: int) -> int:
    if sentence:
        click.echo(f"rooflens: {sentence}", err=True)
    return code
