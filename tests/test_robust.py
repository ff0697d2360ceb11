"""Every verb in surroundings that nobody wishes for: it answers or says a sentence, and breaks no file."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from test_observed_others import PREFILL, database

from rooflens.measure.backends import cpu_c
from rooflens.server import hiding
from tests.commands import commands
from tests.observed_files import packed
from tests.rooms import ROOMS, SAYS_NO, needed
from tests.surroundings import NO_PYC, REFUSED, Said, broken, files, largest_file, quick, ran, unread

EVERY = list(commands())
DOCUMENTED = {0, 1, 2}  # docs/cli.md


def furnished(name: str, room: Path) -> set[Path]:
    """The files that the verb is given."""
    needed(name)
    ROOMS.get(name, lambda: None)()
    return files(room)


def fine(said: Said, room: Path, before: set[Path], codes: set[int] = DOCUMENTED) -> None:
    assert "Traceback" not in said.err, said.err
    assert said.code in codes, said
    assert said.code != 2 or re.search(r"^rooflens: |\nrooflens: ", said.err), said
    assert broken(room, before) == []


def usual(name: str) -> int:
    return 2 if name in REFUSED else int(name in SAYS_NO)


@pytest.mark.parametrize("name", EVERY)
def test_without_a_home_a_temporary_folder_or_letters_it_answers_as_ever(
    room: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = furnished(name, room)
    (room.parent / "home").write_text("a file")
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdin", None)
    with largest_file(64 << 20):
        said = ran([*quick(name), "--lang", "vi"], encoding="ascii")
    fine(said, room, before, {usual(name)})


@pytest.mark.parametrize("name", EVERY)
def test_an_output_that_nobody_reads_or_nobody_can_keep(room: Path, name: str) -> None:
    before = furnished(name, room)
    fine(ran(quick(name), unread()), room, before, {*DOCUMENTED, 141})
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        fine(ran(quick(name), full), room, before)


WRITES = {"--out": "x.json", "--plot": "x.svg", "--csv": "x.csv", "--save-baseline": "x.json"}
OUT_AS = {"plot": "x.svg", "page": "x.html"}


@pytest.mark.parametrize("name", [name for name in EVERY if name not in REFUSED])
def test_folders_of_what_is_written_are_made_where_they_are_not_there(room: Path, name: str) -> None:
    furnished(name, room)
    written = {opt for param in commands()[name].params for opt in param.opts} & {*WRITES}
    line = quick(name)  # whose own places lose to those named behind
    for opt in written:
        line += [opt, f"new-{opt[2:]}/inner/{OUT_AS.get(name, WRITES[opt]) if opt == '--out' else WRITES[opt]}"]
    assert ran(line).code == usual(name)
    assert {opt for opt in written if list(Path(f"new-{opt[2:]}/inner").iterdir())} == written


@pytest.mark.parametrize("nbytes", [0, 3000])
@pytest.mark.parametrize("name", EVERY)
def test_a_full_disk_leaves_no_half_file(room: Path, name: str, nbytes: int) -> None:
    before = furnished(name, room)
    with largest_file(nbytes):
        said = ran(quick(name))
    fine(said, room, before)
    if files(room) == before and {"-o", "--plot"} & {*quick(name)}:
        assert said.code == 2


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nowhere a temporary file could go."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])


@pytest.mark.usefixtures("no_folder")
def test_where_nothing_can_be_kept_for_a_while_the_work_goes_on_without(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROOFLENS_LOCKS")
    monkeypatch.setattr("rooflens.measure.lock.COMMON", ("/nowhere",))
    assert ran(quick("measure")).code == 0
    assert re.search(r"^(no C compiler|the C kernel could not be built \(no usable)", cpu_c.load().why_not)
    assert hiding._places.__wrapped__().sub("", f"cannot read {room}/a.json") == "cannot read a.json"
    plain = database(room / "n.sqlite", kernels=[PREFILL])
    assert ran(["kernels", "n.sqlite"]).code == 0
    (room / "n.sqlite.gz").write_bytes(packed(plain))
    said = ran(["kernels", "n.sqlite.gz"])
    assert (said.code, "n.sqlite.gz cannot be unpacked here: no usable temporary" in said.err) == (2, True)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_was_cut_off_is_never_called_done(room: Path, unbuffered: str) -> None:
    line = f"ulimit -f 1; {shlex.quote(sys.executable)} -m rooflens models >told"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False,
        env={**os.environ, **NO_PYC, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "rooflens: cannot write the output: file too large\n")


POOR = {"HOME": "/dev/null", "TMPDIR": "/nowhere", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0"}  # fmt: skip
TERMINAL = "script --quiet --return --command QUOTED /dev/null"
SHELLS: dict[str, tuple[dict[str, str], str, set[int]]] = {  # what is set, the line of the shell, more exit codes
    "no home": ({"HOME": ""}, "unset HOME; ROOFLENS", set()),
    "nothing of its own, ASCII": (POOR, "ROOFLENS", set()),
    "a narrow terminal": ({"HOME": "/proc/self", "COLUMNS": "20"}, TERMINAL, set()),
    "a dumb terminal": ({"TERM": "dumb", "NO_COLOR": "1"}, TERMINAL, set()),
    "| head -1": ({}, "ROOFLENS | head -1", {141}),
    "> /dev/full": ({}, "ROOFLENS > /dev/full", {2}),
    "all closed": ({}, "ROOFLENS <&- >&- 2>&-", set()),
    "files of 64 MB": (NO_PYC, "ulimit -f 65536; ROOFLENS", set()),
    "files of 1 kB": (NO_PYC, "ulimit -f 1; ROOFLENS", {2}),
    "folders that are read-only": (POOR, "unshare --mount sh -c QUOTED", {2}),
}
READ_ONLY = (
    "for at in /tmp /var/tmp /dev/shm .; do mount --bind $at $at && mount -o remount,bind,ro $at; done; cd $PWD; "
)


def by_a_shell(line: list[str], how: str) -> Said:
    """The program as a shell runs it, in these surroundings."""
    settings, script, _ = SHELLS[how]
    program = shlex.join([sys.executable, "-m", "rooflens", *line])
    program = f"{READ_ONLY}{program}" if script.startswith("unshare") else program
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script.replace("ROOFLENS", program).replace("QUOTED", shlex.quote(program))],
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300, env={**os.environ, **settings},
    )  # fmt: skip
    return Said(done.returncode, done.stderr.decode() + (done.stdout.decode() if script == TERMINAL else ""))


# Each verb in a third of the surroundings, each of these with a third of the verbs.
SOME = [(name, how) for i, name in enumerate(EVERY) for k, how in enumerate(SHELLS) if (i + k) % 3 == 0]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "how"), SOME)
def test_a_program_of_its_own_in_poor_surroundings(room: Path, name: str, how: str) -> None:
    before = furnished(name, room)
    if how.startswith("folders") and subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("no mounts may be made here")
    said = by_a_shell(quick(name), how)
    silent = "2>&-" in SHELLS[how][1]
    fine(Said(said.code, "rooflens: " if silent else said.err), room, before, {usual(name), *SHELLS[how][2]})
