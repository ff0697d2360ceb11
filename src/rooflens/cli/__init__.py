"""The door: `rooflens VERB`. Verbs load when they are called; every error is a sentence, never a traceback."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from rooflens.errors import RooflensError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETING = "_ROOFLENS_COMPLETE"  # a shell that completes words asks with it

# verb -> (module, one sentence); help for all of them imports none of them
VERBS = {
    "lab": ("lab", "How fast is this machine, and where do LLM operators land on it?"),
    "measure": ("measure", "Measure this machine's ceilings: the first stage of the lab alone."),
    "plot": ("plot", "Draw the roofline of a profile or a lab: the last stage of the lab alone."),
    "machines": ("machines", "What is known about an accelerator: peaks, ridge points, memory ladder, sources."),
    "models": ("models", "What is known about a model: parameters, bytes, KV cache."),
    "place": ("place", "Where does each operator of a model land under the roofs of a machine?"),
    "ceilings": ("ceilings", "Tokens/s that nobody can beat at batch 1, models by machines."),
    "claim": ("claim", "Is it true, and for what? A vendor's figure or speed-up, taken apart."),
    "predict": ("predict", "How fast could a model be served, how fast will it be, and does it fit?"),
    "advise": ("advise", "Which change pays most, and where does it stop paying?"),
    "plan": ("plan", "Which machines, how many, and how shared meet a target?"),
    "sweep": ("sweep", "What would every combination do? Grids of a hundred million points, into Parquet."),
    "fit": ("fit", "Calibrate the estimates on measured points of your own."),
    "kernels": ("kernels", "What did my profiler really say? Kernels under their roofs, the run attributed."),
    "bench": ("bench", "What did my benchmark really say? Each figure against the ceiling it belongs to."),
    "watch": ("watch", "How is my engine doing? MFU and MBU against the roofs, beside TTFT and TPOT."),
    "export": ("export", "The same for many engines, as metrics for Prometheus."),
    "trend": ("trend", "The memory wall: how fast compute, bandwidth and their ratio grow a year."),
    "diff": ("diff", "Same, faster, slower or ambiguous? Compares two profiles ceiling by ceiling."),
    "doctor": ("doctor", "Is this node healthy, and what does it cost? Links, clocks, power, errors, judged."),
    "fleet": ("fleet", "Which of my machines is slow, why, and what does that cost? Many measured, one report."),
    "serve": ("serve", "The same to look at and to drag: a page of this machine, in a browser."),
    "page": ("page", "The same page as one file that works offline, to share."),
    "practice": ("practice", "Can I do it by hand? Problems asked, answers checked with their units, explained."),
    "completion": ("completion", "How do I complete words with Tab? For bash, zsh and fish."),
}


class Verbs(click.Group):
    """A group whose commands are imported when they are called. verbs: its table, main job first."""

    def __init__(self, *about: Any, verbs: Mapping[str, tuple[str, str]] = VERBS, **more: Any) -> None:
        super().__init__(*about, **more)
        self.verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, main job first."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb itself, imported now. Raises UsageError with near matches for a name that is none."""
        if cmd_name not in self.verbs:
            from rooflens.errors import near

            close = near(cmd_name, self.verbs)
            hint = f"did you mean {close[0]!r}?" if close else f"verbs are {', '.join(self.verbs)}"
            raise click.UsageError(f"no such verb {cmd_name!r}; {hint}", ctx)
        command = _loaded(self.verbs[cmd_name][0])
        if COMPLETING not in os.environ:
            return command
        from rooflens.cli.completing import offering

        return offering(cmd_name, command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin so, from the table, and options as they are."""
        from click.shell_completion import CompletionItem

        begun = [name for name in self.verbs if name.startswith(incomplete)]
        offered = [CompletionItem(name, help=self.verbs[name][1]) for name in begun]
        return [*offered, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """The verb's answer, or 141 when nobody reads it any more: click would exit 1, which here means no."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return 141

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, from the table."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in self.verbs.items()])


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
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done, 1 the answer is no, 2 wrong use or interrupted. The folder of a file that is written "
    "is made where it is not there.\n\n"
    "Example:  rooflens place llama-2-7b --on a100-sxm4-80gb --batch 16",
)
@click.option("--version", is_flag=True, help="Show the version and exit; with --json also what it runs on.")
@click.option("--json", "as_json", is_flag=True, help="Of --version: one JSON object on standard output.")
@click.pass_context
def group(ctx: click.Context, version: bool, as_json: bool) -> None:
    """How fast could an LLM run on this machine, how fast does it, what stands between, and what to change."""
    if version:
        from rooflens.cli.version import told

        click.echo(told(as_json=as_json))
        ctx.exit()
    if as_json:
        raise click.UsageError("--json stands behind a verb, or beside --version", ctx)


def main(arguments: list[str] | None = None) -> None:
    """Runs one command line and exits: 0 done, 1 the answer is no, 2 wrong use or interrupted.

    141, as shells say it, when the reader of our output went away.
    """
    _open_streams()
    try:
        sys.exit(_run(arguments))
    finally:
        _settle(sys.stdout)
        _settle(sys.stderr)


def _open_streams() -> None:
    """A closed stream swallows what it is told; a character that a stream cannot write is escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
        elif isinstance(stream, io.TextIOWrapper):
            if isinstance(stream.buffer, io.RawIOBase):  # PYTHONUNBUFFERED: what a write leaves over would be lost
                stream = io.TextIOWrapper(io.BufferedWriter(stream.buffer), stream.encoding, line_buffering=True)
                setattr(sys, name, stream)
            stream.reconfigure(errors="backslashreplace")


def _settle(stream: TextIO) -> None:
    """What could not be written is dropped, so that the interpreter does not try again as it leaves."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: list[str] | None) -> int:
    try:
        code: Any = group.main(args=arguments, prog_name="rooflens", standalone_mode=False)
        sys.stdout.flush()
    except RooflensError as error:
        return _say(str(error), error.exit_code)
    except click.ClickException as error:
        return _say(_complaint(error), 2, named=type(error).__name__ != "NoArgsIsHelpError")
    except (click.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # a module that was compiled onto a full disk
            return _say(f"a file of this installation is cut off ({error.__cause__}): install it again", 2)
        return _say("stopped; files written so far are whole; start it again to finish", 2)
    except MemoryError:
        return _say("out of memory; try smaller sizes (--quick)", 2)
    except BrokenPipeError:  # the reader of our output went away, as `| head -1` does
        return 141
    except OSError as error:  # files have their own sentences, so this was the output
        do = "find" if error.errno == errno.ENAMETOOLONG else "write"
        return _say(f"cannot {do} {error.filename or 'the output'}: {(error.strerror or str(error)).lower()}", 2)
    return code if isinstance(code, int) else 0


def _complaint(error: click.ClickException) -> str:
    """What click says, and of what is missing or too much, where to see it done right."""
    said = error.format_message()
    stray = isinstance(error, click.NoSuchOption) and not error.possibilities
    at_a_loss = stray or isinstance(error, click.MissingParameter) or said.startswith("Got unexpected extra")
    if at_a_loss and isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{said.rstrip('.')}; {error.ctx.command_path} --help ends with an example"
    return said


def _say(sentence: str, code: int, *, named: bool = True) -> int:
    if sentence:
        with suppress(OSError):  # nobody can be told
            click.echo(f"rooflens: {sentence}" if named else sentence, err=True)
    return code
