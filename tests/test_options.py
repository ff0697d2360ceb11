"""The same flag means the same on every verb: one kind of value and one meaning, or an exception with its reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

import rooflens
from rooflens.cli.options import SAME, Named
from rooflens.cli.page import opened
from tests.commands import commands

# How the help of a flag begins wherever it stands; what follows is the verb's own (its default, where it applies).
BEGINS = {
    **{f"--{name}": text.rstrip(".") for name, text in SAME.items()},
    "--acceptance": "Share of drafted tokens kept",
    "--batch": "Sequences",
    "--explain": "Show rows, formula",
    "--fail-below": "Exit 1 ",
    "--kv": "Stored format of the KV cache",
    "--weights": "Stored format of weights",
    "--measured-tokens-per-s": "What a clock said, as tokens/s over the batch",
    "--phase": "decode",
    "--plot": "Draw ",
    "--prompt": "New tokens a sequence in prefill",
    "--quick": "A shorter look",
    "--full": "As long as it takes",
    "--links": "Also links",
    "--seed": "Of ",
}
# (flag, command): why its help says something else of the same thing
OTHER_WORDS = {
    ("--budget-s", "fleet measure"): "each node has the budget",
    ("--device", "fleet measure"): "the same on every node",
    ("--tp", "fleet report"): "devices of one of many groups",
    ("--pp", "fleet report"): "devices of one of many groups",
    ("--link", "bench"): "the figures of a benchmark are of one link",
    ("--output", "plan"): "every request of the users has this answer, so decode is asked for by it",
    ("--prompt", "plan"): "every request of the users has this prompt",
    ("--tpot", "plan"): "a target", ("--tpot", "sweep query"): "the same as a filter",
    ("--ttft", "plan"): "a target", ("--ttft", "sweep query"): "the same as a filter",
    ("--ray", "sweep"): "`local` starts one here", ("--ray", "fleet measure"): "nodes are measured where they are",
    ("--top", "kernels"): "what the table has rows of", ("--top", "sweep query"): "what the table has rows of",
}  # fmt: skip
OWN_WORDS = {
    "--model": "a model of the catalogue; each verb says what it does with it",
    "--on": "a machine; each verb says what it is needed for and what stands in for it",
    "--out": "what is written, and never over anything else; each verb says what that is",
    "--tolerance": "what still counts as equal; each verb compares something else",
}  # fmt: skip
LOAD = ("--batch", "--context", "--phase")
# (flag, command): why it takes another kind of value
OTHER_KINDS = {
    **{(flag, name): "a page opens at one load" for flag in LOAD for name in ("serve", "page")},
    ("--batch", "kernels"): "a run had one batch", ("--context", "kernels"): "a run had one context",
    ("--batch", "fleet report"): "one load is priced", ("--context", "fleet report"): "one load is priced",
    ("--context", "ceilings"): "a table has one context", ("--context", "claim"): "a claim is tried at one context",
}  # fmt: skip
SAYS_NOTHING = {("--for", "advise")}  # its choices say it


H100 = "h100-sxm5-80gb"
BEYOND = {  # verbs that take a model and a context, with what else they need
    **dict.fromkeys(("place", "predict", "advise", "ceilings"), ("llama-2-7b", "--on", H100)),
    "claim": (H100, "a100-sxm4-80gb", "--times", "2", "--model", "llama-2-7b"),
    "page": ("llama-2-7b", "-o", "beyond.html"),
}


@pytest.mark.parametrize("verb", BEYOND)
def test_every_verb_refuses_more_positions_than_the_model_was_made_for(verb, cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    told = cli(verb, *BEYOND[verb], "--context", "4097")
    assert (told.code, told.out) == (2, "")
    assert "llama-2-7b was made for 4096 positions, and 4097 are asked for; ask for a shorter context" in told.err
    assert not list(tmp_path.iterdir())


def test_the_usual_context_is_one_and_never_beyond_the_model():
    for name, most in (("llama-2-7b", 2048), ("gpt2", 1024)):  # gpt2 was made for 1024 positions
        assert rooflens.place(name, H100).step["context"] == most
        assert rooflens.place(name, H100, phase="prefill").step["tokens"] == most
        assert rooflens.predict(name, H100).step["context"] == most
        assert opened({"model": name})[0].context == most
    said = rooflens.claim(H100, "a100-sxm4-80gb", times=2)
    assert said == rooflens.claim(H100, "a100-sxm4-80gb", times=2, context=2048)


def options() -> dict[str, dict[str, click.Option]]:
    """Every option by its long name, and by the command that has it."""
    found: dict[str, dict[str, click.Option]] = defaultdict(dict)
    for name, command in commands().items():
        for param in command.params:
            if isinstance(param, click.Option):
                found[param.opts[0]][name] = param
    return found


def several() -> dict[str, dict[str, click.Option]]:
    return {flag: where for flag, where in options().items() if len(where) > 1}


def kind(option: click.Option) -> str:
    """What it takes: a switch, a number, one of some words, a path or text. Bounds may differ."""
    if option.is_flag:
        return "switch"
    if isinstance(option.type, (Named, click.Path)):
        return "path"
    if isinstance(option.type, click.Choice):
        return f"one of {', '.join(map(str, option.type.choices))}"
    return option.type.name.removesuffix(" range")


def told() -> Iterator[tuple[str, str, str]]:
    for flag, where in several().items():
        for name, option in where.items():
            yield flag, name, option.help or ""


@pytest.mark.parametrize("flag", several())
def test_a_flag_takes_one_kind_of_value(flag: str) -> None:
    kinds = {kind(option) for name, option in several()[flag].items() if (flag, name) not in OTHER_KINDS}
    assert len(kinds) <= 1, {name: kind(option) for name, option in several()[flag].items()}


@pytest.mark.parametrize("flag", several())
def test_a_flag_has_one_meaning(flag: str) -> None:
    helps = {
        n: text for f, n, text in told() if f == flag and (f, n) not in {**OTHER_WORDS, **dict.fromkeys(SAYS_NOTHING)}
    }
    if flag in OWN_WORDS:
        assert all(helps.values())
    elif flag in BEGINS:
        assert {n: text for n, text in helps.items() if not text.startswith(BEGINS[flag])} == {}
    else:
        assert len(set(helps.values())) <= 1, helps


@pytest.mark.parametrize("flag", several())
def test_a_flag_has_one_short_form(flag: str) -> None:
    assert len({tuple(option.opts[1:]) for option in several()[flag].values()}) == 1


def test_every_option_says_what_it_is() -> None:
    silent = {(flag, name) for flag, where in options().items() for name, one in where.items() if not one.help}
    assert silent - SAYS_NOTHING == set()


def test_an_exception_is_of_something_that_is_there() -> None:
    every = {(flag, name) for flag, where in options().items() for name in where}
    assert {*OTHER_WORDS, *OTHER_KINDS, *SAYS_NOTHING} - every == set()
    assert {*BEGINS, *OWN_WORDS} - options().keys() == set()


@pytest.mark.parametrize(("flag", "short"), [("--out", "-o")])
def test_short_forms_are_few(flag: str, short: str) -> None:
    every = {
        (option.opts[0], other)
        for where in options().values()
        for option in where.values()
        for other in option.opts[1:]
    }
    assert every == {(flag, short)}
