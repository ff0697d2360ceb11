"""Whatever stands on a command line, an answer or a sentence comes of it: any option, and values of every kind."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.commands import commands
from tests.rooms import ROOMS, needed
from tests.surroundings import files, quick, ran

NUMBERS = (
    "nan", "inf", "-inf", "-1", "0", "-0.0", "1", "2", "7", "1e309", "1e-320", "1e30", "0.5", "1_000", "٣", "0x10",
    "99999999999999999999", "1" * 5000, "1,2", "1:64", "64:1", "1:9:0", "1:9:nan", "1:1e18:1",
)  # fmt: skip
WORDS = (
    "", " ", ",", "a,b", "=", ":", "a=b", "a:b", "a=b,c", "--", "-", "%s", "{}", "\n", "\t", "\x1b[31m", "é", "漢字",
    "\u202e", "\U0001f600", "\udcff\udcfe", "x" * 4096, "$HOME", "~", "*", "'", '"', "bf16", "fp8", "4.6 bits",
    "0 bits", "5s", "-5s", "1e400s", "5 GB", "1e400GB", "-1B", "mbu=0.6", "mfu=nan", "b=", "=1", "model,machine",
    "here", "l4", "l4,memory=2TB/s", "l4,bf16=0", "l4,bf16=nanTFLOP/s", "mi250x/9", "measured:", "measured:x", "cpu:1",
    "gemm:M=1,K=2,N=3", "llama-3.1-8b", "mixtral-8x7b", "fp16,fp16", "http://[", "http://a:b", "127.0.0.1:x", "vllm",
    "[::1]:99999", "p99", "99", "ttft", "batch<4", "tpot_s<=1ms", "fake:x:y", "fake::clock=2@99",
)  # fmt: skip
PATHS = (
    "", ".", "/dev/null", "/dev/full", "/proc/self/mem", "/proc/nowhere/x.json", "no/such/x.json", "x" * 300, "-.json",
    "x" * 300 + ".json", "\udcff.json", "é.png", "a\nb.svg", "room.json/x.json", "absent.csv", "f.gif", "~/x.json",
)  # fmt: skip
FEW = {"--workers": 4, "--nodes": 64, "--count": 99, "--users": 5000}  # what a large number of would take long to do
LONG = {"advise", "lab", "page", "plot", "trend"}  # which draw, or price hundreds of changes


def examples(name: str) -> settings:
    """How often a verb is tried: less where it takes long."""
    most = settings.default.max_examples // (30 if name in LONG else 8)
    return settings(max_examples=max(most, 3), suppress_health_check=[HealthCheck.too_slow])


def values(param: click.Parameter) -> st.SearchStrategy[str]:
    """What may be said of an option or an argument, most of it wrong."""
    short = st.text(st.characters(blacklist_characters="\0", blacklist_categories=()), max_size=6)
    if isinstance(param.type, click.Choice):
        return st.sampled_from([*map(str, param.type.choices), "", "x", *map(str.upper, param.type.choices)])
    if isinstance(param.type, click.Path):
        return st.sampled_from(PATHS)
    if isinstance(param.type, (click.IntRange, click.FloatRange)):
        most = FEW.get(param.opts[0], 1 << 70)
        small = st.integers(-2, most).map(str)
        return small if param.opts[0] in FEW else st.sampled_from(NUMBERS) | small | st.floats().map(str)
    return st.sampled_from(WORDS + NUMBERS + PATHS) | short


@st.composite
def lines(draw: st.DrawFn, name: str) -> list[str]:
    """The quick line with a few options of the verb set to anything; at times with other arguments."""
    options = [param for param in commands()[name].params if isinstance(param, click.Option)]
    arguments = [param for param in commands()[name].params if isinstance(param, click.Argument)]
    line = quick(name)
    for option in draw(st.lists(st.sampled_from(options), max_size=3)):
        flag = draw(st.sampled_from(option.opts))
        line += [flag] if option.is_flag else [flag, draw(values(option))]
    if arguments and draw(st.booleans()):
        place = len(name.split()) + draw(st.integers(0, len(arguments) - 1))
        line[place] = draw(values(arguments[0]))
    return line


@pytest.mark.parametrize("name", commands())
def test_any_value_of_any_option_is_answered_or_refused_in_a_sentence(room: Path, name: str) -> None:
    needed(name)
    ROOMS.get(name, lambda: None)()

    @examples(name)
    @given(line=lines(name))
    def tried(line: list[str]) -> None:
        said = ran(line)
        assert said.code in (0, 1, 2), said
        assert "Traceback" not in said.err
        assert said.code != 2 or "rooflens: " in said.err, said

    tried()
    assert [path for path in files(room) if path.name.startswith(".")] == []
