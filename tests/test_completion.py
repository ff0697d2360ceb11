"""Tab in a shell: verbs, options, chips, models and formats, quickly; and what --version tells."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rooflens import __version__, models
from rooflens.catalogue.store import ids
from rooflens.cli import COMPLETING, VERBS, Verbs, group
from rooflens.cli.completing import OPTIONS, Names, offering
from rooflens.cli.completion import SHELLS
from rooflens.practice.every import PROBLEMS, TOPICS

HEAVY = {"numpy", "matplotlib", "rich", "torch", "ray", "pyarrow", "starlette"}


def asked(words: str, last: str = "pass") -> subprocess.CompletedProcess[str]:
    """What the program answers a shell that completes the last of these words; `last` is run as it ends."""
    count = len(shlex.split(words)) - (not words.endswith(" "))
    env = {**os.environ, COMPLETING: "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    begin = "import sys; from rooflens.__main__ import main; sys.argv = ['rooflens']"
    program = f"{begin}\ntry: main()\nfinally: {last}"
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)


def offered(words: str) -> list[str]:
    done = asked(words)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line.startswith("plain,")]


def completing(monkeypatch, verb: str, param: str, incomplete: str) -> list[str]:
    """The same in this process, without a program for each word."""
    monkeypatch.setenv(COMPLETING, "bash_complete")
    context = click.Context(group)
    command = group.get_command(context, verb)
    assert command is not None
    found = next(p for p in command.params if p.name == param or param in p.opts)
    return [item.value for item in found.shell_complete(click.Context(command), incomplete) if item.type == "plain"]


def test_verbs_and_options_are_offered_from_the_table() -> None:
    assert offered("rooflens pl") == [verb for verb in VERBS if verb.startswith("pl")]
    assert offered("rooflens ") == list(VERBS)
    assert offered("rooflens place llama-3.1-8b --ph") == ["--phase"]
    assert offered("rooflens place llama-3.1-8b --mask ") == ["causal", "full"]


def test_chips_and_models_are_offered_by_the_names_of_the_catalogue(monkeypatch) -> None:
    assert offered("rooflens place llama-3.1-8b --on h100") == [id for id in ids() if id.startswith("h100")]
    assert completing(monkeypatch, "place", "--on", "") == ["here", *ids()]
    assert completing(monkeypatch, "predict", "model", "llama-3") == [
        m for m in models.known() if m.startswith("llama-3")
    ]
    assert completing(monkeypatch, "machines", "name", "mi300") == [id for id in ids() if id.startswith("mi300")]
    assert completing(monkeypatch, "models", "name", "gpt") == [m for m in models.known() if m.startswith("gpt")]
    assert completing(monkeypatch, "claim", "first", "t4") == ["t4"]


def test_several_names_go_on_behind_the_comma_and_one_machine_takes_figures(monkeypatch) -> None:
    assert "l4,a100-sxm4-80gb" in completing(monkeypatch, "ceilings", "--on", "l4,a100")
    assert completing(monkeypatch, "place", "--on", "l4,mem") == ["l4,memory="]
    assert completing(monkeypatch, "place", "--phase", "decode,") == ["decode,decode", "decode,prefill"]


def test_formats_engines_problems_and_topics_are_offered(monkeypatch) -> None:
    assert {"int4", "int8"} <= set(completing(monkeypatch, "place", "--weights", "int"))
    assert completing(monkeypatch, "predict", "--engine", "vl") == ["vllm"]
    assert completing(monkeypatch, "practice", "--problem", "kv") == [id for id in PROBLEMS if id.startswith("kv")]
    assert completing(monkeypatch, "practice", "--topic", "") == list(TOPICS)


def test_a_word_that_is_no_name_may_be_a_file() -> None:
    done = asked("rooflens place ./conf")
    assert (done.returncode, done.stdout) == (0, "file,./conf\n")


def test_every_option_that_takes_a_name_offers_some() -> None:
    for verb in VERBS:
        command = group.get_command(click.Context(group), verb)
        assert command is not None
        if not isinstance(command, Verbs):
            plain = [p for p in command.params if set(p.opts) & set(OPTIONS) and p.type is click.STRING]
            offering(verb, command)
            assert [p.name for p in plain if not isinstance(p.type, Names)] == []


@pytest.mark.parametrize("words", ["rooflens ", "rooflens place llama-3.1-8b --on h", "rooflens practice --problem "])
def test_a_tab_loads_nothing_heavy(words: str) -> None:
    done = asked(words, last="print(*sys.modules, file=sys.stderr)")
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "click" in loaded
    assert loaded & HEAVY == set()
    verbs = {name for name in done.stderr.split() if re.fullmatch(r"rooflens\.cli\.\w+", name)}
    assert len(verbs & {f"rooflens.cli.{module}" for module, _ in VERBS.values()}) <= 1


SCRIPTS = {
    "bash": 'eval "$(ROOFLENS completion bash)"; COMP_WORDS=(rooflens place x --on h100-sxm); COMP_CWORD=4; '
    "_rooflens_completion rooflens; echo ${COMPREPLY[*]}",
    "zsh": "compdef() { : }; _describe() { print -r -- $completions_with_descriptions }; "
    'eval "$(ROOFLENS completion zsh)"; words=(rooflens place x --on h100-sxm); CURRENT=5; _rooflens_completion',
    "fish": 'ROOFLENS completion fish | source; complete -C "rooflens place x --on h100-sxm"',
}


def in_shell(shell: str, line: str, home: Path) -> str:
    """What a shell that reads no start-up file prints of a line, with this rooflens on its path."""
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} here")
    program = home / "rooflens"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rooflens "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}", "HOME": str(home)}
    plain = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}[shell]
    done = subprocess.run([shell, *plain, line], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_itself_offers_the_chips(shell: str, tmp_path: Path) -> None:
    told = in_shell(shell, SCRIPTS[shell].replace("ROOFLENS", "rooflens"), tmp_path)
    assert {"h100-sxm5-80gb", "h100-sxm5-64gb"} <= set(re.findall(r"h100-sxm5-\d+gb", told))


STARTING = 'eval "$(rooflens completion zsh)"; print -r -- $_comps[rooflens]'


def test_the_line_of_zsh_is_enough_where_nothing_else_asked_for_completions(tmp_path: Path) -> None:
    assert in_shell("zsh", STARTING, tmp_path).split() == ["_rooflens_completion"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_figure_of_ones_own_is_typed_right_behind_its_equals_sign(shell: str, tmp_path: Path) -> None:
    line = SCRIPTS[shell].replace("h100-sxm", "h100-sxm5-80gb,mem").replace("ROOFLENS", "rooflens")
    taps = {"bash": 'compopt() { echo "$@"; }; ', "zsh": '_describe() { print -r -- "${(qq)@}" }; '}
    told = in_shell(shell, line.replace('eval "', taps[shell] + 'eval "', 1), tmp_path)
    assert {"bash": "-o nospace", "zsh": "'-U' '-S' ''"}[shell] in told


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_prints_what_the_shell_reads(run, shell: str) -> None:
    code, out, _ = run(f"completion {shell}")
    assert (code, COMPLETING in out, f"{shell}_complete" in out) == (0, True, True)
    found = json.loads(run("completion --json")[1])
    assert (found["schema"], [one["shell"] for one in found["shells"]]) == ("rooflens/completion/1", list(SHELLS))
    assert f"completion {shell}" in run("completion")[1]


def test_version_is_a_line_or_json_with_what_it_runs_on(run) -> None:
    assert run("--version")[1] == f"rooflens, version {__version__}\n"
    for line in ("--version --json", "--json --version"):
        found = json.loads(run(line)[1])
        assert found["schema"] == "rooflens/version/1"
        assert (found["version"], found["python"]) == (__version__, platform.python_version())
        assert {"platform", "implementation", "packages"} <= found.keys()
        assert found["packages"]["click"]
    assert found["schemas"] == {**found["schemas"], "place": 1, "practice": 1, "profile": 1, "version": 1}


def test_version_names_the_commit_of_a_checkout(run) -> None:
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists() or not shutil.which("git"):
        pytest.skip("this is no checkout")
    head = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert re.fullmatch("[0-9a-f]{40}", head.stdout.strip())
    assert len(json.loads(run("--version --json")[1])["git_commit"]) == 40


def test_json_belongs_to_a_verb_and_help_comes_without_a_verb(run) -> None:
    code, out, err = run("--json place llama-2-7b")
    assert (code, out, "behind a verb" in err) == (2, "", True)
    code, _, err = run("")
    assert (code, err.startswith("Usage: rooflens [OPTIONS] [COMMAND]")) == (2, True)
