"""Options that mean the same on every verb, and the lists and ranges they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from rooflens.cli.kept import keeping
from rooflens.errors import RooflensError, Unknown
from rooflens.models.lengths import DEFAULT_TOKENS
from rooflens.present.words import LANGUAGES
from rooflens.sweep.sizes import MOST_VALUES
from rooflens.sweep.sizes import sizes as spelled
from rooflens.workload import Phase

F = Callable[..., Any]
MOST_POINTS = MOST_VALUES
MOST_RATIO = 1.5  # a measured ratio may pass 1 a little, and that is a finding; 60 was meant as per cent

json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
lang = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    default="en",
    help="Language of words; JSON and errors keep theirs.",
)
on = click.option(
    "--on",
    "on",
    required=True,
    metavar="MACHINE",
    help="A catalogue id, profile.json, machine.toml or `here`; override ceilings: ID,memory=2.0TB/s,bf16=300TFLOP/s.",
)


def _machines(_: click.Context, __: click.Parameter, given: Sequence[str]) -> list[str] | None:
    """Each machine that is named, in order; None for none."""
    from rooflens.api.named import several

    return several([name for text in given for name in several(text, "machines")], "machines") if given else None


def machines(flag: str, about: str, name: str | None = None, *, required: bool = False) -> Callable[[F], F]:
    """Several machines, on every verb that takes them: with commas between, or the flag again."""
    return click.option(
        *filter(None, (flag, name)),
        multiple=True,
        required=required,
        metavar="MACHINES",
        callback=_machines,
        help=f"{about}: each as elsewhere, commas between, or {flag} again.",
    )


USUAL_TOKENS = f"{DEFAULT_TOKENS}, or all that the model has"  # what models.lengths.usual_tokens gives
# what a flag means on every verb that has it: their helps begin so
SAME = {
    "context": "Positions attended to",
    "tp": "Devices sharing each layer.",
    "ep": "Devices sharing the experts.",
    "dp": "Replicas sharing the batch.",
    "pp": "Stages sharing the layers.",
    "microbatches": "Parts of the batch that pass through the stages one behind another.",
    "gpus-per-node": "Devices on one scale-up link; what goes beyond takes the network (default: all are on it).",
    "link": "Link that all collectives use.",
    "routing-skew": "Zipf exponent of the experts' popularity; 0 is even.",
    "tokens": "New tokens a sequence in decode, when drafts are verified.",
    "acceptance": "Share of drafted tokens kept, with --tokens above 1.",
    "output": "Tokens generated behind --prompt: decode at the mean context, prompt + output / 2.",
    "math": "Format of the arithmetic, when not the stored one.",
}
LINKS = click.Choice(["nvlink", "pcie", "network"])
MASK = click.option(
    "--mask",
    type=click.Choice(["causal", "full"]),
    default="causal",
    show_default=True,
    help="Scores counted: causal, half of them, or full.",
)
ATTENTION = click.option(
    "--attention",
    type=click.Choice(["flash", "unfused", "fused-softmax"]),
    default="flash",
    show_default=True,
    help="How attention's kernels are built.",
)


class Named(click.Path):
    """A file or a folder that has a name: an empty one, as an unset variable of a shell leaves it, would mean here."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Raises UsageError naming the option."""
        if not value:
            self.fail("it is empty; name a file or a folder, or leave it out", param, ctx)
        return super().convert(value, param, ctx)


class Finite(click.FloatRange):
    """A number within bounds, and never nan or infinity, which no bound holds off."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises UsageError naming the option."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found

    def _describe_range(self) -> str:
        """The bounds as a help says them: nothing where there are none, of which click makes x<=None."""
        return "" if self.min is None and self.max is None else super()._describe_range()


def counts(*names: str, default: int | None = None) -> Callable[[F], F]:
    """Options that count, as every verb has them. Without a default, what is not said is not known."""

    def given(function: F) -> F:
        for name in reversed(names):
            option = click.option(
                f"--{name}", type=click.IntRange(1), default=default, show_default=True, help=SAME[name]
            )
            function = option(function)
        return function

    return given


LINK = click.option("--link", type=LINKS, help=SAME["link"])
SKEW = click.option("--routing-skew", type=Finite(min=0), default=0.0, show_default=True, help=SAME["routing-skew"])
SHARED = (  # whoever has a load takes these, and the page has a field of each name in its state
    counts("output"),
    MASK,
    ATTENTION,
    counts("tp", "ep", "dp", "pp", "microbatches", default=1),
    counts("gpus-per-node"),
    SKEW,
    counts("tokens", default=1),
    LINK,
)
ACCEPTANCE = click.option("--acceptance", type=Finite(0, 1), help=SAME["acceptance"])


def step_options(function: F) -> F:
    """The step: its phase, sizes and mask, how attention is built, and the devices that share it."""
    phase = click.option(
        "--phase", default="decode", show_default=True, help="decode, prefill, or both: decode,prefill."
    )
    return phase(load_options(function))


def load_options(function: F) -> F:
    """The same without a phase, for verbs that look at both."""
    for option in (
        click.option("--batch", default="1", show_default=True, help="Sequences: 16, 1,16 or 1:512."),
        click.option(
            "--context", help=f"{SAME['context']} (decode: default {USUAL_TOKENS}; prefill: prefix + prompt)."
        ),
        click.option(
            "--prompt", type=click.IntRange(1), help=f"New tokens a sequence in prefill (default {USUAL_TOKENS})."
        ),
        *SHARED,
    )[::-1]:
        function = option(function)
    return function


def out_option(function: F) -> F:
    """--out, which is never the file that was asked about."""
    option = click.option(
        "--out", "-o", type=Named(), help="Write the answer as JSON: a .json file, or a folder for it."
    )
    return option(keeping(function))


def answer_file(out: Path, verb: str) -> Path:
    """The file that --out means: itself, or VERB.json in a folder. Raises RooflensError for any other name."""
    if out.suffix == ".json" and not out.is_dir():
        return out
    if out.is_dir() or not out.suffix:
        return out / f"{verb}.json"
    raise RooflensError(f"--out {out}: name a .json file or a folder; the answer is JSON")


def format_options(function: F) -> F:
    """--weights, --kv, --math: the number formats."""
    for option in (
        click.option("--weights", help="Stored format of weights: bf16, fp8, int4, q4_k, '4.6 bits' ..."),
        click.option("--kv", help="Stored format of the KV cache."),
        click.option("--math", help=SAME["math"]),
    )[::-1]:
        function = option(function)
    return function


def sizes(text: str, name: str) -> list[float]:
    """`16`, `1,16` or `1:512` (doubling) or `1:512:1` (by steps) as numbers. Raises RooflensError naming the option."""
    try:
        return [float(value) for value in spelled(text)]
    except ValueError as error:
        raise RooflensError(f"--{name} {error}") from None


def ratios(texts: Sequence[str], name: str, known: Sequence[str]) -> dict[str, float]:
    """`("mbu=0.6",)` as names and ratios, each given once. Raises RooflensError naming the option."""
    found: dict[str, float] = {}
    for text in texts:
        key, _, value = text.partition("=")
        if key not in known:
            raise Unknown("ratio", key, known)
        if key in found:
            raise RooflensError(f"--{name}: {key} is given twice")
        found[key] = limit(value, f"--{name} {text!r}", key)
    return found


def limit(text: str, option: str, key: str) -> float:
    """`0.6` as the least that a ratio may be. Raises RooflensError naming the option."""
    return _ratio(text, f"{option}: write a ratio between 0 and {MOST_RATIO:g}, as {key}=0.6")


def phases(text: str) -> list[Phase]:
    """`decode,prefill` as a list of phases."""
    found = [part.strip() for part in text.split(",")]
    phases: list[Phase] = []
    for phase in found:
        if phase not in ("decode", "prefill"):
            raise RooflensError(f"--phase {phase!r}: expected decode, prefill or both, as decode,prefill")
        phases.append("decode" if phase == "decode" else "prefill")
    return phases


def _ratio(text: str, otherwise: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MOST_RATIO:
        raise RooflensError(otherwise)
    return value
